//! The feed: all commits, of this process or another, in position order and without gaps. A lost wake-up costs at
//! most one poll interval.

use std::{sync::Arc, time::Duration};

use plenary_kernel::{Position, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Feeder, Reads, StoredEvent};
use tokio::{
    sync::{mpsc, watch},
    time::MissedTickBehavior,
};

use crate::reads::Postgres;

/// The feed's task.
pub(crate) struct Tail {
    pub(crate) reads: Arc<Postgres>,
    pub(crate) feeder: Feeder,
    /// Own commits, in order; some may be missing.
    pub(crate) committed: mpsc::Receiver<Arc<[StoredEvent]>>,
    /// The announced end of the log. An announcement during a read causes another read right after it.
    pub(crate) hint: watch::Receiver<Position>,
    pub(crate) poll: Duration,
    /// The last position that was published.
    pub(crate) published: Position,
}

impl Tail {
    /// Runs until the writer is gone.
    pub(crate) async fn run(mut self) {
        let mut poll = tokio::time::interval(self.poll);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut well = true;
        loop {
            let step = tokio::select! {
                biased;
                events = self.committed.recv() => match events {
                    Some(events) => self.own(events).await,
                    None => {
                        let until = *self.hint.borrow();
                        let _ = self.catch_up(until).await;
                        return;
                    }
                },
                Ok(()) = self.hint.changed() => {
                    let until = *self.hint.borrow_and_update();
                    self.catch_up(until).await
                }
                _ = poll.tick() => self.look().await,
            };
            match step {
                Ok(()) => well = true,
                Err(fault @ Fault::Corrupt(_)) => return self.feeder.fail(fault),
                Err(fault) if well => {
                    tracing::warn!(%fault, "the feed waits for PostgreSQL");
                    well = false;
                }
                Err(_) => {}
            }
        }
    }

    /// Publishes own events from memory, after the earlier commits of others.
    async fn own(&mut self, events: Arc<[StoredEvent]>) -> Result<(), Fault> {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return Ok(()) };
        let (before, last) = (Position(first.position.0 - 1), last.position);
        self.catch_up(before).await?;
        if self.published == before {
            self.feeder.publish(events).await;
            self.published = last;
            return Ok(());
        }
        self.catch_up(last).await
    }

    /// Reads the head of the log.
    async fn look(&mut self) -> Result<(), Fault> {
        let head = self.reads.head().await?;
        if head < self.published {
            let was = self.published;
            return Err(Fault::Corrupt(format!("the log ends at {head} and once ended at {was}")));
        }
        self.catch_up(head).await
    }

    /// Publishes from the store up to `until`.
    async fn catch_up(&mut self, until: Position) -> Result<(), Fault> {
        while self.published < until {
            let distance = usize::try_from(until.0 - self.published.0).unwrap_or(usize::MAX);
            let events = self.reads.read_log(self.published, distance.min(READ_ROWS_MAX)).await?;
            let Some(last) = events.last().map(|event| event.position) else {
                return Ok(());
            };
            if last.0 - self.published.0 != events.len() as u64 {
                return Err(Fault::Corrupt(format!("positions are missing before {last}")));
            }
            self.feeder.publish(events.into()).await;
            self.published = last;
        }
        Ok(())
    }
}
