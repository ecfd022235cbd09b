//! The events of a session's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use plenary_accounts::Actor;
use serde::{Deserialize, Serialize};

use crate::{extensions::Extensions, lifecycle::ActorType, moment::Moment};

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// It began.
    SessionStarted(SessionStarted),
    /// It ended.
    SessionEnded(SessionEnded),
}

/// See [`SessionEvent::SessionStarted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// The holder of the token.
    pub by: Actor,
    /// Its id.
    pub session_id: String,
    /// The id of its actor.
    pub actor_id: String,
    /// The type of its actor.
    pub actor_type: ActorType,
    /// Its callsign; empty for an imported session without one.
    pub callsign: String,
    /// When.
    pub started_at: Moment,
    /// Extension members, `x-…` (AP-89).
    #[serde(default, skip_serializing_if = "Extensions::is_empty")]
    pub extensions: Extensions,
}

/// See [`SessionEvent::SessionEnded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The holder of the token.
    pub by: Actor,
    /// When.
    pub ended_at: Moment,
    /// Extension members, `x-…`, which are added at the end.
    #[serde(default, skip_serializing_if = "Extensions::is_empty")]
    pub extensions: Extensions,
}

plenary_engine::stored_forms!(SessionEvent: SessionStarted, SessionEnded);
