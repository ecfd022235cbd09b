//! FO-1, FO-3 to FO-7, FO-10 to FO-17, FO-74: the frame around the payload. Must not know: the payloads' members.

use blackbox::Server;
use serde_json::{Value, json};

use super::catalogue::{FRAME, FRAME_REQUIRED, KINDS, WHOLE_MAX};
use super::lab::Lab;
use super::probes::{self, HANDLES_BAD};
use super::speak::{Field, advisory, payload, refused, sent, submit, subscribe};

/// FO-17: each of the fifteen kinds is accepted and arrives as it was sent.
#[tokio::test]
async fn fo_17_fifteen_kinds() {
    assert_eq!(KINDS.len(), 15);
    let mut lab = Lab::new().await;
    for (kind, _) in KINDS {
        lab.takes(kind, lab.frame(kind, false)).await;
        let mut full = lab.frame(kind, true);
        full["ttl_ms"] = json!(30_000);
        full["provenance_return_ref"] = json!("return-1");
        lab.takes(kind, full).await;
    }
    lab.finish().await;
}

/// FO-1, FO-17: a sixteenth kind is an error.
#[tokio::test]
async fn fo_1_unknown_kinds() {
    let lab = Lab::new().await;
    for kind in [
        json!("agent_memo"),
        json!("x-custom"),
        json!(""),
        json!("Agent_Advisory"),
        json!("agent-advisory"),
        json!("agent_advisory "),
        json!("agent_frame"),
        json!(1),
        json!(null),
        json!(["agent_advisory"]),
        json!({}),
    ] {
        let mut frame = lab.frame("agent_advisory", false);
        frame["kind"] = kind.clone();
        lab.refuses(&format!("kind {kind}"), &frame, "kind-unknown", Field::Maybe("kind")).await;
    }
    lab.finish().await;
}

/// FO-6, FO-74: only version 1.0 exists, and what says otherwise is not parsed any further.
#[tokio::test]
async fn fo_6_unsupported_versions() {
    let lab = Lab::new().await;
    let versions = ["", "1", "1.1", "2.0", "1.0.0", "v1.0", " 1.0", "1.0 ", "0.9", "01.0"];
    let others = [json!(1.0), json!(1), json!(null), json!(["1.0"]), json!({}), json!(true)];
    for version in versions.iter().map(|text| json!(text)).chain(others) {
        let mut frame = lab.frame("agent_advisory", false);
        frame["envelope_version"] = version.clone();
        let field = Field::Maybe("envelope_version");
        lab.refuses(&format!("version {version}"), &frame, "envelope-version-unsupported", field).await;
        let whole = json!({"envelope_version": version, "kind": 7, "later": {"all": "new"}});
        lab.refuses("a frame of another version", &whole, "envelope-version-unsupported", field).await;
    }
    lab.finish().await;
}

/// FO-3, FO-14, FO-15: each required member removed.
#[tokio::test]
async fn fo_3_required_members() {
    let lab = Lab::new().await;
    for (kind, _) in KINDS {
        for name in FRAME_REQUIRED {
            let mut frame = lab.frame(kind, false);
            frame.as_object_mut().expect("a frame").remove(*name);
            lab.refuses(&format!("no {name}"), &frame, "field-missing", Field::At(name)).await;
        }
    }
    for name in FRAME_REQUIRED {
        if ["envelope_version", "kind", "payload"].contains(name) {
            continue;
        }
        let mut frame = lab.frame("agent_advisory", false);
        frame[*name] = json!(null);
        lab.refuses(&format!("null for {name}"), &frame, "field-invalid", Field::At(name)).await;
    }
    lab.finish().await;
}

/// FO-5, FO-74: the frame is closed.
#[tokio::test]
async fn fo_5_unknown_members() {
    let lab = Lab::new().await;
    for (kind, _) in KINDS {
        let mut frame = lab.frame(kind, true);
        frame["x_extension"] = json!(null);
        lab.refuses(kind, &frame, "field-unknown", Field::At("x_extension")).await;
    }
    for name in ["Frame_id", "frame_id ", "frameId", "org", "content_type", "signature"] {
        let mut frame = lab.frame("agent_advisory", false);
        frame[name] = json!("x");
        lab.refuses(name, &frame, "field-unknown", Field::At(name)).await;
    }
    lab.finish().await;
}

/// FO-4, FO-7, FO-12 to FO-15: each member's values, good and bad.
#[tokio::test]
async fn fo_4_values_of_the_frame() {
    let mut lab = Lab::new().await;
    for member in FRAME {
        for value in probes::accepted(member.rule) {
            let mut frame = lab.frame("agent_advisory", true);
            // The fence finds its frame by its id.
            frame[member.name] = value.clone();
            lab.takes(&format!("{} = {value:.100}", member.name), frame).await;
        }
        for (value, place) in probes::refused(member.rule) {
            let mut frame = lab.frame("agent_advisory", true);
            frame[member.name] = value.clone();
            let path = format!("{}{place}", member.name);
            let what = format!("{} = {value:.100}", member.name);
            lab.refuses(&what, &frame, "field-invalid", Field::At(&path)).await;
        }
        if !member.required {
            lab.takes("without it", lab.frame("agent_advisory", false)).await;
        }
    }
    lab.finish().await;
}

/// FO-10: handles that are not canonical are malformed, before anybody's identity is asked for.
#[tokio::test]
async fn fo_10_handles_are_canonical() {
    let lab = Lab::new().await;
    let others = [json!(1), json!(null), json!([]), json!({}), json!(["~alice"]), json!(true)];
    let handles: Vec<Value> = HANDLES_BAD.iter().chain(&["~alice@1"]).map(|text| json!(text)).collect();
    for name in ["sender_handle", "recipient_handle", "acted_by"] {
        for handle in handles.iter().chain(&others) {
            let mut frame = lab.frame("agent_advisory", false);
            frame[name] = handle.clone();
            let what = format!("{name} = {handle}");
            lab.refuses(&what, &frame, "field-invalid", Field::At(name)).await;
        }
    }
    lab.finish().await;
}

/// FO-11 is a switch that is off by default: a clock that is wrong loses no frame.
#[tokio::test]
async fn fo_11_no_time_is_implausible_by_default() {
    let mut lab = Lab::new().await;
    for time in ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "0001-01-01T00:00:00Z"] {
        let mut frame = lab.frame("agent_advisory", false);
        frame["created_at"] = json!(time);
        lab.takes(time, frame).await;
    }
    lab.finish().await;
}

/// FO-11: switched on, it refuses what is further away than that, in both directions, and nothing else.
#[tokio::test]
async fn fo_11_skew_is_refused_where_the_operator_wants_it() {
    let server = Server::builder().config("[frames]\nmax_skew_ms = 600000\n").start().await;
    let alice = server.agent("@alice.bot").await;
    let mut stream = subscribe(&alice).await;
    let roster = alice.get("/handles/~alice/roster").await.ok(200);
    let now = roster["roster"][0]["started_at"].as_str().expect("the server's own time");
    let mut frame = advisory(&alice, "~alice", "on time");
    frame["created_at"] = json!(now);
    assert_eq!(sent(&submit(&alice, &frame).await, &frame).count, 1);
    for time in ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00+02:00"] {
        let mut frame = advisory(&alice, "~alice", "far away");
        frame["created_at"] = json!(time);
        refused(&submit(&alice, &frame).await, 400, "field-invalid", Field::At("created_at"));
    }
    assert_eq!(stream.event().await.frame, frame);
}

/// FO-13: a frame that is long past its time is still delivered; the duty is the recipient's.
#[tokio::test]
async fn fo_13_ttl_is_advice() {
    let mut lab = Lab::new().await;
    for ttl in [1, 1_000, WHOLE_MAX] {
        let mut frame = lab.frame("agent_advisory", false);
        frame["created_at"] = json!("2020-01-01T00:00:00Z");
        frame["ttl_ms"] = json!(ttl);
        lab.takes(&format!("ttl_ms {ttl}"), frame).await;
    }
    lab.finish().await;
}

/// FO-16, FO-87: nothing is keyed to provenance.
#[tokio::test]
async fn fo_16_provenance_decides_nothing() {
    let mut lab = Lab::new().await;
    for place in ["server-active", "server-aggregate", "local-only"] {
        for check in ["passed", "skipped"] {
            let mut frame = lab.frame("peer_diagnostic_request", false);
            frame["provenance_compute_location"] = json!(place);
            frame["provenance_context_check"] = json!(check);
            frame["provenance_method"] = json!(["x"]);
            lab.takes("any provenance", frame).await;
        }
    }
    lab.finish().await;
}

/// FO-2: a payload must be an object.
#[tokio::test]
async fn fo_2_a_payload_is_an_object() {
    let lab = Lab::new().await;
    for (kind, _) in KINDS {
        for value in
            [json!(null), json!([]), json!("text"), json!(1), json!(true), json!([payload(kind, true)])]
        {
            let mut frame = lab.frame(kind, false);
            frame["payload"] = value.clone();
            let what = format!("{kind} with {value:.60}");
            lab.refuses(&what, &frame, "payload-kind-mismatch", Field::Maybe("payload")).await;
        }
    }
    lab.finish().await;
}
