//! Snapshots save time and change no decision.

use bytes::Bytes;
use plenary_kernel::Version;
use plenary_log::{Batch, Log, RowOp};

use super::hall::{Do, Hall, HallEvent, ID, hall, halls, idle, take, written};
use crate::{Room, SNAPSHOT_EVERY};

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
