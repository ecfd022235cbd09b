//! The tools on every room in process: what they offer, what they cost, what they do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod budgets;
mod core;
mod house;
