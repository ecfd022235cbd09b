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
    /// Correlates it with its answers.
    pub query_id: Uuid,
    /// Where answers go (FO-94).
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
    /// What it refers to.
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

/// A decision asked for, in eight slots (FO-32).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingMoment {
    /// One sentence.
    pub synopsis: String,
    /// What was found.
    pub findings: Vec<String>,
    /// What is recommended.
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
    /// The one recommended, from 0.
    pub recommended_idx: u64,
    /// Ways out of the options; absent, both are open (FO-40).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hatches: Option<Hatches>,
}

/// One option of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionOption {
    /// Short.
    pub label: String,
    /// One line.
    pub reasoning: String,
}

/// Ways out of the options; both shut is malformed (FO-38).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hatches {
    /// An answer outside the options is welcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_text: Option<bool>,
    /// The question itself may be revised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<bool>,
}

/// A symptom reported to a peer (FO-33).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiagnosticRequest {
    /// 1 to 2048 bytes; nothing secret belongs in it (FO-84).
    pub symptom: String,
    /// Correlates it with its response.
    pub diagnostic_id: Uuid,
    /// Observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub substrate_refs: Option<Vec<String>>,
    /// The severity.
    pub severity: Severity,
}

/// What the peer found (FO-34).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiagnosticResponse {
    /// The request.
    pub diagnostic_id: Uuid,
    /// 1 to 2048 bytes.
    pub finding: String,
    /// What helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<String>,
    /// Observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub substrate_refs: Option<Vec<String>>,
}
