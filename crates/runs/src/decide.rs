//! The decisions on a thread. Pure.
//! Must not know: HTTP, the source of a token, how an agent runs.

use std::sync::Arc;

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_engine::Decision;
use plenary_kernel::{Stamp, TimestampMs};

use crate::{
    access::may_read,
    command::{
        Caller, CancelAll, CancelRun, CanceledAll, InterruptReceipt, Progress, ProgressReceipt, ResumeRun,
        RunStart, SettleHeld, StartRun, TakeOver,
    },
    event::{
        EventEmitted, Interrupt, Leaves, Opens, QueuedRunCanceled, RunCompleted, RunQueued, RunReleased,
        RunStarted, RunTrace, ThreadEvent,
    },
    id::RunId,
    limits::{QUEUED_RUNS_MAX, RUNS_PER_THREAD_MAX, TRACE_NEAR_MS},
    runner::{EventKind, FinishReason, RunEnd},
    shares::payer_of,
    state::{RunState, RunStatus, ThreadState},
};

/// The error text of a run whose process died.
pub const INTERRUPTED: &str = "The server stopped during the run; the run cannot continue. Start a new run.";

/// Why a command is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// The agent does not exist, or not for the caller.
    AgentNotFound,
    /// The agent is stopped.
    AgentStopped,
    /// The thread does not exist, or not for the caller.
    ThreadNotFound,
    /// The run does not exist, or not for the caller.
    RunNotFound,
    /// Another thread has the id.
    IdTaken,
    /// This process has the maximum number of active runs.
    TooManyRuns,
    /// The caller's owner has the maximum number of active runs.
    TooManyRunsOfOwner,
    /// The caller's owner has the maximum number of queued runs.
    TooManyQueuedOfOwner,
    /// The thread has [`RUNS_PER_THREAD_MAX`] runs.
    ThreadFull,
    /// [`QUEUED_RUNS_MAX`] runs of the thread are queued.
    TooManyQueued,
    /// The run is over, or does not wait for input, or not for this answer.
    RunNotActive,
}

/// The caller's trust, as a condition of the append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerStanding {
    /// Whether the token is still valid.
    pub is_token_valid: bool,
    /// Whether the agent accepts runs from the caller.
    pub is_admitted: bool,
    /// Whether the requested run is held until a person of the agent's owner releases it.
    pub is_held: bool,
}

impl CallerStanding {
    fn may_run(self) -> Result<(), Rejection> {
        match self {
            Self { is_token_valid: false, .. } => Err(Rejection::Unauthenticated),
            Self { is_admitted: false, .. } => Err(Rejection::AgentNotFound),
            Self { is_token_valid: true, is_admitted: true, .. } => Ok(()),
        }
    }
}

pub(crate) type RunDecision<R> = Result<Decision<ThreadEvent, R>, Rejection>;

/// Decides `StartRun`: one run of a thread is active at a time, the others are queued in order.
pub fn start(
    state: &ThreadState,
    standing: CallerStanding,
    stamp: &Stamp,
    command: &StartRun,
) -> RunDecision<RunStart> {
    standing.may_run()?;
    if command.is_stopped {
        return Err(Rejection::AgentStopped);
    }
    match (&state.opened, command.is_new) {
        (None, true) => {}
        (Some(_), true) => return Err(Rejection::IdTaken),
        (_, false) => may_see(state, &command.caller, Rejection::ThreadNotFound)?,
    }
    if state.runs.len() >= RUNS_PER_THREAD_MAX {
        return Err(Rejection::ThreadFull);
    }
    if state.queued().count() >= QUEUED_RUNS_MAX {
        return Err(Rejection::TooManyQueued);
    }
    let run = RunId::mint(stamp, 0);
    let opens = command.is_new.then(|| Opens {
        agent: command.caller.agent.clone(),
        created: stamp.now,
        title: command.request.title.clone(),
    });
    let (request_type, depth) = (command.request.request_type.clone(), command.request.depth);
    let (by, request) = (command.caller.authority.by.clone(), command.request.body.clone());
    let payer = payer_of(&command.caller).filter(|payer| by.owner().as_ref() != Some(payer));
    let trace = link_trace(command.request.trace.clone(), stamp.now);
    let held = standing.is_held;
    let queued = RunQueued { run, by, request_type, depth, payer, opens, trace, held, request };
    let mut events = vec![ThreadEvent::RunQueued(queued)];
    let started = !held && state.is_idle_without(None);
    if started {
        events.push(ThreadEvent::RunStarted(RunStarted { run, depth, node: command.node.clone() }));
    }
    Ok(Decision::new(events, RunStart { run, thread: command.thread, started, held, depth }))
}

/// A run that starts shortly after its message belongs to the same trace; a later one only links to it.
pub(crate) fn link_trace(
    trace: Option<(Box<RunTrace>, TimestampMs)>,
    now: TimestampMs,
) -> Option<Box<RunTrace>> {
    let (mut trace, sent) = trace?;
    if trace.parent.is_none() && now.0.saturating_sub(sent.0) <= TRACE_NEAR_MS {
        trace.parent = trace.answers.clone();
    }
    Some(trace)
}

/// Decides `ResumeRun`: only a waiting run is resumed, and an answer applies to one question only.
pub fn resume(
    state: &ThreadState,
    standing: CallerStanding,
    command: &ResumeRun,
) -> RunDecision<InterruptReceipt> {
    standing.may_run()?;
    let run = interrupted(state, standing.is_token_valid, &command.caller, command.run)?;
    if run.status != RunStatus::Waiting || command.question.is_some_and(|question| question != run.asks) {
        return Err(Rejection::RunNotActive);
    }
    let (question, run, by) = (Some(run.waits), run.id, command.caller.authority.by.clone());
    let event = ThreadEvent::RunResumed(Interrupt { run, by, question, request: command.body.clone() });
    Ok(Decision::new(vec![event], InterruptReceipt { run }))
}

/// Decides `CancelRun`: a queued run ends at once, an active run is told to stop; a repeated cancel changes nothing.
/// A caller may cancel its own run even if the agent no longer accepts runs from it.
pub fn cancel(
    state: &ThreadState,
    standing: CallerStanding,
    command: &CancelRun,
) -> RunDecision<InterruptReceipt> {
    let run = interrupted(state, standing.is_token_valid, &command.caller, command.run)?;
    let (id, depth, by) = (run.id, run.depth, command.caller.authority.by.clone());
    if run.status.is_over() {
        return Err(Rejection::RunNotActive);
    }
    if run.cancel_requested {
        return Ok(Decision::unchanged(InterruptReceipt { run: id }));
    }
    let event = if run.status == RunStatus::Queued {
        let idle = state.is_idle_without(Some(id));
        ThreadEvent::QueuedRunCanceled(QueuedRunCanceled { run: id, depth, by, idle, held: run.held })
    } else {
        let request = command.body.clone();
        ThreadEvent::CancelRequested(Interrupt { run: id, by, question: None, request })
    };
    Ok(Decision::new(vec![event], InterruptReceipt { run: id }))
}

/// Decides `CancelAll`: queued runs end at once, active runs are told to stop.
pub fn cancel_all(state: &ThreadState, command: &CancelAll) -> RunDecision<CanceledAll> {
    let by = || command.by.clone();
    let is_active = state.active().is_some();
    let queued: Vec<_> = state.queued().collect();
    let last = queued.last().map(|run| run.id);
    let ended = queued.iter().map(|run| {
        let idle = !is_active && Some(run.id) == last;
        let (depth, held) = (run.depth, run.held);
        ThreadEvent::QueuedRunCanceled(QueuedRunCanceled { run: run.id, depth, by: by(), idle, held })
    });
    let stopping = state.active().filter(|run| !run.cancel_requested).map(|run| {
        let request = Bytes::from_static(br#"{"type":"CancelRequest"}"#);
        ThreadEvent::CancelRequested(Interrupt { run: run.id, by: by(), question: None, request })
    });
    let events: Vec<_> = ended.chain(stopping).collect();
    let runs = events.len();
    Ok(Decision::new(events, CanceledAll { runs }))
}

/// Decides `SettleHeld`, once: a released run starts or is queued; a rejected run ends without having started.
pub fn settle_held(state: &ThreadState, command: &SettleHeld) -> RunDecision<ProgressReceipt> {
    let unchanged = ProgressReceipt { over: !command.is_released, started: None };
    let Some(run) = state.run(command.run).filter(|run| run.held) else {
        return Ok(Decision::unchanged(unchanged));
    };
    let (id, depth, idle) = (run.id, run.depth, state.is_idle_without(Some(run.id)));
    if !command.is_released {
        let by = Actor::Operator;
        let event = QueuedRunCanceled { run: id, depth, by, idle, held: true };
        return Ok(Decision::new(vec![ThreadEvent::QueuedRunCanceled(event)], unchanged));
    }
    let mut events = vec![ThreadEvent::RunReleased(RunReleased { run: id })];
    if idle {
        events.push(ThreadEvent::RunStarted(RunStarted { run: id, depth, node: command.node.clone() }));
    }
    Ok(Decision::new(events, ProgressReceipt { started: idle.then_some(id), ..unchanged }))
}

/// Decides `Progress`. Events that an earlier attempt wrote are skipped; the output of a run that is over, or that
/// another process carries out, is ignored.
pub fn progress(state: &ThreadState, command: &Progress) -> RunDecision<ProgressReceipt> {
    let is_own = |run: &&RunState| run.status.is_active() && run.node == command.node;
    let Some(run) = state.run(command.run).filter(is_own) else {
        return Ok(Decision::unchanged(ProgressReceipt { over: true, started: None }));
    };
    let waits = (run.status == RunStatus::Waiting).then_some(run.waits);
    let ids = command.first_id..;
    let mut events: Vec<ThreadEvent> = ids
        .zip(&command.events)
        .filter(|(id, _)| *id > run.last_event_id)
        .map(|(id, (event, artifact))| {
            ThreadEvent::EventEmitted(EventEmitted {
                run: run.id,
                id,
                kind: event.kind,
                role: event.role,
                depth: run.depth.saturating_add(event.deeper),
                artifact: artifact.clone(),
                replaces: waits.filter(|_| event.kind == EventKind::WaitForInput),
                members: Bytes::from(event.members.clone()),
            })
        })
        .collect();
    let mut started = None;
    if let Some(run_end) = &command.end {
        let id = command.first_id.saturating_add(command.events.len() as u64).max(run.last_event_id + 1);
        started = end(state, run, id, run_end, command.starts_next.then_some(&command.node), &mut events);
    }
    Ok(Decision::new(events, ProgressReceipt { over: command.end.is_some(), started }))
}

/// Decides `TakeOver`: the run of a dead process ends with an error that says so, and the next run starts.
pub fn take_over(state: &ThreadState, command: &TakeOver) -> RunDecision<ProgressReceipt> {
    let mut events = Vec::new();
    let started = match state.active() {
        Some(run) if run.node == command.dead_node => {
            let id = run.last_event_id + 1;
            let started = end(state, run, id, &RunEnd::error(INTERRUPTED), Some(&command.node), &mut events);
            if let Some(ThreadEvent::RunCompleted(completed)) = events.first_mut() {
                completed.lost = completed.finish_reason == FinishReason::Error;
            }
            started
        }
        Some(_) => None,
        None => begin_next(state, &command.node, &mut events),
    };
    Ok(Decision::new(events, ProgressReceipt { over: true, started }))
}

/// Ends a run, and starts the next one unless the process is about to stop. A run that was told to stop ends as
/// canceled, whatever it reports.
fn end(
    state: &ThreadState,
    run: &RunState,
    id: u64,
    run_end: &RunEnd,
    next_node: Option<&Arc<str>>,
    events: &mut Vec<ThreadEvent>,
) -> Option<RunId> {
    let leaves = match (state.next(), next_node) {
        (None, _) => Leaves::Idle,
        (Some(_), None) => Leaves::Waiting,
        (Some(_), Some(_)) => Leaves::Next,
    };
    let finish_reason = if run.cancel_requested { FinishReason::Canceled } else { run_end.finish_reason };
    let result = run_end.result.clone();
    events.push(ThreadEvent::RunCompleted(RunCompleted {
        run: run.id,
        id,
        depth: run.depth,
        finish_reason,
        why: run_end.error.clone().filter(|_| finish_reason == FinishReason::Error),
        lost: false,
        rejected: run_end.rejected && finish_reason == FinishReason::Error,
        has_result: result.is_some(),
        leaves,
        result: result.unwrap_or_default().into(),
    }));
    next_node.and_then(|node| begin_next(state, node, events))
}

fn begin_next(state: &ThreadState, node: &Arc<str>, events: &mut Vec<ThreadEvent>) -> Option<RunId> {
    let next = state.next()?;
    let (run, depth) = (next.id, next.depth);
    events.push(ThreadEvent::RunStarted(RunStarted { run, depth, node: node.clone() }));
    Some(run)
}

/// The run to resume or cancel.
fn interrupted<'a>(
    state: &'a ThreadState,
    is_token_valid: bool,
    caller: &Caller,
    run: Option<RunId>,
) -> Result<&'a RunState, Rejection> {
    if !is_token_valid {
        return Err(Rejection::Unauthenticated);
    }
    let rejection = if run.is_some() { Rejection::RunNotFound } else { Rejection::ThreadNotFound };
    may_see(state, caller, rejection)?;
    match run {
        Some(run) => state.run(run).ok_or(Rejection::RunNotFound),
        None => state.active().ok_or(Rejection::RunNotActive),
    }
}

/// Whether the caller may see the thread below this agent; otherwise the given rejection.
fn may_see(state: &ThreadState, caller: &Caller, rejection: Rejection) -> Result<(), Rejection> {
    let opened = state.opened.as_ref().filter(|opened| {
        has_agent_name(&opened.agent, caller) && may_read(&caller.authority.by, &opened.by, &caller.owner)
    });
    opened.map(|_| ()).ok_or(rejection)
}

/// Whether a thread that was opened under this name belongs to the agent. An agent that was enlisted under its full
/// name may be in the configuration now.
fn has_agent_name(opened: &str, caller: &Caller) -> bool {
    let short_name = opened.strip_prefix(caller.owner.as_str()).and_then(|rest| rest.strip_prefix('.'));
    opened == &*caller.agent || short_name == Some(&*caller.agent)
}
