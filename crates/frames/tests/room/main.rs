//! The room in process: the real router over the log in memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accords;
mod delivery;
mod house;
mod processes;
mod refusals;
mod resumption;
mod rosters;
mod streams;
mod trust;
