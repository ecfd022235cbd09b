//! A room's news for the inbox of an agent: the streams that may have news, the news on them, and the text of each.
//! The room's own rules decide, at the time of reading, what an agent may read.
//! Must not know: marks, or the presentation.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use plenary_kernel::{AgentHandle, Position, SessionId, TimestampMs, Version};
use plenary_log::{Fault, StoredEvent, StreamName};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Kind;

/// Streams that a source reads at the same time.
const READS_AT_ONCE: usize = 16;

/// One piece of news on a stream, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// Its kind.
    pub kind: Kind,
    /// The position at which it became readable for the agent.
    pub position: Position,
    /// Its order among the news at the same position.
    pub nth: u64,
    /// The version of its event in the stream.
    pub version: Version,
    /// The time of the event.
    pub at: TimestampMs,
    /// The sender, if there is one.
    pub from: Option<AgentHandle>,
    /// The position of the earlier news that this repeats. It is news only once the earlier one was seen, and the latest
    /// repetition of a stream replaces the others.
    pub reminds_of: Option<Position>,
    /// What it is about, if its stream alone does not tell: the contact request.
    pub about: Option<Arc<str>>,
}

impl News {
    /// News at the position of its event.
    pub fn at_event(kind: Kind, event: &StoredEvent, from: Option<AgentHandle>) -> Self {
        let (position, version, at) = (event.position, event.version, event.at);
        Self { kind, position, nth: 0, version, at, from, reminds_of: None, about: None }
    }
}

/// News that was found, without what its item needs only to be shown.
#[derive(Debug, Clone, Copy)]
pub struct FoundNews<'a> {
    /// The stream of its event.
    pub stream: &'a StreamName,
    /// The version of its event in the stream.
    pub version: Version,
    /// [`News::about`].
    pub about: Option<&'a str>,
}

/// The news of one stream after a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamOfNews {
    /// The news, in position order.
    pub news: Vec<News>,
    /// The version up to which the stream was read.
    pub read: Version,
    /// Messages before this version are answered.
    pub answered: Version,
    /// Invitations before this version are accepted.
    pub joined: Version,
}

/// The text of a piece of news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// One line; the inbox truncates it.
    pub subject: String,
    /// The content; the inbox truncates it.
    pub text: String,
    /// The ids that locate the full content.
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
    /// All senders: the room has already decided.
    Any,
    /// Every agent, unless one of the two blocks the other.
    NotBlocked,
    /// Every agent that may contact the agent.
    WithContact,
}

/// A source of news. The inbox has a list of sources and queries each in turn.
#[async_trait]
pub trait NewsSource: Send + Sync + 'static {
    /// Whether this stream can have news of this source.
    fn has(&self, stream: &StreamName) -> bool;

    /// Whether an event on the stream may let other agents read this source's news, so that every agent must check
    /// again.
    fn decides_readers(&self, _stream: &StreamName) -> bool {
        false
    }

    /// The senders whose news from this source reach an agent.
    fn senders(&self) -> Senders;

    /// The streams that may have news for an agent. Empty if the inbox lists them itself.
    async fn streams(&self, me: &AgentHandle) -> Result<Vec<StreamName>, Fault>;

    /// The agents with possible news after these events were appended to one of the source's streams; `waiting` returns
    /// the agents whose inboxes are in use in this process.
    async fn readers(
        &self,
        events: &[&StoredEvent],
        waiting: &(dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> Result<Vec<AgentHandle>, Fault>;

    /// The news for an agent on a stream after a version; beyond `max` only the first are listed.
    async fn news(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        after: Version,
        max: usize,
    ) -> Result<StreamOfNews, Fault>;

    /// The news on several streams, each as [`NewsSource::news`] returns it.
    async fn news_of_several(
        &self,
        me: &AgentHandle,
        streams: &[(StreamName, Version)],
        max: usize,
    ) -> Vec<Result<StreamOfNews, Fault>> {
        let reads = streams.iter().map(|(stream, after)| self.news(me, stream, *after, max));
        stream::iter(reads.collect::<Vec<_>>()).buffered(READS_AT_ONCE).collect().await
    }

    /// The text of the news at a version; `None` if the agent may not read it now, or the news is settled.
    async fn describe(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        at: Version,
    ) -> Result<Option<Description>, Fault>;

    /// The agent whose relation to the reader counts for the news at a version, if somebody else only claims the sender.
    async fn vouched_by(&self, _stream: &StreamName, _at: Version) -> Result<Option<AgentHandle>, Fault> {
        Ok(None)
    }

    /// Whether found news is still open, whoever sent it. It answers from the states in memory: each read of an inbox asks
    /// this for every unread item. `blockers` are the agents that block the agent.
    async fn is_open(
        &self,
        me: &AgentHandle,
        news: FoundNews<'_>,
        blockers: &[AgentHandle],
    ) -> Result<bool, Fault>;
}
