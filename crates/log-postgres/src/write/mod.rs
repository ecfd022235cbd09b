//! The one writer of this process: groups of batches, one transaction each, answered after the commit.
//! Must not know: the rules of an append, which are `plenary_log::plan`.

mod alone;
mod burst;
mod columns;
mod commit;
pub(crate) mod known;
mod lock;
mod queue;
mod session;
mod streams;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use plenary_kernel::Position;
use plenary_log::{Fault, Feeder, Job, Jobs, Outcome, PlanResult, StoredEvent, Writes, plan};
use tokio::{sync::mpsc, time::timeout};

pub(crate) use self::session::WriteSession;
use self::{
    alone::is_certain,
    columns::Columns,
    commit::{NotCommitted, write_alone, write_and_commit},
    known::{CommittedNames, Names},
    lock::{Head, lock, look_up, undo},
    queue::Queue,
    streams::Streams,
};
use crate::{StoreState, backoff::Backoff, trouble::Trouble};

/// How many groups look up their keys after a group failed on a claimed key. Retries come in bursts.
const CAREFUL_GROUPS: u32 = 64;
/// How long after a commit the connection is trusted to be alive.
const TRUSTED: Duration = Duration::from_secs(1);
/// How long the lock is kept for batches that have just lost to another process.
const LOCK_RETAINED: Duration = Duration::from_millis(10);

/// The writer's task.
pub(crate) struct Writer {
    shared: Arc<StoreState>,
    feeder: Feeder,
    /// Own commits, for the feed; when it is full the feed reads them from the store.
    committed: mpsc::Sender<Arc<[StoredEvent]>>,
    session: Option<WriteSession>,
    backoff: Backoff,
    streams: Streams,
    /// Whether other processes appended before the last lock, as far as is known.
    others_wrote: bool,
    /// When the last commit was answered.
    committed_at: Option<Instant>,
    /// The number of groups that still look up their keys before they write; later ones rely on the
    /// unique index.
    careful: u32,
}

/// The store has failed for good.
struct StoreEnded;

type LockedHead = (WriteSession, Head);

struct GroupResult {
    outcomes: Vec<PlanResult>,
    events: Arc<[StoredEvent]>,
    /// The lock, if every batch is refused because another process was first.
    unused: Option<LockedHead>,
}

impl Writer {
    pub(crate) fn new(
        shared: Arc<StoreState>,
        feeder: Feeder,
        committed: mpsc::Sender<Arc<[StoredEvent]>>,
        session: WriteSession,
        head: Position,
    ) -> Self {
        shared.set_writer(session.pid());
        Self {
            shared,
            feeder,
            committed,
            session: Some(session),
            backoff: Backoff::default(),
            streams: Streams::new(head),
            others_wrote: true,
            committed_at: None,
            careful: 0,
        }
    }

    /// Runs until the last handle on the log is gone, or the store fails.
    pub(crate) async fn run(mut self, jobs: Jobs) {
        let mut queue = Queue::new(jobs);
        let mut retained = None;
        while queue.wait().await {
            if retained.is_none() {
                match self.alone(&mut queue).await {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(StoreEnded) => return,
                }
            }
            let was_retained = retained.is_some();
            // The group is selected after the lock is taken: jobs that arrive during the wait are
            // included.
            let locked = match retained.take() {
                Some(locked) => Ok(locked),
                None => self.locked().await,
            };
            let unused = match locked {
                Ok(locked) => self.group(locked, queue.group()).await,
                Err(trouble) => self.failed(queue.all(), trouble).map(|()| None),
            };
            match unused {
                Ok(Some(locked)) if !was_retained => retained = self.keep(locked, &mut queue).await,
                Ok(Some((session, _))) => self.undo(session).await,
                Ok(None) => {}
                Err(StoreEnded) => return,
            }
        }
    }

    /// Keeps the lock for a moment, so that a caller that reads and decides again can't lose again.
    /// Otherwise a process that writes to a stream without a pause leaves no gap in which another could
    /// read and write first. Not twice in a row, so that other processes get their turn.
    async fn keep(&mut self, locked: LockedHead, queue: &mut Queue) -> Option<LockedHead> {
        match timeout(LOCK_RETAINED, queue.wait()).await {
            Ok(true) if !locked.0.client().is_closed() => Some(locked),
            // No work, in time, or a lost connection, which is replaced.
            Ok(_) | Err(_) => {
                self.undo(locked.0).await;
                None
            }
        }
    }

    /// While no other process writes: writes a group in one statement, without waiting for the lock. False if that
    /// cannot be done, and nothing was done.
    async fn alone(&mut self, queue: &mut Queue) -> Result<bool, StoreEnded> {
        // A connection that broke while idle must not leave an outcome unknown.
        let is_alive = self.committed_at.is_some_and(|at| at.elapsed() < TRUSTED);
        if self.others_wrote || self.careful > 0 || !is_alive {
            return Ok(false);
        }
        queue.gather_more().await;
        let jobs = queue.group();
        if !is_certain(jobs.iter().map(|job| &job.batch), &self.streams) {
            queue.put_back(jobs);
            return Ok(false);
        }
        match self.write_alone(&jobs).await {
            Ok(Some(written)) => self.settle(jobs, Ok(written)).map(|_| true),
            Ok(None) | Err(NotCommitted::NotSent(_)) => {
                queue.put_back(jobs);
                Ok(false)
            }
            Err(NotCommitted::KeyClaimed) => {
                self.careful = CAREFUL_GROUPS;
                queue.put_back(jobs);
                Ok(false)
            }
            Err(not_committed) => self.settle(jobs, Err(not_committed)).map(|_| true),
        }
    }

    /// `None` if nothing was written, because another process was first.
    async fn write_alone(&mut self, jobs: &[Job]) -> Result<Option<GroupResult>, NotCommitted> {
        let before = self.streams.at();
        let (keys, rows) = (HashMap::new(), HashMap::new());
        let mut known = CommittedNames { streams: &self.streams, keys, rows };
        let planned = plan(jobs.iter().map(|job| job.batch.clone()), before, &mut known);
        let (writes, outcomes) =
            planned.map_err(|fault| NotCommitted::Nothing(Trouble::Broken(fault.to_string())))?;
        let is_accepted = |outcome: &PlanResult| matches!(outcome, Ok(Outcome::Appended(_)));
        let Some(last) = writes.events.last().map(|event| event.position) else { return Ok(None) };
        if !outcomes.iter().all(is_accepted) {
            return Ok(None);
        }
        let columns = Columns::of(&writes, &self.streams, self.streams.stream_count);
        let mut session = self.session().await.map_err(NotCommitted::NotSent)?;
        let written = write_alone(&mut session, &columns, (before, last), self.shared.channel()).await;
        let count = columns.stream_count;
        match &written {
            Ok(true) => self.streams.committed(writes.events.iter().zip(columns.events.stream), count),
            Ok(false) => self.others_wrote = true,
            Err(NotCommitted::Unknown(_)) => self.shared.committed_until(last),
            Err(_) => {}
        }
        if !session.client().is_closed() && !matches!(written, Err(NotCommitted::Unknown(_))) {
            self.session = Some(session);
        }
        let is_written = written?;
        Ok(is_written.then(|| GroupResult { outcomes, events: writes.events.into(), unused: None }))
    }

    /// Writes a group, if necessary in a second attempt with its keys looked up, and answers its jobs.
    /// Returns the lock if all of them lost to other processes.
    async fn group(&mut self, locked: LockedHead, jobs: Vec<Job>) -> Result<Option<LockedHead>, StoreEnded> {
        let careful = self.careful > 0;
        self.careful = self.careful.saturating_sub(1);
        let mut written = self.write(locked, &jobs, careful).await;
        if !careful && matches!(written, Err(NotCommitted::KeyClaimed)) {
            self.careful = CAREFUL_GROUPS;
            written = match self.locked().await {
                Ok(locked) => self.write(locked, &jobs, true).await,
                Err(trouble) => Err(NotCommitted::Nothing(trouble)),
            };
        }
        self.settle(jobs, written)
    }

    /// Answers the jobs of a group.
    fn settle(
        &mut self,
        jobs: Vec<Job>,
        written: Result<GroupResult, NotCommitted>,
    ) -> Result<Option<LockedHead>, StoreEnded> {
        match written {
            Ok(GroupResult { outcomes, events, unused }) => {
                self.committed_at = Some(Instant::now());
                for (job, outcome) in jobs.into_iter().zip(outcomes) {
                    let _ = job.reply.send(outcome);
                }
                self.publish(events);
                Ok(unused)
            }
            Err(NotCommitted::Nothing(trouble) | NotCommitted::NotSent(trouble)) => {
                self.failed(jobs, trouble).map(|()| None)
            }
            Err(NotCommitted::KeyClaimed) => {
                let trouble = Trouble::Broken("a key is claimed and can't be found".into());
                self.failed(jobs, trouble).map(|()| None)
            }
            Err(NotCommitted::Unknown(text)) => {
                tracing::warn!(text, "the connection was lost while a commit was under way");
                for job in jobs {
                    let _ = job.reply.send(Err(Fault::OutcomeUnknown(text.clone())));
                }
                Ok(None)
            }
        }
    }

    /// Decides the batches under the lock, and commits their writes.
    async fn write(
        &mut self,
        (mut session, head): LockedHead,
        jobs: &[Job],
        careful: bool,
    ) -> Result<GroupResult, NotCommitted> {
        let (writes, outcomes) = match self.decide(&session, &head, jobs, careful).await {
            Ok(decided) => decided,
            Err(trouble) => {
                self.undo(session).await;
                return Err(NotCommitted::Nothing(trouble));
            }
        };
        if writes.is_empty() {
            let mut written = GroupResult { outcomes, events: Arc::default(), unused: None };
            if written.outcomes.iter().any(is_conflict) {
                written.unused = Some((session, head));
            } else {
                self.undo(session).await;
            }
            return Ok(written);
        }
        let last = writes.events.last().map_or(head.last, |event| event.position);
        let columns = Columns::of(&writes, &self.streams, head.stream_count);
        let committed = write_and_commit(&mut session, &columns, last, self.shared.channel()).await;
        match &committed {
            Ok(()) => {
                let count = columns.stream_count;
                self.streams.committed(writes.events.iter().zip(columns.events.stream), count);
            }
            Err(NotCommitted::Unknown(_)) => self.shared.committed_until(last),
            Err(NotCommitted::NotSent(trouble)) => {
                let trouble = trouble.clone();
                self.undo(session).await;
                return Err(NotCommitted::Nothing(trouble));
            }
            Err(NotCommitted::Nothing(_) | NotCommitted::KeyClaimed) => {}
        }
        if !session.client().is_closed() && !matches!(committed, Err(NotCommitted::Unknown(_))) {
            self.session = Some(session);
        }
        committed.map(|()| GroupResult { outcomes, events: writes.events.into(), unused: None })
    }

    /// Decides the batches. Without a look-up of the keys, the unique index stops an accepted batch
    /// whose key is claimed; a refused batch may be a retry, whose earlier answer has precedence.
    async fn decide(
        &mut self,
        session: &WriteSession,
        head: &Head,
        jobs: &[Job],
        careful: bool,
    ) -> Result<(Writes, Vec<PlanResult>), Trouble> {
        let mut with_keys = careful;
        loop {
            let names = Names::of(jobs, &self.streams, with_keys);
            let mut known = look_up(session, &names, &mut self.streams).await?;
            let batches = jobs.iter().map(|job| job.batch.clone());
            let (writes, outcomes) =
                plan(batches, head.last, &mut known).map_err(|fault| Trouble::Broken(fault.to_string()))?;
            let in_doubt =
                |(job, outcome): (&Job, &PlanResult)| is_conflict(outcome) && job.batch.key.is_some();
            if with_keys || !jobs.iter().zip(&outcomes).any(in_doubt) {
                return Ok((writes, outcomes));
            }
            with_keys = true;
        }
    }

    /// The locked head. A connection that broke while idle is replaced once, without an error.
    async fn locked(&mut self) -> Result<LockedHead, Trouble> {
        let mut again = true;
        loop {
            let session = self.session().await?;
            let before = self.streams.at();
            match lock(&session, &mut self.streams, self.others_wrote).await {
                Ok(head) => {
                    self.others_wrote = head.last > before;
                    return Ok((session, head));
                }
                Err(Trouble::Lost(text)) if again => {
                    tracing::warn!(text, "the writer's connection was lost");
                    again = false;
                }
                Err(trouble) => {
                    self.undo(session).await;
                    return Err(trouble);
                }
            }
        }
    }

    /// Ends a transaction that wrote nothing; if that fails, the connection is dropped.
    async fn undo(&mut self, session: WriteSession) {
        if !session.client().is_closed() && undo(&session).await.is_ok() {
            self.session = Some(session);
        }
    }

    async fn session(&mut self) -> Result<WriteSession, Trouble> {
        if let Some(session) = self.session.take()
            && !session.client().is_closed()
        {
            return Ok(session);
        }
        let connecting = WriteSession::connect(self.shared.target());
        let (session, _) = self.backoff.attempt(connecting).await?;
        session.check_end(&self.shared.last.known()).await?;
        self.shared.set_writer(session.pid());
        Ok(session)
    }

    /// Answers that nothing was done, and ends the process if the store is broken.
    fn failed(&self, jobs: impl IntoIterator<Item = Job>, trouble: Trouble) -> Result<(), StoreEnded> {
        let broken = matches!(trouble, Trouble::Broken(_));
        let fault = trouble.fault();
        for job in jobs {
            let _ = job.reply.send(Err(fault.clone()));
        }
        if broken {
            self.feeder.fail(fault);
            return Err(StoreEnded);
        }
        Ok(())
    }

    fn publish(&self, events: Arc<[StoredEvent]>) {
        let Some(last) = events.last().map(|event| event.position) else { return };
        self.shared.last.note(&events);
        if self.committed.try_send(events).is_err() {
            self.shared.committed_until(last);
        }
    }
}

/// Whether another writer was first.
fn is_conflict(outcome: &PlanResult) -> bool {
    matches!(outcome, Ok(Outcome::Conflict { .. } | Outcome::RowConflict { .. }))
}
