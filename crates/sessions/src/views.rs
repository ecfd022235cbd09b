//! The responses of the read operations: a session, a list of sessions, a page of events.

use std::pin::pin;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use plenary_engine::Room as _;
use plenary_kernel::{
    AgentHandle, Refusal, SessionId, TimestampMs, Version,
    limits::{PAGE_BYTES_MAX, PAGE_EVENTS_MAX},
};
use plenary_log::{Fault, Order, PageSize, StoredEvent, StreamName};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    Sessions,
    event::{MessageHead, SessionEvent, sequence, version},
    room::SessionRoom,
    state::{Participant, Phase, SessionState, Standing},
    wire::{self, Form},
};

/// Sessions that a list reads at the same time: those that are not in memory wait for the store.
pub(crate) const READS_AT_ONCE: usize = 16;
/// Upper bound for the JSON size of a session without its topic and participants.
const SESSION_BYTES: usize = 256;
/// Upper bound for the JSON size of a participant without its handle.
const PARTICIPANT_BYTES: usize = 96;

/// A session, as its current and former participants see it (ASP-70).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub struct SessionView {
    /// The session.
    pub id: SessionId,
    /// `active` or `ended`.
    #[schemars(with = "String")]
    pub state: Phase,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The current and former participants that the caller knows.
    pub participants: Vec<ParticipantView>,
    /// Epoch milliseconds.
    #[schemars(with = "u64")]
    pub created_at: TimestampMs,
    /// Epoch milliseconds; only of an ended session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub ended_at: Option<TimestampMs>,
}

/// A participant of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Participant")]
pub struct ParticipantView {
    /// Who.
    pub handle: AgentHandle,
    /// `invited`, `joined` or `left`.
    #[schemars(with = "String")]
    pub status: Standing,
    /// When it last joined, epoch milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub joined_at: Option<TimestampMs>,
    /// When it left, epoch milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub left_at: Option<TimestampMs>,
}

/// `GET /sessions`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionList {
    /// Newest first.
    pub sessions: Vec<SessionView>,
    /// The `before` of the next page; present if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// `GET /sessions/{id}/events`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EventPage {
    /// Events that the caller may see, in ascending sequence.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub events: Vec<Box<RawValue>>,
    /// The `after_sequence` of the next page; present if the caller may see more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// The session as a current or former participant sees it: as it is now, without the participants that the viewer does
/// not know. `None` for a stranger.
pub(crate) fn view(id: SessionId, state: &SessionState, viewer: &AgentHandle) -> Option<SessionView> {
    let created = state.created.as_ref().filter(|_| state.participant(viewer).is_some())?;
    // In the copy of a peer's session, the creation was stored later than it happened.
    let created_at = id.minted_at().map_or(created.at, |minted| minted.min(created.at));
    let joined_at =
        |part: &Participant| part.joined_at.map(|at| if at == created.at { created_at } else { at });
    let ended_at = state.shown_end();
    let known_participants = state.participants.iter().filter(|(handle, _)| state.knows(viewer, handle));
    let participants = known_participants.map(|(handle, part)| {
        // An open invitation lapses with the end (ASP-75).
        let (status, left_at) = match ended_at {
            Some(_) if part.standing == Standing::Invited => (Standing::Left, ended_at),
            Some(_) | None => (part.standing, part.left_at),
        };
        ParticipantView { handle: handle.clone(), status, joined_at: joined_at(part), left_at }
    });
    Some(SessionView {
        id,
        state: ended_at.map_or(Phase::Active, |_| Phase::Ended),
        topic: created.topic.clone(),
        participants: participants.collect(),
        created_at,
        ended_at,
    })
}

/// Upper bound for the JSON size of a session.
pub(crate) fn bytes_of(session: &SessionView) -> usize {
    // A byte of text takes at most six bytes as JSON.
    let topic = session.topic.as_ref().map_or(0, |topic| 6 * topic.len());
    let participants = session.participants.iter();
    let participants = participants.map(|participant| participant.handle.as_str().len() + PARTICIPANT_BYTES);
    SESSION_BYTES + topic + participants.sum::<usize>()
}

/// Why a read is refused.
pub(crate) enum ReadError {
    Refused(Refusal),
    Fault(Fault),
}

impl From<Fault> for ReadError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Refusal> for ReadError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Sessions {
    /// A session, for its current and former participants (ASP-70).
    pub(crate) async fn show(&self, viewer: &AgentHandle, id: SessionId) -> Result<SessionView, ReadError> {
        self.view(viewer, id).await?.ok_or_else(|| Refusal::not_found().into())
    }

    /// The same; `None` for a stranger.
    async fn view(&self, viewer: &AgentHandle, id: SessionId) -> Result<Option<SessionView>, Fault> {
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        Ok(view(id, &state, viewer))
    }

    /// The sessions of an agent older than `before`, newest first.
    pub(crate) async fn list(
        &self,
        viewer: &AgentHandle,
        before: Option<&str>,
        limit: usize,
    ) -> Result<SessionList, ReadError> {
        let mut ids = self.ids_of(viewer, before, Order::Descending, limit + 1).await?;
        let mut has_more = ids.len() > limit;
        ids.truncate(limit);
        self.load(ids.iter()).await;
        let mut sessions = Vec::with_capacity(ids.len());
        let (mut bytes, mut last) = (0, None);
        let load = |id: String| async move {
            let session_id =
                id.parse().map_err(|_| Fault::Corrupt(format!("a session id in the index: {id}")))?;
            let session = self.view(viewer, session_id).await;
            let session = Fault::skip_corrupt(session, "a damaged session is left out of a list")?.flatten();
            Ok::<_, Fault>((id, session))
        };
        let mut loaded = pin!(stream::iter(ids).map(load).buffered(READS_AT_ONCE));
        while let Some((id, session)) = loaded.try_next().await? {
            bytes += session.as_ref().map_or(0, bytes_of);
            if bytes > PAGE_BYTES_MAX && !sessions.is_empty() {
                has_more = true;
                break;
            }
            sessions.extend(session);
            last = Some(id);
        }
        let next_cursor = last.filter(|_| has_more);
        Ok(SessionList { sessions, next_cursor })
    }

    /// A page of events, filtered like live delivery (ASP-71, ASP-78 to ASP-81).
    pub(crate) async fn events(
        &self,
        viewer: &AgentHandle,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<EventPage, ReadError> {
        let (state, head) = self.0.streams.fresh(id.as_str()).await?;
        let participant = state.participant(viewer).ok_or_else(Refusal::not_found)?;
        let stream = SessionRoom::stream(id.as_str());
        let topic = state.created.as_ref().and_then(|created| created.topic.as_deref());
        let (mut events, mut cursor, mut bytes) = (Vec::new(), version(after), 0);
        let mut page = PageSize::default();
        'page: while events.len() < limit.min(PAGE_EVENTS_MAX) {
            let Some(next) = participant.next_readable(cursor, head) else { break };
            let reads_all = participant.stay.is_some() || next <= participant.frozen;
            let max = if reads_all { page.events().min(limit - events.len()) } else { 1 };
            let stored_events = self.log().read_stream(&stream, Version(next.0 - 1), max).await?;
            page.learn(&stored_events);
            if stored_events.is_empty() {
                break;
            }
            for stored_event in &stored_events {
                if participant.may_read(stored_event.version) {
                    let text = self.write(id, topic, &stream, stored_event, Form::Both).await?;
                    bytes += text.len();
                    if bytes > PAGE_BYTES_MAX && !events.is_empty() {
                        break 'page;
                    }
                    events.push(
                        RawValue::from_string(text).map_err(|error| Fault::Corrupt(error.to_string()))?,
                    );
                }
                cursor = stored_event.version;
            }
        }
        let has_more = participant.next_readable(cursor, head).is_some() && !events.is_empty();
        Ok(EventPage { events, next_cursor: has_more.then(|| sequence(cursor).to_string()) })
    }

    /// The wire form of a stored event. For an invitation that carries the first message, that message is read too.
    pub(crate) async fn write(
        &self,
        id: &SessionId,
        topic: Option<&str>,
        stream: &StreamName,
        stored_event: &StoredEvent,
        form: Form,
    ) -> Result<String, Fault> {
        if let Some(head) = MessageHead::read(stored_event)? {
            return wire::write_message(id, stored_event, &head, form);
        }
        let event = SessionEvent::decode(stored_event)?;
        let first_message = if matches!(&event, SessionEvent::AgentInvited(invitation) if invitation.inline) {
            self.log().read_stream(stream, Version(1), 1).await?.pop()
        } else {
            None
        };
        wire::write(id, topic, stored_event, &event, first_message.as_ref(), form)
    }
}
