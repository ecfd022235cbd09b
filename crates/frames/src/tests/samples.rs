//! Valid frames to begin with: one of each kind, written by hand from the memo and not from the table.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::{frame::Frame, malformed::FrameFault};

pub(super) const UUID: &str = "7d9a0c9e-3f6b-4c1e-9a51-0c2f6f2f6b11";
pub(super) const TIME: &str = "2026-05-22T10:00:00Z";

/// Every kind with all its members.
pub(super) fn payloads() -> Vec<(&'static str, Value)> {
    vec![
        (
            "agent_advisory",
            json!({"advisory_text": "editing", "file_refs": ["a.rs"], "worktree": "/w", "branch": "main"}),
        ),
        ("agent_broadcast", json!({"broadcast_text": "merged", "event_class": "merged", "refs": ["#1"]})),
        (
            "agent_handover",
            json!({"previous_session_id": "s1", "handover_body": "go on", "next_session_id": "s2", "pointer_refs": ["#2"]}),
        ),
        (
            "agent_lock_request",
            json!({"resource": "a.rs", "lease_id": UUID, "ttl_ms": 60_000, "intent": "edit"}),
        ),
        ("agent_lock_release", json!({"lease_id": UUID, "resource": "a.rs"})),
        ("agent_lease_extend", json!({"lease_id": UUID, "ttl_ms": 60_000})),
        (
            "agent_query",
            json!({"query_text": "why?", "query_id": UUID, "response_scope": "~nick/*", "timeout_ms": 5_000}),
        ),
        (
            "agent_response",
            json!({"query_id": UUID, "session_id": "s1", "response_text": "because", "refs": ["#3"]}),
        ),
        ("agent_return_event", json!({"return_event_ref": "ret-1", "summary": "done", "query_id": UUID})),
        ("agent_binding_moment", binding_moment()),
        (
            "peer_diagnostic_request",
            json!({"symptom": "slow", "diagnostic_id": UUID, "severity": "degraded", "substrate_refs": ["o1"]}),
        ),
        (
            "peer_diagnostic_response",
            json!({"diagnostic_id": UUID, "finding": "disk", "remediation": "wait", "substrate_refs": ["o1"]}),
        ),
        (
            "intent_declare",
            json!({
                "convergence_class": "vcs.pr", "payload_ref": "pr-1", "acted_by": "~nick",
                "drafted_with": "~cc-model@1.0", "declared_at": TIME, "ttl": 60_000, "withdrawable": true,
                "urgency": "normal",
            }),
        ),
        (
            "intent_withdraw",
            json!({"convergence_class": "vcs.pr", "intent_ref": "i-1", "withdrawn_at": TIME}),
        ),
        (
            "flush_executed",
            json!({"convergence_class": "vcs.pr", "result_ref": "pr-1", "executed_at": TIME, "batch_refs": ["i-1"]}),
        ),
    ]
}

pub(super) fn binding_moment() -> Value {
    json!({
        "synopsis": "Two ways.", "findings": ["a"], "recommendations": ["b"], "offer": "I do b.",
        "question": {
            "stem": "Which?",
            "options": [{"label": "a", "reasoning": "fast"}, {"label": "b", "reasoning": "safe"}],
            "recommended_idx": 1,
            "hatches": {"free_text": true, "dialogue": false},
        },
    })
}

pub(super) fn payload(kind: &str) -> Map<String, Value> {
    let (_, payload) = payloads().into_iter().find(|(name, _)| *name == kind).unwrap();
    payload.as_object().unwrap().clone()
}

/// A frame from `~nick` to itself.
pub(super) fn frame(kind: &str, payload: impl Into<Value>) -> Value {
    json!({
        "envelope_version": "1.0", "frame_id": UUID, "kind": kind, "sender_handle": "~nick",
        "recipient_handle": "~nick", "created_at": TIME, "ttl_ms": 1_000, "payload": payload.into(),
        "acted_by": "~nick", "drafted_with": "~cc-model", "provenance_compute_location": "local-only",
        "provenance_method": ["session-context"], "provenance_return_ref": "ret-1",
        "provenance_context_check": "passed", "provenance_basis": "coordination",
    })
}

pub(super) fn advisory() -> Value {
    frame("agent_advisory", payload("agent_advisory"))
}

pub(super) fn with(mut value: Value, name: &str, member: impl Into<Value>) -> Value {
    value.as_object_mut().unwrap().insert(name.to_owned(), member.into());
    value
}

pub(super) fn without(mut value: Value, name: &str) -> Value {
    value.as_object_mut().unwrap().remove(name).unwrap();
    value
}

pub(super) fn read(value: &Value) -> Result<Frame, FrameFault> {
    Frame::read(&Bytes::from(serde_json::to_vec(value).unwrap()))
}

/// The code and the field of the refusal, `-` for none.
#[track_caller]
pub(super) fn fault(value: &Value) -> (&'static str, String) {
    let fault = read(value).expect_err("it must be refused");
    assert!(!fault.message.is_empty());
    (fault.code.as_str(), fault.field.unwrap_or_else(|| "-".into()))
}

/// A text of this many bytes.
pub(super) fn bytes(count: u64) -> String {
    "x".repeat(usize::try_from(count).unwrap())
}

/// A text of this many bytes in characters of two bytes, with one of a single byte if the number is odd.
pub(super) fn wide(count: u64) -> String {
    let half = usize::try_from(count / 2).unwrap();
    format!("{}{}", "é".repeat(half), if count % 2 == 1 { "x" } else { "" })
}
