//! What stands on a fact's stream, and its stored form. The forms are frozen.
//! Must not know: what follows from it.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

use crate::{
    moment::Moment,
    stored::{read, unknown, written},
};

/// An event of the facts of one subject and predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactEvent {
    /// A fact was asserted, and the one that was current ended.
    FactAsserted(FactAsserted),
    /// The current fact ended, and nothing took its place.
    FactInvalidated(FactInvalidated),
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

impl FactEvent {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> NewEvent {
        match self {
            Self::FactAsserted(event) => written("FactAsserted", event, event.document.clone()),
            Self::FactInvalidated(event) => written("FactInvalidated", event, Bytes::new()),
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
            _ => return unknown(stored),
        })
    }
}
