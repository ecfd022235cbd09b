//! Messages in the full-text search. The index contains the messages of all sessions; a searcher finds those that it
//! may read in the session now.
//! Must not know: how hits are ranked.

use std::{collections::HashSet, sync::Arc};

use futures_util::future::{join_all, try_join_all};
use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, SessionId, Version};
use plenary_log::{Fault, Order, StoredEvent, StreamName};
use plenary_retrieval::Change;
use plenary_room::{
    Findable, FoundItem, Reference, Searcher, Shelf, WordIndex, async_trait, body, indexed, indexed_at,
};

use crate::{
    Sessions,
    event::{FIRST_MESSAGE, MessageHead, SessionEvent, event_time, sequence},
    news::plain,
    room::{BY_AGENT, OFFERED, SessionRoom},
    state::{EVERY_VERSION, Participant, SessionState},
};

/// States that are loaded at once.
const LOADED_AT_ONCE: usize = 16;

/// The name of the room in the index.
pub(crate) const ROOM: &str = "sessions";

impl Sessions {
    /// Sets the word index for message search. The first call counts; without an index, messages are scanned.
    pub fn set_words(&self, words: Arc<dyn WordIndex>) {
        let _ = self.0.words.set(words);
    }

    /// The agent as which a searcher reads a message: the searcher itself, or one of its agents that may read it.
    async fn reader(
        &self,
        searcher: &Searcher,
        state: &SessionState,
        version: Version,
    ) -> Result<Option<AgentHandle>, Fault> {
        if let Searcher::Agent(agent) = searcher {
            let may_read =
                |participant: &&Participant| participant.may_read(version) || participant.has_inline(version);
            return Ok(state.participant(agent).filter(may_read).map(|_| agent.clone()));
        }
        for (handle, participant) in &state.participants {
            // A deleted agent reads nothing, and nobody can read as it.
            if searcher.has(handle)
                && (participant.may_read(version) || participant.has_inline(version))
                && self.accounts().agent(handle).await?.state.is_live()
            {
                return Ok(Some(handle.clone()));
            }
        }
        Ok(None)
    }

    /// A session, as far as the searcher may read its messages; `None` if it may read none.
    async fn readable_shelf(&self, searcher: &Searcher, id: &str) -> Result<Option<Shelf>, Fault> {
        let shelf = Shelf { session: Some(id.to_owned()), ..Shelf::new(id) };
        if *searcher == Searcher::Operator {
            return Ok(Some(shelf));
        }
        // From memory: reading a message asks the store whether its session changed.
        let state = self.0.streams.state(id).await;
        let Some((state, _)) = Fault::skip_corrupt(state, "a damaged session is left out of a search")?
        else {
            return Ok(None);
        };
        let mut last = Version::ZERO;
        for (handle, participant) in &state.participants {
            let is_reader = searcher.has(handle) && participant.last_message() > last;
            if is_reader && self.accounts().agent(handle).await?.state.is_live() {
                last = participant.last_message();
            }
        }
        Ok((last >= FIRST_MESSAGE).then(|| Shelf { last: (last < EVERY_VERSION).then_some(last), ..shelf }))
    }

    /// The newest sessions of a searcher in an index, newest first.
    async fn searched_in(
        &self,
        index: &'static str,
        searcher: &Searcher,
        max: usize,
    ) -> Result<Vec<String>, Fault> {
        match searcher {
            Searcher::Agent(agent) => self.ids(index, agent, None, Order::Descending, max).await,
            Searcher::Owner(owner) => self.newest_ids(&[index], Some(owner), max).await,
            Searcher::Operator => self.newest_ids(&[index], None, max).await,
        }
    }

    /// A message that the searcher may read now.
    async fn readable_message(
        &self,
        searcher: &Searcher,
        id: &str,
    ) -> Result<Option<ReadableMessage>, Fault> {
        let Some((session, version)) = indexed_at::<SessionId>(id) else { return Ok(None) };
        let (state, _) = self.0.streams.fresh(session.as_str()).await?;
        let reader = self.reader(searcher, &state, version).await?;
        Ok(reader.map(|reader| ReadableMessage { session, version, state, reader }))
    }
}

/// A message that a searcher may read, before it is read.
struct ReadableMessage {
    session: SessionId,
    version: Version,
    state: Arc<SessionState>,
    reader: AgentHandle,
}

impl ReadableMessage {
    /// Its stream, and the version before it.
    fn place(&self) -> (StreamName, Version) {
        (SessionRoom::stream(self.session.as_str()), Version(self.version.0 - 1))
    }

    fn item(self, searcher: &Searcher, stored_event: &StoredEvent) -> Result<Option<FoundItem>, Fault> {
        let SessionEvent::MessageSent(message) = SessionEvent::decode(stored_event)? else { return Ok(None) };
        let Self { session, version, state, reader } = self;
        let number = sequence(version);
        let base = match searcher {
            Searcher::Agent(_) => String::new(),
            Searcher::Owner(_) | Searcher::Operator => format!("/_admin/agents/{reader}"),
        };
        Ok(Some(FoundItem {
            kind: "message",
            path: format!(
                "{base}/sessions/{session}/events?after_sequence={}&limit=1",
                number.saturating_sub(1)
            ),
            about: state.created.as_ref().and_then(|created| created.topic.clone()),
            by: Some(message.sender.to_string()),
            at_ms: event_time(&message.id, stored_event.at).ms(),
            sections: body(plain(&message.members)),
            reference: Reference {
                session_id: Some(session),
                sequence: Some(number),
                ..Reference::default()
            },
        }))
    }
}

fn change(event: &StoredEvent) -> Option<Change> {
    let message = match MessageHead::read(event) {
        Ok(message) => message?,
        Err(fault) => {
            tracing::error!(%fault, "a message cannot be read and is not indexed");
            return None;
        }
    };
    // A copy of a peer's session shows the host's times.
    Some(indexed(event, event_time(message.id, event.at), plain(&event.payload)))
}

#[async_trait]
impl Findable for Sessions {
    fn room(&self) -> &'static str {
        ROOM
    }

    fn categories(&self) -> &'static [&'static str] {
        &[SessionRoom::CATEGORY]
    }

    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault> {
        Ok(change(event))
    }

    async fn shelves(&self, searcher: &Searcher, max: usize) -> Result<Vec<Shelf>, Fault> {
        // In this order: an offer that is answered between the two reads appears in both, not in neither.
        let offered = self.searched_in(OFFERED, searcher, max).await?;
        let own = self.searched_in(BY_AGENT, searcher, max).await?;
        let known: HashSet<&String> = own.iter().collect();
        let offered = offered.iter().filter(|id| !known.contains(id));
        // Strangers may offer many sessions, which displace none of the others.
        let ids: Vec<_> = own.iter().chain(offered).take(max).collect();
        if *searcher != Searcher::Operator {
            self.load(ids.iter().copied()).await;
        }
        let mut shelves = Vec::with_capacity(ids.len());
        for ids in ids.chunks(LOADED_AT_ONCE) {
            let readable = ids.iter().map(|id| self.readable_shelf(searcher, id));
            shelves.extend(try_join_all(readable).await?.into_iter().flatten());
        }
        Ok(shelves)
    }

    async fn shelf(&self, searcher: &Searcher, name: &str) -> Result<Option<Shelf>, Fault> {
        // Only tokens of agents are restricted.
        let (Searcher::Agent(agent), Ok(session)) = (searcher, name.parse::<SessionId>()) else {
            return Ok(None);
        };
        if !self.takes_part(agent, &session).await? {
            return Ok(None);
        }
        self.readable_shelf(searcher, name).await
    }

    async fn read(&self, searcher: &Searcher, id: &str) -> Result<Option<FoundItem>, Fault> {
        let Some(message) = self.readable_message(searcher, id).await? else { return Ok(None) };
        let (stream, before) = message.place();
        let event = self.log().read_stream(&stream, before, 1).await?.pop();
        event.map_or(Ok(None), |event| message.item(searcher, &event))
    }

    async fn read_several(&self, searcher: &Searcher, ids: &[&str]) -> Vec<Result<Option<FoundItem>, Fault>> {
        let sessions: Vec<_> = ids.iter().filter_map(|id| id.rsplit_once('/')).map(|(id, _)| id).collect();
        self.0.streams.load_short(&sessions).await;
        let messages = join_all(ids.iter().map(|id| self.readable_message(searcher, id))).await;
        let places = messages.iter().flatten().flatten().map(ReadableMessage::place);
        let places: Vec<_> = places.collect();
        // A failed read leaves all of them out.
        let mut events = self.log().read_streams(&places, 1).await.unwrap_or_default().into_iter();
        let mut items = Vec::with_capacity(ids.len());
        for (message, id) in messages.into_iter().zip(ids) {
            items.push(match message {
                Ok(Some(message)) => match events.next().flatten() {
                    Some(events) => events.first().map_or(Ok(None), |event| message.item(searcher, event)),
                    None => Findable::read(self, searcher, id).await,
                },
                Ok(None) => Ok(None),
                Err(fault) => Err(fault),
            });
        }
        items
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Position, TimestampMs};

    use super::*;
    use crate::event::MessageSent;

    #[test]
    fn a_copied_message_is_indexed_under_the_time_of_its_host() {
        let message = MessageSent {
            id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned(),
            sender: "@nick-at-acme.cc".parse().unwrap(),
            origin: None,
            names: None,
            trace: None,
            members: br#""content":"late""#.to_vec().into(),
        };
        let (sent, arrived) = (1_469_922_850_259, TimestampMs(1_469_922_862_259));
        let new = SessionEvent::MessageSent(message).encode();
        let stored = StoredEvent {
            position: Position(1),
            stream: SessionRoom::stream("sess_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
            version: Version(2),
            kind: new.kind.into(),
            form: new.form,
            at: arrived,
            envelope: new.envelope,
            payload: new.payload,
        };
        let document = change(&stored).and_then(Change::document).unwrap();
        assert_eq!(document.created_at_ms, sent);
    }
}
