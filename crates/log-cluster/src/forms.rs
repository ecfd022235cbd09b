//! The forms that records and the messages between nodes share: index changes, keys, and outcomes of
//! appends. The stored ones are frozen. Pure.
//! Must not know: the records and messages that contain them.

use bytes::Bytes;
use plenary_kernel::{Position, Version};
use plenary_log::{AppendedRange, Fault, IndexOp, KeyClaim, Outcome, PlanResult, StreamName};
use prost::{Message, Oneof};

use crate::names::interned;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredIndex {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    key: String,
    /// Absent: the key is deleted.
    #[prost(bytes = "bytes", optional, tag = "3")]
    value: Option<Bytes>,
}

impl StoredIndex {
    pub(crate) fn of(op: &IndexOp) -> Self {
        match op {
            IndexOp::Put { name, key, value } => {
                Self { name: (*name).to_owned(), key: key.clone(), value: Some(value.clone()) }
            }
            IndexOp::Delete { name, key } => Self { name: (*name).to_owned(), key: key.clone(), value: None },
        }
    }

    pub(crate) fn read(self) -> Result<IndexOp, &'static str> {
        let Self { name, key, value } = self;
        let name = interned(&name).ok_or("too many indexes")?;
        Ok(match value {
            Some(value) => IndexOp::Put { name, key, value },
            None => IndexOp::Delete { name, key },
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredKey {
    #[prost(string, tag = "1")]
    scope: String,
    #[prost(string, tag = "2")]
    key: String,
    #[prost(bytes = "bytes", tag = "3")]
    digest: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    outcome: Bytes,
}

impl StoredKey {
    pub(crate) fn of(claim: &KeyClaim) -> Self {
        Self {
            scope: claim.scope.clone(),
            key: claim.key.clone(),
            digest: Bytes::copy_from_slice(&claim.digest),
            outcome: claim.outcome.clone(),
        }
    }

    pub(crate) fn read(self) -> Result<KeyClaim, &'static str> {
        let Self { scope, key, digest, outcome } = self;
        let digest = digest[..].try_into().map_err(|_| "the digest of a key")?;
        Ok(KeyClaim { scope, key, digest, outcome })
    }
}

/// The outcomes of one node's batches, in order.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoredOutcomes {
    /// The position of the last event before them.
    #[prost(uint64, tag = "1")]
    head: u64,
    /// For each batch the number of its events plus one; 0 if it wrote nothing.
    #[prost(uint64, repeated, tag = "2")]
    written: Vec<u64>,
    /// The outcomes of the batches that wrote nothing.
    #[prost(message, repeated, tag = "3")]
    refused: Vec<StoredRefusal>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredRefusal {
    #[prost(oneof = "Refusal", tags = "1, 2, 3, 4, 5")]
    refusal: Option<Refusal>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Refusal {
    #[prost(message, tag = "1")]
    Conflict(NamedConflict),
    #[prost(message, tag = "2")]
    RowConflict(NamedConflict),
    #[prost(bytes = "bytes", tag = "3")]
    AlreadyDone(Bytes),
    #[prost(bool, tag = "4")]
    KeyReused(bool),
    #[prost(string, tag = "5")]
    Corrupt(String),
}

/// A failed condition: its name and the actual version.
#[derive(Clone, PartialEq, Message)]
struct NamedConflict {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(uint64, tag = "2")]
    actual: u64,
}

impl StoredOutcomes {
    /// The stored form of the outcomes of consecutive batches.
    pub(crate) fn of(outcomes: &[PlanResult]) -> Self {
        let mut stored = Self::default();
        let mut is_first = true;
        for outcome in outcomes {
            let refusal = match outcome {
                Ok(Outcome::Appended(AppendedRange { first, last })) => {
                    if std::mem::take(&mut is_first) {
                        stored.head = first.0.saturating_sub(1);
                    }
                    stored.written.push((last.0 + 2).saturating_sub(first.0));
                    continue;
                }
                Ok(Outcome::Conflict { stream, actual }) => {
                    Refusal::Conflict(NamedConflict { name: stream.as_str().to_owned(), actual: actual.0 })
                }
                Ok(Outcome::RowConflict { name, actual }) => {
                    Refusal::RowConflict(NamedConflict { name: name.clone(), actual: *actual })
                }
                Ok(Outcome::AlreadyDone { outcome }) => Refusal::AlreadyDone(outcome.clone()),
                Ok(Outcome::KeyReused) => Refusal::KeyReused(true),
                Err(fault) => Refusal::Corrupt(fault.to_string()),
            };
            stored.written.push(0);
            stored.refused.push(StoredRefusal { refusal: Some(refusal) });
        }
        stored
    }

    /// The outcomes; `None` if the form is invalid.
    pub(crate) fn read(self) -> Option<Vec<PlanResult>> {
        let mut refused = self.refused.into_iter();
        let mut head = Position(self.head);
        let mut outcomes = Vec::with_capacity(self.written.len());
        for written in self.written {
            let Some(events) = written.checked_sub(1) else {
                outcomes.push(refused.next()?.refusal?.read());
                continue;
            };
            let last = Position(head.0.checked_add(events)?);
            outcomes.push(Ok(Outcome::Appended(AppendedRange { first: head.next(), last })));
            head = last;
        }
        Some(outcomes)
    }
}

impl Refusal {
    fn read(self) -> PlanResult {
        Ok(match self {
            Self::Conflict(NamedConflict { name, actual }) => {
                Outcome::Conflict { stream: StreamName::stored(&name), actual: Version(actual) }
            }
            Self::RowConflict(NamedConflict { name, actual }) => Outcome::RowConflict { name, actual },
            Self::AlreadyDone(outcome) => Outcome::AlreadyDone { outcome },
            Self::KeyReused(_) => Outcome::KeyReused,
            Self::Corrupt(why) => return Err(Fault::Corrupt(why)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended_result(first: u64, last: u64) -> PlanResult {
        Ok(Outcome::Appended(AppendedRange { first: Position(first), last: Position(last) }))
    }

    #[test]
    fn outcomes_are_read_as_they_were_written() {
        let conflict = Outcome::Conflict { stream: StreamName::new("t.t", "a"), actual: Version(4) };
        let outcomes = vec![
            Ok(conflict),
            appended_result(8, 9),
            Ok(Outcome::RowConflict { name: "r".into(), actual: 3 }),
            appended_result(10, 9),
            Ok(Outcome::AlreadyDone { outcome: "done".into() }),
            Ok(Outcome::KeyReused),
            Err(Fault::Corrupt("it is damaged".into())),
            appended_result(10, 10),
        ];
        let stored = StoredOutcomes::of(&outcomes).encode_to_vec();
        let read = StoredOutcomes::decode(&stored[..]).expect("it is one").read().expect("they are whole");
        let text = |fault: &Fault| Fault::Corrupt(fault.to_string());
        let expected: Vec<_> = outcomes.into_iter().map(|outcome| outcome.map_err(|f| text(&f))).collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn outcomes_that_lack_one_are_none() {
        let stored = StoredOutcomes { written: vec![0], ..StoredOutcomes::default() };
        assert_eq!(stored.read(), None);
    }
}
