//! Sessions: who worked from when to when (section 5.5).
//! Must not know: HTTP.

pub mod callsign;
pub mod command;
pub mod decide;
pub mod event;
pub mod room;
pub mod state;
