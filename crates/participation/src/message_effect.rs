//! The effect of a message on an agent: a run, an answer to its question, or a notice with the reason for neither.
//! Must not know: the output of a run.

use plenary_accounts::HostedIdentity;
use plenary_kernel::SessionId;
use plenary_log::{Fault, StoredEvent};
use plenary_runs::{
    Agent, StartError,
    command::Request,
    decide::Rejection,
    event::{RunTrace, ThreadEvent},
    id::RunId,
    limits::{DEPTH_MAX, TITLE_CHARS_MAX},
    state::RunStatus,
};
use plenary_sessions::{
    event::{MessageSent, SessionEvent, sequence},
    state::SessionState,
};
use serde_json::{Map, Value};

use crate::{
    Participation,
    decide::{AgentStanding, IncomingMessage, SilenceReason, Verdict, decide},
    limits::PENDING_MAX,
    message::{Context, MessageBody},
    room::{Seat, is_in},
};

const MINUTE_MS: u64 = 60_000;

/// A message and the agent that receives it.
struct Listener<'a> {
    agent: &'a Agent,
    acting: HostedIdentity,
    session: &'a SessionId,
    stored: &'a StoredEvent,
    sent: &'a MessageSent,
    body: MessageBody,
    context: Context,
    seat: Seat,
    /// The run that waits for the message, and the keys that it requested.
    question: Option<(RunId, Map<String, Value>)>,
}

impl Participation {
    pub(crate) async fn handle_sent_message(
        &self,
        session: &SessionId,
        stored: &StoredEvent,
    ) -> Result<(), Fault> {
        let SessionEvent::MessageSent(sent) = SessionEvent::decode(stored)? else { return Ok(()) };
        let (state, _) = self.0.sessions.stored_state(session).await?;
        for agent in self.members(&state).filter(|agent| agent.handle != sent.sender) {
            if is_in(&state, &agent.handle) {
                self.handle_message(&agent, session, &state, stored, &sent).await?;
            }
        }
        Ok(())
    }

    /// Handles a message for one agent. Handling it again has no further effect.
    pub(crate) async fn handle_message(
        &self,
        agent: &Agent,
        session: &SessionId,
        state: &SessionState,
        stored: &StoredEvent,
        sent: &MessageSent,
    ) -> Result<(), Fault> {
        let hops = sent.origin.map_or(0, |origin| origin.hops);
        let Some(acting) = self.0.accounts.acting(&agent.handle, hops) else { return Ok(()) };
        let key = Self::key(&agent.handle, session, "hears", &sequence(stored.version).to_string());
        if self.0.log.read_key(&key.scope, &key.key).await?.is_some() {
            return Ok(());
        }
        let seat = self.seat(agent, session).await?;
        let question = self.question(&seat, stored).await?;
        let context = Context {
            depth: hops.min(DEPTH_MAX),
            session_id: session.clone(),
            topic: state.created.as_ref().and_then(|created| created.topic.clone()),
            sequence: sequence(stored.version),
            message_id: format!("msg_{}", sent.id),
            sender: sent.sender.clone(),
            hops,
            part: seat.part,
            again: false,
        };
        let body = MessageBody::read(&sent.members);
        let listener = Listener { agent, acting, session, stored, sent, body, context, seat, question };
        match decide(listener.message(), self.standing(&listener, state).await?) {
            Verdict::PassOver => Ok(()),
            Verdict::Refuse(why) => self.refuse(&listener, why).await,
            Verdict::Resume => match &listener.question {
                Some((run, keys)) => {
                    let answer = listener.body.answer(&run.to_string(), keys, &listener.context);
                    let thread_and_run = (listener.seat.thread, *run);
                    let done = self
                        .0
                        .runs
                        .resume_bound(&listener.acting, (agent, &sent.sender), thread_and_run, answer, &key)
                        .await;
                    match done {
                        // The run ended meanwhile: its answer starts a new run.
                        Err(StartError::Rejected(Rejection::RunNotActive)) => self.ask(&listener).await,
                        done => self.done(&listener, done.map(drop)).await,
                    }
                }
                None => self.ask(&listener).await,
            },
            Verdict::Ask => self.ask(&listener).await,
        }
    }

    /// The run that waits for input, and the requested keys, if it asked before the message was sent.
    async fn question(
        &self,
        seat: &Seat,
        stored: &StoredEvent,
    ) -> Result<Option<(RunId, Map<String, Value>)>, Fault> {
        let waits =
            |run: &&plenary_runs::state::RunState| run.status == RunStatus::Waiting && !run.cancel_requested;
        let Some(run) = seat.state.active().filter(waits) else { return Ok(None) };
        let (event, asked_at) = self.0.runs.thread_event(seat.thread, run.waits).await?;
        let ThreadEvent::EventEmitted(event) = event else { return Ok(None) };
        let members: Map<String, Value> = serde_json::from_slice(&event.members).unwrap_or_default();
        let keys = members.get("request_keys").and_then(Value::as_object).cloned();
        // Not by times: the clock may have been set back since, or be that of another process.
        Ok((asked_at < stored.position).then(|| (run.id, keys.unwrap_or_default())))
    }

    async fn standing(&self, listener: &Listener<'_>, state: &SessionState) -> Result<AgentStanding, Fault> {
        let settings = self.settings(&listener.agent.handle);
        let max = settings.messages_per_minute_max;
        Ok(AgentStanding {
            answers: settings.answers,
            parties: state.present().count(),
            stopped: self.0.runs.stopped(listener.agent.name()).await?.is_some(),
            hops_max: settings.hops_max,
            too_fast: self.0.rates.is_past(&listener.pair(), listener.stored.at, max),
            pending: listener.seat.state.queued().count(),
            pending_max: PENDING_MAX,
        })
    }

    async fn ask(&self, listener: &Listener<'_>) -> Result<(), Fault> {
        let Listener { agent, acting, session, body, context, seat, .. } = listener;
        let title = context.topic.clone().unwrap_or_else(|| body.text());
        let request = Request {
            request_type: "ChatRequest".into(),
            depth: context.depth,
            title: Some(title.chars().take(TITLE_CHARS_MAX).collect()),
            trace: Some((Box::new(listener.trace()), listener.stored.at)),
            body: body.request(context),
        };
        let key = Self::key(&agent.handle, session, "hears", &context.sequence.to_string());
        let done =
            self.0.runs.begin_bound(acting, (agent, &context.sender), seat.thread, request, &key).await;
        self.done(listener, done.map(drop)).await
    }

    async fn done(&self, listener: &Listener<'_>, done: Result<(), StartError>) -> Result<(), Fault> {
        match done {
            Ok(()) => {
                self.0.rates.count(&listener.pair(), listener.stored.at);
                Ok(())
            }
            // Another path has handled the message already.
            Err(StartError::KeyReused) => Ok(()),
            Err(StartError::Fault(fault)) => Err(fault),
            Err(StartError::Rejected(
                Rejection::TooManyQueued
                | Rejection::ThreadFull
                | Rejection::TooManyRuns
                | Rejection::TooManyRunsOfOwner
                | Rejection::TooManyQueuedOfOwner,
            )) => self.refuse(listener, SilenceReason::TooManyPending).await,
            Err(StartError::Rejected(Rejection::AgentStopped)) => {
                self.refuse(listener, SilenceReason::Stopped).await
            }
            Err(StartError::OverQuota(exceeded)) => {
                let (agent, session) = (&listener.agent.handle, listener.session);
                tracing::warn!(%agent, %session, ?exceeded, "a run was not started: the owner's quota is used up");
                Ok(())
            }
            Err(StartError::Rejected(rejection)) => {
                let (agent, session) = (&listener.agent.handle, listener.session);
                tracing::warn!(%agent, %session, ?rejection, "a run was not started");
                Ok(())
            }
        }
    }

    /// Sends the reason why a message is not answered. The key determines how often that reason is sent.
    async fn refuse(&self, listener: &Listener<'_>, why: SilenceReason) -> Result<(), Fault> {
        let Listener { agent, acting, session, stored, sent, context, .. } = listener;
        let (handle, sender) = (&agent.handle, &sent.sender);
        tracing::warn!(agent = %handle, %session, %sender, sequence = context.sequence, ?why, "a message is not answered");
        let minute = stored.at.0 / MINUTE_MS;
        let (code, text, key) = match why {
            SilenceReason::Stopped => {
                let since = self.0.runs.stopped(agent.name()).await?.map_or(0, |since| since.0);
                let text = format!("{handle} was stopped by its owner and does not answer.");
                ("agent_stopped", text, format!("stopped/{since}"))
            }
            SilenceReason::TooManyHops => {
                let text =
                    format!("{handle} does not answer: {} agents have already passed this on.", context.hops);
                ("too_many_hops", text, format!("hops/{}", context.sequence))
            }
            SilenceReason::TooFast => {
                let text = format!("{handle} does not answer {sender}: too many messages in a minute.");
                ("too_many_messages", text, format!("fast/{sender}/{minute}"))
            }
            SilenceReason::TooManyPending => {
                let text = format!("{handle} does not answer: too many messages are waiting.");
                ("too_many_pending", text, format!("pending/{minute}"))
            }
        };
        let metadata = Map::from_iter([
            ("code".to_owned(), Value::from(code)),
            ("in_reply_to".to_owned(), context.sequence.into()),
        ]);
        self.notify(acting, session, &text, metadata, &key).await
    }
}

impl Listener<'_> {
    /// The trace links of the run that answers the message.
    fn trace(&self) -> RunTrace {
        RunTrace {
            parent: None,
            answers: self.sent.trace.clone(),
            session: Some(self.session.to_string().into()),
            sender: Some(self.sent.sender.clone()),
        }
    }

    fn message(&self) -> IncomingMessage {
        IncomingMessage {
            origin: self.sent.origin,
            mentions: self.body.mentions(&self.agent.handle),
            answers_question: self.question.is_some(),
        }
    }

    fn pair(&self) -> crate::rates::Pair {
        (self.session.clone(), self.agent.handle.clone(), self.sent.sender.clone())
    }
}
