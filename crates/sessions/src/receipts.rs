//! The delivery state of a message per recipient, as far as its session shows it: the position at which it became
//! readable, and whether the recipient has read or answered it.
//! Must not know: any other mark of a recipient.

use plenary_engine::Room as _;
use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, Position, SessionId, TimestampMs, Version};
use plenary_log::{Fault, PageSize, StoredEvent};

use crate::{
    Sessions,
    event::{SessionEvent, version},
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
    /// The other participants.
    pub recipients: Vec<Recipient>,
    /// Whether the caller has left, and learns of nothing that happened since.
    pub is_frozen: bool,
}

/// One recipient of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// The recipient.
    pub agent: AgentHandle,
    /// The position at which the message became readable for it, and the order at that position. `None` while it is not
    /// readable.
    pub place: Option<(Position, u64)>,
    /// Whether it has left; then an unreadable message stays unreadable.
    pub has_left: bool,
    /// Whether it was news there, not an older part of a transcript.
    pub is_news: bool,
    /// Whether its model has seen the message.
    pub has_read: bool,
    /// The time of its first message after this one.
    pub answered_at: Option<TimestampMs>,
    /// Whether it belongs to another network, which knows the message's state.
    pub elsewhere: bool,
}

impl Sessions {
    /// The delivery state of a message; `None` if the caller may not read it, or the event is not a message.
    pub fn receipt<'a>(
        &'a self,
        me: &'a AgentHandle,
        id: &'a SessionId,
        number: u64,
    ) -> Sealed<'a, Result<Option<Receipt>, Fault>> {
        seal(async move {
            if number == 0 || number >= i64::MAX.unsigned_abs() || !self.takes_part(me, id).await? {
                return Ok(None);
            }
            let at = version(number);
            let (state, head) = self.0.streams.fresh(id.as_str()).await?;
            let may_read = state.participant(me).is_some_and(|participant| participant.may_read(at));
            if !may_read || at > head {
                return Ok(None);
            }
            let Some(event) = self.one(id, at).await? else { return Ok(None) };
            let SessionEvent::MessageSent(sent) = SessionEvent::decode(&event)? else { return Ok(None) };
            let mut recipients = Vec::new();
            let seen = self.seen(me, id, &state).await?;
            for (agent, participant) in &state.participants {
                let is_concerned = participant.standing != Standing::Left || participant.may_read(at);
                if *agent != sent.sender && is_concerned && seen.participant(agent).is_some() {
                    let place = self.place(id, &event, participant).await?;
                    let has_read = self.has_read(agent, id).await?.has(number);
                    let is_news = !is_history(participant, at);
                    let agent = agent.clone();
                    let has_left = participant.standing == Standing::Left;
                    recipients.push(Recipient {
                        agent,
                        place,
                        has_left,
                        is_news,
                        has_read,
                        answered_at: None,
                        elsewhere: participant.elsewhere,
                    });
                }
            }
            let left = state.participant(me).filter(|me| me.stay.is_none());
            // A caller that has left learns of no answer that it may not read.
            let last = left.map_or(head, |me| me.frozen.min(head));
            self.answers(id, at, last, &mut recipients).await?;
            let is_frozen = left.is_some();
            Ok(Some(Receipt { at: event.at, sender: sent.sender, recipients, is_frozen }))
        })
    }

    async fn one(&self, id: &SessionId, at: Version) -> Result<Option<StoredEvent>, Fault> {
        let stream = SessionRoom::stream(id.as_str());
        Ok(self.log().read_stream(&stream, Version(at.0.saturating_sub(1)), 1).await?.pop())
    }

    /// The position at which a message became readable for a participant.
    async fn place(
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
        let joined = self.one(id, participant.since).await?;
        Ok(joined.map(|joined| (joined.position, message.version.0)))
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
        let (mut size, mut read) = (PageSize::default(), at);
        let is_silent = |recipient: &Recipient| recipient.place.is_some() && recipient.answered_at.is_none();
        while read < last && recipients.iter().any(is_silent) {
            let events = self.log().read_stream(&stream, read, size.events()).await?;
            size.learn(&events);
            let Some(newest) = events.last() else { break };
            read = newest.version;
            let is_message = |event: &&StoredEvent| event.kind == "MessageSent" && event.version <= last;
            for event in events.iter().filter(is_message) {
                let SessionEvent::MessageSent(sent) = SessionEvent::decode(event)? else { continue };
                let spoke = recipients.iter_mut().find(|recipient| recipient.agent == sent.sender);
                if let Some(recipient) = spoke.filter(|recipient| is_silent(recipient)) {
                    recipient.answered_at = Some(event.at);
                }
            }
        }
        Ok(())
    }
}
