//! The operations of the Agent Channel Protocol, and what peers send and get (wire.md 3.1, 3.2, D.6). Pure.
//! Must not know: where a reply is read from.

mod id;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use id::{ChannelId, LENGTH_MAX, LENGTH_MIN};

use crate::Operation;

/// Begins a channel.
pub const CREATE: Operation<NewChannel, Channel> =
    Operation::post_repeated("channel.create", "/agent-channel");
/// Those that the token's owner created or appended to, newest first.
pub const LIST: Operation<(), Vec<Channel>, ChannelsQuery> = Operation::get("channel.list", "/agent-channel");
/// The view by which a channel explains itself (CH-5, CH-22), in the format that is asked for.
pub const SHOW: Operation<(), (), ShowQuery> = Operation::get("channel.show", "/agent-channel/{id}");
/// The payload of the newest charter (CH-23).
pub const SPEC: Operation<(), Payload> = Operation::get("channel.spec", "/agent-channel/{id}/spec");
/// The payload of the newest state (CH-23).
pub const STATE: Operation<(), Payload> = Operation::get("channel.state", "/agent-channel/{id}/state");
/// Who was heard, and who is presumed dead (CH-2).
pub const PRESENCE: Operation<(), Presence> =
    Operation::get("channel.presence", "/agent-channel/{id}/presence");
/// A page of events, newest first (CH-11, CH-24); the header `Link` has the next page.
pub const EVENTS: Operation<(), Vec<Event>, EventsQuery> =
    Operation::get("channel.events", "/agent-channel/{id}/events");
/// The events as they come, as server-sent events.
pub const WATCH: Operation<(), (), WatchQuery> =
    Operation::get("channel.watch", "/agent-channel/{id}/events/stream");
/// Appends an event (CH-9, CH-25).
pub const APPEND: Operation<NewEvent, Event> =
    Operation::post_repeated("channel.append", "/agent-channel/{id}/event");
/// [`APPEND`] with [`Validate`]: checks an event and stores nothing (CH-31, CH-32).
pub const CHECK: Operation<NewEvent, Verdict, Validate> = Operation::post(APPEND.id, APPEND.path);
/// Closes a channel; it stays readable (CH-27).
pub const CLOSE: Operation<(), Channel> =
    Operation::post_repeated("channel.close", "/agent-channel/{id}/close");
/// Gives a channel's link another key (wire.md D.6).
pub const CHANGE_KEY: Operation<(), Channel> =
    Operation::post_repeated("channel.key", "/agent-channel/{id}/key");

/// The body of [`CREATE`].
#[derive(Debug, Clone, Serialize)]
pub struct NewChannel {
    /// What it is about; may be empty.
    pub title: String,
    /// By whom; absent: the handle of the token.
    pub created_by: Option<String>,
}

/// Which channels to list.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ChannelsQuery {
    /// At most so many, clamped to 1 to 500; absent: 50.
    pub limit: Option<u32>,
    /// Whether closed ones are listed.
    pub include_closed: bool,
}

/// How to show a channel.
#[derive(Debug, Clone, Serialize)]
pub struct ShowQuery {
    /// `markdown`, `yaml` or `json`.
    pub format: &'static str,
}

/// Which events of a channel.
#[derive(Debug, Clone, Default, Serialize)]
pub struct EventsQuery {
    /// Only of this kind.
    pub kind: Option<String>,
    /// At most so many, clamped to 1 to 500; absent: 50.
    pub limit: Option<u32>,
    /// Only with a lower id.
    pub before_id: Option<u64>,
    /// Only with a higher id; alone, the ones that follow it directly.
    pub after_id: Option<u64>,
}

/// Which events of a channel to follow.
#[derive(Debug, Clone, Serialize)]
pub struct WatchQuery {
    /// Only of this kind.
    pub kind: Option<String>,
}

/// The query of [`CHECK`].
#[derive(Debug, Clone, Serialize)]
pub struct Validate {
    /// Always true.
    pub validate: bool,
}

/// An event to append.
#[derive(Debug, Clone, Serialize)]
pub struct NewEvent {
    /// 1 to 64 characters.
    pub kind: String,
    /// A stable name; absent: the handle of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// A JSON object, sent as it is.
    pub payload: Box<RawValue>,
}

/// A channel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Channel {
    /// Four characters, in upper case.
    pub id: ChannelId,
    /// What it is about; may be empty.
    pub title: String,
    /// By whom it was created, in its own words.
    pub created_by: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC; null while it is open.
    pub closed_at: Option<String>,
    /// Where it is, with the key that lets in whoever gets this link.
    pub url: String,
}

/// The object that an event carries, as it was sent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Payload(
    /// Numbers keep their digits, members their order.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub Box<RawValue>,
);

/// An event of a channel (CH-10).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Rises over all channels of the server.
    pub id: u64,
    /// Its channel.
    pub channel_id: ChannelId,
    /// A free string; `spec`, `state`, `status`, `comms` and `log` mean something.
    pub kind: String,
    /// By whom, in its own words.
    pub author: String,
    /// Who that is by its token; null where none was needed.
    pub via: Option<String>,
    /// The object as it was sent.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub payload: Box<RawValue>,
    /// RFC 3339, UTC.
    pub created_at: String,
}

/// `GET /agent-channel/{id}/presence`: who was heard, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presence {
    /// How often an agent that holds work posts a `status`, in seconds.
    pub cadence_seconds: u64,
    /// Everyone who ever posted one.
    pub agents: Vec<AgentPresence>,
}

/// When one agent was last heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPresence {
    /// The author of its statuses.
    pub agent: String,
    /// Whose token the last one came with.
    pub via: Option<String>,
    /// RFC 3339, UTC.
    pub last_status_at: String,
    /// How long ago that was, in whole seconds.
    pub silent_seconds: u64,
    /// Silent for more than five cadences (CH-2).
    pub presumed_dead: bool,
}

/// `POST /agent-channel/{id}/event?validate=1`: what is wrong with an event that was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether nothing is wrong.
    pub valid: bool,
    /// Always false.
    pub stored: bool,
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The member it is in: `concepts[2].status`.
    pub field: String,
    /// What is wrong, and what to do.
    pub problem: String,
}
