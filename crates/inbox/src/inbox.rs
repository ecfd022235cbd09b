//! The inbox in the server: the rooms that have news, the marks of agents, and the observer that wakes readers.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use parking_lot::Mutex;
use plenary_accounts::{AccountEvent, Accounts};
use plenary_frames::Frames;
use plenary_hub::{Cursors, Observer};
use plenary_kernel::{AgentHandle, Clock, Position, TimestampMs};
use plenary_log::{Batch, Fault, HighWater, Log, Outcome, RowOp, StoredEvent, StreamName};
use plenary_room::{NewsSource, async_trait};
use plenary_sessions::Sessions;
use tokio::sync::{Semaphore, watch};

use crate::{
    absence::{Absence, Absences},
    cursor::{Cursor, ItemId},
    cut::CutItem,
    feed::StreamGrowth,
    feeds::AgentFeeds,
    marks::{Marks, State},
};

/// How long a read waits for the dispatch of earlier commits.
const DISPATCH_WAIT: Duration = Duration::from_secs(2);
/// The number of agents whose items are searched in the background at the same time.
const GATHERING_AT_ONCE_MAX: usize = 2;
/// Most attempts to write marks that other writers change meanwhile.
pub(crate) const ATTEMPTS_MAX: usize = 16;

/// The sources of news.
#[derive(Clone)]
pub struct Rooms {
    /// The accounts and their trust.
    pub accounts: Accounts,
    /// Sessions.
    pub sessions: Sessions,
    /// Frames between live sessions.
    pub frames: Frames,
    /// Every room that has news on its streams.
    pub sources: Vec<Arc<dyn NewsSource>>,
}

/// The inbox of every agent. Cheap to clone.
#[derive(Clone)]
pub struct Inbox(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) log: Log,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cursors: Arc<Cursors>,
    pub(crate) rooms: Rooms,
    pub(crate) feeds: AgentFeeds,
    /// Everything up to here was dispatched to the rooms and the feeds.
    observed: HighWater,
    pub(crate) closed: watch::Sender<bool>,
    /// Permits for the background searches.
    pub(crate) gathering: Arc<Semaphore>,
    started: Instant,
    absences: Mutex<Absences>,
}

impl Inbox {
    /// The inbox over a log and its rooms.
    pub fn new(log: Log, clock: Arc<dyn Clock>, cursors: Arc<Cursors>, rooms: Rooms) -> Self {
        let absences = Mutex::new(Absences::since_start(clock.now()));
        let inbox = Self(Arc::new(Inner {
            log,
            clock,
            cursors,
            rooms,
            feeds: AgentFeeds::default(),
            observed: HighWater::default(),
            closed: watch::Sender::new(false),
            gathering: Arc::new(Semaphore::new(GATHERING_AT_ONCE_MAX)),
            started: Instant::now(),
            absences,
        }));
        let weak = Arc::downgrade(&inbox.0);
        inbox.0.rooms.frames.add_listener(move |handle| {
            if let Some(inner) = weak.upgrade() {
                inner.feeds.wake_owner(handle.owner());
            }
        });
        inbox
    }

    /// Reports to other networks the states of messages for agents of this one.
    pub fn provide_states(&self) {
        self.0.rooms.sessions.set_states(Arc::new(self.clone()));
    }

    /// Counts everything committed so far as dispatched: no feed exists yet, so all of it will be read.
    pub async fn begin(&self) -> Result<(), Fault> {
        self.0.observed.raise(self.0.log.head().await?);
        Ok(())
    }

    /// Ends every wait and refuses new ones.
    pub fn close(&self) {
        self.0.closed.send_replace(true);
    }

    /// The position up to which everything is dispatched: the head, if the dispatch is in time.
    pub(crate) async fn observed(&self) -> Result<Position, Fault> {
        let head = self.0.log.head().await?;
        if !self.0.observed.reached(head, DISPATCH_WAIT).await {
            tracing::warn!("committed events were not dispatched in time; the next read shows them");
        }
        Ok(self.0.observed.position())
    }

    pub(crate) async fn marks(&self, me: &AgentHandle) -> Result<Marks, Fault> {
        Ok(self.marks_row(me).await?.0)
    }

    async fn marks_row(&self, me: &AgentHandle) -> Result<(Marks, u64), Fault> {
        let name = row(me);
        let Some(row) = self.0.log.read_row(&name).await? else { return Ok((Marks::default(), 0)) };
        let mut marks: Marks = serde_json::from_slice(&row.value)
            .map_err(|error| Fault::Corrupt(format!("the row {name} can't be read: {error}")))?;
        let now = self.0.clock.now();
        if let Some(absence) = self.recent_absence(now) {
            marks.handovers.excuse(&absence, now);
        }
        Ok((marks, row.revision))
    }

    fn recent_absence(&self, now: TimestampMs) -> Option<Absence> {
        self.0.absences.lock().recent(now, self.0.started.elapsed())
    }

    /// The marks of an agent, in which items that were shown in silent sessions are unread again.
    pub(crate) async fn settled_marks(&self, me: &AgentHandle) -> Result<Marks, Fault> {
        let marks = self.marks(me).await?;
        if !marks.handovers.is_stale(self.0.clock.now()) {
            return Ok(marks);
        }
        Ok(self.change(me, |_, _| Ok::<_, Fault>(false)).await?.0)
    }

    /// Raises the marks to a state up to the cursor. With `after`, only kinds that have that state up to
    /// there: the page claims nothing about earlier items, only the beginning of cut items, and nothing about those that it
    /// held for another coding session.
    pub(crate) async fn raise(
        &self,
        me: &AgentHandle,
        state: State,
        (to, after): (&Cursor, Option<&Cursor>),
        (cut, held): (&[CutItem], &[ItemId]),
    ) -> Result<Marks, Fault> {
        let raised = |marks: &mut Marks, _| {
            let keeps = state >= State::InContext && marks.handovers.keep(held, to);
            Ok::<_, Fault>(keeps | marks.raise(state, to, after) | marks.cut(cut))
        };
        Ok(self.change(me, raised).await?.0)
    }

    /// Changes an agent's marks, even if other processes change them too. Returns whether they changed.
    pub(crate) async fn change<E: From<Fault>>(
        &self,
        me: &AgentHandle,
        step: impl Fn(&mut Marks, TimestampMs) -> Result<bool, E>,
    ) -> Result<(Marks, bool), E> {
        for _ in 0..ATTEMPTS_MAX {
            let (mut marks, revision) = self.marks_row(me).await?;
            let now = self.0.clock.now();
            let lapsed = marks.handovers.lapse(now);
            if !step(&mut marks, now)? && !lapsed {
                return Ok((marks, false));
            }
            let value = serde_json::to_vec(&marks).map_err(|error| Fault::Corrupt(error.to_string()))?;
            let op = RowOp { name: row(me), expected: Some(revision), value: Some(Bytes::from(value)) };
            match self.0.log.append(Batch { rows: vec![op], ..Batch::default() }).await? {
                Outcome::Appended(_) => return Ok((marks, true)),
                Outcome::RowConflict { .. }
                | Outcome::Conflict { .. }
                | Outcome::AlreadyDone { .. }
                | Outcome::KeyReused => {}
            }
        }
        Err(Fault::Overloaded.into())
    }
}

fn row(me: &AgentHandle) -> String {
    format!("inbox/{me}")
}

#[async_trait]
impl Observer for Inbox {
    async fn committed(&self, events: &[StoredEvent]) {
        if !self.0.feeds.is_empty() {
            let mut by_stream: Vec<&StoredEvent> = events.iter().collect();
            // The sort is stable: the events of a stream stay in order.
            by_stream.sort_by(|a, b| a.stream.cmp(&b.stream));
            for run in by_stream.chunk_by(|a, b| a.stream == b.stream) {
                self.note_growth(run).await;
            }
        }
        if let Some(last) = events.last() {
            self.0.observed.raise(last.position);
        }
    }
}

impl Inbox {
    async fn note_growth(&self, run: &[&StoredEvent]) {
        let first = run[0];
        match self.concerned(run).await {
            Ok(concerned) => {
                for feed in self.0.feeds.of(concerned.iter()) {
                    feed.mark(&first.stream, StreamGrowth { version: first.version, at: first.position });
                }
            }
            Err(fault) => {
                tracing::error!(%fault, "a stream cannot be read; all readers check for news again");
                self.0.feeds.all().iter().for_each(|(_, feed)| feed.invalidate());
            }
        }
        if self.0.rooms.sources.iter().any(|source| source.decides_readers(&first.stream)) {
            self.0.feeds.all().iter().for_each(|(_, feed)| feed.invalidate());
        }
        // Its token may be revoked, or a block may hide an item.
        let changes: Vec<_> = run.iter().filter_map(|event| AccountEvent::of(event)).collect();
        // A changed attention may let an item pass.
        let concerned =
            changes.iter().flat_map(|change| change.rechecked().into_iter().chain(change.agent()));
        for feed in self.0.feeds.of(concerned) {
            feed.wake();
        }
    }

    /// The agents that the new events of a stream concern.
    async fn concerned(&self, events: &[&StoredEvent]) -> Result<Vec<AgentHandle>, Fault> {
        let waiting = || self.0.feeds.all().into_iter().map(|(handle, _)| handle).collect();
        match self.source(&events[0].stream) {
            Some(source) => source.readers(events, &waiting).await,
            None => Ok(Vec::new()),
        }
    }

    /// The room with news on a stream.
    pub(crate) fn source(&self, stream: &StreamName) -> Option<&dyn NewsSource> {
        self.0.rooms.sources.iter().find(|source| source.has(stream)).map(AsRef::as_ref)
    }
}
