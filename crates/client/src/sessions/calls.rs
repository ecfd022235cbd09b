//! The session operations (wire.md 2.2).
//! Must not know: the transport of calls.

use plenary_kernel::{AgentHandle, SessionId};
use serde_json::json;

use super::{
    Acknowledgement, CreateSession, CreatedSession, EventPage, InviteReceipt, ReopenSession, SendMessage,
    SendReceipt, Session, SessionList,
};
use crate::{Client, Reply, Result, client::segment, query::Query};

/// Selects events of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventsQuery {
    /// Only events after this sequence; 0 reads from the beginning.
    pub after_sequence: u64,
    /// The maximum number, 1 to 1000; absent: the server's default, 1000.
    pub limit: Option<u32>,
}

/// Selects sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionsQuery {
    /// Only sessions older than this one: the previous page's `next_cursor`.
    pub before: Option<String>,
    /// The maximum number; absent: the server's default, 1000.
    pub limit: Option<u32>,
}

impl EventsQuery {
    pub(crate) fn path(self, base: &str) -> String {
        let query = Query::of(base).with("after_sequence", Some(self.after_sequence));
        query.with("limit", self.limit).path()
    }
}

impl SessionsQuery {
    pub(crate) fn path(&self, base: &str) -> String {
        Query::of(base).with("before", self.before.as_ref()).with("limit", self.limit).path()
    }
}

fn path(session: &SessionId, below: &str) -> String {
    format!("/sessions/{}{below}", segment(session.as_str()))
}

impl Client {
    /// `POST /sessions` (ASP-64). Retried on transient failures if it has an idempotency key.
    ///
    /// # Errors
    /// 404 if an invitee cannot be reached, whatever the reason (ASP-18).
    pub async fn create_session(&self, body: &CreateSession) -> Result<Reply<CreatedSession>> {
        match body.idempotency_key {
            Some(_) => self.post_keyed("/sessions", body).await,
            None => self.post("/sessions", body).await,
        }
    }

    /// `GET /sessions`, one page: the caller's sessions, newest first.
    pub async fn sessions(&self, query: &SessionsQuery) -> Result<Reply<SessionList>> {
        self.get(&query.path("/sessions")).await
    }

    /// `GET /sessions/{id}` (ASP-70).
    ///
    /// # Errors
    /// 404 for a caller that is not and never was a participant.
    pub async fn session(&self, session: &SessionId) -> Result<Reply<Session>> {
        self.get(&path(session, "")).await
    }

    /// `POST /sessions/{id}/join` (ASP-58). Joining twice changes nothing.
    ///
    /// # Errors
    /// As [`Client::session`]; 409 `session_ended`, `not_joined` for an agent that left, or `invitation_held` until a person
    /// accepts the invitation.
    pub async fn join_session(&self, session: &SessionId) -> Result<Reply<Acknowledgement>> {
        self.post_empty(&path(session, "/join")).await
    }

    /// `POST /sessions/{id}/invite` (ASP-66).
    ///
    /// # Errors
    /// As [`Client::session`]; 404 also if nobody could be invited.
    pub async fn invite(
        &self,
        session: &SessionId,
        invitees: &[AgentHandle],
    ) -> Result<Reply<InviteReceipt>> {
        self.post(&path(session, "/invite"), &json!({"invite": invitees})).await
    }

    /// `POST /sessions/{id}/messages` (ASP-67). Retried on transient failures if it has an idempotency key: the
    /// session gets the message once (ASP-35).
    ///
    /// # Errors
    /// As [`Client::session`]; 409 `not_joined`, `session_ended` or `idempotency_key_reused`.
    pub async fn send(&self, session: &SessionId, message: &SendMessage) -> Result<Reply<SendReceipt>> {
        let path = path(session, "/messages");
        match message.idempotency_key {
            Some(_) => self.post_keyed(&path, message).await,
            None => self.post(&path, message).await,
        }
    }

    /// `POST /sessions/{id}/leave` (ASP-60).
    ///
    /// # Errors
    /// As [`Client::session`]; 409 `not_joined` or `session_ended`.
    pub async fn leave_session(&self, session: &SessionId) -> Result<Reply<Acknowledgement>> {
        self.post_empty(&path(session, "/leave")).await
    }

    /// `POST /sessions/{id}/end` (ASP-60).
    ///
    /// # Errors
    /// As [`Client::leave_session`].
    pub async fn end_session(&self, session: &SessionId) -> Result<Reply<Acknowledgement>> {
        self.post_empty(&path(session, "/end")).await
    }

    /// `POST /sessions/{id}/reopen` (ASP-62).
    ///
    /// # Errors
    /// As [`Client::session`]; 409 `session_active` or `not_reopenable`.
    pub async fn reopen_session(
        &self,
        session: &SessionId,
        body: &ReopenSession,
    ) -> Result<Reply<Acknowledgement>> {
        self.post(&path(session, "/reopen"), body).await
    }

    /// `GET /sessions/{id}/events`, one page (ASP-71).
    ///
    /// # Errors
    /// As [`Client::session`].
    pub async fn events(&self, session: &SessionId, query: EventsQuery) -> Result<Reply<EventPage>> {
        self.get(&query.path(&path(session, "/events"))).await
    }
}
