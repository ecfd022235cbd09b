//! Idempotency keys: a repeated request gets the same answer and is not written again.

use super::{
    Store,
    build::{Say, accepted, answered, batch, fresh, is_appended, pipelined, sound, stream, texts},
};
use crate::{Batch, KeyRecord, Outcome};

fn done(outcome: &'static str) -> Outcome {
    Outcome::AlreadyDone { outcome: outcome.into() }
}

/// The answer comes back byte for byte, in every later state.
pub async fn a_claimed_key_gives_its_outcome_again<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    let request = batch().add(&a, "a1").key("k", 1, "{\"id\":\"msg_01\"}\0\u{10FFFF}");
    accepted(&log, request.clone()).await;
    for n in 0..3 {
        assert_eq!(answered(&log, request.clone()).await, done("{\"id\":\"msg_01\"}\0\u{10FFFF}"));
        accepted(&log, batch().add(&a, &n.to_string())).await;
    }
    let mut other_answer = request;
    other_answer.key = batch().key("k", 1, "another answer").key;
    assert_eq!(answered(&log, other_answer).await, done("{\"id\":\"msg_01\"}\0\u{10FFFF}"));
    assert_eq!(texts(&log, &a).await, ["a1", "0", "1", "2"]);
    let record = sound(log.read_key("test/alice", "k").await).expect("the key was claimed");
    let outcome = "{\"id\":\"msg_01\"}\0\u{10FFFF}".into();
    assert_eq!(record, KeyRecord { digest: [1; 32], outcome });
    let empty = batch().key("empty", 0, "");
    accepted(&log, empty.clone()).await;
    assert_eq!(answered(&log, empty).await, done(""));
}

/// The same key with another request is refused, and writes nothing.
pub async fn another_digest_is_a_reuse<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    accepted(&log, batch().add(&a, "a1").key("k", 1, "one")).await;
    assert_eq!(answered(&log, batch().add(&a, "a2").key("k", 2, "two")).await, Outcome::KeyReused);
    let mut last_byte = batch().add(&a, "a2").key("k", 1, "two");
    if let Some(claim) = &mut last_byte.key {
        claim.digest[31] ^= 1;
    }
    assert_eq!(answered(&log, last_byte).await, Outcome::KeyReused);
    assert_eq!(answered(&log, batch().add(&a, "a1").key("k", 1, "one")).await, done("one"));
    assert_eq!(texts(&log, &a).await, ["a1"]);
}

/// A retry is answered although its conditions no longer hold: its own events made them false.
pub async fn a_key_wins_over_conditions_and_rows<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    let request = batch().when(&a, 0).add(&a, "a1").row("r/1", Some(0), Some("x")).key("k", 1, "one");
    accepted(&log, request.clone()).await;
    assert_eq!(answered(&log, request.clone()).await, done("one"));
    let other = batch().when(&a, 0).add(&a, "a1").key("k", 2, "two");
    assert_eq!(answered(&log, other).await, Outcome::KeyReused);
    assert_eq!(texts(&log, &a).await, ["a1"]);
}

/// Scope and key are distinct, even if their concatenations are equal.
pub async fn a_key_is_unique_within_its_scope<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let claim = |scope: &str, key: &str, outcome: &'static str| {
        let mut request = batch().key(key, 1, outcome);
        if let Some(claim) = &mut request.key {
            scope.clone_into(&mut claim.scope);
        }
        request
    };
    let claims = [
        ("s/alice", "k", "one"),
        ("s/bob", "k", "two"),
        ("s/alice", "K", "three"),
        ("s", "alice/k", "four"),
        ("s/alicek", "", "five"),
        ("", "s/alicek", "six"),
        ("s/alice", "k\u{10FFFF}", "seven"),
    ];
    for (scope, key, outcome) in claims {
        accepted(&log, claim(scope, key, outcome)).await;
    }
    for (scope, key, outcome) in claims {
        assert_eq!(answered(&log, claim(scope, key, "again")).await, done(outcome), "{scope} {key}");
        let record = sound(log.read_key(scope, key).await).expect("the key was claimed");
        assert_eq!(record.outcome, outcome);
    }
    assert_eq!(sound(log.read_key("s/carol", "k").await), None);
}

/// A key claimed by an earlier batch of the same commit counts.
pub async fn a_key_is_seen_within_one_group<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    let filler: Vec<Batch> = (0..20).map(|_| batch().add(&stream("filler"), "f")).collect();
    let mut batches = filler;
    batches.push(batch().when(&a, 0).add(&a, "a1").key("k", 1, "one"));
    batches.push(batch().when(&a, 0).add(&a, "a1").key("k", 1, "again"));
    batches.push(batch().add(&a, "a2").key("k", 2, "other"));
    batches.push(batch().add(&a, "a2").key("l", 2, "two"));
    batches.push(batch().add(&a, "a2").key("l", 2, "again"));
    let outcomes = pipelined(&log, batches).await;
    assert!(outcomes[..21].iter().all(is_appended));
    assert_eq!(outcomes[21], done("one"));
    assert_eq!(outcomes[22], Outcome::KeyReused);
    assert!(is_appended(&outcomes[23]));
    assert_eq!(outcomes[24], done("two"));
    assert_eq!(texts(&log, &a).await, ["a1", "a2"]);
}

/// A refused batch may be submitted again under the same key, even with another digest.
pub async fn a_refused_batch_leaves_its_key_free<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    let refused = batch().when(&a, 3).add(&a, "x").key("k", 1, "x");
    let by_row = batch().row("r/1", Some(3), Some("x")).add(&a, "x").key("k", 1, "x");
    let outcomes =
        pipelined(&log, vec![refused.clone(), by_row, batch().add(&a, "a1").key("k", 2, "two"), refused])
            .await;
    assert!(matches!(outcomes[0], Outcome::Conflict { .. }));
    assert!(matches!(outcomes[1], Outcome::RowConflict { .. }));
    assert!(is_appended(&outcomes[2]));
    assert_eq!(outcomes[3], Outcome::KeyReused);
    assert_eq!(texts(&log, &a).await, ["a1"]);
}
