//! FO-1, FO-3 to FO-7, FO-10 to FO-16, FO-74: the frame around the payload. Must not know: the payloads' members.

use blackbox::Server;
use serde_json::json;

use super::catalogue::{FRAME, FRAME_REQUIRED, WHOLE_MAX};
use super::lab::Lab;
use super::probes;
use super::speak::{Field, advisory, refused, sent, submit, subscribe};

#[tokio::test]
async fn fo_3_5_14_15_74_a_frame_is_complete_and_closed() {
    let lab = Lab::new().await;
    for name in FRAME_REQUIRED {
        let mut frame = lab.frame("agent_advisory", false);
        frame.as_object_mut().expect("a frame").remove(*name);
        lab.refuses(&format!("no {name}"), &frame, "field-missing", Field::At(name)).await;
    }
    for name in ["x_extension", "Frame_id", "content_type"] {
        let mut frame = lab.frame("agent_advisory", false);
        frame[name] = json!(null);
        lab.refuses(name, &frame, "field-unknown", Field::At(name)).await;
    }
    lab.finish().await;
}

/// FO-1, FO-6, FO-17: only version 1.0 and its fifteen kinds exist; of another version nothing else is looked at.
#[tokio::test]
async fn fo_1_6_unknown_kinds_and_versions() {
    let lab = Lab::new().await;
    for kind in [json!("agent_memo"), json!("Agent_Advisory"), json!(null)] {
        let mut frame = lab.frame("agent_advisory", false);
        frame["kind"] = kind.clone();
        lab.refuses(&format!("kind {kind}"), &frame, "kind-unknown", Field::Maybe("kind")).await;
    }
    for version in [json!("1.1"), json!("2.0"), json!(1.0)] {
        let field = Field::Maybe("envelope_version");
        let frame = json!({"envelope_version": version, "kind": 7, "later": {"all": "new"}});
        lab.refuses("a frame of another version", &frame, "envelope-version-unsupported", field).await;
    }
    lab.finish().await;
}

/// FO-4, FO-7, FO-10, FO-12 to FO-15: each member at its bound and past it; a handle is canonical, before anybody asks
/// whose it is.
#[tokio::test]
async fn fo_4_7_10_12_each_member_is_held_to_the_table() {
    let mut lab = Lab::new().await;
    for member in FRAME {
        let (at, past, place) = probes::bound(member.rule);
        let mut frame = lab.frame("agent_advisory", true);
        frame[member.name] = at;
        lab.takes(member.name, frame).await;
        let mut frame = lab.frame("agent_advisory", true);
        frame[member.name] = past;
        let path = format!("{}{place}", member.name);
        lab.refuses(member.name, &frame, "field-invalid", Field::At(&path)).await;
    }
    for name in ["sender_handle", "recipient_handle", "acted_by"] {
        for handle in ["~Alice", "@alice.bot", "~alice@1"] {
            let mut frame = lab.frame("agent_advisory", false);
            frame[name] = json!(handle);
            lab.refuses(handle, &frame, "field-invalid", Field::At(name)).await;
        }
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

/// FO-11, FO-13: by default no time is implausible, and a frame that is long past its time is still delivered: the duty
/// is the recipient's.
#[tokio::test]
async fn fo_11_13_time_is_advice() {
    let mut lab = Lab::new().await;
    for (created_at, ttl) in
        [("2020-01-01T00:00:00Z", 1), ("2999-01-01T00:00:00Z", 1_000), ("0001-01-01T00:00:00Z", WHOLE_MAX)]
    {
        let mut frame = lab.frame("agent_advisory", false);
        frame["created_at"] = json!(created_at);
        frame["ttl_ms"] = json!(ttl);
        lab.takes(created_at, frame).await;
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
