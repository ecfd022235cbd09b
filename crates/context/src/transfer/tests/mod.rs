//! Records, names and histories, apart from any store.

mod merging;
mod names;
mod records;
