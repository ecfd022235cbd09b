//! Packages: one stream each; the first event contains the package exactly as sent.
//! Must not know: HTTP.

pub mod command;
pub mod decide;
pub mod event;
pub mod room;
pub mod state;
