//! A room's events for the one stream of everything: what happened, the concerned agents, and the permitted readers.
//! A reader is an owner, an agent or the operator; the operator sees everything.
//! Must not know: the reader, or how events are sent.

use futures_util::future::BoxFuture;
use plenary_kernel::{AgentHandle, OwnerName, TimestampMs};
use plenary_log::{Fault, StoredEvent, StreamName};
use serde_json::Value;

/// Somebody who looks on and is not the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Onlooker {
    /// An owner: what any of its agents may see, and what is its own.
    Owner(OwnerName),
    /// An agent: what it may see.
    Agent(AgentHandle),
}

impl Onlooker {
    /// The owner, where it is one.
    #[must_use]
    pub fn owner(&self) -> Option<&OwnerName> {
        match self {
            Self::Owner(owner) => Some(owner),
            Self::Agent(_) => None,
        }
    }

    /// Whether it is this agent, or its owner.
    #[must_use]
    pub fn has(&self, agent: &AgentHandle) -> bool {
        match self {
            Self::Owner(owner) => owner.as_str() == agent.owner(),
            Self::Agent(me) => me == agent,
        }
    }

    /// Whether it is this owner, or an agent of it.
    #[must_use]
    pub fn is_of(&self, owner: &OwnerName) -> bool {
        match self {
            Self::Owner(me) => me == owner,
            Self::Agent(me) => me.owner() == owner.as_str(),
        }
    }
}

/// Who may know of an event.
pub type Audience = Box<dyn Fn(&Onlooker) -> bool + Send + Sync>;

/// What `/watch` reports of an event.
pub struct OnlookerEvent {
    /// Its name on the wire, `session.message`.
    pub kind: String,
    /// Of what: the id of the session, the channel, the project, the thread or the account.
    pub stream: String,
    /// The agents that it concerns, who did it first.
    pub agents: Vec<AgentHandle>,
    /// What a list needs; the whole has its own operation.
    pub data: Value,
    /// The id of the trace that it belongs to, 32 hexadecimal digits, where the event stores one.
    pub trace: Option<String>,
    /// Who may know.
    pub audience: Audience,
}

impl std::fmt::Debug for OnlookerEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Told").field("kind", &self.kind).field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// Where onlookers are told from.
pub trait Teller: Send + Sync + 'static {
    /// The name of the room in the stream.
    fn room(&self) -> &'static str;

    /// Whether it tells of a stream.
    fn tells_of(&self, stream: &StreamName) -> bool;

    /// What it tells of an event of such a stream, if anything. The event was handed to the room before.
    fn tell<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<OnlookerEvent>, Fault>>;
}

/// An event that is in no log; its room keeps it for a while.
#[derive(Debug)]
pub struct EphemeralEvent {
    /// Its number among the events of its owner. Numbers rise.
    pub number: u64,
    /// When it came.
    pub at: TimestampMs,
    /// Its content.
    pub told: OnlookerEvent,
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
#[must_use]
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
