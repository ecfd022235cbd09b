//! The events of a request's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use bytes::Bytes;
use plenary_accounts::{Actor, TokenDigest};
use plenary_kernel::{AgentHandle, OwnerName, RuleId, SubscriptionId, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::wire::{Allow, AnswerType, Kind, NewRule, OnTimeout};

/// An event of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestEvent {
    /// It was made; always the first event.
    RequestMade(RequestMade),
    /// A person or a rule answered.
    RequestAnswered(RequestAnswered),
    /// The time to undo the answer is over: the agent gets it.
    AnswerSettled(AnswerSettled),
    /// The answer was undone.
    AnswerUndone(AnswerUndone),
    /// It was postponed.
    RequestSnoozed(RequestSnoozed),
    /// It was delegated to another person.
    RequestDelegated(RequestDelegated),
    /// The agent withdrew it.
    RequestWithdrawn(RequestWithdrawn),
    /// Its deadline passed.
    RequestExpired(RequestExpired),
    /// A one-tap link was created.
    LinkMade(LinkMade),
}

/// The members of every event of a request, so that index rows follow from the event alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSubject {
    /// The requesting agent.
    pub agent: AgentHandle,
    /// The kind of the request.
    pub kind: Kind,
    /// When it was made.
    pub created: TimestampMs,
    /// Its deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimestampMs>,
    /// The other owner whose agent caused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stranger: Option<OwnerName>,
}

impl RequestSubject {
    /// The owner whose people are asked.
    pub fn owner(&self) -> OwnerName {
        self.agent.owner_name()
    }
}

/// The author of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerAuthor {
    /// A person with a token of this actor.
    Person(Actor),
    /// A rule that a person made.
    Rule(RuleId),
    /// A one-tap link.
    Link,
    /// The deadline.
    Deadline,
}

/// See [`RequestEvent::RequestMade`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestMade {
    /// The request.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// The addressed person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentHandle>,
    /// The types of answer that it allows.
    pub allow: Allow,
    /// The answer that counts when the deadline passes.
    pub on_timeout: OnTimeout,
    /// The tool in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether the outcome is reported in the agent's inbox.
    #[serde(rename = "told")]
    pub notifies_inbox: bool,
    /// Whether the server made it by itself, in the agent's name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_server: bool,
    /// The content, as JSON.
    #[serde(skip)]
    pub content: Bytes,
}

/// See [`RequestEvent::RequestAnswered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestAnswered {
    /// The request.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// The type of the answer.
    pub answer: AnswerType,
    /// The author.
    pub by: AnswerAuthor,
    /// The person of the owner or the operator, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<AgentHandle>,
    /// When.
    pub at: TimestampMs,
    /// The time until which it can be undone; absent if it is final at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_until: Option<TimestampMs>,
    /// The rule to create once the answer is final.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<NewRule>,
    /// Whether the outcome is reported in the agent's inbox.
    #[serde(rename = "told")]
    pub notifies_inbox: bool,
    /// The arguments and the text, as JSON.
    #[serde(skip)]
    pub content: Bytes,
}

/// See [`RequestEvent::AnswerSettled`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSettled {
    /// The request.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// The end of the time in which it could be undone.
    pub undo_until: TimestampMs,
    /// When it became final.
    pub at: TimestampMs,
    /// The rule that it creates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleOfAnswer>,
    /// Whether the outcome is reported in the agent's inbox.
    #[serde(rename = "told")]
    pub notifies_inbox: bool,
}

/// See [`RequestEvent::AnswerUndone`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerUndone {
    /// The request.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// The actor.
    pub by: Actor,
    /// When it had been answered.
    pub answered: TimestampMs,
    /// The end of the time in which it could be undone.
    pub undo_until: TimestampMs,
}

/// See [`RequestEvent::RequestSnoozed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSnoozed {
    /// The request.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// The actor.
    pub by: Actor,
    /// The time until which it is postponed.
    pub until: TimestampMs,
}

/// See [`RequestEvent::RequestDelegated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestDelegated {
    /// The request.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// The actor.
    pub by: Actor,
    /// The person.
    pub to: AgentHandle,
}

/// See [`RequestEvent::RequestWithdrawn`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestWithdrawn {
    /// The request.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// When.
    pub at: TimestampMs,
    /// When it had been answered, if that answer was not final.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<TimestampMs>,
    /// The end of the time in which that answer could be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_until: Option<TimestampMs>,
}

/// See [`RequestEvent::RequestExpired`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestExpired {
    /// The request.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// When the expiry was recorded.
    pub at: TimestampMs,
    /// The answer that counts, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerType>,
    /// Whether the outcome is reported in the agent's inbox.
    #[serde(rename = "told")]
    pub notifies_inbox: bool,
}

/// See [`RequestEvent::LinkMade`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkMade {
    /// The request.
    #[serde(rename = "of")]
    pub subject: RequestSubject,
    /// The digest of the link's secret.
    pub digest: TokenDigest,
    /// When it expires.
    pub until: TimestampMs,
    /// What its maker acted through: the token of the owner or of the operator, or the proof of the rule of an issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<TokenDigest>,
    /// The person who made it, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<AgentHandle>,
    /// The subscription to whose receiver it was sent, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<SubscriptionId>,
}

impl RequestEvent {
    /// The subject of the event.
    pub const fn subject(&self) -> &RequestSubject {
        match self {
            Self::RequestMade(event) => &event.subject,
            Self::RequestAnswered(event) => &event.subject,
            Self::AnswerSettled(event) => &event.subject,
            Self::AnswerUndone(event) => &event.subject,
            Self::RequestSnoozed(event) => &event.subject,
            Self::RequestDelegated(event) => &event.subject,
            Self::RequestWithdrawn(event) => &event.subject,
            Self::RequestExpired(event) => &event.subject,
            Self::LinkMade(event) => &event.subject,
        }
    }

    /// Whether this event makes the outcome final and the inbox reports it.
    pub const fn reaches_inbox(&self) -> bool {
        match self {
            Self::RequestAnswered(event) => event.undo_until.is_none() && event.notifies_inbox,
            Self::AnswerSettled(event) => event.notifies_inbox,
            Self::RequestExpired(event) => event.notifies_inbox,
            Self::RequestMade(_)
            | Self::AnswerUndone(_)
            | Self::RequestSnoozed(_)
            | Self::RequestDelegated(_)
            | Self::RequestWithdrawn(_)
            | Self::LinkMade(_) => false,
        }
    }

    /// When a timer is due because of this event.
    pub fn due(&self) -> Option<TimestampMs> {
        match self {
            Self::RequestMade(event) => event.subject.deadline,
            Self::RequestAnswered(event) => event.undo_until,
            Self::AnswerUndone(event) => event.subject.deadline,
            Self::AnswerSettled(_)
            | Self::RequestSnoozed(_)
            | Self::RequestDelegated(_)
            | Self::RequestWithdrawn(_)
            | Self::RequestExpired(_)
            | Self::LinkMade(_) => None,
        }
    }
}

plenary_engine::stored_forms! {
    RequestEvent: RequestMade + content, RequestAnswered + content, AnswerSettled, AnswerUndone,
    RequestSnoozed, RequestDelegated, RequestWithdrawn, RequestExpired, LinkMade
}

/// A rule created from an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleOfAnswer {
    /// The rule.
    pub rule: NewRule,
    /// The answer that it gives.
    pub answer: AnswerType,
    /// The actor who made it.
    pub by: Actor,
}
