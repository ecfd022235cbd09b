//! A thread that tests give commands to, folded as the engine folds it.

use std::sync::Arc;

use plenary_accounts::{Actor, Authority};
use plenary_engine::{Decision, Room};
use plenary_kernel::{Stamp, TimestampMs, Version};

use crate::{
    access::Gate,
    command::{
        Caller, CancelAll, CancelRun, Progress, ProgressReceipt, Request, ResumeRun, RunStart, SettleHeld,
        StartRun, TakeOver,
    },
    decide::{self, CallerStanding, Rejection},
    event::ThreadEvent,
    id::{RunId, ThreadId},
    room::ThreadRoom,
    runner::{Event, RunEnd},
    state::{RunStatus, ThreadState},
};

/// A thread and the events of its stream.
#[derive(Default)]
pub(super) struct Thread {
    pub(super) state: ThreadState,
    pub(super) events: Vec<ThreadEvent>,
    now: u64,
}

/// A caller with a valid token whose runs the agent accepts.
pub(super) const ADMITTED: CallerStanding =
    CallerStanding { is_token_valid: true, is_admitted: true, is_held: false };

pub(super) fn caller(actor: &str) -> Caller {
    let by: Actor = actor.parse().unwrap();
    Caller {
        authority: Authority { by, token: None },
        agent: "echo".into(),
        owner: "nick".parse().unwrap(),
        gate: Gate { agent: "@nick.echo".parse().unwrap(), is_open: false },
        on_behalf_of: None,
    }
}

impl Thread {
    pub(super) fn stamp(&mut self) -> Stamp {
        self.now += 1;
        Stamp::new(TimestampMs(self.now), [0; 10])
    }

    fn apply<R>(&mut self, decision: Result<Decision<ThreadEvent, R>, Rejection>) -> Result<R, Rejection> {
        let Decision { events, reply } = decision?;
        for event in events {
            let version = Version(self.events.len() as u64 + 1);
            ThreadRoom::evolve(&mut self.state, version, TimestampMs(self.now), &event);
            self.events.push(event);
        }
        Ok(reply)
    }

    pub(super) fn start_by(
        &mut self,
        actor: &str,
        is_new: bool,
        is_token_valid: bool,
    ) -> Result<RunStart, Rejection> {
        self.start_standing(actor, is_new, CallerStanding { is_token_valid, ..ADMITTED })
    }

    pub(super) fn start_standing(
        &mut self,
        actor: &str,
        is_new: bool,
        standing: CallerStanding,
    ) -> Result<RunStart, Rejection> {
        let stamp = self.stamp();
        let command = StartRun {
            caller: caller(actor),
            thread: ThreadId::mint(&Stamp::new(TimestampMs(0), [0; 10]), 1),
            is_new,
            request: Request {
                request_type: "ChatRequest".into(),
                depth: 2,
                title: Some("hi".into()),
                trace: None,
                body: "{\"input\":\"hi\"}".into(),
            },
            is_stopped: false,
            node: "0".into(),
        };
        let decision = decide::start(&self.state, standing, &stamp, &command);
        self.apply(decision)
    }

    pub(super) fn start(&mut self) -> RunStart {
        let is_new = self.state.opened.is_none();
        self.start_by("@a.b", is_new, true).unwrap()
    }

    /// A run that waits for a person.
    pub(super) fn start_held(&mut self) -> RunStart {
        let is_new = self.state.opened.is_none();
        self.start_standing("@a.b", is_new, CallerStanding { is_held: true, ..ADMITTED }).unwrap()
    }

    pub(super) fn settle_held(&mut self, run: RunId, is_released: bool) -> ProgressReceipt {
        let command = SettleHeld { run, is_released, node: "0".into() };
        let decision = decide::settle_held(&self.state, &command);
        self.apply(decision).unwrap()
    }

    pub(super) fn progress(
        &mut self,
        run: RunId,
        node: &str,
        first_id: u64,
        events: Vec<Event>,
        end: Option<RunEnd>,
        starts_next: bool,
    ) -> ProgressReceipt {
        let events = events.into_iter().map(|event| (event, None)).collect();
        let command = Progress { run, node: node.into(), first_id, events, end, starts_next };
        let decision = decide::progress(&self.state, &command);
        self.apply(decision).unwrap()
    }

    pub(super) fn emit(&mut self, run: RunId, events: Vec<Event>) -> ProgressReceipt {
        let next = self.state.run(run).unwrap().last_event_id + 1;
        self.progress(run, "0", next, events, None, true)
    }

    pub(super) fn end(&mut self, run: RunId, end: RunEnd) -> ProgressReceipt {
        let next = self.state.run(run).unwrap().last_event_id + 1;
        self.progress(run, "0", next, Vec::new(), Some(end), true)
    }

    pub(super) fn resume(&mut self, actor: &str, run: Option<RunId>) -> Result<RunId, Rejection> {
        self.resume_standing(actor, run, ADMITTED)
    }

    pub(super) fn resume_standing(
        &mut self,
        actor: &str,
        run: Option<RunId>,
        standing: CallerStanding,
    ) -> Result<RunId, Rejection> {
        self.resume_question(actor, run, (standing, None))
    }

    pub(super) fn resume_question(
        &mut self,
        actor: &str,
        run: Option<RunId>,
        (standing, question): (CallerStanding, Option<u64>),
    ) -> Result<RunId, Rejection> {
        let command =
            ResumeRun { caller: caller(actor), run, question, body: "{\"request_keys\":{}}".into() };
        let decision = decide::resume(&self.state, standing, &command);
        self.apply(decision).map(|reply| reply.run)
    }

    pub(super) fn cancel(&mut self, actor: &str, run: Option<RunId>) -> Result<RunId, Rejection> {
        self.cancel_standing(actor, run, ADMITTED)
    }

    pub(super) fn cancel_standing(
        &mut self,
        actor: &str,
        run: Option<RunId>,
        standing: CallerStanding,
    ) -> Result<RunId, Rejection> {
        let command = CancelRun { caller: caller(actor), run, body: "{}".into() };
        let decision = decide::cancel(&self.state, standing, &command);
        self.apply(decision).map(|reply| reply.run)
    }

    /// Cancels all runs; returns their number.
    pub(super) fn cancel_all(&mut self) -> usize {
        let decision = decide::cancel_all(&self.state, &CancelAll { by: "~nick".parse().unwrap() });
        self.apply(decision).unwrap().runs
    }

    pub(super) fn take_over(&mut self, dead_node: &str) -> ProgressReceipt {
        let command = TakeOver { dead_node: dead_node.into(), node: Arc::from("1") };
        let decision = decide::take_over(&self.state, &command);
        self.apply(decision).unwrap()
    }

    pub(super) fn status(&self, run: RunId) -> RunStatus {
        self.state.run(run).unwrap().status
    }

    pub(super) fn kinds(&self) -> Vec<String> {
        self.events.iter().map(|event| event.encode().kind.to_owned()).collect()
    }
}
