//! A room's events for `/watch`: a summary of each event, the agents concerned, and the readers permitted. A reader is
//! an owner, an agent or the operator; the operator sees everything.
//! Must not know: the reader, or how events are sent.

use async_trait::async_trait;
use plenary_kernel::{AgentHandle, OwnerName, TimestampMs};
use plenary_log::{Fault, StoredEvent, StreamName};
use serde_json::Value;

/// A reader of `/watch` other than the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Onlooker {
    /// An owner; sees what any of its agents may see, and its own data.
    Owner(OwnerName),
    /// An agent; sees what it may see.
    Agent(AgentHandle),
}

impl Onlooker {
    /// The owner, if the reader is an owner.
    pub fn owner(&self) -> Option<&OwnerName> {
        match self {
            Self::Owner(owner) => Some(owner),
            Self::Agent(_) => None,
        }
    }

    /// Whether the reader is this agent or its owner.
    pub fn has(&self, agent: &AgentHandle) -> bool {
        match self {
            Self::Owner(owner) => owner.as_str() == agent.owner(),
            Self::Agent(me) => me == agent,
        }
    }

    /// Whether the reader is this owner or one of its agents.
    pub fn is_of(&self, owner: &OwnerName) -> bool {
        match self {
            Self::Owner(me) => me == owner,
            Self::Agent(me) => me.owner() == owner.as_str(),
        }
    }
}

/// Decides whether a reader may see an event.
pub type Audience = Box<dyn Fn(&Onlooker) -> bool + Send + Sync>;

/// An event as `/watch` reports it.
pub struct OnlookerEvent {
    /// Its name on the wire, for example `session.message`.
    pub kind: String,
    /// The id of its session, channel, project, thread or account.
    pub stream: String,
    /// The agents that it concerns, the acting agent first.
    pub agents: Vec<AgentHandle>,
    /// The data that a list view needs; another operation returns the full event.
    pub data: Value,
    /// The id of its trace, 32 hexadecimal digits, if the event stores one.
    pub trace: Option<String>,
    /// The readers who may see it.
    pub audience: Audience,
}

impl OnlookerEvent {
    /// An event of a stream, without a trace.
    pub fn new(
        kind: impl Into<String>,
        stream: impl Into<String>,
        agents: Vec<AgentHandle>,
        data: Value,
        audience: impl Fn(&Onlooker) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (kind, stream) = (kind.into(), stream.into());
        Self { kind, stream, agents, data, trace: None, audience: Box::new(audience) }
    }

    /// The same with the id of its trace, if it has one.
    pub fn traced(self, trace: Option<String>) -> Self {
        Self { trace, ..self }
    }
}

impl std::fmt::Debug for OnlookerEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnlookerEvent")
            .field("kind", &self.kind)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

/// A source of events for `/watch`.
#[async_trait]
pub trait Teller: Send + Sync + 'static {
    /// The name of the room in the stream.
    fn room(&self) -> &'static str;

    /// Whether it reports events of this stream.
    fn tells_of(&self, stream: &StreamName) -> bool;

    /// The report of an event of such a stream, if there is one. The room's observer has already received the event.
    async fn tell(&self, event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault>;

    /// Whether a reader that may see such an event is also shown it without asking for what it is about.
    async fn is_shown(&self, _event: &StoredEvent, _to: &Onlooker) -> Result<bool, Fault> {
        Ok(true)
    }

    /// The text of what such an event is about, if the index has it under another event. Access is not checked.
    async fn text(&self, _event: &StoredEvent) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}

/// An event that is not in the log; its room keeps it for a while.
#[derive(Debug)]
pub struct EphemeralEvent {
    /// Its number among the events of its owner. Numbers rise.
    pub number: u64,
    /// The time of arrival.
    pub at: TimestampMs,
    /// Its content.
    pub content: OnlookerEvent,
}

/// A room with ephemeral events, which `/watch` reports to their owner.
pub trait EphemeralSource: Send + Sync + 'static {
    /// The name of the room in the stream.
    fn room(&self) -> &'static str;

    /// The events of an owner after a number that the room still keeps, by number.
    fn retained(&self, owner: &OwnerName, after: u64) -> Vec<EphemeralEvent>;

    /// Registers a callback for each new event of an owner; it must not wait.
    fn on_arrival(&self, wake: Box<dyn Fn(&OwnerName) + Send + Sync>);
}

/// Longest excerpt of a text, in characters.
pub const EXCERPT_CHARS_MAX: usize = 200;

/// The beginning of a text, on one line.
pub fn excerpt(text: &str) -> String {
    let line = |c: char| if c.is_control() { ' ' } else { c };
    let mut chars = text.chars().map(line);
    let mut cut: String = chars.by_ref().take(EXCERPT_CHARS_MAX).collect();
    if chars.next().is_some() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_onlooker_has_its_own_agents_and_is_of_its_own_owner() {
        let (owner, agent) = ("nick".parse().unwrap(), "@nick.bot".parse().unwrap());
        let (of_owner, of_agent) = (Onlooker::Owner(owner), Onlooker::Agent(agent));
        let (bot, other) = ("@nick.bot".parse().unwrap(), "@nick.other".parse().unwrap());
        assert!(of_owner.has(&bot) && of_owner.has(&other) && of_agent.has(&bot) && !of_agent.has(&other));
        let (nick, ann) = ("nick".parse().unwrap(), "ann".parse().unwrap());
        assert!(
            of_owner.is_of(&nick) && of_agent.is_of(&nick) && !of_owner.is_of(&ann) && !of_agent.is_of(&ann)
        );
    }

    #[test]
    fn an_excerpt_is_short_and_on_one_line() {
        assert_eq!(excerpt("a\nb"), "a b");
        let long = "ä".repeat(EXCERPT_CHARS_MAX + 1);
        assert_eq!(excerpt(&long).chars().count(), EXCERPT_CHARS_MAX + 1);
        assert!(excerpt(&long).ends_with('…'));
    }
}
