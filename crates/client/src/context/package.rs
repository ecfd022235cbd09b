//! A context package (section 6): created here, or read.
//! Must not know: the transport.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::Creator;
use crate::retry::IdempotencyKey;

/// The version of the protocol (AP-21).
pub const RELAY_VERSION: &str = "0.1";

/// A fresh id, `pkg_` and 32 hex digits (AP-20).
pub fn new_package_id() -> String {
    format!("pkg_{}", IdempotencyKey::random().as_str())
}

/// A reference to an artifact (AP-33, AP-34).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Deliverable {
    /// Relative within the project, or a URL.
    pub path: String,
    /// Its type, e.g. `md`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `sha256:<hex>`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
}

/// A package to deposit. An empty member is not sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct NewPackage {
    /// Unique within the project.
    pub package_id: String,
    /// The project.
    pub project_id: String,
    /// [`RELAY_VERSION`].
    pub relay_version: String,
    /// 1 to 200 characters (AP-22).
    pub title: String,
    /// `draft`, `awaiting_review` or `complete` (AP-23).
    pub status: String,
    /// One of the eight types, or `x-…` (AP-29).
    pub package_type: String,
    /// `none`, `human` or `agent` (AP-24).
    pub review_type: String,
    /// RFC 3339 UTC (AP-25).
    pub created_at: String,
    /// The actor.
    pub created_by: Creator,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The decisions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions_made: Vec<String>,
    /// The open questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_questions: Vec<String>,
    /// Information for the next reader (AP-16).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub handoff_note: String,
    /// `human` or `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_next_actor: Option<String>,
    /// The deliverables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deliverables: Vec<Deliverable>,
    /// The package that it corrects or continues (AP-9).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_package_id: Option<String>,
    /// 1 to 10; default 5 (AP-32).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub significance: Option<u8>,
    /// A body in Markdown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub content_md: String,
    /// The subject area.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// A narrower type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

/// The members of a package that a reader uses. The reply's own JSON has the whole package.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Package {
    /// Unique within the project.
    pub package_id: String,
    /// The project.
    pub project_id: String,
    /// Its title.
    pub title: String,
    /// Its status; later versions may add values.
    pub status: String,
    /// Its type.
    pub package_type: String,
    /// Its reviewer.
    pub review_type: String,
    /// RFC 3339 UTC.
    pub created_at: String,
    /// The actor.
    pub created_by: Creator,
    /// Its description.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// Labels.
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    /// The decisions.
    #[serde(default, deserialize_with = "or_default")]
    pub decisions_made: Vec<String>,
    /// The open questions.
    #[serde(default, deserialize_with = "or_default")]
    pub open_questions: Vec<String>,
    /// Information for the next reader.
    #[serde(default, deserialize_with = "or_default")]
    pub handoff_note: String,
    /// `human` or `agent`.
    pub estimated_next_actor: Option<String>,
    /// The deliverables.
    #[serde(default, deserialize_with = "or_default")]
    pub deliverables: Vec<Deliverable>,
    /// The package that it corrects or continues.
    pub parent_package_id: Option<String>,
    /// 1 to 10, perhaps written `5.0`.
    pub significance: Option<f64>,
    /// A body in Markdown.
    #[serde(default, deserialize_with = "or_default")]
    pub content_md: String,
    /// The subject area.
    pub topic: Option<String>,
    /// Its hash, if the package was read or deposited alone.
    pub content_hash: Option<String>,
    /// Additional members.
    #[serde(flatten)]
    pub further: Map<String, Value>,
}

/// The default for null, which other implementations may write for an empty value.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ap_19_what_is_empty_is_not_sent_and_what_is_required_is() {
        let package = NewPackage { title: "t".into(), ..NewPackage::default() };
        let sent = serde_json::to_value(&package).unwrap();
        let names: Vec<&str> = sent.as_object().unwrap().keys().map(String::as_str).collect();
        let required =
            ["created_at", "created_by", "package_id", "package_type", "project_id", "relay_version"];
        assert_eq!(names[..6], required);
        assert_eq!(names[6..], ["review_type", "status", "title"]);
        assert_eq!(new_package_id().len(), 36);
    }

    #[test]
    fn ap_90_ap_106_a_package_of_a_later_version_is_read() {
        let package: Package = serde_json::from_value(json!({
            "package_id": "p", "project_id": "q", "relay_version": "0.2", "title": "t", "status": "shelved",
            "package_type": "x-review-response", "review_type": "none", "created_at": "2026-01-01T00:00:00Z",
            "created_by": {"id": "a", "type": "agent", "session_id": null, "git_commit": "c0ffee", "x-key": 1},
            "tags": null, "significance": 5.0, "x-trust": {"a": 1}, "deliverables": [{"path": "a", "type": "b", "x-c": 1}],
        }))
        .unwrap();
        assert_eq!(package.created_by.git_commit.as_deref(), Some("c0ffee"));
        assert_eq!((package.tags.len(), &package.further["x-trust"]), (0, &json!({"a": 1})));
    }
}
