//! Invitations of strangers to agents without self-service: requests to the people of the agent's owner. The agent
//! may still join by itself; that ends the request. Held invitations: the agent joins once a person accepts.
//! Must not know: the content of a session.

use plenary_engine::ExecuteError;
use plenary_kernel::{AgentHandle, AskId, SessionId, TimestampMs, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_requests::{
    Allow, AnswerType, Content, Detail, Kind, MakeRequest, OnTimeout, Source,
    wire::{RequestView, SourceView},
};
use plenary_sessions::{
    event::{AgentInvited, SessionEvent},
    state::{Participant, SessionState, Standing},
};
use serde_json::json;

use crate::{HOLD_MS, Sources, later::Share, sources::line};

/// Most participants that a request names.
const NAMES_MAX: usize = 20;

fn request_of(session: &SessionId, invitee: &AgentHandle, at: Version) -> AskId {
    AskId::of_source(&format!("sessions/{session}/{invitee}/{}", at.0))
}

/// Whether an event of a session creates or settles an invitation.
pub(crate) fn concerns(event: &StoredEvent) -> bool {
    match &*event.kind {
        "SessionEnded" | "SessionReopened" => true,
        "AgentInvited" | "AgentJoined" | "AgentLeft" => match SessionEvent::decode(event) {
            Ok(SessionEvent::AgentInvited(invited)) => {
                let is_own = invited.by.owner() == invited.invitee.owner();
                invited.offered || invited.held || invited.settles.is_some() || is_own
            }
            Ok(SessionEvent::AgentJoined(moved)) => moved.settles.is_some(),
            Ok(SessionEvent::AgentLeft(left)) => left.held || left.settles.is_some(),
            Ok(_) | Err(_) => false,
        },
        _ => false,
    }
}

/// The participants that an agent would meet.
fn company(state: &SessionState, invitee: &AgentHandle) -> Detail {
    let others: Vec<_> =
        state.present().filter(|other| *other != invitee).map(ToString::to_string).take(NAMES_MAX).collect();
    Detail { text: Some(format!("In the session: {}", others.join(", "))), ..Detail::default() }
}

impl Sources {
    /// An agent was invited, joined or left, or the session ended.
    pub(crate) async fn invitation_moved(&self, event: &StoredEvent) -> Result<Option<Share>, Fault> {
        let Ok(session) = event.stream.id().parse::<SessionId>() else { return Ok(None) };
        let (state, _) = self.0.sessions.stored_state(&session).await?;
        match SessionEvent::decode(event)? {
            SessionEvent::AgentInvited(invited) => {
                self.give_up_earlier(&session, &state, &invited.invitee, event.version).await?;
                if invited.offered || invited.held {
                    return self.ask_invited(&session, &state, event.version, invited).await;
                }
            }
            SessionEvent::AgentJoined(moved) => {
                self.give_up_earlier(&session, &state, &moved.agent, event.version).await?;
            }
            SessionEvent::AgentLeft(left) => {
                self.give_up_earlier(&session, &state, &left.agent, event.version).await?;
            }
            SessionEvent::SessionEnded(_) => {
                // The held invitee of a send-and-end may still be let in: then it reopens the session.
                let lapsed = |one: &Participant| one.held.is_some() && !one.may_reopen;
                let offered = state.participants.iter();
                let offered =
                    offered.filter(|(_, one)| one.offered_by.is_some() && one.held.is_none() || lapsed(one));
                for (handle, _) in offered {
                    self.give_up_earlier(&session, &state, handle, event.version).await?;
                }
            }
            SessionEvent::SessionReopened(_) => {
                for (handle, _) in state.participants.iter().filter(|(_, one)| one.held.is_some()) {
                    self.give_up_earlier(&session, &state, handle, event.version).await?;
                }
            }
            SessionEvent::SessionCreated(_)
            | SessionEvent::MessageSent(_)
            | SessionEvent::AgentDisconnected(_)
            | SessionEvent::AgentReconnected(_) => {}
        }
        Ok(None)
    }

    /// Withdraws the requests for earlier invitations of the agent.
    async fn give_up_earlier(
        &self,
        session: &SessionId,
        state: &SessionState,
        invitee: &AgentHandle,
        before: Version,
    ) -> Result<(), Fault> {
        let Some(participant) = state.participant(invitee) else { return Ok(()) };
        for at in participant.glimpses.iter().filter(|at| **at < before) {
            self.0.requests.give_up(&request_of(session, invitee, *at)).await?;
        }
        Ok(())
    }

    async fn ask_invited(
        &self,
        session: &SessionId,
        state: &SessionState,
        at: Version,
        AgentInvited { invitee, by, held, .. }: AgentInvited,
    ) -> Result<Option<Share>, Fault> {
        let is_due =
            |one: &Participant| one.standing == Standing::Invited || one.held == Some(at) && one.may_reopen;
        if !state.participant(&invitee).is_some_and(is_due) {
            return Ok(None);
        }
        let known = self.0.accounts.agent(&invitee).await?;
        // Agents that the server runs join by themselves.
        let is_hosted = self.0.accounts.acting(&invitee, 0).is_some();
        let decides_itself = is_hosted || known.state.configures_itself();
        if !known.state.is_live() || decides_itself && !held {
            return Ok(None);
        }
        let topic = state.created.as_ref().and_then(|created| created.topic.as_deref());
        let title = match topic {
            Some(topic) => format!("{by} invites {invitee}: {topic}"),
            None => format!("{by} invites {invitee} to a session"),
        };
        let stranger = (by.owner() != invitee.owner()).then(|| by.owner_name());
        let content = Content {
            title: line(&title),
            on_behalf_of: Some(by),
            action: None,
            detail: held.then(|| company(state, &invitee)),
            source: Some(SourceView {
                room: "sessions".into(),
                id: session.to_string(),
                url: Some(line(&format!("/sessions/{session}"))),
            }),
            directory: None,
            choices: Vec::new(),
            form: None,
        };
        let command = MakeRequest {
            source: Source::Server,
            agent: invitee.clone(),
            stranger,
            kind: if held { Kind::Hold } else { Kind::Invitation },
            to: None,
            allow: Allow { accept: true, edit: false, respond: false, ignore: true },
            deadline: held.then(|| TimestampMs(self.0.requests.now().0.saturating_add(HOLD_MS))),
            on_timeout: if held { OnTimeout::Ignore } else { OnTimeout::None },
            tool: None,
            directory: None,
            notifies_inbox: true,
            content: json!(content).to_string().into(),
        };
        self.ask(&request_of(session, &invitee, at), command).await
    }

    /// Applies the answer: the agent joins after accepting, and leaves after ignoring. To a session that has ended, it may
    /// answer after accepting.
    pub(crate) async fn answer_held_invitation(&self, request: &RequestView) -> Result<(), Fault> {
        let session = request.source.as_ref().and_then(|source| source.id.parse::<SessionId>().ok());
        let (Some(session), Some(answer)) = (session, &request.answer) else { return Ok(()) };
        let (state, _) = self.0.sessions.stored_state(&session).await?;
        let held = state.participant(&request.from).and_then(|invited| invited.held);
        // The agent may have been invited again since, which is another request.
        let held = held.filter(|at| request_of(&session, &request.from, *at) == request.request_id);
        let Some(at) = held else { return Ok(()) };
        let accepted = answer.answer == AnswerType::Accept;
        self.0.sessions.settle_invitation(&session, &request.from, at, accepted).await
    }

    /// Applies the answer: after accepting the agent joins, after ignoring the invitation still waits for the agent
    /// itself.
    pub(crate) async fn answer_invitation(&self, request: &RequestView) -> Result<(), Fault> {
        let session = request.source.as_ref().and_then(|source| source.id.parse::<SessionId>().ok());
        let (Some(session), Some(answer)) = (session, &request.answer) else { return Ok(()) };
        if answer.answer != AnswerType::Accept {
            return Ok(());
        }
        // The request records the person who answered; the server itself executes the answer.
        let acting = self.0.accounts.acting_for_person(&request.from);
        ExecuteError::skip_refused(self.0.sessions.join(&session, &acting).await).map(drop)
    }
}
