//! The operations of the Agent Session Protocol (wire.md 2.2). Pure.
//! Must not know: live delivery; how events are written.

mod content;
mod replies;
mod requests;

pub use content::{Content, Part};
pub use replies::{
    Acknowledged, EventPage, Invited, MessageAccepted, ParticipantView, Phase, SessionList, SessionOpened,
    SessionView, Standing,
};
pub use requests::{
    CreateSession, EventsQuery, InitialMessage, InviteAgents, ReopenSession, SendMessage, SessionsQuery,
};

use crate::Operation;

/// Begins a session (ASP-64).
pub const CREATE: Operation<CreateSession, SessionOpened> =
    Operation::post_repeated("session.create", "/sessions");
/// A page of the sessions that the agent takes or took part in, newest first.
pub const LIST: Operation<(), SessionList, SessionsQuery> = Operation::get("session.list", "/sessions");
/// A session and who is in it (ASP-70).
pub const SHOW: Operation<(), SessionView> = Operation::get("session.show", "/sessions/{id}");
/// A page of its events (ASP-71).
pub const EVENTS: Operation<(), EventPage, EventsQuery> =
    Operation::get("session.events", "/sessions/{id}/events");
/// The events of all the agent's sessions as they come, over a WebSocket.
pub const CONNECT: Operation = Operation::get("connect", "/connect");
/// Joins (ASP-58). Joining twice changes nothing.
pub const JOIN: Operation<(), Acknowledged> = Operation::post("session.join", "/sessions/{id}/join");
/// Invites agents (ASP-66).
pub const INVITE: Operation<InviteAgents, Invited> =
    Operation::post("session.invite", "/sessions/{id}/invite");
/// Sends a message, which stands in the session once (ASP-35, ASP-67).
pub const SEND: Operation<SendMessage, MessageAccepted> =
    Operation::post_repeated("session.send", "/sessions/{id}/messages");
/// Leaves (ASP-60).
pub const LEAVE: Operation<(), Acknowledged> = Operation::post("session.leave", "/sessions/{id}/leave");
/// Ends a session for everyone (ASP-60).
pub const END: Operation<(), Acknowledged> = Operation::post("session.end", "/sessions/{id}/end");
/// Opens an ended session again (ASP-62).
pub const REOPEN: Operation<ReopenSession, Acknowledged> =
    Operation::post("session.reopen", "/sessions/{id}/reopen");
