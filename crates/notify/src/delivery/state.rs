//! A notification: the fold of its stream. Its content stays in the log. Pure.
//! Must not know: how it is sent.

use std::collections::BTreeSet;

use plenary_kernel::TimestampMs;
use serde::{Deserialize, Serialize};

use super::event::{DeliveryEvent, DeliverySubject};

/// A notification. The default is an id that nothing has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeliveryState {
    /// How it began; `None` when there is none.
    pub(crate) of: Option<DeliverySubject>,
    /// Whether more may be added while it waits.
    pub(crate) digest: bool,
    /// What told it.
    pub(crate) items: BTreeSet<u64>,
    /// How many of these strangers caused.
    #[serde(default)]
    pub(crate) of_strangers: usize,
    /// How far it is.
    pub(crate) progress: Progress,
    /// How often it was tried.
    pub(crate) attempts: u32,
    /// Since when it is tried.
    pub(crate) since: Option<TimestampMs>,
    /// Why the last attempt failed.
    pub(crate) error: String,
}

/// How far a notification is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Progress {
    /// It is not there, was taken, or nobody needs it.
    #[default]
    Over,
    /// It waits until it is due, for the first time or again.
    Waiting(TimestampMs),
    /// It is sent, and waits from then on where nothing more is heard.
    Trying(TimestampMs),
    /// It did not arrive, and was given up then.
    Dead(TimestampMs),
}

impl DeliveryState {
    /// When it is due, where it is not over.
    pub(crate) const fn due(&self) -> Option<TimestampMs> {
        match self.progress {
            Progress::Waiting(due) | Progress::Trying(due) => Some(due),
            Progress::Over | Progress::Dead(_) => None,
        }
    }

    /// Whether a person wants it sent once more, and it was not tried since.
    pub(crate) const fn is_revived(&self) -> bool {
        self.attempts > 0 && self.since.is_none()
    }

    pub(crate) fn evolve(&mut self, event: &DeliveryEvent) {
        match event {
            DeliveryEvent::NoticeAdded(event) => {
                self.of.get_or_insert_with(|| event.of.clone());
                self.digest = event.digest;
                self.items.insert(event.item);
                self.of_strangers += usize::from(event.stranger.is_some());
                self.progress = Progress::Waiting(event.due);
            }
            DeliveryEvent::AttemptBegun(event) => {
                self.attempts += 1;
                // The lease tells when it began: the event itself was stored a moment later.
                let began = TimestampMs(event.until.0.saturating_sub(crate::LEASE_MS));
                self.since.get_or_insert(began);
                self.progress = Progress::Trying(event.until);
            }
            DeliveryEvent::AttemptFailed(event) => {
                self.error.clone_from(&event.error);
                self.progress = Progress::Waiting(event.next);
            }
            DeliveryEvent::NoticePutOff(event) => {
                // While nothing may be sent its time does not run out.
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
