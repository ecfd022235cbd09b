//! Sessions for agents that this server runs: they use the same deciders as all agents, and their messages carry an
//! origin that stops loops between agents.
//! Must not know: how an agent runs, or when it answers.

use std::sync::Arc;

use bytes::Bytes;
use plenary_accounts::HostedIdentity;
use plenary_engine::{ExecuteError, Executed, KeyUse, Room as _, Sealed, seal};
use plenary_kernel::{AgentHandle, SessionId, Version, limits::READ_ROWS_MAX};
use plenary_log::{Batch, Fault, Order, RowOp, StoredEvent};
use serde_json::{Map, Value};

use crate::{
    Sessions,
    command::{
        Acknowledgement as Okay, Caller, CreateBody, Draft, JoinSession, MessageAccepted, ReopenBody,
        SendMessage, SettleInvitation,
    },
    decide::Rejection,
    event::Origin,
    room::SessionRoom,
    state::{Participant, Phase, SessionState, Standing},
};

/// A message of an agent that this server runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// A string, or parts of the protocol.
    pub content: Value,
    /// The metadata.
    pub metadata: Map<String, Value>,
    /// The origin.
    pub origin: Origin,
    /// The span that sent it, as a `traceparent`.
    pub trace: Option<Box<str>>,
}

impl Message {
    fn draft(&self) -> Draft {
        let metadata = Value::Object(self.metadata.clone());
        let members = format!(r#""content":{},"metadata":{metadata}"#, self.content);
        let (origin, trace) = (Some(self.origin), self.trace.clone());
        Draft { members: Bytes::from(members), origin, files: Vec::new(), trace }
    }
}

impl Draft {
    /// The draft with the origin of an agent that this server runs, and with the span of its request.
    pub(crate) fn with_origin(self, identity: Option<&HostedIdentity>) -> Self {
        let origin =
            identity.map(|identity| Origin { hops: identity.hops().saturating_add(1), notice: false });
        let trace = plenary_telemetry::current().map(|span| span.to_string().into());
        Self { origin, trace, ..self }
    }
}

impl CreateBody {
    pub(crate) fn with_origin(self, identity: Option<&HostedIdentity>) -> Self {
        let initial_message = self.initial_message.map(|draft| draft.with_origin(identity));
        Self { initial_message, ..self }
    }
}

impl ReopenBody {
    pub(crate) fn with_origin(self, identity: Option<&HostedIdentity>) -> Self {
        let initial_message = self.initial_message.map(|draft| draft.with_origin(identity));
        Self { initial_message, ..self }
    }
}

/// The row with the version of a held invitation that a person has decided about, after `-` if it was declined.
fn consent_row(id: &SessionId, agent: &AgentHandle) -> String {
    format!("session_released/{agent}/{id}")
}

fn caller(identity: &HostedIdentity) -> Caller {
    Caller { handle: identity.handle().clone(), token: identity.proof() }
}

impl Sessions {
    /// The category of the session streams.
    pub const CATEGORY: &'static str = SessionRoom::CATEGORY;

    /// The state of a session on disk, and its version; the empty state if the session does not exist.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stored_state(&self, id: &SessionId) -> Result<(Arc<SessionState>, Version), Fault> {
        self.0.streams.fresh(id.as_str()).await
    }

    /// The state of a session in this process: at least everything that this process has committed. Waits for no
    /// append.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn current_state(&self, id: &str) -> Result<Arc<SessionState>, Fault> {
        Ok(self.0.streams.state(id).await?.0)
    }

    /// Joins an agent that this server runs.
    ///
    /// # Errors
    /// The rejections of any agent's command, or a fault of the store.
    pub fn join<'a>(
        &'a self,
        id: &'a SessionId,
        identity: &'a HostedIdentity,
    ) -> Sealed<'a, Result<Executed<Okay>, ExecuteError<Rejection>>> {
        seal(async move { self.ask(id, JoinSession(caller(identity)), None).await })
    }

    /// Applies a person's decision about the held invitation at a version: the agent joins or leaves, or may or may not reopen
    /// the session that was sent and ended. An invitation that is no longer held is not changed.
    ///
    /// # Errors
    /// When the store fails.
    pub fn settle_invitation<'a>(
        &'a self,
        id: &'a SessionId,
        agent: &'a AgentHandle,
        at: Version,
        accepted: bool,
    ) -> Sealed<'a, Result<(), Fault>> {
        seal(async move {
            let command = SettleInvitation { agent: agent.clone(), at, accepted };
            self.note_consent(id, &command).await?;
            let answer = match self.0.streams.execute(id.as_str(), &command, None).await {
                Ok(execution) => execution.reply,
                // An owner whose quota is used up can't join.
                Err(ExecuteError::KeyReused | ExecuteError::OverQuota(_)) => return Ok(()),
                Err(ExecuteError::Fault(fault)) => return Err(fault),
            };
            if answer.ok {
                return Ok(());
            }
            let (state, _) = self.0.streams.state(id.as_str()).await?;
            match state.host() {
                Some(peer) => self.settle_at_host((peer, id), &command).await,
                None => Ok(()),
            }
        })
    }

    /// Notes a person's decision about an invitation to a session that had ended before: whether the agent may reopen it.
    pub(crate) async fn note_consent(&self, id: &SessionId, command: &SettleInvitation) -> Result<(), Fault> {
        let SettleInvitation { agent, at, accepted } = command;
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        let is_held = |own: &Participant| own.may_reopen && own.held == Some(*at);
        if state.participant(agent).is_some_and(is_held) {
            let value = if *accepted { at.0.to_string() } else { format!("-{}", at.0) };
            let row = RowOp { name: consent_row(id, agent), expected: None, value: Some(Bytes::from(value)) };
            self.log().append(Batch { rows: vec![row], ..Batch::default() }).await?;
        }
        Ok(())
    }

    /// Whether a person has accepted or declined the held invitation at a version to a session that had ended.
    pub(crate) async fn consent(
        &self,
        id: &SessionId,
        agent: &AgentHandle,
        at: Version,
    ) -> Result<Option<bool>, Fault> {
        let row = self.log().read_row(&consent_row(id, agent)).await?;
        let at = at.0.to_string();
        Ok(row.and_then(|row| match row.value.strip_prefix(b"-") {
            Some(version) => (version == at.as_bytes()).then_some(false),
            None => (row.value == at).then_some(true),
        }))
    }

    /// Sends a message of an agent that this server runs, once per key.
    ///
    /// # Errors
    /// The rejections of any agent's command, or a fault of the store.
    pub fn send_message<'a>(
        &'a self,
        id: &'a SessionId,
        identity: &'a HostedIdentity,
        message: &'a Message,
        key: &'a KeyUse,
    ) -> Sealed<'a, Result<Executed<MessageAccepted>, ExecuteError<Rejection>>> {
        seal(async move {
            self.ask(id, SendMessage { caller: caller(identity), draft: Ok(message.draft()) }, Some(key))
                .await
        })
    }

    /// The last events of a session up to a version, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tail(&self, id: &SessionId, until: Version, max: usize) -> Result<Vec<StoredEvent>, Fault> {
        let count = u64::try_from(max).unwrap_or(u64::MAX).min(until.0);
        let after = Version(until.0 - count);
        let events = self.log().read_stream(&SessionRoom::stream(id.as_str()), after, max).await?;
        Ok(events.into_iter().filter(|event| event.version <= until).collect())
    }

    /// The active sessions to which an agent is invited and has not joined.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open_invitations<'a>(
        &'a self,
        handle: &'a AgentHandle,
    ) -> Sealed<'a, Result<Vec<SessionId>, Fault>> {
        seal(async move {
            let (mut after, mut invitations) = (None::<String>, Vec::new());
            loop {
                let ids = self.ids_of(handle, after.as_deref(), Order::Ascending, READ_ROWS_MAX).await?;
                for id in &ids {
                    let (state, _) = self.0.streams.state(id).await?;
                    let is_invited =
                        state.participant(handle).is_some_and(|p| p.standing == Standing::Invited);
                    if is_invited && state.phase == Phase::Active {
                        invitations.extend(id.parse());
                    }
                }
                if ids.len() < READ_ROWS_MAX {
                    return Ok(invitations);
                }
                after = ids.into_iter().next_back();
            }
        })
    }
}
