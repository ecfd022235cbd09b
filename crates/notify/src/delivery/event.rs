//! The events of the stream of a notification, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_kernel::{OwnerName, SubscriptionId, TimestampMs};
use serde::{Deserialize, Serialize};

/// The members of every event of a notification, so that index rows follow from the event alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeliverySubject {
    pub(crate) owner: OwnerName,
    pub(crate) subscription: SubscriptionId,
    /// When the notification was created.
    pub(crate) created: TimestampMs,
}

/// An event of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeliveryEvent {
    /// An item was added; always the first event, and repeated in a digest.
    NoticeAdded(NoticeAdded),
    /// An attempt started.
    AttemptBegun(AttemptBegun),
    /// The attempt failed; there will be another one.
    AttemptFailed(AttemptFailed),
    /// It was postponed to the end of quiet hours or of a rate limit; or it waits less long, because the clock was set back.
    NoticePutOff(NoticePutOff),
    NoticeDelivered(NoticeEnded),
    /// It was abandoned after failing too long.
    NoticeDied(NoticeEnded),
    /// Nobody needs it any more.
    NoticeDropped(NoticeEnded),
    /// A person queued it again.
    NoticeRevived(NoticeRevived),
}

/// See [`DeliveryEvent::NoticeAdded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticeAdded {
    /// The notification.
    #[serde(rename = "of")]
    pub(crate) subject: DeliverySubject,
    /// The position of the reported event, so that each event is added once.
    pub(crate) item: u64,
    /// When it is due.
    pub(crate) due: TimestampMs,
    /// Whether more items may be added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) digest: bool,
    /// The other owner whose agent caused the item, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stranger: Option<OwnerName>,
    /// The notice, as JSON.
    #[serde(skip)]
    pub(crate) notice: Bytes,
}

/// See [`DeliveryEvent::AttemptBegun`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttemptBegun {
    /// The notification.
    #[serde(rename = "of")]
    pub(crate) subject: DeliverySubject,
    /// When it was due.
    pub(crate) due: TimestampMs,
    /// When the claim of this attempt expires; it is then due again.
    pub(crate) until: TimestampMs,
}

/// See [`DeliveryEvent::AttemptFailed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttemptFailed {
    /// The notification.
    #[serde(rename = "of")]
    pub(crate) subject: DeliverySubject,
    /// When it was due.
    pub(crate) due: TimestampMs,
    /// When it is due again.
    pub(crate) next: TimestampMs,
    pub(crate) error: String,
}

/// See [`DeliveryEvent::NoticePutOff`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticePutOff {
    /// The notification.
    #[serde(rename = "of")]
    pub(crate) subject: DeliverySubject,
    /// When it was due.
    pub(crate) due: TimestampMs,
    /// When it is due again.
    pub(crate) next: TimestampMs,
}

/// See [`DeliveryEvent::NoticeDelivered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticeEnded {
    /// The notification.
    #[serde(rename = "of")]
    pub(crate) subject: DeliverySubject,
    /// When it was due; absent for a dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<TimestampMs>,
    /// For a dead letter: when it was abandoned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) died: Option<TimestampMs>,
    /// When it ended.
    pub(crate) at: TimestampMs,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) error: String,
}

/// See [`DeliveryEvent::NoticeRevived`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticeRevived {
    /// The notification.
    #[serde(rename = "of")]
    pub(crate) subject: DeliverySubject,
    /// When it was abandoned.
    pub(crate) died: TimestampMs,
    /// When it is due.
    pub(crate) due: TimestampMs,
    pub(crate) by: Actor,
}

impl DeliveryEvent {
    /// The notification of the event.
    pub(crate) const fn subject(&self) -> &DeliverySubject {
        match self {
            Self::NoticeAdded(event) => &event.subject,
            Self::AttemptBegun(event) => &event.subject,
            Self::AttemptFailed(event) => &event.subject,
            Self::NoticePutOff(event) => &event.subject,
            Self::NoticeDelivered(event) | Self::NoticeDied(event) | Self::NoticeDropped(event) => {
                &event.subject
            }
            Self::NoticeRevived(event) => &event.subject,
        }
    }

    /// When the scheduler has to act because of this event.
    pub(crate) const fn due(&self) -> Option<TimestampMs> {
        match self {
            Self::NoticeAdded(event) => Some(event.due),
            Self::AttemptBegun(event) => Some(event.until),
            Self::AttemptFailed(event) => Some(event.next),
            Self::NoticePutOff(event) => Some(event.next),
            Self::NoticeRevived(event) => Some(event.due),
            Self::NoticeDelivered(_) | Self::NoticeDied(_) | Self::NoticeDropped(_) => None,
        }
    }
}

plenary_engine::stored_forms! {
    DeliveryEvent: NoticeAdded + notice, AttemptBegun, AttemptFailed, NoticePutOff, NoticeDelivered,
    NoticeDied, NoticeDropped, NoticeRevived
}
