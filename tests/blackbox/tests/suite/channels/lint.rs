//! What is wrong with an event, without storing it (CH-31, CH-32).

use blackbox::{Server, assert_keys};
use serde_json::{Value, json};

use super::{append, channel, events, refused};

fn state(concepts: &Value) -> Value {
    json!({
        "protocol_version": 2, "updated_by": "a", "handoff": {"holder": "a", "expected_action": "x"},
        "concepts": concepts, "agents": {"a": {"role": "peer", "status": "ready"}},
    })
}

/// CH-31, CH-32: shapes are advice; whoever asks is told, whoever posts is not stopped.
#[tokio::test]
async fn ch_31_32_shapes_are_checked_on_request_alone() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let id = channel(&ann).await;
    let check = |kind: &'static str, payload: Value| {
        let (ann, path) = (&ann, format!("/agent-channel/{id}/event?validate=1"));
        async move {
            let verdict = ann.post(&path, json!({"kind": kind, "payload": payload})).await.ok(200);
            assert_keys(&verdict, &["valid", "stored", "problems"], &[]);
            assert_eq!(verdict["stored"], false);
            let problems = verdict["problems"].as_array().expect("a list").clone();
            assert_eq!(verdict["valid"], problems.is_empty());
            problems
                .iter()
                .map(|found| found["field"].as_str().expect("a field").to_owned())
                .collect::<Vec<_>>()
        }
    };
    let concept =
        |standing: &str| json!([{"id": "lexer", "owner": "a", "status": standing, "concept": "port it"}]);
    assert!(check("state", state(&concept("proposed"))).await.is_empty());
    assert!(check("comms", json!({"free": [1]})).await.is_empty());
    assert_eq!(check("spec", json!({"rules": "x"})).await, ["mission", "rules"]);
    assert_eq!(check("status", json!({"agent": "@nick.ann"})).await, ["phase"]);
    assert_eq!(
        check("status", json!({"agent": "b", "phase": "p"})).await,
        ["agent"],
        "liveness goes by author"
    );
    assert!(events(&ann, &id, "").await.is_empty(), "nothing was stored");

    for (now, next, fields) in [
        ("proposed", "done", &["concepts[0].status"][..]),
        ("proposed", "in_progress", &[]),
        ("in_progress", "proposed", &["concepts[0].status"]),
        ("in_progress", "abandoned", &[]),
        ("done", "in_progress", &["concepts[0]"]),
        ("done", "done", &[]),
    ] {
        append(&ann, &id, "state", state(&concept(now))).await;
        assert_eq!(check("state", state(&concept(next))).await, fields, "{now} -> {next}");
    }
    assert_eq!(check("state", state(&json!([]))).await, ["concepts"], "none is lost");
    // Advice: all of it is stored when it is posted.
    append(&ann, &id, "state", json!({"anything": "goes"})).await;

    let path = format!("/agent-channel/{id}/event");
    let wrong = json!({"kind": "", "payload": {}});
    refused(&ann.post(&format!("{path}?validate=1"), wrong.clone()).await, 422, "invalid_kind");
    refused(&ann.post(&format!("{path}?validate=perhaps"), wrong).await, 422, "invalid_validate");
    let event = json!({"kind": "log", "payload": {}});
    assert!(ann.post(&format!("{path}?validate=0"), event.clone()).await.ok(200)["id"].is_u64());
    refused(&ann.post("/agent-channel/ZZZZ/event?validate=1", event).await, 404, "no_such_channel");
}
