//! Permissions (wire.md D.8): the caller of a run, the agent's owner and the operator see it. To all others it looks
//! absent.

use std::sync::Arc;

use plenary_runs::{Echo, RunLimits};
use serde_json::json;

use crate::house::{House, OPERATOR, agent, echo};

#[tokio::test]
async fn a_token_is_required() {
    let house = House::new().await;
    for (method, path) in [
        ("GET", "/_discovery"),
        ("GET", "/agent/echo/describe"),
        ("POST", "/agent/echo/configure"),
        ("POST", "/agent/echo/run"),
        ("POST", "/agent/echo/stream_request"),
        ("GET", "/agent/echo/get_events"),
        ("GET", "/agent/echo/get_events/x"),
        ("GET", "/agent/echo/runs/x"),
        ("GET", "/agent/echo/threads"),
        ("GET", "/artifacts/x"),
    ] {
        house.send("", method, path, &[], String::new()).await.refused(401, "missing_authorization");
        house.send("pla_x", method, path, &[], String::new()).await.refused(401, "invalid_authorization");
    }
}

#[tokio::test]
async fn runs_of_others_are_like_none() {
    let second = agent("second", Arc::new(Echo::default()), RunLimits::default());
    let house = House::with(vec![echo(), second]).await;
    let (run, thread) = house.start_run(&json!({"input": "hi"})).await;
    house.all_events("echo", &run).await;
    let absent = "00000000-0007-7000-8000-000000000000";
    for (path, code) in [
        ("/agent/echo/runs/ID", "run_not_found"),
        ("/agent/echo/get_events/ID", "run_not_found"),
        ("/agent/echo/get_events?run_id=ID", "run_not_found"),
        ("/agent/echo/get_events/ID?stream=true", "run_not_found"),
    ] {
        let absent = house.get(&house.other, &path.replace("ID", absent)).await;
        let foreign = house.get(&house.other, &path.replace("ID", &run)).await;
        absent.refused(404, code);
        assert_eq!((absent.status, absent.body), (foreign.status, foreign.body), "{path}");
        let elsewhere = house.get(&house.acme, &path.replace("ID", &run).replace("echo", "second")).await;
        elsewhere.refused(404, code);
    }
    house.get(&house.other, &format!("/agent/echo/get_events/{thread}")).await.refused(404, "run_not_found");
    house
        .get(&house.other, &format!("/agent/echo/get_events?thread_id={thread}"))
        .await
        .refused(404, "thread_not_found");
    for body in [json!({"run_id": run}), json!({"run_id": run, "request_keys": {}})] {
        house.post(&house.other, "/agent/echo/run", &body).await.refused(404, "run_not_found");
    }
    assert_eq!(house.get(&house.other, "/agent/echo/threads").await.ok(200), json!([]));
    for token in [house.owner.as_str(), OPERATOR] {
        house.get(token, &format!("/agent/echo/runs/{run}")).await.ok(200);
        assert_eq!(house.get(token, "/agent/echo/threads").await.ok(200)[0]["id"], json!(thread));
        assert_eq!(house.get(token, "/agent/second/threads").await.ok(200), json!([]));
    }
}
