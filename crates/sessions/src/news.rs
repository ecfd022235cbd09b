//! The news of an agent's sessions: the messages and invitations after a position, and their texts. The session's own
//! rules decide, at the time of reading, what an agent may read.
//! Must not know: marks, or the presentation.

use std::collections::BTreeSet;

use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, Position, SessionId, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order, PageSize, StoredEvent, StreamName, StreamNews};
use plenary_room::{Kind, News};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    Sessions,
    event::{MessageSent, SessionEvent},
    room::{BY_AGENT, OFFERED, SessionRoom},
    state::{Participant, Phase, SessionState},
};

/// How many events before its joining are news for an agent that joins; older events are history.
pub const TRANSCRIPT_EVENTS_MAX: u64 = 100;

/// The news of one session after a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionNews {
    /// The news, in position order.
    pub news: Vec<News>,
    /// The version up to which the session was read.
    pub read: Version,
    /// The version of the agent's last message.
    pub answered: Version,
    /// The version of the agent's last joining or reopening: every earlier invitation counts as answered.
    pub joined: Version,
    max: usize,
    /// Whether the invitations come from a stranger.
    is_offered: bool,
}

/// The text of a piece of news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewsText {
    /// The topic of the session.
    pub topic: Option<String>,
    /// The message as text.
    pub text: String,
}

/// The stream of a session.
#[must_use]
pub fn session_stream(id: &SessionId) -> StreamName {
    SessionRoom::stream(id.as_str())
}

/// The session of a stream, if it is a session stream.
#[must_use]
pub fn session_of(stream: &StreamName) -> Option<SessionId> {
    (stream.category() == SessionRoom::CATEGORY).then(|| stream.id().parse().ok()).flatten()
}

/// The size of the first index read. It shows how far apart in the index the wanted sessions are.
const ROWS_AT_FIRST: usize = 16;

impl Sessions {
    /// The sessions of an agent with events after a position, without strangers' offers. `None` if the agent has too
    /// many sessions to check each; then the log is read part by part.
    pub async fn with_news(
        &self,
        me: &AgentHandle,
        after: Position,
    ) -> Result<Option<Vec<StreamNews>>, Fault> {
        let ids = self.ids(BY_AGENT, me, None, Order::Ascending, READ_ROWS_MAX).await?;
        if ids.len() >= READ_ROWS_MAX {
            return Ok(None);
        }
        let streams: Vec<_> = ids.iter().map(|id| SessionRoom::stream(id)).collect();
        Ok(Some(self.log().streams_after(&streams, after).await?))
    }

    /// The sessions of an agent with events in a part of the log, without strangers' offers. The cost depends on the
    /// number of events in that part.
    pub async fn with_news_between(
        &self,
        me: &AgentHandle,
        after: Position,
        until: Position,
    ) -> Result<Vec<StreamNews>, Fault> {
        let mut found = self.log().streams_between(SessionRoom::CATEGORY, after, until).await?;
        found.sort_by(|a, b| a.stream.id().cmp(b.stream.id()));
        let ids: Vec<&str> = found.iter().map(|news| news.stream.id()).collect();
        let own = self.own_of(BY_AGENT, me, &ids).await?;
        found.retain(|news| own.contains(news.stream.id()));
        Ok(found)
    }

    /// The subset of these sessions, which are sorted, that an index lists for an agent. One index read covers every
    /// session that its rows pass. Reads stay short while they pass few of the sessions, so the agent's other sessions
    /// are not read.
    pub(crate) async fn own_of(
        &self,
        index: &str,
        me: &AgentHandle,
        ids: &[&str],
    ) -> Result<BTreeSet<String>, Fault> {
        let (mut own, mut rest, mut reading) = (BTreeSet::new(), ids, ROWS_AT_FIRST);
        while let Some(first) = rest.first() {
            // Starts just before the first, because a read returns the keys after the given one.
            let before = &first[..first.len().saturating_sub(1)];
            let max = reading.min(rest.len() + 1).clamp(2, READ_ROWS_MAX);
            let rows = self.ids(index, me, Some(before), Order::Ascending, max).await?;
            let passed = match rows.last() {
                Some(last) if rows.len() == max => rest.partition_point(|id| *id <= last.as_str()).max(1),
                _ => rest.len(),
            };
            own.extend(rows.into_iter().filter(|id| rest[..passed].binary_search(&id.as_str()).is_ok()));
            rest = &rest[passed..];
            reading = if passed * 4 > max { max * 4 } else { (max / 4).max(2) };
        }
        Ok(own)
    }

    /// A page of the sessions that strangers offer to an agent and that have events after a position, and the last one
    /// checked if there are more.
    pub async fn offers_with_news(
        &self,
        me: &AgentHandle,
        behind: Option<&str>,
        after: Position,
    ) -> Result<(Vec<StreamNews>, Option<String>), Fault> {
        let ids = self.ids(OFFERED, me, behind, Order::Ascending, READ_ROWS_MAX).await?;
        let streams: Vec<_> = ids.iter().map(|id| SessionRoom::stream(id)).collect();
        let news = self.log().streams_after(&streams, after).await?;
        let more = ids.len() == READ_ROWS_MAX;
        Ok((news, ids.into_iter().next_back().filter(|_| more)))
    }

    /// The invitation that carried a session's first message to an agent (ASP-29): its kind of news, and its position.
    pub async fn brought_first(
        &self,
        me: &AgentHandle,
        id: &SessionId,
    ) -> Result<Option<(Kind, Position)>, Fault> {
        let (state, _) = self.0.streams.observed(id.as_str()).await?;
        match state.participant(me) {
            Some(participant) => self.inline_invitation(id, participant).await,
            None => Ok(None),
        }
    }

    /// Whether the agent has not yet answered a stranger's invitation to the session.
    pub async fn is_offered(&self, me: &AgentHandle, id: &SessionId) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.observed(id.as_str()).await?;
        Ok(state.participant(me).is_some_and(|participant| participant.offered_by.is_some()))
    }

    /// The agents that may have something new to read after these events of a session.
    pub async fn readers(&self, run: &[&StoredEvent]) -> Result<Vec<AgentHandle>, Fault> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(Vec::new()) };
        let (state, _) = self.0.streams.observed(first.stream.id()).await?;
        let before = Version(first.version.0 - 1);
        let concerned = state.participants.iter().filter(|(_, participant)| {
            participant.stay.is_some() || participant.next_readable(before, last.version).is_some()
        });
        Ok(concerned.map(|(handle, _)| handle.clone()).collect())
    }

    /// The news for an agent in a session after a version; beyond `max` only the first are listed.
    pub async fn news(
        &self,
        me: &AgentHandle,
        id: &SessionId,
        after: Version,
        max: usize,
    ) -> Result<SessionNews, Fault> {
        let (state, head) = self.0.streams.fresh(id.as_str()).await?;
        let mut found = SessionNews { read: after, max, ..SessionNews::default() };
        let Some(participant) = state.participant(me) else { return Ok(found) };
        found.is_offered = participant.offered_by.is_some();
        let stream = SessionRoom::stream(id.as_str());
        let mut size = PageSize::default();
        while let Some(next) = participant.next_readable(found.read, head) {
            let whole = participant.stay.is_some() || next <= participant.frozen;
            let max = if whole { size.events() } else { 1 };
            let events = self.log().read_stream(&stream, Version(next.0 - 1), max).await?;
            size.learn(&events);
            if events.is_empty() {
                break;
            }
            for event in events.iter().take_while(|event| event.version <= head) {
                found.read = event.version;
                if joined_at(participant) == Some(event.version) {
                    self.transcript(me, participant, event, &mut found).await?;
                }
                if participant.may_read(event.version) && !is_transcript(participant, event.version) {
                    found.take(me, event, (event.position, 0))?;
                }
            }
        }
        Ok(found)
    }

    /// The messages before the agent's joining, as news at the position of the joining.
    async fn transcript(
        &self,
        me: &AgentHandle,
        participant: &Participant,
        joined: &StoredEvent,
        found: &mut SessionNews,
    ) -> Result<(), Fault> {
        let mut read = transcript_begins(participant, joined.version);
        let mut size = PageSize::default();
        while read.next() < joined.version {
            let left = usize::try_from(joined.version.0 - read.0 - 1).unwrap_or(1);
            let max = size.events().min(left);
            let events = self.log().read_stream(&joined.stream, read, max).await?;
            size.learn(&events);
            let Some(last) = events.last() else { break };
            read = last.version;
            for event in events.iter().filter(|event| event.kind == "MessageSent") {
                found.take(me, event, (joined.position, event.version.0))?;
            }
        }
        Ok(())
    }

    /// The text of a piece of news, if the agent may read it now.
    pub async fn said(
        &self,
        me: &AgentHandle,
        id: &SessionId,
        at: Version,
    ) -> Result<Option<NewsText>, Fault> {
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        if !state.participant(me).is_some_and(|participant| participant.may_read(at)) {
            return Ok(None);
        }
        let stream = SessionRoom::stream(id.as_str());
        let Some(event) = self.log().read_stream(&stream, Version(at.0 - 1), 1).await?.pop() else {
            return Ok(None);
        };
        let mut said = SessionEvent::decode(&event)?;
        // The invitation carries the first message (ASP-29).
        if matches!(&said, SessionEvent::AgentInvited(invited) if invited.inline)
            && let Some(first) = self.log().read_stream(&stream, Version(1), 1).await?.pop()
        {
            said = SessionEvent::decode(&first)?;
        }
        let text = if let SessionEvent::MessageSent(sent) = &said {
            plain(sent)
        } else {
            invitation(&*self.seen(me, id, &state).await?).to_owned()
        };
        let topic = state.created.as_ref().and_then(|created| created.topic.clone());
        Ok(Some(NewsText { topic, text }))
    }

    /// Whether a session may be shown to an agent now: not while the agent still has to leave it because of a block.
    pub async fn is_open_to(
        &self,
        me: &AgentHandle,
        id: &SessionId,
        blockers: &[AgentHandle],
    ) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.observed(id.as_str()).await?;
        let Some(participant) = state.participant(me) else { return Ok(false) };
        let is_present = |by: &AgentHandle| state.participant(by).is_some_and(Participant::is_present);
        Ok(!(participant.is_present() && blockers.iter().any(is_present)))
    }
}

/// The version of the joining that began the present stay; a creator has none.
fn joined_at(participant: &Participant) -> Option<Version> {
    participant.stay.filter(|stay| stay.0 > 1)
}

/// The version after which the transcript of a joining begins.
fn transcript_begins(participant: &Participant, joined: Version) -> Version {
    let oldest = joined.0.saturating_sub(1 + TRANSCRIPT_EVENTS_MAX);
    Version(oldest.max(participant.frozen.0).max(1))
}

/// Whether the event is too old to be news for an agent that joined later.
pub(crate) fn is_history(participant: &Participant, version: Version) -> bool {
    let begins = joined_at(participant).map(|joined| transcript_begins(participant, joined));
    is_transcript(participant, version) && begins.is_some_and(|begins| version <= begins)
}

/// Whether the event precedes the present stay and was not readable in a former one.
pub(crate) fn is_transcript(participant: &Participant, version: Version) -> bool {
    joined_at(participant).is_some_and(|joined| version < joined) && !participant.has_glimpse(version)
}

impl SessionNews {
    fn take(
        &mut self,
        me: &AgentHandle,
        event: &StoredEvent,
        (position, nth): (Position, u64),
    ) -> Result<(), Fault> {
        let (version, at) = (event.version, event.at);
        let mut push = |kind, from| {
            if self.news.len() < self.max {
                self.news.push(News { kind, position, nth, version, at, from: Some(from) });
            }
        };
        match SessionEvent::decode(event)? {
            SessionEvent::MessageSent(sent) if sent.sender == *me => self.answered = version,
            SessionEvent::MessageSent(sent) => push(Kind::SessionMessage, sent.sender),
            SessionEvent::AgentInvited(invited) if invited.invitee == *me => {
                let kind = if self.is_offered { Kind::SessionOffered } else { Kind::SessionInvited };
                push(kind, invited.by);
            }
            SessionEvent::AgentJoined(joined) if joined.agent == *me => self.joined = version,
            SessionEvent::SessionReopened(reopened) if reopened.by == *me => self.joined = version,
            SessionEvent::SessionCreated(_)
            | SessionEvent::AgentInvited(_)
            | SessionEvent::AgentJoined(_)
            | SessionEvent::AgentDisconnected(_)
            | SessionEvent::AgentReconnected(_)
            | SessionEvent::AgentLeft(_)
            | SessionEvent::SessionEnded(_)
            | SessionEvent::SessionReopened(_) => {}
        }
        Ok(())
    }
}

fn invitation(state: &SessionState) -> &'static str {
    match state.phase {
        Phase::Active => "invited to the session",
        Phase::Ended => "invited to the session, which has ended since",
    }
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

/// A message as plain text: its text parts, and a line for each other part.
pub(crate) fn plain(sent: &MessageSent) -> String {
    let object = [b"{", &*sent.members, b"}"].concat();
    let Ok(members) = serde_json::from_slice::<Members<'_>>(&object) else { return String::new() };
    match serde_json::from_str(members.content.get()) {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(parts)) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        Ok(_) | Err(_) => String::new(),
    }
}

fn part(part: &Value) -> String {
    let member = |name: &str| part.get(name).and_then(Value::as_str);
    match member("type") {
        Some("text") => member("text").unwrap_or_default().to_owned(),
        Some("data") => part.get("data").map(Value::to_string).unwrap_or_default(),
        Some(kind) => {
            let file = member("file_id");
            let name = member("name").or_else(|| member("url")).or(file).unwrap_or("inline");
            let size = file.and_then(|_| part.get("size")?.as_u64()).map(|size| format!(", {size} bytes"));
            let id = file.map(|id| format!(", {id}"));
            format!("[{kind}: {name}{}{}]", size.unwrap_or_default(), id.unwrap_or_default())
        }
        None => String::new(),
    }
}
