//! Questions and answers, requested decisions, and troubleshooting between peers.
//! Must not know: how answers are collected.

use serde::{Deserialize, Serialize};

use crate::frames::{Severity, Uuid};

/// A question (FO-29).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// 1 to 2048 bytes.
    pub query_text: String,
    /// The id that its answers share.
    pub query_id: Uuid,
    /// The scope for answers (FO-94).
    pub response_scope: String,
    /// How long the caller collects answers, in milliseconds.
    pub timeout_ms: u64,
}

/// An answer (FO-30).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// The question.
    pub query_id: Uuid,
    /// The answering session, 1 to 128 bytes.
    pub session_id: String,
    /// 1 to 2048 bytes.
    pub response_text: String,
    /// References.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refs: Option<Vec<String>>,
}

/// The close of an exchange (FO-31).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReturnEvent {
    /// The return record, 1 to 256 bytes.
    pub return_event_ref: String,
    /// The question it closes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_id: Option<Uuid>,
    /// 1 to 2048 bytes.
    pub summary: String,
}

/// A request for a decision, in eight members (FO-32).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingMoment {
    /// One sentence.
    pub synopsis: String,
    /// The findings.
    pub findings: Vec<String>,
    /// The recommendations.
    pub recommendations: Vec<String>,
    /// One line.
    pub offer: String,
    /// The question to decide.
    pub question: Question,
}

/// The question of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// One sentence.
    pub stem: String,
    /// Two to four (FO-39).
    pub options: Vec<QuestionOption>,
    /// The index of the recommended option, from 0.
    pub recommended_idx: u64,
    /// Alternatives to the options; if absent, both are allowed (FO-40).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hatches: Option<Hatches>,
}

/// One option of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionOption {
    /// A short label.
    pub label: String,
    /// One line.
    pub reasoning: String,
}

/// Alternatives to the options; excluding both is malformed (FO-38).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hatches {
    /// Whether an answer outside the options is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_text: Option<bool>,
    /// Whether the question itself may be revised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<bool>,
}

/// A symptom reported to a peer (FO-33).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiagnosticRequest {
    /// 1 to 2048 bytes; must not contain secrets (FO-84).
    pub symptom: String,
    /// The id that its response shares.
    pub diagnostic_id: Uuid,
    /// Observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub substrate_refs: Option<Vec<String>>,
    /// The severity.
    pub severity: Severity,
}

/// The finding of the peer (FO-34).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiagnosticResponse {
    /// The request.
    pub diagnostic_id: Uuid,
    /// 1 to 2048 bytes.
    pub finding: String,
    /// The remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
    /// Observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub substrate_refs: Option<Vec<String>>,
}
