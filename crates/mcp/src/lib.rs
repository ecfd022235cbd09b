//! Plenary's operations as tools for models: the Model Context Protocol, and the tools of hosted models.
//! Must not know: how an operation is carried out; calls go through the HTTP router.

pub mod server;
pub mod tool;
pub mod tools;

pub use plenary_edge::operations;
