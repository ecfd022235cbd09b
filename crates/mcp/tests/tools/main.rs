//! The tools on every room in process: what they offer, what they cost, what they do.

#![expect(clippy::print_stdout, reason = "counts of tokens are for whoever reads the test")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bounds;
mod budgets;
mod core;
mod frames;
mod house;
mod memory;
mod relay;
mod whole;
