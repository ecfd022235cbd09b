//! Configuring an agent (SC-10, SC-43).

use std::sync::Arc;

use plenary_runs::{Card, Run, RunEnd, RunFuture, RunLimits, RunRequest, Runner, limits::ARGS_BYTES_MAX};
use serde_json::json;

use crate::house::{House, OPERATOR, agent};

/// Answers with its configured arguments.
struct Mirror;

impl Runner for Mirror {
    fn card(&self) -> Card {
        Card::new("shows")
    }
    fn run(self: Arc<Self>, request: RunRequest, _: Run) -> RunFuture {
        let args = json!(&*request.args).to_string();
        Box::pin(async move { RunEnd::with(args) })
    }
}

#[tokio::test]
async fn sc_10_sc_43_the_owner_and_the_operator_configure_and_runs_see_it() {
    let house = House::with(vec![agent("mirror", Arc::new(Mirror), RunLimits::default())]).await;
    let response =
        house.post(&house.owner, "/agent/mirror/configure", &json!({"args": {"a": 1, "b": 2}})).await;
    let event = response.ok(200);
    assert_eq!((&event["type"], &event["finish_reason"]), (&json!("RunCompleted"), &json!("success")));
    assert_eq!(event["run_id"], response.header("x-run-id"));
    let by_run = json!({"type": "ConfigureRequest", "args": {"a": null, "c": {"d": []}}});
    house.post(OPERATOR, "/agent/mirror/run", &by_run).await.ok(200);
    let run = house.post(&house.acme, "/agent/mirror/run?wait=result", &json!({"input": ""})).await;
    assert_eq!(run.ok(200)["result"], r#"{"b":2,"c":{"d":[]}}"#);
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
