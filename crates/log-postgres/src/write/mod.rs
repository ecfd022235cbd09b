//! The one writer of this process: groups of batches, one transaction each, answered after the commit.
//! Must not know: the rules of an append, which are `plenary_log::plan`.

mod burst;
mod columns;
mod commit;
pub(crate) mod known;
mod lock;
mod queue;
mod session;
mod streams;

use std::sync::Arc;

use plenary_kernel::Position;
use plenary_log::{Fault, Feeder, Job, Jobs, Outcome, StoredEvent, Writes, plan};
use tokio::sync::mpsc;

pub(crate) use self::session::WriteSession;
use self::{
    columns::Columns,
    commit::{NotCommitted, write_and_commit},
    known::Names,
    lock::{Head, lock, look_up, undo},
    queue::Queue,
    streams::Streams,
};
use crate::{Shared, backoff::Backoff, trouble::Trouble};

/// How many groups look their keys up after one that met a claimed key unawares. Retries come in flocks.
const CAREFUL_GROUPS: u32 = 64;

/// The writer's task.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    feeder: Feeder,
    /// Own commits, for the tail; when it is full the tail reads them back.
    committed: mpsc::Sender<Arc<[StoredEvent]>>,
    session: Option<WriteSession>,
    backoff: Backoff,
    streams: Streams,
    /// Whether others appended before the last lock.
    among_others: bool,
    /// Groups that still look their keys up before they write; the others rely on the unique index.
    careful: u32,
}

/// The store can't go on.
struct Ended;

/// What came of a group.
struct Written {
    outcomes: Vec<Outcome>,
    events: Arc<[StoredEvent]>,
}

impl Writer {
    pub(crate) fn new(
        shared: Arc<Shared>,
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
            among_others: false,
            careful: 0,
        }
    }

    /// Until the last handle on the log is gone, or the store can't go on.
    pub(crate) async fn run(mut self, jobs: Jobs) {
        let mut queue = Queue::new(jobs);
        while queue.wait().await {
            // The group is made when the lock is got: what comes while others hold it goes along.
            let ended = match self.locked().await {
                Ok((session, head)) => self.group(session, head, queue.group()).await,
                Err(trouble) => self.failed(queue.all(), trouble),
            };
            if ended.is_err() {
                return;
            }
        }
    }

    /// Writes a group, if need be at a second attempt with its keys looked up, and answers its jobs.
    async fn group(&mut self, session: WriteSession, head: Head, jobs: Vec<Job>) -> Result<(), Ended> {
        let careful = self.careful > 0;
        self.careful = self.careful.saturating_sub(1);
        let mut written = self.write(session, head, &jobs, careful).await;
        if !careful && matches!(written, Err(NotCommitted::KeyTaken)) {
            self.careful = CAREFUL_GROUPS;
            written = match self.locked().await {
                Ok((session, head)) => self.write(session, head, &jobs, true).await,
                Err(trouble) => Err(NotCommitted::Nothing(trouble)),
            };
        }
        match written {
            Ok(Written { outcomes, events }) => {
                for (job, outcome) in jobs.into_iter().zip(outcomes) {
                    let _ = job.reply.send(Ok(outcome));
                }
                self.tell(events);
                Ok(())
            }
            Err(NotCommitted::Nothing(trouble) | NotCommitted::NotSent(trouble)) => {
                self.failed(jobs, trouble)
            }
            Err(NotCommitted::KeyTaken) => {
                self.failed(jobs, Trouble::Broken("a key is claimed and can't be found".into()))
            }
            Err(NotCommitted::Unknown(text)) => {
                tracing::warn!(text, "the connection was lost while a commit was under way");
                for job in jobs {
                    let _ = job.reply.send(Err(Fault::OutcomeUnknown(text.clone())));
                }
                Ok(())
            }
        }
    }

    /// Decides the batches under the lock, and commits what they write.
    async fn write(
        &mut self,
        mut session: WriteSession,
        head: Head,
        jobs: &[Job],
        careful: bool,
    ) -> Result<Written, NotCommitted> {
        let (writes, outcomes) = match self.decide(&session, &head, jobs, careful).await {
            Ok(decided) => decided,
            Err(trouble) => {
                self.undo(session).await;
                return Err(NotCommitted::Nothing(trouble));
            }
        };
        if writes.is_empty() {
            self.undo(session).await;
            return Ok(Written { outcomes, events: Arc::default() });
        }
        let last = writes.events.last().map_or(head.last, |event| event.position);
        let columns = Columns::of(&writes, &self.streams, head.streams_made);
        let committed = write_and_commit(&mut session, &columns, last, self.shared.channel()).await;
        match &committed {
            Ok(()) => self.streams.committed(writes.events.iter().zip(columns.events.stream)),
            Err(NotCommitted::Unknown(_)) => self.shared.committed_until(last),
            Err(NotCommitted::NotSent(trouble)) => {
                let trouble = trouble.clone();
                self.undo(session).await;
                return Err(NotCommitted::Nothing(trouble));
            }
            Err(NotCommitted::Nothing(_) | NotCommitted::KeyTaken) => {}
        }
        if !session.client().is_closed() && !matches!(committed, Err(NotCommitted::Unknown(_))) {
            self.session = Some(session);
        }
        committed.map(|()| Written { outcomes, events: writes.events.into() })
    }

    /// What the batches write. Without a look at the keys a batch that goes through is stopped by the unique index if it
    /// has to be; one that is refused may have been a retry, whose answer comes first.
    async fn decide(
        &mut self,
        session: &WriteSession,
        head: &Head,
        jobs: &[Job],
        careful: bool,
    ) -> Result<(Writes, Vec<Outcome>), Trouble> {
        let mut with_keys = careful;
        loop {
            let names = Names::of(jobs, &self.streams, with_keys);
            let mut known = look_up(session, &names, &mut self.streams).await?;
            let batches = jobs.iter().map(|job| job.batch.clone());
            let (writes, outcomes) =
                plan(batches, head.last, &mut known).map_err(|fault| Trouble::Broken(fault.to_string()))?;
            let in_doubt = |(job, outcome): (&Job, &Outcome)| {
                let refused = matches!(outcome, Outcome::Conflict { .. } | Outcome::RowConflict { .. });
                refused && job.batch.key.is_some()
            };
            if with_keys || !jobs.iter().zip(&outcomes).any(in_doubt) {
                return Ok((writes, outcomes));
            }
            with_keys = true;
        }
    }

    /// The head, locked. A connection that broke while nothing was being written is replaced once without anybody's
    /// notice.
    async fn locked(&mut self) -> Result<(WriteSession, Head), Trouble> {
        let mut again = true;
        loop {
            let session = self.session().await?;
            let before = self.streams.at();
            match lock(&session, &mut self.streams, self.among_others).await {
                Ok(head) => {
                    self.among_others = head.last > before;
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

    /// Ends a transaction that wrote nothing; a connection on which that can't be done is dropped.
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
        self.shared.set_writer(session.pid());
        Ok(session)
    }

    /// Nothing was done: says so, and ends the process when the store is not what it was.
    fn failed(&self, jobs: impl IntoIterator<Item = Job>, trouble: Trouble) -> Result<(), Ended> {
        let broken = matches!(trouble, Trouble::Broken(_));
        let fault = trouble.fault();
        for job in jobs {
            let _ = job.reply.send(Err(fault.clone()));
        }
        if broken {
            self.feeder.fail(fault);
            return Err(Ended);
        }
        Ok(())
    }

    fn tell(&self, events: Arc<[StoredEvent]>) {
        let Some(last) = events.last().map(|event| event.position) else { return };
        if self.committed.try_send(events).is_err() {
            self.shared.committed_until(last);
        }
    }
}
