//! The state of one message for each recipient. Every state has evidence: an action of the recipient or of its
//! client.
//! Must not know: HTTP.

use std::collections::BTreeMap;

use plenary_accounts::{Attention, AttentionLevel, blocked_between};
use plenary_kernel::{AgentHandle, Position, SessionId, TimestampMs};
use plenary_log::Fault;
use plenary_room::async_trait;
use plenary_sessions::{
    crossing::{MessageStates, PeerState},
    event::version,
    receipts::{Arrival, Recipient},
    urgency::MessageUrgency,
};

use crate::{
    Inbox,
    attention::Passage,
    cursor::{ItemId, ItemPosition},
    handovers::Reason,
    kind::Kind,
    marks::{Marks, State},
    wire::{DeliveryDelay, MessageStatus, RecipientStatus},
};

impl Inbox {
    /// The states of a message; `None` if it does not exist for the caller.
    pub(crate) async fn status(
        &self,
        me: &AgentHandle,
        id: &SessionId,
        sequence: u64,
    ) -> Result<Option<MessageStatus>, Fault> {
        let Some(receipt) = self.0.rooms.sessions.receipt(me, id, sequence).await? else { return Ok(None) };
        let mut followed = receipt.recipients;
        let unfollowed = if receipt.is_frozen {
            std::mem::take(&mut followed)
        } else {
            self.take_blocked(me, &mut followed).await?
        };
        let mut recipients = self.states(followed, &receipt.sender, (id, sequence)).await?;
        if !receipt.is_frozen
            && let Err(fault) = self.note_reported(me, id, sequence, &recipients).await
        {
            tracing::debug!(%fault, "the states that are reported to a participant are not stored");
        }
        if !unfollowed.is_empty() {
            let read = self.reported(me, id).await;
            let reported =
                Fault::skip_corrupt(read, "damaged reported states are left out")?.unwrap_or_default();
            let state = |recipient: &Recipient| frozen(recipient, reported.of(sequence, &recipient.agent));
            recipients.extend(unfollowed.iter().map(state));
            recipients.sort_by(|one, other| one.agent.cmp(&other.agent));
        }
        let accepted_at = receipt.at.rfc3339();
        let session_id = id.clone();
        Ok(Some(MessageStatus { session_id, sequence, accepted_at, recipients, timed_out: false }))
    }

    /// Takes out the recipients that block the caller, or that it blocks: what they do is no longer shown to it (ASP-12).
    async fn take_blocked(
        &self,
        me: &AgentHandle,
        recipients: &mut Vec<Recipient>,
    ) -> Result<Vec<Recipient>, Fault> {
        let accounts = &self.0.rooms.accounts;
        let own = accounts.agent(me).await?;
        let (mut blocked, mut others) = (Vec::new(), Vec::new());
        for recipient in std::mem::take(recipients) {
            let agent = accounts.agent(&recipient.agent).await?;
            if blocked_between(&own, &agent) {
                blocked.push(recipient);
            } else {
                others.push(recipient);
            }
        }
        *recipients = others;
        Ok(blocked)
    }

    /// The states of a message for its recipients.
    async fn states(
        &self,
        recipients: Vec<Recipient>,
        sender: &AgentHandle,
        message: (&SessionId, u64),
    ) -> Result<Vec<RecipientStatus>, Fault> {
        let guests = recipients.iter().filter(|recipient| recipient.is_elsewhere);
        let guests: Vec<_> = guests.map(|recipient| recipient.agent.clone()).collect();
        let reported = if guests.is_empty() {
            BTreeMap::new()
        } else {
            self.0.rooms.sessions.peer_states(message, &guests).await?
        };
        let mut states = Vec::with_capacity(recipients.len());
        for recipient in recipients {
            states.push(if recipient.is_elsewhere {
                guest(&recipient, reported.get(&recipient.agent))
            } else {
                self.state(recipient, sender, message).await?
            });
        }
        Ok(states)
    }

    /// The state of a message for one recipient.
    async fn state_for(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
        sequence: u64,
    ) -> Result<Option<State>, Fault> {
        let Some(receipt) = self.0.rooms.sessions.receipt_of_own(agent, id, sequence).await? else {
            return Ok(None);
        };
        let recipient = receipt.recipients.into_iter().find(|recipient| recipient.agent == *agent);
        match recipient {
            Some(recipient) => Ok(Some(self.state(recipient, &receipt.sender, (id, sequence)).await?.state)),
            None => Ok(None),
        }
    }

    async fn state(
        &self,
        recipient: Recipient,
        sender: &AgentHandle,
        message: (&SessionId, u64),
    ) -> Result<RecipientStatus, Fault> {
        let in_state = |state, waiting| status(&recipient.agent, state, waiting);
        if recipient.arrivals.is_empty() {
            if recipient.left_at.is_some() || !self.is_live_agent(&recipient.agent).await? {
                return Ok(in_state(State::Expired, None));
            }
            let marks = self.settled_marks(&recipient.agent).await?;
            let waiting = self.held_back(&recipient.agent, sender, message, &marks).await?;
            return Ok(in_state(State::Accepted, waiting.or(Some(delay(Reason::NotJoined, None)))));
        }
        let marks = self.settled_marks(&recipient.agent).await?;
        let confirmed = self.0.cursors.confirmed(&recipient.agent).await?;
        let (state, arrival) = furthest(&recipient, &marks, confirmed);
        let has_arrived =
            |arrival: &Arrival| marks.has_arrived(arrival.kind, position_of(arrival), confirmed);
        if state >= State::Delivered
            && (recipient.has_read || recipient.arrivals.iter().any(has_arrived))
            && let Some(at) = recipient.answered_at
        {
            let at = Some(at.rfc3339());
            return Ok(RecipientStatus { at, ..in_state(state.max(State::Answered), None) });
        }
        if state >= State::InContext {
            return Ok(in_state(state, None));
        }
        if !self.is_live_agent(&recipient.agent).await? {
            return Ok(in_state(State::Expired, None));
        }
        let item_id = ItemId::of(arrival.kind, position_of(&arrival));
        let portion = marks.handovers.portion(item_id).filter(|_| state == State::Shown);
        let waiting = if state < State::Shown
            && let Some(delay_by_attention) =
                self.held_back(&recipient.agent, sender, message, &marks).await?
        {
            Some(delay_by_attention)
        } else {
            self.reason(&recipient, state, item_id, &marks)
        };
        let (shown_characters, characters) = portion.map(|portion| (portion.shown, portion.all)).unzip();
        Ok(RecipientStatus { shown_characters, characters, ..in_state(state, waiting) })
    }

    /// Why a message that may disturb the recipient waits.
    fn reason(
        &self,
        recipient: &Recipient,
        state: State,
        item_id: ItemId,
        marks: &Marks,
    ) -> Option<DeliveryDelay> {
        let is_open = marks.handovers.is_pending(item_id);
        if state == State::Shown && !is_open && marks.handovers.cut.is_cut(item_id) {
            return Some(delay(Reason::RestUnread, None));
        }
        if let Some(left_at) = recipient.left_at.filter(|_| state < State::Shown) {
            return Some(delay(Reason::Left, Some(left_at)));
        }
        marks.handovers.reason(self.0.clock.now()).map(|(reason, since)| delay(reason, since))
    }

    /// Whether it waits because it may not disturb the recipient, or the coding session that it is for.
    async fn held_back(
        &self,
        recipient: &AgentHandle,
        sender: &AgentHandle,
        (id, number): (&SessionId, u64),
        marks: &Marks,
    ) -> Result<Option<DeliveryDelay>, Fault> {
        let now = self.0.clock.now();
        let is_held = |period: &Attention| period.is_running(now);
        let agent = self.0.rooms.accounts.agent(recipient).await?.state.attention().filter(is_held);
        let sessions = marks.handovers.sessions();
        if agent.is_none() && sessions.iter().all(|coding| coding.level(now) == AttentionLevel::Open) {
            return Ok(None);
        }
        let sessions_room = &self.0.rooms.sessions;
        // A stranger's invitation waits, however urgent it is.
        let urgency = if sessions_room.is_offered(recipient, id).await? {
            MessageUrgency::default()
        } else {
            sessions_room.urgency_of(recipient, id, version(number)).await?
        };
        let passage = Passage::of(recipient, Kind::SessionMessage, Some(sender), urgency);
        let period = match agent.filter(|agent| !passage.passes(agent.level)) {
            Some(agent) => Some(agent),
            None => {
                marks.handovers.addressee(Some(id), passage, now).err().and_then(|coding| coding.attention)
            }
        };
        Ok(period.map(|period| DeliveryDelay {
            reason: if period.level == AttentionLevel::Dnd { Reason::Dnd } else { Reason::Focus },
            since: Some(period.since.rfc3339()),
            until: period.until.map(TimestampMs::rfc3339),
        }))
    }

    async fn is_live_agent(&self, agent: &AgentHandle) -> Result<bool, Fault> {
        Ok(self.0.rooms.accounts.agent(agent).await?.state.is_live())
    }
}

#[async_trait]
impl MessageStates for Inbox {
    async fn state_of(
        &self,
        agent: &AgentHandle,
        session: &SessionId,
        sequence: u64,
    ) -> Result<Option<String>, Fault> {
        let state = self.state_for(agent, session, sequence).await?;
        let name = state.and_then(|state| serde_json::to_value(state).ok());
        Ok(name.and_then(|name| name.as_str().map(str::to_owned)))
    }
}

fn status(agent: &AgentHandle, state: State, waiting: Option<DeliveryDelay>) -> RecipientStatus {
    let agent = agent.clone();
    RecipientStatus { agent, state, at: None, waiting, shown_characters: None, characters: None }
}

fn delay(reason: Reason, since: Option<TimestampMs>) -> DeliveryDelay {
    DeliveryDelay { reason, since: since.map(TimestampMs::rfc3339), until: None }
}

/// The state that a former participant, or one that a block keeps apart from the recipient, may know: the last that was
/// reported to it. No mark of another says when it was set.
fn frozen(recipient: &Recipient, reported: State) -> RecipientStatus {
    let at = recipient.answered_at.filter(|_| reported == State::Answered).map(TimestampMs::rfc3339);
    RecipientStatus { at, ..status(&recipient.agent, reported, None) }
}

/// The state for an agent of another network, as that network reports it.
fn guest(recipient: &Recipient, reported: Option<&PeerState>) -> RecipientStatus {
    let (mut reported_state, mut at_network) = (State::default(), None);
    match reported {
        Some(PeerState::Reported(name)) => {
            reported_state = serde_json::from_value(name.as_str().into()).unwrap_or_default();
        }
        Some(PeerState::Full) => at_network = Some(Reason::PeerFull),
        Some(PeerState::Silent) => at_network = Some(Reason::PeerUnreachable),
        None => {}
    }
    let answered_at = recipient.answered_at.filter(|_| reported_state >= State::Delivered);
    let state = if answered_at.is_some() { reported_state.max(State::Answered) } else { reported_state };
    let has_it = !recipient.arrivals.is_empty();
    let (state, waiting) = match recipient.left_at {
        Some(_) if !has_it => (State::Expired, None),
        _ if let Some(reason) = at_network.filter(|_| state < State::Delivered) => {
            (state, Some(delay(reason, None)))
        }
        Some(left_at) if state < State::Shown => (state, Some(delay(Reason::Left, Some(left_at)))),
        None if !has_it => (state, Some(delay(Reason::NotJoined, None))),
        Some(_) | None => (state, None),
    };
    RecipientStatus { at: answered_at.map(TimestampMs::rfc3339), ..status(&recipient.agent, state, waiting) }
}

fn position_of(arrival: &Arrival) -> ItemPosition {
    ItemPosition(arrival.place.0, arrival.place.1)
}

/// The most advanced known state of a message that has arrived, without an answer, and the item that shows it.
fn furthest(recipient: &Recipient, marks: &Marks, confirmed: Position) -> (State, Arrival) {
    let states = recipient.arrivals.iter().map(|arrival| {
        let marked_state = marks.state(arrival.kind, position_of(arrival));
        (known_state(recipient.has_read, arrival, arrival.place.0 <= confirmed, marked_state), *arrival)
    });
    let none = Arrival { kind: Kind::SessionMessage, place: (Position(0), 0), is_news: false };
    states.max_by_key(|(state, _)| *state).unwrap_or((State::Accepted, none))
}

/// The most advanced known state by one item, without an answer.
fn known_state(has_read: bool, arrival: &Arrival, is_confirmed: bool, marked_state: State) -> State {
    let from_reading = if has_read { State::InContext } else { State::Accepted };
    let from_connections = if is_confirmed { State::Delivered } else { State::Accepted };
    // A mark covers only delivered items: never the older part of a transcript.
    let from_mark = if arrival.is_news { marked_state } else { State::Accepted };
    from_reading.max(from_connections).max(from_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_advanced_evidence_determines_the_state() {
        let arrival = |is_news| Arrival { kind: Kind::SessionMessage, place: (Position(7), 0), is_news };
        for (has_read, is_news, is_confirmed, marked_state, state) in [
            (false, true, false, State::Accepted, State::Accepted),
            (false, true, true, State::Accepted, State::Delivered),
            (false, true, false, State::Delivered, State::Delivered),
            (false, true, true, State::Shown, State::Shown),
            (true, true, false, State::Delivered, State::InContext),
            (true, true, true, State::Acknowledged, State::Acknowledged),
            (false, false, false, State::Acknowledged, State::Accepted),
            (true, false, true, State::Acknowledged, State::InContext),
        ] {
            assert_eq!(known_state(has_read, &arrival(is_news), is_confirmed, marked_state), state);
        }
    }
}
