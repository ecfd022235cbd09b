//! Finishes the work that the last run of the server left. A node whose writes no other node keeps yet finishes it later, and
//! answers reads meanwhile.
//! Must not know: the work.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use plenary_log::Fault;
use plenary_room::ServedRoom;
use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::rooms::Rooms;

/// Pause between two attempts. Each may add a record to the journal of a cluster.
const AGAIN: Duration = Duration::from_secs(30);

/// Finishes the work, or goes on in the background.
pub(super) async fn finish(
    rooms: &Rooms,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    match resume(&rooms.served).await {
        Err(fault @ Fault::OutcomeUnknown(_)) if rooms.log.shared() => {
            tracing::warn!(
                %fault,
                "work that the last run of the server left is not finished yet: appends wait for another node \
                 (--cluster-keepers two-always); reads are answered"
            );
            let (served, stop) = (rooms.served.clone(), stop.clone());
            tasks.spawn(async move {
                while stop.run_until_cancelled(sleep(AGAIN)).await.is_some() {
                    match resume(&served).await {
                        Ok(()) => return tracing::info!("the work that the last run of the server left is finished"),
                        Err(fault) => tracing::warn!(%fault, "work that the last run of the server left is not finished yet"),
                    }
                }
            });
            Ok(())
        }
        finished => finished.context("finishing work that the last run of the server left"),
    }
}

async fn resume(served: &[Arc<dyn ServedRoom>]) -> Result<(), Fault> {
    for room in served {
        room.resume().await?;
    }
    Ok(())
}
