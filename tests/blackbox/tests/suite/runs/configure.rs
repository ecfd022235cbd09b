//! Configuring an agent: SC-10, SC-23, SC-43; by whom: D.8.

use blackbox::Caller;
use serde_json::{Value, json};

use super::hostile::BROKEN;
use super::speak::{ECHO, OWNER, assert_uuid, at, chat, echoing, refused, whole};

fn assert_configured(event: &Value) {
    assert_eq!(event["type"], "RunCompleted", "SC-43: {event}");
    assert_eq!(event["finish_reason"], "success", "{event}");
    for member in ["id", "depth"] {
        assert!(event[member].is_u64(), "{member}: {event}");
    }
    for member in ["run_id", "thread_id"] {
        assert_uuid(event[member].as_str().unwrap_or_default());
    }
    assert_eq!(event["agent"], ECHO, "{event}");
    assert!(event["role"].is_string(), "{event}");
}

/// SC-10, SC-43: RunCompleted with a run id of its own, each time another.
#[tokio::test]
async fn sc_10_sc_43_configure_answers_run_completed() {
    let (server, nick) = echoing().await;
    let operator = server.operator();
    let run = chat(&nick, ECHO, "x").await;
    whole(&nick, &run).await;
    let mut ids = vec![run.id.clone()];
    for args in [json!({}), json!({"model": "m", "deep": {"a": [1, 2.5, null, "é"]}})] {
        let event = operator.post(&at(ECHO, "configure"), json!({ "args": args })).await.ok(200);
        assert_configured(&event);
        ids.push(event["run_id"].as_str().expect("an id").to_owned());
    }
    let typed = json!({"type": "ConfigureRequest", "args": {"a": 1}});
    assert_configured(&operator.post(&at(ECHO, "configure"), typed).await.ok(200));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "each is another: {ids:?}");
}

/// D.8: the operator and the agent's owner, nobody else.
#[tokio::test]
async fn sc_10_only_operator_and_owner_configure() {
    let (server, nick) = echoing().await;
    let made = server.operator().post("/_admin/owners", json!({"owner": OWNER})).await;
    let owner = match made.status {
        201 => server.bearer(made.json()["token"].as_str().expect("a token")),
        _ => panic!("an owner's token is needed: {made}"),
    };
    let (sibling, stranger) = (server.agent(&format!("@{OWNER}.boss")).await, server.owner("other").await);
    let path = at(ECHO, "configure");
    for who in [&server.operator(), &owner] {
        assert_configured(&who.post(&path, json!({"args": {"a": 1}})).await.ok(200));
    }
    for who in [&nick as &Caller, &sibling, &stranger] {
        let response = who.post(&path, json!({"args": {"a": 1}})).await;
        assert!([403, 404].contains(&response.status), "{response}");
        refused(&response, response.status);
    }
}

#[tokio::test]
async fn sc_23_configure_takes_an_object_of_args() {
    let (server, _nick) = echoing().await;
    let operator = server.operator();
    for body in [
        json!({}),
        json!({"args": null}),
        json!({"args": []}),
        json!({"args": "x"}),
        json!([]),
        json!("x"),
        json!(null),
        json!({"type": 5, "args": {}}),
    ] {
        refused(&operator.post(&at(ECHO, "configure"), body).await, 422);
    }
    for (what, body) in BROKEN {
        let response = operator.post_raw(&at(ECHO, "configure"), body).await;
        assert_eq!(response.status, 400, "{what}: {response}");
        refused(&response, 400);
    }
}
