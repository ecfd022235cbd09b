//! What is known to have become of one message with each of its recipients. No state is claimed that is not true: each
//! follows from something that the recipient, or its stack, has done.
//! Must not know: HTTP.

use plenary_kernel::{AgentHandle, SessionId, TimestampMs};
use plenary_log::Fault;
use plenary_sessions::receipts::Recipient;

use crate::{
    Inbox,
    cursor::Place,
    kind::Kind,
    marks::State,
    showing::Reason,
    wire::{MessageStatus, RecipientStatus, Waiting},
};

impl Inbox {
    /// The states of a message; `None` when it is not there for the caller.
    pub(crate) async fn status(
        &self,
        me: &AgentHandle,
        id: &SessionId,
        sequence: u64,
    ) -> Result<Option<MessageStatus>, Fault> {
        let Some(receipt) = self.0.rooms.sessions.receipt(me, id, sequence).await? else { return Ok(None) };
        let mut recipients = Vec::with_capacity(receipt.recipients.len());
        for recipient in receipt.recipients {
            let (state, waiting) = self.state(&recipient).await?;
            let answered_at = recipient.answered_at.map(TimestampMs::rfc3339);
            recipients.push(RecipientStatus { agent: recipient.agent, state, at: answered_at, waiting });
        }
        let accepted_at = receipt.at.rfc3339();
        Ok(Some(MessageStatus { session_id: id.clone(), sequence, accepted_at, recipients }))
    }

    async fn state(&self, recipient: &Recipient) -> Result<(State, Option<Waiting>), Fault> {
        let Some((position, nth)) = recipient.place else {
            let waiting = Waiting { reason: Reason::NotJoined, since: None };
            let is_out = recipient.has_left || !self.is_there(&recipient.agent).await?;
            return Ok(if is_out { (State::Expired, None) } else { (State::Accepted, Some(waiting)) });
        };
        let marks = self.settled_marks(&recipient.agent).await?;
        let confirmed = self.0.cursors.confirmed(&recipient.agent).await?;
        let marked = marks.state(Kind::SessionMessage, Place(position, nth));
        let state = known(recipient, position <= confirmed, marked);
        if state >= State::InContext {
            return Ok((state, None));
        }
        if !self.is_there(&recipient.agent).await? {
            return Ok((State::Expired, None));
        }
        let waiting = marks.shown.reason(self.0.clock.now());
        let since = |since: TimestampMs| since.rfc3339();
        let waiting = waiting.map(|(reason, at)| Waiting { reason, since: at.map(since) });
        Ok((state, waiting))
    }

    async fn is_there(&self, agent: &AgentHandle) -> Result<bool, Fault> {
        Ok(self.0.rooms.accounts.agent(agent).await?.state.is_live())
    }
}

/// The furthest of what is known.
fn known(recipient: &Recipient, is_confirmed: bool, marked: State) -> State {
    let by_reading = if recipient.has_read { State::InContext } else { State::Accepted };
    let by_stack = if is_confirmed { State::Delivered } else { State::Accepted };
    let by_answer = if recipient.answered_at.is_some() { State::Answered } else { State::Accepted };
    // A mark goes over what was given alone: the older part of a transcript never is.
    let by_mark = if recipient.is_news { marked } else { State::Accepted };
    by_reading.max(by_stack).max(by_answer).max(by_mark)
}

#[cfg(test)]
mod tests {
    use plenary_kernel::Position;

    use super::*;

    #[test]
    fn what_is_known_is_the_furthest_that_something_shows() {
        let recipient = |has_read, is_news, has_answered: bool| Recipient {
            agent: "@bob.cli".parse().unwrap(),
            place: Some((Position(7), 0)),
            has_left: false,
            is_news,
            has_read,
            answered_at: has_answered.then_some(TimestampMs(1)),
        };
        for (has_read, is_news, has_answered, is_confirmed, marked, state) in [
            (false, true, false, false, State::Accepted, State::Accepted),
            (false, true, false, true, State::Accepted, State::Delivered),
            (false, true, false, false, State::Delivered, State::Delivered),
            (false, true, false, true, State::Shown, State::Shown),
            (true, true, false, false, State::Delivered, State::InContext),
            (true, true, false, true, State::Acknowledged, State::Acknowledged),
            (false, false, false, false, State::Acknowledged, State::Accepted),
            (true, false, false, true, State::Acknowledged, State::InContext),
            (false, true, true, false, State::Shown, State::Answered),
            (false, true, true, false, State::Acknowledged, State::Acknowledged),
        ] {
            assert_eq!(known(&recipient(has_read, is_news, has_answered), is_confirmed, marked), state);
        }
    }
}
