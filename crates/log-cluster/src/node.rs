//! One node's task: it decides groups of appends on its own replica, publishes each as the next record, and applies the
//! records of all nodes in order. Must not know: the rules of an append, which are `plenary_log::plan`.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use plenary_journal::{Hint, Hints, Journal, READ_RECORDS_MAX, Record, Settlement, settle};
use plenary_log::{Batch, Fault, Feeder, Job, Jobs, Outcome, PlanResult, Reply, Writes};
use plenary_log_sqlite::{Link, Replica};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout, timeout_at},
};

use crate::record::{self, Damage};

/// How long a record that nobody answers is published and looked up again; then the appends' outcomes are unknown. The
/// journal elects a new leader within that time.
pub const SETTLE_MAX: Duration = Duration::from_secs(12);
/// How long a journal that did not answer of late is asked whether it is back, before an append is refused.
const BACK_MAX: Duration = Duration::from_secs(1);
/// A node that applied another's record so lately is not the only one that writes.
const AMONG_OTHERS: Duration = Duration::from_millis(100);
/// How long one that was first waits for the others then.
const TURN: Duration = Duration::from_millis(3);
/// Most bytes of one group, but for a single batch that is larger: one entry of the journal's consensus.
const GROUP_OCTETS_MAX: usize = 256 << 10;
/// Most records that are applied at once.
const APPLIED_AT_ONCE_MAX: usize = 64;

/// Everything that the task owns.
pub(crate) struct Node {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) replica: Replica,
    pub(crate) feeder: Feeder,
    pub(crate) hints: Hints,
    /// The last record that is applied.
    pub(crate) last: Link,
    /// Tells readers how far that is.
    pub(crate) applied: watch::Sender<u64>,
    /// How far readers know the journal to reach.
    pub(crate) wanted: watch::Receiver<u64>,
    pub(crate) poll: Duration,
    /// Whether the last publication was not answered.
    pub(crate) is_cut_off: bool,
    /// When a record of another node was last applied.
    pub(crate) others: Option<Instant>,
    /// Whether the last record is of this node.
    pub(crate) was_first: bool,
}

/// What has ended the node.
struct NodeFault(Fault);

/// What a step came to: a fault that passes, or the end.
enum Trouble {
    Passing(Fault),
    Ending(NodeFault),
}

impl Node {
    /// Until the last handle on the log is gone, or it can't go on.
    pub(crate) async fn run(mut self, mut jobs: Jobs) {
        let mut poll = interval(self.poll);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut taken, mut is_well) = (Vec::new(), true);
        loop {
            let step = tokio::select! {
                biased;
                Some(hint) = self.hints.next() => self.hinted(hint).await,
                Ok(()) = self.wanted.changed() => {
                    let wanted = *self.wanted.borrow_and_update();
                    if wanted > self.last.sequence { self.catch_up().await } else { Ok(()) }
                }
                () = jobs.take(&mut taken) => {
                    if taken.is_empty() {
                        return;
                    }
                    self.append(std::mem::take(&mut taken)).await
                }
                _ = poll.tick() => {
                    let caught_up = self.catch_up().await;
                    poll.reset();
                    caught_up
                }
            };
            match step {
                Ok(()) => is_well = true,
                Err(Trouble::Passing(fault)) => {
                    if std::mem::take(&mut is_well) {
                        tracing::warn!(%fault, "this node waits for the journal");
                    }
                }
                Err(Trouble::Ending(NodeFault(fault))) => return self.feeder.fail(fault),
            }
        }
    }

    /// Applies what hints brought, or reads what they say is there.
    async fn hinted(&mut self, first: Hint) -> Result<(), Trouble> {
        let mut hints = vec![first];
        while hints.len() < APPLIED_AT_ONCE_MAX
            && let Some(hint) = self.hints.try_next()
        {
            hints.push(hint);
        }
        let mut bodies = Vec::with_capacity(hints.len());
        let mut must_look = false;
        for Hint { sequence, body } in hints {
            let next = self.last.sequence + bodies.len() as u64 + 1;
            match body {
                Some(body) if sequence == next => bodies.push(body),
                _ if sequence >= next => must_look = true,
                _ => {}
            }
        }
        match self.take_in(&bodies).await? {
            Ok(()) => {}
            // Whoever hints may be wrong: the journal has the last word.
            Err(damage) => {
                tracing::warn!(%damage, "a hint was wrong");
                must_look = true;
            }
        }
        if must_look { self.catch_up().await } else { Ok(()) }
    }

    /// Reads and applies what the journal has.
    async fn catch_up(&mut self) -> Result<(), Trouble> {
        loop {
            let records = self.journal.read(self.last.sequence, READ_RECORDS_MAX).await;
            let records = records.map_err(|error| Trouble::Passing(Fault::Unavailable(error.to_string())))?;
            if records.is_empty() {
                return Ok(());
            }
            for records in records.chunks(APPLIED_AT_ONCE_MAX) {
                self.follow(records).await?;
            }
        }
    }

    /// Applies the next records of the journal.
    async fn follow(&mut self, records: &[Record]) -> Result<(), Trouble> {
        let bodies: Vec<_> = records.iter().map(|record| record.body.clone()).collect();
        match self.take_in(&bodies).await? {
            Ok(()) => Ok(()),
            Err(damage) => Err(Trouble::Ending(NodeFault(Fault::Corrupt(format!("the journal: {damage}"))))),
        }
    }

    /// Applies what hints wait, behind a record that somebody else published.
    async fn take_hints(&mut self) -> Result<(), Trouble> {
        while let Some(hint) = self.hints.try_next() {
            self.hinted(hint).await?;
        }
        Ok(())
    }

    /// Applies the records that follow, as far as they do.
    async fn take_in(&mut self, bodies: &[Bytes]) -> Result<Result<(), Damage>, Trouble> {
        let (mut writes, mut links) = (Writes::default(), Vec::new());
        let mut last = self.last;
        let mut damaged = Ok(());
        for body in bodies {
            let (next, link) = match record::read(body, &last) {
                Ok(read) => read,
                Err(damage) => {
                    damaged = Err(damage);
                    break;
                }
            };
            if let Some(apart) = record::join(&mut writes, next) {
                self.apply(std::mem::replace(&mut writes, apart), std::mem::take(&mut links)).await?;
            }
            links.push(link);
            last = link;
        }
        if !links.is_empty() {
            (self.others, self.was_first) = (Some(Instant::now()), false);
        }
        self.apply(writes, links).await?;
        Ok(damaged)
    }

    async fn apply(&mut self, writes: Writes, links: Vec<Link>) -> Result<(), Trouble> {
        let Some(last) = links.last().copied() else { return Ok(()) };
        match self.replica.apply(writes, links).await {
            Ok(events) => {
                self.last = last;
                self.applied.send_replace(last.sequence);
                self.feeder.publish(events).await;
                Ok(())
            }
            Err(fault @ Fault::OutcomeUnknown(_)) => Err(Trouble::Ending(NodeFault(fault))),
            Err(fault) => Err(Trouble::Passing(fault)),
        }
    }

    async fn append(&mut self, jobs: Vec<Job>) -> Result<(), Trouble> {
        let mut waiting = jobs.into_iter().peekable();
        while waiting.peek().is_some() {
            let mut left = GROUP_OCTETS_MAX;
            let (mut batches, mut replies) = (Vec::new(), Vec::new());
            while let Some(Job { batch, reply }) =
                waiting.next_if(|job| batches.is_empty() || job.batch.octets() <= left)
            {
                left = left.saturating_sub(batch.octets());
                batches.push(batch);
                replies.push(reply);
            }
            let (answer, trouble) = match self.group(batches).await {
                Ok(answer) => (answer, Ok(())),
                Err(Trouble::Passing(fault)) => (Err(fault.clone()), Err(Trouble::Passing(fault))),
                Err(Trouble::Ending(NodeFault(fault))) => {
                    (Err(Fault::OutcomeUnknown(fault.to_string())), Err(Trouble::Ending(NodeFault(fault))))
                }
            };
            answered(replies, answer);
            match trouble {
                Err(ending @ Trouble::Ending(_)) => return Err(ending),
                Err(passing) if waiting.peek().is_none() => return Err(passing),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Leaves the others a turn: whoever has just been first knows the last record first, and would be again.
    async fn gives_way(&mut self) -> Result<(), Trouble> {
        let is_among_others = self.others.is_some_and(|heard| heard.elapsed() < AMONG_OTHERS);
        if self.was_first && is_among_others {
            let turn = sleep(TURN);
            tokio::pin!(turn);
            tokio::select! {
                () = &mut turn => {}
                Some(hint) = self.hints.next() => self.hinted(hint).await?,
            }
        }
        self.take_hints().await
    }

    /// Decides a group, publishes it and applies it; decides it anew behind whatever came first.
    async fn group(&mut self, batches: Vec<Batch>) -> Result<Result<Vec<PlanResult>, Fault>, Trouble> {
        self.gives_way().await?;
        let until = Instant::now() + SETTLE_MAX;
        if self.is_cut_off {
            self.is_back().await?;
        }
        loop {
            let (writes, outcomes) = match self.replica.decide(batches.clone()).await {
                Ok(decided) => decided,
                Err(fault) => return Ok(Err(fault)),
            };
            if writes.is_empty() {
                if outcomes.iter().all(is_final) || self.is_at_the_end(until).await? {
                    return Ok(Ok(outcomes));
                }
                self.catch_up().await?;
                continue;
            }
            let body = record::written(&writes, &self.last, nonce()?);
            match settle(&*self.journal, self.last.sequence, &body, until).await {
                Settlement::Ours => {
                    let link = Link {
                        sequence: self.last.sequence + 1,
                        hash: record::hash(&body),
                        position: writes.events.last().map_or(self.last.position, |event| event.position),
                    };
                    // It is in the journal: what could not be applied now is read from there.
                    return match self.apply(writes, vec![link]).await {
                        Ok(()) => {
                            self.was_first = true;
                            Ok(Ok(outcomes))
                        }
                        Err(Trouble::Passing(fault)) => Ok(Err(Fault::OutcomeUnknown(fault.to_string()))),
                        Err(ending) => Err(ending),
                    };
                }
                Settlement::Others(first) => {
                    self.follow(&[first]).await?;
                    self.take_hints().await?;
                }
                Settlement::Unknown(why) => {
                    self.is_cut_off = true;
                    return Ok(Err(Fault::OutcomeUnknown(why)));
                }
                Settlement::TooLarge(size) => {
                    return Ok(Err(Fault::Full(format!(
                        "an append of {size} bytes is too large for the journal"
                    ))));
                }
            }
        }
    }

    /// Whether this node has all that the journal has, which a refusal must be decided on.
    async fn is_at_the_end(&self, until: Instant) -> Result<bool, Trouble> {
        let extent = timeout_at(until, self.journal.extent()).await;
        match extent {
            Ok(Ok(extent)) => Ok(extent.last <= self.last.sequence),
            Ok(Err(error)) => Err(Trouble::Passing(Fault::Unavailable(error.to_string()))),
            Err(_) => Err(Trouble::Passing(Fault::Unavailable("the journal does not answer".into()))),
        }
    }

    /// Nothing is published to a journal that does not answer.
    async fn is_back(&mut self) -> Result<(), Trouble> {
        match timeout(BACK_MAX, self.journal.extent()).await {
            Ok(Ok(_)) => {
                self.is_cut_off = false;
                self.catch_up().await
            }
            Ok(Err(error)) => Err(Trouble::Passing(Fault::Unavailable(error.to_string()))),
            Err(_) => Err(Trouble::Passing(Fault::Unavailable("the journal does not answer".into()))),
        }
    }
}

/// Whether no later record can change it. A claimed key stays claimed.
fn is_final(decided: &PlanResult) -> bool {
    matches!(decided, Ok(Outcome::AlreadyDone { .. } | Outcome::KeyReused))
}

fn answered(replies: Vec<Reply>, answer: Result<Vec<PlanResult>, Fault>) {
    match answer {
        Ok(outcomes) => {
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                let _ = reply.send(outcome);
            }
        }
        Err(fault) => {
            for reply in replies {
                let _ = reply.send(Err(fault.clone()));
            }
        }
    }
}

fn nonce() -> Result<[u8; 16], Trouble> {
    let mut nonce = [0; 16];
    match getrandom::fill(&mut nonce) {
        Ok(()) => Ok(nonce),
        Err(error) => Err(Trouble::Passing(Fault::Unavailable(error.to_string()))),
    }
}
