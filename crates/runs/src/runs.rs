//! The runs of a server: commands in, states out, and the active runs of this process.
//! Must not know: HTTP.

use std::{
    collections::{HashMap, hash_map::Entry},
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, MutexGuard};
use plenary_accounts::{AccountEvent, Accounts, Watchers, recheck};
use plenary_blobs::Blobs;
use plenary_edge::Metrics;
use plenary_engine::{ExecuteError, Executed, KeyUse, Room, Sealed, Streams, seal};
use plenary_hub::{Cursors, Observer, Tail};
use plenary_kernel::{Clock, Share, Version};
use plenary_log::{Fault, Log, StoredEvent, StreamName};
use plenary_telemetry::Spans;
use prometheus_client::metrics::gauge::Gauge;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    access::is_held,
    command::{Caller, ProgressReceipt, Request, RunStart, SettleHeld, StartRun},
    configured::{ConfigurationRoom, ConfigureAgent, NotConfigured, RunIds},
    decide::{Rejection, traced},
    deltas::Deltas,
    enlisted::EnlistedRoom,
    enlisting::Welcome,
    event::{RunQueued, ThreadEvent},
    id::{RunId, ThreadId},
    limits::TAIL_OCTETS_MAX,
    registry::Registry,
    room::{CommandContext, Decides, RUNS, ThreadRoom},
    shares::{Payer, Quotas, RunShares, payer_of},
    state::{RunStatus, ThreadState},
    switch::SwitchRoom,
};

/// The runs of a server. Cheap to clone.
#[derive(Clone)]
pub struct Runs(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) threads: Streams<ThreadRoom>,
    configurations: Streams<ConfigurationRoom>,
    pub(crate) switches: Streams<SwitchRoom>,
    pub(crate) enlisted: Streams<EnlistedRoom>,
    pub(crate) welcome: OnceLock<Welcome>,
    accounts: Accounts,
    pub(crate) registry: Registry,
    pub(crate) cursors: Arc<Cursors>,
    /// This process, as the log knows it.
    pub(crate) node: Arc<str>,
    pub(crate) watchers: Watchers<Payer>,
    /// Where artifacts are kept; none where there is no place for them.
    pub(crate) blobs: Option<Blobs>,
    pub(crate) tail: Tail<()>,
    pub(crate) deltas: Deltas,
    pub(crate) carried: LocalRuns,
    pub(crate) counted: RunShares,
    pub(crate) spans: Spans,
    /// The process is about to stop.
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    pub(crate) gauges: Gauges,
}

/// What is counted.
#[derive(Clone, Default)]
pub(crate) struct Gauges {
    active: Gauge,
    /// On a shared store of all processes.
    pub(crate) queued: Gauge,
}

/// The runs that this process carries out.
#[derive(Default)]
pub(crate) struct LocalRuns(Mutex<HashMap<RunId, LocalRun>>);

/// One of them.
struct LocalRun {
    asked: Arc<Notify>,
    /// What it takes of its owner's share; none where the run went on before this process knew of it.
    share: Option<Share<Payer>>,
}

/// A place among them, until it is dropped.
pub(crate) struct Place {
    runs: Runs,
    run: RunId,
    /// Something was asked of the run.
    pub(crate) asked: Arc<Notify>,
}

impl LocalRuns {
    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, LocalRun>> {
        self.0.lock()
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Something was asked of a run.
    fn wake(&self, run: RunId) {
        if let Some(carrying) = self.lock().get(&run) {
            carrying.asked.notify_one();
        }
    }
}

impl Place {
    /// Which run it is.
    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// The run is over: its share is for the next one of its thread.
    pub(crate) fn over(self) -> Option<Share<Payer>> {
        self.runs.0.carried.lock().get_mut(&self.run)?.share.take()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.runs.0.carried.lock().remove(&self.run);
        self.runs.0.gauges.active.dec();
    }
}

impl Runs {
    /// The runs in a log, of these agents, with a limit for each owner. Artifacts are stored among the blobs.
    #[must_use]
    pub fn new(
        log: Log,
        clock: Arc<dyn Clock>,
        accounts: Accounts,
        cursors: Arc<Cursors>,
        blobs: Option<Blobs>,
        (registry, quotas): (Registry, Quotas),
        spans: Spans,
    ) -> Self {
        let deltas = Deltas::new(&log, clock.clone());
        Self(Arc::new(Inner {
            threads: Streams::new(log.clone(), clock.clone()),
            configurations: Streams::new(log.clone(), clock.clone()),
            switches: Streams::new(log.clone(), clock.clone()),
            enlisted: Streams::new(log, clock),
            welcome: OnceLock::new(),
            accounts,
            registry,
            node: cursors.node().as_str().into(),
            cursors,
            watchers: Watchers::new(quotas.streams_per_owner_max),
            blobs,
            tail: Tail::new(TAIL_OCTETS_MAX),
            deltas,
            carried: LocalRuns::default(),
            counted: RunShares::new(quotas),
            spans,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            gauges: Gauges::default(),
        }))
    }

    /// Keeps the ephemeral lane going until the log is closed; to be spawned.
    pub fn running(&self) -> impl Future<Output = ()> + Send + 'static {
        let runs = self.clone();
        async move { runs.0.deltas.running().await }
    }

    /// Counts the runs that this process carries out, and those that wait their turn.
    pub fn register(&self, metrics: &Metrics) {
        let Gauges { active, queued } = self.0.gauges.clone();
        metrics.register("runs_active", "Active runs of this process", active);
        metrics.register("runs_queued", "Runs that wait for an earlier run of their thread", queued);
    }

    /// How many runs this process carries out.
    #[must_use]
    pub fn active(&self) -> usize {
        self.0.carried.count()
    }

    pub(crate) fn log(&self) -> &Log {
        self.0.threads.log()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.0.threads.clock()
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }

    /// Takes a place among the runs that are carried out here; `None` when it has one, which keeps the share.
    pub(crate) fn place(&self, run: RunId, share: Option<Share<Payer>>) -> Option<Place> {
        let mut carried = self.0.carried.lock();
        let asked = match carried.entry(run) {
            Entry::Vacant(entry) => entry.insert(LocalRun { asked: Arc::default(), share }).asked.clone(),
            Entry::Occupied(mut entry) => {
                let there = &mut entry.get_mut().share;
                *there = there.take().or(share);
                return None;
            }
        };
        self.0.gauges.active.inc();
        Some(Place { runs: self.clone(), run, asked })
    }

    /// Carries out a command on a thread and wakes its followers.
    pub(crate) async fn ask<C: Decides>(
        &self,
        thread: ThreadId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<Rejection>> {
        let asked = CommandContext { accounts: self.0.accounts.clone(), command };
        let done = self.0.threads.execute(&thread.to_string(), &asked, key).await?;
        self.hurry(thread, &done);
        Ok(done)
    }

    /// Whoever follows a thread here need not wait until what was done is handed out.
    fn hurry<T>(&self, thread: ThreadId, done: &Executed<T>) {
        if done.position.is_some() {
            self.0.watchers.wake(&stream(thread), Version(1));
        }
    }

    /// The id of a new thread.
    pub(crate) fn fresh_thread(&self) -> ThreadId {
        ThreadId::mint(&self.clock().stamp(), 1)
    }

    /// Asks for a run in a thread, which may be a new one, and begins it where nothing else of the thread goes on.
    pub(crate) async fn start(
        &self,
        caller: Caller,
        (thread, is_new): (ThreadId, bool),
        request: Request,
        key: Option<&KeyUse>,
    ) -> Result<Executed<RunStart>, ExecuteError<Rejection>> {
        let payer = payer_of(&caller);
        let is_held =
            is_held(&self.0.accounts, &caller, &mut Vec::new()).await.map_err(ExecuteError::Fault)?;
        let is_queued = is_held || !is_new && self.fresh(thread).await?.active().is_some();
        let counted = &self.0.counted;
        let take = |is_queued| if is_queued { counted.queue(&payer) } else { counted.run(&payer) };
        let share = take(is_queued).map_err(ExecuteError::Rejected)?;
        let command = StartRun { caller, thread, is_new, request, node: self.0.node.clone() };
        let asked = CommandContext { accounts: self.0.accounts.clone(), command };
        let id = thread.to_string();
        let done = match is_new {
            true => self.0.threads.begin(&id, &asked, key).await?,
            false => self.0.threads.execute(&id, &asked, key).await?,
        };
        self.hurry(thread, &done);
        if done.replayed {
            return Ok(done);
        }
        // The thread may have been let go of, or taken, meanwhile.
        let is_as_expected = is_queued != done.reply.started;
        let share = if is_as_expected { Some(share) } else { take(!is_queued).ok() };
        let run = done.reply.run;
        if done.reply.started {
            let StartRun { caller, request, .. } = asked.command;
            let Request { request_type, depth, body, trace, .. } = request;
            let by = caller.authority.by;
            let trace = traced(trace, run.minted_at());
            let (payer, opens, held) = (None, None, false);
            let queued = RunQueued { run, by, request_type, depth, payer, opens, trace, held, request: body };
            self.carry_out(thread, run, Some(queued), share);
        } else if let Some(share) = share {
            counted.waits(run, share);
            let state = self.fresh(thread).await?;
            if state.run(run).is_none_or(|run| run.status != RunStatus::Queued) {
                counted.waits_no_more(run);
            }
        }
        Ok(done)
    }

    /// Settles a run that is held with what a person decided, whom another room has asked; a run that is not held any more
    /// stays as it is.
    ///
    /// # Errors
    /// When the store fails.
    pub fn settle_held(&self, thread: ThreadId, run: RunId, released: bool) -> Sealed<'_, Result<(), Fault>> {
        seal(async move {
            let command = SettleHeld { run, released, node: self.0.node.clone() };
            match self.ask(thread, command, None).await {
                Ok(done) => {
                    let state = self.fresh(thread).await?;
                    let started = done.reply.started.and_then(|run| state.run(run));
                    // It goes on in any case: it was accepted, by the server and by a person.
                    let share = started.and_then(|run| self.0.counted.run(&run.payer).ok());
                    self.follow(thread, done.reply, share);
                    Ok(())
                }
                Err(ExecuteError::Fault(fault)) => Err(fault),
                // The room refuses itself nothing.
                Err(ExecuteError::Rejected(_) | ExecuteError::KeyReused | ExecuteError::OverQuota(_)) => {
                    Ok(())
                }
            }
        })
    }

    /// What was begun by a command is carried out here, with this share.
    pub(crate) fn follow(&self, thread: ThreadId, progressed: ProgressReceipt, share: Option<Share<Payer>>) {
        if let Some(run) = progressed.started {
            self.carry_out(thread, run, None, share);
        }
    }

    /// A thread as readers are shown it; the empty state when there is none.
    pub(crate) async fn fresh(&self, thread: ThreadId) -> Result<Arc<ThreadState>, Fault> {
        Ok(self.0.threads.fresh(&thread.to_string()).await?.0)
    }

    /// The thread of a run.
    pub(crate) async fn thread_of(&self, run: RunId) -> Result<Option<ThreadId>, Fault> {
        let key = run.to_string();
        let order = plenary_log::Order::Ascending;
        let rows = self.log().read_index(RUNS, &key, None, 1, order).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let thread = std::str::from_utf8(&row.value).ok().and_then(|text| text.parse().ok());
        thread.map(Some).ok_or_else(|| Fault::Corrupt(format!("{key} in {RUNS} names no thread")))
    }

    /// Configures an agent.
    pub(crate) async fn configure(
        &self,
        caller: Caller,
        args: Map<String, Value>,
        key: Option<&KeyUse>,
    ) -> Result<Executed<RunIds>, ExecuteError<NotConfigured>> {
        let agent = caller.agent.clone();
        let command = ConfigureAgent { accounts: self.0.accounts.clone(), caller, args };
        self.0.configurations.execute(&agent, &command, key).await
    }

    /// What an agent is configured with.
    pub(crate) async fn args(&self, agent: &str) -> Result<Arc<Map<String, Value>>, Fault> {
        Ok(self.0.configurations.fresh(agent).await?.0.args.clone())
    }

    /// What this process has to do with a committed event of a thread.
    fn thread_changed(&self, event: &StoredEvent) {
        let Ok(thread) = event.stream.id().parse() else { return };
        let event = ThreadEvent::decode(event);
        match &event {
            Ok(ThreadEvent::RunQueued(queued)) if !queued.held => {
                self.0.gauges.queued.inc();
            }
            Ok(ThreadEvent::RunReleased(_)) => {
                self.0.gauges.queued.inc();
            }
            Ok(ThreadEvent::RunStarted(_)) => {
                self.0.gauges.queued.dec();
            }
            Ok(ThreadEvent::QueuedRunCanceled(canceled)) if !canceled.held => {
                self.0.gauges.queued.dec();
            }
            Ok(_) | Err(_) => {}
        }
        match event {
            Ok(ThreadEvent::RunStarted(started)) => {
                self.0.counted.waits_no_more(started.run);
                // Begun by a command whose outcome nobody heard; otherwise it is carried out already.
                if started.node == self.0.node {
                    self.carry_out(thread, started.run, None, None);
                }
            }
            Ok(ThreadEvent::QueuedRunCanceled(canceled)) => self.0.counted.waits_no_more(canceled.run),
            Ok(ThreadEvent::CancelRequested(asked) | ThreadEvent::RunResumed(asked)) => {
                self.0.carried.wake(asked.run);
            }
            // The run may have been ended by another process, which took this one for dead.
            Ok(ThreadEvent::RunCompleted(completed)) => {
                self.0.deltas.end(thread, completed.run);
                self.0.carried.wake(completed.run);
            }
            Ok(_) => {}
            Err(fault) => tracing::error!(%fault, "an event of a thread cannot be read"),
        }
    }
}

/// The stream of a thread.
pub(crate) fn stream(thread: ThreadId) -> StreamName {
    ThreadRoom::stream(&thread.to_string())
}

impl Observer for Runs {
    fn committed<'a>(&'a self, events: &'a [StoredEvent]) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let mut grown: HashMap<&StreamName, Vec<&StoredEvent>> = HashMap::new();
        for event in events {
            match event.stream.category() {
                ThreadRoom::CATEGORY => {
                    grown.entry(&event.stream).or_default().push(event);
                }
                ConfigurationRoom::CATEGORY => self.0.configurations.observe(event),
                SwitchRoom::CATEGORY => self.0.switches.observe(event),
                EnlistedRoom::CATEGORY => self.enlisted_changed(event),
                _ => {
                    let Some(change) = AccountEvent::of(event) else { continue };
                    recheck(&self.0.watchers, &change);
                    if let AccountEvent::AgentDeleted(handle) = &change {
                        self.account_deleted(handle);
                    }
                }
            }
        }
        for (stream, run) in grown {
            run.iter().for_each(|event| self.0.threads.observe(event));
            if self.0.watchers.has(stream) {
                // The tail has them before anybody is woken.
                self.0.tail.push(run.iter().copied());
                self.0.watchers.wake(stream, run[0].version);
            }
            run.iter()
                .filter(|event| event.kind != "EventEmitted")
                .for_each(|event| self.thread_changed(event));
        }
        Box::pin(std::future::ready(()))
    }
}
