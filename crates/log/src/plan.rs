//! The rules of an append, shared by all backends: which of the waiting batches are accepted, in order,
//! and their writes.
//! Must not know: the storage; it reads through `Lookup`.

use std::collections::HashMap;

use hashbrown::HashMap as FastMap;
use plenary_kernel::{Position, Version};

use crate::{
    AppendedRange, Batch, Chain, Change, Fault, IndexOp, KeyClaim, KeyRecord, Outcome, Row, RowOp,
    StoredEvent, StreamName,
};

/// The committed data of a backend, as the writer sees it under its write lock.
pub trait Lookup {
    /// The version of a stream; `Version::ZERO` if it does not exist.
    fn version(&mut self, stream: &StreamName) -> Result<Version, Fault>;
    /// A claimed key.
    fn key(&mut self, scope: &str, key: &str) -> Result<Option<KeyRecord>, Fault>;
    /// A row.
    fn row(&mut self, name: &str) -> Result<Option<Row>, Fault>;
}

/// Everything that one commit writes.
#[derive(Debug, Default, PartialEq)]
pub struct Writes {
    /// The events, in position order.
    pub events: Vec<StoredEvent>,
    /// The index changes, in order; a later one of the same key wins.
    pub index: Vec<IndexOp>,
    /// The last state of every changed row; `None` if deleted.
    pub rows: HashMap<String, Option<Row>>,
    /// The new keys.
    pub keys: Vec<KeyClaim>,
    /// The change in the use of each account.
    pub charges: HashMap<String, Change>,
}

impl Writes {
    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        let records = self.rows.is_empty() && self.keys.is_empty() && self.charges.is_empty();
        self.events.is_empty() && self.index.is_empty() && records
    }
}

/// Decides batches in order against the committed data and the writes of earlier batches.
///
/// `head` is the position of the last committed event. A batch that names a damaged record fails alone;
/// after any other error nothing may be written at all.
pub fn plan(
    batches: impl Iterator<Item = Batch>,
    head: Position,
    lookup: &mut impl Lookup,
) -> Result<(Writes, Vec<PlanResult>), Fault> {
    let mut plan =
        Plan { writes: Writes::default(), head, versions: FastMap::new(), keys: HashMap::new(), lookup };
    let mut decided = Vec::new();
    for batch in batches {
        decided.push(match plan.take(batch) {
            Ok(outcome) => Ok(outcome),
            Err(damage @ Fault::Corrupt(_)) => Err(damage),
            Err(fault) => return Err(fault),
        });
    }
    Ok((plan.writes, decided))
}

/// The outcome of one batch; the fault is always `Corrupt`.
pub type PlanResult = Result<Outcome, Fault>;

struct Plan<'a, L> {
    writes: Writes,
    head: Position,
    versions: FastMap<StreamName, Version>,
    /// Callers choose these keys, so they are hashed with SipHash.
    keys: HashMap<(String, String), usize>,
    lookup: &'a mut L,
}

impl<L: Lookup> Plan<'_, L> {
    fn take(&mut self, batch: Batch) -> Result<Outcome, Fault> {
        let refused = self.refused(&batch);
        if !matches!(refused, Ok(None))
            && let Some(chain) = &batch.chain
        {
            chain.break_off();
        }
        if let Some(refused) = refused? {
            return Ok(refused);
        }
        let first = self.head.next();
        for (stream, event) in batch.events {
            let version = self.version(&stream)?.next();
            self.versions.insert(stream.clone(), version);
            self.head = self.head.next();
            self.writes.events.push(StoredEvent {
                position: self.head,
                stream,
                version,
                kind: event.kind.into(),
                form: event.form,
                at: batch.at,
                envelope: event.envelope,
                payload: event.payload,
            });
        }
        self.writes.index.extend(batch.index);
        for op in batch.rows {
            let before = match self.row(&op.name) {
                // An unconditional write replaces the damaged row, which repairs it.
                Err(Fault::Corrupt(_)) if op.expected.is_none() => None,
                before => before?,
            };
            let revision = before.map_or(1, |row| row.revision + 1);
            self.writes.rows.insert(op.name, op.value.map(|value| Row { revision, value }));
        }
        if let Some(claim) = batch.key {
            self.keys.insert((claim.scope.clone(), claim.key.clone()), self.writes.keys.len());
            self.writes.keys.push(claim);
        }
        for charge in batch.charges {
            let sum = self.writes.charges.entry(charge.account.clone()).or_default();
            *sum = sum.plus(&charge);
        }
        Ok(Outcome::Appended(AppendedRange { first, last: self.head }))
    }

    /// Checks the key first (a retry is answered in every later state), then the chain, conditions,
    /// rows.
    fn refused(&mut self, batch: &Batch) -> Result<Option<Outcome>, Fault> {
        if let Some(claim) = &batch.key
            && let Some(record) = self.key(claim)?
        {
            return Ok(Some(if record.digest == claim.digest {
                Outcome::AlreadyDone { outcome: record.outcome }
            } else {
                Outcome::KeyReused
            }));
        }
        if let Some(chain) = batch.chain.as_ref().filter(|chain| chain.is_broken()) {
            let stream = chain.stream().clone();
            return Ok(Some(Outcome::Conflict { actual: self.version(&stream)?, stream }));
        }
        for condition in &batch.conditions {
            let actual = self.version(&condition.stream)?;
            let is_moot = condition.upon.as_ref().is_some_and(Chain::is_broken);
            if is_moot || actual != condition.expected {
                return Ok(Some(Outcome::Conflict { stream: condition.stream.clone(), actual }));
            }
        }
        for RowOp { name, expected, .. } in &batch.rows {
            let Some(expected) = expected else { continue };
            let actual = self.row(name)?.map_or(0, |row| row.revision);
            if *expected != actual {
                return Ok(Some(Outcome::RowConflict { name: name.clone(), actual }));
            }
        }
        // A failed look-up must surface before the first event is written.
        for (stream, _) in &batch.events {
            if !self.versions.contains_key(stream) {
                let version = self.lookup.version(stream)?;
                self.versions.insert(stream.clone(), version);
            }
        }
        Ok(None)
    }

    fn version(&mut self, stream: &StreamName) -> Result<Version, Fault> {
        match self.versions.get(stream) {
            Some(version) => Ok(*version),
            None => self.lookup.version(stream),
        }
    }

    fn row(&mut self, name: &str) -> Result<Option<Row>, Fault> {
        match self.writes.rows.get(name) {
            Some(row) => Ok(row.clone()),
            None => self.lookup.row(name),
        }
    }

    fn key(&mut self, claim: &KeyClaim) -> Result<Option<KeyRecord>, Fault> {
        if !self.keys.is_empty()
            && let Some(at) = self.keys.get(&(claim.scope.clone(), claim.key.clone()))
        {
            let KeyClaim { digest, outcome, .. } = &self.writes.keys[*at];
            return Ok(Some(KeyRecord { digest: *digest, outcome: outcome.clone() }));
        }
        self.lookup.key(&claim.scope, &claim.key)
    }
}
