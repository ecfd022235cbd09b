//! The events of the stream of an owner's subscriptions, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use plenary_accounts::Actor;
use plenary_engine::stored::{read, unknown, written};
use plenary_kernel::{AgentHandle, SubscriptionId};
use plenary_log::{Fault, NewEvent, StoredEvent};
use plenary_requests::Kind;
use serde::{Deserialize, Serialize};

use crate::{
    signature::Secret,
    wire::{Event, Quiet, Target, Urgency},
};

/// Where notifications go, and which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subscription {
    /// Its id.
    pub(crate) id: SubscriptionId,
    /// Where to.
    pub(crate) target: Target,
    /// What its messages are signed with, and its links are made of.
    pub(crate) secret: Secret,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Of what.
    pub(crate) events: Vec<Event>,
    /// Of which kinds of requests; of all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) kinds: Vec<Kind>,
    /// Of which agents; of all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) agents: Vec<AgentHandle>,
    /// Whose it is: what is given to another person is left out. Everybody's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) person: Option<AgentHandle>,
    /// What presses less is left out.
    pub(crate) min_urgency: Urgency,
    /// When nothing is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) quiet: Option<Quiet>,
    /// For how many minutes notifications are gathered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest_minutes: Option<u32>,
    /// Whether anything is sent.
    pub(crate) enabled: bool,
    /// Whether the receiver said that it is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) gone: bool,
}

/// An event of an owner's subscriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubscriptionEvent {
    /// There is one, or it is otherwise than before.
    SubscriptionSet(Box<SubscriptionSet>),
    /// There is one no more.
    SubscriptionRemoved(SubscriptionRemoved),
}

/// See [`SubscriptionEvent::SubscriptionSet`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubscriptionSet {
    /// As it is from now on.
    pub(crate) subscription: Subscription,
    /// Who.
    pub(crate) by: Actor,
}

/// See [`SubscriptionEvent::SubscriptionRemoved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubscriptionRemoved {
    /// Which.
    pub(crate) id: SubscriptionId,
    /// Who.
    pub(crate) by: Actor,
}

impl SubscriptionEvent {
    pub(crate) fn encode(&self) -> NewEvent {
        match self {
            Self::SubscriptionSet(event) => written("SubscriptionSet", event),
            Self::SubscriptionRemoved(event) => written("SubscriptionRemoved", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub(crate) fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored.kind {
            "SubscriptionSet" => Self::SubscriptionSet(read(stored)?),
            "SubscriptionRemoved" => Self::SubscriptionRemoved(read(stored)?),
            _ => return unknown(stored),
        })
    }
}
