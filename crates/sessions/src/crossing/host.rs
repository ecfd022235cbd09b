//! What the host sends to a participant's network: which sessions have news, and their events up to the version that
//! its agents may see.
//! Must not know: the asking peer, except its name.

use plenary_engine::Room as _;
use plenary_kernel::{OwnerName, Position, SessionId, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order, StoredEvent};
use serde_json::value::RawValue;

use super::{
    CROSSING_BYTES_MAX, CROSSING_EVENTS_MAX, SESSIONS_PER_PEER_MAX,
    wire::{CopyEnd, CrossingEvent, CrossingEvents},
};
use crate::{
    Sessions,
    event::{MessageSent, SessionEvent, json_object},
    room::{BY_PEER, SessionRoom},
    state::{Participant, SessionState},
};

/// Events per read from the log.
const READ_AT_ONCE: usize = 64;

/// The sessions with events that a peer may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrossingNews {
    /// The position up to which the log was read.
    pub at: Position,
    /// The sessions.
    pub sessions: Vec<SessionId>,
}

/// The version up to which a peer may have the events of a session: all while one of its agents is joined or invited,
/// otherwise up to the last leaving of its agents. `None` if none of its agents ever took part.
pub(super) fn horizon(state: &SessionState, peer: &OwnerName, head: Version) -> Option<Version> {
    let peer_participants = state
        .participants
        .iter()
        .filter(|(handle, part)| part.elsewhere && handle.of_peer().is_some_and(|(_, at)| at == *peer));
    let visible_until = |part: &Participant| if part.is_present() { head } else { part.changed };
    peer_participants.map(|(_, part)| visible_until(part)).max()
}

impl Sessions {
    /// The sessions of a peer's agents with events after a position.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn crossing_news(&self, peer: &OwnerName, after: Position) -> Result<CrossingNews, Fault> {
        let head = self.log().head().await?;
        // A position beyond the head comes from a store that was lost: everything is read again.
        let after = if after > head { Position(0) } else { after };
        let (prefix, mut last, mut rows_read) = (format!("{peer}/"), None::<String>, 0);
        let mut page = CrossingNews { at: head, sessions: Vec::new() };
        while rows_read < SESSIONS_PER_PEER_MAX + READ_ROWS_MAX {
            let rows = self
                .log()
                .read_index(BY_PEER, &prefix, last.as_deref(), READ_ROWS_MAX, Order::Ascending)
                .await?;
            rows_read += rows.len();
            let streams: Vec<_> =
                rows.iter().map(|row| SessionRoom::stream(&row.key[prefix.len()..])).collect();
            for news in self.log().streams_after(&streams, after).await? {
                let (state, head) = self.0.streams.fresh(news.stream.id()).await?;
                let is_visible = horizon(&state, peer, head).is_some_and(|until| news.first <= until);
                if is_visible && let Ok(id) = news.stream.id().parse() {
                    page.sessions.push(id);
                }
            }
            let is_last = rows.len() < READ_ROWS_MAX;
            last = rows.into_iter().next_back().map(|row| row.key);
            if is_last {
                break;
            }
        }
        Ok(page)
    }

    /// Whether agents of a peer may take part in one more session of this network.
    pub(crate) async fn has_room_for(&self, peer: &OwnerName, id: &SessionId) -> Result<bool, Fault> {
        self.is_within(BY_PEER, peer, id, SESSIONS_PER_PEER_MAX).await
    }

    /// Whether an index has fewer than `max` sessions of a peer, or already contains this one.
    pub(super) async fn is_within(
        &self,
        index: &str,
        peer: &OwnerName,
        id: &SessionId,
        max: usize,
    ) -> Result<bool, Fault> {
        let (prefix, own_key) = (format!("{peer}/"), format!("{peer}/{id}"));
        let (mut last, mut count) = (None::<String>, 0);
        while count < max {
            let page = READ_ROWS_MAX.min(max - count);
            let rows = self.log().read_index(index, &prefix, last.as_deref(), page, Order::Ascending).await?;
            count += rows.len();
            if rows.len() < page || rows.iter().any(|row| row.key == own_key) {
                return Ok(true);
            }
            last = rows.into_iter().next_back().map(|row| row.key);
        }
        Ok(false)
    }

    /// Events of a session after a version, for a peer whose copy ends there with the event `last`; `None` if none of its agents
    /// takes or took part.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn crossing_events(
        &self,
        peer: &OwnerName,
        id: &SessionId,
        after: Version,
        last: Option<String>,
    ) -> Result<Option<CrossingEvents>, Fault> {
        if let Some(last) = last
            && self.has_diverged(peer, id, &CopyEnd { after: after.0, last }).await?
        {
            let (you, events) = (peer.clone(), Vec::new());
            return Ok(Some(CrossingEvents { you, events, more: false, diverged: true }));
        }
        let (state, head) = self.0.streams.fresh(id.as_str()).await?;
        let Some(last_visible) = horizon(&state, peer, head).filter(|_| state.host().is_none()) else {
            return Ok(None);
        };
        let stream = SessionRoom::stream(id.as_str());
        let (mut events, mut bytes, mut at) = (Vec::new(), 0, after);
        'pages: while at < last_visible && events.len() < CROSSING_EVENTS_MAX {
            let page = self.log().read_stream(&stream, at, READ_AT_ONCE).await?;
            if page.is_empty() {
                break;
            }
            for event in page.iter().take_while(|event| event.version <= last_visible) {
                bytes += event.payload.len() + event.envelope.len();
                if !events.is_empty() && (bytes > CROSSING_BYTES_MAX || events.len() >= CROSSING_EVENTS_MAX) {
                    break 'pages;
                }
                events.push(crossing_event(event)?);
                at = event.version;
            }
        }
        let more = at < last_visible;
        Ok(Some(CrossingEvents { you: peer.clone(), events, more, diverged: false }))
    }
}

/// An event as another network gets it, without members that are internal to this network.
fn crossing_event(stored_event: &StoredEvent) -> Result<CrossingEvent, Fault> {
    Ok(match SessionEvent::decode(stored_event)? {
        SessionEvent::SessionCreated(event) => {
            CrossingEvent::Created { creator: event.creator, topic: event.topic }
        }
        SessionEvent::MessageSent(MessageSent { id, sender, origin, members, .. }) => {
            let text = String::from_utf8(json_object(&members));
            let text = text.map_err(|error| Fault::Corrupt(error.to_string()))?;
            let message = RawValue::from_string(text).map_err(|error| Fault::Corrupt(error.to_string()))?;
            let (hops, notice) =
                (origin.map(|origin| origin.hops), origin.is_some_and(|origin| origin.notice));
            CrossingEvent::Message { id, sender, message, hops, notice }
        }
        SessionEvent::AgentInvited(event) => CrossingEvent::Invited {
            id: event.id,
            invitee: event.invitee,
            by: event.by,
            inline: event.inline,
            held: event.held && event.elsewhere,
        },
        SessionEvent::AgentJoined(event) => CrossingEvent::Joined { id: event.id, agent: event.agent },
        SessionEvent::AgentDisconnected(event) => {
            CrossingEvent::Disconnected { id: event.id, agent: event.agent }
        }
        SessionEvent::AgentReconnected(event) => {
            CrossingEvent::Reconnected { id: event.id, agent: event.agent }
        }
        SessionEvent::AgentLeft(event) => {
            CrossingEvent::Left { id: event.id, agent: event.agent, reason: event.reason }
        }
        SessionEvent::SessionEnded(event) => {
            CrossingEvent::Ended { id: event.id, by: event.by, joined: event.joined }
        }
        SessionEvent::SessionReopened(event) => {
            CrossingEvent::Reopened { id: event.id, by: event.by, returning: event.returning }
        }
    })
}
