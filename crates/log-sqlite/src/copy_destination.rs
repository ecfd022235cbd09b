//! A data directory that becomes a copy. Until it is whole the file has another name, so that nothing takes it for a
//! store.
//! Must not know: the source.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use plenary_kernel::Position;
use plenary_log::{
    Change, Fault, IndexOp, KeyClaim, Lookup as _, StoredEvent, Usage, Writes,
    copy::{BoxError, CopyDestination, IndexEntry, Records, Step, Summed},
};
use rusqlite::{Connection, OptionalExtension, config::DbConfig, params};

use crate::{
    DATABASE_FILE, OpenError, Options, checks,
    commit::{Committer, Counters, Failure},
    copy_source::step,
    events, schema, streams,
    unindexed::SharedTail,
};

/// The database of an unfinished copy, within the data directory.
pub const UNFINISHED_FILE: &str = "plenary.db.unfinished";
/// The write-ahead log is moved to the file whenever it has this many pages.
const CHECKPOINT_PAGES: u32 = 4_096;

/// The place of a copy. Dropping it leaves an unfinished copy, which can go on.
pub struct Destination {
    directory: PathBuf,
    _lock: File,
    writing: Option<Writing>,
}

/// The open file.
struct Writing {
    connection: Connection,
    shared: SharedTail,
    counters: Counters,
    /// The names of indexes; there are only as many as the program has.
    names: HashMap<String, &'static str>,
}

impl Destination {
    /// Takes a data directory, which is created if absent and has no store yet. No server can start on it meanwhile.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn new(directory: &Path) -> Result<Self, OpenError> {
        checks::library()?;
        let lock = checks::directory(directory)?;
        vacant(directory)?;
        Ok(Self { directory: directory.to_owned(), _lock: lock, writing: None })
    }

    fn writing(&mut self) -> Result<&mut Writing, BoxError> {
        self.writing.as_mut().ok_or_else(|| "the copy is not open".into())
    }

    /// Goes on with an unfinished copy of the same store, and begins again over every other.
    fn start(&mut self, epoch: &str) -> Result<Option<StoredEvent>, BoxError> {
        let file = self.directory.join(UNFINISHED_FILE);
        let is_same =
            file.exists() && unfinished_epoch(&file).is_ok_and(|found| found.as_deref() == Some(epoch));
        if !is_same {
            remove_unfinished(&self.directory)?;
        }
        let writing = Writing::open(&file, epoch)?;
        let last = writing.last()?;
        self.writing = Some(writing);
        Ok(last)
    }

    fn end(&mut self, head: Position) -> Result<(), BoxError> {
        self.writing()?.end(head)?;
        // The last connection takes the write-ahead log with it.
        self.writing = None;
        install_copy(&self.directory)?;
        Ok(())
    }
}

/// The epoch of the store that an unfinished copy is of; `None` if it does not say.
fn unfinished_epoch(file: &Path) -> Result<Option<String>, OpenError> {
    let connection = schema::looking(file)?;
    let sql = "SELECT value FROM meta WHERE name = 'copy_of'";
    Ok(connection.query_row(sql, [], |row| row.get(0)).optional()?)
}

/// Refuses a directory with a store.
pub(crate) fn vacant(directory: &Path) -> Result<(), OpenError> {
    if directory.join(DATABASE_FILE).exists() {
        return Err(OpenError::Occupied { directory: directory.to_owned() });
    }
    Ok(())
}

/// Removes an unfinished copy, if there is one.
pub(crate) fn remove_unfinished(directory: &Path) -> Result<(), OpenError> {
    for end in ["", "-wal", "-shm"] {
        match fs::remove_file(directory.join(format!("{UNFINISHED_FILE}{end}"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(OpenError::Io(error)),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Moves the write-ahead log to the file for good; the last connection then takes the log with it.
pub(crate) fn flush(connection: &Connection) -> Result<(), OpenError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy != 0 {
        let why = "another process has the unfinished copy open";
        return Err(OpenError::Io(io::Error::new(io::ErrorKind::ResourceBusy, why)));
    }
    Ok(())
}

/// Makes a finished copy, which no connection has open, the store of its directory.
pub(crate) fn install_copy(directory: &Path) -> Result<(), OpenError> {
    let file = directory.join(UNFINISHED_FILE);
    File::open(&file).and_then(|file| file.sync_all()).map_err(OpenError::Io)?;
    fs::rename(&file, directory.join(DATABASE_FILE)).map_err(OpenError::Io)?;
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(OpenError::Io)?;
    remove_unfinished(directory)
}

impl Writing {
    /// The file gets an epoch and a salt of its own. The epoch names one store: of two stores with the same one, an
    /// unfinished copy could continue from the wrong one, and on PostgreSQL each would hear the other's signals. Nothing
    /// that a client has contains it: cursors, versions and `ETag`s are positions, versions and contents.
    fn open(file: &Path, epoch: &str) -> Result<Self, OpenError> {
        let mut connection = schema::writer(file, Options::default())?;
        // There is nobody who reads meanwhile.
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.execute("INSERT OR REPLACE INTO meta VALUES('copy_of', ?1)", [epoch])?;
        let (shared, counters) = schema::load(&mut connection)?;
        Ok(Self { connection, shared, counters, names: HashMap::new() })
    }

    fn last(&self) -> Result<Option<StoredEvent>, OpenError> {
        let mut statement = self.connection.prepare(events::AFTER)?;
        let mut rows = statement.query([self.counters.head - 1])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let name = streams::name(&self.connection, &mut HashMap::new(), row.get(1)?)?;
        Ok(Some(events::unchecked(row, name, &mut Vec::new())?))
    }

    /// Writes a page as one commit, and moves it to the indexes when enough has gathered.
    fn write(&mut self, records: Records) -> Result<(), BoxError> {
        let (writes, unsummed) = self.writes(records)?;
        let mut committer = Committer::new(&self.connection, &self.shared, self.counters)?;
        committer.apply(writes, &[]).map_err(failed)?;
        if !unsummed.is_empty() || committer.is_due(Options::default().index_every) {
            committer.index().map_err(failed)?;
        }
        self.counters = committer.counters();
        drop(committer);
        Ok(unsummed.forget(&self.connection)?)
    }

    fn writes(&mut self, records: Records) -> Result<(Writes, Unsummed), BoxError> {
        let (mut writes, mut unsummed) = (Writes::default(), Unsummed::default());
        match records {
            Records::Events(events) => {
                let old = events.iter().filter(|event| event.sum.is_none());
                unsummed.events = old.map(|event| events::position(event.record.position)).collect();
                writes.events = events.into_iter().map(|event| event.record).collect();
            }
            Records::Keys(keys) => self.keys(keys, &mut writes, &mut unsummed)?,
            Records::Index(rows) => {
                for Summed { record: IndexEntry { name, key, value }, sum } in rows {
                    if sum.is_none() {
                        unsummed.index.push((name.clone(), key.clone()));
                    }
                    let name = self.names.entry(name).or_insert_with_key(|name| String::leak(name.clone()));
                    writes.index.push(IndexOp::Put { name, key, value });
                }
            }
            Records::Rows(rows) => {
                let old = rows.iter().filter(|row| row.sum.is_none());
                unsummed.rows = old.map(|row| row.record.0.clone()).collect();
                writes.rows = rows.into_iter().map(|row| (row.record.0, Some(row.record.1))).collect();
            }
            Records::Usage(usage) => {
                let change = |Usage { bytes, events }: Usage| Change {
                    bytes: bytes.cast_signed(),
                    events: events.cast_signed(),
                };
                writes.charges = usage.into_iter().map(|(account, usage)| (account, change(usage))).collect();
            }
        }
        Ok((writes, unsummed))
    }

    /// Leaves out the keys that are there, with an error if one is there for another request.
    fn keys(
        &self,
        keys: Vec<Summed<KeyClaim>>,
        writes: &mut Writes,
        unsummed: &mut Unsummed,
    ) -> Result<(), BoxError> {
        let mut committer = Committer::new(&self.connection, &self.shared, self.counters)?;
        for Summed { record, sum } in keys {
            match committer.key(&record.scope, &record.key)? {
                Some(known) if known.digest == record.digest && known.outcome == record.outcome => continue,
                Some(_) => {
                    return Err(Fault::Corrupt(format!(
                        "the key {} is there with another answer",
                        record.key
                    ))
                    .into());
                }
                None => {}
            }
            if sum.is_none() {
                unsummed.keys.push((record.scope.clone(), record.key.clone()));
            }
            writes.keys.push(record);
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<(), OpenError> {
        let tables =
            "BEGIN; DELETE FROM idx; DELETE FROM index_log; DELETE FROM rows; DELETE FROM usage; COMMIT";
        self.connection.execute_batch(tables)?;
        (self.shared, self.counters) = schema::load(&mut self.connection)?;
        Ok(())
    }

    fn end(&mut self, head: Position) -> Result<(), BoxError> {
        let mut committer = Committer::new(&self.connection, &self.shared, self.counters)?;
        committer.index().map_err(failed)?;
        self.counters = committer.counters();
        drop(committer);
        if events::position(head) != self.counters.head {
            return Err(format!("the copy ends at {} instead of {head}", self.counters.head).into());
        }
        self.connection.execute("DELETE FROM meta WHERE name = 'copy_of'", [])?;
        Ok(flush(&self.connection)?)
    }
}

/// The written records that get no checksum, because they are older than checksums.
#[derive(Default)]
struct Unsummed {
    events: Vec<i64>,
    keys: Vec<(String, String)>,
    index: Vec<(String, String)>,
    rows: Vec<String>,
}

impl Unsummed {
    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.keys.is_empty() && self.index.is_empty() && self.rows.is_empty()
    }

    fn forget(&self, connection: &Connection) -> Result<(), rusqlite::Error> {
        if self.is_empty() {
            return Ok(());
        }
        let transaction = connection.unchecked_transaction()?;
        for position in &self.events {
            connection
                .prepare_cached("UPDATE events SET sum = NULL WHERE position = ?1")?
                .execute([position])?;
        }
        for (scope, key) in &self.keys {
            // The newest keys: found from the end.
            connection
                .prepare_cached(
                    "UPDATE keys SET sum = NULL WHERE claim = (SELECT claim FROM keys WHERE scope = ?1 AND key = ?2 \
                     ORDER BY claim DESC LIMIT 1)",
                )?
                .execute(params![scope, key])?;
        }
        for (name, key) in &self.index {
            let sql = "UPDATE idx SET sum = NULL WHERE name = ?1 AND key = ?2";
            connection.prepare_cached(sql)?.execute(params![name, key])?;
        }
        for name in &self.rows {
            connection.prepare_cached("UPDATE rows SET sum = NULL WHERE name = ?1")?.execute([name])?;
        }
        transaction.commit()
    }
}

fn failed(failure: Failure) -> BoxError {
    match failure {
        Failure::Refused(fault) | Failure::Fatal(fault) => fault.into(),
    }
}

impl CopyDestination for Destination {
    fn begin(&mut self, epoch: &str) -> Step<'_, Option<StoredEvent>> {
        step(self.start(epoch))
    }
    fn write(&mut self, records: Records) -> Step<'_, ()> {
        step(self.writing().and_then(|writing| writing.write(records)))
    }
    fn clear(&mut self) -> Step<'_, ()> {
        step(self.writing().and_then(|writing| Ok(writing.clear()?)))
    }
    fn finish(&mut self, head: Position) -> Step<'_, ()> {
        step(self.end(head))
    }
}
