//! Checks whether the store can write: with a small write, at most one at a time and one a second, for any number of
//! callers.
//! Must not know: HTTP.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use plenary_log::{Batch, Fault, Log, RowOp};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

/// The row that the probe writes.
const ROW: &str = "readiness";
/// The longest time a caller waits for an answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(900);
/// How long an answer is reused.
const REUSE_TIME: Duration = Duration::from_secs(1);
/// The size of the probe's write after a failed write: a few bytes may still fit where a message does not.
const PROOF_BYTES: usize = 256 << 10;

/// The last answer, and whether a new probe is in progress.
#[derive(Debug, Default)]
struct Last {
    ended: Option<(Instant, Result<(), Fault>)>,
    is_running: bool,
}

/// A probe of the store's writes. Cheap to clone.
#[derive(Clone)]
pub(super) struct Probe {
    log: Log,
    last: Arc<watch::Sender<Last>>,
}

impl Probe {
    pub(super) fn new(log: Log) -> Self {
        Self { log, last: Arc::default() }
    }

    /// `ready`, or the reason why not, within a second.
    pub(super) async fn look(&self) -> &'static str {
        let (mut last, now) = (self.last.subscribe(), Instant::now());
        let starts = self.last.send_if_modified(|last| {
            let is_known =
                last.ended.as_ref().is_some_and(|(ended_at, _)| now.duration_since(*ended_at) < REUSE_TIME);
            let starts = !is_known && !last.is_running;
            last.is_running |= starts;
            starts
        });
        if starts {
            tokio::spawn(self.clone().write());
        }
        let answer = timeout(ANSWER_WITHIN, last.wait_for(|last| !last.is_running)).await;
        let Ok(Ok(last)) = answer else { return "store_silent" };
        let probed = last.ended.as_ref().and_then(|(_, outcome)| outcome.as_ref().err().cloned());
        drop(last);
        // Another write may have failed since.
        match probed.or_else(|| self.log.last_write_fault()) {
            None => "ready",
            Some(fault) => code(&fault),
        }
    }

    async fn write(self) {
        let bytes = if self.log.last_write_fault().is_some() { PROOF_BYTES } else { 0 };
        let value = Some(Bytes::from(vec![0; bytes]));
        let row = RowOp { name: ROW.to_owned(), expected: None, value };
        let outcome = self.log.append(Batch { rows: vec![row], ..Batch::default() }).await.map(drop);
        if let Err(fault) = &outcome {
            tracing::warn!(%fault, "the store cannot be written");
        }
        self.last.send_replace(Last { ended: Some((Instant::now(), outcome)), is_running: false });
    }
}

/// The stable name of a fault.
fn code(fault: &Fault) -> &'static str {
    match fault {
        Fault::Full(_) => "store_full",
        Fault::Overloaded => "store_overloaded",
        Fault::Unavailable(_) | Fault::OutcomeUnknown(_) | Fault::Corrupt(_) => "store_unavailable",
    }
}

#[cfg(test)]
mod tests {
    use plenary_log::rigged::{InjectedFault, Process, Store};

    use super::*;

    fn full() -> InjectedFault {
        InjectedFault::Before(Fault::Full("no room".into()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_full_is_not_ready_until_it_writes_again() {
        let Process { log, rigging, feed: _feed } = Store::new().process(false);
        let probe = Probe::new(log.clone());
        assert_eq!(probe.look().await, "ready");
        rigging.fail_writes([full()]);
        assert_eq!(probe.look().await, "ready", "an answer holds for a moment");
        tokio::time::advance(REUSE_TIME).await;
        assert_eq!(probe.look().await, "store_full");
        tokio::time::advance(REUSE_TIME).await;
        assert_eq!(probe.look().await, "ready", "it writes again");
        let proof = log.read_row(ROW).await.unwrap().unwrap();
        assert_eq!(proof.value.len(), PROOF_BYTES, "what failed is tried with more");
    }

    #[tokio::test(start_paused = true)]
    async fn the_failed_write_of_somebody_else_is_known_at_once() {
        let Process { log, rigging, feed: _feed } = Store::new().process(false);
        let probe = Probe::new(log.clone());
        assert_eq!(probe.look().await, "ready");
        rigging.fail_writes([full()]);
        assert!(log.append(Batch::default()).await.is_err());
        assert_eq!(probe.look().await, "store_full");
        assert!(log.append(Batch::default()).await.is_ok());
        assert_eq!(probe.look().await, "ready");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_store_is_asked_once_however_many_ask() {
        let Process { log, rigging, feed: _feed } = Store::new().process(false);
        let probe = Probe::new(log.clone());
        rigging.hold();
        let started_at = Instant::now();
        let probes = (0..100).map(|_| probe.look());
        let answers = futures_util::future::join_all(probes).await;
        assert!(answers.iter().all(|answer| *answer == "store_silent"), "{answers:?}");
        assert!(started_at.elapsed() < REUSE_TIME, "{:?}", started_at.elapsed());
        assert_eq!(probe.look().await, "store_silent", "still");
        rigging.release();
        assert_eq!(probe.look().await, "ready");
        assert_eq!(log.read_row(ROW).await.unwrap().map(|row| row.revision), Some(1), "one write");
    }
}
