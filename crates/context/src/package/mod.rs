//! Packages: one stream each, the package on its first event exactly as it was sent.
//! Must not know: HTTP.

pub mod command;
pub mod decide;
pub mod event;
pub mod room;
pub mod state;
