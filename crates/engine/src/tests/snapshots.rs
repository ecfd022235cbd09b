//! Snapshots save time and change no decision.

use bytes::Bytes;
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::{
    Batch, Fault, Log, RowOp, open_memory,
    rigged::{ReadCounts, Store},
};

use super::hall::{
    Do, Hall, HallEvent, HallState, ID, add, hall, halls, idle, opened, rigged, take, written,
};
use crate::{Room, SNAPSHOT_EVERY, Streams, SystemClock};

fn row() -> String {
    format!("snapshot/{}", Hall::stream(ID))
}

async fn stored(log: &Log) -> Option<serde_json::Value> {
    idle().await;
    let row = log.read_row(&row()).await.unwrap()?;
    Some(serde_json::from_slice(&row.value).unwrap())
}

async fn put(log: &Log, text: &str) {
    let value = Some(Bytes::copy_from_slice(text.as_bytes()));
    let rows = vec![RowOp { name: row(), expected: None, value }];
    log.append(Batch { rows, ..Batch::default() }).await.unwrap();
}

fn songs(count: u64) -> Do {
    Do((0..count).map(|_| HallEvent::Sung).collect())
}

#[tokio::test]
async fn a_snapshot_is_stored_after_enough_events() {
    let halls = hall(9).await;
    halls.execute(ID, &songs(SNAPSHOT_EVERY - 2), None).await.unwrap();
    assert_eq!(stored(halls.log()).await, None);
    halls.execute(ID, &take(halls.log(), "ann"), None).await.unwrap();
    let snapshot = stored(halls.log()).await.unwrap();
    assert_eq!(snapshot["form"], Hall::SNAPSHOT_FORM);
    assert_eq!(snapshot["version"], SNAPSHOT_EVERY);
    assert_eq!(snapshot["state"]["taken"], serde_json::json!(["ann"]));
    halls.execute(ID, &songs(SNAPSHOT_EVERY - 1), None).await.unwrap();
    assert_eq!(stored(halls.log()).await.unwrap()["version"], SNAPSHOT_EVERY);
    halls.execute(ID, &songs(1), None).await.unwrap();
    assert_eq!(stored(halls.log()).await.unwrap()["version"], 2 * SNAPSHOT_EVERY);
}

#[tokio::test]
async fn a_long_stream_is_folded_in_pages_and_leaves_a_snapshot() {
    let halls = hall(9).await;
    let log = halls.log();
    log.append(Batch {
        events: (0..2_500).map(|_| (Hall::stream(ID), Hall::encode(&HallEvent::Sung))).collect(),
        ..Batch::default()
    })
    .await
    .unwrap();
    let afresh = super::hall::halls(log);
    assert_eq!(afresh.state(ID).await.unwrap().1, Version(2_501));
    assert_eq!(stored(log).await.unwrap()["version"], 2_501);
    assert_eq!(written(log).await.len(), 2_501);
}

#[tokio::test]
async fn a_usable_snapshot_is_the_start_of_the_fold() {
    let log = hall(9).await.log().clone();
    put(&log, r#"{"form":3,"version":1,"state":{"seats":5,"taken":["kept"],"closed":false}}"#).await;
    let halls = halls(&log);
    halls.execute(ID, &take(&log, "ann"), None).await.unwrap();
    let (state, version) = halls.state(ID).await.unwrap();
    assert_eq!((state.seats, version), (5, Version(2)));
    assert!(state.taken.contains("kept") && state.taken.contains("ann"), "the rest of the log on top of it");
}

#[tokio::test]
async fn a_snapshot_of_another_form_or_one_that_can_not_be_read_is_ignored() {
    for bad in [
        r#"{"form":2,"version":1,"state":{"seats":5,"taken":[],"closed":true}}"#,
        r#"{"form":4,"version":1,"state":{"seats":5,"taken":[],"closed":true}}"#,
        r#"{"form":3,"version":1,"state":{"seats":"many"}}"#,
        r#"{"form":3,"version":1}"#,
        "",
        "not JSON",
    ] {
        let log = hall(9).await.log().clone();
        put(&log, bad).await;
        let (state, version) = halls(&log).state(ID).await.unwrap();
        assert_eq!((state.seats, state.closed, version), (9, false, Version(1)), "{bad}");
    }
}

/// The same streams as halls, of which most are short.
struct SmallHall;

impl Room for SmallHall {
    type State = HallState;
    type Event = HallEvent;
    const CATEGORY: &'static str = Hall::CATEGORY;
    const SNAPSHOT_FORM: u16 = Hall::SNAPSHOT_FORM;
    const MOSTLY_SHORT: bool = true;

    fn folds(event: &HallEvent) -> bool {
        Hall::folds(event)
    }
    fn evolve(state: &mut HallState, version: Version, at: TimestampMs, event: &HallEvent) {
        Hall::evolve(state, version, at, event);
    }
    fn payer(id: &str, state: &HallState, event: &HallEvent) -> Option<OwnerName> {
        Hall::payer(id, state, event)
    }
}

fn small_halls(log: &Log) -> Streams<SmallHall> {
    Streams::new(log.clone(), std::sync::Arc::new(SystemClock))
}

#[tokio::test]
async fn a_short_stream_is_loaded_with_one_read_and_a_longer_one_reads_no_event_twice() {
    for (sung, reads) in [(0, 1), (14, 1), (15, 3), (40, 3)] {
        let store = Store::new();
        let (one, _) = rigged(&store, false);
        one.execute(ID, &opened(9), None).await.unwrap();
        one.execute(ID, &songs(sung), None).await.unwrap();
        let (two, rigging) = rigged(&store, false);
        let (state, version) = small_halls(two.log()).state(ID).await.unwrap();
        assert_eq!((state.seats, version), (9, Version(sung + 1)));
        let rows = usize::try_from(sung + 1).unwrap();
        assert_eq!(rigging.counted(), ReadCounts { reads, rows }, "{sung}");
    }
}

#[tokio::test]
async fn the_snapshot_of_a_stream_that_is_long_after_all_is_used() {
    let halls = hall(9).await;
    halls.execute(ID, &songs(47), None).await.unwrap();
    let log = halls.log();
    put(log, r#"{"form":3,"version":40,"state":{"seats":5,"taken":["kept"],"closed":false}}"#).await;
    let (state, version) = small_halls(log).state(ID).await.unwrap();
    assert_eq!((state.seats, state.taken.contains("kept"), version), (5, true, Version(48)));
    put(log, "not JSON").await;
    let (state, version) = small_halls(log).state(ID).await.unwrap();
    assert_eq!((state.seats, state.taken.len(), version), (9, 0, Version(48)));
}

#[tokio::test]
async fn a_snapshot_stands_in_for_an_event_that_can_not_be_read() {
    let log = open_memory().log;
    add(&log, &Hall::stream(ID), "Burnt", "").await;
    let fault = small_halls(&log).state(ID).await.unwrap_err();
    assert!(matches!(fault, Fault::Corrupt(_)), "{fault}");
    put(&log, r#"{"form":3,"version":1,"state":{"seats":5,"taken":[],"closed":false}}"#).await;
    let (state, version) = small_halls(&log).state(ID).await.unwrap();
    assert_eq!((state.seats, version), (5, Version(1)));
}
