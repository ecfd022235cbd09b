//! Projects: owner, members, and whether they accept writes (AP-1, AP-2).
//! Must not know: their content.

pub mod command;
pub mod decide;
pub mod event;
pub mod room;
pub mod state;
