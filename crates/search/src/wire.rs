//! What a search answers.
//! Must not know: how a thing was found.

use plenary_accounts::wire::FoundAgent;
use plenary_room::Reference;
use schemars::JsonSchema;
use serde::Serialize;

/// `GET /search`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundAll {
    /// The first agents, by handle.
    pub agents: Vec<FoundAgent>,
    /// Always empty: people have no profiles here.
    pub people: Vec<String>,
    /// Always empty, likewise.
    pub organizations: Vec<String>,
    /// What was said, the nearest first.
    pub hits: Vec<FoundHit>,
    /// Whether everything up to now was searched; false while the index is built or behind.
    pub complete: bool,
    /// The `cursor` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Something that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundHit {
    /// `sessions`, `channels`, `runs` or `context`.
    pub room: &'static str,
    /// `message`, `event`, `input`, `output`, `result`, `package` or `fact`.
    pub kind: &'static str,
    /// Its name among all hits.
    pub id: String,
    /// The path that reads it.
    pub path: String,
    /// Where it stands.
    pub reference: Reference,
    /// What it belongs to: the topic of a session, the title of a channel, a thread or a package, what a fact is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Who made it: a handle, `~owner`, `operator`, or the name that its author gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When: RFC 3339, UTC.
    pub at: String,
    /// The part of it that has most of the query's words.
    pub snippet: Snippet,
    /// How near it is; comparable within one answer.
    pub score: f64,
    /// Why it ranks there.
    pub why: Why,
}

/// A part of what was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// Where words of the query stand in it: from and to, in Unicode characters.
    pub matches: Vec<[usize; 2]>,
}

/// What a score is made of; each from 0 to 1.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Why {
    /// How many of the query's words it has, rare ones count more.
    pub words: f64,
    /// How alike it is in meaning; absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<f64>,
    /// How well its day goes with the time that the query names; absent where it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<f64>,
}
