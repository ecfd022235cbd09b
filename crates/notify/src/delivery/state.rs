//! A notification: the fold of its stream. The content stays in the log. Pure.
//! Must not know: how it is sent.

use std::collections::BTreeSet;

use plenary_kernel::TimestampMs;
use serde::{Deserialize, Serialize};

use super::event::{DeliveryEvent, DeliverySubject};

/// A notification. The default value belongs to an id without a notification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeliveryState {
    /// The subject; `None` if it does not exist.
    #[serde(rename = "of")]
    pub(crate) subject: Option<DeliverySubject>,
    /// Whether it is a digest, which accepts items while it waits.
    pub(crate) digest: bool,
    /// The positions of the events that it reports.
    pub(crate) items: BTreeSet<u64>,
    /// The number of items that strangers caused.
    #[serde(default)]
    pub(crate) of_strangers: usize,
    /// The progress of the delivery.
    pub(crate) progress: Progress,
    /// The number of attempts.
    pub(crate) attempts: u32,
    /// When the first attempt started.
    pub(crate) since: Option<TimestampMs>,
    /// Why the last attempt failed.
    pub(crate) error: String,
}

/// The progress of the delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Progress {
    /// It does not exist, was delivered, or was dropped.
    #[default]
    Over,
    /// It waits for this time, before the first or a later attempt.
    Waiting(TimestampMs),
    /// An attempt is active; after this time its claim has expired.
    Trying(TimestampMs),
    /// It was abandoned at this time.
    Dead(TimestampMs),
}

impl DeliveryState {
    /// When it is due; `None` if it is over.
    pub(crate) const fn due(&self) -> Option<TimestampMs> {
        match self.progress {
            Progress::Waiting(due) | Progress::Trying(due) => Some(due),
            Progress::Over | Progress::Dead(_) => None,
        }
    }

    /// Whether a person queued it again and no attempt followed yet.
    pub(crate) const fn is_revived(&self) -> bool {
        self.attempts > 0 && self.since.is_none()
    }

    pub(crate) fn evolve(&mut self, event: &DeliveryEvent) {
        match event {
            DeliveryEvent::NoticeAdded(event) => {
                self.subject.get_or_insert_with(|| event.subject.clone());
                self.digest = event.digest;
                self.items.insert(event.item);
                self.of_strangers += usize::from(event.stranger.is_some());
                self.progress = Progress::Waiting(event.due);
            }
            DeliveryEvent::AttemptBegun(event) => {
                self.attempts += 1;
                // The claim has the start of the attempt; the event was stored a moment later.
                let began = TimestampMs(event.until.0.saturating_sub(crate::LEASE_MS));
                // A time without an attempt, because the server was away, does not count either.
                let late = began.0.saturating_sub(event.due.0);
                self.since =
                    Some(self.since.map_or(began, |since| TimestampMs(since.0.saturating_add(late))));
                self.progress = Progress::Trying(event.until);
            }
            DeliveryEvent::AttemptFailed(event) => {
                self.error.clone_from(&event.error);
                self.progress = Progress::Waiting(event.next);
            }
            DeliveryEvent::NoticePutOff(event) => {
                // The time in which nothing may be sent does not count.
                let pause = event.next.0.saturating_sub(event.due.0);
                self.since = self.since.map(|since| TimestampMs(since.0.saturating_add(pause)));
                self.progress = Progress::Waiting(event.next);
            }
            DeliveryEvent::NoticeDelivered(_) | DeliveryEvent::NoticeDropped(_) => {
                self.progress = Progress::Over
            }
            DeliveryEvent::NoticeDied(event) => {
                self.error.clone_from(&event.error);
                self.progress = Progress::Dead(event.at);
            }
            DeliveryEvent::NoticeRevived(event) => {
                self.since = None;
                self.progress = Progress::Waiting(event.due);
            }
        }
    }
}
