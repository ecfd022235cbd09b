//! Snapshots: a stored fold, so that a long stream is not folded from its start again. They only save time: an
//! absent, old or unreadable snapshot is ignored.

use std::sync::Arc;

use bytes::Bytes;
use plenary_kernel::Version;
use plenary_log::{Batch, Fault, Log, RowOp, StreamName};
use serde::{Deserialize, Serialize};

use crate::{Room, Sealed, seal};

#[derive(Serialize)]
struct StoredSnapshot<'a, S> {
    form: u16,
    version: Version,
    state: &'a S,
}

#[derive(Deserialize)]
struct FoundSnapshot<S> {
    form: u16,
    version: Version,
    state: S,
}

fn row(stream: &StreamName) -> String {
    format!("snapshot/{stream}")
}

/// The newest usable snapshot.
pub(crate) async fn load<R: Room>(
    log: &Log,
    stream: &StreamName,
) -> Result<Option<(R::State, Version)>, Fault> {
    let Some(bytes) = found(log, stream).await? else { return Ok(None) };
    let found = serde_json::from_slice::<FoundSnapshot<R::State>>(&bytes).ok();
    Ok(found.filter(|found| found.form == R::SNAPSHOT_FORM).map(|found| (found.state, found.version)))
}

fn found<'a>(log: &'a Log, stream: &'a StreamName) -> Sealed<'a, Result<Option<Bytes>, Fault>> {
    seal(async move {
        match log.read_row(&row(stream)).await {
            Ok(row) => Ok(row.map(|row| row.value)),
            Err(fault @ Fault::Corrupt(_)) => {
                tracing::error!(%fault, "a damaged snapshot is ignored");
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    })
}

/// Stores a snapshot of a committed state, in a separate task. Best effort.
pub(crate) fn keep<R: Room>(log: &Log, stream: &StreamName, state: Arc<R::State>, version: Version) {
    let write =
        move || serde_json::to_vec(&StoredSnapshot { form: R::SNAPSHOT_FORM, version, state: &*state }).ok();
    spawn(log.clone(), row(stream), Box::new(write));
}

/// The serialization of a snapshot.
type Written = Box<dyn FnOnce() -> Option<Vec<u8>> + Send>;

fn spawn(log: Log, name: String, write: Written) {
    tokio::spawn(async move {
        let Some(value) = write() else { return };
        let op = RowOp { name, expected: None, value: Some(Bytes::from(value)) };
        if let Err(fault) = log.append(Batch { rows: vec![op], ..Batch::default() }).await {
            tracing::debug!(%fault, "a snapshot was not kept");
        }
    });
}
