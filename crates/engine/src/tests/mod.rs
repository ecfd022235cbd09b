//! The engine with a room of its own, on the memory log.

mod faults;
mod hall;
mod keys;
mod pipelining;
mod snapshots;
mod writers;
