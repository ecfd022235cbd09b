//! Rows: small records with compare-and-set.

use super::{
    Store,
    build::{Say, accepted, answered, batch, fresh, is_appended, pipelined, sound, stream, texts},
};
use crate::{Log, Outcome, Row};

fn conflict(name: &str, actual: u64) -> Outcome {
    Outcome::RowConflict { name: name.to_owned(), actual }
}

fn row(revision: u64, value: &'static str) -> Option<Row> {
    Some(Row { revision, value: value.into() })
}

async fn read(log: &Log, name: &str) -> Option<Row> {
    sound(log.read_row(name).await)
}

/// Absent is 0, every write adds one, `None` accepts any state.
pub async fn a_row_is_compared_and_set<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let write = |expected, value| batch().row("cursor/1", expected, Some(value));
    assert_eq!(read(&log, "cursor/1").await, None);
    assert_eq!(answered(&log, write(Some(1), "x")).await, conflict("cursor/1", 0));
    accepted(&log, write(Some(0), "one")).await;
    assert_eq!(read(&log, "cursor/1").await, row(1, "one"));
    assert_eq!(answered(&log, write(Some(0), "x")).await, conflict("cursor/1", 1));
    assert_eq!(answered(&log, write(Some(2), "x")).await, conflict("cursor/1", 1));
    accepted(&log, write(Some(1), "")).await;
    assert_eq!(read(&log, "cursor/1").await, row(2, ""));
    accepted(&log, write(None, "\0ü\u{10FFFF}")).await;
    assert_eq!(read(&log, "cursor/1").await, row(3, "\0ü\u{10FFFF}"));
    assert_eq!(read(&log, "cursor/2").await, None);
    assert_eq!(read(&log, "cursor/").await, None);
    accepted(&log, batch().row("cursor/2", None, Some("new"))).await;
    assert_eq!(read(&log, "cursor/2").await, row(1, "new"));
}

/// A deleted row is absent, and its next revision is 1.
pub async fn a_row_is_deleted_and_begins_again<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let write = |expected, value| batch().row("lease/1", expected, value);
    accepted(&log, write(None, Some("one"))).await;
    accepted(&log, write(None, Some("two"))).await;
    assert_eq!(answered(&log, write(Some(1), None)).await, conflict("lease/1", 2));
    accepted(&log, write(Some(2), None)).await;
    assert_eq!(read(&log, "lease/1").await, None);
    assert_eq!(answered(&log, write(Some(2), Some("x"))).await, conflict("lease/1", 0));
    accepted(&log, write(Some(0), None)).await;
    accepted(&log, write(None, None)).await;
    assert_eq!(read(&log, "lease/1").await, None);
    accepted(&log, write(Some(0), Some("again"))).await;
    assert_eq!(read(&log, "lease/1").await, row(1, "again"));
}

/// The first row at another revision is named, and nothing is written.
pub async fn a_row_conflict_writes_nothing<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    accepted(&log, batch().row("r/1", None, Some("one")).row("r/2", None, Some("two"))).await;
    let refused = batch()
        .add(&a, "x")
        .row("r/1", Some(1), Some("x"))
        .row("r/2", Some(5), Some("x"))
        .row("r/3", Some(9), Some("x"))
        .key("k", 1, "x");
    assert_eq!(answered(&log, refused).await, conflict("r/2", 1));
    assert_eq!(read(&log, "r/1").await, row(1, "one"));
    assert_eq!(read(&log, "r/2").await, row(1, "two"));
    assert_eq!(read(&log, "r/3").await, None);
    assert_eq!(sound(log.read_key("test/alice", "k").await), None);
    assert!(texts(&log, &a).await.is_empty());
}

/// Later batches of one commit see the row as earlier ones left it.
pub async fn a_row_changes_often_within_one_group<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let write = |expected, value| batch().row("r", expected, value);
    let outcomes = pipelined(
        &log,
        vec![
            write(Some(0), Some("one")),
            write(Some(1), Some("two")),
            write(Some(1), Some("late")),
            write(Some(2), None),
            write(Some(2), Some("late")),
            write(Some(0), Some("again")),
            write(None, Some("last")),
            batch().row("r", None, Some("first of two")).row("r", None, Some("second of two")),
            batch().row("gone", None, Some("x")),
            batch().row("gone", Some(1), None),
        ],
    )
    .await;
    for (nth, outcome) in outcomes.iter().enumerate() {
        match nth {
            2 => assert_eq!(*outcome, conflict("r", 2)),
            4 => assert_eq!(*outcome, conflict("r", 0)),
            _ => assert!(is_appended(outcome), "{nth}: {outcome:?}"),
        }
    }
    assert_eq!(read(&log, "r").await, row(4, "second of two"));
    assert_eq!(read(&log, "gone").await, None);
    assert_eq!(sound(log.read_rows("", None, 10).await).len(), 1);
}

/// In byte order, strictly after `after`, at most `max`.
pub async fn rows_are_read_by_prefix<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let names = ["a", "a/", "a/1", "a/10", "a/2", "a/ü", "a0", "b/1", "B/1"];
    let request = names.iter().fold(batch(), |request, name| request.row(name, None, Some(name)));
    accepted(&log, request).await;
    let read = async |prefix: &str, after: Option<&str>, max| {
        let rows = sound(log.read_rows(prefix, after, max).await);
        assert!(rows.iter().all(|(name, row)| row.revision == 1 && row.value == *name));
        rows.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(read("a/", None, 10).await, ["a/", "a/1", "a/10", "a/2", "a/ü"]);
    assert_eq!(read("a/1", None, 10).await, ["a/1", "a/10"]);
    assert_eq!(read("a/", Some("a/1"), 2).await, ["a/10", "a/2"]);
    assert_eq!(read("a/", Some("a/15"), 2).await, ["a/2", "a/ü"]);
    assert_eq!(read("a/", Some("A"), 1).await, ["a/"]);
    assert_eq!(read("", None, 100).await, ["B/1", "a", "a/", "a/1", "a/10", "a/2", "a/ü", "a0", "b/1"]);
    assert!(read("a/", Some("a/ü"), 10).await.is_empty());
    assert!(read("a/", Some("b"), 10).await.is_empty());
    assert!(read("c", None, 10).await.is_empty());
    assert!(read("a", None, 0).await.is_empty());
}
