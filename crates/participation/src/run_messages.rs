//! The messages of an agent's run to its session: its questions, its answer, and its failure.
//! Must not know: the cause of the run.

use plenary_accounts::{Actor, HostedIdentity};
use plenary_kernel::{SessionId, TimestampMs, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_runs::{
    EventKind, FinishReason,
    command::Request,
    event::{EventEmitted, RunCompleted, ThreadEvent},
    id::{RunId, ThreadId},
    state::RunState,
};
use plenary_sessions::{Message, event::Origin};
use serde_json::{Map, Value};

use crate::{
    Participation,
    again::was_lost_without_output,
    limits::{ANSWER_BYTES_MAX, ARTIFACT_BYTES_MAX, ARTIFACTS_MAX},
    message::{Context, answer, answer_text, question},
    room::thread_of,
};

/// A run of an agent in a session.
pub(crate) struct SessionRun {
    pub(crate) thread: ThreadId,
    pub(crate) run: RunState,
    pub(crate) context: Context,
    /// The original request.
    pub(crate) request: Request,
    pub(crate) acting: HostedIdentity,
    /// The run's span, as a `traceparent`.
    pub(crate) trace: Option<Box<str>>,
}

impl SessionRun {
    fn metadata(&self) -> Map<String, Value> {
        Map::from_iter([
            ("run_id".to_owned(), self.run.id.to_string().into()),
            ("thread_id".to_owned(), self.thread.to_string().into()),
            ("in_reply_to".to_owned(), self.context.sequence.into()),
        ])
    }

    fn message(&self, content: Value, metadata: Map<String, Value>) -> Message {
        let origin = Origin { hops: self.acting.hops().saturating_add(1), notice: false };
        Message { content, metadata, origin, trace: self.trace.clone() }
    }
}

impl Participation {
    /// Handles an event of a bound thread.
    pub(crate) async fn take_run_event(&self, stored: &StoredEvent) -> Result<(), Fault> {
        let Ok(thread) = stored.stream.id().parse() else { return Ok(()) };
        match ThreadEvent::decode(stored)? {
            ThreadEvent::EventEmitted(event) if event.kind == EventKind::WaitForInput => {
                self.send_question(thread, &event).await
            }
            ThreadEvent::RunCompleted(event) => self.send_result(thread, &event).await,
            ThreadEvent::QueuedRunCanceled(event) => {
                let Some(session_run) = self.run_of(thread, event.run).await? else { return Ok(()) };
                self.canceled(&session_run).await
            }
            ThreadEvent::EventEmitted(_)
            | ThreadEvent::RunQueued(_)
            | ThreadEvent::RunReleased(_)
            | ThreadEvent::RunStarted(_)
            | ThreadEvent::RunResumed(_)
            | ThreadEvent::CancelRequested(_) => Ok(()),
        }
    }

    /// The run, if it belongs to an agent in a session.
    async fn run_of(&self, thread: ThreadId, run: RunId) -> Result<Option<SessionRun>, Fault> {
        let state = self.0.runs.thread(thread).await?;
        let (Some(opened), Some(run)) = (&state.opened, state.run(run)) else { return Ok(None) };
        let Some(agent) = self.0.runs.agents().get(&opened.agent) else { return Ok(None) };
        let (ThreadEvent::RunQueued(queued), _) = self.0.runs.thread_event(thread, run.queued).await? else {
            return Ok(None);
        };
        let Some(context) = Context::read(&queued.request) else { return Ok(None) };
        // Only the thread that is bound to the session sends messages there, and only about requests of this server.
        let is_bound = thread_of(&agent.handle, &context.session_id, context.part) == thread;
        if !is_bound || queued.by != Actor::Agent(agent.handle.clone()) {
            return Ok(None);
        }
        let mut hops = context.hops.max(queued.depth);
        if run.resumed != Version::ZERO
            && let (ThreadEvent::RunResumed(resumed), _) =
                self.0.runs.thread_event(thread, run.resumed).await?
        {
            // The agent that answers a question also counts as a hop.
            hops = hops.max(Context::read(&resumed.request).map_or(0, |context| context.hops));
        }
        let acting = self.0.accounts.acting(&agent.handle, hops);
        let trace = self.0.runs.traceparent(run.id, queued.trace.as_deref()).map(String::into_boxed_str);
        let request_trace = queued.trace.map(|trace| (trace, TimestampMs(0)));
        let (request_type, depth, body) = (queued.request_type, queued.depth, queued.request);
        let request = Request { request_type, depth, title: None, trace: request_trace, body };
        Ok(acting.map(|acting| SessionRun { thread, run: run.clone(), context, request, acting, trace }))
    }

    /// Sends the run's question, because it waits for input.
    async fn send_question(&self, thread: ThreadId, event: &EventEmitted) -> Result<(), Fault> {
        let Some(session_run) = self.run_of(thread, event.run).await? else { return Ok(()) };
        let members: Map<String, Value> = serde_json::from_slice(&event.members).unwrap_or_default();
        let keys = members.get("request_keys").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut metadata = session_run.metadata();
        metadata.insert("request_keys".into(), Value::Object(keys.clone()));
        let message = session_run.message(question(&keys), metadata);
        let key = format!("asks/{}/{}", event.run, event.id);
        self.say(&session_run.acting, &session_run.context.session_id, &message, &key).await
    }

    /// Sends the run's answer or failure, because the run has ended.
    async fn send_result(&self, thread: ThreadId, event: &RunCompleted) -> Result<(), Fault> {
        let Some(session_run) = self.run_of(thread, event.run).await? else { return Ok(()) };
        match event.finish_reason {
            FinishReason::Success => self.send_answer(&session_run, event).await,
            FinishReason::Canceled => self.canceled(&session_run).await,
            FinishReason::Error if was_lost_without_output(event) && self.retry(&session_run).await? => {
                Ok(())
            }
            FinishReason::Error => {
                let why = event.why.as_deref().unwrap_or("it gave no reason");
                self.send_failure(&session_run, "run_failed", &format!("The run failed: {why}")).await
            }
        }
    }

    async fn send_answer(&self, session_run: &SessionRun, event: &RunCompleted) -> Result<(), Fault> {
        let mut artifacts = Vec::new();
        let output =
            self.0.runs.output(session_run.thread, &session_run.run, ARTIFACTS_MAX, ANSWER_BYTES_MAX).await?;
        let text = answer_text(&output.text, &String::from_utf8_lossy(&event.result));
        for artifact in output.artifacts {
            let bytes = self.0.runs.bytes(&artifact, ARTIFACT_BYTES_MAX).await;
            artifacts.push((artifact, bytes));
        }
        let Some(content) = answer(&text, &artifacts) else { return Ok(()) };
        let message = session_run.message(content, session_run.metadata());
        self.say(&session_run.acting, &session_run.context.session_id, &message, &ends(event.run)).await
    }

    async fn canceled(&self, session_run: &SessionRun) -> Result<(), Fault> {
        // A stop by the owner silences the agent here too.
        if let Some(agent) = self.agent(session_run.acting.handle())
            && self.0.runs.stopped(agent.name()).await?.is_some()
        {
            return Ok(());
        }
        self.send_failure(session_run, "run_canceled", "The run was canceled.").await
    }

    async fn send_failure(&self, session_run: &SessionRun, code: &str, text: &str) -> Result<(), Fault> {
        let mut metadata = session_run.metadata();
        metadata.insert("code".into(), code.into());
        let session = &session_run.context.session_id;
        self.notify(&session_run.acting, session, text, metadata, &ends(session_run.run.id)).await
    }

    /// Cancels everything that an agent does in a session, because the session is over for it.
    pub(crate) async fn leave(&self, session: &SessionId, agent: &plenary_runs::Agent) -> Result<(), Fault> {
        let by = Actor::Agent(agent.handle.clone());
        let mut part = 0;
        loop {
            let thread = thread_of(&agent.handle, session, part);
            if self.0.runs.thread(thread).await?.opened.is_none() {
                return Ok(());
            }
            self.0.runs.cancel_thread(thread, &by).await?;
            part += 1;
        }
    }
}

/// The idempotency key for the end of a run, whatever its outcome.
fn ends(run: RunId) -> String {
    format!("ends/{run}")
}
