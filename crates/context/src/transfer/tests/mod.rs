//! Records, names and histories, apart from any store.

mod names;
mod records;
