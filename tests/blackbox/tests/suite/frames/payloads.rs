//! FO-23 to FO-37, FO-41, FO-80: each payload against the catalogue: every bound with multibyte text, every required
//! member removed, an unknown member, every wrong JSON type, null for what may be absent. Must not know: the frame
//! around it, or the inside of a decision request's question.

use serde_json::json;

use super::catalogue::{KINDS, Member, Rule, members};
use super::lab::Lab;
use super::probes;
use super::speak::Field;

/// One payload, whole.
async fn holds_to_its_table(kind: &str) {
    let mut lab = Lab::new().await;
    lab.takes("the least payload", lab.frame(kind, false)).await;
    lab.takes("the fullest payload", lab.frame(kind, true)).await;
    for member in members(kind) {
        bounds(&mut lab, kind, member).await;
        removal(&mut lab, kind, member).await;
    }
    for value in [json!(1), json!(null), json!("x"), json!({})] {
        let mut frame = lab.frame(kind, true);
        frame["payload"]["x_unknown"] = value;
        lab.refuses("an unknown member", &frame, "field-unknown", Field::At("payload.x_unknown")).await;
    }
    lab.finish().await;
}

async fn bounds(lab: &mut Lab, kind: &str, member: &Member) {
    let path = format!("payload.{}", member.name);
    for value in probes::accepted(member.rule) {
        let what = format!("{path} = {value:.100}");
        let mut frame = lab.frame(kind, true);
        frame["payload"][member.name] = value;
        lab.takes(&what, frame).await;
    }
    for (value, place) in probes::refused(member.rule) {
        let what = format!("{path} = {value:.100}");
        let mut frame = lab.frame(kind, true);
        frame["payload"][member.name] = value;
        lab.refuses(&what, &frame, "field-invalid", Field::At(&format!("{path}{place}"))).await;
    }
}

async fn removal(lab: &mut Lab, kind: &str, member: &Member) {
    let path = format!("payload.{}", member.name);
    let mut frame = lab.frame(kind, true);
    frame["payload"].as_object_mut().expect("a payload").remove(member.name);
    let what = format!("{kind} without {}", member.name);
    // What is left of this one is the whole payload of another kind, which is a mismatch (see `mismatch`).
    if kind == "agent_lease_extend" && member.name == "ttl_ms" {
        return;
    }
    if member.required {
        lab.refuses(&what, &frame, "field-missing", Field::At(&path)).await;
    } else {
        lab.takes(&what, frame).await;
    }
}

#[tokio::test]
async fn fo_23_agent_advisory() {
    holds_to_its_table("agent_advisory").await;
}

#[tokio::test]
async fn fo_24_agent_broadcast() {
    holds_to_its_table("agent_broadcast").await;
}

/// FO-42: the claiming session fills `next_session_id` in.
#[tokio::test]
async fn fo_25_agent_handover() {
    holds_to_its_table("agent_handover").await;
}

#[tokio::test]
async fn fo_26_agent_lock_request() {
    holds_to_its_table("agent_lock_request").await;
}

#[tokio::test]
async fn fo_27_agent_lock_release() {
    holds_to_its_table("agent_lock_release").await;
}

#[tokio::test]
async fn fo_28_agent_lease_extend() {
    holds_to_its_table("agent_lease_extend").await;
}

/// FO-94: the response scope is checked as a scope and nothing more.
#[tokio::test]
async fn fo_29_agent_query() {
    holds_to_its_table("agent_query").await;
}

#[tokio::test]
async fn fo_30_agent_response() {
    holds_to_its_table("agent_response").await;
}

#[tokio::test]
async fn fo_31_agent_return_event() {
    holds_to_its_table("agent_return_event").await;
}

#[tokio::test]
async fn fo_32_agent_binding_moment() {
    holds_to_its_table("agent_binding_moment").await;
}

#[tokio::test]
async fn fo_33_peer_diagnostic_request() {
    holds_to_its_table("peer_diagnostic_request").await;
}

#[tokio::test]
async fn fo_34_peer_diagnostic_response() {
    holds_to_its_table("peer_diagnostic_response").await;
}

#[tokio::test]
async fn fo_35_intent_declare() {
    holds_to_its_table("intent_declare").await;
}

#[tokio::test]
async fn fo_36_intent_withdraw() {
    holds_to_its_table("intent_withdraw").await;
}

#[tokio::test]
async fn fo_37_flush_executed() {
    holds_to_its_table("flush_executed").await;
}

/// FO-41: what points at a thing is a text, never the thing itself.
#[tokio::test]
async fn fo_41_pointers_are_references() {
    let lab = Lab::new().await;
    let thing = json!({"title": "the thing itself"});
    for (kind, members) in KINDS {
        for member in *members {
            let pointer = member.name.ends_with("_ref") || member.name.ends_with("refs");
            if !pointer {
                continue;
            }
            let mut frame = lab.frame(kind, true);
            let list = matches!(member.rule, Rule::Texts(..));
            frame["payload"][member.name] = if list { json!([thing]) } else { thing.clone() };
            let path = format!("payload.{}{}", member.name, if list { "[0]" } else { "" });
            lab.refuses("an embedded object", &frame, "field-invalid", Field::At(&path)).await;
        }
    }
    lab.finish().await;
}

/// What the vendor's own client calls these members is not the document's business.
#[tokio::test]
async fn fo_5_vendor_spellings_are_unknown_here() {
    let lab = Lab::new().await;
    for name in ["extend_ms", "additional_ttl_ms"] {
        let mut frame = lab.frame("agent_lease_extend", false);
        frame["payload"][name] = json!(1_000);
        let path = format!("payload.{name}");
        lab.refuses(name, &frame, "field-unknown", Field::At(&path)).await;
    }
    for name in ["ledger_kind", "iai_compute_location", "scope", "instrument", "tool", "session_id"] {
        let mut frame = lab.frame("agent_advisory", false);
        frame[name] = json!("agent_frame");
        lab.refuses(name, &frame, "field-unknown", Field::At(name)).await;
    }
    lab.finish().await;
}
