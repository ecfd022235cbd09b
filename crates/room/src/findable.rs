//! A room's part in the full-text search: the index changes that its events cause, the shelves that a searcher may
//! search, and each found item as the searcher may read it. The index grants no access: a searcher finds only what it
//! may read.
//! Must not know: how the index is stored or queried, or the ranking of hits.

use std::{collections::BTreeSet, str::FromStr};

use async_trait::async_trait;
use futures_util::future::join_all;
use plenary_kernel::{AgentHandle, OwnerName, TimestampMs, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_retrieval::{Change, Document, Hit, Kind, Query, Scope, Section};
use serde_json::Value;

use crate::Reference;

/// The caller of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Searcher {
    /// The operator; reads everything.
    Operator,
    /// An owner; reads what any of its agents may read, and its own data.
    Owner(OwnerName),
    /// An agent; reads what it may read.
    Agent(AgentHandle),
}

impl Searcher {
    /// Whether the searcher reads everything that this agent reads: it is the agent, its owner or the operator.
    pub fn has(&self, agent: &AgentHandle) -> bool {
        match self {
            Self::Operator => true,
            Self::Owner(owner) => owner.as_str() == agent.owner(),
            Self::Agent(me) => me == agent,
        }
    }
}

/// A part of the index that a searcher may search: a session, a channel, a thread or a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelf {
    /// Its name, equal to the `project` of the room's documents on it.
    pub name: String,
    /// The id of the session, if the shelf is a session; a token may be restricted to it.
    pub session: Option<String>,
    /// The names of the project in requests, if the shelf is a project; a token may be restricted to it.
    pub projects: Vec<String>,
    /// The version up to which the searcher may read the stream that the shelf is; `None` if it may read all of it.
    pub last: Option<Version>,
}

impl Shelf {
    /// A shelf to which no token can be restricted.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), session: None, projects: Vec::new(), last: None }
    }
}

/// A found item, as the searcher may read it.
#[derive(Debug, Clone)]
pub struct FoundItem {
    /// Its type: `message`, `event`, `input`, `result`, `package`, `fact`.
    pub kind: &'static str,
    /// The path of the request that reads it.
    pub path: String,
    /// The ids that locate it.
    pub reference: Reference,
    /// The title of its container, on one line: the topic of a session, the title of a channel, a thread or a package.
    pub about: Option<String>,
    /// The author: a handle, `~owner`, `operator`, or a free name where the room allows one.
    pub by: Option<String>,
    /// The time, in milliseconds since 1970.
    pub at_ms: i64,
    /// Its text, by section.
    pub sections: Vec<Section>,
}

/// The hits from a room's own indexes.
#[derive(Debug, Default)]
pub struct OwnHits {
    /// Hits by words, best first.
    pub words: Vec<Hit>,
    /// Hits by meaning, best first; `None` without a model.
    pub meaning: Option<Vec<Hit>>,
}

/// A room whose content can be searched. Ids and shelves have a meaning in the room only.
#[async_trait]
pub trait Findable: Send + Sync + 'static {
    /// The name of the room in hits.
    fn room(&self) -> &'static str;

    /// The categories of the streams whose events change the index.
    fn categories(&self) -> &'static [&'static str];

    /// The index change that an event of such a stream causes. An unreadable event is an error and changes nothing.
    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault>;

    /// The shelves that the searcher may search, at most `max`: its own before those that others can add to, and of both the
    /// newest. It may read everything on them: a match that it may not read would change the answer.
    async fn shelves(&self, searcher: &Searcher, max: usize) -> Result<Vec<Shelf>, Fault>;

    /// The shelf that a token can be restricted to by this name (a session or a project), if the searcher may search it.
    async fn shelf(&self, _searcher: &Searcher, _name: &str) -> Result<Option<Shelf>, Fault> {
        Ok(None)
    }

    /// Reads an item by its id, if the searcher may read it now. Access is checked before the item is read.
    async fn read(&self, searcher: &Searcher, id: &str) -> Result<Option<FoundItem>, Fault>;

    /// Reads several items, each as [`Findable::read`] does.
    async fn read_several(&self, searcher: &Searcher, ids: &[&str]) -> Vec<Result<Option<FoundItem>, Fault>> {
        join_all(ids.iter().map(|id| self.read(searcher, id))).await
    }

    /// The hits from the room's own indexes in a scope, whose projects are its shelves; at most `max` of each kind.
    async fn own_hits(&self, _query: &Query, _scope: Scope, _max: usize) -> Result<OwnHits, Fault> {
        Ok(OwnHits::default())
    }
}

/// The result of a word lookup in one room.
#[derive(Debug, PartialEq, Eq)]
pub struct Matches {
    /// The ids of the items that contain a word of the query, or text that is not indexed; unordered.
    pub ids: Vec<String>,
    /// Whether the list is complete and the index is up to date.
    pub is_whole: bool,
}

/// The word index, as a room queries it for its own items.
#[async_trait]
pub trait WordIndex: Send + Sync + 'static {
    /// The items of a room on these shelves that contain a word of the query.
    async fn matches(
        &self,
        room: &'static str,
        query: &Query,
        shelves: BTreeSet<String>,
    ) -> Result<Matches, Fault>;
}

/// The index change that adds an event of this time with this text; its shelf is its stream.
pub fn indexed(event: &StoredEvent, at: TimestampMs, text: String) -> Change {
    let stream = event.stream.id();
    Change::Add(Document {
        id: format!("{stream}/{}", event.version.0),
        project: stream.to_owned(),
        created_at_ms: at.ms(),
        is_draft: false,
        sections: body(text),
    })
}

/// The stream and version of an indexed event, from its id.
pub fn indexed_at<T: FromStr>(id: &str) -> Option<(T, Version)> {
    let (stream, version) = id.rsplit_once('/')?;
    let version = version.parse().ok().filter(|version| *version > 0)?;
    Some((stream.parse().ok()?, Version(version)))
}

/// A text that consists of a body section only.
pub fn body(text: String) -> Vec<Section> {
    vec![Section { kind: Kind::Body, text }]
}

/// The text of all sections, one per line.
pub fn text_of(sections: &[Section]) -> String {
    let texts: Vec<&str> = sections.iter().map(|section| section.text.as_str()).collect();
    texts.join("\n")
}

/// All strings in a JSON value, one per line; member names are left out.
pub fn texts(value: &Value) -> String {
    fn add(value: &Value, to: &mut String) {
        match value {
            Value::String(text) => {
                if !to.is_empty() {
                    to.push('\n');
                }
                to.push_str(text);
            }
            Value::Array(items) => items.iter().for_each(|item| add(item, to)),
            Value::Object(members) => members.values().for_each(|member| add(member, to)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut found = String::new();
    add(value, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_owner_reads_what_its_agents_read_and_the_operator_everything() {
        let agent: AgentHandle = "@nick.bot".parse().unwrap();
        let (owner, other) = ("nick".parse().unwrap(), "ann".parse().unwrap());
        assert!(Searcher::Owner(owner).has(&agent) && Searcher::Operator.has(&agent));
        assert!(Searcher::Agent(agent.clone()).has(&agent) && !Searcher::Owner(other).has(&agent));
        assert!(!Searcher::Agent("@nick.other".parse().unwrap()).has(&agent));
    }

    #[test]
    fn the_texts_of_a_value_are_what_it_says() {
        let value = json!({"task": "ship it", "steps": ["one", {"two": "zwei"}], "n": 3, "none": null});
        let mut lines: Vec<String> = texts(&value).lines().map(str::to_owned).collect();
        lines.sort();
        assert_eq!(lines, ["one", "ship it", "zwei"]);
        assert_eq!(texts(&json!("plain")), "plain");
        assert_eq!(texts(&json!(7)), "");
    }
}
