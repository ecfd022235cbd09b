//! The order of a copy, between two ends in memory.

use std::{
    collections::VecDeque,
    future::ready,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use plenary_kernel::{Position, TimestampMs, Version};

use super::*;
use crate::{Digest, KeyClaim, Row, StreamName, Usage};

fn event(position: u64) -> Summed<StoredEvent> {
    let event = StoredEvent {
        position: Position(position),
        stream: StreamName::new("t.t", "a"),
        version: Version(position),
        kind: "Said".into(),
        form: 1,
        at: TimestampMs(position),
        envelope: Bytes::new(),
        payload: Bytes::from(position.to_string()),
    };
    let sum = Digest::event(&event).stored();
    Summed::new(event, Some(sum))
}

/// A store with `head` events, of which `later` more appear with each look at them.
struct From {
    events: Vec<Summed<StoredEvent>>,
    later: u64,
    /// How often a server is still there.
    servers: u32,
    pages: VecDeque<Records>,
    row: Summed<(String, Row)>,
    declared: Option<Position>,
}

impl From {
    fn with(head: u64) -> Self {
        let row = Row { revision: 1, value: Bytes::from_static(b"v") };
        let sum = Digest::row("r", &row).stored();
        Self {
            events: (1..=head).map(event).collect(),
            later: 0,
            servers: 0,
            pages: VecDeque::new(),
            row: Summed::new(("r".into(), row), Some(sum)),
            declared: None,
        }
    }

    fn pages_of(&mut self, part: Part) -> Vec<Records> {
        match part {
            Part::Events { after } => {
                let more = self.events.len() as u64;
                self.events.extend((more + 1..=more + std::mem::take(&mut self.later)).map(event));
                let rest = &self.events[usize::try_from(after.0).expect("few")..];
                rest.chunks(2).map(|some| Records::Events(some.to_vec())).collect()
            }
            Part::Keys => Vec::new(),
            Part::Index => Vec::new(),
            Part::Rows => vec![Records::Rows(vec![self.row.clone()])],
            Part::Usage => vec![Records::Usage(vec![("a".into(), Usage { bytes: 1, events: 2 })])],
        }
    }
}

fn done<'a, T: Send + 'a>(value: T) -> Step<'a, T> {
    Box::pin(ready(Ok(value)))
}

impl CopySource for From {
    fn epoch(&self) -> &str {
        "epoch"
    }
    fn event(&mut self, at: Position) -> Step<'_, Option<(StoredEvent, Option<i32>)>> {
        let found = self.events.iter().find(|event| event.record.position == at);
        done(found.map(|event| (event.record.clone(), event.sum)))
    }
    fn read(&mut self, part: Part) -> Step<'_, ()> {
        self.pages = self.pages_of(part).into();
        done(())
    }
    fn page(&mut self) -> Step<'_, Option<Records>> {
        done(self.pages.pop_front())
    }
    fn lock_out(&mut self) -> Step<'_, bool> {
        self.later = 3;
        self.servers = self.servers.saturating_sub(1);
        done(self.servers == 0)
    }
    fn freeze(&mut self) -> Step<'_, Position> {
        let head = self.events.len() as u64 + self.later;
        done(self.declared.unwrap_or(Position(head)))
    }
    fn still_locked_out(&mut self) -> Step<'_, ()> {
        done(())
    }
}

#[derive(Clone, Default)]
struct To {
    last: Option<StoredEvent>,
    steps: Arc<Mutex<Vec<String>>>,
}

impl To {
    fn note(&self, step: impl Into<String>) {
        self.steps.lock().expect("nobody panicked").push(step.into());
    }
    fn steps(&self) -> Vec<String> {
        std::mem::take(&mut *self.steps.lock().expect("nobody panicked"))
    }
}

impl CopyDestination for To {
    fn begin(&mut self, epoch: &str) -> Step<'_, Option<StoredEvent>> {
        assert_eq!(epoch, "epoch");
        done(self.last.clone())
    }
    fn write(&mut self, records: Records) -> Step<'_, ()> {
        self.note(match &records {
            Records::Events(events) => {
                let positions = events.iter().map(|event| event.record.position.0.to_string());
                positions.collect::<Vec<_>>().join(" ")
            }
            Records::Keys(_) => "keys".into(),
            Records::Index(_) => "index".into(),
            Records::Rows(_) => "rows".into(),
            Records::Usage(_) => "usage".into(),
        });
        done(())
    }
    fn clear(&mut self) -> Step<'_, ()> {
        self.note("clear");
        done(())
    }
    fn finish(&mut self, head: Position) -> Step<'_, ()> {
        self.note(format!("whole at {head}"));
        done(())
    }
}

async fn copied(from: &mut From, to: &mut To, until: Until) -> (Result<CopyReport, CopyError>, Vec<String>) {
    let mut following = 0;
    let report = copy(from, to, until, &mut |_| following += 1).await;
    assert!(following <= 1, "it is said once");
    (report, to.steps())
}

#[tokio::test]
async fn what_changes_is_copied_last_and_the_copy_is_whole_after_that() {
    let (report, steps) = copied(&mut From::with(3), &mut To::default(), Until::Now).await;
    assert_eq!(steps, ["1 2", "3", "clear", "rows", "usage", "whole at 3"]);
    let report = report.expect("copied");
    assert_eq!(report, CopyReport { head: Position(3), index_rows: 0, rows: 1, accounts: 1 });
    let (_, steps) = copied(&mut From::with(0), &mut To::default(), Until::Now).await;
    assert_eq!(steps, ["clear", "rows", "usage", "whole at 0"], "an empty store has a copy");
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_follows_ends_with_the_last_server() {
    let mut from = From { servers: 3, ..From::with(1) };
    let (report, steps) = copied(&mut from, &mut To::default(), Until::Stopped).await;
    assert_eq!(steps, ["1", "2 3", "4", "5 6", "7", "8 9", "10", "clear", "rows", "usage", "whole at 10"]);
    assert_eq!(report.expect("copied").head, Position(10));
}

#[tokio::test]
async fn an_interrupted_copy_continues_only_with_the_same_events() {
    let last = Some(event(2).record);
    let mut to = To { last, ..To::default() };
    let (_, steps) = copied(&mut From::with(3), &mut to, Until::Now).await;
    assert_eq!(steps, ["3", "clear", "rows", "usage", "whole at 3"]);
    for from in [&mut From::with(1), &mut From { events: vec![event(1), event(9)], ..From::with(0) }] {
        let (report, steps) = copied(from, &mut to, Until::Now).await;
        assert!(matches!(report, Err(CopyError::Diverged)), "{report:?}");
        assert!(steps.is_empty());
    }
}

#[tokio::test]
async fn damage_is_not_copied() {
    let hole = From { events: vec![event(1), event(3)], ..From::with(0) };
    let mut changed = From::with(2);
    changed.events[1].record.payload = Bytes::from_static(b"?");
    let mut row = From::with(0);
    row.row.record.1.revision = 2;
    let short = From { declared: Some(Position(4)), ..From::with(2) };
    for mut from in [hole, changed, row, short] {
        let (report, steps) = copied(&mut from, &mut To::default(), Until::Now).await;
        assert!(matches!(report, Err(CopyError::Damaged(_))), "{report:?}");
        assert!(!steps.iter().any(|step| step.starts_with("whole")), "{steps:?}");
    }
}

#[tokio::test]
async fn what_is_older_than_checksums_is_copied_without_one() {
    let mut from = From::with(1);
    from.events[0].sum = None;
    from.events[0].record.payload = Bytes::from_static(b"anything");
    let (report, _) = copied(&mut from, &mut To::default(), Until::Now).await;
    assert!(report.is_ok(), "{report:?}");
}

#[test]
fn a_damaged_key_and_index_row_are_found() {
    let claim = KeyClaim { scope: "s".into(), key: "k".into(), digest: [1; 32], outcome: Bytes::new() };
    let keys = Records::Keys(vec![Summed::new(claim, Some(1))]);
    let entry = IndexEntry { name: "i".into(), key: "k".into(), value: Bytes::new() };
    let index = Records::Index(vec![Summed::new(entry, Some(1))]);
    for records in [keys, index] {
        assert!(matches!(records.check(Position::ZERO), Err(CopyError::Damaged(_))), "{records:?}");
    }
}
