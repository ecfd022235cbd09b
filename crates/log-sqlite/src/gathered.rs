//! The memtable: committed index rows that are not yet in `idx`, in memory in the order of their keys, until a bulk
//! write moves them there.
//! Must not know: SQLite.

use std::{collections::BTreeMap, ops::Bound};

use bytes::Bytes;
use plenary_log::{FoundRow, IndexOp, Order};

/// The keys of one index with their values; `None` is a tombstone.
type Keys = BTreeMap<String, Option<Bytes>>;

/// The memtable, see the head of the file.
#[derive(Debug, Default)]
pub(crate) struct Memtable {
    indexes: BTreeMap<&'static str, Keys>,
    bytes: usize,
}

/// The part of the memtable in a range: the last value of each key, in the order of the read.
pub(crate) type Overlay = Vec<(String, Option<Bytes>)>;

impl Memtable {
    pub(crate) fn add(&mut self, op: &IndexOp) {
        let (name, key, value) = match op {
            IndexOp::Put { name, key, value } => (*name, key, Some(value.clone())),
            IndexOp::Delete { name, key } => (*name, key, None),
        };
        self.bytes += name.len() + key.len() + value.as_ref().map_or(0, Bytes::len);
        self.indexes.entry(name).or_default().insert(key.clone(), value);
    }

    /// Bytes that were added.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Every row, in the order of the table.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, &str, Option<&Bytes>)> {
        let entry = |(name, keys): (&&'static str, _)| (*name, keys);
        self.indexes.iter().map(entry).flat_map(|(name, keys): (_, &Keys)| {
            keys.iter().map(move |(key, value)| (name, key.as_str(), value.as_ref()))
        })
    }

    /// Copies the entries with keys in `[first, end)`, up to `max` keys with a value.
    pub(crate) fn overlay(
        &self,
        name: &str,
        first: &str,
        end: Option<&str>,
        max: usize,
        order: Order,
    ) -> Overlay {
        let Some(keys) = self.indexes.get(name) else { return Overlay::new() };
        if end.is_some_and(|end| end <= first) {
            return Overlay::new();
        }
        let range =
            keys.range::<str, _>((Bound::Included(first), end.map_or(Bound::Unbounded, Bound::Excluded)));
        match order {
            Order::Ascending => copied(range, max),
            Order::Descending => copied(range.rev(), max),
        }
    }
}

fn copied<'a>(range: impl Iterator<Item = (&'a String, &'a Option<Bytes>)>, max: usize) -> Overlay {
    let mut remaining = max;
    let mut overlay = Overlay::new();
    for (key, value) in range {
        if remaining == 0 {
            break;
        }
        remaining -= usize::from(value.is_some());
        overlay.push((key.clone(), value.clone()));
    }
    overlay
}

/// Merges the first `max` rows of the table and the overlay; both in this order.
pub(crate) fn over(overlay: Overlay, rows: Vec<FoundRow>, max: usize, order: Order) -> Vec<FoundRow> {
    if overlay.is_empty() {
        return rows;
    }
    // `None` for a deleted key. What the overlay has replaces a damaged row.
    let mut merged: BTreeMap<String, Option<FoundRow>> =
        rows.into_iter().map(|row| (row.key.clone(), Some(row))).collect();
    merged.extend(overlay.into_iter().map(|(key, value)| {
        let row = value.map(|value| FoundRow { key: key.clone(), value: Some(value) });
        (key, row)
    }));
    let live = |(_, row): (String, Option<FoundRow>)| row;
    let merged = merged.into_iter();
    match order {
        Order::Ascending => merged.filter_map(live).take(max).collect(),
        Order::Descending => merged.rev().filter_map(live).take(max).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered() -> Memtable {
        let mut gathered = Memtable::default();
        for (key, value) in
            [("b", Some("2")), ("c", None), ("d", Some("4")), ("e", Some("5")), ("d", Some("44"))]
        {
            let key = key.to_owned();
            gathered.add(&match value {
                Some(value) => IndexOp::Put { name: "i", key, value: value.into() },
                None => IndexOp::Delete { name: "i", key },
            });
        }
        gathered
    }

    fn keys(overlay: &Overlay) -> Vec<&str> {
        overlay.iter().map(|(key, _)| key.as_str()).collect()
    }

    #[test]
    fn a_range_is_copied_as_far_as_it_is_needed() {
        let gathered = gathered();
        let up = |first, end, max| gathered.overlay("i", first, end, max, Order::Ascending);
        assert_eq!(keys(&up("", None, 9)), ["b", "c", "d", "e"]);
        assert_eq!(keys(&up("", None, 2)), ["b", "c", "d"], "a deletion is no row");
        assert_eq!(keys(&up("c", Some("e"), 9)), ["c", "d"]);
        assert_eq!(keys(&up("c", Some("c"), 9)), [""; 0]);
        assert_eq!(keys(&gathered.overlay("i", "", None, 1, Order::Descending)), ["e"]);
        assert_eq!(keys(&gathered.overlay("j", "", None, 9, Order::Ascending)), [""; 0]);
    }

    #[test]
    fn the_last_word_on_a_key_counts() {
        let rows = |keys: &[&str]| {
            let row = |key: &&str| FoundRow { key: (*key).to_owned(), value: Some("old".into()) };
            keys.iter().map(row).collect::<Vec<_>>()
        };
        let texts = |rows: Vec<FoundRow>| {
            let text =
                |row: FoundRow| format!("{}={}", row.key, String::from_utf8_lossy(&row.value.unwrap()));
            rows.into_iter().map(text).collect::<Vec<_>>()
        };
        let gathered = gathered();
        let up = gathered.overlay("i", "", None, 3, Order::Ascending);
        assert_eq!(
            texts(over(up, rows(&["a", "c", "d", "f"]), 3, Order::Ascending)),
            ["a=old", "b=2", "d=44"]
        );
        let down = gathered.overlay("i", "", None, 3, Order::Descending);
        assert_eq!(
            texts(over(down, rows(&["f", "d", "c", "a"]), 3, Order::Descending)),
            ["f=old", "e=5", "d=44"]
        );
    }
}
