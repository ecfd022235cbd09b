//! Whether the host still has the events that a copy has. After the host was restored from a backup, it gives numbers of lost
//! events to other events. Both networks then end the copy: each keeps its own history, and nothing is mixed.
//! Must not know: how the networks reach each other.

use std::convert::Infallible;

use plenary_engine::{Command, Conditions, Decided, Decision, Point};
use plenary_kernel::{OwnerName, SessionId, Stamp, Version};
use plenary_log::Fault;

use super::{host::horizon, wire::CopyEnd};
use crate::{
    Sessions,
    command::{Acknowledgement as Done, PartWithPeer},
    decide,
    event::{LeftReason, SessionEvent},
    room::SessionRoom,
    state::SessionState,
};

/// A host refuses a command with this code if it has another event where the copy ends.
pub const DIVERGED: &str = "diverged";

/// Parts with a peer, if its copy of a session does not end with an event of the session.
struct PartIfDiverged<'a> {
    sessions: &'a Sessions,
    peer: &'a OwnerName,
    id: &'a SessionId,
    copied: &'a CopyEnd,
}

impl Command<SessionRoom> for PartIfDiverged<'_> {
    const NAME: &'static str = "part_if_diverged";
    type Reply = Done;
    type Rejection = Infallible;
    /// The id of the event where the copy ends.
    type Facts = Option<String>;

    async fn facts(&self, _: &SessionState, _: &mut Conditions) -> Result<Option<String>, Fault> {
        self.sessions.event_id(self.id, Version(self.copied.after)).await
    }

    fn decide(&self, state: &SessionState, event: &Option<String>, at: &Point) -> Decided<SessionRoom, Self> {
        let is_same =
            Version(self.copied.after) <= at.version && event.as_deref() == Some(&*self.copied.last);
        Ok(part_if_diverged(state, self.peer, is_same, &at.stamp))
    }
}

/// The peer's agents leave unless its copy ends with an event of the session. The reply is not `ok` if it does not.
fn part_if_diverged(
    state: &SessionState,
    peer: &OwnerName,
    is_same: bool,
    stamp: &Stamp,
) -> Decision<SessionEvent, Done> {
    if is_same {
        return Decision::unchanged(Done { ok: true });
    }
    let parting = decide::part(state, peer, LeftReason::HostRestored, stamp);
    Decision { reply: Done { ok: false }, ..parting }
}

impl Sessions {
    /// The id of an event without its prefix; `None` if there is no such event, or if it is the creation.
    pub(crate) async fn event_id(&self, id: &SessionId, at: Version) -> Result<Option<String>, Fault> {
        // A peer may name any number.
        if at.0 >= i64::MAX.unsigned_abs() {
            return Ok(None);
        }
        let event = self.event_at(id, at).await?.filter(|event| event.version == at);
        let Some(event) = event else { return Ok(None) };
        Ok(SessionEvent::decode(&event)?.id().map(str::to_owned))
    }

    /// Where the copy of a session ends, for its host; `None` without events after the creation.
    pub(super) async fn copy_end(&self, id: &SessionId) -> Result<Option<CopyEnd>, Fault> {
        let (state, version) = self.0.streams.fresh(id.as_str()).await?;
        if state.closed {
            return Ok(None);
        }
        let last = self.event_id(id, version).await?;
        Ok(last.map(|last| CopyEnd { after: version.0, last }))
    }

    /// As the host: whether the copy of a peer does not end with an event of this session. Then the peer's agents have left.
    /// The peer's signature was stored just before, so this process can write, and what it reads is not an old view.
    pub(super) async fn has_diverged(
        &self,
        peer: &OwnerName,
        id: &SessionId,
        copied: &CopyEnd,
    ) -> Result<bool, Fault> {
        let (state, head) = self.0.streams.fresh(id.as_str()).await?;
        if state.host().is_some() || horizon(&state, peer, head).is_none() {
            // Former participants stay in the state, so the copy is of a session, or of a part of it, that is lost. The answer
            // is the same if there never was one.
            return Ok(true);
        }
        let at = Version(copied.after);
        if at <= head && self.event_id(id, at).await?.as_deref() == Some(&*copied.last) {
            return Ok(false);
        }
        let command = PartIfDiverged { sessions: self, peer, id, copied };
        Ok(!self.note_with_reply(id.as_str(), &command).await?.ok)
    }

    /// As the home: ends the copy of a session whose host has other events.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn end_copy(&self, peer: &OwnerName, id: &SessionId) -> Result<(), Fault> {
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        if state.host() != Some(peer) {
            return Ok(());
        }
        let command = PartWithPeer { peer: peer.clone(), reason: LeftReason::HostRestored };
        self.note(id.as_str(), &command).await
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::TimestampMs;

    use super::*;
    use crate::event::{AgentInvited, SessionCreated};

    fn session() -> SessionState {
        let (ann, guest) = ("@o.ann".parse().unwrap(), "@ida-at-rose.bot".parse().unwrap());
        let creation = SessionCreated { creator: ann, topic: None, host: None };
        let invitation = AgentInvited {
            id: "1".into(),
            invitee: guest,
            by: creation.creator.clone(),
            inline: false,
            offered: false,
            held: false,
            settles: None,
            denied: false,
            elsewhere: true,
        };
        let mut state = SessionState::default();
        state.evolve(Version(1), TimestampMs(1), &SessionEvent::SessionCreated(creation));
        state.evolve(Version(2), TimestampMs(2), &SessionEvent::AgentInvited(invitation));
        state
    }

    #[test]
    fn agents_of_a_peer_leave_where_its_copy_ends_with_another_event() {
        let (state, stamp) = (session(), Stamp::new(TimestampMs(1), [7; 10]));
        let rose: OwnerName = "rose".parse().unwrap();
        let decided = |peer: &OwnerName, is_same| {
            let decision = part_if_diverged(&state, peer, is_same, &stamp);
            let reasons = decision.events.iter().map(|event| {
                let SessionEvent::AgentLeft(leaving) = event else { panic!("{event:?}") };
                leaving.reason
            });
            (reasons.collect::<Vec<_>>(), decision.reply.ok)
        };
        assert_eq!(decided(&rose, true), (vec![], true));
        assert_eq!(decided(&rose, false), (vec![LeftReason::HostRestored], false));
        assert_eq!(decided(&"acme".parse().unwrap(), false), (vec![], false), "nobody has to leave");
    }
}
