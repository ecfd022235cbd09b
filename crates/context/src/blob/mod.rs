//! The blobs of projects. `blobs` stores the bytes; a blob of several projects is stored once, and no project learns
//! of the others.
//! Must not know: HTTP.

pub mod command;
pub mod decide;
pub mod event;
pub(crate) mod room;
pub mod state;
