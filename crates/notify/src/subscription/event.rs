//! The events of the stream of an owner's subscriptions, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use plenary_accounts::{Actor, TokenDigest};
use plenary_kernel::{AgentHandle, SubscriptionId};
use plenary_requests::Kind;
use serde::{Deserialize, Serialize};

use crate::{
    signature::Secret,
    wire::{Event, Quiet, Target, Urgency},
};

/// A subscription: a receiver and a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subscription {
    pub(crate) id: SubscriptionId,
    /// The receiver.
    pub(crate) target: Target,
    /// The secret of signatures and one-tap links.
    pub(crate) secret: Secret,
    /// The name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The events that are sent.
    pub(crate) events: Vec<Event>,
    /// The kinds of requests; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) kinds: Vec<Kind>,
    /// The agents whose requests are sent; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) agents: Vec<AgentHandle>,
    /// The person: requests to other people are not sent. Absent: everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) person: Option<AgentHandle>,
    /// The least urgency.
    pub(crate) min_urgency: Urgency,
    /// The quiet hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) quiet: Option<Quiet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest_minutes: Option<u32>,
    /// Whether the subscription is enabled.
    pub(crate) enabled: bool,
    /// Whether the receiver reported that it is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) gone: bool,
    /// The proof of the rule by which the person who set the receiver signed in at an issuer: without such a rule nothing is
    /// sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) through: Option<TokenDigest>,
}

/// An event of an owner's subscriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubscriptionEvent {
    /// A subscription was created or changed.
    SubscriptionSet(Box<SubscriptionSet>),
    SubscriptionRemoved(SubscriptionRemoved),
}

/// See [`SubscriptionEvent::SubscriptionSet`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubscriptionSet {
    /// The new value.
    pub(crate) subscription: Subscription,
    pub(crate) by: Actor,
}

/// See [`SubscriptionEvent::SubscriptionRemoved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubscriptionRemoved {
    pub(crate) id: SubscriptionId,
    pub(crate) by: Actor,
}

plenary_engine::stored_forms!(SubscriptionEvent: SubscriptionSet, SubscriptionRemoved);
