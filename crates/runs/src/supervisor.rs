//! An active run: runs the agent's code in a separate task, writes its output to the log, passes it the requests from
//! the log, and ends it in every case.
//! Must not know: HTTP, or the kind of the agent.

use std::{future::pending, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use plenary_engine::ExecuteError;
use plenary_kernel::{Share, Version};
use plenary_log::Fault;
use tokio::{
    task::{JoinError, JoinHandle},
    time::{Instant, sleep, sleep_until},
};

use crate::{
    Runs,
    access::admits,
    budget::Budget,
    command::{Progress, ProgressReceipt},
    deltas::RunDelta,
    event::{Artifact, RunQueued, ThreadEvent},
    id::{RunId, ThreadId},
    limits::{CANCEL_GRACE_MS, EVENTS_WAITING_MAX, STOP_GRACE_MS, WHY_BYTES_MAX, WRITE_PAUSE_MS_MAX},
    members::Members,
    recall::request_of,
    registry::Agent,
    runner::{Answers, Event, Recall, RunEnd, RunReceiver, RunRequest, run_channel},
    runs::{ActiveRun, stream},
    shares::Payer,
    spans::RunSpan,
    state::RunState,
};

/// The error text of a run that ends because the server stops.
pub(crate) const STOPPED: &str = "The server stopped during the run; the run cannot continue.";
const AGENT_REMOVED: &str = "This server no longer has an agent with this name.";
const AGENT_STOPPED: &str = "The agent is stopped and accepts no runs.";
const ACCESS_REVOKED: &str = "The agent no longer accepts runs from this requester.";
const SUPERVISOR_FAILED: &str = "The server failed to carry out the run.";
const INPUT_REFUSED: &str = "The agent does not accept the input that it asked for.";

impl Runs {
    /// Carries out a run that started at this process, unless it is already being carried out. Without `queued`, the
    /// request is read from the log.
    pub(crate) fn carry_out(
        &self,
        thread: ThreadId,
        run: RunId,
        queued: Option<RunQueued>,
        share: Option<Share<Payer>>,
    ) {
        self.0.shares.release_queued(run);
        let Some(active) = self.activate(run, share) else { return };
        let runs = self.clone();
        self.0.tasks.spawn(async move {
            let outcome = AssertUnwindSafe(runs.supervise(thread, &active, queued)).catch_unwind().await;
            let progressed = match outcome {
                Ok(Ok(progressed)) => progressed,
                Ok(Err(fault)) => {
                    tracing::error!(%fault, run = %active.run(), "a run cannot be carried out");
                    runs.end(thread, run, SUPERVISOR_FAILED).await
                }
                Err(_) => {
                    tracing::error!(run = %active.run(), "a supervisor panicked");
                    runs.end(thread, run, SUPERVISOR_FAILED).await
                }
            };
            let share = active.finish();
            runs.follow(thread, progressed, share);
        });
    }

    async fn supervise(
        &self,
        thread: ThreadId,
        active: &ActiveRun,
        queued: Option<RunQueued>,
    ) -> Result<ProgressReceipt, Fault> {
        const OVER: ProgressReceipt = ProgressReceipt { over: true, started: None };
        let state = self.fresh(thread).await?;
        let is_own = |run: &&RunState| run.status.is_active() && run.node == self.0.node;
        let (Some(opened), Some(run)) = (&state.opened, state.run(active.run()).filter(is_own)) else {
            return Ok(OVER);
        };
        let Some(agent) = self.0.registry.get(&opened.agent) else {
            return Ok(self.end(thread, run.id, AGENT_REMOVED).await);
        };
        if self.stopped(agent.name()).await?.is_some() {
            return Ok(self.end(thread, run.id, AGENT_STOPPED).await);
        }
        let queued = match queued {
            Some(queued) => queued,
            None => {
                let event = self.event_at(&stream(thread), run.queued).await?;
                let ThreadEvent::RunQueued(queued) = event else {
                    return Err(Fault::Corrupt(format!("the request of {} is not where it was put", run.id)));
                };
                queued
            }
        };
        // The caller may have lost its access while the run was queued.
        if !admits(self.accounts(), &queued.by, &agent.gate(), &mut Vec::new()).await? {
            return Ok(self.end(thread, run.id, ACCESS_REVOKED).await);
        }
        let args = self.args(agent.name()).await?;
        let request = request_of(thread, agent.name().into(), &queued, args);
        let mut supervisor = Supervisor::new(self.clone(), &agent, Arc::new(request), run.last_event_id + 1);
        supervisor.span = self.invoked(thread, &agent, &queued);
        Ok(supervisor.run(active).await)
    }

    /// Ends a run with an error without calling its agent.
    async fn end(&self, thread: ThreadId, run: RunId, error: &str) -> ProgressReceipt {
        self.write_progress(thread, self.progress(run, 0, Vec::new(), Some(RunEnd::error(error)))).await
    }

    fn progress(
        &self,
        run: RunId,
        first_id: u64,
        events: Vec<(Event, Option<Artifact>)>,
        end: Option<RunEnd>,
    ) -> Progress {
        let starts_next = !self.0.stop.is_cancelled();
        Progress { run, node: self.0.node.clone(), first_id, events, end, starts_next }
    }

    /// Writes the progress of a run. Retries until the store accepts it.
    async fn write_progress(&self, thread: ThreadId, progress: Progress) -> ProgressReceipt {
        let mut pause_ms = 10;
        loop {
            match self.ask(thread, progress.clone(), None).await {
                Ok(done) => return done.reply,
                Err(ExecuteError::Fault(fault @ Fault::Corrupt(_))) => {
                    tracing::error!(%fault, run = %progress.run, "the events of a run cannot be written");
                    return ProgressReceipt { over: true, started: None };
                }
                Err(ExecuteError::Fault(fault)) => {
                    tracing::warn!(%fault, run = %progress.run, "the events of a run are not written yet");
                }
                Err(ExecuteError::Rejected(_) | ExecuteError::KeyReused | ExecuteError::OverQuota(_)) => {
                    return ProgressReceipt { over: true, started: None };
                }
            }
            sleep(Duration::from_millis(pause_ms)).await;
            pause_ms = (pause_ms * 2).min(WRITE_PAUSE_MS_MAX);
        }
    }
}

/// The task of a runner. Dropping it aborts the task.
struct Task(JoinHandle<RunEnd>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Carries out one run.
struct Supervisor {
    runs: Runs,
    request: Arc<RunRequest>,
    receiver: RunReceiver,
    task: Task,
    /// The id of the next event.
    next_id: u64,
    /// The version of the last `RunResumed` that was passed to the runner.
    resumed_at: Version,
    budget: Budget,
    /// The final deadline of a run that was told to stop, and the end that it gets then.
    stop_deadline: Option<(Instant, RunEnd)>,
    span: Option<RunSpan>,
}

/// What the supervisor reacts to.
enum SupervisorEvent {
    Output(Vec<Event>),
    Ended(RunEnd),
    RequestArrived,
    ServerStopping,
    Delta { after: u64, text: String },
    DeadlinePassed,
}

impl Supervisor {
    fn new(runs: Runs, agent: &Agent, request: Arc<RunRequest>, next_id: u64) -> Self {
        let recall: Arc<dyn Recall> = Arc::new(runs.clone());
        let (run, receiver) = run_channel(request.clone(), recall);
        // A separate task, so that the supervisor can cancel and end the run whatever the runner does.
        let task = Task(tokio::spawn(agent.runner.clone().run(RunRequest::clone(&request), run)));
        let budget = Budget::new(agent.limits, Instant::now());
        Self {
            runs,
            request,
            receiver,
            task,
            next_id,
            resumed_at: Version::ZERO,
            budget,
            stop_deadline: None,
            span: None,
        }
    }

    async fn run(mut self, active: &ActiveRun) -> ProgressReceipt {
        // Requests from before the run was registered for wake-ups.
        let mut supervisor_event = SupervisorEvent::RequestArrived;
        loop {
            let (events, end) = match supervisor_event {
                SupervisorEvent::Output(events) => (events, None),
                SupervisorEvent::Ended(end) => (self.remaining_events(), Some(end)),
                SupervisorEvent::RequestArrived => match self.read_requests().await {
                    Ok(end) => (Vec::new(), end),
                    Err(fault) => {
                        tracing::warn!(%fault, "the requests to a run cannot be read yet");
                        active.request_arrived.notify_one();
                        sleep(Duration::from_millis(WRITE_PAUSE_MS_MAX)).await;
                        (Vec::new(), None)
                    }
                },
                SupervisorEvent::ServerStopping => {
                    self.request_stop(STOP_GRACE_MS, RunEnd::error(STOPPED));
                    (Vec::new(), None)
                }
                SupervisorEvent::Delta { after, text } => {
                    self.send_delta(after, text);
                    (Vec::new(), None)
                }
                SupervisorEvent::DeadlinePassed => match self.stop_deadline.take() {
                    Some((_, end)) => (self.remaining_events(), Some(end)),
                    None => {
                        self.request_stop(CANCEL_GRACE_MS, self.budget.timeout_end());
                        (Vec::new(), None)
                    }
                },
            };
            if !events.is_empty() || end.is_some() {
                self.flush_deltas();
                let progressed = self.write(events, end).await;
                if progressed.over {
                    return progressed;
                }
            }
            supervisor_event = self.next_event(active).await;
        }
    }

    async fn next_event(&mut self, active: &ActiveRun) -> SupervisorEvent {
        let deadline = match &self.stop_deadline {
            Some((at, _)) => *at,
            None => self.budget.deadline(),
        };
        let mut events = Vec::new();
        let (receiver, stop) = (&mut self.receiver, &self.runs.0.stop);
        let next_events = async {
            match receiver.events.recv_many(&mut events, EVENTS_WAITING_MAX).await {
                // The runner has dropped its output; its end is still to come.
                0 => pending().await,
                _ => events,
            }
        };
        let next_delta = async {
            match receiver.deltas.recv().await {
                Some(delta) => delta,
                None => pending().await,
            }
        };
        let is_stopping = self.stop_deadline.is_some();
        tokio::select! {
            biased;
            () = active.request_arrived.notified() => SupervisorEvent::RequestArrived,
            () = stop.cancelled(), if !is_stopping => SupervisorEvent::ServerStopping,
            () = sleep_until(deadline) => SupervisorEvent::DeadlinePassed,
            result = &mut self.task.0 => SupervisorEvent::Ended(self.end_of(result)),
            events = next_events => SupervisorEvent::Output(events),
            delta = next_delta => SupervisorEvent::Delta { after: delta.after, text: delta.text },
        }
    }

    /// The end that the runner returned. If it was told to stop and has no result, the reason for the stop replaces
    /// it.
    fn end_of(&self, result: Result<RunEnd, JoinError>) -> RunEnd {
        let end = result.unwrap_or_else(|error| RunEnd::error(failure(error)));
        match &self.stop_deadline {
            Some((_, stop_end)) if end.result.is_none() => stop_end.clone(),
            _ => end,
        }
    }

    /// The events that the runner had emitted when it ended.
    fn remaining_events(&mut self) -> Vec<Event> {
        self.receiver.events.close();
        let mut events = Vec::new();
        while let Ok(event) = self.receiver.events.try_recv() {
            events.push(event);
        }
        events
    }

    fn request_stop(&mut self, grace_ms: u64, end: RunEnd) {
        self.receiver.cancel();
        self.stop_deadline = Some((Instant::now() + Duration::from_millis(grace_ms), end));
    }

    /// Sends the waiting deltas, so that they precede the events that are about to be written.
    fn flush_deltas(&mut self) {
        while let Ok(delta) = self.receiver.deltas.try_recv() {
            self.send_delta(delta.after, delta.text);
        }
    }

    fn send_delta(&self, after: u64, text: String) {
        self.runs.0.deltas.send(RunDelta {
            thread: self.request.thread_id,
            run: self.request.run_id,
            agent: self.request.agent.clone(),
            depth: self.request.depth,
            // RunStarted is the first event, and the runner does not count it.
            after: after + 1,
            text,
        });
    }

    /// Reads the run's state from the log: returns an end if the run is over, and passes cancellation and answers on
    /// to the runner.
    async fn read_requests(&mut self) -> Result<Option<RunEnd>, Fault> {
        let state = self.runs.fresh(self.request.thread_id).await?;
        let Some(run) = state.run(self.request.run_id) else { return Ok(None) };
        if run.status.is_over() || run.node != self.runs.0.node {
            // Another process considered this one dead and ended the run; its record stands.
            return Ok(Some(RunEnd::canceled()));
        }
        if run.cancel_requested && self.stop_deadline.is_none() {
            self.request_stop(CANCEL_GRACE_MS, RunEnd::canceled());
        }
        if run.resumed <= self.resumed_at {
            return Ok(None);
        }
        let answered_at = run.resumed;
        let stream = stream(self.request.thread_id);
        let stored_events = self.runs.log().read_stream(&stream, Version(answered_at.0 - 1), 1).await?;
        if let Some(ThreadEvent::RunResumed(answer)) =
            stored_events.first().map(ThreadEvent::decode).transpose()?
        {
            let members = Members::read(&answer.request).unwrap_or_default();
            let keys = members.get("request_keys").map(|keys| Answers::read(keys.get()));
            self.budget.resume(Instant::now());
            self.resumed_at = answered_at;
            if !self.receiver.resume(keys.unwrap_or_default()) {
                return Ok(Some(RunEnd::error(INPUT_REFUSED)));
            }
        }
        Ok(None)
    }

    /// Writes the events and the end. If an event exceeds a limit, the run ends with that error.
    async fn write(&mut self, events: Vec<Event>, end: Option<RunEnd>) -> ProgressReceipt {
        let mut written_events = Vec::with_capacity(events.len());
        let mut limit_end = None;
        for event in events {
            if let Err(text) = self.budget.count(&event, Instant::now()) {
                limit_end = Some(RunEnd::error(text));
                break;
            }
            written_events.push(self.runs.store_artifact(event).await);
        }
        let end = limit_end.or(end).map(|end| self.budget.finish(end));
        let count = written_events.len() as u64;
        let finish_reason = end.as_ref().map(|end| end.finish_reason);
        let progress = self.runs.progress(self.request.run_id, self.next_id, written_events, end);
        self.next_id += count;
        let progressed = self.runs.write_progress(self.request.thread_id, progress).await;
        if let (Some(finish_reason), Some(span)) = (finish_reason, self.span.take_if(|_| progressed.over)) {
            span.end(finish_reason);
        }
        progressed
    }
}

/// The error text of a runner that panicked, cut to a limit.
fn failure(error: JoinError) -> String {
    let text = error.try_into_panic().ok().and_then(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
    });
    let mut text = format!("The agent failed: {}", text.as_deref().unwrap_or("it gave no reason"));
    text.truncate(text.floor_char_boundary(WHY_BYTES_MAX));
    text
}
