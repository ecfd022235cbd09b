//! The subscriptions of an owner: the fold of their stream, and the filter of each. Pure.
//! Must not know: how notifications are sent.

use std::collections::BTreeMap;

use plenary_kernel::{SubscriptionId, TimestampMs};
use serde::{Deserialize, Serialize};

use super::event::{Subscription, SubscriptionEvent};
use crate::wire::{Event, Notice, RequestSummary};

/// The subscriptions of an owner by id, in order of creation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubscriptionsState {
    /// Each with the time of its creation.
    pub(crate) all: BTreeMap<SubscriptionId, (TimestampMs, Subscription)>,
}

impl SubscriptionsState {
    pub(crate) fn get(&self, id: &SubscriptionId) -> Option<&Subscription> {
        self.all.get(id).map(|(_, subscription)| subscription)
    }

    /// The subscriptions that get a notice. A subscription gets no events from before its creation.
    pub(crate) fn matching(&self, notice: &Notice) -> impl Iterator<Item = &Subscription> {
        let created_before = self.all.values().filter(|(created_at, _)| created_at.0 <= notice.at);
        created_before
            .map(|(_, subscription)| subscription)
            .filter(|subscription| subscription.matches(notice.event, &notice.request))
    }

    pub(crate) fn evolve(&mut self, at: TimestampMs, event: &SubscriptionEvent) {
        match event {
            SubscriptionEvent::SubscriptionSet(event) => {
                let subscription = &event.subscription;
                let created_at = self.all.get(&subscription.id).map_or(at, |(created_at, _)| *created_at);
                self.all.insert(subscription.id.clone(), (created_at, subscription.clone()));
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
