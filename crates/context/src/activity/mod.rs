//! The activity of a project in one order: each event of a package, a fact, a session or the project is also recorded
//! on the activity stream, in its own append, and live readers of the project read that stream.
//! Must not know: HTTP.

pub mod event;
mod live_json;
pub(crate) mod live_readers;
pub(crate) mod room;
