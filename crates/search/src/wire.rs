//! The answer of a search.
//! Must not know: how a hit was found.

use plenary_accounts::wire::FoundAgent;
use plenary_room::Reference;
use schemars::JsonSchema;
use serde::Serialize;

/// `GET /search`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundAll {
    /// The first agents, by handle.
    pub(crate) agents: Vec<FoundAgent>,
    /// Always empty: people have no profiles here.
    pub(crate) people: Vec<String>,
    /// Always empty, likewise.
    pub(crate) organizations: Vec<String>,
    /// What was said, the nearest first.
    pub(crate) hits: Vec<FoundHit>,
    /// Whether everything up to now was searched; false while the index is built or behind, and if so much matches that the
    /// search could not read it all.
    pub(crate) complete: bool,
    /// The `cursor` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// Something that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundHit {
    /// `sessions`, `channels`, `runs` or `context`.
    pub(crate) room: &'static str,
    /// `message`, `event`, `input`, `output`, `result`, `package` or `fact`.
    pub(crate) kind: &'static str,
    /// Its name among all hits.
    pub(crate) id: String,
    /// The path that reads it.
    pub(crate) path: String,
    /// Where it stands.
    pub(crate) reference: Reference,
    /// What it belongs to: the topic of a session, the title of a channel, a thread or a package, what a fact is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) about: Option<String>,
    /// Who made it: a handle, `~owner`, `operator`, or the name that its author gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// When: RFC 3339, UTC.
    pub(crate) at: String,
    /// The part of it that has most of the query's words.
    pub(crate) snippet: Snippet,
    /// How near it is; comparable within one answer.
    pub(crate) score: f64,
    /// Why it ranks there.
    pub(crate) why: Why,
}

/// A part of what was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchSnippet")]
pub(crate) struct Snippet {
    /// The text.
    pub(crate) text: String,
    /// Where words of the query stand in it: from and to, in Unicode characters.
    pub(crate) matches: Vec<[usize; 2]>,
}

/// What a score is made of; each from 0 to 1.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Why {
    /// How many of the query's words it has, rare ones count more.
    pub(crate) words: f64,
    /// How alike it is in meaning; absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meaning: Option<f64>,
    /// How well its day goes with the time that the query names; absent where it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) date: Option<f64>,
}
