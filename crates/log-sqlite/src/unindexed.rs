//! The end of the log that is not yet in the file's indexes: kept in memory until a bulk write. The writer adds and
//! removes entries; readers copy them and never wait for a disk.

use std::{
    collections,
    hash::Hasher,
    sync::atomic::{AtomicI64, Ordering},
};

use hashbrown::HashMap;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use plenary_kernel::Version;
use plenary_log::{Change, IndexOp, StoredEvent, StreamName, Usage};

use crate::{gathered::Memtable, recent::Recent};

/// Keys of one scope are adjacent in the index: its order begins with this many bits of the scope.
const SCOPE_BITS: u32 = 24;

/// The state that the writer shares with the readers.
#[derive(Debug)]
pub(crate) struct SharedTail {
    head: AtomicI64,
    pub(crate) salt: Salt,
    pub(crate) unindexed: Lock,
}

impl SharedTail {
    pub(crate) fn new(head: i64, salt: Salt) -> Self {
        Self { head: AtomicI64::new(head), salt, unindexed: Lock::default() }
    }
    /// The position of the last committed event.
    pub(crate) fn head(&self) -> i64 {
        self.head.load(Ordering::Acquire)
    }
    pub(crate) fn set_head(&self, head: i64) {
        self.head.store(head, Ordering::Release);
    }
}

/// The secret of a store that keeps clients from choosing keys which collide in its index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Salt(u64, u64);

impl Salt {
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let (one, two) = bytes.split_at_checked(8)?;
        Some(Self(u64::from_le_bytes(one.try_into().ok()?), u64::from_le_bytes(two.try_into().ok()?)))
    }

    /// The key of an idempotency key in `key_index`. Stored: SipHash-2-4, the scope's first bits above
    /// the key's.
    #[expect(deprecated, reason = "the one hasher of the standard library whose algorithm is laid down")]
    pub(crate) fn hash(self, scope: &str, key: &str) -> i64 {
        let mut of_scope = std::hash::SipHasher::new_with_keys(self.0, self.1);
        of_scope.write(scope.as_bytes());
        let mut of_key = std::hash::SipHasher::new_with_keys(self.0, !self.1);
        of_key.write(key.as_bytes());
        let low = u64::MAX >> SCOPE_BITS;
        ((of_scope.finish() & !low) | (of_key.finish() & low)).cast_signed()
    }
}

/// A lock without poisoning: only the writer changes the data, in steps that don't panic.
#[derive(Debug, Default)]
pub(crate) struct Lock(RwLock<Tail>);

impl Lock {
    /// Locks for reading, unless that must wait.
    pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, Tail>> {
        self.0.try_read()
    }
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Tail> {
        self.0.read()
    }
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Tail> {
        self.0.write()
    }
}

/// The unindexed end of one stream.
#[derive(Debug)]
struct Run {
    /// The version of the first of `positions`; the others follow without a gap.
    first: i64,
    positions: Vec<i64>,
}

/// See the head of the file.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    streams: HashMap<i64, Run>,
    keys: HashMap<i64, Vec<i64>>,
    /// The total use of accounts whose rows in the file are outdated.
    usage: HashMap<String, Usage>,
    /// The streams whose names are not in the file's index.
    names: HashMap<StreamName, i64>,
    pub(crate) gathered: Memtable,
    /// The last commits.
    pub(crate) recent: Recent,
    count: usize,
}

impl Tail {
    pub(crate) fn event(&mut self, stream: i64, version: i64, position: i64) {
        let run = self.streams.entry(stream).or_insert(Run { first: version, positions: Vec::new() });
        run.positions.push(position);
        self.count += 1;
    }

    pub(crate) fn key(&mut self, hash: i64, claim: i64) {
        self.keys.entry(hash).or_default().push(claim);
        self.count += 1;
    }

    pub(crate) fn name(&mut self, stream: StreamName, id: i64) {
        self.names.insert(stream, id);
        self.count += 1;
    }

    pub(crate) fn row(&mut self, op: &IndexOp) {
        self.gathered.add(op);
        self.count += 1;
    }

    /// Sets the current use of an account.
    pub(crate) fn record_usage(&mut self, account: String, usage: Usage) {
        self.count += usize::from(self.usage.insert(account, usage).is_none());
    }

    /// The use of an account, if its row in the file is outdated.
    pub(crate) fn usage(&self, account: &str) -> Option<Usage> {
        self.usage.get(account).copied()
    }

    /// All accounts whose rows are outdated.
    pub(crate) fn usages(&self) -> impl Iterator<Item = (&String, &Usage)> {
        self.usage.iter()
    }

    /// The number of a stream whose name is unindexed.
    pub(crate) fn named(&self, stream: &StreamName) -> Option<i64> {
        self.names.get(stream).copied()
    }

    /// All unindexed names with their streams, in the order of the index.
    pub(crate) fn names(&self) -> Vec<(StreamName, i64)> {
        let mut names: Vec<_> = self.names.iter().map(|(name, id)| (name.clone(), *id)).collect();
        names.sort_unstable_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        names
    }

    /// The number of waiting index rows.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The current version of a stream, if its end is here.
    pub(crate) fn version(&self, stream: i64) -> Option<i64> {
        let run = self.streams.get(&stream)?;
        Some(run.first - 1 + i64::try_from(run.positions.len()).unwrap_or(i64::MAX))
    }

    /// The first version of a stream that is here, and the positions after the version `after`; at most
    /// `max`. Without a run here, every version is in the index.
    pub(crate) fn run(&self, stream: i64, after: i64, max: usize) -> (i64, Vec<i64>) {
        let Some(run) = self.streams.get(&stream) else { return (i64::MAX, Vec::new()) };
        let skip = usize::try_from(after + 1 - run.first).unwrap_or(0).min(run.positions.len());
        let rest = &run.positions[skip..];
        (run.first, rest[..rest.len().min(max)].to_vec())
    }

    /// The first version of a stream that is here, and the first whose position is after `after`, with
    /// that position.
    pub(crate) fn past(&self, stream: i64, after: i64) -> Option<(i64, Option<(i64, i64)>)> {
        let run = self.streams.get(&stream)?;
        let nth = run.positions.partition_point(|position| *position <= after);
        let version = run.first + i64::try_from(nth).unwrap_or(i64::MAX);
        Some((run.first, run.positions.get(nth).map(|position| (version, *position))))
    }

    /// Events of a stream with `version > after`, at most `max`, if they are all in memory: the whole
    /// stream is here, and so are these events.
    pub(crate) fn young(&self, stream: &StreamName, after: Version, max: usize) -> Option<Vec<StoredEvent>> {
        let run = self.streams.get(&self.named(stream)?).filter(|run| run.first == 1)?;
        let skip = usize::try_from(after.0).unwrap_or(usize::MAX).min(run.positions.len());
        let positions = run.positions[skip..].iter().take(max);
        positions.map(|position| self.recent.at(*position).cloned()).collect()
    }

    /// The claims here whose key may have this hash.
    pub(crate) fn claims(&self, hash: i64) -> &[i64] {
        self.keys.get(&hash).map_or(&[], Vec::as_slice)
    }

    /// All index rows of events, `(stream, version, position)`, in the order of the index.
    pub(crate) fn events(&self) -> Vec<(i64, i64, i64)> {
        let mut streams: Vec<_> = self.streams.iter().collect();
        streams.sort_unstable_by_key(|(stream, _)| **stream);
        let rows = streams.into_iter().flat_map(|(stream, run)| {
            run.positions.iter().zip(run.first..).map(|(position, version)| (*stream, version, *position))
        });
        rows.collect()
    }

    /// All index rows of keys, `(hash, claim)`, in the order of the index.
    pub(crate) fn keys(&self) -> Vec<(i64, i64)> {
        let rows = self.keys.iter().flat_map(|(hash, claims)| claims.iter().map(|claim| (*hash, *claim)));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable();
        rows
    }

    /// Drops everything after it was written to the file.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The stored form of a commit's charges, in its first event: a line for each account, `<bytes> <events>
/// <account>`.
pub(crate) fn written_charges(charges: &collections::HashMap<String, Change>) -> Option<String> {
    let lines =
        charges.iter().map(|(account, change)| format!("{} {} {account}\n", change.bytes, change.events));
    (!charges.is_empty()).then(|| lines.collect())
}

/// Parses that form; skips damaged lines.
pub(crate) fn read_charges(text: &str) -> impl Iterator<Item = (&str, Change)> {
    text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ' ');
        let (bytes, events) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some((parts.next()?, Change { bytes, events }))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn charges_are_read_as_they_were_written() {
        let change = |bytes, events| Change { bytes, events };
        let charges =
            HashMap::from([("a b".to_owned(), change(-1, 2)), ("nick".to_owned(), change(i64::MAX, 0))]);
        let text = written_charges(&charges).expect("there are some");
        let read: HashMap<String, Change> =
            read_charges(&text).map(|(account, change)| (account.to_owned(), change)).collect();
        assert_eq!(read, charges);
        assert_eq!(written_charges(&HashMap::new()), None);
        assert_eq!(read_charges("1 nick\nx 1 nick\n3 4 nick").collect::<Vec<_>>(), [("nick", change(3, 4))]);
    }

    const GOLDEN: i64 = 1_166_663_300_281_824_128;

    #[test]
    fn the_hash_of_a_key_is_frozen() {
        let salt = Salt::of(&[7; 16]).expect("16 bytes");
        assert!(Salt::of(&[7; 15]).is_none() && Salt::of(&[7; 17]).is_none());
        assert_eq!(salt.hash("s/alice", "k1"), GOLDEN);
        let apart = salt.hash("s/alice", "k2") ^ GOLDEN;
        assert_eq!(apart.cast_unsigned() >> (64 - SCOPE_BITS), 0, "keys of one scope lie together");
        assert_ne!(salt.hash("s/alic", "ek1"), GOLDEN);
    }

    #[test]
    fn runs_go_on_and_are_cut() {
        let mut unindexed = Tail::default();
        for (version, position) in [(5, 10), (6, 12), (7, 13)] {
            unindexed.event(1, version, position);
        }
        unindexed.event(2, 1, 11);
        assert_eq!(unindexed.version(1), Some(7));
        assert_eq!(unindexed.version(3), None);
        assert_eq!(unindexed.run(1, 0, 2), (5, vec![10, 12]));
        assert_eq!(unindexed.run(1, 5, 9), (5, vec![12, 13]));
        assert_eq!(unindexed.run(1, 99, 9), (5, vec![]));
        assert_eq!(unindexed.run(3, 0, 9), (i64::MAX, vec![]));
        assert_eq!(unindexed.past(1, 9), Some((5, Some((5, 10)))));
        assert_eq!(unindexed.past(1, 12), Some((5, Some((7, 13)))));
        assert_eq!(unindexed.past(1, 13), Some((5, None)));
        assert_eq!(unindexed.events(), [(1, 5, 10), (1, 6, 12), (1, 7, 13), (2, 1, 11)]);
        assert_eq!(unindexed.count(), 4);
        unindexed.clear();
        assert_eq!((unindexed.count(), unindexed.version(1)), (0, None));
    }
}
