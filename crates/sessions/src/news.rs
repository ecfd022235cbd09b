//! The news of an agent's sessions: the messages and invitations after a position, and their texts. The session's own
//! rules decide, at the time of reading, what an agent may read.
//! Must not know: marks, or the presentation.

use std::{borrow::Cow, collections::BTreeSet};

use plenary_engine::{Room as _, stored};
use plenary_kernel::{AgentHandle, MalformedText, Position, SessionId, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Log, Order, PageSize, StoredEvent, StreamName, StreamNews};
use plenary_room::{Kind, News};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Sessions,
    event::{AgentInvited, MESSAGE_SENT, MessageHead, SessionEvent, json_object},
    room::{BY_AGENT, OFFERED, SessionRoom},
    state::{Participant, Phase, SessionState},
};

/// How many events before its joining are news for an agent that joins, in any case; events before its invitation and
/// older than these are history.
pub const TRANSCRIPT_EVENTS_MIN: u64 = 100;

/// How many events between its invitation and its joining are news for an agent that joins.
pub const TRANSCRIPT_EVENTS_MAX: u64 = 8_192;

/// How many of a session's latest events are searched for a message of which an invited agent is reminded.
const REMINDER_EVENTS_MAX: u64 = 64;

/// The news of one session after a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionNews {
    /// The news, in position order.
    pub news: Vec<News>,
    /// The version up to which the session was read.
    pub read_version: Version,
    /// The version of the agent's last message.
    pub answered_version: Version,
    /// The version of the agent's last joining or reopening: every earlier invitation counts as answered.
    pub joined_version: Version,
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

/// The session of a stream, if it is a session stream.
pub fn session_of(stream: &StreamName) -> Option<SessionId> {
    (stream.category() == SessionRoom::CATEGORY).then(|| stream.id().parse().ok()).flatten()
}

/// How many sessions far apart in the index are looked up together.
const LOOKED_UP_TOGETHER: usize = 128;

/// The size of the first index read. It shows how far apart in the index the wanted sessions are.
const ROWS_AT_FIRST: usize = 16;

impl Sessions {
    /// The sessions of an agent with events after a position, without strangers' offers. `None` if the agent has too
    /// many sessions to check each; then the log is read part by part.
    pub async fn with_news(
        &self,
        agent: &AgentHandle,
        after: Position,
    ) -> Result<Option<Vec<StreamNews>>, Fault> {
        let ids = self.ids(BY_AGENT, agent, None, Order::Ascending, READ_ROWS_MAX).await?;
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
        agent: &AgentHandle,
        after: Position,
        until: Position,
    ) -> Result<Vec<StreamNews>, Fault> {
        let mut streams = self.log().streams_between(SessionRoom::CATEGORY, after, until).await?;
        streams.sort_by(|a, b| a.stream.id().cmp(b.stream.id()));
        let ids: Vec<&str> = streams.iter().map(|news| news.stream.id()).collect();
        let own_ids = self.own_of(BY_AGENT, agent, &ids).await?;
        streams.retain(|news| own_ids.contains(news.stream.id()));
        Ok(streams)
    }

    /// The subset of these sessions, which are sorted, that an index lists for an agent. One index read covers every
    /// session that its rows pass. Where they pass few of the sessions, the next ones are looked up one by one, so the
    /// agent's other sessions are not read.
    pub(crate) async fn own_of(
        &self,
        index: &str,
        agent: &AgentHandle,
        ids: &[&str],
    ) -> Result<BTreeSet<String>, Fault> {
        let (mut own_ids, mut remaining, mut rows_to_read) = (BTreeSet::new(), ids, ROWS_AT_FIRST);
        while let Some(first) = remaining.first() {
            // Starts just before the first, because a read returns the keys after the given one.
            let before = &first[..first.len().saturating_sub(1)];
            let max = rows_to_read.min(remaining.len() + 1).clamp(2, READ_ROWS_MAX);
            let rows = self.ids(index, agent, Some(before), Order::Ascending, max).await?;
            let passed_count = match rows.last() {
                Some(last) if rows.len() == max => {
                    remaining.partition_point(|id| *id <= last.as_str()).max(1)
                }
                _ => remaining.len(),
            };
            own_ids.extend(
                rows.into_iter().filter(|id| remaining[..passed_count].binary_search(&id.as_str()).is_ok()),
            );
            remaining = &remaining[passed_count..];
            if passed_count * 4 > max {
                rows_to_read = max * 4;
            } else {
                let (next, rest) = remaining.split_at(remaining.len().min(LOOKED_UP_TOGETHER));
                own_ids.extend(self.listed(index, agent, next).await?);
                (remaining, rows_to_read) = (rest, ROWS_AT_FIRST);
            }
        }
        Ok(own_ids)
    }

    /// The subset of these sessions that an index lists for an agent, each looked up.
    async fn listed(&self, index: &str, agent: &AgentHandle, ids: &[&str]) -> Result<Vec<String>, Fault> {
        let prefix = format!("{agent}/");
        let keys: Vec<String> = ids.iter().map(|id| format!("{prefix}{id}")).collect();
        let found = self.log().keys_of(index, &keys).await?;
        Ok(found.into_iter().map(|key| key[prefix.len()..].to_owned()).collect())
    }

    /// A page of the sessions that strangers offer to an agent and that have events after a position, and the last one
    /// checked if there are more.
    pub async fn offers_with_news(
        &self,
        agent: &AgentHandle,
        after_id: Option<&str>,
        after: Position,
    ) -> Result<(Vec<StreamNews>, Option<String>), Fault> {
        let ids = self.ids(OFFERED, agent, after_id, Order::Ascending, READ_ROWS_MAX).await?;
        let streams: Vec<_> = ids.iter().map(|id| SessionRoom::stream(id)).collect();
        let news = self.log().streams_after(&streams, after).await?;
        let has_more = ids.len() == READ_ROWS_MAX;
        Ok((news, ids.into_iter().next_back().filter(|_| has_more)))
    }

    /// The invitation that carried a session's first message to an agent (ASP-29): its kind of news, and its position.
    pub async fn first_message_invitation(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
    ) -> Result<Option<(Kind, Position)>, Fault> {
        let (state, _) = self.0.streams.observed(id.as_str()).await?;
        match state.participant(agent) {
            Some(participant) => self.inline_invitation(id, participant).await,
            None => Ok(None),
        }
    }

    /// Whether the agent has not yet answered a stranger's invitation to the session.
    pub async fn is_offered(&self, agent: &AgentHandle, id: &SessionId) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.observed(id.as_str()).await?;
        Ok(state.participant(agent).is_some_and(|participant| participant.offered_by.is_some()))
    }

    /// The agents that may have something new to read after these events of a session.
    pub async fn readers(&self, run: &[&StoredEvent]) -> Result<Vec<AgentHandle>, Fault> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(Vec::new()) };
        let (state, _) = self.0.streams.observed(first.stream.id()).await?;
        let before = Version(first.version.0 - 1);
        let has_message = run.iter().any(|event| event.kind == MESSAGE_SENT);
        let readers = state.participants.iter().filter(|(_, participant)| {
            participant.stay.is_some()
                || participant.next_readable(before, last.version).is_some()
                || has_message && participant.open_invitation().is_some()
        });
        Ok(readers.map(|(handle, _)| handle.clone()).collect())
    }

    /// The news for an agent in a session after a version; beyond `max` only the first are listed. `known_events` are all
    /// events that the session had a moment ago, or none.
    pub async fn news(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
        (after, max): (Version, usize),
        known_events: &[StoredEvent],
    ) -> Result<SessionNews, Fault> {
        let (state, head) = self.0.streams.fresh(id.as_str()).await?;
        let mut news = SessionNews { read_version: after, max, ..SessionNews::default() };
        let Some(participant) = state.participant(agent) else { return Ok(news) };
        news.is_offered = participant.offered_by.is_some();
        let session = SessionEvents::new(self.log(), SessionRoom::stream(id.as_str()), known_events, head);
        let mut size = PageSize::default();
        while let Some(next) = participant.next_readable(news.read_version, head) {
            let reads_all = participant.stay.is_some() || next <= participant.frozen;
            let max = if reads_all { size.events() } else { 1 };
            let events = session.after(Version(next.0 - 1), max).await?;
            size.learn(&events);
            if events.is_empty() {
                break;
            }
            for event in events.iter().take_while(|event| event.version <= head) {
                news.read_version = event.version;
                if joining_version(participant) == Some(event.version) {
                    news.add_transcript(agent, participant, event, &session).await?;
                }
                if participant.may_read(event.version) && !is_transcript(participant, event.version) {
                    news.add_event(agent, event, (event.position, 0))?;
                }
            }
        }
        if state.phase == Phase::Active
            && let Some(invitation) = participant.open_invitation()
        {
            news.add_reminder(&session, (invitation, head)).await?;
        }
        Ok(news)
    }

    /// Who claims the sender of the message at a version: the host of a peer's session, for which its creator stands. All
    /// else that agents of this network do there is only what this network forwarded.
    pub(crate) async fn voucher(&self, id: &SessionId, at: Version) -> Result<Option<AgentHandle>, Fault> {
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        let Some(created) = state.created.as_ref().filter(|created| created.host.is_some()) else {
            return Ok(None);
        };
        let stream = SessionRoom::stream(id.as_str());
        let Some(event) = self.log().read_stream(&stream, Version(at.0 - 1), 1).await?.pop() else {
            return Ok(None);
        };
        let is_message = matches!(SessionEvent::decode(&event)?, SessionEvent::MessageSent(_));
        Ok(is_message.then(|| created.creator.clone()))
    }

    /// The text of a piece of news, if the agent may read it now.
    pub async fn text_of(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
        at: Version,
    ) -> Result<Option<NewsText>, Fault> {
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        let Some(participant) = state.participant(agent) else { return Ok(None) };
        let topic = state.created.as_ref().and_then(|created| created.topic.clone());
        if !participant.may_read(at) {
            // A message that the agent may not read yet reminds it of its invitation.
            let is_reminder = state.phase == Phase::Active
                && participant.open_invitation().is_some_and(|invitation| invitation < at);
            return Ok(is_reminder.then(|| NewsText { topic, text: REMINDER.to_owned() }));
        }
        let stream = SessionRoom::stream(id.as_str());
        let Some(event) = self.log().read_stream(&stream, Version(at.0 - 1), 1).await?.pop() else {
            return Ok(None);
        };
        let mut event = SessionEvent::decode(&event)?;
        // The invitation carries the first message (ASP-29).
        if matches!(&event, SessionEvent::AgentInvited(invitation) if invitation.inline)
            && let Some(first_message) = self.log().read_stream(&stream, Version(1), 1).await?.pop()
        {
            event = SessionEvent::decode(&first_message)?;
        }
        let text = if let SessionEvent::MessageSent(message) = &event {
            plain(&message.members)
        } else {
            invitation(&state).to_owned()
        };
        Ok(Some(NewsText { topic, text }))
    }

    /// Whether an agent is about to leave a session of this network because of a block.
    ///
    /// # Errors
    /// If the log could not be read.
    pub async fn awaits_ejection(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
        blockers: &[AgentHandle],
    ) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.observed(id.as_str()).await?;
        Ok(state.host().is_none() && state.awaits_ejection(agent, blockers))
    }

    /// Whether a session may be shown to an agent now: not while the agent still has to leave it because of a block.
    pub async fn is_open_to(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
        blockers: &[AgentHandle],
    ) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.observed(id.as_str()).await?;
        Ok(state.participant(agent).is_some() && !state.awaits_ejection(agent, blockers))
    }
}

/// The version of the joining that began the present stay; a creator has none.
fn joining_version(participant: &Participant) -> Option<Version> {
    participant.stay.filter(|stay| stay.0 > 1)
}

/// The version after which the transcript of a joining begins.
fn transcript_start(participant: &Participant, joining: Version) -> Version {
    let of_stay = |invited: &&Version| **invited > participant.frozen && **invited < joining;
    let invited = participant.glimpses.iter().filter(of_stay).min();
    let since_invited = invited.map_or(0, |invited| joining.0 - invited.0);
    let events = since_invited.clamp(TRANSCRIPT_EVENTS_MIN, TRANSCRIPT_EVENTS_MAX);
    Version(joining.0.saturating_sub(1 + events).max(participant.frozen.0).max(1))
}

/// Whether the event is too old to be news for an agent that joined later.
pub(crate) fn is_history(participant: &Participant, version: Version) -> bool {
    let start = joining_version(participant).map(|joining| transcript_start(participant, joining));
    is_transcript(participant, version) && start.is_some_and(|start| version <= start)
}

/// Whether the event precedes the present stay and was not readable in a former one.
pub(crate) fn is_transcript(participant: &Participant, version: Version) -> bool {
    joining_version(participant).is_some_and(|joining| version < joining) && !participant.has_glimpse(version)
}

struct SessionEvents<'a> {
    log: &'a Log,
    stream: StreamName,
    /// All of them, if they are known.
    known: Option<&'a [StoredEvent]>,
}

impl<'a> SessionEvents<'a> {
    /// `known` are those that the session had a moment ago; they count if it has no more.
    fn new(log: &'a Log, stream: StreamName, known: &'a [StoredEvent], head: Version) -> Self {
        let known = Some(known).filter(|known| known.last().is_some_and(|last| last.version == head));
        Self { log, stream, known }
    }

    /// The events after a version, at most `max`.
    async fn after(&self, version: Version, max: usize) -> Result<Cow<'a, [StoredEvent]>, Fault> {
        let Some(known) = self.known else {
            return Ok(Cow::Owned(self.log.read_stream(&self.stream, version, max).await?));
        };
        let rest = &known[known.partition_point(|event| event.version <= version)..];
        Ok(Cow::Borrowed(&rest[..rest.len().min(max)]))
    }
}

impl SessionNews {
    /// Adds the last message after an invitation, as a repetition of the invitation: an agent that has seen the
    /// invitation and has not joined would never learn of later messages.
    async fn add_reminder(
        &mut self,
        session: &SessionEvents<'_>,
        (invitation, head): (Version, Version),
    ) -> Result<(), Fault> {
        let oldest = Version(head.0.saturating_sub(REMINDER_EVENTS_MAX));
        let after = self.read_version.max(invitation).max(oldest);
        if after >= head {
            return Ok(());
        }
        let events = session.after(after, READ_ROWS_MAX).await?;
        let mut events = events.iter().filter(|event| event.version <= head);
        let Some(last) = events.rfind(|event| event.kind == MESSAGE_SENT) else { return Ok(()) };
        let invited = session.after(Version(invitation.0 - 1), 1).await?;
        let Some(invited) = invited.first() else { return Ok(()) };
        // The agent may not know who else takes part: the sender is not named.
        let SessionEvent::AgentInvited(AgentInvited { by, .. }) = SessionEvent::decode(invited)? else {
            return Ok(());
        };
        let reminder = News::at_event(Kind::SessionInvited, last, Some(by));
        self.news.push(News { reminds_of: Some(invited.position), ..reminder });
        self.read_version = last.version;
        Ok(())
    }

    /// The messages before the agent's joining, as news at the position of the joining.
    async fn add_transcript(
        &mut self,
        agent: &AgentHandle,
        participant: &Participant,
        joining: &StoredEvent,
        session: &SessionEvents<'_>,
    ) -> Result<(), Fault> {
        let mut read_version = transcript_start(participant, joining.version);
        let mut size = PageSize::default();
        while read_version.next() < joining.version {
            let remaining = usize::try_from(joining.version.0 - read_version.0 - 1).unwrap_or(1);
            let max = size.events().min(remaining);
            let events = session.after(read_version, max).await?;
            size.learn(&events);
            let Some(last) = events.last() else { break };
            read_version = last.version;
            for event in events.iter().filter(|event| event.kind == MESSAGE_SENT) {
                self.add_event(agent, event, (joining.position, event.version.0))?;
            }
        }
        Ok(())
    }

    fn add_event(
        &mut self,
        agent: &AgentHandle,
        event: &StoredEvent,
        (position, nth): (Position, u64),
    ) -> Result<(), Fault> {
        let version = event.version;
        let mut push = |kind, from| {
            if self.news.len() < self.max {
                self.news.push(News { position, nth, ..News::at_event(kind, event, Some(from)) });
            }
        };
        if let Some(message) = MessageHead::read(event)? {
            if message.sender == agent.as_str() {
                self.answered_version = version;
            } else {
                let corrupt = |error: MalformedText| stored::corrupt(event, &error.to_string());
                push(Kind::SessionMessage, message.sender.parse::<AgentHandle>().map_err(corrupt)?);
            }
            return Ok(());
        }
        match SessionEvent::decode(event)? {
            SessionEvent::AgentInvited(invitation) if invitation.invitee == *agent => {
                let kind = if self.is_offered { Kind::SessionOffered } else { Kind::SessionInvited };
                push(kind, invitation.by);
            }
            SessionEvent::AgentJoined(joining) if joining.agent == *agent => self.joined_version = version,
            SessionEvent::SessionReopened(reopening) if reopening.by == *agent => {
                self.joined_version = version
            }
            SessionEvent::MessageSent(_)
            | SessionEvent::SessionCreated(_)
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

/// The text of an invitation that is repeated.
const REMINDER: &str = "invited to the session, which has new messages; join it to read them";

fn invitation(state: &SessionState) -> &'static str {
    match state.shown_end() {
        None => "invited to the session",
        Some(_) => "invited to the session, which has ended since",
    }
}

#[derive(Deserialize)]
struct Members {
    content: Value,
}

/// A message as plain text, from its members: its text parts, and a line for each other part.
pub(crate) fn plain(members: &[u8]) -> String {
    match serde_json::from_slice(&json_object(members)) {
        Ok(Members { content: Value::String(text) }) => text,
        Ok(Members { content: Value::Array(parts) }) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
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
