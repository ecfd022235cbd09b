//! One search over everything: messages of sessions, events of channels, inputs and results of runs, packages,
//! facts and
//! agents, each only if the caller may read it now. The index follows the log and decides nothing.
//! Must not know: the access rules of a room, or how an index is stored.

mod cursor;
mod query;
mod request;
mod routes;
mod selection;
mod served;
mod snippet;
mod wire;
mod words;

use std::{collections::HashMap, sync::Arc};

use plenary_accounts::Accounts;
use plenary_indexing::Source;
use plenary_log::{Fault, Log, StoredEvent};
use plenary_retrieval::{Change, Document, Index, Semantic};
use plenary_room::{Findable, async_trait};

pub use routes::operations;
pub use words::Words;

/// Fewest characters of a query.
pub const QUERY_CHARS_MIN: usize = 2;
/// Most characters of a query; a longer one gets 400 `invalid_query`.
pub const QUERY_CHARS_MAX: usize = 1_000;
/// Most sessions, channels, threads and projects, the newest of each, that one search covers.
pub const SHELVES_MAX: usize = 500;
/// Most items that are ranked for one query; further ones are not found.
pub const RANKED_MAX: usize = 200;
/// Bytes of text that are ranked for one query; it stops after the item that exceeds them.
pub const RANKED_BYTES_MAX: usize = 8 << 20;
/// Bytes of text that one search reads, those that a filter rejects included; it stops after the item that exceeds them.
pub const READ_BYTES_MAX: usize = 64 << 20;
/// Most items of each ranking that are read; more than are ranked, because some are filtered out or not
/// readable.
pub const HITS_READ_MAX: usize = 2 * RANKED_MAX;
/// Most items without vectors whose snippets are compared with a query, the best by words first.
pub const COMPARED_MAX: usize = 20;
/// Concurrent reads of one search.
pub const READS_AT_ONCE: usize = 16;
/// Most characters of a snippet.
pub const SNIPPET_CHARS_MAX: usize = 240;
/// Bytes of an item that are ranked, and from which its snippet is taken; later text is found but not shown.
pub const ITEM_BYTES_MAX: usize = 256 << 10;

/// The search over everything. Cheap to clone.
#[derive(Clone)]
pub struct Search(Arc<Inner>);

struct Inner {
    accounts: Accounts,
    log: Log,
    words: Words,
    /// `None` without a model.
    semantic: Option<Arc<dyn Semantic>>,
    sources: Sources,
}

/// The rooms in which items are found.
struct Sources {
    rooms: Vec<Arc<dyn Findable>>,
    /// The index of the room in `rooms`, by the category of its streams.
    by_category: HashMap<&'static str, usize>,
}

impl Search {
    /// Searches these rooms with an index of their words and, with a model, also by meaning. Without an index,
    /// only the rooms
    /// that have their own are searched.
    pub fn new(
        log: Log,
        accounts: Accounts,
        index: Option<Arc<dyn Index>>,
        semantic: Option<Arc<dyn Semantic>>,
        rooms: Vec<Arc<dyn Findable>>,
    ) -> Self {
        let categories = rooms.iter().enumerate();
        let by_category: HashMap<_, _> = categories
            .flat_map(|(nth, room)| room.categories().iter().map(move |category| (*category, nth)))
            .collect();
        let words = Words::new(log.clone(), index, by_category.keys().copied().collect());
        Self(Arc::new(Inner { accounts, log, words, semantic, sources: Sources { rooms, by_category } }))
    }

    /// The word index alone, for rooms that search only their own items.
    pub fn words(&self) -> Words {
        self.0.words.clone()
    }

    /// Keeps the index up to date with the log until the index is closed.
    pub async fn index(&self) {
        if let Some(follower) = self.0.words.follower() {
            follower.keep_up(&self.0.log, &self.0.sources).await;
        }
    }
}

/// The key of a room's shelf or item in the index.
fn within(room: &str, name: &str) -> String {
    [room, "/", name].concat()
}

/// A document of a room under its keys in the index.
fn of_room(room: &str, document: Document) -> Document {
    let (id, project) = (within(room, &document.id), within(room, &document.project));
    Document { id, project, ..document }
}

#[async_trait]
impl Source for Sources {
    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault> {
        let nth = self.by_category.get(event.stream.category());
        let Some(room) = nth.and_then(|nth| self.rooms.get(*nth)) else { return Ok(None) };
        let change = room.change(event).await?;
        let room = room.room();
        Ok(change.map(|change| match change {
            Change::Add(document) => Change::Add(of_room(room, document)),
            Change::Put(document) => Change::Put(of_room(room, document)),
            Change::Delete(id) => Change::Delete(within(room, &id)),
        }))
    }
}
