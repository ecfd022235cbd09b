//! Conditions: a batch is written if all its conditions are true, and not at all otherwise.

use futures_util::future::join_all;
use plenary_kernel::{Position, Version};

use super::{
    Store,
    build::{
        INDEX, Say, accepted, answered, assert_gapless, batch, fresh, is_appended, pipelined, sound, stream,
        texts, whole,
    },
};
use crate::{Batch, Chain, Condition, Log, Order, Outcome, StreamName};

fn conflict(stream: &StreamName, actual: u64) -> Outcome {
    Outcome::Conflict { stream: stream.clone(), actual: Version(actual) }
}

/// An absent stream is at 0.
pub async fn a_condition_holds_or_conflicts<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    assert_eq!(answered(&log, batch().when(&a, 1).add(&a, "x")).await, conflict(&a, 0));
    accepted(&log, batch().when(&a, 0).add(&a, "a1").add(&a, "a2")).await;
    assert_eq!(answered(&log, batch().when(&a, 0).add(&a, "x")).await, conflict(&a, 2));
    assert_eq!(answered(&log, batch().when(&a, 1).add(&a, "x")).await, conflict(&a, 2));
    assert_eq!(answered(&log, batch().when(&a, 3).add(&a, "x")).await, conflict(&a, 2));
    accepted(&log, batch().when(&a, 2).add(&a, "a3")).await;
    accepted(&log, batch().add(&a, "a4")).await;
    assert_eq!(texts(&log, &a).await, ["a1", "a2", "a3", "a4"]);
}

/// A condition may name a stream that gets no event.
pub async fn a_batch_may_check_streams_that_it_does_not_write<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let (policy, target, absent) = (stream("policy"), stream("target"), stream("absent"));
    accepted(&log, batch().add(&policy, "p1")).await;
    accepted(&log, batch().when(&policy, 1).when(&absent, 0).add(&target, "t1")).await;
    accepted(&log, batch().add(&policy, "p2")).await;
    let stale = batch().when(&policy, 1).when(&absent, 0).add(&target, "t2");
    assert_eq!(answered(&log, stale).await, conflict(&policy, 2));
    let only_checks = batch().when(&policy, 2).when(&target, 1);
    assert!(is_appended(&answered(&log, only_checks).await));
    assert_eq!(texts(&log, &target).await, ["t1"]);
}

/// Of several conditions that fail, the first is answered.
pub async fn the_first_conflict_is_named<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let (a, b, c) = (stream("a"), stream("b"), stream("c"));
    accepted(&log, batch().add(&a, "a1").add(&b, "b1").add(&b, "b2").add(&c, "c1")).await;
    let wrong = batch().when(&a, 1).when(&b, 1).when(&c, 7).add(&a, "x");
    assert_eq!(answered(&log, wrong).await, conflict(&b, 2));
    let wrong = batch().when(&c, 7).when(&b, 1).when(&a, 1).add(&a, "x");
    assert_eq!(answered(&log, wrong).await, conflict(&c, 1));
    let wrong = batch().when(&c, 7).row("r/1", Some(3), Some("x")).add(&a, "x");
    assert_eq!(answered(&log, wrong).await, conflict(&c, 1), "conditions come before rows");
}

/// A refused batch writes no events, index rows, rows or key.
pub async fn a_conflict_writes_nothing<S: Store>() {
    let (_store, log, mut tail) = fresh::<S>().await;
    let (a, b) = (stream("a"), stream("b"));
    accepted(&log, batch().add(&a, "a1").put("k", "old").row("r/1", None, Some("old"))).await;
    let refused = batch()
        .when(&b, 4)
        .add(&a, "x")
        .add(&b, "x")
        .put("k", "new")
        .put("k2", "new")
        .delete("k")
        .row("r/1", None, Some("new"))
        .row("r/2", None, Some("new"))
        .key("key", 1, "new");
    let outcomes =
        pipelined(&log, vec![refused.clone(), batch().add(&b, "b1"), refused, batch().add(&a, "a2")]).await;
    assert_eq!(outcomes[0], conflict(&b, 0));
    assert_eq!(outcomes[2], conflict(&b, 1));
    assert!(is_appended(&outcomes[1]) && is_appended(&outcomes[3]));
    assert_eq!(texts(&log, &a).await, ["a1", "a2"]);
    assert_eq!(texts(&log, &b).await, ["b1"]);
    assert_eq!(sound(log.head().await), Position(3));
    let index = sound(log.read_index(INDEX, "", None, 10, Order::Ascending).await);
    assert_eq!(index.len(), 1);
    assert_eq!((index[0].key.as_str(), &index[0].value[..]), ("k", &b"old"[..]));
    let rows = sound(log.read_rows("", None, 10).await);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].0.as_str(), rows[0].1.revision, &rows[0].1.value[..]), ("r/1", 1, &b"old"[..]));
    assert_eq!(sound(log.read_key("test/alice", "key").await), None);
    assert_gapless(&tail.take(3).await, 1);
}

/// A batch may be submitted before the one that it relies on is answered.
pub async fn pipelined_conditions_rely_on_earlier_batches<S: Store>() {
    const COUNT: u64 = 300;
    let (_store, log, _tail) = fresh::<S>().await;
    let (a, b) = (stream("a"), stream("b"));
    let mut batches: Vec<_> =
        (0..COUNT).map(|n| batch().when(&a, n).when(&b, 0).add(&a, &n.to_string())).collect();
    batches.push(batch().when(&a, 5).add(&a, "late"));
    batches.push(batch().when(&a, COUNT).add(&b, "b1"));
    batches.push(batch().when(&b, 0).add(&a, "late"));
    let outcomes = pipelined(&log, batches).await;
    let count = usize::try_from(COUNT).expect("small");
    assert!(outcomes[..count].iter().all(is_appended));
    assert_eq!(outcomes[count], conflict(&a, COUNT));
    assert!(is_appended(&outcomes[count + 1]));
    assert_eq!(outcomes[count + 2], conflict(&b, 1));
    let expected: Vec<_> = (0..COUNT).map(|n| n.to_string()).collect();
    assert_eq!(texts(&log, &a).await, expected);
}

/// A batch that was decided on an unwritten batch is not written, even if the stream is at the expected
/// version.
pub async fn a_broken_chain_writes_nothing_more<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    let chain = Chain::new(a.clone());
    let linked = |batch: Batch| Batch { chain: Some(chain.clone()), ..batch };
    accepted(&log, linked(batch().when(&a, 0).add(&a, "a1").key("k1", 1, "first"))).await;
    accepted(&log, batch().add(&a, "somebody else's")).await;
    let late = linked(batch().when(&a, 1).add(&a, "x"));
    let next = linked(batch().when(&a, 2).add(&a, "y").key("k2", 1, "second"));
    let outcomes = pipelined(&log, vec![late, next.clone()]).await;
    assert_eq!(outcomes, [conflict(&a, 2), conflict(&a, 2)]);
    assert!(chain.is_broken());
    assert_eq!(answered(&log, next.clone()).await, conflict(&a, 2), "also in a later commit");
    let again = linked(batch().when(&a, 0).add(&a, "x").key("k1", 1, "first"));
    assert_eq!(answered(&log, again).await, Outcome::AlreadyDone { outcome: "first".into() });
    accepted(&log, Batch { chain: None, ..next }).await;
    assert_eq!(texts(&log, &a).await, ["a1", "somebody else's", "y"]);
}

/// A batch that was decided on an unwritten fact of another stream is not written either, even if that
/// stream is at the expected version; no chain breaks.
pub async fn a_condition_upon_a_broken_chain_fails<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let (a, b) = (stream("a"), stream("b"));
    let chain = Chain::new(a.clone());
    let upon = |batch: Batch| {
        let condition = Condition { upon: Some(chain.clone()), ..Condition::at(a.clone(), Version(1)) };
        Batch { conditions: [batch.conditions, vec![condition]].concat(), ..batch }
    };
    let fact = Batch { chain: Some(chain.clone()), ..batch().when(&a, 0).add(&a, "fact") };
    let outcomes = pipelined(&log, vec![fact, upon(batch().add(&b, "b1"))]).await;
    assert!(outcomes.iter().all(is_appended));
    assert_eq!(answered(&log, upon(batch().when(&b, 9))).await, conflict(&b, 1));
    assert!(!chain.is_broken(), "it is another stream's");
    chain.break_off();
    assert_eq!(answered(&log, upon(batch().add(&b, "b2"))).await, conflict(&a, 1));
    assert_eq!(texts(&log, &b).await, ["b1"]);
}

/// Of many batches that rely on the same version, one is written.
pub async fn racing_conditions_let_one_through<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    for round in 0..10 {
        let racers = (0..8).map(|n| answered(&log, batch().when(&a, round).add(&a, &n.to_string())));
        let outcomes = join_all(racers).await;
        let (won, losers): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| is_appended(outcome));
        assert_eq!(won.len(), 1);
        assert!(losers.into_iter().all(|outcome| *outcome == conflict(&a, round + 1)));
    }
    assert_eq!(texts(&log, &a).await.len(), 10);
}

/// Appends `count` events to a stream, each on the version that was last seen, and retries until the
/// condition holds.
pub(super) async fn optimistic(log: &Log, at: &StreamName, writer: &str, count: usize) {
    let mut seen = 0;
    for n in 0..count {
        loop {
            match answered(log, batch().when(at, seen).add(at, &format!("{writer}:{n}"))).await {
                Outcome::Appended(_) => break seen += 1,
                Outcome::Conflict { stream, actual } => {
                    assert_eq!(&stream, at);
                    assert_ne!(actual.0, seen, "a conflict names another version");
                    seen = actual.0;
                }
                other @ (Outcome::RowConflict { .. } | Outcome::AlreadyDone { .. } | Outcome::KeyReused) => {
                    panic!("neither written nor a conflict: {other:?}")
                }
            }
        }
    }
}

/// Every written event is there once, each writer's own in order.
pub(super) fn assert_interleaved(texts: &[String], writers: &[&str], count: usize) {
    for writer in writers {
        let own = texts.iter().filter(|text| text.split(':').next() == Some(writer));
        let expected = (0..count).map(|n| format!("{writer}:{n}"));
        assert!(own.cloned().eq(expected), "writer {writer} has everything once and in order");
    }
    assert_eq!(texts.len(), writers.len() * count);
}

/// Two tasks that write the same stream with conditions and retry.
pub async fn optimistic_writers_lose_nothing<S: Store>() {
    const EACH: usize = 100;
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    let (one, two) = (log.clone(), log.clone());
    let (a1, a2) = (a.clone(), a.clone());
    let one = tokio::spawn(async move { optimistic(&one, &a1, "one", EACH).await });
    let two = tokio::spawn(async move { optimistic(&two, &a2, "two", EACH).await });
    one.await.expect("the first writer ends well");
    two.await.expect("the second writer ends well");
    assert_interleaved(&texts(&log, &a).await, &["one", "two"], EACH);
    assert_gapless(&whole(&log).await, 1);
}
