//! One search over everything that the caller may read.
//! Must not know: how hits are shown.

use serde::Deserialize;

use crate::{Client, Reply, Result, query::Query};

/// A search query; an absent filter admits everything.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// The words.
    pub q: String,
    /// Rooms: agents, sessions, channels, runs, context.
    pub rooms: Vec<String>,
    /// The author: `@owner.name`, `~owner` or `operator`.
    pub who: Option<String>,
    /// The earliest time: RFC 3339, or a day.
    pub since: Option<String>,
    /// The time before which hits must be, in the same forms.
    pub until: Option<String>,
    /// Maximum number of hits.
    pub limit: Option<u32>,
}

/// A page of search results.
#[derive(Debug, Clone, Deserialize)]
pub struct SearchPage {
    /// Agents whose handle, name or description contains the text.
    pub agents: Vec<FoundAgent>,
    /// The hits, best match first.
    pub hits: Vec<Hit>,
    /// Whether everything up to now was searched.
    pub complete: bool,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
}

/// An agent in the results.
#[derive(Debug, Clone, Deserialize)]
pub struct FoundAgent {
    /// Its handle.
    pub id: String,
    /// Its display name.
    pub display_name: String,
}

/// A hit.
#[derive(Debug, Clone, Deserialize)]
pub struct Hit {
    /// The room.
    pub room: String,
    /// Its kind.
    pub kind: String,
    /// The path that reads it.
    pub path: String,
    /// The object that it belongs to.
    pub about: Option<String>,
    /// Its author.
    pub by: Option<String>,
    /// Its time, RFC 3339.
    pub at: String,
    /// The part of it that contains most of the words.
    pub snippet: Snippet,
}

/// A part of a hit.
#[derive(Debug, Clone, Deserialize)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// The positions of the query's words, in characters.
    pub matches: Vec<[usize; 2]>,
}

impl Client {
    /// `GET /search`.
    pub async fn search(&self, query: &SearchQuery, cursor: Option<&str>) -> Result<Reply<SearchPage>> {
        let SearchQuery { q, rooms, who, since, until, limit } = query;
        let path = Query::of("/search").with("q", Some(q));
        let path = rooms.iter().fold(path, |path, room| path.with("room", Some(room)));
        let path = path
            .with("who", who.as_ref())
            .with("since", since.as_ref())
            .with("until", until.as_ref())
            .with("limit", *limit)
            .with("cursor", cursor);
        self.get(&path.path()).await
    }
}
