//! The responses of this room (wire.md 1.3, D.4, D.5). Requests are in `catalogue` and `submission`. Pure.
//! Must not know: how a response is computed.

use plenary_kernel::{AgentHandle, SovereignHandle, TimestampMs, rfc3339::Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::{Instrument, SessionName, ToolClass};

/// The answer to a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FrameSubmitted")]
pub struct Submitted {
    /// The frame's own id, as sent.
    pub frame_id: String,
    /// The event's id on the recipient's stream, decimal.
    pub event_id: String,
    /// The number of subscriptions that it was sent to; the operator may set a coarser count.
    pub delivered_count: u64,
    /// The same number.
    pub recipient_count: u64,
}

/// A capability, which opens streams in place of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FrameCapability {
    /// For `Authorization: Bearer`, `plf_…`.
    pub capability: String,
    /// Its expiry, RFC 3339.
    pub expires_at: String,
    /// The key that signs the frames: `ed25519:` and the public key in base64url, which clients pin.
    pub frame_signature_pubkey: String,
}

/// An error of this protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FrameError")]
pub struct FrameError<'a> {
    /// Stable, for machines.
    pub code: &'a str,
    /// The field concerned, as a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<&'a str>,
    /// A text for people: what happened, and what to do.
    pub message: &'a str,
}

/// The sessions that are subscribed to a handle's stream now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Roster")]
pub struct Roster {
    /// The handle.
    pub handle: SovereignHandle,
    /// One for each subscription, oldest first.
    pub roster: Vec<RosterEntry>,
}

/// One subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RosterEntry")]
pub struct RosterEntry {
    /// The principal.
    pub handle: SovereignHandle,
    /// The agent that opened it.
    pub agent: AgentHandle,
    /// Its instrument.
    pub instrument: Instrument,
    /// Its class of tools.
    pub tool: ToolClass,
    /// The session's own id.
    pub session_id: SessionName,
    /// When it was opened, RFC 3339 in UTC.
    pub started_at: String,
}

/// A subscription in an answer to another process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RemoteSubscription {
    #[serde(rename = "a")]
    pub(crate) agent: String,
    #[serde(rename = "i")]
    pub(crate) instrument: Instrument,
    #[serde(rename = "t")]
    pub(crate) tool: ToolClass,
    #[serde(rename = "s")]
    pub(crate) session_id: SessionName,
    #[serde(rename = "at")]
    pub(crate) started_at: TimestampMs,
}

impl RemoteSubscription {
    /// The entry of a handle's roster.
    pub(crate) fn entry(self, handle: &SovereignHandle) -> Option<RosterEntry> {
        let agent = format!("@{}.{}", handle.owner(), self.agent).parse().ok()?;
        let Self { instrument, tool, session_id, started_at, .. } = self;
        let started_at = Utc(started_at).to_string();
        Some(RosterEntry { handle: handle.clone(), agent, instrument, tool, session_id, started_at })
    }
}

/// The retention of delivered frames for resumption (FO-88).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FrameRetention")]
pub struct RetentionView {
    /// Maximum number of events of one handle.
    pub max_events: u64,
    /// Maximum age in milliseconds.
    pub max_age_ms: u64,
}
