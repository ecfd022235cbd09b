//! The feed: all commits, of this process or another, in position order and without gaps. A lost wake-up costs at
//! most one poll interval.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use plenary_kernel::{Position, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Feeder, StoredEvent};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, sleep_until},
};

use crate::{
    last::LastEvent,
    reads::{Gap, Postgres},
};

/// The least time between two reads of other processes' commits. One read costs less than several: it gets all
/// commits of that time. A commit after a pause is read at once.
const SPACING: Duration = Duration::from_millis(1);
/// Each event of a read delays the next one by this much, as the events' readers are woken no sooner.
const SPACING_PER_EVENT: Duration = Duration::from_micros(100);
/// The longest delay of a read.
const SPACING_MAX: Duration = Duration::from_millis(10);
/// Most own commits that wait for a read of earlier commits of others.
const OWN_WAITING_MAX: usize = 64;

/// The feed's task.
pub(crate) struct Tail {
    reads: Arc<Postgres>,
    last: Arc<LastEvent>,
    feeder: Feeder,
    /// Own commits, in order; some may be missing.
    committed: mpsc::Receiver<Arc<[StoredEvent]>>,
    /// The announced end of the log. An announcement during a read causes another read after it.
    hint: watch::Receiver<Position>,
    poll: Duration,
    /// The last position that was published.
    published: Position,
    /// The known end of the log.
    until: Position,
    /// Own commits after events of others that are still to be read.
    own: VecDeque<Arc<[StoredEvent]>>,
    /// When the next read may be.
    due: Instant,
}

impl Tail {
    pub(crate) fn new(
        (reads, last): (Arc<Postgres>, Arc<LastEvent>),
        feeder: Feeder,
        committed: mpsc::Receiver<Arc<[StoredEvent]>>,
        hint: watch::Receiver<Position>,
        poll: Duration,
    ) -> Self {
        let published = *hint.borrow();
        let (until, own, due) = (published, VecDeque::new(), Instant::now());
        Self { reads, last, feeder, committed, hint, poll, published, until, own, due }
    }

    /// Runs until the writer is gone.
    pub(crate) async fn run(mut self) {
        let mut poll = tokio::time::interval(self.poll);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut well = true;
        loop {
            let step = tokio::select! {
                biased;
                events = self.committed.recv(), if self.own.len() < OWN_WAITING_MAX => match events {
                    Some(events) => {
                        self.take(events).await;
                        Ok(())
                    }
                    None => return self.end().await,
                },
                Ok(()) = self.hint.changed() => {
                    self.until = self.until.max(*self.hint.borrow_and_update());
                    Ok(())
                }
                () = sleep_until(self.due), if self.published < self.until => self.catch_up().await,
                _ = poll.tick() => self.look().await,
            };
            match step {
                Ok(()) => well = true,
                Err(fault @ Fault::Corrupt(_)) => return self.feeder.fail(fault),
                Err(fault) => {
                    self.due = Instant::now() + self.poll;
                    if std::mem::replace(&mut well, false) {
                        tracing::warn!(%fault, "the feed waits for PostgreSQL");
                    }
                }
            }
        }
    }

    /// Takes an own commit: publishes it from memory if it is the next one.
    async fn take(&mut self, events: Arc<[StoredEvent]>) {
        let Some(last) = events.last().map(|event| event.position) else { return };
        self.until = self.until.max(last);
        self.own.push_back(events);
        self.publish_own().await;
    }

    /// Publishes the waiting own commits that are next.
    async fn publish_own(&mut self) {
        while let Some(first) = self.own.front().and_then(|events| events.first())
            && first.position <= self.published.next()
        {
            let is_next = first.position > self.published;
            // One that is not next was read from the store.
            if let Some(events) = self.own.pop_front().filter(|_| is_next) {
                self.publish(events).await;
            }
        }
    }

    async fn publish(&mut self, events: Arc<[StoredEvent]>) {
        if let Some(last) = events.last() {
            self.published = last.position;
            self.last.note(&events);
            self.feeder.publish(events).await;
        }
    }

    /// Reads the end of the log, which must still be the same log.
    async fn look(&mut self) -> Result<(), Fault> {
        let head = self.reads.end(&self.last.known()).await?;
        if head < self.published {
            let was = self.published;
            return Err(Fault::Corrupt(format!("the log ends at {head} and once ended at {was}")));
        }
        self.until = self.until.max(head);
        Ok(())
    }

    /// Reads a page of what others committed, and publishes it in order with the own commits.
    async fn catch_up(&mut self) -> Result<(), Fault> {
        let began = Instant::now();
        let own = self.own.iter().filter_map(|own| Some((own.first()?.position, own.last()?.position)));
        let gaps = gaps(self.published, own, self.until);
        let mut events = self.reads.read_gaps(&gaps).await?;
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
        let spacing = SPACING.saturating_add(SPACING_PER_EVENT.saturating_mul(count)).min(SPACING_MAX);
        self.due = began + spacing;
        for gap in &gaps {
            let rest = events.split_off(events.partition_point(|event| event.position <= gap.until));
            let read = std::mem::replace(&mut events, rest);
            let last = read.last().map_or(gap.after, |last| last.position);
            if last.0 - gap.after.0 != read.len() as u64 {
                return Err(Fault::Corrupt(format!("positions are missing before {last}")));
            }
            self.publish(read.into()).await;
            if last < gap.until {
                // The announced commit failed, unless a later one is there.
                if events.is_empty() && self.own.is_empty() {
                    self.until = last;
                    return Ok(());
                }
                return Err(Fault::Corrupt(format!("positions are missing after {last}")));
            }
            self.publish_own().await;
        }
        Ok(())
    }

    /// Publishes what is left.
    async fn end(&mut self) {
        self.until = self.until.max(*self.hint.borrow());
        while self.published < self.until {
            let before = self.published;
            if self.catch_up().await.is_err() || self.published == before {
                return;
            }
        }
    }
}

/// The next positions that only the store has, as many as one read may return: those after `after` up to `until`,
/// without own commits, each from its first to its last position.
fn gaps(after: Position, own: impl Iterator<Item = (Position, Position)>, until: Position) -> Vec<Gap> {
    let (mut gaps, mut after, mut left) = (Vec::new(), after, READ_ROWS_MAX as u64);
    let ends = own.map(|(first, last)| (Position(first.0 - 1), last)).chain([(until, until)]);
    for (end, next) in ends {
        if end > after {
            let until = end.min(Position(after.0 + left));
            left -= until.0 - after.0;
            gaps.push(Gap { after, until });
        }
        if left == 0 {
            break;
        }
        after = after.max(next);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps_of(after: u64, own: &[(u64, u64)], until: u64) -> Vec<(u64, u64)> {
        let own = own.iter().map(|(first, last)| (Position(*first), Position(*last)));
        let gaps = gaps(Position(after), own, Position(until));
        gaps.iter().map(|gap| (gap.after.0, gap.until.0)).collect()
    }

    #[test]
    fn own_commits_are_not_read() {
        assert!(gaps_of(7, &[], 7).is_empty());
        assert_eq!(gaps_of(7, &[], 9), [(7, 9)]);
        assert!(gaps_of(7, &[(8, 9)], 9).is_empty());
        assert_eq!(gaps_of(7, &[(10, 12), (13, 13), (20, 21)], 30), [(7, 9), (13, 19), (21, 30)]);
    }

    #[test]
    fn a_read_has_its_limit() {
        assert_eq!(gaps_of(0, &[(11, 20)], 5_000), [(0, 10), (20, 1_010)]);
        assert_eq!(gaps_of(0, &[(1_001, 1_002)], 5_000), [(0, 1_000)]);
    }
}
