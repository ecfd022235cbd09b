//! Stores that outlive their handles: acknowledged data is still there.

use plenary_kernel::{Position, Version};

use super::{
    Store,
    build::{
        INDEX, Say, accepted, answered, assert_gapless, batch, fresh, handle, is_appended, pipelined, sound,
        stream, texts, whole,
    },
};
use crate::{AppendedRange, Order, Outcome, Usage};

/// Events, index, rows and keys.
pub async fn a_reopened_store_has_everything<S: Store>() {
    let (store, log, tail) = fresh::<S>().await;
    let (a, b) = (stream("a"), stream("b"));
    accepted(&log, batch().add(&a, "a1").add(&b, "b1").put("k", "v").row("r", None, Some("one"))).await;
    accepted(&log, batch().add(&a, "a2").put("l", "w").row("r", None, Some("two")).key("key", 1, "done"))
        .await;
    accepted(&log, batch().delete("k").row("gone", None, Some("x"))).await;
    accepted(&log, batch().row("gone", None, None)).await;
    let before = whole(&log).await;
    let rows = sound(log.read_rows("", None, 10).await);
    let index = sound(log.read_index(INDEX, "", None, 10, Order::Ascending).await);
    drop(log);
    assert_eq!(tail.rest().await, before);

    for _ in 0..2 {
        store.closed().await;
        let (log, tail) = handle(&store).await;
        assert_eq!(whole(&log).await, before);
        assert_eq!(texts(&log, &a).await, ["a1", "a2"]);
        assert_eq!(sound(log.read_rows("", None, 10).await), rows);
        assert_eq!(sound(log.read_index(INDEX, "", None, 10, Order::Ascending).await), index);
        assert_eq!(sound(log.head().await), Position(3));
        let again = batch().add(&a, "a2").key("key", 1, "other");
        assert_eq!(answered(&log, again).await, Outcome::AlreadyDone { outcome: "done".into() });
        let stale = batch().when(&a, 1).add(&a, "x");
        let conflict = Outcome::Conflict { stream: a.clone(), actual: Version(2) };
        assert_eq!(answered(&log, stale).await, conflict);
        let stale = batch().row("r", Some(1), Some("x"));
        assert_eq!(answered(&log, stale).await, Outcome::RowConflict { name: "r".to_owned(), actual: 2 });
        drop(log);
        assert!(tail.rest().await.is_empty(), "the feed of a reopened store begins at its head");
    }
}

/// Positions, versions and revisions continue from their last values.
pub async fn a_reopened_store_continues_its_numbers<S: Store>() {
    let (store, log, tail) = fresh::<S>().await;
    let a = stream("a");
    drop((log, tail));
    for round in 0..5 {
        store.closed().await;
        let (log, mut tail) = handle(&store).await;
        let new = stream(&round.to_string());
        let request = batch().when(&a, round).when(&new, 0).add(&a, "a").add(&new, "new");
        let row = (round > 0).then_some(round);
        let appended = accepted(&log, request.row("r", row, Some("x"))).await;
        let first = Position(2 * round + 1);
        assert_eq!(appended, AppendedRange { first, last: first.next() });
        assert_gapless(&tail.take(2).await, first.0);
        assert_eq!(sound(log.read_row("r").await).map(|row| row.revision), Some(round + 1));
    }
    store.closed().await;
    let (log, _tail) = handle(&store).await;
    let events = whole(&log).await;
    assert_eq!(events.len(), 10);
    assert_gapless(&events, 1);
}

/// The use of accounts is the same after reopening, and rises from there.
pub async fn a_reopened_store_has_the_same_use<S: Store>() {
    let (store, log, tail) = fresh::<S>().await;
    let a = stream("a");
    accepted(&log, batch().add(&a, "a1").charge("nick", 7, 1)).await;
    drop((log, tail));
    for round in 1..4 {
        store.closed().await;
        let (log, _tail) = handle(&store).await;
        assert_eq!(sound(log.read_usage("nick").await), Usage { bytes: 7 * round, events: round });
        accepted(&log, batch().add(&a, "a2").charge("nick", 7, 1)).await;
    }
}

/// After the log is dropped, the writer still writes the queued batches.
pub async fn what_was_queued_before_the_drop_is_kept<S: Store>() {
    const COUNT: usize = 700;
    let (store, log, tail) = fresh::<S>().await;
    let at = stream("a");
    let batches: Vec<_> = (0..COUNT).map(|n| batch().add(&at, &n.to_string())).collect();
    let outcomes = pipelined(&log, batches[..COUNT / 2].to_vec()).await;
    assert!(outcomes.iter().all(is_appended));
    let mut unanswered = Vec::new();
    for batch in &batches[COUNT / 2..] {
        unanswered.push(sound(log.reserve().await).submit(batch.clone()));
    }
    drop((log, unanswered));
    assert_eq!(tail.rest().await.len(), COUNT);
    store.closed().await;
    let (log, _tail) = handle(&store).await;
    let expected: Vec<_> = (0..COUNT).map(|n| n.to_string()).collect();
    assert_eq!(texts(&log, &at).await, expected);
}
