//! The events of a request's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use bytes::Bytes;
use plenary_accounts::{Actor, TokenDigest};
use plenary_engine::stored::{read, unknown, written, written_with};
use plenary_kernel::{AgentHandle, OwnerName, RuleId, TimestampMs};
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

use crate::wire::{Allow, AnswerType, Kind, NewRule, OnTimeout};

/// An event of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestEvent {
    /// It was asked; always the first.
    RequestMade(RequestMade),
    /// A person or a rule answered.
    RequestAnswered(RequestAnswered),
    /// The time to undo the answer is over: the agent gets it.
    AnswerSettled(AnswerSettled),
    /// The answer was taken back.
    AnswerUndone(AnswerUndone),
    /// It is not shown for a while.
    RequestSnoozed(RequestSnoozed),
    /// Another person is to answer.
    RequestDelegated(RequestDelegated),
    /// The agent withdrew it.
    RequestWithdrawn(RequestWithdrawn),
    /// Its deadline passed.
    RequestExpired(RequestExpired),
    /// A one-tap link was made.
    LinkMade(LinkMade),
}

/// What every event says of its request, so that indexes follow from the event alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSubject {
    /// Who asks.
    pub agent: AgentHandle,
    /// What it is about.
    pub kind: Kind,
    /// When it was made.
    pub created: TimestampMs,
    /// Its deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimestampMs>,
    /// The other owner whose agent caused it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stranger: Option<OwnerName>,
}

impl RequestSubject {
    /// The owner whose people are asked.
    #[must_use]
    pub fn owner(&self) -> OwnerName {
        self.agent.owner_name()
    }
}

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerAuthor {
    /// A person, by this token's bearer.
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
    /// Which.
    pub of: RequestSubject,
    /// To which person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentHandle>,
    /// The types of answer that it allows.
    pub allow: Allow,
    /// The answer that counts when the deadline passes.
    pub on_timeout: OnTimeout,
    /// The tool that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether the answer comes to the agent's inbox.
    pub told: bool,
    /// Whether the server asks by itself, in the agent's name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_server: bool,
    /// What it says, as JSON.
    #[serde(skip)]
    pub content: Bytes,
}

/// See [`RequestEvent::RequestAnswered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestAnswered {
    /// Which.
    pub of: RequestSubject,
    /// How.
    pub answer: AnswerType,
    /// Who.
    pub by: AnswerAuthor,
    /// When.
    pub at: TimestampMs,
    /// Until when it may be taken back; absent where it stands at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_until: Option<TimestampMs>,
    /// The rule that comes of it once it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<NewRule>,
    /// Whether the answer comes to the agent's inbox.
    pub told: bool,
    /// Its arguments and text, as JSON.
    #[serde(skip)]
    pub said: Bytes,
}

/// See [`RequestEvent::AnswerSettled`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSettled {
    /// Which.
    pub of: RequestSubject,
    /// Until when it could be taken back.
    pub undo_until: TimestampMs,
    /// When it stands.
    pub at: TimestampMs,
    /// The rule that comes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleOfAnswer>,
    /// Whether the answer comes to the agent's inbox.
    pub told: bool,
}

/// See [`RequestEvent::AnswerUndone`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerUndone {
    /// Which.
    pub of: RequestSubject,
    /// Who.
    pub by: Actor,
    /// When it had been answered.
    pub answered: TimestampMs,
    /// Until when it could be taken back.
    pub undo_until: TimestampMs,
}

/// See [`RequestEvent::RequestSnoozed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSnoozed {
    /// Which.
    pub of: RequestSubject,
    /// Who.
    pub by: Actor,
    /// Until when.
    pub until: TimestampMs,
}

/// See [`RequestEvent::RequestDelegated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestDelegated {
    /// Which.
    pub of: RequestSubject,
    /// Who.
    pub by: Actor,
    /// The person.
    pub to: AgentHandle,
}

/// See [`RequestEvent::RequestWithdrawn`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestWithdrawn {
    /// Which.
    pub of: RequestSubject,
    /// When.
    pub at: TimestampMs,
    /// When it had been answered, where that could still be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<TimestampMs>,
    /// Until when that could be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_until: Option<TimestampMs>,
}

/// See [`RequestEvent::RequestExpired`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestExpired {
    /// Which.
    pub of: RequestSubject,
    /// When that was noticed.
    pub at: TimestampMs,
    /// What counts as its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerType>,
    /// Whether that comes to the agent's inbox.
    pub told: bool,
}

/// See [`RequestEvent::LinkMade`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkMade {
    /// Which.
    pub of: RequestSubject,
    /// What the link is known by.
    pub digest: TokenDigest,
    /// Until when it may be used.
    pub until: TimestampMs,
}

impl RequestEvent {
    /// What it says of its request.
    #[must_use]
    pub const fn of(&self) -> &RequestSubject {
        match self {
            Self::RequestMade(event) => &event.of,
            Self::RequestAnswered(event) => &event.of,
            Self::AnswerSettled(event) => &event.of,
            Self::AnswerUndone(event) => &event.of,
            Self::RequestSnoozed(event) => &event.of,
            Self::RequestDelegated(event) => &event.of,
            Self::RequestWithdrawn(event) => &event.of,
            Self::RequestExpired(event) => &event.of,
            Self::LinkMade(event) => &event.of,
        }
    }

    /// Whether the agent knows the outcome from here on, and its inbox reports it.
    #[must_use]
    pub const fn tells(&self) -> bool {
        match self {
            Self::RequestAnswered(event) => event.undo_until.is_none() && event.told,
            Self::AnswerSettled(event) => event.told,
            Self::RequestExpired(event) => event.told,
            Self::RequestMade(_)
            | Self::AnswerUndone(_)
            | Self::RequestSnoozed(_)
            | Self::RequestDelegated(_)
            | Self::RequestWithdrawn(_)
            | Self::LinkMade(_) => false,
        }
    }

    /// When the clock has something to do because of it.
    #[must_use]
    pub fn due(&self) -> Option<TimestampMs> {
        match self {
            Self::RequestMade(event) => event.of.deadline,
            Self::RequestAnswered(event) => event.undo_until,
            Self::AnswerUndone(event) => event.of.deadline,
            Self::AnswerSettled(_)
            | Self::RequestSnoozed(_)
            | Self::RequestDelegated(_)
            | Self::RequestWithdrawn(_)
            | Self::RequestExpired(_)
            | Self::LinkMade(_) => None,
        }
    }

    /// The stored form.
    pub(crate) fn encode(&self) -> NewEvent {
        match self {
            Self::RequestMade(event) => written_with("RequestMade", event, event.content.clone()),
            Self::RequestAnswered(event) => written_with("RequestAnswered", event, event.said.clone()),
            Self::AnswerSettled(event) => written("AnswerSettled", event),
            Self::AnswerUndone(event) => written("AnswerUndone", event),
            Self::RequestSnoozed(event) => written("RequestSnoozed", event),
            Self::RequestDelegated(event) => written("RequestDelegated", event),
            Self::RequestWithdrawn(event) => written("RequestWithdrawn", event),
            Self::RequestExpired(event) => written("RequestExpired", event),
            Self::LinkMade(event) => written("LinkMade", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub(crate) fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored.kind {
            "RequestMade" => {
                Self::RequestMade(RequestMade { content: stored.payload.clone(), ..read(stored)? })
            }
            "RequestAnswered" => {
                Self::RequestAnswered(RequestAnswered { said: stored.payload.clone(), ..read(stored)? })
            }
            "AnswerSettled" => Self::AnswerSettled(read(stored)?),
            "AnswerUndone" => Self::AnswerUndone(read(stored)?),
            "RequestSnoozed" => Self::RequestSnoozed(read(stored)?),
            "RequestDelegated" => Self::RequestDelegated(read(stored)?),
            "RequestWithdrawn" => Self::RequestWithdrawn(read(stored)?),
            "RequestExpired" => Self::RequestExpired(read(stored)?),
            "LinkMade" => Self::LinkMade(read(stored)?),
            _ => return unknown(stored),
        })
    }
}

/// The rule that comes of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleOfAnswer {
    /// What a person asked for.
    pub rule: NewRule,
    /// How it answers.
    pub answer: AnswerType,
    /// Who made it.
    pub by: Actor,
}
