//! Contents of deliverables: which a project has. The bytes are the blobs' business; one content that several projects
//! have is kept once, and none of them knows of the others.
//! Must not know: HTTP.

pub mod command;
pub mod decide;
pub mod event;
pub(crate) mod room;
pub mod state;
