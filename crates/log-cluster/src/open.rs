//! A node's start: it compares its replica with the journal, rebuilds a wrong replica, and reads the journal to its
//! end before it serves requests.
//! Must not know: how records are decided.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use plenary_journal::{Extent, Journal, READ_RECORDS_MAX, ReadError};
use plenary_log::{Fault, OpenedLog, Writes, channel};
use plenary_log_sqlite::{Link, RepairError, Replica, StoreClose, open_replica, set_replica_aside};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    Journals, Options,
    fresh::{Fresh, Gate},
    node::Node,
    record::{self, BEGINNING, Damage, hash},
    signals,
};

/// How long a start waits for a journal that does not answer, or whose new leader has not yet all that it has agreed to.
const JOURNAL_MAX: Duration = Duration::from_secs(15);
/// How long it waits between two looks.
const AGAIN: Duration = Duration::from_millis(200);
/// So many records later it is said how far a replica has come.
const SAY_EVERY: u64 = 50_000;

/// Why a node can't start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its file can't be opened.
    #[error(transparent)]
    Replica(#[from] plenary_log_sqlite::OpenError),
    /// A wrong file can't be moved.
    #[error(transparent)]
    Repair(#[from] RepairError),
    /// The journal can't be read.
    #[error(transparent)]
    Journal(#[from] ReadError),
    /// The journal has lost its end, or is another one: this node's file has more.
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
    /// A record of the journal can't be applied.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// The file can't be written.
    #[error(transparent)]
    Store(#[from] Fault),
    /// What opens the file went away.
    #[error("the start was broken off")]
    BrokenOff,
}

/// Opens the log of a cluster with this node's replica in `directory`. Needs a tokio runtime.
///
/// A journal that goes away later is no end: reads go on with what is here, appends answer `Fault::Unavailable`, or
/// `Fault::OutcomeUnknown` for what was under way, until it is back.
///
/// # Errors
/// See [`OpenError`].
pub async fn open(
    directory: &Path,
    journals: Journals,
    options: Options,
) -> Result<(OpenedLog, StoreClose), OpenError> {
    let journal = journals.log.clone();
    // What is published while the node catches up is hinted already.
    let hints = journal.hints().await?;
    let (replica, closing) = sound(directory, options, &*journal).await?;
    let last = caught_up(&replica, &*journal).await?;
    let (applied, applied_rx) = watch::channel(last.sequence);
    let (wanted, wanted_rx) = watch::channel(last.sequence);
    let gate = Gate { journal: journal.clone(), applied: applied_rx, wanted, wait: options.fresh_wait };
    let reads = Arc::new(Fresh::new(replica.reads(), gate));
    let signals = signals::join(journals.signals).await;
    let (channel, jobs, feeder) = channel();
    let node = Node {
        journal,
        replica,
        feeder,
        hints,
        last,
        applied,
        wanted: wanted_rx,
        poll: options.poll,
        is_cut_off: false,
        others: None,
        was_first: false,
    };
    tokio::spawn(node.run(jobs));
    Ok((channel.open_with(reads, signals, true), closing))
}

/// A replica whose last record is the journal's, or an empty one.
async fn sound(
    directory: &Path,
    options: Options,
    journal: &dyn Journal,
) -> Result<(Replica, StoreClose), OpenError> {
    let why = match opened(directory, options).await {
        Ok((replica, closing)) => match fits(&replica, journal).await? {
            None => return Ok((replica, closing)),
            Some(why) => {
                drop(replica);
                closing.wait().await;
                why.to_owned()
            }
        },
        Err(OpenError::Replica(plenary_log_sqlite::OpenError::Corrupt(why))) => why,
        Err(error) => return Err(error),
    };
    let moved: PathBuf = set_replica_aside(directory)?;
    tracing::error!(why, aside = %moved.display(), "this node's file was wrong; it is built again from the journal");
    opened(directory, options).await
}

async fn opened(directory: &Path, options: Options) -> Result<(Replica, StoreClose), OpenError> {
    let directory = directory.to_owned();
    let opening = move || open_replica(&directory, options.sqlite);
    Ok(tokio::task::spawn_blocking(opening).await.map_err(|_| OpenError::BrokenOff)??)
}

/// What is wrong with a replica, as far as its end tells.
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

/// Applies all that the journal has.
async fn caught_up(replica: &Replica, journal: &dyn Journal) -> Result<Link, OpenError> {
    let mut last = replica.last();
    let (mut said, mut until) = (last.sequence, Instant::now() + JOURNAL_MAX);
    loop {
        let records = match journal.read(last.sequence, READ_RECORDS_MAX).await {
            Ok(records) => {
                // A new node reads for minutes; each time the journal is away counts by itself.
                until = Instant::now() + JOURNAL_MAX;
                records
            }
            Err(_) if Instant::now() < until => {
                sleep(AGAIN).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if records.is_empty() {
            return Ok(last);
        }
        let (mut writes, mut links) = (Writes::default(), Vec::new());
        for record in records {
            let (next, link) = record::read(&record.body, &last)?;
            if let Some(apart) = record::join(&mut writes, next) {
                replica.apply(std::mem::replace(&mut writes, apart), std::mem::take(&mut links)).await?;
            }
            links.push(link);
            last = link;
        }
        replica.apply(writes, links).await?;
        if last.sequence - said >= SAY_EVERY {
            said = last.sequence;
            tracing::info!(record = said, "this node's file follows the journal");
        }
    }
}
