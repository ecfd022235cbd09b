//! The simplest possible store: lists and maps, searched linearly. It shares no rule with `plan`.

use std::collections::BTreeMap;

use bytes::Bytes;
use plenary_kernel::{Position, Version};

use crate::{
    AppendedRange, Batch, IndexOp, IndexRow, KeyRecord, Order, Outcome, Row, StoredEvent, StreamName,
    StreamNews,
};

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) log: Vec<StoredEvent>,
    pub(super) index: BTreeMap<(&'static str, String), Bytes>,
    pub(super) rows: BTreeMap<String, Row>,
    pub(super) keys: BTreeMap<(String, String), KeyRecord>,
}

impl Model {
    pub(super) fn version(&self, stream: &StreamName) -> Version {
        Version(self.log.iter().filter(|event| event.stream == *stream).count() as u64)
    }

    pub(super) fn revision(&self, name: &str) -> u64 {
        self.rows.get(name).map_or(0, |row| row.revision)
    }

    fn refusal(&self, batch: &Batch) -> Option<Outcome> {
        if let Some(claim) = &batch.key
            && let Some(record) = self.keys.get(&(claim.scope.clone(), claim.key.clone()))
        {
            let outcome = record.outcome.clone();
            return Some(match record.digest == claim.digest {
                true => Outcome::AlreadyDone { outcome },
                false => Outcome::KeyReused,
            });
        }
        for condition in &batch.conditions {
            let actual = self.version(&condition.stream);
            if actual != condition.expected {
                return Some(Outcome::Conflict { stream: condition.stream.clone(), actual });
            }
        }
        for op in &batch.rows {
            let actual = self.revision(&op.name);
            if op.expected.is_some_and(|expected| expected != actual) {
                return Some(Outcome::RowConflict { name: op.name.clone(), actual });
            }
        }
        None
    }

    pub(super) fn append(&mut self, batch: &Batch) -> Outcome {
        if let Some(refusal) = self.refusal(batch) {
            return refusal;
        }
        let first = Position(self.log.len() as u64 + 1);
        for (stream, event) in &batch.events {
            self.log.push(StoredEvent {
                position: Position(self.log.len() as u64 + 1),
                stream: stream.clone(),
                version: self.version(stream).next(),
                kind: event.kind.into(),
                form: event.form,
                at: batch.at,
                envelope: event.envelope.clone(),
                payload: event.payload.clone(),
            });
        }
        for op in &batch.index {
            match op {
                IndexOp::Put { name, key, value } => {
                    self.index.insert((name, key.clone()), value.clone());
                }
                IndexOp::Delete { name, key } => {
                    self.index.remove(&(*name, key.clone()));
                }
            }
        }
        for op in &batch.rows {
            let revision = self.revision(&op.name) + 1;
            match &op.value {
                Some(value) => self.rows.insert(op.name.clone(), Row { revision, value: value.clone() }),
                None => self.rows.remove(&op.name),
            };
        }
        if let Some(claim) = &batch.key {
            let record = KeyRecord { digest: claim.digest, outcome: claim.outcome.clone() };
            self.keys.insert((claim.scope.clone(), claim.key.clone()), record);
        }
        Outcome::Appended(AppendedRange { first, last: Position(self.log.len() as u64) })
    }

    pub(super) fn stream(&self, stream: &StreamName, after: u64, max: usize) -> Vec<StoredEvent> {
        let events = self.log.iter().filter(|event| event.stream == *stream && event.version.0 > after);
        events.take(max).cloned().collect()
    }

    pub(super) fn read_index(
        &self,
        name: &str,
        prefix: &str,
        after: Option<&str>,
        max: usize,
        order: Order,
    ) -> Vec<IndexRow> {
        let entries = self.index.iter().filter(|((index, key), _)| *index == name && key.starts_with(prefix));
        let mut rows: Vec<_> =
            entries.map(|((_, key), value)| IndexRow { key: key.clone(), value: value.clone() }).collect();
        if order == Order::Descending {
            rows.reverse();
        }
        rows.retain(|row| {
            after.is_none_or(|after| match order {
                Order::Ascending => row.key.as_str() > after,
                Order::Descending => row.key.as_str() < after,
            })
        });
        rows.truncate(max);
        rows
    }

    /// The first event of each stream past a position and up to another, by stream name.
    pub(super) fn news(
        &self,
        after: u64,
        until: u64,
        is_selected: impl Fn(&StreamName) -> bool,
    ) -> Vec<StreamNews> {
        let mut news = BTreeMap::new();
        for event in &self.log {
            if event.position.0 > after && event.position.0 <= until && is_selected(&event.stream) {
                news.entry(event.stream.clone()).or_insert((event.version, event.position));
            }
        }
        news.into_iter().map(|(stream, (first, at))| StreamNews { stream, first, at }).collect()
    }
}
