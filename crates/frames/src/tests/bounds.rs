//! Every bound of every field: the minimum, the maximum, one beyond it, in bytes and not in characters, and every
//! wrong type (FO-23 to FO-37, FO-80). The numbers are repeated here, from the memo.

use serde_json::{Value, json};

use super::samples::{binding_moment, bytes, fault, frame, payload, read, wide, with};

const MAX: u64 = 9_007_199_254_740_991;

#[track_caller]
fn accepted(kind: &str, name: &str, value: &Value) {
    let payload = with(payload(kind).into(), name, value.clone());
    read(&frame(kind, payload)).unwrap_or_else(|fault| panic!("{kind}.{name}: {fault}"));
}

#[track_caller]
fn refused(kind: &str, name: &str, value: &Value) {
    let payload = with(payload(kind).into(), name, value.clone());
    let (code, field) = fault(&frame(kind, payload));
    assert_eq!(code, "field-invalid", "{kind}.{name}");
    assert!(field.starts_with(&format!("payload.{name}")), "{kind}.{name}: {field}");
}

#[track_caller]
fn text(kind: &str, name: &str, min: u64, max: u64) {
    for length in [min, min + 1, max] {
        accepted(kind, name, &bytes(length).into());
        accepted(kind, name, &wide(length).into());
    }
    if min > 0 {
        refused(kind, name, &bytes(min - 1).into());
    }
    refused(kind, name, &bytes(max + 1).into());
    refused(kind, name, &wide(max + 1).into());
    for wrong in [json!(1), json!(true), json!(null), json!([]), json!({}), json!(["x"])] {
        refused(kind, name, &wrong);
    }
}

#[track_caller]
fn references(kind: &str, name: &str) {
    for good in [json!([]), json!([bytes(1)]), json!([wide(512)]), json!(vec!["x"; 64])] {
        accepted(kind, name, &good);
    }
    for bad in
        [json!([""]), json!([bytes(513)]), json!([wide(513)]), json!(vec!["x"; 65]), json!("x"), json!([1])]
    {
        refused(kind, name, &bad);
    }
}

#[track_caller]
fn integer(kind: &str, name: &str, max: u64) {
    for good in [1, 2, max] {
        accepted(kind, name, &good.into());
    }
    if max < MAX {
        refused(kind, name, &(max + 1).into());
    }
    for bad in [json!(0), json!(-1), json!(1.5), json!("1"), json!(null), json!(true), json!([1])] {
        refused(kind, name, &bad);
    }
}

#[track_caller]
fn one_of(kind: &str, name: &str, values: &[&str]) {
    for value in values {
        accepted(kind, name, &(*value).into());
        refused(kind, name, &value.to_uppercase().into());
    }
    for bad in [json!(""), json!("unheard-of"), json!(null), json!(0), json!([values[0]])] {
        refused(kind, name, &bad);
    }
}

#[track_caller]
fn uuid(kind: &str, name: &str) {
    accepted(kind, name, &"7D9A0C9E-3F6B-4C1E-BA51-0C2F6F2F6B11".into());
    for bad in [json!(""), json!("7d9a0c9e-3f6b-3c1e-9a51-0c2f6f2f6b11"), json!(7), json!("x")] {
        refused(kind, name, &bad);
    }
}

#[track_caller]
fn time(kind: &str, name: &str) {
    accepted(kind, name, &"2026-05-22T10:00:00+02:00".into());
    for bad in [json!("2026-05-22T10:00:00"), json!(1_779_444_000), json!(""), json!(null)] {
        refused(kind, name, &bad);
    }
}

#[track_caller]
fn convergence_class(kind: &str) {
    for good in ["a.b", "a:b", "a/b", ".", &format!("a.{}", bytes(126))] {
        accepted(kind, "convergence_class", &good.into());
    }
    for bad in ["", "pr", &bytes(128), &format!("a.{}", bytes(127))] {
        refused(kind, "convergence_class", &bad.into());
    }
}

#[test]
fn fo_23_agent_advisory() {
    text("agent_advisory", "advisory_text", 1, 2_048);
    text("agent_advisory", "worktree", 0, 512);
    text("agent_advisory", "branch", 0, 256);
    references("agent_advisory", "file_refs");
}

#[test]
fn fo_24_95_agent_broadcast() {
    text("agent_broadcast", "broadcast_text", 1, 2_048);
    one_of("agent_broadcast", "event_class", &["merged", "stale", "released", "other"]);
    references("agent_broadcast", "refs");
}

#[test]
fn fo_25_42_agent_handover() {
    text("agent_handover", "previous_session_id", 1, 128);
    text("agent_handover", "next_session_id", 0, 128);
    text("agent_handover", "handover_body", 1, 8_192);
    references("agent_handover", "pointer_refs");
}

#[test]
fn fo_26_agent_lock_request() {
    text("agent_lock_request", "resource", 1, 512);
    text("agent_lock_request", "intent", 0, 2_048);
    integer("agent_lock_request", "ttl_ms", 3_600_000);
    uuid("agent_lock_request", "lease_id");
}

#[test]
fn fo_27_agent_lock_release() {
    uuid("agent_lock_release", "lease_id");
    text("agent_lock_release", "resource", 0, 512);
}

#[test]
fn fo_28_agent_lease_extend() {
    uuid("agent_lease_extend", "lease_id");
    integer("agent_lease_extend", "ttl_ms", 3_600_000);
}

#[test]
fn fo_29_94_agent_query() {
    text("agent_query", "query_text", 1, 2_048);
    uuid("agent_query", "query_id");
    integer("agent_query", "timeout_ms", MAX);
    let longest = format!("~nick/cc@{}", bytes(128));
    for good in ["~nick", "~other/*", "org:acme/members/*", "accord:peer/grant:x", &longest] {
        accepted("agent_query", "response_scope", &good.into());
    }
    for bad in [json!(""), json!("nick"), json!("~nick/"), json!(bytes(513)), json!(1), json!(null)] {
        refused("agent_query", "response_scope", &bad);
    }
}

#[test]
fn fo_30_agent_response() {
    uuid("agent_response", "query_id");
    text("agent_response", "session_id", 1, 128);
    text("agent_response", "response_text", 1, 2_048);
    references("agent_response", "refs");
}

#[test]
fn fo_31_agent_return_event() {
    text("agent_return_event", "return_event_ref", 1, 256);
    text("agent_return_event", "summary", 1, 2_048);
    uuid("agent_return_event", "query_id");
}

#[test]
fn fo_32_agent_binding_moment() {
    text("agent_binding_moment", "synopsis", 1, 2_048);
    text("agent_binding_moment", "offer", 1, 2_048);
    refused("agent_binding_moment", "offer", &"two\nlines".into());
    for name in ["findings", "recommendations"] {
        for good in [json!([]), json!([bytes(1), wide(2_048)]), json!(vec!["x"; 64])] {
            accepted("agent_binding_moment", name, &good);
        }
        for bad in
            [json!([""]), json!([bytes(2_049)]), json!(vec!["x"; 65]), json!("x"), json!([{}]), json!({})]
        {
            refused("agent_binding_moment", name, &bad);
        }
    }
    let mut moment = binding_moment();
    for (path, name) in
        [("/question", "stem"), ("/question/options/0", "label"), ("/question/options/1", "reasoning")]
    {
        for (length, fits) in [(0, false), (1, true), (2_048, true), (2_049, false)] {
            let whole = moment.clone();
            moment.pointer_mut(path).unwrap()[name] = wide(length).into();
            assert_eq!(read(&frame("agent_binding_moment", moment)).is_ok(), fits, "{path} {length}");
            moment = whole;
        }
    }
    for wrong in [json!(null), json!("x"), json!([]), json!(1)] {
        refused("agent_binding_moment", "question", &wrong);
    }
}

#[test]
fn fo_33_84_peer_diagnostic_request() {
    text("peer_diagnostic_request", "symptom", 1, 2_048);
    uuid("peer_diagnostic_request", "diagnostic_id");
    one_of("peer_diagnostic_request", "severity", &["info", "degraded", "blocked"]);
    references("peer_diagnostic_request", "substrate_refs");
}

#[test]
fn fo_34_peer_diagnostic_response() {
    uuid("peer_diagnostic_response", "diagnostic_id");
    text("peer_diagnostic_response", "finding", 1, 2_048);
    text("peer_diagnostic_response", "remediation", 0, 2_048);
    references("peer_diagnostic_response", "substrate_refs");
}

#[test]
fn fo_35_intent_declare() {
    convergence_class("intent_declare");
    text("intent_declare", "payload_ref", 1, 512);
    time("intent_declare", "declared_at");
    integer("intent_declare", "ttl", MAX);
    one_of("intent_declare", "urgency", &["normal", "urgent"]);
    for bad in [json!("true"), json!(1), json!(null)] {
        refused("intent_declare", "withdrawable", &bad);
    }
    accepted("intent_declare", "withdrawable", &false.into());
    for bad in ["nick", "~nick@1", ""] {
        refused("intent_declare", "acted_by", &bad.into());
    }
    accepted("intent_declare", "drafted_with", &"~cc@1".into());
    refused("intent_declare", "drafted_with", &"cc".into());
}

#[test]
fn fo_36_intent_withdraw() {
    convergence_class("intent_withdraw");
    text("intent_withdraw", "intent_ref", 1, 512);
    time("intent_withdraw", "withdrawn_at");
}

#[test]
fn fo_37_flush_executed() {
    convergence_class("flush_executed");
    text("flush_executed", "result_ref", 1, 512);
    references("flush_executed", "batch_refs");
    time("flush_executed", "executed_at");
}

#[test]
fn fo_13_the_frames_own_span_is_a_positive_integer_and_no_more() {
    let ttl = |value: Value| with(super::samples::advisory(), "ttl_ms", value);
    for good in [json!(1), json!(MAX)] {
        read(&ttl(good)).unwrap();
    }
    for bad in [json!(0), json!(-1), json!(1.5), json!("1000")] {
        assert_eq!(fault(&ttl(bad)), ("field-invalid", "ttl_ms".into()));
    }
}
