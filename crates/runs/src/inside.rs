//! Runs inside the process: another room calls a hosted agent on a thread that is bound to an object of that room,
//! through the same deciders as all callers.
//! Must not know: the object of the thread.

use std::{collections::HashMap, sync::Arc};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use plenary_accounts::{Actor, Authority, HostedIdentity};
use plenary_engine::{
    ExecuteError, Executed, KeyUse, Room as _, Sealed, recount, recount_event, recount_in, seal,
};
use plenary_kernel::{AgentHandle, Position, Version};
use plenary_log::{Charge, Fault, PageSize, StoredEvent};

use crate::{
    EventKind, Runs,
    command::{Caller, InterruptReceipt, Request, ResumeRun, RunStart},
    configuration::ConfigurationRoom,
    decide::Rejection,
    enlistment::EnlistedRoom,
    event::{Artifact, ThreadEvent},
    id::{RunId, ThreadId},
    refusals::RunRefusal,
    registry::{Agent, Registry},
    room::ThreadRoom,
    runs::stream,
    state::{RunState, ThreadState},
    switch::{SwitchEvent, SwitchRoom},
    wire::AgentDescriptor,
};

/// Why a run is not started.
pub type StartError = ExecuteError<Rejection>;

fn caller(identity: &HostedIdentity, agent: &Agent, sender: &AgentHandle) -> Caller {
    Caller {
        authority: identity.authority(),
        agent: agent.name().into(),
        owner: agent.owner(),
        gate: agent.gate(),
        on_behalf_of: Some(sender.clone()),
    }
}

/// Attributes the events of runs, in log order, to the owners whose quota they use. It finds a thread's payer as an
/// append does, but without reading the store.
#[derive(Debug, Default)]
pub(crate) struct Recount {
    /// The opened threads, without their runs.
    threads: HashMap<String, ThreadState>,
}

/// The owner whose quota an event of an agent's settings counts towards, and its size.
fn recount_setting(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
    let (configured, enlisted) = (recount_event::<ConfigurationRoom>, recount_event::<EnlistedRoom>);
    recount_in(event, &[configured, enlisted, recount_event::<SwitchRoom>])
}

impl Recount {
    /// The owner whose quota the next event counts towards, and its size.
    pub(crate) fn next(&mut self, stored_event: &StoredEvent) -> Result<Option<Charge>, Fault> {
        if stored_event.stream.category() != ThreadRoom::CATEGORY {
            return recount_setting(stored_event);
        }
        let thread = self.threads.entry(stored_event.stream.id().to_owned()).or_default();
        let counted = recount::<ThreadRoom>(thread, stored_event);
        if stored_event.kind == "RunQueued" && thread.opened.is_none() {
            let mut opened = ThreadState::default();
            opened.evolve(stored_event.version, stored_event.at, &ThreadRoom::decode(stored_event)?);
            *thread = ThreadState { opened: opened.opened, ..ThreadState::default() };
        }
        counted
    }
}

impl Runs {
    /// The category of the streams of threads.
    pub const CATEGORY: &'static str = ThreadRoom::CATEGORY;
    /// The category of the streams of switches.
    pub const SWITCHES: &'static str = SwitchRoom::CATEGORY;

    /// The agents of this server.
    pub fn agents(&self) -> &Registry {
        &self.0.registry
    }

    /// A thread as it is on disk; the empty state if it does not exist.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn thread(&self, thread: ThreadId) -> Result<Arc<ThreadState>, Fault> {
        self.fresh(thread).await
    }

    /// Starts a run of an agent on a bound thread with a message of `sender`; the first request opens the thread.
    /// Equal keys start it once.
    ///
    /// # Errors
    /// Why it is not started.
    pub async fn begin_bound(
        &self,
        identity: &HostedIdentity,
        (agent, sender): (&Agent, &AgentHandle),
        thread: ThreadId,
        request: Request,
        key: &KeyUse,
    ) -> Result<Executed<RunStart>, StartError> {
        if self.0.stop.is_cancelled() {
            return Err(Fault::Unavailable("the server stops".into()).into());
        }
        let is_new = self.fresh(thread).await?.opened.is_none();
        let begin = |is_new| {
            self.start(caller(identity, agent, sender), (thread, is_new), request.clone(), Some(key))
        };
        match begin(is_new).await {
            // The thread was opened meanwhile.
            Err(ExecuteError::Rejected(Rejection::IdTaken)) => Ok(begin(false).await?),
            done => Ok(done?),
        }
    }

    /// Answers the waiting run of a bound thread with a message of `sender`. Equal keys answer it once.
    ///
    /// # Errors
    /// Why the answer is not accepted.
    pub async fn resume_bound(
        &self,
        identity: &HostedIdentity,
        (agent, sender): (&Agent, &AgentHandle),
        (thread, run): (ThreadId, RunId),
        body: Bytes,
        key: &KeyUse,
    ) -> Result<Executed<InterruptReceipt>, StartError> {
        let command =
            ResumeRun { caller: caller(identity, agent, sender), run: Some(run), question: None, body };
        self.ask(thread, command, Some(key)).await
    }

    /// Answers a waiting run with a person's answer. Another room asked that person in the name of the thread's
    /// opener; `is_question` tells from the version of the question whether it was this one. A run that no longer
    /// waits, or waits for something else, stays unchanged.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn resume_for_person(
        &self,
        (thread, run): (ThreadId, RunId),
        is_question: impl FnOnce(Version) -> bool + Send,
        body: Bytes,
    ) -> Result<(), Fault> {
        let state = self.fresh(thread).await?;
        let Some(run) = state.run(run).filter(|run| is_question(run.waits)) else { return Ok(()) };
        let agent = state.opened.as_ref().and_then(|opened| self.0.registry.get(&opened.agent));
        let Some(agent) = agent else { return Ok(()) };
        let caller = Caller {
            // The room that asked the person has already decided that the person may answer.
            authority: Authority { by: Actor::Operator, token: None },
            agent: agent.name().into(),
            owner: agent.owner(),
            gate: agent.gate(),
            on_behalf_of: None,
        };
        let command = ResumeRun { caller, run: Some(run.id), question: Some(run.asks), body };
        ExecuteError::skip_refused(self.ask(thread, command, None).await).map(drop)
    }

    /// The event at a version of a thread, and its position in the log.
    ///
    /// # Errors
    /// If the store fails, or there is no such event.
    pub fn thread_event(
        &self,
        thread: ThreadId,
        at: Version,
    ) -> Sealed<'_, Result<(ThreadEvent, Position), Fault>> {
        seal(async move {
            let stored_events =
                self.log().read_stream(&stream(thread), Version(at.0.saturating_sub(1)), 1).await?;
            let stored_event = stored_events
                .first()
                .ok_or_else(|| Fault::Corrupt(format!("nothing stands at {at} of {thread}")))?;
            Ok((ThreadEvent::decode(stored_event)?, stored_event.position))
        })
    }

    /// The output of an ended run: its first artifacts, and its text up to the event that exceeds `text_bytes_max`.
    ///
    /// # Errors
    /// If the store fails.
    pub fn output<'a>(
        &'a self,
        thread: ThreadId,
        run: &'a RunState,
        artifacts_max: usize,
        text_bytes_max: usize,
    ) -> Sealed<'a, Result<RunOutput, Fault>> {
        seal(async move {
            let (mut cursor, mut size, mut output) = (run.started, PageSize::default(), RunOutput::default());
            let stream = stream(thread);
            while cursor < run.ended {
                let stored_events = self.log().read_stream(&stream, cursor, size.events()).await?;
                size.learn(&stored_events);
                let Some(last) = stored_events.last() else { break };
                cursor = last.version;
                for stored_event in
                    stored_events.iter().filter(|stored_event| stored_event.version < run.ended)
                {
                    if let ThreadEvent::EventEmitted(event) = ThreadEvent::decode(stored_event)?
                        && event.run == run.id
                    {
                        if event.kind == EventKind::TextOutput && output.text.len() <= text_bytes_max {
                            output.text.push_str(&text_of(&event.members));
                        }
                        output.artifacts.extend(event.artifact);
                    }
                }
            }
            output.artifacts.truncate(artifacts_max);
            Ok(output)
        })
    }

    /// The bytes of an artifact, if they are within `max` and readable.
    pub async fn bytes(&self, artifact: &Artifact, max: u64) -> Option<Bytes> {
        if artifact.bytes > max {
            return None;
        }
        let mut content = self.content(artifact).await.ok()?;
        let mut bytes = BytesMut::new();
        while let Some(piece) = content.stream.next().await {
            bytes.extend_from_slice(&piece.ok()?);
        }
        Some(bytes.freeze())
    }

    /// The description of an agent.
    pub(crate) async fn described(&self, agent: &Agent) -> Result<AgentDescriptor, RunRefusal> {
        Ok(AgentDescriptor::of(agent, self.stopped(agent.name()).await?.is_some()))
    }
}

/// The output of a run.
#[derive(Debug, Default)]
pub struct RunOutput {
    /// Its artifacts.
    pub artifacts: Vec<Artifact>,
    /// Its TextOutputs, joined.
    pub text: String,
}

/// The `content` of a TextOutput.
fn text_of(members: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Members {
        content: String,
    }
    serde_json::from_slice(members).map(|Members { content }| content).unwrap_or_default()
}

/// Whether a stored event of a switch stops its agent.
///
/// # Errors
/// `Corrupt`.
pub fn stops(stored_event: &StoredEvent) -> Result<bool, Fault> {
    match SwitchRoom::decode(stored_event)? {
        SwitchEvent::AgentStopped(_) => Ok(true),
        SwitchEvent::AgentStarted(_) => Ok(false),
    }
}
