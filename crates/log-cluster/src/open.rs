//! A node's start: it compares its replica with the journal, rebuilds a wrong replica, and reads the journal to its
//! end before it serves requests.
//! Must not know: how records are decided.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use plenary_journal::{Extent, Journal, READ_RECORDS_MAX, ReadError, Record, peers::NodeId};
use plenary_log::{Fault, OpenedLog, Writes, channel};
use plenary_log_sqlite::{Link, RepairError, Replica, StoreClose, open_replica, set_replica_aside};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    Journals, Options,
    fresh::{Fresh, Gate, Mark},
    node::{MISTRUST_PAUSE, MISTRUSTED_MAX, Node, Waiting},
    others::{Lines, Others, Standing},
    pens::PenState,
    record::{self, BEGINNING, Damage, hash},
    signals,
};

/// How long a start waits for a journal that does not answer, or whose new leader has not yet received
/// all agreed records.
const JOURNAL_MAX: Duration = Duration::from_secs(15);
/// The pause between two attempts.
const AGAIN: Duration = Duration::from_millis(200);
/// How long a new node waits for a message of the node with the pen.
const PEN_KNOWN: Duration = Duration::from_millis(150);
/// The marker file of a damaged replica, in a node's directory.
const MARK: &str = "replica.damaged";
/// The number of records between two log lines about the progress of a replica.
const REPORT_EVERY: u64 = 50_000;

/// Why a node can't start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its file can't be opened.
    #[error(transparent)]
    Replica(#[from] plenary_log_sqlite::OpenError),
    /// A wrong file can't be moved aside.
    #[error(transparent)]
    Repair(#[from] RepairError),
    /// The journal can't be read.
    #[error(transparent)]
    Journal(#[from] ReadError),
    /// The file has more records than the journal: the journal has lost its end, or is another one.
    #[error(
        "the journal ends at record {journal}, and this node's file has record {replica}: records were lost, or it is \
         another network's. The file was left as it is; `plenary cluster verify` compares"
    )]
    JournalShort {
        /// The last record of the journal.
        journal: u64,
        /// The last record of the file.
        replica: u64,
    },
    /// The journal has only the first records of a store.
    #[error(
        "the journal has only a part of a store: `plenary cluster begin` was interrupted; run it again with the same --data"
    )]
    Unfinished,
    /// A record of the journal can't be applied.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// The file can't be written.
    #[error(transparent)]
    Store(#[from] Fault),
    /// The task that opens the file was cancelled.
    #[error("the start was broken off")]
    BrokenOff,
}

/// Opens the log of a cluster with this node's replica in `directory`. Needs a tokio runtime.
///
/// If the journal fails later, reads continue with the local records, and appends return
/// `Fault::Unavailable`, or `Fault::OutcomeUnknown` for those in progress, until it is back.
///
/// # Errors
/// See [`OpenError`].
pub async fn open(
    directory: &Path,
    journals: Journals,
    options: Options,
) -> Result<(OpenedLog, StoreClose), OpenError> {
    let journal = journals.log.clone();
    // Records that are published while the node catches up are hinted already.
    let hints = journal.hints().await?;
    let me = node_id()?;
    let messages = journals.peers.listen(me).await?;
    let (replica, closing) = sound_replica(directory, &options, &*journal).await?;
    let mark = Mark(directory.join(MARK));
    let last = match caught_up(&replica, &*journal).await {
        // Without the mark each start would fail at the same record.
        Err(OpenError::Store(fault)) => {
            mark.mark_if_damaged(&fault);
            return Err(fault.into());
        }
        caught_up => caught_up?,
    };
    if is_unfinished(&*journal, &last).await? {
        return Err(OpenError::Unfinished);
    }
    let (applied, applied_rx) = watch::channel(last.sequence);
    let (target, target_rx) = watch::channel(last.sequence);
    let gate = Gate { journal: journal.clone(), applied: applied_rx, target, wait: options.fresh_wait };
    let reads = Arc::new(Fresh::new(replica.reads(), gate, mark.clone()));
    let signals = signals::join(journals.signals).await;
    let (channel, jobs, feeder) = channel();
    let standing = Standing { applied: last.sequence, ..Standing::default() };
    let (others, Lines { peer_messages, pending_acks, standing }) =
        Others::new(me, options.name, journals.peers.clone(), messages, options.keep, standing);
    let node = Node {
        me,
        journal,
        peers: journals.peers,
        replica,
        mark,
        feeder,
        hints,
        peer_messages,
        pending_acks,
        standing,
        others: tokio::spawn(others.run()),
        last,
        applied,
        target: target_rx,
        poll: options.poll,
        is_cut_off: false,
        mistrusted: 0,
        pens: PenState::new(me, Instant::now() + PEN_KNOWN),
        waiting: Waiting::default(),
    };
    tokio::spawn(node.run(jobs));
    Ok((channel.open_with(reads, signals, true), closing))
}

/// A random id of this node; never 0, which in a record means no node.
fn node_id() -> Result<NodeId, OpenError> {
    let mut id = [0; 8];
    getrandom::fill(&mut id).map_err(|_| OpenError::BrokenOff)?;
    Ok(NodeId(u64::from_le_bytes(id).max(1)))
}

/// A replica whose last record is in the journal, or an empty one.
async fn sound_replica(
    directory: &Path,
    options: &Options,
    journal: &dyn Journal,
) -> Result<(Replica, StoreClose), OpenError> {
    let why = match open_in_background(directory, options).await {
        Ok((replica, closing)) => match defect(&replica, directory, journal).await? {
            None => return Ok((replica, closing)),
            Some(why) => {
                drop(replica);
                closing.wait().await;
                why
            }
        },
        Err(OpenError::Replica(error)) => match error.damage() {
            Some(why) => why,
            None => return Err(error.into()),
        },
        Err(error) => return Err(error),
    };
    let moved: PathBuf = set_replica_aside(directory)?;
    match fs::remove_file(directory.join(MARK)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(RepairError::Io(error).into()),
        Ok(()) | Err(_) => {}
    }
    tracing::error!(why, aside = %moved.display(), "this node's file was wrong; it is built again from the journal");
    open_in_background(directory, options).await
}

async fn open_in_background(directory: &Path, options: &Options) -> Result<(Replica, StoreClose), OpenError> {
    let (directory, sqlite) = (directory.to_owned(), options.sqlite);
    let opening = move || open_replica(&directory, sqlite);
    Ok(tokio::task::spawn_blocking(opening).await.map_err(|_| OpenError::BrokenOff)??)
}

/// The defect of a replica: found at its end, or noted by an earlier read. A replica with more records
/// than the journal is not touched, whatever its other defects.
async fn defect(
    replica: &Replica,
    directory: &Path,
    journal: &dyn Journal,
) -> Result<Option<String>, OpenError> {
    if let Some(why) = fits(replica, journal).await? {
        return Ok(Some(why.to_owned()));
    }
    // A mark whose text is damaged is a mark too.
    let mark = fs::read(directory.join(MARK)).ok();
    Ok(mark.map(|why| String::from_utf8_lossy(&why).into_owned()))
}

/// The defect of a replica, as far as its end shows one.
async fn fits(replica: &Replica, journal: &dyn Journal) -> Result<Option<&'static str>, OpenError> {
    if !replica.is_whole() {
        return Ok(Some("records or events are missing in it"));
    }
    let last = replica.last();
    if last == BEGINNING {
        return Ok(None);
    }
    let until = Instant::now() + JOURNAL_MAX;
    loop {
        let there = match journal.read(last.sequence - 1, 1).await {
            Ok(records) => records.into_iter().next(),
            Err(_) if Instant::now() < until => {
                sleep(AGAIN).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match there {
            Some(record) if hash(&record.body) == last.hash => return Ok(None),
            Some(_) => return Ok(Some("its last record is not the journal's")),
            None if Instant::now() < until => sleep(AGAIN).await,
            None => {
                let Extent { last: journal, .. } = journal.extent().await?;
                return Err(OpenError::JournalShort { journal, replica: last.sequence });
            }
        }
    }
}

/// Whether the journal ends within the store with which the log begins.
async fn is_unfinished(journal: &dyn Journal, last: &Link) -> Result<bool, OpenError> {
    let Some(before) = last.sequence.checked_sub(1) else { return Ok(false) };
    let records = journal.read(before, 1).await?;
    Ok(records.first().is_some_and(|record| record::continues(&record.body)))
}

/// Applies all records of the journal.
async fn caught_up(replica: &Replica, journal: &dyn Journal) -> Result<Link, OpenError> {
    let mut last = replica.last();
    let (mut reported, mut until) = (last.sequence, Instant::now() + JOURNAL_MAX);
    let mut mistrusted = 0;
    loop {
        let records = match journal.read(last.sequence, READ_RECORDS_MAX).await {
            Ok(records) => {
                // A new node reads for minutes; each outage of the journal has its own time limit.
                until = Instant::now() + JOURNAL_MAX;
                records
            }
            Err(error) if Instant::now() < until => {
                if matches!(error, ReadError::Hole(_)) && mistrusted < MISTRUSTED_MAX {
                    mistrusted += 1;
                    journal.request_new_leader().await;
                    sleep(MISTRUST_PAUSE).await;
                }
                sleep(AGAIN).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if records.is_empty() {
            return Ok(last);
        }
        match apply_records(replica, &records, &mut last).await {
            Ok(()) => mistrusted = 0,
            Err(OpenError::Damage(damage)) if mistrusted < MISTRUSTED_MAX => {
                tracing::warn!(%damage, "a replica of the journal is damaged");
                mistrusted += 1;
                journal.request_new_leader().await;
                sleep(MISTRUST_PAUSE).await;
            }
            Err(error) => return Err(error),
        }
        if last.sequence - reported >= REPORT_EVERY {
            reported = last.sequence;
            tracing::info!(record = reported, "this node's file follows the journal");
        }
    }
}

/// Applies consecutive records, up to the first damaged one.
async fn apply_records(replica: &Replica, records: &[Record], last: &mut Link) -> Result<(), OpenError> {
    let (mut writes, mut links) = (Writes::default(), Vec::new());
    let mut damaged = Ok(());
    let mut end = *last;
    for record in records {
        let (next, link, _) = match record::read(&record.body, &end) {
            Ok(read) => read,
            Err(damage) => {
                damaged = Err(damage.into());
                break;
            }
        };
        if let Some(apart) = record::join(&mut writes, next) {
            replica.apply(std::mem::replace(&mut writes, apart), std::mem::take(&mut links)).await?;
            *last = end;
        }
        links.push(link);
        end = link;
    }
    if !links.is_empty() {
        replica.apply(writes, links).await?;
        *last = end;
    }
    damaged
}
