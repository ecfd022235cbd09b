//! A server that starts again with its clock set back: what rose goes on rising, and what was dated ahead grows old.
//! Must not know: how the server keeps that.

use blackbox::{Server, ShiftedClock, eventually, pair};
use serde_json::{Value, json};

/// How far the clock is set back, in seconds.
const BACK_S: i64 = 7_200;

async fn ids(agent: &blackbox::Agent) -> Vec<Value> {
    let listed = agent.get("/sessions").await.ok(200);
    let sessions = listed["sessions"].as_array().unwrap_or_else(|| panic!("sessions: {listed}"));
    sessions.iter().map(|session| session["id"].clone()).collect()
}

/// D.5: `event_id` rises. C.1: lists go by when sessions began. CH-3: a status from ahead of the clock grows old.
#[tokio::test]
async fn d_5_ch_3_a_clock_that_was_set_back_is_noticed_and_nothing_falls() {
    let Some(clock) = ShiftedClock::make() else { return };
    let mut server = Server::start().await;
    server.stop().await;
    clock.set_ahead(&mut server, BACK_S);
    server.restart().await;
    let (alice, _, first) = pair(&server).await;
    let submit = async |text: &str| {
        let frame = json!({
            "envelope_version": "1.0", "frame_id": format!("00000000-0000-4000-8000-{:012x}", text.len()),
            "kind": "agent_advisory", "sender_handle": "~alice", "recipient_handle": "~alice",
            "created_at": "2026-05-22T10:00:00Z", "payload": {"advisory_text": text}, "acted_by": "~alice",
            "drafted_with": "~cc-example-model", "provenance_compute_location": "server-active",
            "provenance_method": ["session-context"], "provenance_context_check": "passed",
            "provenance_basis": "coordination",
        });
        let sent = alice.post("/frames", frame).await.ok(200);
        sent["event_id"].as_str().expect("a decimal").parse::<u64>().expect("a number")
    };
    let before = submit("ahead").await;
    let made = alice.post("/agent-channel", json!({"title": "a title"})).await.ok(200);
    let channel = made["id"].as_str().expect("an id").to_owned();
    let status = json!({"kind": "status", "payload": {"agent": "@alice.bot", "phase": "working"}});
    alice.post(&format!("/agent-channel/{channel}/event"), status).await.ok(200);
    let ahead = alice.get(&format!("/sessions/{first}")).await.ok(200)["created_at"].clone();

    server.stop().await;
    clock.set_ahead(&mut server, 0);
    server.restart().await;
    assert!(submit("set back").await > before, "the numbers of a handle rise");
    let second = alice.post("/sessions", json!({"topic": "later"})).await.ok(201)["session_id"].clone();
    let path = format!("/sessions/{}", second.as_str().expect("an id"));
    let made_at = alice.get(&path).await.ok(200)["created_at"].clone();
    assert!(made_at.as_u64() < ahead.as_u64(), "the clock was set back: {made_at}");
    assert_eq!(ids(&alice).await, [second, json!(first)], "the newest first");
    eventually("a status that is dated ahead grows old", || async {
        let presence = alice.get(&format!("/agent-channel/{channel}/presence")).await.ok(200);
        (presence["agents"][0]["silent_seconds"].as_u64()? > 0).then_some(())
    })
    .await;
}
