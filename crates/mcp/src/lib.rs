//! Plenary's operations as tools for models: the Model Context Protocol, and the tools that hosted models get.
//! Must not know: how an operation is carried out; it asks the same router that answers HTTP.

pub mod server;
pub mod tool;
pub mod tools;

pub use plenary_edge::operations;
