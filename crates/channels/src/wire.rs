//! What peers of the Agent Channel Protocol get (wire.md 3.1, 3.2, D.6). Pure.
//! Must not know: where it is read from.

use plenary_accounts::Actor;
use plenary_engine::stored::corrupt;
use plenary_kernel::TimestampMs;
use plenary_log::{Fault, StoredEvent};
pub use plenary_wire::channels::{
    AgentPresence, Channel, ChannelId, Event, LENGTH_MAX, LENGTH_MIN, Presence, Problem, Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    event::{ChannelEvent, EventAppended},
    key::LinkKey,
    state::{ChannelState, Created},
};

/// The channel as it is; `None` when there is none.
pub(crate) fn existing_channel(base_url: &str, id: &ChannelId, state: &ChannelState) -> Option<Channel> {
    let created = state.created.as_ref()?;
    Some(channel(base_url, id, created, state.key.as_ref(), state.closed_at))
}

/// A channel that was created so.
pub(crate) fn channel(
    base_url: &str,
    id: &ChannelId,
    created: &Created,
    key: Option<&LinkKey>,
    closed_at: Option<TimestampMs>,
) -> Channel {
    Channel {
        id: id.clone(),
        title: created.title.clone(),
        created_by: created.by.clone(),
        created_at: created.at.rfc3339(),
        closed_at: closed_at.map(TimestampMs::rfc3339),
        url: link(base_url, id, key),
    }
}

/// Where a channel is (CH-8).
pub(crate) fn url(base_url: &str, id: &ChannelId) -> String {
    format!("{base_url}/agent-channel/{id}")
}

/// Its link: where it is, with its key (wire.md D.6).
pub(crate) fn link(base_url: &str, id: &ChannelId, key: Option<&LinkKey>) -> String {
    let url = url(base_url, id);
    key.map_or(url.clone(), |key| format!("{url}?key={}", key.expose()))
}

/// A stored event as peers see it; `None` for one that the protocol does not call an event.
pub(crate) fn event(channel: &ChannelId, stored: &StoredEvent) -> Result<Option<Event>, Fault> {
    let ChannelEvent::EventAppended(event) = ChannelEvent::decode(stored)? else { return Ok(None) };
    let EventAppended { kind, author, via, payload, .. } = event;
    let payload = serde_json::from_slice(&payload).map_err(|error| corrupt(stored, &error.to_string()))?;
    Ok(Some(Event {
        id: stored.position.0,
        channel_id: channel.clone(),
        kind,
        author,
        via: via.as_ref().map(Actor::to_string),
        payload,
        created_at: stored.at.rfc3339(),
    }))
}

/// `POST /agent-channel/{id}/event`: the event, or with `?validate=1` the verdict.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum EventOrVerdict {
    /// What was appended.
    Event(Event),
    /// What is wrong with an event that was not stored.
    Verdict(Verdict),
}

/// What every refusal of this room looks like.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChannelError")]
pub struct ErrorBody<'a> {
    /// What happened, for people.
    pub detail: &'a str,
    /// Stable, for machines.
    pub code: &'a str,
}
