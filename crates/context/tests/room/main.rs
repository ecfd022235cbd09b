//! The room in process: the real router over the log in memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bundles;
mod facts;
mod following;
mod house;
mod limits;
mod packages;
mod projects;
mod renames;
mod transfer;
