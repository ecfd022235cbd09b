//! One search over everything: messages of sessions, events of channels, inputs and results of runs, packages, facts and
//! agents, each as the caller may read it now. The index follows the log and decides nothing.
//! Must not know: the access rules of a room, or how an index is stored.

mod cursor;
mod finding;
mod request;
mod routes;
mod served;
mod snippet;
mod wire;
mod words;

use std::{collections::HashMap, sync::Arc};

use futures_util::future::BoxFuture;
use plenary_accounts::Accounts;
use plenary_indexing::Source;
use plenary_log::{Fault, Log, StoredEvent};
use plenary_retrieval::{Change, Index, Semantic};
use plenary_room::Findable;

pub use routes::operations;
pub use words::Words;

/// Fewest and most characters of a query.
pub const QUERY_CHARS_MIN: usize = 2;
/// See [`QUERY_CHARS_MIN`]; past it 400 `invalid_query`.
pub const QUERY_CHARS_MAX: usize = 1_000;
/// Sessions, channels, threads and projects, of each the newest, that one search looks in.
pub const SHELVES_MAX: usize = 500;
/// Things that compete for one query; those behind them are not found.
pub const RANKED_MAX: usize = 200;
/// Bytes of text that one search reads; the thing that goes past it is the last.
pub const RANKED_BYTES_MAX: usize = 8 << 20;
/// Things of each ranking that are looked at, so that some may be left out: they are another author's, or may not be read.
pub const LOOKED_AT_MAX: usize = 2 * RANKED_MAX;
/// Things without vectors that are compared with a query by their snippets, those that are nearest by their words.
pub const COMPARED_MAX: usize = 20;
/// Reads of things that go on at the same time for one search.
pub const READS_AT_ONCE: usize = 16;
/// Most characters of a snippet.
pub const SNIPPET_CHARS_MAX: usize = 240;
/// Bytes of a thing from which its snippet is taken; what is behind them is found and not shown.
pub const SNIPPET_BYTES_MAX: usize = 256 << 10;

/// The search over everything. Cheap to clone.
#[derive(Clone)]
pub struct Search(Arc<Inner>);

struct Inner {
    accounts: Accounts,
    log: Log,
    words: Words,
    /// Where there is a model.
    semantic: Option<Arc<dyn Semantic>>,
    sources: Sources,
}

/// The rooms in which things are found.
struct Sources {
    rooms: Vec<Arc<dyn Findable>>,
    /// Which of them has the streams of a category.
    by_category: HashMap<&'static str, usize>,
}

impl Search {
    /// A search in these rooms by an index of their words; with a model, also by how alike things are in meaning. Without an
    /// index only what the rooms have indexes of is found.
    #[must_use]
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

    /// The index alone, for rooms that ask it for their own things.
    #[must_use]
    pub fn words(&self) -> Words {
        self.0.words.clone()
    }

    /// Keeps the index up with the log until it is closed.
    pub async fn index(&self) {
        if let Some(follower) = self.0.words.follower() {
            follower.keep_up(&self.0.log, &self.0.sources).await;
        }
    }
}

/// The name of a room's shelf in the index, and the id of a thing there.
fn within(room: &str, name: &str) -> String {
    format!("{room}/{name}")
}

impl Source for Sources {
    fn change<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Change>, Fault>> {
        Box::pin(async move {
            let nth = self.by_category.get(event.stream.category());
            let Some(room) = nth.and_then(|nth| self.rooms.get(*nth)) else { return Ok(None) };
            let change = room.change(event).await?;
            Ok(change.map(|change| match change {
                Change::Put(mut document) => {
                    document.id = within(room.room(), &document.id);
                    document.project = within(room.room(), &document.project);
                    Change::Put(document)
                }
                Change::Delete(id) => Change::Delete(within(room.room(), &id)),
            }))
        })
    }
}
