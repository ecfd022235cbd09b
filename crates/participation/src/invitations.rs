//! Invitations of an agent: it joins, and receives the message of the invitation.
//! Must not know: the effect of the message.

use plenary_engine::ExecuteError;
use plenary_kernel::{AgentHandle, SessionId, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_runs::Agent;
use plenary_sessions::event::SessionEvent;

use crate::{Participation, limits::LOOK_BACK_EVENTS, room::is_in};

impl Participation {
    /// Handles an invitation.
    pub(crate) async fn invited(&self, session: &SessionId, stored: &StoredEvent) -> Result<(), Fault> {
        let SessionEvent::AgentInvited(invited) = SessionEvent::decode(stored)? else { return Ok(()) };
        match self.agent(&invited.invitee) {
            Some(agent) => self.enter(&agent, session, stored.version).await,
            None => Ok(()),
        }
    }

    /// Handles a person's acceptance of an agent's invitation: the agent receives the invitation's message and all
    /// later ones.
    pub(crate) async fn released(&self, session: &SessionId, stored: &StoredEvent) -> Result<(), Fault> {
        let SessionEvent::AgentJoined(joined) = SessionEvent::decode(stored)? else { return Ok(()) };
        let Some(agent) = self.agent(&joined.agent).filter(|_| joined.released) else { return Ok(()) };
        let past = self.0.sessions.tail(session, stored.version, LOOK_BACK_EVENTS).await?;
        let (mut invited, mut messages) = (None, Vec::new());
        for event in &past {
            match SessionEvent::decode(event)? {
                SessionEvent::AgentInvited(to) if to.invitee == agent.handle => {
                    invited = Some(event.version);
                    messages.clear();
                }
                SessionEvent::MessageSent(sent) => messages.push((event, sent)),
                SessionEvent::AgentInvited(_)
                | SessionEvent::SessionCreated(_)
                | SessionEvent::AgentJoined(_)
                | SessionEvent::AgentDisconnected(_)
                | SessionEvent::AgentReconnected(_)
                | SessionEvent::AgentLeft(_)
                | SessionEvent::SessionEnded(_)
                | SessionEvent::SessionReopened(_) => {}
            }
        }
        if let Some(invited) = invited {
            self.enter(&agent, session, invited).await?;
        }
        let (state, _) = self.0.sessions.stored_state(session).await?;
        for (event, sent) in messages.iter().filter(|_| is_in(&state, &agent.handle)) {
            self.handle_message(&agent, session, &state, event, sent).await?;
        }
        Ok(())
    }

    /// Makes an agent that was stopped, or is new here, join the sessions that it is still invited to.
    pub(crate) async fn enter_all(&self, handle: &AgentHandle) -> Result<(), Fault> {
        let Some(agent) = self.agent(handle) else { return Ok(()) };
        for session in self.0.sessions.open_invitations(handle).await? {
            let (_, head) = self.0.sessions.stored_state(&session).await?;
            self.enter(&agent, &session, head).await?;
        }
        Ok(())
    }

    /// Joins, and receives the last message up to version `until` if its sender also sent the invitation.
    async fn enter(&self, agent: &Agent, session: &SessionId, until: Version) -> Result<(), Fault> {
        if self.0.runs.stopped(agent.name()).await?.is_some() {
            return Ok(());
        }
        let Some(acting) = self.0.accounts.acting(&agent.handle, 0) else { return Ok(()) };
        // The session ended, the agent left meanwhile, its account was deleted, or its owner's quota is used up.
        if ExecuteError::skip_refused(self.0.sessions.join(session, &acting).await)?.is_none() {
            return Ok(());
        }
        let (state, _) = self.0.sessions.stored_state(session).await?;
        if !is_in(&state, &agent.handle) {
            return Ok(());
        }
        let mut inviters = Vec::new();
        for stored in self.0.sessions.tail(session, until, LOOK_BACK_EVENTS).await?.iter().rev() {
            match SessionEvent::decode(stored)? {
                SessionEvent::AgentInvited(invited) if invited.invitee == agent.handle => {
                    inviters.push(invited.by);
                }
                SessionEvent::MessageSent(sent) => {
                    if inviters.contains(&sent.sender) {
                        self.handle_message(agent, session, &state, stored, &sent).await?;
                    }
                    return Ok(());
                }
                SessionEvent::AgentInvited(_)
                | SessionEvent::SessionCreated(_)
                | SessionEvent::AgentJoined(_)
                | SessionEvent::AgentDisconnected(_)
                | SessionEvent::AgentReconnected(_)
                | SessionEvent::AgentLeft(_)
                | SessionEvent::SessionEnded(_)
                | SessionEvent::SessionReopened(_) => {}
            }
        }
        Ok(())
    }
}
