//! The requests and responses, except packages and facts, which are stored byte for byte. Pure.
//! Must not know: where data is stored.

use std::collections::BTreeMap;

use plenary_kernel::rfc3339::Utc;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    access::Role, extensions::Extensions, focus::Snippet, lifecycle::ActorType, project::state::ProjectState,
};

/// Wraps JSON that was made or checked here.
pub fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).expect("what is kept is JSON")
}

/// The form of a refusal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContextError<'a> {
    /// The error.
    pub error: ContextErrorDetail<'a>,
}

/// A refusal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContextErrorDetail<'a> {
    /// Stable, for machines.
    pub code: &'a str,
    /// A text for people: what happened, and what to do.
    pub message: &'a str,
    /// The member or parameter that is wrong, as a path: `deliverables[0].path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<&'a str>,
    /// The capability that is missing (AP-79).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<&'a str>,
    /// `not_implemented` where a capability is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'a str>,
}

/// A project.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Project {
    /// Its id.
    pub project_id: String,
    /// The same.
    pub id: String,
    /// Display name; the id if there is none.
    pub name: String,
    /// What it is.
    pub description: String,
    /// RFC 3339 UTC.
    pub created_at: String,
    /// Its owner; null for some projects of the operator.
    pub owner_id: Option<String>,
    /// In lists: the name that identifies this project, if its id alone is ambiguous. An extension.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Data that clients store with it.
    pub settings: Map<String, Value>,
    /// When it was archived; null if it accepts writes.
    pub archived_at: Option<String>,
    /// Members of implementations, `x-…`, as they were sent.
    #[serde(flatten, serialize_with = "Extensions::as_sent")]
    #[schemars(with = "Map<String, Value>")]
    pub extensions: Extensions,
}

impl From<&ProjectState> for Project {
    fn from(state: &ProjectState) -> Self {
        let id = &state.project_id;
        Self {
            project_id: id.clone(),
            id: id.clone(),
            name: state.name.clone().unwrap_or_else(|| id.clone()),
            description: state.description.clone(),
            created_at: Utc(state.created_at.unwrap_or_default()).to_string(),
            owner_id: state.owner.as_ref().map(ToString::to_string),
            reference: None,
            settings: state.settings.clone(),
            archived_at: state.archived_at.map(|at| Utc(at).to_string()),
            extensions: state.extensions.clone(),
        }
    }
}

/// The size of a value in its JSON form, in bytes.
pub(crate) fn written(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// Projects, by id.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Projects {
    /// Those that the token may read.
    pub projects: Vec<Project>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// `projects` if a limit left some out; otherwise absent. An extension.
    #[serde(rename = "x-truncated", skip_serializing_if = "Vec::is_empty")]
    pub truncated: Vec<&'static str>,
}

/// A member of a project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Member {
    /// `@owner.name`, or `@owner.*` for every agent of an owner.
    pub member: String,
    /// What it may do.
    pub role: Role,
}

/// The members of a project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Members {
    /// All of them.
    pub members: Vec<Member>,
}

/// An open question of a package (wire.md 0.4 row 15).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenQuestion {
    /// The question.
    pub question: String,
    /// The package that asks it.
    pub package_id: String,
    /// The creation time stated by that package.
    pub created_at: String,
}

/// The briefing of a new session (section 8.3).
#[derive(Debug, Serialize, JsonSchema)]
pub struct Orientation {
    /// The project.
    pub project: Project,
    /// Packages of the window, newest first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub recent_packages: Vec<Box<RawValue>>,
    /// The facts that are current.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub active_facts: Vec<Box<RawValue>>,
    /// Of the packages of the window, newest first.
    pub open_questions: Vec<OpenQuestion>,
    /// How many days the window has.
    pub window_days: u64,
    /// RFC 3339 UTC.
    pub generated_at: String,
    /// The lists that a limit shortened; absent if there are none. An extension.
    #[serde(rename = "x-truncated", skip_serializing_if = "Vec::is_empty")]
    pub truncated: Vec<&'static str>,
}

/// A digest over packages (section 8.4).
#[derive(Debug, Serialize, JsonSchema)]
pub struct Digest {
    /// The project; null over all projects.
    pub project: Option<Project>,
    /// What was asked about.
    pub focus: Option<String>,
    /// How many days the window has.
    pub window_days: u64,
    /// What happened in it.
    pub summary: Summary,
    /// The facts that are current.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub active_facts: Vec<Box<RawValue>>,
    /// Of the packages of the window, newest first.
    pub open_questions: Vec<OpenQuestion>,
    /// The parts that match the focus, best match first.
    pub snippets: Vec<Snippet>,
    /// The projects, over all projects only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<DigestProject>>,
    /// RFC 3339 UTC.
    pub generated_at: String,
}

/// What happened in a window; drafts do not count.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Packages.
    pub package_count: u64,
    /// By their types.
    pub by_type: BTreeMap<String, u64>,
    /// By their states.
    pub by_status: BTreeMap<String, u64>,
    /// The oldest one's time.
    pub first_at: Option<String>,
    /// The newest one's time.
    pub last_at: Option<String>,
    /// The same as a sentence.
    pub text: String,
    /// Whether a limit left something out.
    pub truncated: bool,
}

/// A project in a digest over all of them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DigestProject {
    /// The project.
    pub project_id: String,
    /// The name that identifies it, if its id alone does not.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Its packages in the window.
    pub packages: u64,
    /// Its current facts.
    pub facts: u64,
    /// Its open questions.
    pub open_questions: u64,
}

/// One step of a package's review.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReviewStep {
    /// `deposit`, `flag` or `review`.
    pub action: &'static str,
    /// The earlier status; null at the deposit.
    pub from: Option<&'static str>,
    /// The new status.
    pub status: &'static str,
    /// Who is to review it now.
    pub review_type: &'static str,
    /// Why.
    pub note: Option<String>,
    /// The holder of the token: `operator`, `~owner` or `@owner.name`.
    pub by: String,
    /// RFC 3339 UTC.
    pub at: String,
    /// The content hash after this step.
    pub content_hash: String,
}

/// The review log of a package.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reviews {
    /// From the deposit on.
    pub reviews: Vec<ReviewStep>,
}

/// A session (section 5.5).
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ProjectSession")]
pub struct Session {
    /// `sess_` and 32 hex digits.
    pub session_id: String,
    /// The project.
    pub project_id: String,
    /// Who works in it.
    pub actor_id: String,
    /// What that is.
    pub actor_type: ActorType,
    /// An adjective and a noun.
    pub callsign: Option<String>,
    /// RFC 3339 UTC.
    pub started_at: String,
    /// The same; null while it is active.
    pub ended_at: Option<String>,
    /// The first thousand packages that name it, oldest first.
    pub packages_deposited: Vec<String>,
    /// True if there are more; otherwise absent. An extension.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub packages_truncated: bool,
    /// Members of implementations, `x-…`, as they were sent.
    #[serde(flatten, serialize_with = "Extensions::as_sent")]
    #[schemars(with = "Map<String, Value>")]
    pub extensions: Extensions,
}

/// Sessions of a project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sessions {
    /// Newest first.
    pub sessions: Vec<Session>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A stored content, as a deliverable describes it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Blob {
    /// `sha256:<hex>`.
    pub hash: String,
    /// Its size.
    pub size_bytes: u64,
}

/// How many facts ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InvalidationCount {
    /// Their number.
    pub invalidated: u64,
}

/// The parts of the protocol that this server implements (section 11.5).
#[derive(Debug, Serialize, JsonSchema)]
pub struct Conformance {
    /// The version of the protocol.
    pub protocol_version: &'static str,
    /// `L0` to `L3`.
    pub conformance_level: &'static str,
    /// The capabilities of the server.
    pub capabilities: Capabilities,
    /// The server.
    pub implementation: Implementation,
    /// The progress of the search index.
    #[serde(rename = "x-search")]
    pub search: SearchState,
}

/// The progress of the search index; an extension.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchState {
    /// Events that are not indexed yet; 0 if the index is up to date.
    pub lag_events: u64,
    /// The same for search by meaning; absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_lag_events: Option<u64>,
}

/// The capabilities of the server. An operation that needs a missing capability answers 501.
#[derive(Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "the published descriptor is a list of switches")]
pub struct Capabilities {
    /// Search by words and meaning together.
    pub hybrid_search: bool,
    /// Search by meaning.
    pub semantic_search: bool,
    /// Search by words.
    pub keyword_search: bool,
    /// Events as they happen.
    pub realtime: bool,
    /// Contents of deliverables.
    pub blob_storage: bool,
    /// Export and import of whole projects.
    pub export: bool,
    /// A reranker puts the first packages of a search in order; an extension.
    pub reranked_search: bool,
}

/// The server.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Implementation {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}
