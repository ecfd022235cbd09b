//! The onboarding view: what a new reader needs to know of a channel (CH-5, CH-8, CH-22).
//! Must not know: the source of the data, the request.

mod accept;
mod markdown;
mod text;
mod yaml;

use plenary_kernel::TimestampMs;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

pub(crate) use accept::Format;

use crate::{
    key::LinkKey,
    liveness::Cadence,
    wire::{Channel, Event, Presence},
};

/// The data of a view.
#[derive(Debug)]
pub(crate) struct ViewSource {
    pub(crate) channel: Channel,
    /// The URL of the channel, without the key.
    pub(crate) address: String,
    /// The key, for a reader that must send it with each request.
    pub(crate) key: Option<LinkKey>,
    /// The default author of the reader's events; empty without a token.
    pub(crate) me: String,
    /// Whether the reader's commands need no token.
    pub(crate) open: bool,
    pub(crate) now: TimestampMs,
    pub(crate) cadence: Cadence,
    pub(crate) presence: Presence,
    pub(crate) spec: Option<Event>,
    pub(crate) state: Option<Event>,
    /// The time of the newest state.
    pub(crate) state_at: TimestampMs,
    pub(crate) recent_events: Vec<Event>,
}

/// `GET /agent-channel/{id}`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChannelView")]
pub(crate) struct View {
    /// The channel.
    channel: Channel,
    /// An introduction: the channel, what to do, the participants and the holder of the work.
    onboarding: String,
    /// Exact commands.
    participate: Participate,
    /// The payload of the newest `spec`; null if there is none.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    spec: Option<Box<RawValue>>,
    /// The payload of the newest `state`; null if there is none.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    state: Option<Box<RawValue>>,
    /// The newest events, the newest first.
    recent_events: Vec<Event>,
}

/// How to participate: shell commands and further information.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Participate {
    /// This view.
    read_this: String,
    /// The newest charter.
    read_spec: String,
    /// The newest state.
    read_state: String,
    /// Events, newest first.
    read_events: String,
    /// Append an event.
    append_event: String,
    /// The formats of this view.
    formats: String,
    /// How to prove who you are.
    auth: String,
    /// The name to use as author.
    your_name: String,
}

impl View {
    /// Builds the view.
    pub(crate) fn of(seen: ViewSource) -> Self {
        let (onboarding, participate) = (text::onboarding(&seen), text::participate(&seen));
        Self {
            channel: seen.channel,
            onboarding,
            participate,
            spec: seen.spec.map(|event| event.payload),
            state: seen.state.map(|event| event.payload),
            recent_events: seen.recent_events,
        }
    }

    /// The text in this format.
    pub(crate) fn render(&self, format: Format) -> String {
        let json = || serde_json::to_string(self).expect("strings, numbers and JSON can be written");
        match format {
            Format::Json => json(),
            Format::Yaml => yaml::from_json(&json()),
            Format::Markdown => markdown::render(self),
        }
    }
}
