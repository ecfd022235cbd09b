//! Keeps an index up to date: reads recent commits from memory or else the log, from the index's own cursor, and
//! writes them in batches. One process on a store writes.
//! Must not know: the content of an event.

use async_trait::async_trait;
use std::{sync::Arc, time::Duration};

use plenary_kernel::Position;
use plenary_log::{Fault, Log, PageSize, StoredEvent, StreamName};
use plenary_retrieval::{Change, Index, PutOutcome};
use prometheus_client::metrics::gauge::Gauge;
use tokio::{
    sync::{Notify, watch},
    task::yield_now,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{BATCH_BYTES_MAX, recent::Recent};

/// Shortest time between two writes while few events wait, unless the follower has another one.
const SPACING: Duration = Duration::from_millis(200);
/// The same while a caller waits for the index.
const HURRIED_SPACING: Duration = Duration::from_millis(20);
/// How often a process that is not the writer checks the progress of the index, and whether it is the writer
/// now.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The same while a caller waits for the index.
const HURRY_EVERY: Duration = Duration::from_millis(50);
/// Pause after a fault.
const PAUSE: Duration = Duration::from_secs(1);
/// Events that are read and turned into changes before other tasks have their turn.
const EVENTS_AT_ONCE: usize = 256;
/// After this many events without changes the cursor is moved anyway, so that the next start need not read
/// them.
const ADVANCE_EVENTS: u64 = 10_000;

/// Turns the events of a room into changes of an index.
#[async_trait]
pub trait Source: Send + Sync {
    /// The change that an event makes to the index. The source reports an event that it can't read and returns
    /// `None`.
    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault>;
}

/// Changes to write, and the position that they reach.
struct Batch {
    changes: Vec<Change>,
    bytes: usize,
    until: Position,
}

impl Batch {
    fn from(until: Position) -> Self {
        Self { changes: Vec::new(), bytes: 0, until }
    }
    fn is_full(&self, changes_max: usize) -> bool {
        self.changes.len() >= changes_max || self.bytes >= BATCH_BYTES_MAX
    }
}

/// Selects the streams that the index covers.
type Holds = Box<dyn Fn(&StreamName) -> bool + Send + Sync>;

/// Keeps one index up to date with the log.
pub struct Follower {
    index: Arc<dyn Index>,
    holds: Holds,
    recent: Recent,
    /// Most changes of one write.
    changes_max: usize,
    /// Shortest time between two writes while few events and no caller wait.
    spacing: Duration,
    /// Number of events still to be indexed.
    lag: Gauge,
    /// The index contains all events up to here, as far as this process knows.
    indexed: watch::Sender<Position>,
    /// Signals that a caller waits for the index.
    hurry: Notify,
    closing: watch::Sender<bool>,
}

impl Follower {
    /// Follows the streams for which `holds` is true, in writes of at most `changes_max` changes.
    pub fn new(
        index: Arc<dyn Index>,
        holds: impl Fn(&StreamName) -> bool + Send + Sync + 'static,
        changes_max: usize,
    ) -> Self {
        let follower = Self {
            index,
            holds: Box::new(holds),
            recent: Recent::new(changes_max),
            changes_max,
            spacing: SPACING,
            lag: Gauge::default(),
            indexed: watch::Sender::new(Position::ZERO),
            hurry: Notify::new(),
            closing: watch::Sender::new(false),
        };
        follower.count();
        follower
    }

    /// Writes only after this time, unless somebody waits for the index or many events wait: an event costs less in a larger
    /// write, and an index that nobody searches need not have it at once.
    pub fn spaced(self, spacing: Duration) -> Self {
        Self { spacing, ..self }
    }

    /// The index.
    pub fn index(&self) -> &Arc<dyn Index> {
        &self.index
    }

    /// Receives committed events. Never waits.
    pub fn committed(&self, events: &[StoredEvent]) {
        if self.recent.push(events, &self.holds) {
            self.count();
        }
    }

    fn count(&self) {
        self.lag.set(i64::try_from(self.recent.lag()).unwrap_or(i64::MAX));
    }

    /// Number of events still to be indexed.
    pub fn lag(&self) -> &Gauge {
        &self.lag
    }

    /// Waits briefly until this process has seen the log up to `position`. Returns the ids of at most `max`
    /// streams that may
    /// not be in the index yet, newest first.
    pub async fn waiting(&self, position: Position, max: usize) -> Vec<String> {
        self.recent.until(position).await;
        self.recent.waiting(max)
    }

    /// Waits until the index contains all events up to `position`; `false` after the time `within`.
    pub async fn until(&self, position: Position, within: Duration) -> bool {
        let mut indexed = self.indexed.subscribe();
        let reached = async {
            self.recent.until(position).await;
            loop {
                if *indexed.borrow_and_update() >= position {
                    return;
                }
                self.hurry.notify_one();
                let _either = timeout(HURRY_EVERY, indexed.changed()).await;
            }
        };
        timeout(within, reached).await.is_ok()
    }

    /// Stops following and closes the index. The next start reads the remaining events from the log.
    ///
    /// # Errors
    /// The fault of the index.
    pub async fn close(&self) -> Result<(), plenary_retrieval::Fault> {
        self.closing.send_replace(true);
        self.index.close().await
    }

    /// Keeps the index up to date with the log until it is closed. Retries after a fault.
    pub async fn keep_up(&self, log: &Log, source: &dyn Source) {
        let mut closing = self.closing.subscribe();
        let following = async {
            let mut reported = String::new();
            loop {
                if let Err(fault) = self.follow(log, source).await {
                    // A model may be away for hours: report the same fault only once.
                    let trouble = fault.to_string();
                    if trouble != reported {
                        tracing::warn!(%fault, "the search index cannot follow the log; it is tried again");
                    }
                    reported = trouble;
                }
                sleep(PAUSE).await;
            }
        };
        tokio::select! {
            _ = closing.wait_for(|closing| *closing) => {}
            () = following => {}
        }
    }

    async fn follow(&self, log: &Log, source: &dyn Source) -> Result<(), Fault> {
        loop {
            let leads = self.index.leads().await.map_err(unavailable)?;
            let cursor = self.index.extent().await.map_err(unavailable)?.cursor;
            self.reached(cursor, leads);
            if !leads {
                let _either = timeout(LOOK_EVERY, self.hurry.notified()).await;
                continue;
            }
            let head = log.head().await?;
            self.recent.seen(head);
            self.count();
            if cursor > head {
                tracing::warn!(%cursor, "the search index is ahead of the log and is rebuilt from it");
                self.index.clear().await.map_err(unavailable)?;
                continue;
            }
            self.write(log, source, cursor).await?;
        }
    }

    /// Writes until another process is the writer.
    async fn write(&self, log: &Log, source: &dyn Source, mut cursor: Position) -> Result<(), Fault> {
        let (mut batch, mut size) = (Batch::from(cursor), PageSize::default());
        let mut last_write = None;
        loop {
            let began = Instant::now();
            self.gather((log, source), &mut batch, &mut size).await?;
            if !self.index.leads().await.map_err(unavailable)? {
                return Ok(());
            }
            let is_far = batch.until.0 - cursor.0 >= ADVANCE_EVENTS;
            if batch.changes.is_empty() && !is_far {
                self.reached(batch.until, true);
                // Wait for news, or until it is time to check whether this process still leads.
                tokio::select! {
                    _either = timeout(LOOK_EVERY, self.recent.news()) => self.pause(last_write).await,
                    () = self.hurry.notified() => {}
                }
                continue;
            }
            let (is_full, until) = (batch.is_full(self.changes_max), batch.until);
            let written = self.index.put(batch.changes, cursor, until).await.map_err(unavailable)?;
            let PutOutcome::Done = written else { return Ok(()) };
            cursor = until;
            batch = Batch::from(until);
            self.reached(until, true);
            last_write = Some(began);
            if !is_full {
                sleep_until(began + HURRIED_SPACING).await;
                self.pause(last_write).await;
            }
        }
    }

    /// Waits until the next write is due: some time after the last one, or when somebody or many events wait.
    async fn pause(&self, last_write: Option<Instant>) {
        let Some(last_write) = last_write else { return };
        tokio::select! {
            () = sleep_until(last_write + self.spacing) => {}
            () = self.hurry.notified() => {}
            () = self.recent.plenty() => {}
        }
    }

    /// Reads events until there are no more, or the batch is full.
    async fn gather(
        &self,
        (log, source): (&Log, &dyn Source),
        batch: &mut Batch,
        size: &mut PageSize,
    ) -> Result<(), Fault> {
        while !batch.is_full(self.changes_max) {
            let lately = self.recent.after(batch.until, EVENTS_AT_ONCE.min(self.changes_max));
            let (events, until) = match lately {
                Some(found) => found,
                None => {
                    let (page, until) = log.read_past_damage(batch.until, size.events()).await?;
                    size.learn(&page);
                    (page, until)
                }
            };
            if until == batch.until {
                return Ok(());
            }
            for event in events.iter().filter(|event| (self.holds)(&event.stream)) {
                if let Some(change) = source.change(event).await? {
                    batch.bytes += event.payload.len();
                    batch.changes.push(change);
                }
            }
            batch.until = until;
            yield_now().await;
        }
        Ok(())
    }

    fn reached(&self, position: Position, leads: bool) {
        self.recent.indexed(position, leads);
        self.indexed.send_replace(position);
        self.count();
    }
}

/// Converts a fault of the index into a fault of the store.
pub fn unavailable(fault: plenary_retrieval::Fault) -> Fault {
    let plenary_retrieval::Fault::Unavailable(text) = fault;
    Fault::Unavailable(text)
}
