//! Short constructors for the batches of a case, and checks of their outcomes.

use bytes::Bytes;
use futures_util::future::join_all;
use plenary_kernel::{Position, TimestampMs, Version};
use tokio::sync::mpsc;

use super::Store;
use crate::{
    AppendedRange, Batch, Charge, Condition, Fault, Feed, IndexOp, KeyClaim, Log, NewEvent, OpenedLog,
    Outcome, RowOp, StoredEvent, StreamName, Usage,
};

pub(super) const INDEX: &str = "test.things";
pub(super) const AT: TimestampMs = TimestampMs(1_700_000_000_000);
const PAGE: usize = 100;

pub(super) fn stream(id: &str) -> StreamName {
    StreamName::new("test.stream", id)
}

pub(super) fn event(text: impl Into<Vec<u8>>) -> NewEvent {
    NewEvent { kind: "Happened", form: 1, envelope: Bytes::from(text.into()), payload: Bytes::new() }
}

/// Builds a batch step by step.
pub(super) trait Say {
    fn when(self, stream: &StreamName, expected: u64) -> Self;
    fn add(self, stream: &StreamName, text: &str) -> Self;
    fn put(self, key: &str, value: &str) -> Self;
    fn delete(self, key: &str) -> Self;
    fn row(self, name: &str, expected: Option<u64>, value: Option<&str>) -> Self;
    fn key(self, key: &str, digest: u8, outcome: &str) -> Self;
    fn charge(self, account: &str, bytes: u64, events: u64) -> Self;
    fn free(self, account: &str, bytes: u64) -> Self;
}

pub(super) fn batch() -> Batch {
    Batch { at: AT, ..Batch::default() }
}

impl Say for Batch {
    fn when(mut self, stream: &StreamName, expected: u64) -> Self {
        self.conditions.push(Condition::at(stream.clone(), Version(expected)));
        self
    }
    fn add(mut self, stream: &StreamName, text: &str) -> Self {
        self.events.push((stream.clone(), event(text)));
        self
    }
    fn put(mut self, key: &str, value: &str) -> Self {
        let value = Bytes::copy_from_slice(value.as_bytes());
        self.index.push(IndexOp::Put { name: INDEX, key: key.to_owned(), value });
        self
    }
    fn delete(mut self, key: &str) -> Self {
        self.index.push(IndexOp::Delete { name: INDEX, key: key.to_owned() });
        self
    }
    fn row(mut self, name: &str, expected: Option<u64>, value: Option<&str>) -> Self {
        let value = value.map(|value| Bytes::copy_from_slice(value.as_bytes()));
        self.rows.push(RowOp { name: name.to_owned(), expected, value });
        self
    }
    fn key(mut self, key: &str, digest: u8, outcome: &str) -> Self {
        self.key = Some(KeyClaim {
            scope: "test/alice".to_owned(),
            key: key.to_owned(),
            digest: [digest; 32],
            outcome: Bytes::copy_from_slice(outcome.as_bytes()),
        });
        self
    }
    fn charge(mut self, account: &str, bytes: u64, events: u64) -> Self {
        let usage = Usage { bytes, events };
        self.charges.push(Charge::of(account, usage));
        self
    }
    fn free(mut self, account: &str, bytes: u64) -> Self {
        let freed = Usage { bytes, events: 0 };
        self.charges.push(Charge { account: account.to_owned(), usage: Usage::default(), freed });
        self
    }
}

/// The value of a read or an append; a fault fails the case.
#[track_caller]
pub(super) fn sound<T>(answer: Result<T, Fault>) -> T {
    match answer {
        Ok(answer) => answer,
        Err(fault) => panic!("the store failed: {fault}"),
    }
}

/// Drains a feed as it comes, so that it never blocks the writer.
pub(super) struct Tail(mpsc::UnboundedReceiver<StoredEvent>);

impl Tail {
    fn of(mut feed: Feed) -> Self {
        let (events, tail) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(group) = feed.next().await {
                assert!(!group.is_empty(), "the feed gave an empty group");
                for event in group.iter() {
                    let _ = events.send(event.clone());
                }
            }
        });
        Self(tail)
    }
    /// The next `count` events.
    pub(super) async fn take(&mut self, count: usize) -> Vec<StoredEvent> {
        let mut events = Vec::with_capacity(count);
        while events.len() < count {
            events.push(self.0.recv().await.expect("the feed goes on"));
        }
        events
    }
    /// The remaining events, after the log is closed.
    pub(super) async fn rest(mut self) -> Vec<StoredEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.0.recv().await {
            events.push(event);
        }
        events
    }
}

pub(super) async fn handle(store: &impl Store) -> (Log, Tail) {
    let OpenedLog { log, feed } = store.open().await;
    (log, Tail::of(feed))
}

/// A fresh store with one handle on it. The store must be held as long as the handle.
pub(super) async fn fresh<S: Store>() -> (S, Log, Tail) {
    let store = S::fresh().await;
    let (log, tail) = handle(&store).await;
    (store, log, tail)
}

/// Appends a batch that must be accepted.
pub(super) async fn accepted(log: &Log, batch: Batch) -> AppendedRange {
    let outcome = sound(log.append(batch).await);
    let Outcome::Appended(appended) = outcome else { panic!("not appended: {outcome:?}") };
    appended
}

/// Appends a batch that may be refused.
pub(super) async fn answered(log: &Log, batch: Batch) -> Outcome {
    sound(log.append(batch).await)
}

/// Queues all batches before it reads the first answer, so that they share commits.
pub(super) async fn pipelined(log: &Log, batches: Vec<Batch>) -> Vec<Outcome> {
    pipelined_all(log, batches).await.into_iter().map(sound).collect()
}

/// Queues all batches, which may fail, before it reads the first answer.
pub(super) async fn pipelined_all(log: &Log, batches: Vec<Batch>) -> Vec<Result<Outcome, Fault>> {
    let slots = join_all(batches.iter().map(|_| log.reserve())).await;
    let pending: Vec<_> =
        slots.into_iter().zip(batches).map(|(slot, batch)| sound(slot).submit(batch)).collect();
    join_all(pending).await
}

pub(super) fn is_appended(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Appended(_))
}

/// The whole log, in pages.
pub(super) async fn whole(log: &Log) -> Vec<StoredEvent> {
    let mut events: Vec<StoredEvent> = Vec::new();
    loop {
        let after = events.last().map_or(Position::ZERO, |event| event.position);
        let page = sound(log.read_log(after, PAGE).await);
        let ends = page.len() < PAGE;
        events.extend(page);
        if ends {
            return events;
        }
    }
}

/// The envelopes of a stream, as text.
pub(super) async fn texts(log: &Log, stream: &StreamName) -> Vec<String> {
    let events = sound(log.read_stream(stream, Version::ZERO, 1_000).await);
    events.iter().map(|event| String::from_utf8_lossy(&event.envelope).into_owned()).collect()
}

/// Positions rise by one from `first`, and every stream counts by one in that order.
#[track_caller]
pub(super) fn assert_gapless(events: &[StoredEvent], first: u64) {
    let mut versions = std::collections::HashMap::new();
    for (event, position) in events.iter().zip(first..) {
        assert_eq!(event.position, Position(position), "positions have no gaps");
        let version = versions.entry(event.stream.clone()).or_insert(Version(event.version.0 - 1));
        assert_eq!(event.version, version.next(), "versions of {} have no gaps", event.stream);
        *version = event.version;
    }
}
