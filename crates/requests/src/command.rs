//! The commands on a request. Bodies arrive checked. Pure.
//! Must not know: HTTP.

use bytes::Bytes;
use plenary_accounts::{Authority, TokenDigest};
use plenary_kernel::{AgentHandle, OwnerName, RuleId, SubscriptionId, TimestampMs, Version};

use crate::wire::{Allow, AnswerType, Kind, NewRule, OnTimeout};

/// The requesting party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An agent, with this token.
    Agent(Authority),
    /// The server itself, on behalf of an agent.
    Server,
}

/// Makes a request to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeRequest {
    /// The requesting party.
    pub source: Source,
    /// The agent in whose name the request is made.
    pub agent: AgentHandle,
    /// The other owner whose agent caused it, if one did.
    pub stranger: Option<OwnerName>,
    /// The kind of the request.
    pub kind: Kind,
    /// The addressed person; all people of the owner if absent.
    pub to: Option<AgentHandle>,
    /// The types of answer that it allows.
    pub allow: Allow,
    /// The deadline for an answer.
    pub deadline: Option<TimestampMs>,
    /// The answer that counts when the deadline passes.
    pub on_timeout: OnTimeout,
    /// The tool in question.
    pub tool: Option<String>,
    /// The agent's working directory.
    pub directory: Option<String>,
    /// Whether the outcome is reported in the agent's inbox.
    pub notifies_inbox: bool,
    /// The content, as JSON.
    pub content: Bytes,
}

/// The facts for [`MakeRequest`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskFacts {
    /// Whether the token is still valid.
    pub is_authorized: bool,
    /// Whether `to` is a person of the owner, or absent.
    pub knows_person: bool,
    /// Whether the limit of waiting requests is reached: that of the agent and its owner, or that of strangers.
    pub is_full: bool,
    /// The rule that answers the request.
    pub rule: Option<(RuleId, AnswerType)>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The type of the answer.
    pub answer: AnswerType,
    /// The arguments and the text, as JSON.
    pub content: Bytes,
}

/// The author of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnsweredBy {
    /// The bearer of a token, and the person, if one is named.
    Person(Authority, Option<AgentHandle>),
    /// The holder of a one-tap link.
    Link,
}

/// Answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRequest {
    /// The author.
    pub by: AnsweredBy,
    /// The answer.
    pub answer: Answer,
    /// The version that the author saw; not checked if absent.
    pub version: Option<Version>,
    /// How long the answer can be undone, in milliseconds.
    pub undo_ms: u64,
    /// A rule to create from the answer.
    pub rule: Option<NewRule>,
}

/// The facts for [`AnswerRequest`] and [`HandleRequest`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerFacts {
    /// Whether the token is still valid.
    pub is_authorized: bool,
    /// Whether the owner has the maximum number of rules.
    pub has_all_rules: bool,
    /// Whether the named person, if any, is one of the owner's.
    pub knows_person: bool,
}

/// A one-tap link, and what it ends with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLink {
    /// The digest of its secret.
    pub digest: TokenDigest,
    /// When it expires.
    pub until: TimestampMs,
    /// What its maker acts through: the token of the owner or of the operator, or the proof of the rule of an issuer.
    pub through: Option<TokenDigest>,
    /// The person who makes it, if one is known.
    pub person: Option<AgentHandle>,
    /// The subscription to whose receiver it is sent, if it is.
    pub receiver: Option<SubscriptionId>,
}

/// A person's actions on a request other than answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handling {
    /// Undoes an answer.
    Undo,
    /// Postpones the request.
    Snooze(TimestampMs),
    /// Delegates it to a person.
    Delegate(AgentHandle),
    /// Creates a one-tap link.
    Link(NewLink),
}

/// A person acts on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandleRequest {
    /// The person's authority.
    pub authority: Authority,
    /// The action.
    pub handling: Handling,
}

/// The requesting party withdraws the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawRequest {
    /// The requesting party.
    pub source: Source,
}

/// A timer expired: settles answers and expires requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassTime;
