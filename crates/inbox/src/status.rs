//! What is known to have become of one message with each of its recipients. No state is claimed that is not true: each
//! follows from something that the recipient, or its stack, has done.
//! Must not know: HTTP.

use plenary_kernel::{AgentHandle, SessionId};
use plenary_log::Fault;
use plenary_sessions::receipts::Recipient;
use plenary_wire::inbox::{MessageStatus, RecipientStatus};

use crate::{Inbox, cursor::Place, kind::Kind, marks::State};

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
            let state = self.state(&recipient).await?;
            let answered_at = recipient.answered_at.map(plenary_kernel::TimestampMs::rfc3339);
            recipients.push(RecipientStatus { agent: recipient.agent, state, at: answered_at });
        }
        let accepted_at = receipt.at.rfc3339();
        Ok(Some(MessageStatus { session_id: id.clone(), sequence, accepted_at, recipients }))
    }

    async fn state(&self, recipient: &Recipient) -> Result<State, Fault> {
        if recipient.answered_at.is_some() {
            return Ok(State::Acknowledged);
        }
        let Some((position, nth)) = recipient.place else { return Ok(State::Accepted) };
        let marks = self.marks(&recipient.agent).await?;
        let confirmed = self.0.cursors.confirmed(&recipient.agent).await?;
        Ok(known(recipient, position <= confirmed, marks.state(Kind::SessionMessage, Place(position, nth))))
    }
}

/// The furthest of what is known.
fn known(recipient: &Recipient, is_confirmed: bool, marked: State) -> State {
    let by_reading = if recipient.has_read { State::Seen } else { State::Accepted };
    let by_stack = if is_confirmed { State::Delivered } else { State::Accepted };
    // A mark goes over what was given alone: the older part of a transcript never is.
    let by_mark = if recipient.is_news { marked } else { State::Accepted };
    by_reading.max(by_stack).max(by_mark)
}

#[cfg(test)]
mod tests {
    use plenary_kernel::Position;

    use super::*;

    #[test]
    fn what_is_known_is_the_furthest_that_something_shows() {
        let recipient = |has_read, is_news| Recipient {
            agent: "@bob.cli".parse().unwrap(),
            place: Some((Position(7), 0)),
            is_news,
            has_read,
            answered_at: None,
        };
        for (has_read, is_news, is_confirmed, marked, state) in [
            (false, true, false, State::Accepted, State::Accepted),
            (false, true, true, State::Accepted, State::Delivered),
            (false, true, false, State::Delivered, State::Delivered),
            (true, true, false, State::Delivered, State::Seen),
            (true, true, true, State::Acknowledged, State::Acknowledged),
            (false, false, false, State::Acknowledged, State::Accepted),
            (true, false, true, State::Acknowledged, State::Seen),
        ] {
            assert_eq!(known(&recipient(has_read, is_news), is_confirmed, marked), state);
        }
    }
}
