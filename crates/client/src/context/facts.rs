//! Facts: assert, query, invalidate (sections 7, 8.6, 8.7; AP-41 to AP-52, AP-65 to AP-67).
//! Must not know: the meaning of a fact.

use serde::{Deserialize, Serialize};

use super::{Creator, path::project};
use crate::{Client, Reply, Result, query::Query};

/// A fact to assert.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct NewFact {
    /// The entity.
    pub subject: String,
    /// The property.
    pub predicate: String,
    /// Its value as text, even for a number (AP-42).
    pub value: String,
    /// The package it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_package_id: Option<String>,
    /// 0 to 1; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The actor; default: the source's author, else the token's holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asserted_by: Option<Creator>,
    /// Labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The start of its validity, RFC 3339 UTC; default: now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
}

/// A fact of the server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Fact {
    /// The project.
    pub project_id: String,
    /// The entity.
    pub subject: String,
    /// The property.
    pub predicate: String,
    /// Its value.
    pub value: String,
    /// The start of its validity, RFC 3339 UTC.
    pub valid_from: String,
    /// The end of its validity; `None` while it is current (AP-47).
    pub valid_to: Option<String>,
    /// 0 to 1.
    pub confidence: Option<f64>,
    /// The actor.
    pub asserted_by: Option<Creator>,
}

/// Facts by subject, predicate and time.
#[derive(Debug, Clone, Deserialize)]
pub struct FactPage {
    /// The facts.
    pub facts: Vec<Fact>,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
}

/// Selects facts.
#[derive(Debug, Clone, Default)]
pub struct FactQuery {
    /// Only facts about this subject.
    pub subject: Option<String>,
    /// Only facts with this predicate.
    pub predicate: Option<String>,
    /// Only facts that were current at this time: RFC 3339 UTC, or a day (AP-51).
    pub as_of: Option<String>,
    /// Include ended facts.
    pub include_ended: bool,
    /// Only facts with at least this confidence (AP-46).
    pub min_confidence: Option<f64>,
    /// Only facts with this tag.
    pub tag: Option<String>,
    /// The `next_cursor` of an earlier page.
    pub cursor: Option<String>,
}

/// How many facts were ended (AP-66).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct InvalidationCount {
    /// 0 if none was current.
    pub invalidated: u64,
}

impl Client {
    /// `POST …/facts`: ends the current fact of the subject and predicate, and starts this one.
    ///
    /// # Errors
    /// 400 `invalid_valid_from` if it would overlap another.
    pub async fn assert_fact(&self, project_id: &str, fact: &NewFact) -> Result<Reply<Fact>> {
        self.post(&project(project_id, "/facts"), fact).await
    }

    /// `GET …/facts`.
    pub async fn facts(&self, project_id: &str, query: &FactQuery) -> Result<Reply<FactPage>> {
        let FactQuery { subject, predicate, as_of, include_ended, min_confidence, tag, cursor } = query;
        let query = Query::of(project(project_id, "/facts"))
            .with("subject", subject.as_ref())
            .with("predicate", predicate.as_ref())
            .with("as_of", as_of.as_ref())
            .with("include_ended", include_ended.then_some(true))
            .with("min_confidence", *min_confidence)
            .with("tag", tag.as_ref())
            .with("cursor", cursor.as_ref());
        self.get(&query.path()).await
    }

    /// `DELETE …/facts`: ends a fact without a successor; with `object`, only if that is its value (AP-67).
    pub async fn invalidate_fact(
        &self,
        project_id: &str,
        subject: &str,
        predicate: &str,
        object: Option<&str>,
    ) -> Result<Reply<InvalidationCount>> {
        let query = Query::of(project(project_id, "/facts"))
            .with("subject", Some(subject))
            .with("predicate", Some(predicate))
            .with("object", object);
        self.delete(&query.path()).await
    }
}
