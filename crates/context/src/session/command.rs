//! The commands on a session. Pure.
//! Must not know: permissions.

use plenary_accounts::Authority;

use crate::{attribution::Attribution, extensions::Extensions, lifecycle::ActorType, moment::Moment};

/// Starts a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartSession {
    /// The caller, with its token.
    pub authority: Authority,
    /// Its id.
    pub session_id: String,
    /// Its callsign.
    pub callsign: String,
    /// The id of its actor; the bearer if absent.
    pub actor_id: Option<String>,
    /// The type of its actor.
    pub actor_type: Option<ActorType>,
    /// Extension members, `x-…`.
    pub extensions: Extensions,
    /// Which actors a token may name as authors.
    pub attribution: Attribution,
}

/// Ends a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndSession {
    /// The caller, with its token.
    pub authority: Authority,
    /// Its end; now if absent.
    pub ended_at: Option<Moment>,
    /// Extension members, `x-…`, which are added at the end.
    pub extensions: Extensions,
    /// Which actors a token may name as authors.
    pub attribution: Attribution,
}
