//! What is found in a room by its words: which of its events go into the index, where somebody may look, and each thing as
//! that one may read it. What the index holds decides nothing: whoever may not read a thing does not find it.
//! Must not know: how an index is kept or asked, or how near a thing is.

use std::{collections::BTreeSet, str::FromStr};

use futures_util::future::{BoxFuture, ready};
use plenary_kernel::{AgentHandle, OwnerName, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_retrieval::{Change, Document, Hit, Kind, Query, Scope, Section};
use serde_json::Value;

use crate::Reference;

/// Whoever searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Searcher {
    /// The operator: everything.
    Operator,
    /// An owner: what any of its agents may read, and what is its own.
    Owner(OwnerName),
    /// An agent: what it may read.
    Agent(AgentHandle),
}

impl Searcher {
    /// Whether it reads what this agent reads: it is the agent, its owner or the operator.
    #[must_use]
    pub fn has(&self, agent: &AgentHandle) -> bool {
        match self {
            Self::Operator => true,
            Self::Owner(owner) => owner.as_str() == agent.owner(),
            Self::Agent(me) => me == agent,
        }
    }
}

/// A part of the index that somebody may look in: a session, a channel, a thread, a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelf {
    /// Its name, as the documents of the room have it for their project.
    pub name: String,
    /// The session that it is, where tokens may be held to that one.
    pub session: Option<String>,
    /// What requests call the project that it is, where tokens may be held to that one.
    pub projects: Vec<String>,
}

impl Shelf {
    /// One that no token is held to.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), session: None, projects: Vec::new() }
    }
}

/// A thing that was found, as whoever searches may read it.
#[derive(Debug, Clone)]
pub struct FoundThing {
    /// What it is: `message`, `event`, `input`, `result`, `package`, `fact`.
    pub kind: &'static str,
    /// The path that reads it.
    pub path: String,
    /// Where it stands.
    pub reference: Reference,
    /// What it belongs to, in a line: the topic of a session, the title of a channel, a thread or a package.
    pub about: Option<String>,
    /// Who made it, as the room says it: a handle, `~owner`, `operator`, or a free name.
    pub by: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What it says.
    pub sections: Vec<Section>,
}

/// What a room finds by indexes of its own.
#[derive(Debug, Default)]
pub struct OwnHits {
    /// By words, the nearest first.
    pub words: Vec<Hit>,
    /// By meaning, the nearest first; none while there is no model.
    pub meaning: Option<Vec<Hit>>,
}

/// A room in which things are found. Ids and shelves are the room's own.
pub trait Findable: Send + Sync + 'static {
    /// The name of the room in hits.
    fn room(&self) -> &'static str;

    /// The categories of the streams whose events change what is found.
    fn categories(&self) -> &'static [&'static str];

    /// What an event of such a stream changes in the index. What can't be read is reported, and changes nothing.
    fn change<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Change>, Fault>>;

    /// Where somebody may look, the newest first, at most so many.
    fn shelves<'a>(&'a self, searcher: &'a Searcher, max: usize) -> BoxFuture<'a, Result<Vec<Shelf>, Fault>>;

    /// A thing by its id, for whoever may read it now. The right is decided before the thing is read.
    fn read<'a>(
        &'a self,
        searcher: &'a Searcher,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<FoundThing>, Fault>>;

    /// What indexes of the room's own find in a scope, whose projects are its shelves; at most so many of each.
    fn own_hits<'a>(
        &'a self,
        _query: &'a Query,
        _scope: Scope,
        _max: usize,
    ) -> BoxFuture<'a, Result<OwnHits, Fault>> {
        Box::pin(ready(Ok(OwnHits::default())))
    }
}

/// What the index knows of a room's things.
#[derive(Debug, PartialEq, Eq)]
pub struct Matches {
    /// The ids of things that have a word of the query, in no order.
    pub ids: Vec<String>,
    /// Whether these are all, up to now.
    pub is_whole: bool,
}

/// Where a room asks which of its own things have words.
pub trait WordIndex: Send + Sync + 'static {
    /// The things of a room on these shelves that have a word of a query.
    fn matches<'a>(
        &'a self,
        room: &'static str,
        query: &'a Query,
        shelves: BTreeSet<String>,
    ) -> BoxFuture<'a, Result<Matches, Fault>>;
}

/// What an event with this text adds to the index: its shelf is its stream.
#[must_use]
pub fn indexed(event: &StoredEvent, text: String) -> Change {
    let stream = event.stream.id();
    Change::Put(Document {
        id: format!("{stream}/{}", event.version.0),
        project: stream.to_owned(),
        created_at_ms: event.at.ms(),
        is_draft: false,
        sections: body(text),
    })
}

/// The stream and the version of an event that the index has.
#[must_use]
pub fn indexed_at<T: FromStr>(id: &str) -> Option<(T, Version)> {
    let (stream, version) = id.rsplit_once('/')?;
    let version = version.parse().ok().filter(|version| *version > 0)?;
    Some((stream.parse().ok()?, Version(version)))
}

/// A text that is nothing but a body.
#[must_use]
pub fn body(text: String) -> Vec<Section> {
    vec![Section { kind: Kind::Body, text }]
}

/// All texts in a JSON value, each on a line; names of members say nothing.
#[must_use]
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
