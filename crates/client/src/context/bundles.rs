//! The briefing of a session, a digest of packages, and the server's support of the protocol (sections 8.3, 8.4,
//! 11.5).
//! Must not know: the presentation.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Fact, Package, Project, path::project};
use crate::{Client, Reply, Result, query::Query};

/// An open question of a package.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct OpenQuestion {
    /// The question.
    pub question: String,
    /// The package that contains it.
    #[serde(default)]
    pub package_id: String,
    /// When that package was created.
    #[serde(default)]
    pub created_at: String,
}

/// The briefing of a new session (AP-61).
#[derive(Debug, Clone, Deserialize)]
pub struct Orientation {
    /// The project.
    pub project: Project,
    /// The packages, newest first.
    pub recent_packages: Vec<Package>,
    /// The current facts.
    pub active_facts: Vec<Fact>,
    /// The questions, newest first.
    pub open_questions: Vec<OpenQuestion>,
    /// The number of days covered.
    pub window_days: u64,
    /// RFC 3339 UTC.
    pub generated_at: String,
    /// The lists that a limit cut short.
    #[serde(default, rename = "x-truncated")]
    pub truncated: Vec<String>,
}

/// A digest (AP-62).
#[derive(Debug, Clone, Deserialize)]
pub struct Digest {
    /// The project; `None` for a digest over all projects.
    pub project: Option<Project>,
    /// The query of the digest.
    pub focus: Option<String>,
    /// A summary of the packages.
    pub summary: Summary,
    /// The current facts.
    pub active_facts: Vec<Fact>,
    /// The questions, newest first.
    pub open_questions: Vec<OpenQuestion>,
    /// The parts of packages that match the focus, best match first.
    #[serde(default)]
    pub snippets: Vec<Snippet>,
    /// The projects, in a digest over all projects.
    pub projects: Option<Vec<DigestProject>>,
}

/// A summary of a window; drafts do not count (AP-8).
#[derive(Debug, Clone, Deserialize)]
pub struct Summary {
    /// The summary as a sentence.
    #[serde(default)]
    pub text: String,
    /// Whether a limit cut anything.
    #[serde(default)]
    pub truncated: bool,
}

/// A part of a package that matches the focus.
#[derive(Debug, Clone, Deserialize)]
pub struct Snippet {
    /// The package.
    pub package_id: String,
    /// Its project.
    pub project_id: String,
    /// `context_md`, `decision`, `question` or `handoff`.
    pub content_type: String,
    /// The text of the part.
    pub content: String,
    /// The relevance; higher is better.
    #[serde(default)]
    pub score: f64,
}

/// A project in a digest over all projects.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DigestProject {
    /// The project.
    pub project_id: String,
    /// The number of packages in the window.
    pub packages: u64,
    /// The number of current facts.
    pub facts: u64,
    /// The number of open questions.
    pub open_questions: u64,
}

/// The server's support of the protocol (AP-88).
#[derive(Debug, Clone, Deserialize)]
pub struct Conformance {
    /// The version of the protocol.
    pub protocol_version: String,
    /// `L0` to `L3`.
    pub conformance_level: String,
    /// The capabilities of the server.
    #[serde(default)]
    pub capabilities: BTreeMap<String, Value>,
}

impl Client {
    /// `GET …/orient`.
    pub async fn orient(&self, project_id: &str, window_days: Option<u32>) -> Result<Reply<Orientation>> {
        let query = Query::of(project(project_id, "/orient")).with("window_days", window_days);
        self.get(&query.path()).await
    }

    /// `GET /v1/orchestrate`: for one project, or for all that the token may read.
    pub async fn orchestrate(
        &self,
        project_id: Option<&str>,
        focus: Option<&str>,
        snippets: Option<u32>,
        window_days: Option<u32>,
        include_archived: bool,
    ) -> Result<Reply<Digest>> {
        let query = Query::of("/v1/orchestrate")
            .with("project", project_id)
            .with("focus", focus)
            .with("snippets", snippets)
            .with("window_days", window_days)
            .with("include_archived", include_archived.then_some(true));
        self.get(&query.path()).await
    }

    /// `GET /v1/conformance`; no token is needed.
    pub async fn conformance(&self) -> Result<Reply<Conformance>> {
        self.get("/v1/conformance").await
    }
}
