//! What holds for every operation before any room sees the request: for whom it is meant, what one owner may take, and
//! how a connection goes on.

mod early;
mod foreign;
mod forms;
mod metrics;
mod open_files;
mod shares;
