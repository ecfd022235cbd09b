//! The file as one of several replicas of a log that a journal orders: another component decides the
//! writes, which are applied with the numbers and hashes of their records. One thread decides and
//! applies; readers run concurrently.
//! Must not know: the journal.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use plenary_log::{Batch, Fault, PlanResult, Reads, StoredEvent, Writes};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::{
    DATABASE_FILE, Link, OpenError, Options, StoreClose, checks,
    commit::{Committer, Counters, Failure},
    pool, schema,
    unindexed::SharedTail,
    writer::{CHECKPOINT_PAGES, WriteAheadLog, survived},
};

/// Most commands that wait for the thread: the holder of a replica sends them one after another.
const COMMANDS_WAITING_MAX: usize = 4;
/// The form of files with a write-ahead log, in byte 18 of the head.
const WRITTEN_FORM_MAX: u8 = 2;

/// Why a replica could not be set aside.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// A file of the replica could not be moved.
    #[error("the replica could not be set aside: {0}")]
    Io(#[from] io::Error),
}

enum Command {
    Decide(Vec<Batch>, oneshot::Sender<Result<(Writes, Vec<PlanResult>), Fault>>),
    Apply(Writes, Vec<Link>, oneshot::Sender<Result<Arc<[StoredEvent]>, Fault>>),
}

/// An open replica. Dropping it closes the file.
pub struct Replica {
    commands: mpsc::Sender<Command>,
    reads: Arc<dyn Reads>,
    last: Link,
    is_whole: bool,
}

/// Opens the replica in a data directory, which is created if absent. Blocks while it reads the disk.
///
/// # Errors
/// A store that is not a replica, and every other error of opening a store.
pub fn open_replica(directory: &Path, options: Options) -> Result<(Replica, StoreClose), OpenError> {
    checks::library()?;
    let lock = checks::directory(directory)?;
    let database = directory.join(DATABASE_FILE);
    head(&database)?;
    let mut connection = schema::writer(&database, options)?;
    let last = schema::last_link(&connection)?;
    let links: i64 = connection.query_row("SELECT count(*) FROM journal", [], |row| row.get(0))?;
    let (shared, counters) = schema::load(&mut connection)?;
    let is_empty = counters.head == 0 && counters.claim == 0;
    if last.sequence == 0 && !is_empty {
        return Err(OpenError::NoReplica { directory: directory.to_owned() });
    }
    let is_whole = links.cast_unsigned() == last.sequence && counters.head.cast_unsigned() == last.position.0;
    let readers = (0..options.readers.max(1)).map(|_| schema::reader(&database)).collect::<Result<_, _>>()?;
    let shared = Arc::new(shared);
    let reads = Arc::new(pool::Pool::new(readers, shared.clone()));
    let pages = schema::wal_pages(&mut connection)?;
    let (commands, queue) = mpsc::channel(COMMANDS_WAITING_MAX);
    let (closed, closing) = oneshot::channel();
    let run = move || {
        let log = |connection| WriteAheadLog { connection, pages, due: CHECKPOINT_PAGES, seen: 0 };
        if let Err(fault) = serve(&connection, &shared, counters, queue, log, options.index_every) {
            tracing::error!(%fault, "the replica has ended");
        }
        drop(connection);
        drop(lock);
        drop(closed);
    };
    std::thread::Builder::new().name("log-writer".to_owned()).spawn(run).map_err(OpenError::Io)?;
    Ok((Replica { commands, reads, last, is_whole }, StoreClose(closing)))
}

/// Refuses a file that SQLite would only read, as its head names a later form of files: ours never does. No connection
/// may be open, as closing the file here would drop its locks.
fn head(database: &Path) -> Result<(), OpenError> {
    let mut head = [0; 19];
    let read = File::open(database).and_then(|mut file| file.read_exact(&mut head));
    if read.is_ok() && head[18] > WRITTEN_FORM_MAX {
        return Err(OpenError::Corrupt(format!("its head has the form {}", head[18])));
    }
    Ok(())
}

fn serve<'c>(
    connection: &'c Connection,
    shared: &'c SharedTail,
    counters: Counters,
    mut queue: mpsc::Receiver<Command>,
    log: impl FnOnce(&'c Connection) -> WriteAheadLog<'c>,
    index_every: usize,
) -> Result<(), Fault> {
    let committer = Committer::new(connection, shared, counters);
    let mut committer = committer.map_err(|error| Fault::Unavailable(error.to_string()))?;
    let mut log = log(connection);
    while let Some(command) = queue.blocking_recv() {
        match command {
            Command::Decide(batches, reply) => {
                let _ = reply.send(committer.decide(batches.into_iter()));
            }
            Command::Apply(writes, links, reply) => {
                let (answer, fatal) = match committer.apply(writes, &links) {
                    Ok(events) => (Ok(events), None),
                    Err(Failure::Refused(fault)) => (Err(fault), None),
                    Err(Failure::Fatal(fault)) => (Err(fault.clone()), Some(fault)),
                };
                let _ = reply.send(answer);
                if let Some(fault) = fatal {
                    return Err(fault);
                }
                if committer.is_due(index_every) {
                    survived(committer.index())?;
                }
                survived(log.keep_short())?;
            }
        }
    }
    survived(committer.index())?;
    survived(log.checkpoint("TRUNCATE"))
}

impl Replica {
    /// The last record that it had when it was opened.
    pub fn last(&self) -> Link {
        self.last
    }

    /// The reads of the replica; each sees everything that was applied before it began.
    pub fn reads(&self) -> Arc<dyn Reads> {
        self.reads.clone()
    }

    /// Whether no link was missing at the opening, and the log ended where the last link says.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Decides batches on top of the applied records, without writing.
    ///
    /// # Errors
    /// The file could not be read.
    pub async fn decide(&self, batches: Vec<Batch>) -> Result<(Writes, Vec<PlanResult>), Fault> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::Decide(batches, reply), answer).await
    }

    /// Writes the content of journal records and their links in one transaction, which is on disk when
    /// this returns.
    ///
    /// # Errors
    /// `Fault::OutcomeUnknown`: the replica has ended. Any other: nothing was written, and a retry is
    /// possible.
    pub async fn apply(&self, writes: Writes, links: Vec<Link>) -> Result<Arc<[StoredEvent]>, Fault> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::Apply(writes, links, reply), answer).await
    }

    async fn ask<T>(
        &self,
        command: Command,
        answer: oneshot::Receiver<Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let ended = || Fault::OutcomeUnknown("the replica has ended".into());
        self.commands.send(command).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

/// The links of a replica after a number, in order, at most `max`. A server may have it open.
///
/// # Errors
/// The file can't be read, or is not a store.
pub fn replica_links(directory: &Path, after: u64, max: usize) -> Result<Vec<Link>, OpenError> {
    let connection = schema::looking(&directory.join(DATABASE_FILE))?;
    let mut links = connection.prepare(
        "SELECT sequence, hash, position FROM journal WHERE sequence > ?1 ORDER BY sequence LIMIT ?2",
    )?;
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    let links = links.query_map([after.cast_signed(), max], schema::link)?;
    Ok(links.collect::<Result<_, _>>()?)
}

/// Moves the database of a closed replica aside, so that the next opening starts with an empty one.
/// Returns its new path.
///
/// # Errors
/// See [`RepairError`].
pub fn set_replica_aside(directory: &Path) -> Result<PathBuf, RepairError> {
    let database = directory.join(DATABASE_FILE);
    let aside = (1_u32..)
        .map(|nth| directory.join(format!("{DATABASE_FILE}.aside-{nth}")))
        .find(|path| !path.exists())
        .unwrap_or_else(|| directory.join("aside"));
    for end in ["-wal", "-shm"] {
        let with = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
        match fs::rename(with(&database), with(&aside)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
    }
    match fs::rename(&database, &aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    Ok(aside)
}
