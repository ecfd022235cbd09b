//! The commands on a session. Pure.
//! Must not know: permissions.

use plenary_accounts::Authority;
use serde_json::{Map, Value};

use crate::{attribution::Attribution, lifecycle::ActorType, moment::Moment};

/// Begins a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartSession {
    /// In whose name.
    pub authority: Authority,
    /// Its id.
    pub session_id: String,
    /// Its callsign.
    pub callsign: String,
    /// Who works in it; the bearer itself when absent.
    pub actor_id: Option<String>,
    /// What that is.
    pub actor_type: Option<ActorType>,
    /// Members of implementations, `x-…`.
    pub extensions: Map<String, Value>,
    /// Whether tokens are held to their own actors.
    pub attribution: Attribution,
}

/// Ends a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndSession {
    /// In whose name.
    pub authority: Authority,
    /// When it ended; now when absent.
    pub ended_at: Option<Moment>,
    /// Members of implementations, `x-…`, that it has from then on.
    pub extensions: Map<String, Value>,
    /// Whether tokens are held to their own actors.
    pub attribution: Attribution,
}
