//! Stores with flipped bits on disk: a damaged record is not served, and all others are.

use plenary_kernel::{Position, Version};

use super::{
    Damageable,
    build::{INDEX, Say, accepted, answered, batch, fresh, handle, pipelined_all, sound, stream, texts},
};
use crate::{Fault, Log, Order, Outcome};

/// The damaged part of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage<'a> {
    /// A byte of the envelope of the event at a position.
    Envelope(u64),
    /// The kind of the event at a position.
    Kind(u64),
    /// The value of a key of an index.
    Index {
        /// The index.
        name: &'a str,
        /// The key.
        key: &'a str,
    },
    /// The value of a row.
    Row(&'a str),
    /// The outcome of a claimed key.
    Key(&'a str),
}

#[track_caller]
fn assert_corrupt<T: std::fmt::Debug>(answer: Result<T, Fault>, location: &str) {
    match answer {
        Err(Fault::Corrupt(text)) => assert!(text.contains(location), "{text} names {location}"),
        other => panic!("not corrupt: {other:?}"),
    }
}

/// A store with two streams, an index, rows and keys, damaged while no handle is open.
async fn damaged<S: Damageable>(damages: &[Damage<'_>]) -> (S, Log) {
    let (store, log, tail) = fresh::<S>().await;
    let (a, b) = (stream("a"), stream("b"));
    accepted(&log, batch().add(&a, "a1").add(&b, "b1").put("k", "v").row("r", None, Some("one"))).await;
    accepted(&log, batch().add(&a, "a2").put("l", "w").row("s", None, Some("two")).key("key", 1, "done"))
        .await;
    accepted(&log, batch().add(&b, "b2").key("other", 1, "done")).await;
    drop(log);
    tail.rest().await;
    store.closed().await;
    for damage in damages {
        store.damage(*damage).await;
    }
    let (log, _tail) = handle(&store).await;
    (store, log)
}

/// The stream's other events are not served either if they are read with it; other streams are.
pub async fn a_damaged_event_fails_its_stream_alone<S: Damageable>() {
    for damage in [Damage::Envelope(3), Damage::Kind(3)] {
        let (_store, log) = damaged::<S>(&[damage]).await;
        let (a, b) = (stream("a"), stream("b"));
        assert_corrupt(log.read_stream(&a, Version::ZERO, 10).await, "position 3");
        assert_corrupt(log.read_log(Position::ZERO, 10).await, "position 3");
        assert_eq!(sound(log.read_stream(&a, Version::ZERO, 1).await).len(), 1, "what stands before it");
        assert_eq!(texts(&log, &b).await, ["b1", "b2"]);
        let both = sound(log.read_streams(&[(a.clone(), Version::ZERO), (b, Version::ZERO)], 10).await);
        assert_eq!(
            both.iter().map(|events| events.as_ref().map(Vec::len)).collect::<Vec<_>>(),
            [None, Some(2)]
        );
        accepted(&log, batch().when(&a, 2).add(&a, "a3")).await;
        assert_eq!(sound(log.read_stream(&a, Version(2), 10).await).len(), 1, "what stands behind it");
    }
}

/// A reader of the whole log gets everything else, once and in order.
pub async fn a_reader_of_the_log_gets_past_damage<S: Damageable>() {
    let (_store, log) = damaged::<S>(&[Damage::Envelope(1), Damage::Envelope(3)]).await;
    let (mut after, mut seen) = (Position::ZERO, Vec::new());
    loop {
        let (events, until) = sound(log.read_past_damage(after, 10).await);
        seen.extend(events.iter().map(|event| event.position.0));
        if until == after {
            break;
        }
        after = until;
    }
    assert_eq!((seen, after), (vec![2, 4], Position(4)));
}

/// An index is read without its damaged row.
pub async fn a_damaged_index_row_is_not_served<S: Damageable>() {
    let (_store, log) = damaged::<S>(&[Damage::Index { name: INDEX, key: "k" }]).await;
    assert_corrupt(log.read_index(INDEX, "", None, 10, Order::Ascending).await, "k of the index");
    assert_eq!(sound(log.read_index(INDEX, "l", None, 10, Order::Ascending).await).len(), 1);
    let found = sound(log.read_index_past_damage(INDEX, "", None, 10, Order::Ascending).await);
    let found: Vec<_> = found.iter().map(|row| (row.key.as_str(), row.value.as_deref())).collect();
    assert_eq!(found, [("k", None), ("l", Some(&b"w"[..]))], "a list knows what is damaged");
    let mut rows = log.index_rows(INDEX, "", Order::Ascending).past_damage();
    assert_eq!(sound(rows.next().await).map(|row| row.key).as_deref(), Some("l"));
    assert_eq!(sound(rows.next().await), None);
    accepted(&log, batch().put("k", "again")).await;
    assert_eq!(sound(log.read_index(INDEX, "", None, 10, Order::Ascending).await).len(), 2, "written anew");
}

/// Neither a damaged row nor a damaged key decides anything, and the batches of the same commit are
/// written.
pub async fn a_damaged_record_fails_its_batch_alone<S: Damageable>() {
    let (_store, log) = damaged::<S>(&[Damage::Row("r"), Damage::Key("key")]).await;
    let a = stream("a");
    assert_corrupt(log.read_row("r").await, "the row r");
    assert_corrupt(log.read_rows("", None, 10).await, "the row r");
    assert_eq!(sound(log.read_row("s").await).map(|row| row.revision), Some(1));
    assert!(matches!(log.read_key("test/alice", "key").await, Err(Fault::Corrupt(_))));
    assert!(sound(log.read_key("test/alice", "other").await).is_some());
    let batches = vec![
        batch().add(&a, "a3"),
        batch().add(&a, "never").row("r", Some(1), Some("x")),
        batch().when(&a, 2).add(&a, "never").key("key", 2, "other"),
        batch().add(&a, "a4").row("s", Some(1), Some("x")),
    ];
    let outcomes = pipelined_all(&log, batches).await;
    assert!(matches!(outcomes[0], Ok(Outcome::Appended(_))), "{outcomes:?}");
    assert!(matches!(outcomes[1], Err(Fault::Corrupt(_))), "{outcomes:?}");
    assert!(matches!(outcomes[3], Ok(Outcome::Appended(_))), "{outcomes:?}");
    assert_eq!(texts(&log, &a).await, ["a1", "a2", "a3", "a4"]);
    let again = batch().add(&a, "x").key("other", 1, "x");
    assert_eq!(answered(&log, again).await, Outcome::AlreadyDone { outcome: "done".into() });
    assert!(matches!(outcomes[2], Err(Fault::Corrupt(_))), "{outcomes:?}");
    accepted(&log, batch().row("r", None, Some("mended"))).await;
    assert_eq!(sound(log.read_row("r").await).map(|row| row.revision), Some(1), "it begins again");
}
