//! The responses of the Agent Channel Protocol (wire.md 3.1, 3.2, D.6). Pure.
//! Must not know: the source of the data.

use plenary_accounts::Actor;
use plenary_engine::stored::corrupt;
use plenary_kernel::TimestampMs;
use plenary_log::{Fault, StoredEvent};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    event::{ChannelEvent, EventAppended},
    id::ChannelId,
    key::LinkKey,
    state::{ChannelState, Creation},
};

/// A channel.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Channel {
    /// Four characters, in upper case.
    pub id: ChannelId,
    /// What it is about; may be empty.
    pub title: String,
    /// The creator, by its stable name.
    pub created_by: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC; null while it is open.
    pub closed_at: Option<String>,
    /// Its URL with its key, which gives access to the channel; without the key for a caller that may only read.
    pub url: String,
}

impl Channel {
    /// The channel for a reader, with its key if the reader may also write; `None` if it does not exist.
    pub(crate) fn of(base_url: &str, id: &ChannelId, state: &ChannelState, may_write: bool) -> Option<Self> {
        let key = state.key.as_ref().filter(|_| may_write);
        let created = state.created.as_ref()?;
        Some(Self::new(base_url, id, created, key, state.closed_at))
    }

    pub(crate) fn new(
        base_url: &str,
        id: &ChannelId,
        created: &Creation,
        key: Option<&LinkKey>,
        closed_at: Option<TimestampMs>,
    ) -> Self {
        Self {
            id: id.clone(),
            title: created.title.clone(),
            created_by: created.by.clone(),
            created_at: created.at.rfc3339(),
            closed_at: closed_at.map(TimestampMs::rfc3339),
            url: link(base_url, id, key),
        }
    }
}

/// The URL of a channel (CH-8).
pub(crate) fn url(base_url: &str, id: &ChannelId) -> String {
    format!("{base_url}/agent-channel/{id}")
}

/// The link of a channel: its URL with its key (wire.md D.6).
pub(crate) fn link(base_url: &str, id: &ChannelId, key: Option<&LinkKey>) -> String {
    let url = url(base_url, id);
    key.map_or(url.clone(), |key| format!("{url}?key={}", key.expose()))
}

/// An event of a channel (CH-10).
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Event {
    /// Rises over all channels of the server.
    pub id: u64,
    /// Its channel.
    pub channel_id: ChannelId,
    /// A free string; `spec`, `state`, `status`, `comms` and `log` have a defined meaning.
    pub kind: String,
    /// The author, by its stable name.
    pub author: String,
    /// The holder of the token; null if no token was needed.
    pub via: Option<String>,
    /// The object as it was sent.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub payload: Box<RawValue>,
    /// RFC 3339, UTC.
    pub created_at: String,
}

impl Event {
    /// A stored event on the wire; `None` if it is not an event of the protocol.
    pub(crate) fn of(channel: &ChannelId, stored: &StoredEvent) -> Result<Option<Self>, Fault> {
        let ChannelEvent::EventAppended(event) = ChannelEvent::decode(stored)? else { return Ok(None) };
        let EventAppended { kind, author, via, payload, .. } = event;
        let payload =
            serde_json::from_slice(&payload).map_err(|error| corrupt(stored, &error.to_string()))?;
        Ok(Some(Self {
            id: stored.position.0,
            channel_id: channel.clone(),
            kind,
            author,
            via: via.as_ref().map(Actor::to_string),
            payload,
            created_at: stored.at.rfc3339(),
        }))
    }
}

/// `GET /agent-channel/{id}/presence`: the last status of each agent, latest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Presence {
    /// The interval in seconds at which an agent that holds work posts a `status`.
    pub cadence_seconds: u64,
    /// Every agent that ever posted a status.
    pub agents: Vec<AgentPresence>,
}

/// The last status of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentPresence {
    /// The author of its statuses.
    pub agent: String,
    /// The holder of the token of its last status.
    pub via: Option<String>,
    /// RFC 3339, UTC.
    pub last_status_at: String,
    /// Its age in whole seconds.
    pub silent_seconds: u64,
    /// Silent for more than five cadences (CH-2).
    pub presumed_dead: bool,
}

/// `POST /agent-channel/{id}/event?validate=1`: what is wrong with an event that was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Whether the event is valid.
    pub valid: bool,
    /// Always false.
    pub stored: bool,
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
}

/// `POST /agent-channel/{id}/event`: the event, or with `?validate=1` the result of the validation.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum EventOrVerdict {
    /// What was appended.
    Event(Event),
    /// What is wrong with an event that was not stored.
    Verdict(Verdict),
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// The member it is in: `concepts[2].status`.
    pub field: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

/// The form of every error of this protocol.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChannelError")]
pub struct ErrorBody<'a> {
    /// What happened, for people.
    pub detail: &'a str,
    /// Stable, for machines.
    pub code: &'a str,
}
