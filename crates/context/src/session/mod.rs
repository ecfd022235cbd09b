//! Sessions: the actor and the period of work (section 5.5).
//! Must not know: HTTP.

pub mod callsign;
pub mod command;
pub mod decide;
pub mod event;
pub mod room;
pub mod state;
