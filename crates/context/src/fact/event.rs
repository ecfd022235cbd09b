//! The events of a fact's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_engine::stored::{read, unknown, written, written_with};
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// An event of the facts of one subject and predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactEvent {
    /// A fact was asserted, and the one that was current ended.
    FactAsserted(FactAsserted),
    /// The current fact ended, and nothing took its place.
    FactInvalidated(FactInvalidated),
    /// A fact of another server took its place among those that are here.
    FactMerged(FactMerged),
    /// A fact that had ended ends earlier than was known.
    FactShortened(FactShortened),
}

/// See [`FactEvent::FactAsserted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactAsserted {
    /// Who did it.
    pub by: Actor,
    /// Since when it holds.
    pub valid_from: Moment,
    /// The same as the client wrote it, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Since when the one held that it supersedes; that one ends where this begins (AP-48).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<Moment>,
    /// The span of the request, as a `traceparent`; of what is not imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<str>>,
    /// The fact, without the moment it ends.
    #[serde(skip)]
    pub document: Bytes,
}

/// See [`FactEvent::FactInvalidated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactInvalidated {
    /// Who did it.
    pub by: Actor,
    /// Since when it held.
    pub valid_from: Moment,
    /// When it ended.
    pub valid_to: Moment,
    /// The same as another server wrote it, where it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// See [`FactEvent::FactMerged`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactMerged {
    /// Who did it.
    pub by: Actor,
    /// Since when it holds.
    pub valid_from: Moment,
    /// The same as another server wrote it.
    pub text: String,
    /// When it ended; absent of the one that is current.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<FactEnd>,
    /// Whether no fact begins later: then it says what is current.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_last: bool,
    /// Its id, where another fact that begins at the same moment outranks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outranked: Option<String>,
    /// The fact that begins at the same moment and that it outranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outranks: Option<OutrankedFact>,
    /// The fact, without the moment it ends.
    #[serde(skip)]
    pub document: Bytes,
}

/// The end of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactEnd {
    /// When.
    pub at: Moment,
    /// The same as another server wrote it.
    pub text: String,
}

/// A fact that holds at no moment, because another one begins when it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutrankedFact {
    /// Its id.
    pub fact_id: String,
    /// The fact, without the moment it ends.
    pub document: String,
}

/// See [`FactEvent::FactShortened`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactShortened {
    /// Who did it.
    pub by: Actor,
    /// Since when it held.
    pub valid_from: Moment,
    /// When it had ended.
    pub was: Moment,
    /// When it ends.
    pub ended: FactEnd,
    /// Whether another one begins later: then this is not the end of the last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_followed: bool,
}

impl FactEvent {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> NewEvent {
        match self {
            Self::FactAsserted(event) => written_with("FactAsserted", event, event.document.clone()),
            Self::FactInvalidated(event) => written("FactInvalidated", event),
            Self::FactMerged(event) => written_with("FactMerged", event, event.document.clone()),
            Self::FactShortened(event) => written("FactShortened", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored.kind {
            "FactAsserted" => {
                let event: FactAsserted = read(stored)?;
                Self::FactAsserted(FactAsserted { document: stored.payload.clone(), ..event })
            }
            "FactInvalidated" => Self::FactInvalidated(read(stored)?),
            "FactMerged" => {
                let event: FactMerged = read(stored)?;
                Self::FactMerged(FactMerged { document: stored.payload.clone(), ..event })
            }
            "FactShortened" => Self::FactShortened(read(stored)?),
            _ => return unknown(stored),
        })
    }
}
