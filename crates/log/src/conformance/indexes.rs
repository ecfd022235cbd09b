//! Indexes: sorted keys, read by prefix from a cursor in both directions.

use super::{
    Store,
    build::{INDEX, Say, accepted, batch, fresh, is_appended, pipelined, sound},
};
use crate::{Batch, IndexOp, Log, Order};

/// Keys whose order and prefixes are wrong if a store compares anything but bytes.
const KEYS: [&str; 26] = [
    "",
    "%",
    "A",
    "A/b",
    "_",
    "a",
    "a b",
    "a%b",
    "a-b",
    "a/",
    "a/0",
    "a/b",
    "a/b/c",
    "a0",
    "a\\b",
    "a_b",
    "ab",
    "a\u{7f}",
    "a\u{7f}x",
    "a\u{80}",
    "a\u{7ff}z",
    "a\u{800}",
    "ä",
    "\u{d7ff}x",
    "\u{e000}",
    "\u{10ffff}",
];
const MAX: usize = 1_000;

async fn entries(
    log: &Log,
    prefix: &str,
    after: Option<&str>,
    max: usize,
    order: Order,
) -> Vec<(String, String)> {
    let rows = sound(log.read_index(INDEX, prefix, after, max, order).await);
    rows.into_iter().map(|row| (row.key, String::from_utf8_lossy(&row.value).into_owned())).collect()
}

async fn ascending(log: &Log) -> Vec<(String, String)> {
    entries(log, "", None, MAX, Order::Ascending).await
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// The last put of a key counts; removing an absent key changes nothing.
pub async fn an_index_is_put_overwritten_and_deleted<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    accepted(&log, batch().put("a", "1").put("b", "").put("c", "\0ü")).await;
    assert_eq!(ascending(&log).await, pairs(&[("a", "1"), ("b", ""), ("c", "\0ü")]));
    accepted(&log, batch().put("a", "2").delete("b").delete("never there")).await;
    assert_eq!(ascending(&log).await, pairs(&[("a", "2"), ("c", "\0ü")]));
    accepted(&log, batch().put("b", "again")).await;
    assert_eq!(ascending(&log).await, pairs(&[("a", "2"), ("b", "again"), ("c", "\0ü")]));
    let bytes =
        IndexOp::Put { name: INDEX, key: "d".to_owned(), value: (0..=255).collect::<Vec<u8>>().into() };
    accepted(&log, Batch { index: vec![bytes], ..batch() }).await;
    let read = sound(log.read_index(INDEX, "d", None, MAX, Order::Ascending).await);
    assert_eq!(read[0].value, (0..=255).collect::<Vec<u8>>());
}

/// Keys are found as a whole, in the file and before they are in it.
pub async fn keys_are_looked_up<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    for even in KEYS.iter().step_by(2) {
        accepted(&log, batch().put(even, "")).await;
    }
    let evens: Vec<&str> = KEYS.iter().step_by(2).copied().collect();
    assert_eq!(sound(log.keys_of(INDEX, &keys(&KEYS)).await), keys(&evens));
    accepted(&log, batch().delete("a/").put("a/0", "").delete("a/0").put("zz", "x")).await;
    assert_eq!(sound(log.keys_of(INDEX, &keys(&["zz", "z", "a/", "a/0", ""])).await), keys(&["zz", ""]));
    assert_eq!(sound(log.keys_of(INDEX, &[]).await), keys(&[]));
    assert_eq!(sound(log.keys_of("test.nothing", &keys(&["", "a"])).await), keys(&[]));
}

/// Within a batch and within a commit the order of the changes counts.
pub async fn an_index_changes_often_within_one_group<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let outcomes = pipelined(
        &log,
        vec![
            batch().put("a", "1").put("a", "2").put("b", "1").delete("b"),
            batch().delete("a").put("a", "3").put("c", "1"),
            batch().delete("c").put("b", "2"),
            batch().put("d", "1").delete("d").put("d", "2"),
        ],
    )
    .await;
    assert!(outcomes.iter().all(is_appended));
    assert_eq!(ascending(&log).await, pairs(&[("a", "3"), ("b", "2"), ("d", "2")]));
}

/// Every prefix, every cursor, both orders, against a sorted list.
pub async fn prefixes_and_cursors_follow_byte_order<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let request = KEYS.iter().rev().fold(batch(), |request, key| request.put(key, key));
    accepted(&log, request).await;
    let mut sorted = KEYS;
    sorted.sort_unstable();
    let others = ["a/a", "z", "\u{10fffe}", "a\u{7f}y", "b"];
    for prefix in KEYS.iter().chain(&others) {
        for after in KEYS.iter().chain(&others).map(Some).chain([None]) {
            let ascending: Vec<_> = sorted
                .iter()
                .filter(|key| key.starts_with(prefix) && after.is_none_or(|after| key > &after))
                .collect();
            let descending: Vec<_> = sorted
                .iter()
                .rev()
                .filter(|key| key.starts_with(prefix) && after.is_none_or(|after| key < &after))
                .collect();
            for (order, expected) in [(Order::Ascending, ascending), (Order::Descending, descending)] {
                let read = entries(&log, prefix, after.copied(), MAX, order).await;
                assert!(read.iter().all(|(key, value)| key == value));
                assert!(
                    read.iter().map(|(key, _)| key.as_str()).eq(expected.iter().map(|key| **key)),
                    "{prefix:?} {after:?} {order:?}: {read:?}"
                );
                let some = entries(&log, prefix, after.copied(), 2, order).await;
                assert_eq!(some, read[..read.len().min(2)], "{prefix:?} {after:?} {order:?}");
            }
        }
    }
    assert!(entries(&log, "", None, 0, Order::Ascending).await.is_empty());
    assert!(entries(&log, "", None, 0, Order::Descending).await.is_empty());
}

/// The same key in two indexes is two rows, and an unknown index is empty.
pub async fn indexes_are_apart<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let put = |name, value: &'static str| IndexOp::Put {
        name,
        key: "k".to_owned(),
        value: value.as_bytes().into(),
    };
    accepted(&log, Batch { index: vec![put("test.a", "1"), put("test.ab", "2")], ..batch() }).await;
    let delete = IndexOp::Delete { name: "test.b", key: "k".to_owned() };
    accepted(&log, Batch { index: vec![delete, put("test.a", "3")], ..batch() }).await;
    for (name, value) in [("test.a", "3"), ("test.ab", "2")] {
        let rows = sound(log.read_index(name, "", None, MAX, Order::Ascending).await);
        assert_eq!((rows.len(), &rows[0].value[..]), (1, value.as_bytes()));
        assert_eq!(sound(log.read_index(name, "", None, MAX, Order::Descending).await), rows);
    }
    for name in ["test.b", "test", "test.abc", ""] {
        assert!(sound(log.read_index(name, "", None, MAX, Order::Ascending).await).is_empty());
        assert!(sound(log.read_index(name, "", None, MAX, Order::Descending).await).is_empty());
    }
}
