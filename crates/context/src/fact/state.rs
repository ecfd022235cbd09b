//! The state of one subject and predicate: the current fact, and the end of the last one.
//! Pure.
//! Must not know: the values.

use plenary_kernel::json::digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::{FactEvent, FactMerged};
use crate::moment::Moment;

/// The facts of one subject and predicate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactState {
    /// The current fact; at most one (AP-47).
    pub current: Option<Current>,
    /// The end of the fact that ended last.
    pub ended: Option<Moment>,
}

/// The current fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Current {
    /// The beginning of its validity.
    pub valid_from: Moment,
    /// SHA-256 of its value, in hex: values are only compared, and can be long.
    pub value: String,
}

/// The digest by which values are compared.
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
                self.current = Some(Current::of(event.valid_from, &event.document));
            }
            FactEvent::FactInvalidated(event) => {
                self.current = None;
                self.ended = Some(event.valid_to);
            }
            FactEvent::FactMerged(event) => self.merge(event),
            FactEvent::FactShortened(event) => {
                if self.ended == Some(event.was) && !event.is_followed {
                    self.ended = Some(event.ended.at);
                }
            }
        }
    }

    fn merge(&mut self, event: &FactMerged) {
        let ended = event.ended.as_ref().map(|ended| ended.at);
        if event.is_last {
            self.current = ended.is_none().then(|| Current::of(event.valid_from, &event.document));
            // The outranked fact ends where it begins.
            self.ended = Some(ended.unwrap_or(event.valid_from));
        } else if event.outranked.is_none() {
            self.ended = self.ended.max(ended);
        }
    }
}

impl Current {
    fn of(valid_from: Moment, document: &[u8]) -> Self {
        let document: Value = serde_json::from_slice(document).unwrap_or_default();
        Self { valid_from, value: value_digest(document["value"].as_str().unwrap_or_default()) }
    }
}
