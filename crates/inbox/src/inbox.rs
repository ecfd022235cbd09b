//! The inbox as the server holds it: the rooms that news come from, the marks of agents, and the observer that tells
//! readers what has grown.

use std::{collections::BTreeSet, future::Future, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use plenary_accounts::Accounts;
use plenary_channels::Channels;
use plenary_context::{Context, news::is_project};
use plenary_engine::Clock;
use plenary_frames::Frames;
use plenary_hub::{Cursors, Observer};
use plenary_kernel::{AgentHandle, Position};
use plenary_log::{Batch, Fault, Log, Outcome, RowOp, StoredEvent};
use plenary_runs::Runs;
use plenary_sessions::Sessions;
use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};

use crate::{
    cursor::Cursor,
    desk::Grown,
    desks::Desks,
    gathering::Source,
    marks::{Marks, State},
};

/// How long a read waits for what was committed before it to be handed out.
const HEARING_WAIT: Duration = Duration::from_secs(2);
/// For how many agents news are looked for beside their readers at a time; the others wait for their turn.
const GATHERING_AT_ONCE_MAX: usize = 2;
/// How often a mark is written again that somebody else wrote meanwhile.
const ATTEMPTS_MAX: usize = 16;

/// Where news come from.
#[derive(Clone)]
pub struct Rooms {
    /// Who is who, and who trusts whom.
    pub accounts: Accounts,
    /// Sessions.
    pub sessions: Sessions,
    /// Channels.
    pub channels: Channels,
    /// Packages and their reviews.
    pub context: Context,
    /// Frames between live sessions.
    pub frames: Frames,
    /// Agents behind the server.
    pub runs: Runs,
}

/// The inbox of every agent. Cheap to clone.
#[derive(Clone)]
pub struct Inbox(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) log: Log,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cursors: Arc<Cursors>,
    pub(crate) rooms: Rooms,
    pub(crate) desks: Desks,
    /// Everything up to here was handed out to the rooms and to the desks.
    observed: watch::Sender<Position>,
    pub(crate) closed: watch::Sender<bool>,
    /// Turns of those that look for news beside the readers.
    pub(crate) gathering: Arc<Semaphore>,
}

impl Inbox {
    /// The inbox over a log and its rooms.
    #[must_use]
    pub fn new(log: Log, clock: Arc<dyn Clock>, cursors: Arc<Cursors>, rooms: Rooms) -> Self {
        let inbox = Self(Arc::new(Inner {
            log,
            clock,
            cursors,
            rooms,
            desks: Desks::default(),
            observed: watch::Sender::new(Position::ZERO),
            closed: watch::Sender::new(false),
            gathering: Arc::new(Semaphore::new(GATHERING_AT_ONCE_MAX)),
        }));
        let told = Arc::downgrade(&inbox.0);
        inbox.0.rooms.frames.set_listener(move |handle| {
            if let Some(inner) = told.upgrade() {
                inner.desks.wake_owner(handle.owner());
            }
        });
        inbox
    }

    /// Counts what is committed by now as handed out: nothing of it is remembered here, so all of it will be read.
    pub async fn begin(&self) -> Result<(), Fault> {
        self.reach(self.0.log.head().await?);
        Ok(())
    }

    /// Ends every wait; none begins any more.
    pub fn close(&self) {
        self.0.closed.send_replace(true);
    }

    fn reach(&self, position: Position) {
        self.0.observed.send_if_modified(|observed| {
            let further = position > *observed;
            *observed = position.max(*observed);
            further
        });
    }

    /// Up to where everything was handed out: what is committed by now, if it comes in time.
    pub(crate) async fn observed(&self) -> Result<Position, Fault> {
        let head = self.0.log.head().await?;
        let mut observed = self.0.observed.subscribe();
        let come = timeout(HEARING_WAIT, observed.wait_for(|observed| *observed >= head)).await;
        if come.is_err() {
            tracing::warn!("what was committed is not handed out in time; it comes with the next read");
        }
        Ok(*self.0.observed.borrow())
    }

    /// The marks of an agent.
    pub(crate) async fn marks(&self, me: &AgentHandle) -> Result<Marks, Fault> {
        Ok(self.marks_row(me).await?.0)
    }

    async fn marks_row(&self, me: &AgentHandle) -> Result<(Marks, u64), Fault> {
        let name = row(me);
        let Some(row) = self.0.log.read_row(&name).await? else { return Ok((Marks::default(), 0)) };
        let marks = serde_json::from_slice(&row.value)
            .map_err(|error| Fault::Corrupt(format!("the row {name} can't be read: {error}")))?;
        Ok((marks, row.revision))
    }

    /// Everything up to the cursor has come so far. Marks only rise, whichever process raises them.
    pub(crate) async fn raise(&self, me: &AgentHandle, state: State, to: &Cursor) -> Result<Marks, Fault> {
        for _ in 0..ATTEMPTS_MAX {
            let (mut marks, revision) = self.marks_row(me).await?;
            if !marks.raise(state, to) {
                return Ok(marks);
            }
            let value = serde_json::to_vec(&marks).map_err(|error| Fault::Corrupt(error.to_string()))?;
            let op = RowOp { name: row(me), expected: Some(revision), value: Some(Bytes::from(value)) };
            match self.0.log.append(Batch { rows: vec![op], ..Batch::default() }).await? {
                Outcome::Appended(_) => return Ok(marks),
                Outcome::RowConflict { .. }
                | Outcome::Conflict { .. }
                | Outcome::AlreadyDone { .. }
                | Outcome::KeyReused => {}
            }
        }
        Err(Fault::Overloaded)
    }
}

fn row(me: &AgentHandle) -> String {
    format!("inbox/{me}")
}

impl Observer for Inbox {
    fn committed<'a>(&'a self, events: &'a [StoredEvent]) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            if !self.0.desks.is_empty() {
                let mut by_stream: Vec<&StoredEvent> = events.iter().collect();
                // Stable: within a stream the events stay in order.
                by_stream.sort_by(|a, b| a.stream.cmp(&b.stream));
                for run in by_stream.chunk_by(|a, b| a.stream == b.stream) {
                    self.grew(run).await;
                }
            }
            if let Some(last) = events.last() {
                self.reach(last.position);
            }
        })
    }
}

impl Inbox {
    async fn grew(&self, run: &[&StoredEvent]) {
        let first = run[0];
        match self.concerned(run).await {
            Ok(concerned) => {
                for desk in self.0.desks.of(concerned.iter()) {
                    desk.mark(&first.stream, Grown { version: first.version, at: first.position });
                }
            }
            Err(fault) => {
                tracing::error!(%fault, "a stream can't be read; everyone looks for news again");
                self.0.desks.all().iter().for_each(|(_, desk)| desk.doubt());
            }
        }
        if is_project(&first.stream) {
            self.0.desks.all().iter().for_each(|(_, desk)| desk.doubt());
        }
        // Its token may be dead, or a block may hide something.
        let changed = run.iter().filter_map(|event| plenary_accounts::concerned(event));
        for desk in self.0.desks.of(changed.collect::<Vec<_>>().iter()) {
            desk.wake();
        }
    }

    /// Whom it concerns that a stream has grown.
    async fn concerned(&self, run: &[&StoredEvent]) -> Result<Vec<AgentHandle>, Fault> {
        let (rooms, stream) = (&self.0.rooms, &run[0].stream);
        match Source::of(stream) {
            Some(Source::Session(_)) => rooms.sessions.readers(run).await,
            Some(Source::Contacts) => Ok(stream.id().parse().into_iter().collect()),
            Some(Source::Channel) => {
                let mut named = BTreeSet::new();
                for event in run {
                    named.extend(plenary_channels::news::mentioned(event)?);
                }
                Ok(named.into_iter().collect())
            }
            Some(Source::Package) => self.reviewers(run).await,
            Some(Source::Thread) => {
                Ok(rooms.runs.waits_for(stream).await?.map(|(agent, _)| agent).into_iter().collect())
            }
            None => Ok(Vec::new()),
        }
    }

    /// Of those who have asked lately, who may review a package that waits now.
    async fn reviewers(&self, run: &[&StoredEvent]) -> Result<Vec<AgentHandle>, Fault> {
        let mut reviewers = Vec::new();
        for event in run {
            if plenary_context::news::asks_for_review(event)? {
                for (handle, _) in self.0.desks.all() {
                    if self.0.rooms.context.may_review(&handle, &event.stream).await? {
                        reviewers.push(handle);
                    }
                }
                break;
            }
        }
        Ok(reviewers)
    }
}
