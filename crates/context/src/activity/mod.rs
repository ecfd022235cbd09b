//! What happens in a project, in one order: each event of a package, a fact, a session or the project itself is noted
//! on one more stream in its own append, and whoever follows the project reads that stream.
//! Must not know: HTTP.

pub mod event;
pub(crate) mod following;
pub(crate) mod room;
mod telling;
