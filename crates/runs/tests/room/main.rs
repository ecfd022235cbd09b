//! The room in process: the real router over the log in memory, with agents of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod configuring;
mod endings;
mod house;
mod live;
mod polling;
mod processes;
mod running;
