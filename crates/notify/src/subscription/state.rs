//! The subscriptions of an owner: the fold of their stream, and the filter of each. Pure.
//! Must not know: how notifications are sent.

use std::collections::BTreeMap;

use plenary_kernel::{SubscriptionId, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use super::event::{Subscription, SubscriptionEvent};
use crate::wire::{Event, Notice, RequestSummary};

/// The subscriptions of an owner by id, in order of creation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubscriptionsState {
    pub(crate) all: BTreeMap<SubscriptionId, StoredSubscription>,
}

/// A subscription and its creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredSubscription {
    /// The version of the stream that created it.
    pub(crate) created_in: Version,
    /// The time of its creation.
    pub(crate) created_at: TimestampMs,
    /// Its settings.
    pub(crate) subscription: Subscription,
}

impl SubscriptionsState {
    pub(crate) fn get(&self, id: &SubscriptionId) -> Option<&Subscription> {
        self.all.get(id).map(|stored| &stored.subscription)
    }

    /// The subscriptions whose settings match a notice.
    pub(crate) fn matching(&self, notice: &Notice) -> impl Iterator<Item = &StoredSubscription> {
        self.all.values().filter(|stored| stored.subscription.matches(notice.event, &notice.request))
    }

    pub(crate) fn evolve(&mut self, version: Version, at: TimestampMs, event: &SubscriptionEvent) {
        match event {
            SubscriptionEvent::SubscriptionSet(event) => {
                let subscription = &event.subscription;
                let new = || StoredSubscription {
                    created_in: version,
                    created_at: at,
                    subscription: subscription.clone(),
                };
                let stored = self.all.entry(subscription.id.clone()).or_insert_with(new);
                stored.subscription.clone_from(subscription);
            }
            SubscriptionEvent::SubscriptionRemoved(event) => {
                self.all.remove(&event.id);
            }
        }
    }
}

impl Subscription {
    /// Whether the subscription gets this event.
    pub(crate) fn matches(&self, event: Event, about: &RequestSummary) -> bool {
        self.enabled
            && self.events.contains(&event)
            && (self.kinds.is_empty() || self.kinds.contains(&about.kind))
            && (self.agents.is_empty() || self.agents.contains(&about.from))
            && self.is_for(about)
            && self.min_urgency <= about.urgency
    }

    /// False if the request and the subscription name different persons.
    fn is_for(&self, about: &RequestSummary) -> bool {
        self.person.is_none() || about.to.is_none() || self.person == about.to
    }
}
