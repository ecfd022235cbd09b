//! The events of the stream of a notification, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_engine::stored::{read, unknown, written, written_with};
use plenary_kernel::{OwnerName, SubscriptionId, TimestampMs};
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

/// What every event says of its notification, so that indexes follow from the event alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeliverySubject {
    /// Whose.
    pub(crate) owner: OwnerName,
    /// Where to.
    pub(crate) subscription: SubscriptionId,
    /// When it began.
    pub(crate) created: TimestampMs,
}

/// An event of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeliveryEvent {
    /// It tells of something; always the first, and of a digest more than once.
    NoticeAdded(NoticeAdded),
    /// It is sent.
    AttemptBegun(AttemptBegun),
    /// It was not taken, and is sent again.
    AttemptFailed(AttemptFailed),
    /// It is not sent while its subscription is quiet.
    NoticePutOff(NoticePutOff),
    /// It was taken.
    NoticeDelivered(NoticeEnded),
    /// It was not taken for too long.
    NoticeDied(NoticeEnded),
    /// Nobody needs it any more.
    NoticeDropped(NoticeEnded),
    /// Somebody wants it sent once more.
    NoticeRevived(NoticeRevived),
}

/// See [`DeliveryEvent::NoticeAdded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticeAdded {
    /// Which.
    pub(crate) of: DeliverySubject,
    /// What told it, so that nothing is told twice.
    pub(crate) item: u64,
    /// When it is sent.
    pub(crate) due: TimestampMs,
    /// Whether more may be added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) digest: bool,
    /// The other owner whose agent caused what it tells of, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stranger: Option<OwnerName>,
    /// What it says, as JSON.
    #[serde(skip)]
    pub(crate) notice: Bytes,
}

/// See [`DeliveryEvent::AttemptBegun`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttemptBegun {
    /// Which.
    pub(crate) of: DeliverySubject,
    /// When it was due.
    pub(crate) due: TimestampMs,
    /// When it is due again where nothing more is heard of this attempt.
    pub(crate) until: TimestampMs,
}

/// See [`DeliveryEvent::AttemptFailed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttemptFailed {
    /// Which.
    pub(crate) of: DeliverySubject,
    /// When it was due.
    pub(crate) due: TimestampMs,
    /// When it is due again.
    pub(crate) next: TimestampMs,
    /// Why.
    pub(crate) error: String,
}

/// See [`DeliveryEvent::NoticePutOff`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticePutOff {
    /// Which.
    pub(crate) of: DeliverySubject,
    /// When it was due.
    pub(crate) due: TimestampMs,
    /// When it is due again.
    pub(crate) next: TimestampMs,
}

/// See [`DeliveryEvent::NoticeDelivered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticeEnded {
    /// Which.
    pub(crate) of: DeliverySubject,
    /// When it was due; absent of one that was dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<TimestampMs>,
    /// When it had died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) died: Option<TimestampMs>,
    /// When.
    pub(crate) at: TimestampMs,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) error: String,
}

/// See [`DeliveryEvent::NoticeRevived`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticeRevived {
    /// Which.
    pub(crate) of: DeliverySubject,
    /// When it had died.
    pub(crate) died: TimestampMs,
    /// When it is due.
    pub(crate) due: TimestampMs,
    /// Who.
    pub(crate) by: Actor,
}

impl DeliveryEvent {
    /// What it says of its notification.
    pub(crate) const fn of(&self) -> &DeliverySubject {
        match self {
            Self::NoticeAdded(event) => &event.of,
            Self::AttemptBegun(event) => &event.of,
            Self::AttemptFailed(event) => &event.of,
            Self::NoticePutOff(event) => &event.of,
            Self::NoticeDelivered(event) | Self::NoticeDied(event) | Self::NoticeDropped(event) => &event.of,
            Self::NoticeRevived(event) => &event.of,
        }
    }

    /// When the clock has something to do because of it.
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

    pub(crate) fn encode(&self) -> NewEvent {
        match self {
            Self::NoticeAdded(event) => written_with("NoticeAdded", event, event.notice.clone()),
            Self::AttemptBegun(event) => written("AttemptBegun", event),
            Self::AttemptFailed(event) => written("AttemptFailed", event),
            Self::NoticePutOff(event) => written("NoticePutOff", event),
            Self::NoticeDelivered(event) => written("NoticeDelivered", event),
            Self::NoticeDied(event) => written("NoticeDied", event),
            Self::NoticeDropped(event) => written("NoticeDropped", event),
            Self::NoticeRevived(event) => written("NoticeRevived", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub(crate) fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored.kind {
            "NoticeAdded" => {
                Self::NoticeAdded(NoticeAdded { notice: stored.payload.clone(), ..read(stored)? })
            }
            "AttemptBegun" => Self::AttemptBegun(read(stored)?),
            "AttemptFailed" => Self::AttemptFailed(read(stored)?),
            "NoticePutOff" => Self::NoticePutOff(read(stored)?),
            "NoticeDelivered" => Self::NoticeDelivered(read(stored)?),
            "NoticeDied" => Self::NoticeDied(read(stored)?),
            "NoticeDropped" => Self::NoticeDropped(read(stored)?),
            "NoticeRevived" => Self::NoticeRevived(read(stored)?),
            _ => return unknown(stored),
        })
    }
}
