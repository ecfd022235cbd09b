//! Facts: one stream for each subject and predicate of a project, so that supersession is one append (AP-47 to AP-50).
//! Must not know: HTTP.

mod claims;
pub mod command;
pub mod decide;
pub mod document;
pub mod event;
pub mod room;
pub mod state;
