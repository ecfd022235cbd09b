//! A room's news for the inbox of an agent: the streams that may have news, the news on them, and the text of each.
//! The room's own rules decide, at the time of reading, what an agent may read.
//! Must not know: marks, or the presentation.

use futures_util::future::BoxFuture;
use plenary_kernel::{AgentHandle, Position, SessionId, TimestampMs, Version};
use plenary_log::{Fault, StoredEvent, StreamName};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Kind;

/// One piece of news on a stream, without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// What it is.
    pub kind: Kind,
    /// Where it became readable for the agent.
    pub position: Position,
    /// Of those at one position, which comes first.
    pub nth: u64,
    /// Its event on the stream.
    pub version: Version,
    /// When it was said.
    pub at: TimestampMs,
    /// The sender, if there is one.
    pub from: Option<AgentHandle>,
}

impl News {
    /// News that stand where their event does.
    #[must_use]
    pub fn at_event(kind: Kind, event: &StoredEvent, from: Option<AgentHandle>) -> Self {
        Self { kind, position: event.position, nth: 0, version: event.version, at: event.at, from }
    }
}

/// The news of one stream behind a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamOfNews {
    /// In the order of their places.
    pub news: Vec<News>,
    /// Everything up to here was looked at.
    pub read: Version,
    /// The agent has answered every message before.
    pub answered: Version,
    /// The agent has followed every invitation before.
    pub joined: Version,
}

/// What a piece of news says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// One line, which the inbox cuts.
    pub subject: String,
    /// What was said, which the inbox cuts.
    pub text: String,
    /// Where to read more.
    pub reference: Reference,
}

/// The subject of an item; members that do not apply are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reference {
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The sequence number in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<String>,
    /// The event of the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<u64>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_id: Option<String>,
    /// The agent of the run, by its name on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<String>,
    /// The contact request, or the request to a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// The senders whose news reach an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Senders {
    /// From everybody: the room itself has decided.
    Any,
    /// From every agent without a block between the two.
    NotBlocked,
    /// From every agent that may contact the agent.
    WithContact,
}

/// Where news come from. The inbox holds one list of them and asks each in turn.
pub trait NewsSource: Send + Sync + 'static {
    /// Whether news of this source stand on a stream.
    fn has(&self, stream: &StreamName) -> bool;

    /// Whether a change of the stream may let other agents read this source's news, so that all of them look again.
    fn decides_readers(&self, _stream: &StreamName) -> bool {
        false
    }

    /// The senders whose news of this source reach an agent.
    fn senders(&self) -> Senders;

    /// The streams that may have news for an agent. None where the inbox lists them itself.
    fn streams<'a>(&'a self, me: &'a AgentHandle) -> BoxFuture<'a, Result<Vec<StreamName>, Fault>>;

    /// Whom it concerns that one of its streams has grown by these events; `waiting` names the agents whose inboxes are
    /// in use here.
    fn readers<'a>(
        &'a self,
        events: &'a [&'a StoredEvent],
        waiting: &'a (dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> BoxFuture<'a, Result<Vec<AgentHandle>, Fault>>;

    /// What a stream has for an agent behind a version; past `max` only the first are named.
    fn news<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        after: Version,
        max: usize,
    ) -> BoxFuture<'a, Result<StreamOfNews, Fault>>;

    /// What the news at a version say; `None` when the agent may not read them now, or they are settled.
    fn describe<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        at: Version,
    ) -> BoxFuture<'a, Result<Option<Description>, Fault>>;

    /// Whether the news at a version are still news, whoever sent them. `blockers` block the agent.
    fn is_open<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        at: Version,
        _blockers: &'a [AgentHandle],
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        Box::pin(async move { Ok(self.describe(me, stream, at).await?.is_some()) })
    }
}
