//! Starts a cluster's log from an existing store: its content becomes the first records of an empty
//! journal, with unchanged positions and versions.
//! Must not know: the caller.

use std::{path::Path, time::Duration};

use plenary_journal::{Journal, PublicationOutcome, ReadError, settle};
use plenary_kernel::Position;
use plenary_log::Writes;
use plenary_log_sqlite::{Link, export, set_replica_aside};
use tokio::{sync::mpsc, time::Instant};

use crate::{
    OpenError,
    record::{self, BEGINNING, Damage, Notes},
};

/// The approximate size of a record in bytes: one entry of the journal's consensus.
const PART_BYTES: usize = 192 << 10;
/// Most parts that wait for the journal.
const PARTS_WAITING_MAX: usize = 4;
/// How long the journal may be unavailable meanwhile.
const SETTLE_MAX: Duration = Duration::from_secs(30);

/// Why a cluster could not be started.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] plenary_log_sqlite::OpenError),
    /// The journal can't be read.
    #[error(transparent)]
    Journal(#[from] ReadError),
    /// The journal has other records.
    #[error(
        "the journal has {0} records already, and not those of this store; a cluster is begun with an empty journal: name \
         another network with --cluster-network"
    )]
    NotEmpty(u64),
    /// The store is a replica already.
    #[error("the store is a replica of a cluster's log already")]
    IsReplica,
    /// A record was not written.
    #[error(
        "record {0} was not written: {1}; the journal has the records before it, and no node starts on them: run the command \
         again"
    )]
    Broken(u64, String),
    /// A record of an earlier attempt can't be read.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// The file can't be set aside.
    #[error(transparent)]
    Aside(#[from] OpenError),
}

/// The result of a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginReport {
    /// The number of records in the journal.
    pub records: u64,
    /// The position of the last event.
    pub head: Position,
    /// The new path of the store's file; the node builds its replica from the journal.
    pub aside: std::path::PathBuf,
}

/// Writes the store in `directory` to an empty journal, or continues an interrupted attempt. No process may have the store
/// open, and no node may run on the journal.
///
/// # Errors
/// See [`BeginError`].
pub async fn begin(journal: &dyn Journal, directory: &Path) -> Result<BeginReport, BeginError> {
    let there = journal.extent().await?.last;
    let (to, mut parts) = mpsc::channel(PARTS_WAITING_MAX);
    let from = directory.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let export = export(&from)?;
        if export.link().sequence > 0 {
            return Ok(None);
        }
        export.each(PART_BYTES, &mut |part| to.blocking_send(part).is_ok())?;
        Ok::<_, plenary_log_sqlite::OpenError>(Some(export))
    });
    let mut last = BEGINNING;
    let mut next = parts.recv().await;
    while let Some(part) = next {
        next = parts.recv().await;
        last = if last.sequence < there {
            published_part(journal, &part, &last).await?.ok_or(BeginError::NotEmpty(there))?
        } else {
            let notes = Notes { continues: next.is_some(), ..Notes::default() };
            publish_part(journal, &part, &last, &notes).await?
        };
    }
    if last.sequence < there {
        return Err(BeginError::NotEmpty(there));
    }
    let read = reading.await.map_err(|_| OpenError::BrokenOff)??;
    let export = read.ok_or(BeginError::IsReplica)?;
    let head = export.head();
    // This also releases the lock.
    drop(export);
    let aside = set_replica_aside(directory).map_err(OpenError::from)?;
    Ok(BeginReport { records: last.sequence, head, aside })
}

/// The link of the record that follows `last`, if an earlier attempt wrote this part there.
async fn published_part(
    journal: &dyn Journal,
    part: &Writes,
    last: &Link,
) -> Result<Option<Link>, BeginError> {
    let records = journal.read(last.sequence, 1).await?;
    let Some(found) = records.first() else { return Ok(None) };
    let (writes, link, _) = record::read(&found.body, last)?;
    Ok((writes == *part).then_some(link))
}

async fn publish_part(
    journal: &dyn Journal,
    part: &Writes,
    last: &Link,
    notes: &Notes,
) -> Result<Link, BeginError> {
    let sequence = last.sequence + 1;
    let broken = |why: String| BeginError::Broken(sequence, why);
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| broken(error.to_string()))?;
    let body = record::encode(part, last, nonce, notes);
    match settle(journal, last.sequence, &body, Instant::now() + SETTLE_MAX).await {
        PublicationOutcome::Ours => {
            let position = part.events.last().map_or(last.position, |event| event.position);
            Ok(Link { sequence, hash: record::hash(&body), position })
        }
        PublicationOutcome::Others(_) => Err(broken("somebody else writes to the journal".into())),
        PublicationOutcome::Unknown(why) => Err(broken(why)),
        PublicationOutcome::TooLarge(size) => Err(broken(format!("it has {size} bytes"))),
    }
}
