//! The commands on a request. Bodies arrive checked. Pure.
//! Must not know: HTTP.

use bytes::Bytes;
use plenary_accounts::{Authority, TokenDigest};
use plenary_kernel::{AgentHandle, OwnerName, RuleId, TimestampMs, Version};

use crate::wire::{Allow, AnswerType, Kind, NewRule, OnTimeout};

/// Who asks a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An agent, with this token.
    Agent(Authority),
    /// The server by itself, in an agent's name.
    Server,
}

/// Asks a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeRequest {
    /// Who asks.
    pub source: Source,
    /// In which agent's name.
    pub agent: AgentHandle,
    /// The other owner whose agent caused it, where one did.
    pub stranger: Option<OwnerName>,
    /// What it is about.
    pub kind: Kind,
    /// To which person.
    pub to: Option<AgentHandle>,
    /// The types of answer that it allows.
    pub allow: Allow,
    /// The deadline for an answer.
    pub deadline: Option<TimestampMs>,
    /// The answer that counts when the deadline passes.
    pub on_timeout: OnTimeout,
    /// The tool that it is about.
    pub tool: Option<String>,
    /// Where the agent works.
    pub directory: Option<String>,
    /// Whether the answer comes to the agent's inbox.
    pub told: bool,
    /// What it says, as JSON.
    pub content: Bytes,
}

/// What asking a person rests on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskFacts {
    /// Whether the token is still valid.
    pub holds: bool,
    /// Whether `to` is somebody of the owner, or nobody is named.
    pub knows_person: bool,
    /// Whether as many requests wait as may: the agent's own and its owner's, or those that strangers cause.
    pub is_full: bool,
    /// The rule that answers it.
    pub rule: Option<(RuleId, AnswerType)>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How.
    pub answer: AnswerType,
    /// Arguments and text, as JSON.
    pub said: Bytes,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnsweredBy {
    /// The bearer of a token.
    Person(Authority),
    /// Whoever has the link.
    Link,
}

/// Answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRequest {
    /// Who.
    pub by: AnsweredBy,
    /// What.
    pub answer: Answer,
    /// The version that was looked at; any where none is said.
    pub version: Option<Version>,
    /// For how long it may be taken back.
    pub undo_ms: u64,
    /// What becomes a rule.
    pub rule: Option<NewRule>,
}

/// What answering rests on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerFacts {
    /// Whether the token is still valid.
    pub holds: bool,
    /// Whether the owner has as many rules as it may.
    pub has_all_rules: bool,
    /// Whether somebody of the owner is named, where somebody is.
    pub knows_person: bool,
}

/// What else a person does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handling {
    /// Takes an answer back.
    Undo,
    /// Puts it off.
    Snooze(TimestampMs),
    /// Leaves it to somebody.
    Delegate(AgentHandle),
    /// Makes a link.
    Link(TokenDigest, TimestampMs),
}

/// A person handles a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandleRequest {
    /// Who.
    pub authority: Authority,
    /// What.
    pub handling: Handling,
}

/// Whoever asked gives up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawRequest {
    /// Who.
    pub source: Source,
}

/// The clock: what is over is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassTime;
