//! Who is alive (CH-1 to CH-3, CH-18), and what becomes of the work of somebody who is not (CH-33).

use blackbox::{Server, assert_keys, eventually};
use serde_json::json;

use super::{append, channel};

/// CH-1, CH-3, CH-18: by `status` events alone, by author, against the one knob.
#[tokio::test]
async fn ch_1_3_18_presence_is_who_posted_a_status() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let id = channel(&ann).await;
    let path = format!("/agent-channel/{id}/presence");
    append(&ann, &id, "comms", json!({"agent": "somebody"})).await;
    assert_eq!(ann.get(&path).await.ok(200), json!({"cadence_seconds": 60, "agents": []}));
    let status =
        json!({"kind": "status", "author": "claude-1", "payload": {"agent": "else", "phase": "working"}});
    let made = ann.post(&format!("/agent-channel/{id}/event"), status).await.ok(200);
    append(&ann, &id, "status", json!({})).await;
    let presence = ann.get(&path).await.ok(200);
    let agents = presence["agents"].as_array().expect("a list");
    let names: Vec<_> = agents.iter().map(|agent| agent["agent"].as_str().expect("a name")).collect();
    assert_eq!(names, ["@nick.ann", "claude-1"], "the latest first");
    assert_keys(&agents[1], &["agent", "via", "last_status_at", "silent_seconds", "presumed_dead"], &[]);
    assert_eq!((&agents[1]["via"], &agents[1]["last_status_at"]), (&json!("@nick.ann"), &made["created_at"]));
    assert_eq!(agents[1]["presumed_dead"], false);
    assert!(agents[1]["silent_seconds"].as_u64().is_some_and(|seconds| seconds < 60));
}

/// CH-2, CH-33: past five cadences an agent is presumed dead; the view says so of a holder, and everybody may take over.
#[tokio::test]
async fn ch_2_33_silence_is_death_and_the_view_says_what_to_do() {
    let server = Server::builder().arg("--channels-status-cadence-seconds").arg("1").start().await;
    let (ann, bob) = (server.agent("@nick.ann").await, server.agent("@acme.bob").await);
    let id = channel(&ann).await;
    let state = json!({
        "protocol_version": 2, "updated_by": "@nick.ann",
        "handoff": {"holder": "@nick.ann", "expected_action": "port the lexer"}, "concepts": [], "agents": {},
    });
    append(&ann, &id, "state", state).await;
    append(&ann, &id, "status", json!({"agent": "@nick.ann", "phase": "working"})).await;
    let onboarding = || async {
        let view = bob.get(&format!("/agent-channel/{id}")).await.ok(200);
        view["onboarding"].as_str().expect("a text").to_owned()
    };
    let text = onboarding().await;
    assert!(text.contains("every 1 s") && text.contains("over 5 s"), "the knob is told: {text}");
    let text = eventually("the holder is presumed dead", || async {
        let text = onboarding().await;
        text.contains("PRESUMED DEAD").then_some(text)
    })
    .await;
    assert!(text.contains("- @nick.ann: presumed dead, silent for "), "{text}");
    let presence = bob.get(&format!("/agent-channel/{id}/presence")).await.ok(200);
    assert_eq!(
        (&presence["cadence_seconds"], &presence["agents"][0]["presumed_dead"]),
        (&json!(1), &json!(true))
    );
    let silent = presence["agents"][0]["silent_seconds"].as_u64().expect("seconds");
    assert!(silent >= 5, "{silent}");
    // A sign of life, and it is alive again. Where the machine sleeps over five cadences, it is given once more.
    eventually("the holder is alive again", || async {
        append(&ann, &id, "status", json!({"agent": "@nick.ann", "phase": "back"})).await;
        (!onboarding().await.contains("PRESUMED DEAD")).then_some(())
    })
    .await;
}
