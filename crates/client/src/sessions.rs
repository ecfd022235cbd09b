//! What events of sessions carry (wire.md 2.1), read.
//! Must not know: the plain operations on sessions; live delivery, which is in `live`.

use plenary_kernel::{AgentHandle, MessageId, SessionId, TimestampMs};
use plenary_wire::sessions::{Content, EventPage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Event, Result};

/// A message (ASP-32 to ASP-37).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Its session; left out where it stands inside that session's invitation.
    #[serde(default)]
    pub session_id: Option<SessionId>,
    /// Who sent it: always the token's agent (ASP-4).
    pub sender: AgentHandle,
    /// Its place in the session.
    pub sequence: u64,
    /// What it says.
    pub content: Content,
    /// When the server recorded it.
    pub created_at: TimestampMs,
    /// The sender's key.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// The sender's metadata.
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
}

/// The events of a page, and the `after_sequence` of the next one where there is more (wire.md D.9).
///
/// # Errors
/// [`Error::Unreadable`](crate::Error::Unreadable) when one is no event.
pub fn events(page: &EventPage) -> Result<(Vec<Event>, Option<u64>)> {
    let events = page.events.iter().map(|event| Event::read(event.get())).collect::<Result<_>>()?;
    Ok((events, page.next_cursor.as_deref().and_then(|cursor| cursor.parse().ok())))
}
