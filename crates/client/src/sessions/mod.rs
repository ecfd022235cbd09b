//! Sessions of the Agent Session Protocol over HTTP (wire.md 2.1, 2.2).
//! Must not know: live delivery, which is in `live`.

mod calls;
mod content;
mod files;
mod shapes;

pub use calls::{EventsQuery, SessionsQuery};
pub use content::{Content, Part};
pub use files::{FileContent, LocalFile, UploadedFile};
pub use shapes::{
    Acknowledgement, CreateSession, CreatedSession, EventPage, InitialMessage, InviteReceipt, Message,
    Participant, ParticipantStatus, ReopenSession, SendMessage, SendReceipt, Session, SessionList,
    SessionState,
};
