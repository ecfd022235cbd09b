//! The account surface in process: the real router over the log in memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod authentication;
mod blocks;
mod contacts;
mod description;
mod foreign;
mod house;
mod one_bearer;
mod organisations;
mod own;
mod provisioning;
mod reach;
mod refusals;
mod seed;
mod tickets;
