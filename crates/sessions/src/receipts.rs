//! The delivery state of a message per recipient, as far as its session shows it: the position at which it became
//! readable, and whether the recipient has read or answered it.
//! Must not know: any other mark of a recipient.

use plenary_engine::Room as _;
use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, Position, SessionId, TimestampMs, Version};
use plenary_log::{Fault, PageSize, StoredEvent};
use plenary_room::Kind;

use crate::{
    Sessions,
    event::{AgentInvited, MESSAGE_SENT, MessageHead, SessionEvent, event_time, sequence, version},
    news::{is_history, is_transcript},
    room::SessionRoom,
    state::{Participant, Standing},
};

/// How many events after a message are searched for answers; later answers are not reported.
pub const ANSWERS_LOOKED_THROUGH_MAX: u64 = 10_000;

/// The delivery state of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The time of the message.
    pub at: TimestampMs,
    /// The sender.
    pub sender: AgentHandle,
    /// The other participants that it is for.
    pub recipients: Vec<Recipient>,
    /// Whether the caller has left, and learns of nothing that happened since.
    pub is_frozen: bool,
}

/// One recipient of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// The recipient.
    pub agent: AgentHandle,
    /// The items of its inbox that bring the message; none while it may not read it.
    pub arrivals: Vec<Arrival>,
    /// When it left, if it has left; then an unreadable message stays unreadable.
    pub left_at: Option<TimestampMs>,
    /// Whether its model has seen the message.
    pub has_read: bool,
    /// The time of its first message after this one.
    pub answered_at: Option<TimestampMs>,
    /// Whether it belongs to another network, which knows the message's state.
    pub is_elsewhere: bool,
}

/// An item of a recipient's inbox that brings a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The message, or the invitation that carried it (ASP-29).
    pub kind: Kind,
    /// The position at which the message became readable, and the order at that position.
    pub place: (Position, u64),
    /// Whether it was news there, not an older part of a transcript.
    pub is_news: bool,
}

impl Sessions {
    /// The delivery state of a message; `None` if the caller may not read it, or the event is not a message.
    pub fn receipt<'a>(
        &'a self,
        caller: &'a AgentHandle,
        id: &'a SessionId,
        number: u64,
    ) -> Sealed<'a, Result<Option<Receipt>, Fault>> {
        seal(self.receipt_if(caller, id, number, Participant::may_read))
    }

    /// The delivery state of a message that the caller may read, or has with its invitation.
    pub fn receipt_of_own<'a>(
        &'a self,
        caller: &'a AgentHandle,
        id: &'a SessionId,
        number: u64,
    ) -> Sealed<'a, Result<Option<Receipt>, Fault>> {
        seal(self.receipt_if(caller, id, number, |participant, at| {
            participant.may_read(at) || participant.has_inline(at)
        }))
    }

    async fn receipt_if(
        &self,
        caller: &AgentHandle,
        id: &SessionId,
        number: u64,
        is_permitted: fn(&Participant, Version) -> bool,
    ) -> Result<Option<Receipt>, Fault> {
        if number == 0 || number >= i64::MAX.unsigned_abs() || !self.takes_part(caller, id).await? {
            return Ok(None);
        }
        let at = version(number);
        let (state, head) = self.0.streams.fresh(id.as_str()).await?;
        let Some(participant) =
            state.participant(caller).filter(|participant| is_permitted(participant, at) && at <= head)
        else {
            return Ok(None);
        };
        let Some(event) = self.event_at(id, at).await? else { return Ok(None) };
        let SessionEvent::MessageSent(message) = SessionEvent::decode(&event)? else { return Ok(None) };
        let mut recipients = Vec::new();
        for (agent, participant) in &state.participants {
            let is_known = *agent != message.sender && state.knows(caller, agent);
            if is_known && is_for(participant, at) {
                recipients.push(self.recipient(id, &event, agent, participant).await?);
            }
        }
        let is_frozen = participant.stay.is_none();
        // A caller that has left learns of no answer that it may not read.
        let last = if is_frozen { participant.frozen.min(head) } else { head };
        self.answers(id, at, last, &mut recipients).await?;
        Ok(Some(Receipt {
            at: event_time(&message.id, event.at),
            sender: message.sender,
            recipients,
            is_frozen,
        }))
    }

    async fn recipient(
        &self,
        id: &SessionId,
        message: &StoredEvent,
        agent: &AgentHandle,
        participant: &Participant,
    ) -> Result<Recipient, Fault> {
        let mut arrivals = Vec::new();
        if participant.has_inline(message.version) {
            let invitation = self.inline_invitation(id, participant).await?;
            arrivals.extend(invitation.map(|(kind, position)| Arrival {
                kind,
                place: (position, 0),
                is_news: true,
            }));
        }
        if let Some(place) = self.readable_position(id, message, participant).await? {
            let is_news = !is_history(participant, message.version);
            arrivals.push(Arrival { kind: Kind::SessionMessage, place, is_news });
        }
        // An invitee of a send-and-end that did not reopen the session never was in it.
        let was_member = participant.may_read(message.version) || arrivals.is_empty();
        Ok(Recipient {
            agent: agent.clone(),
            arrivals,
            left_at: participant.left_at.filter(|_| was_member && participant.standing == Standing::Left),
            has_read: self.has_read(agent, id).await?.has(sequence(message.version)),
            answered_at: None,
            is_elsewhere: participant.elsewhere,
        })
    }

    /// The invitation that carried the session's first message to a participant (ASP-29): its kind of news, and its
    /// position.
    pub(crate) async fn inline_invitation(
        &self,
        id: &SessionId,
        participant: &Participant,
    ) -> Result<Option<(Kind, Position)>, Fault> {
        let Some(at) = participant.inline else { return Ok(None) };
        let Some(event) = self.event_at(id, at).await? else { return Ok(None) };
        let invitation = SessionEvent::decode(&event)?;
        let is_offer = matches!(invitation, SessionEvent::AgentInvited(AgentInvited { offered: true, .. }));
        let kind = if is_offer { Kind::SessionOffered } else { Kind::SessionInvited };
        Ok(Some((kind, event.position)))
    }

    pub(crate) async fn event_at(&self, id: &SessionId, at: Version) -> Result<Option<StoredEvent>, Fault> {
        let stream = SessionRoom::stream(id.as_str());
        Ok(self.log().read_stream(&stream, Version(at.0.saturating_sub(1)), 1).await?.pop())
    }

    /// The position at which a message became readable for a participant.
    async fn readable_position(
        &self,
        id: &SessionId,
        message: &StoredEvent,
        participant: &Participant,
    ) -> Result<Option<(Position, u64)>, Fault> {
        if !participant.may_read(message.version) {
            return Ok(None);
        }
        if !is_transcript(participant, message.version) {
            return Ok(Some((message.position, 0)));
        }
        let joining = self.event_at(id, participant.since).await?;
        Ok(joining.map(|joining| (joining.position, message.version.0)))
    }

    /// The recipients that have sent a message since, up to `head`. Only a recipient that can read the message can answer it.
    async fn answers(
        &self,
        id: &SessionId,
        at: Version,
        head: Version,
        recipients: &mut [Recipient],
    ) -> Result<(), Fault> {
        let stream = SessionRoom::stream(id.as_str());
        let last = head.min(at.plus(ANSWERS_LOOKED_THROUGH_MAX));
        let (mut size, mut read_version) = (PageSize::default(), at);
        let is_silent =
            |recipient: &Recipient| !recipient.arrivals.is_empty() && recipient.answered_at.is_none();
        while read_version < last && recipients.iter().any(is_silent) {
            let events = self.log().read_stream(&stream, read_version, size.events()).await?;
            size.learn(&events);
            let Some(newest) = events.last() else { break };
            read_version = newest.version;
            let is_message = |event: &&StoredEvent| event.kind == MESSAGE_SENT && event.version <= last;
            for event in events.iter().filter(is_message) {
                let Some(message) = MessageHead::read(event)? else { continue };
                let sender =
                    recipients.iter_mut().find(|recipient| recipient.agent.as_str() == message.sender);
                if let Some(recipient) = sender.filter(|recipient| is_silent(recipient)) {
                    recipient.answered_at = Some(event_time(message.id, event.at));
                }
            }
        }
        Ok(())
    }
}

/// Whether a message is for a participant: not if it had left before, and may not read it.
pub(crate) fn is_for(participant: &Participant, at: Version) -> bool {
    participant.is_present() || participant.may_read(at) || participant.changed > at
}
