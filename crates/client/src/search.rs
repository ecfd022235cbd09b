//! One search over everything that the caller may read.
//! Must not know: how hits are shown.

use serde::Deserialize;

use crate::{Client, Reply, Result, client::segment};

/// What is searched for; of what is absent everything.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// The words.
    pub q: String,
    /// Rooms: agents, sessions, channels, runs, context.
    pub rooms: Vec<String>,
    /// Who made it: `@owner.name`, `~owner` or `operator`.
    pub who: Option<String>,
    /// Not older than this: RFC 3339, or a day.
    pub since: Option<String>,
    /// Older than this, likewise.
    pub until: Option<String>,
    /// How many hits.
    pub limit: Option<u32>,
}

/// A page of what was found.
#[derive(Debug, Clone, Deserialize)]
pub struct SearchPage {
    /// Agents whose handle, name or description has the text.
    pub agents: Vec<FoundAgent>,
    /// What was said, the nearest first.
    pub hits: Vec<Hit>,
    /// Whether everything up to now was searched.
    pub complete: bool,
    /// The cursor of the next page.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// An agent that was found.
#[derive(Debug, Clone, Deserialize)]
pub struct FoundAgent {
    /// Its handle.
    pub id: String,
    /// Its name for people.
    pub display_name: String,
}

/// Something that was found.
#[derive(Debug, Clone, Deserialize)]
pub struct Hit {
    /// The room.
    pub room: String,
    /// What it is.
    pub kind: String,
    /// The path that reads it.
    pub path: String,
    /// What it belongs to.
    #[serde(default)]
    pub about: Option<String>,
    /// Who made it.
    #[serde(default)]
    pub by: Option<String>,
    /// When: RFC 3339.
    pub at: String,
    /// The part of it that has most of the words.
    pub snippet: Snippet,
}

/// A part of what was found.
#[derive(Debug, Clone, Deserialize)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// Where words of the query stand, in characters.
    pub matches: Vec<[usize; 2]>,
}

impl Client {
    /// `GET /search`.
    ///
    /// # Errors
    /// As every call.
    pub async fn search(&self, query: &SearchQuery, cursor: Option<&str>) -> Result<Reply<SearchPage>> {
        let mut path = format!("/search?q={}", segment(&query.q));
        let limit = query.limit.map(|limit| limit.to_string());
        let rooms = query.rooms.iter().map(|room| ("room", Some(room)));
        let others = [
            ("who", query.who.as_ref()),
            ("since", query.since.as_ref()),
            ("until", query.until.as_ref()),
            ("limit", limit.as_ref()),
        ];
        for (name, value) in rooms.chain(others) {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", segment(value)));
            }
        }
        if let Some(cursor) = cursor {
            path.push_str(&format!("&cursor={}", segment(cursor)));
        }
        self.get(&path).await
    }
}
