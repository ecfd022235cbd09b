//! Projects: who owns them, who takes part, whether they take writes (AP-1, AP-2).
//! Must not know: what is in them.

pub mod command;
pub mod decide;
pub mod event;
pub mod room;
pub mod state;
