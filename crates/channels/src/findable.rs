//! Searches events of channels by their words: in the channels of the searcher's list, if it may still use them.
//! Must not know: the ranking of results.

use futures_util::future::try_join_all;
use plenary_accounts::{Actor, Authority};
use plenary_engine::Room as _;
use plenary_kernel::Version;
use plenary_log::{Fault, Order, StoredEvent};
use plenary_retrieval::Change;
use plenary_room::{
    Findable, FoundItem, Reference, Searcher, Shelf, async_trait, body, indexed, indexed_at, texts,
};
use serde_json::Value;

use crate::{
    Channels,
    command::Caller,
    event::{ChannelEvent, EventAppended},
    id::ChannelId,
    lookup::AgentCache,
    room::{ChannelRoom, EVERYBODY, LISTED},
};

/// States that are loaded at once.
const LOADED_AT_ONCE: usize = 16;

fn text(event: &EventAppended) -> String {
    texts(&serde_json::from_slice::<Value>(&event.payload).unwrap_or_default())
}

fn change(event: &StoredEvent) -> Option<Change> {
    let appended = match ChannelEvent::decode(event) {
        Ok(ChannelEvent::EventAppended(appended)) => appended,
        Ok(_) => return None,
        Err(fault) => {
            tracing::error!(%fault, "the event of a channel cannot be read and is not indexed");
            return None;
        }
    };
    Some(indexed(event, event.at, text(&appended)))
}

impl Channels {
    fn searching(&self, searcher: &Searcher) -> Caller {
        let authority = Some(Authority { by: Actor::from(searcher), token: None });
        Caller { authority, key: None, open: self.config().open }
    }

    async fn found_event(&self, searcher: &Searcher, id: &str) -> Result<Option<FoundItem>, Fault> {
        let Some((channel, version)) = indexed_at::<ChannelId>(id) else { return Ok(None) };
        let (state, _) = self.fresh(&channel).await?;
        let caller = self.searching(searcher);
        if self.access_of(&state, &caller, &mut AgentCache::default()).await?.is_none() {
            return Ok(None);
        }
        let stream = ChannelRoom::stream(channel.as_str());
        let Some(stored) = self.log().read_stream(&stream, Version(version.0 - 1), 1).await?.pop() else {
            return Ok(None);
        };
        let ChannelEvent::EventAppended(appended) = ChannelEvent::decode(&stored)? else { return Ok(None) };
        let number = stored.position.0;
        let reference = Reference {
            channel_id: Some(channel.to_string()),
            event_id: Some(number),
            ..Reference::default()
        };
        let title = state.created.as_ref().map(|created| created.title.clone());
        let author = appended.via.as_ref().map_or_else(|| appended.author.clone(), Actor::to_string);
        Ok(Some(FoundItem {
            kind: "event",
            path: format!("/agent-channel/{channel}/events?after_id={}&limit=1", number.saturating_sub(1)),
            reference,
            about: title.filter(|title| !title.is_empty()),
            by: Some(author).filter(|author| !author.is_empty()),
            at_ms: stored.at.ms(),
            sections: body(text(&appended)),
        }))
    }
}

#[async_trait]
impl Findable for Channels {
    fn room(&self) -> &'static str {
        "channels"
    }

    fn categories(&self) -> &'static [&'static str] {
        &[ChannelRoom::CATEGORY]
    }

    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault> {
        Ok(change(event))
    }

    async fn shelves(&self, searcher: &Searcher, max: usize) -> Result<Vec<Shelf>, Fault> {
        let owner = Actor::from(searcher).owner();
        let list = owner.as_ref().map_or_else(|| EVERYBODY.to_owned(), ToString::to_string);
        let prefix = format!("{list}/");
        let rows = self.log().read_index(LISTED, &prefix, None, max, Order::Descending).await?;
        let ids: Vec<&str> = rows.iter().filter_map(|row| row.key.rsplit('/').next()).collect();
        if owner.is_none() {
            return Ok(ids.into_iter().map(Shelf::new).collect());
        }
        let (caller, mut seen, mut shelves) = (self.searching(searcher), AgentCache::default(), Vec::new());
        for ids in ids.chunks(LOADED_AT_ONCE) {
            // From memory: reading an event asks the store whether its channel changed.
            let states = try_join_all(ids.iter().map(|id| async move {
                let state = self.0.streams.state(id).await;
                Fault::skip_corrupt(state, "a damaged channel is left out of a search")
            }));
            for (id, state) in ids.iter().zip(states.await?) {
                let Some((state, _)) = state else { continue };
                if self.access_of(&state, &caller, &mut seen).await?.is_some() {
                    shelves.push(Shelf::new(*id));
                }
            }
        }
        Ok(shelves)
    }

    async fn read(&self, searcher: &Searcher, id: &str) -> Result<Option<FoundItem>, Fault> {
        self.found_event(searcher, id).await
    }
}
