//! Configuring an agent (SC-10, SC-43).

use std::sync::Arc;

use plenary_runs::{Card, Run, RunEnd, RunFuture, RunLimits, RunRequest, Runner, limits::ARGS_BYTES_MAX};
use serde_json::{Value, json};

use crate::house::{House, OPERATOR, agent};

/// Answers with its configured arguments and its request.
struct Mirror;

impl Runner for Mirror {
    fn card(&self) -> Card {
        Card { request_types: vec!["Look".into()], ..Card::new("shows") }
    }
    fn run(self: Arc<Self>, request: RunRequest, _: Run) -> RunFuture {
        let mirrored = json!({
            "args": &*request.args, "type": &*request.request_type, "members": request.members(),
            "requester": &*request.requester, "depth": request.depth,
        });
        Box::pin(async move { RunEnd::with(mirrored.to_string()) })
    }
}

async fn run_mirror(house: &House, body: &Value) -> Value {
    let answer = house.post(&house.acme, "/agent/mirror/run?wait=result", body).await;
    serde_json::from_str(answer.ok(200)["result"].as_str().unwrap()).unwrap()
}

async fn house() -> House {
    House::with(vec![agent("mirror", Arc::new(Mirror), RunLimits::default())]).await
}

#[tokio::test]
async fn sc_10_sc_43_the_owner_and_the_operator_configure_and_runs_see_it() {
    let house = house().await;
    let response =
        house.post(&house.owner, "/agent/mirror/configure", &json!({"args": {"a": 1, "b": 2}})).await;
    let event = response.ok(200);
    assert_eq!((&event["type"], &event["finish_reason"]), (&json!("RunCompleted"), &json!("success")));
    assert_eq!(event["run_id"], response.header("x-run-id"));
    let by_run = json!({"type": "ConfigureRequest", "args": {"a": null, "c": {"d": []}}});
    house.post(OPERATOR, "/agent/mirror/run", &by_run).await.ok(200);
    assert_eq!(run_mirror(&house, &json!({"input": ""})).await["args"], json!({"b": 2, "c": {"d": []}}));
    for token in [&house.acme, &house.register("@nick.mirror").await] {
        house.post(token, "/agent/mirror/configure", &json!({"args": {}})).await.refused(403, "forbidden");
    }
    house
        .post(&house.owner, "/agent/mirror/configure", &json!({"args": []}))
        .await
        .refused(422, "invalid_args");
    let long = json!({"args": {"x": "x".repeat(ARGS_BYTES_MAX)}});
    house.post(&house.owner, "/agent/mirror/configure", &long).await.refused(422, "args_too_large");
}

#[tokio::test]
async fn sc_17_sc_23_sc_27_the_agent_gets_every_member_of_the_request() {
    let house = house().await;
    let body = json!({
        "type": "Look", "logging_level": "debug", "request_metadata": {"user_id": 7},
        "run_context": {"user_context": {"name": "n"}, "depth": 5}, "file": [1, 2],
    });
    let mirrored = run_mirror(&house, &body).await;
    assert_eq!(mirrored["members"], body);
    assert_eq!(
        (&mirrored["type"], &mirrored["requester"], &mirrored["depth"]),
        (&json!("Look"), &json!("@acme.w"), &json!(5))
    );
}
