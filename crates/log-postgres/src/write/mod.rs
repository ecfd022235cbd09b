//! The one writer of this process: groups of batches, one transaction each, answered after the commit.
//! Must not know: the rules of an append, which are `plenary_log::plan`.

mod burst;
mod columns;
pub(crate) mod known;
mod transaction;

use std::{collections::VecDeque, sync::Arc};

use plenary_kernel::Position;
use plenary_log::{Batch, Fault, Feeder, IndexOp, Job, Jobs, Outcome, Reply, StoredEvent, plan};
use tokio::sync::mpsc;

use self::{
    columns::Columns,
    known::{Known, Names, fits},
    transaction::{NotCommitted, lock_and_read, undo, write_and_commit},
};
use crate::{
    Shared,
    backoff::Backoff,
    target::{Purpose, Session},
    trouble::Trouble,
};

/// Most octets of content in one transaction, the last batch aside; the rest goes into the next one.
const GROUP_OCTETS_MAX: usize = 8 << 20;

pub(crate) use self::transaction::STATEMENTS;

/// The writer's task.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    feeder: Feeder,
    /// Own commits, for the tail; when it is full the tail reads them back.
    committed: mpsc::Sender<Arc<[StoredEvent]>>,
    session: Option<Session>,
    backoff: Backoff,
    /// The newest head that was seen. It never goes back.
    head: Position,
}

/// The store can't go on.
struct Ended;

impl Writer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        feeder: Feeder,
        committed: mpsc::Sender<Arc<[StoredEvent]>>,
        session: Session,
        head: Position,
    ) -> Self {
        shared.set_writer(session.pid);
        Self { shared, feeder, committed, session: Some(session), backoff: Backoff::default(), head }
    }

    /// Until the last handle on the log is gone, or the store can't go on.
    pub(crate) async fn run(mut self, mut jobs: Jobs) {
        let mut taken = Vec::new();
        loop {
            jobs.take(&mut taken).await;
            if taken.is_empty() {
                return;
            }
            let mut waiting: VecDeque<Job> = taken.drain(..).collect();
            while !waiting.is_empty() {
                if self.group(first_group(&mut waiting)).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn group(&mut self, jobs: Vec<Job>) -> Result<(), Ended> {
        let names = Names::of(&jobs);
        let (session, mut known) = match self.locked(&names).await {
            Ok(locked) => locked,
            Err(trouble) => return self.failed(jobs.into_iter().map(|job| job.reply), trouble),
        };
        let (batches, replies): (Vec<Batch>, Vec<Reply>) =
            jobs.into_iter().map(|Job { batch, reply }| (batch, reply)).unzip();
        let (writes, outcomes) = match plan(batches.into_iter(), known.head, &mut known) {
            Ok(planned) => planned,
            Err(fault) => return self.failed(replies, Trouble::Broken(fault.to_string())),
        };
        if writes.is_empty() {
            if undo(&session).await.is_ok() {
                self.session = Some(session);
            }
            answer(replies, outcomes);
            return Ok(());
        }
        let last = writes.events.last().map_or(known.head, |event| event.position);
        let columns = Columns::of(&writes, &known);
        match write_and_commit(&session, &columns, self.shared.channel()).await {
            Ok(()) => {
                self.session = Some(session);
                self.head = last;
                answer(replies, outcomes);
                self.tell(writes.events.into(), last);
                Ok(())
            }
            Err(NotCommitted::Nothing(trouble)) => {
                if !matches!(trouble, Trouble::Lost(_)) {
                    self.session = Some(session);
                }
                self.failed(replies, trouble)
            }
            Err(NotCommitted::Unknown(text)) => {
                tracing::warn!(text, "the connection was lost while a commit was under way");
                for reply in replies {
                    let _ = reply.send(Err(Fault::OutcomeUnknown(text.clone())));
                }
                self.shared.committed_until(last);
                Ok(())
            }
        }
    }

    /// The head locked, and what is committed under the names. A connection that broke while nothing was being
    /// written is replaced once without anybody's notice.
    async fn locked(&mut self, names: &Names) -> Result<(Session, Known), Trouble> {
        let mut again = true;
        loop {
            let session = self.session().await?;
            match lock_and_read(&session, names).await {
                Ok(known) if known.head < self.head => {
                    let (is, was) = (known.head, self.head);
                    return Err(Trouble::Broken(format!("the log ends at {is} and once ended at {was}")));
                }
                Ok(known) => {
                    self.head = known.head;
                    return Ok((session, known));
                }
                Err(Trouble::Lost(text)) if again => {
                    tracing::warn!(text, "the writer's connection was lost");
                    again = false;
                }
                Err(trouble) => {
                    if !matches!(trouble, Trouble::Lost(_)) && undo(&session).await.is_ok() {
                        self.session = Some(session);
                    }
                    return Err(trouble);
                }
            }
        }
    }

    async fn session(&mut self) -> Result<Session, Trouble> {
        if let Some(session) = self.session.take()
            && !session.client.is_closed()
        {
            return Ok(session);
        }
        let connecting = self.shared.target().session(Purpose::Writing, STATEMENTS);
        let (session, _) = self.backoff.attempt(connecting).await?;
        self.shared.set_writer(session.pid);
        Ok(session)
    }

    /// Nothing was done: says so, and ends the process when the store is not what it was.
    fn failed(&self, replies: impl IntoIterator<Item = Reply>, trouble: Trouble) -> Result<(), Ended> {
        let broken = matches!(trouble, Trouble::Broken(_));
        let fault = trouble.fault();
        for reply in replies {
            let _ = reply.send(Err(fault.clone()));
        }
        if broken {
            self.feeder.fail(fault);
            return Err(Ended);
        }
        Ok(())
    }

    fn tell(&self, events: Arc<[StoredEvent]>, last: Position) {
        if !events.is_empty() && self.committed.try_send(events).is_err() {
            self.shared.committed_until(last);
        }
    }
}

fn answer(replies: Vec<Reply>, outcomes: Vec<Outcome>) {
    for (reply, outcome) in replies.into_iter().zip(outcomes) {
        let _ = reply.send(Ok(outcome));
    }
}

/// The jobs of the next transaction. One that can't be kept is answered here: it must not fail the others.
fn first_group(waiting: &mut VecDeque<Job>) -> Vec<Job> {
    let (mut group, mut octets) = (Vec::with_capacity(waiting.len()), 0);
    while octets < GROUP_OCTETS_MAX
        && let Some(job) = waiting.pop_front()
    {
        octets += content_octets(&job.batch);
        if fits(&job) {
            group.push(job);
        } else {
            let fault = Fault::Unavailable("a name or key is longer than PostgreSQL can index".into());
            let _ = job.reply.send(Err(fault));
        }
    }
    group
}

fn content_octets(batch: &Batch) -> usize {
    let events = batch.events.iter().map(|(_, event)| event.envelope.len() + event.payload.len());
    let rows = batch.rows.iter().filter_map(|op| op.value.as_ref()).map(bytes::Bytes::len);
    let index = batch.index.iter().map(|op| match op {
        IndexOp::Put { value, .. } => value.len(),
        IndexOp::Delete { .. } => 0,
    });
    events.sum::<usize>() + rows.sum::<usize>() + index.sum::<usize>()
}
