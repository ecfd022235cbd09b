//! The engine with its own room, on the memory log.

mod beginning;
mod faults;
mod hall;
mod interleaving;
mod keys;
mod pipelining;
mod quota;
mod several;
mod snapshots;
mod writers;
