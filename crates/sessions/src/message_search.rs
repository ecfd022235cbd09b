//! Searches the messages that an agent may read for a text: newest session first, and in each the newest message first.
//! The word index selects the messages to read; without an index, or while it is behind, all messages are read. One
//! search reads a bounded amount; its cursor tells where the next search continues.
//! Must not know: HTTP.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    str::FromStr,
};

use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, SessionId, Version, limits::PAGE_BYTES_MAX};
use plenary_log::{Fault, Order, PageSize, StoredEvent};
use plenary_retrieval::Query;
use plenary_room::indexed_at;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{
    Sessions,
    event::{FIRST_MESSAGE as FIRST, MessageHead, json_object},
    findable::ROOM,
    room::SessionRoom,
    state::Participant,
    views::ReadError,
    wire,
};

/// Most events that one search reads; beyond it the page ends.
const EVENTS_READ_MAX: usize = 10_000;
/// Most bytes of events that one search reads; beyond it the page ends.
const BYTES_READ_MAX: usize = 32 << 20;
/// Most sessions that one search looks into; beyond it the page ends.
const SESSIONS_SEARCHED_MAX: usize = 1_000;
/// Sessions per index read.
const IDS_AT_ONCE: usize = 64;

/// `GET /search/messages`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundMessages {
    /// The messages as in `session.message`; newest session first, and newest message first in each.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub messages: Vec<Box<RawValue>>,
    /// The `cursor` of the next page; null if the search is complete. A page may be empty and still have a next page.
    pub next_cursor: Option<String>,
}

/// A search request.
#[derive(Debug)]
pub(crate) struct Search {
    /// The text, in lower case.
    pub(crate) text: String,
    /// Its words.
    pub(crate) query: Query,
    /// Maximum number of messages.
    pub(crate) limit: usize,
    /// Only in this session.
    pub(crate) session: Option<SessionId>,
    /// Only in sessions in which this agent participates or participated.
    pub(crate) counterpart: Option<AgentHandle>,
    /// The end of the previous page.
    pub(crate) place: Option<SearchCursor>,
}

/// The end of a page. Still to search: the events before this version in this session, and all older sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchCursor {
    session: SessionId,
    before: Version,
}

impl SearchCursor {
    pub(crate) fn is_in(&self, session: &SessionId) -> bool {
        self.session == *session
    }
}

impl fmt::Display for SearchCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.session, self.before.0)
    }
}

impl FromStr for SearchCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (session, before) = text.split_once('.').ok_or(())?;
        let before = before.parse().map_err(|_| ())?;
        Ok(Self { session: session.parse().map_err(|_| ())?, before: Version(before) })
    }
}

/// The hits so far, and how much may still be read.
struct Page {
    messages: Vec<Box<RawValue>>,
    bytes: usize,
    limit: usize,
    events_left: usize,
    bytes_left: usize,
}

impl Page {
    fn is_full(&self) -> bool {
        self.messages.len() == self.limit
            || self.bytes > PAGE_BYTES_MAX
            || self.events_left == 0
            || self.bytes_left == 0
    }

    fn count_read(&mut self, events: &[StoredEvent]) {
        let bytes: usize = events.iter().map(StoredEvent::bytes).sum();
        self.events_left = self.events_left.saturating_sub(events.len().max(1));
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }
}

/// The members of a message that are searched.
#[derive(Deserialize)]
struct SearchedMessage {
    content: Value,
}

impl Search {
    /// Whether a message contains the text, or all its words in any form.
    fn matches(&self, members: &[u8]) -> bool {
        let object = json_object(members);
        let Ok(SearchedMessage { content }) = serde_json::from_slice(&object) else { return false };
        let is_in = |text: &str| text.to_lowercase().contains(&self.text) || self.query.coverage(text) >= 1.0;
        match &content {
            Value::String(text) => is_in(text),
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).any(is_in),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        }
    }
}

/// The messages that the index returns for a search, by session.
type Candidates = HashMap<SessionId, BTreeSet<Version>>;

/// A searched session, as the caller sees it.
struct Part {
    participant: Participant,
    /// The last version that the caller may read.
    last: Version,
}

impl Sessions {
    /// A page of the messages that an agent may read and that have the text.
    pub(crate) async fn search(
        &self,
        agent: &AgentHandle,
        search: &Search,
    ) -> Result<FoundMessages, ReadError> {
        let mut page = Page {
            messages: Vec::new(),
            bytes: 0,
            limit: search.limit,
            events_left: EVENTS_READ_MAX,
            bytes_left: BYTES_READ_MAX,
        };
        let mut place = search.place.clone();
        let (mut last_searched, mut searched_count, mut is_indexed) = (None, 0, true);
        loop {
            let ids = match (&place, &search.session) {
                (Some(place), _) => vec![place.session.clone()],
                (None, Some(session)) => vec![session.clone()],
                (None, None) => self.newest_before(agent, last_searched.as_ref()).await?,
            };
            let Some(last) = ids.last().cloned() else { break };
            let candidates = if is_indexed { self.candidates(agent, &ids, search).await? } else { None };
            // If the index has too many matches or is behind, the remaining sessions are scanned without another query.
            is_indexed = candidates.is_some();
            for id in ids {
                let before = place.take().map(|place| place.before);
                searched_count += 1;
                let versions = candidates.as_ref().map(|candidates| candidates.get(&id));
                let continuation = match versions {
                    Some(None) => Ok(None),
                    Some(Some(versions)) => {
                        self.check_candidates(agent, &id, (before, versions), search, &mut page).await
                    }
                    None => self.search_session(agent, &id, before, search, &mut page).await,
                };
                let continuation =
                    Fault::skip_corrupt(continuation, "a damaged session is left out of a search")?.flatten();
                let at_end = searched_count == SESSIONS_SEARCHED_MAX || page.is_full();
                let next = continuation.or_else(|| at_end.then_some(FIRST));
                if let Some(before) = next {
                    return Ok(page.finish(Some(SearchCursor { session: id, before })));
                }
            }
            if search.session.is_some() {
                break;
            }
            last_searched = Some(last);
        }
        Ok(page.finish(None))
    }

    async fn newest_before(
        &self,
        agent: &AgentHandle,
        before: Option<&SessionId>,
    ) -> Result<Vec<SessionId>, Fault> {
        let ids = self.ids_of(agent, before.map(SessionId::as_str), Order::Descending, IDS_AT_ONCE).await?;
        let parse =
            |id: String| id.parse().map_err(|_| Fault::Corrupt(format!("a session id in the index: {id}")));
        ids.into_iter().map(parse).collect()
    }

    /// The messages of these sessions that contain a word of the search; `None` if the index can't give a complete
    /// answer.
    async fn candidates(
        &self,
        agent: &AgentHandle,
        ids: &[SessionId],
        search: &Search,
    ) -> Result<Option<Candidates>, Fault> {
        let Some(words) = self.0.words.get() else { return Ok(None) };
        let mut shelves = BTreeSet::new();
        for id in ids {
            // Sessions of others are not looked up in the index: the response time would reveal something about them.
            if self.takes_part(agent, id).await? {
                shelves.insert(id.to_string());
            }
        }
        let hits = words.matches(ROOM, &search.query, shelves).await?;
        if !hits.is_whole {
            return Ok(None);
        }
        let mut candidates = Candidates::new();
        for (session, version) in hits.ids.iter().filter_map(|id| indexed_at(id)) {
            candidates.entry(session).or_default().insert(version);
        }
        Ok(Some(candidates))
    }

    /// A session, if the search covers it and the caller takes or took part in it.
    async fn part(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
        search: &Search,
    ) -> Result<Option<Part>, Fault> {
        if !self.takes_part(agent, id).await? {
            return Ok(None);
        }
        let (state, head) = self.0.streams.fresh(id.as_str()).await?;
        let Some(participant) = state.participant(agent).cloned() else { return Ok(None) };
        if search.counterpart.as_ref().is_some_and(|other| !state.knows(agent, other)) {
            return Ok(None);
        }
        let last = if participant.stay.is_some() { head } else { participant.frozen.min(head) };
        Ok(Some(Part { participant, last }))
    }

    /// Checks the index's matches in one session, from `before` backwards. Returns where to continue if the page ended.
    async fn check_candidates(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
        (before, candidates): (Option<Version>, &BTreeSet<Version>),
        search: &Search,
        page: &mut Page,
    ) -> Result<Option<Version>, Fault> {
        let Some(Part { participant, last }) = self.part(agent, id, search).await? else {
            return Ok(None);
        };
        let stream = SessionRoom::stream(id.as_str());
        let before = before.unwrap_or(Version(u64::MAX)).max(FIRST);
        for version in candidates.range(FIRST..before).rev().copied() {
            if page.is_full() {
                return Ok(Some(version.next()));
            }
            if version <= last || participant.has_inline(version) {
                let events = self.log().read_stream(&stream, Version(version.0 - 1), 1).await?;
                page.count_read(&events);
                page.add_matches(id, search, &events)?;
            }
        }
        Ok(None)
    }

    /// Scans one session from `before` backwards. Returns where to continue if the page ended.
    async fn search_session(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
        before: Option<Version>,
        search: &Search,
        page: &mut Page,
    ) -> Result<Option<Version>, Fault> {
        let Some(Part { participant, last }) = self.part(agent, id, search).await? else {
            return Ok(None);
        };
        let stream = SessionRoom::stream(id.as_str());
        let mut before = before.unwrap_or(Version(u64::MAX));
        if before > FIRST && last < FIRST && participant.has_inline(FIRST) {
            let first = self.log().read_stream(&stream, Version(FIRST.0 - 1), 1).await?;
            page.add_matches(id, search, &first)?;
        }
        before = before.min(last.next());
        let mut size = PageSize::default();
        while before > FIRST {
            if page.is_full() {
                return Ok(Some(before));
            }
            let count = u64::try_from(size.events()).unwrap_or(u64::MAX).min(before.0 - FIRST.0);
            let after = Version(before.0 - 1 - count);
            let events = self.log().read_stream(&stream, after, usize::try_from(count).unwrap_or(1)).await?;
            size.learn(&events);
            page.count_read(&events);
            for event in events.iter().rev() {
                if page.messages.len() == page.limit || page.bytes > PAGE_BYTES_MAX {
                    return Ok(Some(event.version.next()));
                }
                page.add_matches(id, search, std::slice::from_ref(event))?;
            }
            before = after.next();
        }
        Ok(None)
    }
}

impl Page {
    /// Adds the messages that contain the text.
    fn add_matches(&mut self, id: &SessionId, search: &Search, events: &[StoredEvent]) -> Result<(), Fault> {
        for event in events {
            let Some(head) = MessageHead::read(event)? else { continue };
            if search.matches(&event.payload) {
                let text = format!("{{{}}}", wire::message(id, event, &head)?);
                self.bytes += text.len();
                let raw = RawValue::from_string(text).map_err(|error| Fault::Corrupt(error.to_string()))?;
                self.messages.push(raw);
            }
        }
        Ok(())
    }

    fn finish(self, place: Option<SearchCursor>) -> FoundMessages {
        FoundMessages { messages: self.messages, next_cursor: place.map(|place| place.to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_message_is_searched_whatever_its_case() {
        for (members, is_match) in [
            (r#""content":"Ship the Überraschung","metadata":{"a":1}"#, true),
            (r#""content":[{"type":"data","data":{}},{"type":"text","text":"überraschung"}]"#, true),
            (r#""content":"something else","idempotency_key":"überraschung""#, false),
            (r#""content":[{"type":"file","url":"https://a/überraschung"}]"#, false),
            (r#""content":"no","metadata":{"text":"überraschung"}"#, false),
        ] {
            assert_eq!(search("überraschung").matches(members.as_bytes()), is_match, "{members}");
        }
    }

    fn search(text: &str) -> Search {
        let query = Query::read(text).unwrap();
        Search { text: text.to_owned(), query, limit: 1, session: None, counterpart: None, place: None }
    }

    #[test]
    fn all_words_in_whatever_form_are_as_good_as_the_text_itself() {
        let matches = |text: &str| search(text).matches(br#""content":"The parsers failed, twice""#);
        assert!(matches("rsers fai") && matches("failing parser") && matches("parser"));
        assert!(!matches("failing parser thrice") && !matches("??"));
    }

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let session: SessionId = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let place = SearchCursor { session, before: Version(7) };
        assert_eq!(place.to_string().parse(), Ok(place));
        for invalid in
            ["", ".", "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV", "x.7", "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV.x"]
        {
            assert_eq!(invalid.parse::<SearchCursor>(), Err(()), "{invalid}");
        }
    }

    #[test]
    fn a_page_ends_at_its_messages_its_events_and_its_bytes() {
        let page = || Page { messages: Vec::new(), bytes: 0, limit: 1, events_left: 1, bytes_left: 1 };
        assert!(!page().is_full());
        for full_page in [
            Page { limit: 0, ..page() },
            Page { bytes: PAGE_BYTES_MAX + 1, ..page() },
            Page { events_left: 0, ..page() },
            Page { bytes_left: 0, ..page() },
        ] {
            assert!(full_page.is_full());
        }
        let mut page = page();
        page.count_read(&[]);
        assert_eq!(page.events_left, 0, "a read that brings nothing counts too");
    }
}
