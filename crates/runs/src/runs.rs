//! The runs of a server: executes commands, reads states, and tracks the active runs of this process.
//! Must not know: HTTP.

use std::{
    collections::{HashMap, hash_map::Entry},
    future::Future,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use plenary_accounts::{AccountEvent, Accounts, Watchers, recheck};
use plenary_blobs::Blobs;
use plenary_edge::Metrics;
use plenary_engine::{ExecuteError, Executed, KeyUse, Room, Sealed, Streams, seal};
use plenary_hub::{Cursors, Observer, Tail};
use plenary_kernel::{Clock, Share, Version};
use plenary_log::{Fault, Log, StoredEvent, StreamName};
use plenary_room::async_trait;
use plenary_telemetry::Spans;
use prometheus_client::metrics::gauge::Gauge;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    access::is_held,
    command::{Caller, ProgressReceipt, Request, RunStart, SettleHeld, StartRun},
    configuration::{ConfigurationRoom, ConfigureAgent, ConfigureRejection, RunIds},
    decide::{Rejection, link_trace},
    deltas::Deltas,
    enlistment::EnlistedRoom,
    enlistments::EnlistedRunners,
    event::{RunQueued, ThreadEvent},
    id::{RunId, ThreadId},
    limits::TAIL_BYTES_MAX,
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
    pub(crate) enlisted_runners: OnceLock<EnlistedRunners>,
    accounts: Accounts,
    pub(crate) registry: Registry,
    pub(crate) cursors: Arc<Cursors>,
    /// The id of this process in the log.
    pub(crate) node: Arc<str>,
    pub(crate) watchers: Watchers<Payer>,
    /// The store of artifacts; `None` if none is configured.
    pub(crate) blobs: Option<Blobs>,
    pub(crate) tail: Tail<()>,
    pub(crate) deltas: Deltas,
    pub(crate) local_runs: LocalRuns,
    pub(crate) shares: RunShares,
    pub(crate) spans: Spans,
    /// Cancelled when the process is about to stop.
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    pub(crate) gauges: Gauges,
}

/// The gauges of runs.
#[derive(Clone, Default)]
pub(crate) struct Gauges {
    active: Gauge,
    /// Over all processes, if the store is shared.
    pub(crate) queued: Gauge,
}

/// The runs that this process carries out.
#[derive(Default)]
pub(crate) struct LocalRuns(Mutex<HashMap<RunId, LocalRun>>);

/// A run of this process.
struct LocalRun {
    request_arrived: Arc<Notify>,
    /// Its part of the owner's share; `None` if the run was active before this process knew of it.
    share: Option<Share<Payer>>,
}

/// An entry in [`LocalRuns`]; dropping it removes the entry.
pub(crate) struct ActiveRun {
    runs: Runs,
    run: RunId,
    /// Notified when a request to the run arrives.
    pub(crate) request_arrived: Arc<Notify>,
}

impl LocalRuns {
    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Wakes the run's supervisor.
    fn wake(&self, run: RunId) {
        if let Some(carrying) = self.0.lock().get(&run) {
            carrying.request_arrived.notify_one();
        }
    }
}

impl ActiveRun {
    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// Removes the run and returns its share, for the next run of its thread.
    pub(crate) fn finish(self) -> Option<Share<Payer>> {
        self.runs.0.local_runs.0.lock().get_mut(&self.run)?.share.take()
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        self.runs.0.local_runs.0.lock().remove(&self.run);
        self.runs.0.gauges.active.dec();
    }
}

impl Runs {
    /// The runs in a log, of these agents, with quotas per owner. Artifacts are stored among the blobs.
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
            enlisted_runners: OnceLock::new(),
            accounts,
            registry,
            node: cursors.node().as_str().into(),
            cursors,
            watchers: Watchers::new(quotas.streams_per_owner_max),
            blobs,
            tail: Tail::new(TAIL_BYTES_MAX),
            deltas,
            local_runs: LocalRuns::default(),
            shares: RunShares::new(quotas),
            spans,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            gauges: Gauges::default(),
        }))
    }

    /// Runs the ephemeral lane until the log is closed; to be spawned.
    pub fn running(&self) -> impl Future<Output = ()> + Send + 'static {
        let runs = self.clone();
        async move { runs.0.deltas.running().await }
    }

    /// Registers the gauges of the runs of this process and of the queued runs.
    pub fn register(&self, metrics: &Metrics) {
        let Gauges { active, queued } = self.0.gauges.clone();
        metrics.register("runs_active", "Active runs of this process", active);
        metrics.register("runs_queued", "Runs that wait for an earlier run of their thread", queued);
    }

    /// The number of runs that this process carries out.
    pub fn active(&self) -> usize {
        self.0.local_runs.count()
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

    /// Registers a run as carried out here; `None` if it is registered already, in which case that entry keeps its
    /// share, or takes this one if it has none.
    pub(crate) fn activate(&self, run: RunId, share: Option<Share<Payer>>) -> Option<ActiveRun> {
        let mut local_runs = self.0.local_runs.0.lock();
        let request_arrived = match local_runs.entry(run) {
            Entry::Vacant(entry) => {
                entry.insert(LocalRun { request_arrived: Arc::default(), share }).request_arrived.clone()
            }
            Entry::Occupied(mut entry) => {
                let registered_share = &mut entry.get_mut().share;
                *registered_share = registered_share.take().or(share);
                return None;
            }
        };
        self.0.gauges.active.inc();
        Some(ActiveRun { runs: self.clone(), run, request_arrived })
    }

    /// Executes a command on a thread and wakes its followers.
    pub(crate) async fn ask<C: Decides>(
        &self,
        thread: ThreadId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<Rejection>> {
        let context = CommandContext { accounts: self.0.accounts.clone(), command };
        let done = self.0.threads.execute(&thread.to_string(), &context, key).await?;
        self.wake_followers(thread, &done);
        Ok(done)
    }

    /// Wakes the followers of a thread here before the dispatcher reaches the events.
    fn wake_followers<T>(&self, thread: ThreadId, done: &Executed<T>) {
        if done.position.is_some() {
            self.0.watchers.wake(&stream(thread), Version(1));
        }
    }

    /// A new id for a thread.
    pub(crate) fn fresh_thread(&self) -> ThreadId {
        ThreadId::mint(&self.clock().stamp(), 1)
    }

    /// Requests a run in a new or existing thread, and starts it if no other run of the thread is active.
    pub(crate) async fn start(
        &self,
        caller: Caller,
        (thread, is_new): (ThreadId, bool),
        request: Request,
        key: Option<&KeyUse>,
    ) -> Result<Executed<RunStart>, ExecuteError<Rejection>> {
        let payer = payer_of(&caller);
        // The decider refuses it, so that a repeated request still gets its run.
        let is_stopped = self.stopped(&caller.agent).await?.is_some();
        let is_held =
            is_held(&self.0.accounts, &caller, &mut Vec::new()).await.map_err(ExecuteError::Fault)?;
        let is_queued = is_held || !is_new && self.fresh(thread).await?.active().is_some();
        let shares = &self.0.shares;
        let take = |is_queued| if is_queued { shares.queue(&payer) } else { shares.run(&payer) };
        let share = take(is_queued).map_err(ExecuteError::Rejected)?;
        let command = StartRun { caller, thread, is_new, request, is_stopped, node: self.0.node.clone() };
        let context = CommandContext { accounts: self.0.accounts.clone(), command };
        let id = thread.to_string();
        let done = match is_new {
            true => self.0.threads.begin(&id, &context, key).await?,
            false => self.0.threads.execute(&id, &context, key).await?,
        };
        self.wake_followers(thread, &done);
        if done.replayed {
            return Ok(done);
        }
        // The state of the thread may have changed meanwhile.
        let has_right_share = is_queued != done.reply.started;
        let share = if has_right_share { Some(share) } else { take(!is_queued).ok() };
        let run = done.reply.run;
        if done.reply.started {
            let StartRun { caller, request, .. } = context.command;
            let Request { request_type, depth, body, trace, .. } = request;
            let by = caller.authority.by;
            let trace = link_trace(trace, run.minted_at());
            let (payer, opens, held) = (None, None, false);
            let queued = RunQueued { run, by, request_type, depth, payer, opens, trace, held, request: body };
            self.carry_out(thread, run, Some(queued), share);
        } else if let Some(share) = share {
            shares.waits(run, share);
            let state = self.fresh(thread).await?;
            if state.run(run).is_none_or(|run| run.status != RunStatus::Queued) {
                shares.release_queued(run);
            }
        }
        Ok(done)
    }

    /// Applies a person's decision to a held run; another room asked that person. A run that is no longer held stays
    /// unchanged.
    ///
    /// # Errors
    /// If the store fails.
    pub fn settle_held(
        &self,
        thread: ThreadId,
        run: RunId,
        is_released: bool,
    ) -> Sealed<'_, Result<(), Fault>> {
        seal(async move {
            let command = SettleHeld { run, is_released, node: self.0.node.clone() };
            let executed = ExecuteError::skip_refused(self.ask(thread, command, None).await)?;
            let Some(done) = executed else { return Ok(()) };
            let state = self.fresh(thread).await?;
            let started = done.reply.started.and_then(|run| state.run(run));
            // The run continues in any case: the server and a person accepted it.
            let share = started.and_then(|run| self.0.shares.run(&run.payer).ok());
            self.follow(thread, done.reply, share);
            Ok(())
        })
    }

    /// Carries out the run that a command started, with this share.
    pub(crate) fn follow(&self, thread: ThreadId, progressed: ProgressReceipt, share: Option<Share<Payer>>) {
        if let Some(run) = progressed.started {
            self.carry_out(thread, run, None, share);
        }
    }

    /// A thread as readers see it; the empty state if it does not exist.
    pub(crate) async fn fresh(&self, thread: ThreadId) -> Result<Arc<ThreadState>, Fault> {
        Ok(self.0.threads.fresh(&thread.to_string()).await?.0)
    }

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
    ) -> Result<Executed<RunIds>, ExecuteError<ConfigureRejection>> {
        let agent = caller.agent.clone();
        let command = ConfigureAgent { accounts: self.0.accounts.clone(), caller, args };
        self.0.configurations.execute(&agent, &command, key).await
    }

    /// The configured arguments of an agent.
    pub(crate) async fn args(&self, agent: &str) -> Result<Arc<Map<String, Value>>, Fault> {
        Ok(self.0.configurations.fresh(agent).await?.0.args.clone())
    }

    /// Reacts to a committed event of a thread.
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
                self.0.shares.release_queued(started.run);
                // Started by a command whose outcome was lost; otherwise the run is carried out already.
                if started.node == self.0.node {
                    self.carry_out(thread, started.run, None, None);
                }
            }
            Ok(ThreadEvent::QueuedRunCanceled(canceled)) => self.0.shares.release_queued(canceled.run),
            Ok(ThreadEvent::CancelRequested(interrupt) | ThreadEvent::RunResumed(interrupt)) => {
                self.0.local_runs.wake(interrupt.run);
            }
            // Another process that considered this one dead may have ended the run.
            Ok(ThreadEvent::RunCompleted(completed)) => {
                self.0.deltas.end(thread, completed.run);
                self.0.local_runs.wake(completed.run);
            }
            Ok(_) => {}
            Err(fault) => tracing::error!(%fault, "an event of a thread cannot be read"),
        }
    }
}

pub(crate) fn stream(thread: ThreadId) -> StreamName {
    ThreadRoom::stream(&thread.to_string())
}

#[async_trait]
impl Observer for Runs {
    async fn committed(&self, events: &[StoredEvent]) {
        let mut events_by_stream: HashMap<&StreamName, Vec<&StoredEvent>> = HashMap::new();
        for event in events {
            match event.stream.category() {
                ThreadRoom::CATEGORY => {
                    events_by_stream.entry(&event.stream).or_default().push(event);
                }
                ConfigurationRoom::CATEGORY => self.0.configurations.observe(event),
                SwitchRoom::CATEGORY => self.0.switches.observe(event),
                EnlistedRoom::CATEGORY => self.observe_enlistment(event),
                _ => {
                    let Some(change) = AccountEvent::of(event) else { continue };
                    recheck(&self.0.watchers, &change);
                    if let AccountEvent::AgentDeleted(handle) = &change {
                        self.account_deleted(handle);
                    }
                }
            }
        }
        for (stream, run) in events_by_stream {
            run.iter().for_each(|event| self.0.threads.observe(event));
            if self.0.watchers.has(stream) {
                // The events must be in the tail before any reader wakes up.
                self.0.tail.push(run.iter().copied());
                self.0.watchers.wake(stream, run[0].version);
            }
            run.iter()
                .filter(|event| event.kind != "EventEmitted")
                .for_each(|event| self.thread_changed(event));
        }
    }
}
