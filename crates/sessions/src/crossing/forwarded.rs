//! What this network has forwarded to the hosts of peers' sessions. It is stored before it is forwarded, so that no crash and
//! no lost answer leaves an agent in a session at the host alone.
//! Must not know: which events need it.

use bytes::Bytes;
use plenary_accounts::may_contact;
use plenary_kernel::{AgentHandle, SessionId};
use plenary_log::{Batch, Fault, RowOp};

use super::{
    copy::{Deed, OwnAct},
    wire::{CrossingAction, CrossingCommand},
};
use crate::{Sessions, state::SessionState};

fn row(id: &SessionId, OwnAct { agent, deed }: &OwnAct) -> String {
    let deed = match deed {
        Deed::Join => "join".to_owned(),
        Deed::Reopen => "reopen".to_owned(),
        Deed::Invite(invitee) => format!("invite/{invitee}"),
        Deed::InviteReturning => "invite".to_owned(),
    };
    format!("session_forwarded/{id}/{agent}/{deed}")
}

impl Sessions {
    /// Stores what a command of an agent of this network does.
    pub(super) async fn note_forwarded(
        &self,
        id: &SessionId,
        command: &CrossingCommand,
    ) -> Result<(), Fault> {
        let agent = &command.agent;
        let mut deeds = match command.action {
            CrossingAction::Join | CrossingAction::Accept => vec![Deed::Join],
            CrossingAction::Reopen if command.invite.is_none() => vec![Deed::Reopen, Deed::InviteReturning],
            CrossingAction::Reopen => vec![Deed::Reopen],
            CrossingAction::Invite => Vec::new(),
            CrossingAction::Leave | CrossingAction::End | CrossingAction::Send | CrossingAction::Evict => {
                return Ok(());
            }
        };
        let inviter = self.accounts().agent(agent).await?;
        for invitee in command.invite.iter().flatten().filter(|invitee| !invitee.is_elsewhere()) {
            // Nobody else takes the invitation, so the number of rows has a limit.
            if may_contact(&inviter, &self.accounts().agent(invitee).await?) {
                deeds.push(Deed::Invite(invitee.clone()));
            }
        }
        let mut rows = Vec::new();
        for deed in deeds {
            let act = OwnAct { agent: agent.clone(), deed };
            if !self.was_forwarded(id, &act).await? {
                rows.push(RowOp { name: row(id, &act), expected: None, value: Some(Bytes::new()) });
            }
        }
        if !rows.is_empty() {
            self.log().append(Batch { rows, ..Batch::default() }).await?;
        }
        Ok(())
    }

    /// Whether this network has forwarded an act of its agent.
    pub(super) async fn was_forwarded(&self, id: &SessionId, act: &OwnAct) -> Result<bool, Fault> {
        Ok(self.log().read_row(&row(id, act)).await?.is_some())
    }

    /// Whether this network has forwarded an invitation of its agent for another one.
    pub(super) async fn has_invited(
        &self,
        (id, state): (&SessionId, &SessionState),
        inviter: &AgentHandle,
        invitee: &AgentHandle,
    ) -> Result<bool, Fault> {
        let act = |deed| OwnAct { agent: inviter.clone(), deed };
        let is_returning = state.participant(invitee).is_some();
        Ok(self.was_forwarded(id, &act(Deed::Invite(invitee.clone()))).await?
            || is_returning && self.was_forwarded(id, &act(Deed::InviteReturning)).await?)
    }
}
