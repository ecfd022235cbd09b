//! One commit: the rules of an append against the file, the resulting writes, and the update of the writer's cache.
//! Must not know: the source of batches and the receivers of outcomes.

use std::sync::Arc;

use hashbrown::HashMap;
use plenary_kernel::{Position, Version};
use plenary_log::{
    Batch, Digest, Fault, IndexOp, KeyClaim, KeyRecord, Lookup, PlanResult, Row, StoredEvent, StreamName,
    Usage, Writes, plan,
};
use rusqlite::{Connection, Error, ErrorCode, Statement, params};

use crate::{
    cache::{Cache, CachedStream},
    error::{fault, is_full, write_fault_text},
    records,
    streams::{STREAM_MAX, VERSION_MAX, slot, stream_id, version_indexed},
    unindexed::{SharedTail, written_charges},
};

/// Most bytes of index rows in the memtable, plus those of one commit.
const GATHERED_BYTES_MAX: usize = 8 << 20;

/// The last assigned numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counters {
    /// The last position.
    pub(crate) head: i64,
    /// The last stream.
    pub(crate) stream: i64,
    /// The last claim of a key.
    pub(crate) claim: i64,
}

/// Why a transaction was not committed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was rolled back, and the next one may work.
    Refused(Fault),
    /// It is unknown what is on disk: the process must end.
    Fatal(Fault),
}

impl Failure {
    /// Classifies an error that came before any write.
    pub(crate) fn of(error: &Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy) => Self::Refused(Fault::Unavailable(error.to_string())),
            _ if is_full(error) => Self::Refused(Fault::Full(error.to_string())),
            _ => fatal(error),
        }
    }
}

fn fatal(error: &Error) -> Failure {
    Failure::Fatal(Fault::OutcomeUnknown(write_fault_text(error)))
}

/// The outcomes and events of a commit.
pub(crate) type CommitResult = (Vec<PlanResult>, Arc<[StoredEvent]>);

/// The effects of a transaction, which the writer takes over once they are on disk.
struct WriteSet {
    /// The stream of each event.
    streams: Vec<i64>,
    /// The last assigned numbers.
    counters: Counters,
    /// The new use of the charged accounts.
    usage: Vec<(String, Usage)>,
}

/// A journal record, as the file stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Its number in the journal, 0 before the first.
    pub sequence: u64,
    /// The hash of its bytes.
    pub hash: [u8; 32],
    /// The position of the last event after it.
    pub position: Position,
}

/// The writing half of the store.
pub(crate) struct Committer<'c> {
    connection: &'c Connection,
    shared: &'c SharedTail,
    statements: Statements<'c>,
    cache: Cache,
    counters: Counters,
}

struct Statements<'c> {
    stream: Statement<'c>,
    event: Statement<'c>,
    key: Statement<'c>,
    index_log: Statement<'c>,
    set_row: Statement<'c>,
    delete_row: Statement<'c>,
    charge: Statement<'c>,
    set_usage: Statement<'c>,
    stream_index: Statement<'c>,
    key_index: Statement<'c>,
    stream_name: Statement<'c>,
    put: Statement<'c>,
    delete: Statement<'c>,
}

/// Sets the use of an account.
const SET_USAGE: &str = "INSERT OR REPLACE INTO usage VALUES(?1, ?2, ?3)";
/// Changes the use of an account, never below zero.
pub(crate) const CHARGE: &str = "INSERT INTO usage VALUES(?1, ?2, ?3) ON CONFLICT(account) \
    DO UPDATE SET bytes = max(0, bytes + excluded.bytes), events = max(0, events + excluded.events)";

impl<'c> Statements<'c> {
    fn of(connection: &'c Connection) -> Result<Self, Error> {
        Ok(Self {
            stream: connection.prepare("INSERT INTO streams VALUES(?1, ?2)")?,
            event: connection
                .prepare("INSERT INTO events VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?,
            key: connection.prepare("INSERT INTO keys VALUES(?1, ?2, ?3, ?4, ?5, ?6)")?,
            index_log: connection.prepare("INSERT INTO index_log VALUES(NULL, ?1, ?2, ?3, ?4)")?,
            set_row: connection.prepare("INSERT OR REPLACE INTO rows VALUES(?1, ?2, ?3, ?4)")?,
            delete_row: connection.prepare("DELETE FROM rows WHERE name = ?1")?,
            charge: connection.prepare(CHARGE)?,
            set_usage: connection.prepare(SET_USAGE)?,
            stream_index: connection.prepare("INSERT INTO stream_index VALUES(?1, ?2)")?,
            key_index: connection.prepare("INSERT INTO key_index VALUES(?1, ?2)")?,
            stream_name: connection.prepare("INSERT INTO stream_names VALUES(?1, ?2)")?,
            put: connection.prepare("INSERT OR REPLACE INTO idx VALUES(?1, ?2, ?3, ?4)")?,
            delete: connection.prepare("DELETE FROM idx WHERE name = ?1 AND key = ?2")?,
        })
    }
}

impl<'c> Committer<'c> {
    pub(crate) fn new(
        connection: &'c Connection,
        shared: &'c SharedTail,
        counters: Counters,
    ) -> Result<Self, Error> {
        let statements = Statements::of(connection)?;
        Ok(Self { connection, shared, statements, cache: Cache::default(), counters })
    }

    /// Decides the batches in order and writes the accepted ones, in one transaction that is on disk
    /// when this returns.
    pub(crate) fn commit(&mut self, batches: impl Iterator<Item = Batch>) -> Result<CommitResult, Failure> {
        self.begin()?;
        let head = Position(self.counters.head.cast_unsigned());
        let (mut writes, outcomes) = match plan(batches, head, self) {
            Ok(planned) => planned,
            Err(fault) => {
                self.rollback()?;
                return Err(Failure::Refused(fault));
            }
        };
        if writes.is_empty() {
            self.rollback()?;
            return Ok((outcomes, Arc::new([])));
        }
        let written = self.write(&writes);
        let written = self.finish(written)?;
        let events: Arc<[StoredEvent]> = std::mem::take(&mut writes.events).into();
        self.learn(&writes, &events, written);
        Ok((outcomes, events))
    }

    /// The last assigned numbers.
    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// Decides batches without writing them.
    pub(crate) fn decide(
        &mut self,
        batches: impl Iterator<Item = Batch>,
    ) -> Result<(Writes, Vec<PlanResult>), Fault> {
        plan(batches, Position(self.counters.head.cast_unsigned()), self)
    }

    /// Writes what another node decided, in one transaction that is on disk when this returns.
    pub(crate) fn apply(
        &mut self,
        mut writes: Writes,
        links: &[Link],
    ) -> Result<Arc<[StoredEvent]>, Failure> {
        self.begin()?;
        let written = self.write(&writes).and_then(|written| {
            let mut journal = self.connection.prepare_cached("INSERT INTO journal VALUES(?1, ?2, ?3)")?;
            for Link { sequence, hash, position } in links {
                journal.execute(params![sequence.cast_signed(), &hash[..], position.0.cast_signed()])?;
            }
            Ok(written)
        });
        let written = self.finish(written)?;
        let events: Arc<[StoredEvent]> = std::mem::take(&mut writes.events).into();
        self.learn(&writes, &events, written);
        Ok(events)
    }

    fn begin(&self) -> Result<(), Failure> {
        let result =
            self.connection.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([]));
        result.map(|_| ()).map_err(|error| Failure::of(&error))
    }

    fn rollback(&self) -> Result<(), Failure> {
        // SQLite rolls back by itself after some errors.
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK").map_err(|error| fatal(&error))?;
        }
        Ok(())
    }

    /// Commits the transaction. A full disk is the only error after which it is certain that nothing was
    /// written.
    fn finish<T>(&self, written: Result<T, Error>) -> Result<T, Failure> {
        let committed = written.and_then(|written| {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(written)
        });
        match committed {
            Ok(written) => Ok(written),
            Err(error) if is_full(&error) => {
                self.rollback()?;
                Err(Failure::Refused(Fault::Full(error.to_string())))
            }
            Err(error) => Err(fatal(&error)),
        }
    }

    /// An existing stream, from the cache or the file.
    fn known(&mut self, stream: &StreamName) -> Result<Option<CachedStream>, Error> {
        if let Some(known) = self.cache.get(stream) {
            return Ok(Some(known));
        }
        let Some(id) = stream_id(self.connection, self.shared, stream)? else { return Ok(None) };
        let unindexed = self.shared.unindexed.read().version(id);
        let version = match unindexed {
            Some(version) => version,
            None => version_indexed(self.connection, id)?,
        };
        let known = CachedStream { id, version };
        self.cache.put(stream.clone(), known);
        Ok(Some(known))
    }

    /// Writes everything.
    fn write(&mut self, writes: &Writes) -> Result<WriteSet, Error> {
        let mut counters = self.counters;
        let usage = self.charged(writes)?;
        let mut charges = written_charges(&writes.charges);
        let mut new: HashMap<&StreamName, i64> = HashMap::new();
        let mut streams = Vec::with_capacity(writes.events.len());
        for event in &writes.events {
            let id = match self.cache.get(&event.stream) {
                Some(known) => known.id,
                None => match new.get(&event.stream) {
                    Some(id) => *id,
                    None => {
                        let id = self.stream_id(&event.stream, &mut counters)?;
                        new.insert(&event.stream, id);
                        id
                    }
                },
            };
            self.write_event(event, id, charges.take())?;
            streams.push(id);
            counters.head = event.position.0.cast_signed();
        }
        for claim in &writes.keys {
            counters.claim += 1;
            let KeyClaim { scope, key, digest, outcome } = claim;
            let sum = Digest::parts_of_key(scope, key, digest, outcome).stored();
            self.statements.key.execute(params![counters.claim, scope, key, digest, &outcome[..], sum])?;
        }
        for op in &writes.index {
            let (name, key, value) = match op {
                IndexOp::Put { name, key, value } => (name, key, Some(&value[..])),
                IndexOp::Delete { name, key } => (name, key, None),
            };
            let sum = value.map(|value| Digest::index(name, key, value).stored());
            self.statements.index_log.execute(params![name, key, value, sum])?;
        }
        for (name, row) in &writes.rows {
            match row {
                Some(row) => {
                    let (sum, revision) = (Digest::row(name, row).stored(), row.revision.cast_signed());
                    self.statements.set_row.execute(params![name, revision, &row.value[..], sum])?
                }
                None => self.statements.delete_row.execute([name])?,
            };
        }
        // Without an event to carry the charges, the file's rows change at once; changes that are not
        // indexed yet stay so.
        for (account, change) in writes.charges.iter().filter(|_| writes.events.is_empty()) {
            self.statements.charge.execute(params![account, change.bytes, change.events])?;
        }
        Ok(WriteSet { streams, counters, usage })
    }

    /// The resulting use of each charged account.
    fn charged(&self, writes: &Writes) -> Result<Vec<(String, Usage)>, Error> {
        let unindexed = self.shared.unindexed.read();
        let used = writes.charges.iter().map(|(account, change)| {
            let used = match unindexed.usage(account) {
                Some(used) => used,
                None => records::usage_in_file(self.connection, account)?,
            };
            Ok((account.clone(), change.applied(used)))
        });
        used.collect()
    }

    fn write_event(
        &mut self,
        event: &StoredEvent,
        stream: i64,
        charges: Option<String>,
    ) -> Result<(), Error> {
        let statement = &mut self.statements.event;
        statement.raw_bind_parameter(1, event.position.0.cast_signed())?;
        statement.raw_bind_parameter(2, stream)?;
        statement.raw_bind_parameter(3, event.version.0.cast_signed())?;
        statement.raw_bind_parameter(4, event.form)?;
        statement.raw_bind_parameter(5, event.at.0.cast_signed())?;
        statement.raw_bind_parameter(6, &*event.kind)?;
        statement.raw_bind_parameter(7, &event.envelope[..])?;
        statement.raw_bind_parameter(8, &event.payload[..])?;
        statement.raw_bind_parameter(9, Digest::event(event).stored())?;
        statement.raw_bind_parameter(10, charges)?;
        statement.raw_execute()?;
        Ok(())
    }

    /// The number of a stream that is not in the cache; a new number if the stream does not exist.
    fn stream_id(&mut self, stream: &StreamName, counters: &mut Counters) -> Result<i64, Error> {
        if let Some(id) = stream_id(self.connection, self.shared, stream)? {
            return Ok(id);
        }
        counters.stream += 1;
        self.statements.stream.execute(params![counters.stream, stream.as_str()])?;
        Ok(counters.stream)
    }

    /// Takes over the effects of a commit. After this every read sees them.
    fn learn(&mut self, writes: &Writes, events: &Arc<[StoredEvent]>, written: WriteSet) {
        let WriteSet { streams, counters, usage } = written;
        let mut unindexed = self.shared.unindexed.write();
        for (event, id) in events.iter().zip(&streams) {
            let version = event.version.0.cast_signed();
            if *id > self.counters.stream && version == 1 {
                unindexed.name(event.stream.clone(), *id);
            }
            unindexed.event(*id, version, event.position.0.cast_signed());
            self.cache.put(event.stream.clone(), CachedStream { id: *id, version });
        }
        for (claim, nth) in writes.keys.iter().zip(self.counters.claim + 1..) {
            unindexed.key(self.shared.salt.hash(&claim.scope, &claim.key), nth);
        }
        for op in &writes.index {
            unindexed.row(op);
        }
        for (account, used) in usage {
            unindexed.record_usage(account, used);
        }
        let dropped = unindexed.recent.push(events);
        drop(unindexed);
        drop(dropped);
        self.counters = counters;
        self.shared.set_head(counters.head);
    }

    /// Whether enough rows or bytes wait to be moved to the file's indexes.
    pub(crate) fn is_due(&self, index_every: usize) -> bool {
        let unindexed = self.shared.unindexed.read();
        unindexed.count() >= index_every || unindexed.gathered.bytes() >= GATHERED_BYTES_MAX
    }

    /// Moves the waiting rows to the file's indexes, in one transaction.
    pub(crate) fn index(&mut self) -> Result<(), Failure> {
        if self.shared.unindexed.read().count() == 0 {
            return Ok(());
        }
        self.begin()?;
        let written = self.write_index();
        self.finish(written)?;
        self.shared.unindexed.write().clear();
        Ok(())
    }

    /// Only this thread changes the data behind this lock, so readers need not wait for the disk.
    fn write_index(&mut self) -> Result<(), Error> {
        let unindexed = self.shared.unindexed.read();
        for (stream, version, position) in unindexed.events() {
            self.statements.stream_index.execute([slot(stream, version), position])?;
        }
        for (hash, claim) in unindexed.keys() {
            self.statements.key_index.execute([hash, claim])?;
        }
        for (name, id) in unindexed.names() {
            self.statements.stream_name.execute(params![name.as_str(), id])?;
        }
        for (name, key, value) in unindexed.gathered.rows() {
            match value {
                Some(value) => {
                    let sum = Digest::index(name, key, value).stored();
                    self.statements.put.execute(params![name, key, &value[..], sum])?
                }
                None => self.statements.delete.execute(params![name, key])?,
            };
        }
        for (account, used) in unindexed.usages() {
            let (bytes, events) = (used.bytes.cast_signed(), used.events.cast_signed());
            self.statements.set_usage.execute(params![account, bytes, events])?;
        }
        drop(unindexed);
        self.connection.prepare_cached("DELETE FROM index_log")?.execute([])?;
        let mut indexed = self.connection.prepare_cached("UPDATE meta SET value = ?2 WHERE name = ?1")?;
        indexed.execute(params!["events_indexed", self.counters.head])?;
        indexed.execute(params!["keys_indexed", self.counters.claim])?;
        indexed.execute(params!["streams_indexed", self.counters.stream])?;
        Ok(())
    }
}

impl Lookup for Committer<'_> {
    fn version(&mut self, stream: &StreamName) -> Result<Version, Fault> {
        let Some(known) = self.known(stream).map_err(fault)? else { return Ok(Version::ZERO) };
        if known.id >= STREAM_MAX || known.version >= VERSION_MAX {
            return Err(Fault::Full(format!("{stream} has no number or version left")));
        }
        Ok(Version(known.version.cast_unsigned()))
    }

    fn key(&mut self, scope: &str, key: &str) -> Result<Option<KeyRecord>, Fault> {
        records::key(self.connection, self.shared, scope, key).map_err(Into::into)
    }

    fn row(&mut self, name: &str) -> Result<Option<Row>, Fault> {
        records::row(self.connection, name).map_err(Into::into)
    }
}
