//! The facts of one subject and predicate, as far as a decision needs them: what is current, and what has ended.
//! Must not know: the values.

use plenary_kernel::json::digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::FactEvent;
use crate::moment::Moment;

/// The facts of one subject and predicate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactState {
    /// The one that is current; there is never a second (AP-47).
    pub current: Option<Current>,
    /// When the last one ended that has.
    pub ended: Option<Moment>,
}

/// The fact that is current.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Current {
    /// Since when.
    pub valid_from: Moment,
    /// SHA-256 of its value, in hex: values are compared, and can be long.
    pub value: String,
}

/// What a value is compared by.
#[must_use]
pub fn value_digest(value: &str) -> String {
    hex::encode(digest(value.as_bytes()))
}

impl FactState {
    /// The facts after an event.
    pub fn evolve(&mut self, event: &FactEvent) {
        match event {
            FactEvent::FactAsserted(event) => {
                if self.current.is_some() {
                    self.ended = Some(event.valid_from);
                }
                let document: Value = serde_json::from_slice(&event.document).unwrap_or_default();
                let value = value_digest(document["value"].as_str().unwrap_or_default());
                self.current = Some(Current { valid_from: event.valid_from, value });
            }
            FactEvent::FactInvalidated(event) => {
                self.current = None;
                self.ended = Some(event.valid_to);
            }
        }
    }
}
