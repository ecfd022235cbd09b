//! Push notifications of Agent2Agent 1.0, as a real receiver gets them: signed, once, over a restart and a kill, and to nobody
//! who may not know.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use blackbox::{Agent, Behaviour, Collector, Export, Server, eventually};
use serde_json::{Value, json};

use crate::{
    a2a::{ECHO, VERSION, assert_error, get, message, post, rest, rpc},
    notify::{assert_sound, config, is_signed, json_of, taken},
};

/// A task that waits for its client.
async fn waiting(agent: &Agent, id: &str) -> String {
    let sent = message(id, "x", json!({"metadata": {"demo": ["wait_for_input"]}}));
    let answer = rpc(agent, ECHO, "SendMessage", sent).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{answer}");
    task["id"].as_str().expect("an id").to_owned()
}

async fn answer(agent: &Agent, task: &str, id: &str) {
    let done = rpc(agent, ECHO, "SendMessage", message(id, "Ann", json!({"taskId": task}))).await;
    assert_eq!(done["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
}

fn state(call: &Export) -> Value {
    json_of(call)["task"]["status"]["state"].clone()
}

#[tokio::test]
async fn a2a_50_51_52_whoever_wants_to_hear_of_a_task_is_told_when_it_waits_and_when_it_is_over() {
    let server = config("").start().await;
    let (nick, receiver) = (server.agent("@nick.cc").await, Collector::start().await);
    let task = waiting(&nick, "m-1").await;
    let url = format!("{}/hook", receiver.url());
    let wanted = json!({"taskId": task, "id": "mine", "url": url, "token": "a-token",
        "authentication": {"scheme": "Bearer", "credentials": "secret"}});
    let made = rpc(&nick, ECHO, "CreateTaskPushNotificationConfig", wanted).await["result"].clone();
    let shown = json!({"taskId": task, "id": "mine", "url": url, "token": "a-token",
        "authentication": {"scheme": "Bearer"}});
    assert_eq!(made, shown, "the credentials are for the receiver alone");
    let path = format!("{ECHO}/tasks/{task}/pushNotificationConfigs");
    assert_eq!(rest(&get(&nick, &format!("{path}/mine")).await), shown);
    assert_eq!(rest(&get(&nick, &path).await), json!({"configs": [shown]}));
    let call = taken(&receiver, 1).await.remove(0);
    assert_eq!((call.target.as_str(), state(&call)), ("/hook", json!("TASK_STATE_INPUT_REQUIRED")));
    assert!(is_signed(&call, &format!("whsec_{}", STANDARD.encode("a-token"))), "{call:?}");
    for (name, value) in [
        ("authorization", "Bearer secret"),
        ("x-a2a-notification-token", "a-token"),
        ("content-type", "application/a2a+json"),
        ("a2a-version", "1.0"),
    ] {
        assert_eq!(call.headers[name], value);
    }
    answer(&nick, &task, "m-2").await;
    let last = taken(&receiver, 2).await.remove(1);
    assert_eq!(state(&last), "TASK_STATE_COMPLETED");
    assert_eq!(json_of(&last)["task"]["id"], json!(task));
    assert_ne!(last.headers["webhook-id"], call.headers["webhook-id"]);
    let removed = nick.call("DELETE", &format!("{path}/mine"), &[VERSION], None).await;
    assert_eq!(removed.status, 200, "{removed}");
    let again = nick.call("DELETE", &format!("{path}/mine"), &[VERSION], None).await;
    assert_eq!(again.status, 200, "{again}");
    let gone = get(&nick, &format!("{path}/mine")).await;
    // Section 3.1.8 has this error for a configuration that does not exist; the words say what is missing.
    assert_eq!((gone.status, &gone.json()["error"]["details"][0]["reason"]), (404, &json!("TASK_NOT_FOUND")));
    assert_eq!(gone.json()["error"]["message"], "The task has no such push notification configuration.");
    let of_no_task = get(&nick, &format!("{}/mine", path.replace(&task, "none"))).await;
    assert_eq!(of_no_task.json()["error"]["message"], "The agent has no such task.");
    assert_eq!(rest(&get(&nick, &path).await), json!({"configs": []}));
}

/// What was set with a token ends with it, by whoever ends it; what the agent's own token set goes on.
#[tokio::test]
async fn what_a_token_has_set_ends_with_the_token() {
    let server = config("").start().await;
    let (nick, receiver) = (server.agent("@nick.cc").await, Collector::start().await);
    let made = nick.post("/agents/me/tokens", json!({"scope": "write"})).await.ok(201);
    let scoped = server.bearer(made["token"].as_str().expect("a token"));
    let task = waiting(&nick, "m-1").await;
    let path = format!("{ECHO}/tasks/{task}/pushNotificationConfigs");
    for (bearer, id) in [(&scoped, "scoped"), (&*nick, "own")] {
        let wanted = json!({"id": id, "url": format!("{}/{id}", receiver.url())});
        rest(&bearer.call("POST", &path, &[VERSION], Some(&wanted)).await);
    }
    let told = taken(&receiver, 2).await;
    assert!(told.iter().all(|call| state(call) == "TASK_STATE_INPUT_REQUIRED"), "{told:?}");
    let id = made["id"].as_str().expect("an id");
    assert_eq!(nick.call("DELETE", &format!("/agents/me/tokens/{id}"), &[], None).await.status, 204);
    answer(&nick, &task, "m-2").await;
    let last = taken(&receiver, 3).await.remove(2);
    assert_eq!((last.target.as_str(), state(&last)), ("/own", json!("TASK_STATE_COMPLETED")));
    eventually("the other one is gone", || async {
        let listed = rest(&get(&nick, &path).await);
        let ids: Vec<_> = listed["configs"].as_array()?.iter().map(|config| config["id"].clone()).collect();
        (ids == ["own"]).then_some(())
    })
    .await;
    assert_eq!(taken(&receiver, 3).await.len(), 3, "nothing is told with a token that is no more");
}

/// What waits for its next attempt is no longer sent once its token has ended, its agent was deleted, or it was removed.
#[tokio::test]
async fn what_waits_for_a_retry_ends_with_its_configuration() {
    let server = config("retry_first = \"200ms\"\n").start().await;
    let (nick, receiver) = (server.agent("@nick.cc").await, Collector::start().await);
    let gone = server.agent("@nick.gone").await;
    let made = nick.post("/agents/me/tokens", json!({"scope": "write"})).await.ok(201);
    let scoped = server.bearer(made["token"].as_str().expect("a token"));
    receiver.behave(Behaviour::Answer(503));
    let (task, other) = (waiting(&nick, "m-1").await, waiting(&gone, "m-2").await);
    let path = |task: &str| format!("{ECHO}/tasks/{task}/pushNotificationConfigs");
    for (bearer, task, id) in [
        (&scoped, &task, "scoped"),
        (&*gone, &other, "gone"),
        (&*nick, &task, "removed"),
        (&*nick, &task, "kept"),
    ] {
        let wanted = json!({"id": id, "url": format!("{}/{id}", receiver.url())});
        rest(&bearer.call("POST", &path(task), &[VERSION], Some(&wanted)).await);
    }
    let tries = |id: &str| {
        let target = format!("/{id}");
        receiver.exports().iter().filter(|call| call.target == target).count()
    };
    let tried = async |id: &str, count: usize| {
        eventually("an attempt", || async { (tries(id) >= count).then_some(()) }).await;
    };
    for id in ["scoped", "gone", "removed", "kept"] {
        tried(id, 1).await;
    }
    let token = format!("/agents/me/tokens/{}", made["id"].as_str().expect("an id"));
    assert_eq!(nick.call("DELETE", &token, &[], None).await.status, 204);
    server.operator().delete("/_admin/agents/@nick.gone").await.ok(204);
    let removed = nick.call("DELETE", &format!("{}/removed", path(&task)), &[VERSION], None).await;
    assert_eq!(removed.status, 200, "{removed}");
    // An attempt may have been under way. The pauses of all are the same, and double.
    tried("kept", tries("kept") + 1).await;
    let before = ["scoped", "gone", "removed"].map(tries);
    tried("kept", tries("kept") + 2).await;
    assert_eq!(["scoped", "gone", "removed"].map(tries), before);
    receiver.behave(Behaviour::Take);
    assert_eq!(taken(&receiver, 1).await.remove(0).target, "/kept");
}

/// A URL that was wrong and is set right is told what the wrong one was told already.
#[tokio::test]
async fn a_corrected_url_is_told() {
    let server = config("").start().await;
    let (nick, receiver) = (server.agent("@nick.cc").await, Collector::start().await);
    let task = waiting(&nick, "m-1").await;
    for place in ["wrong", "right", "right"] {
        let wanted = json!({"taskId": task, "id": "mine", "url": format!("{}/{place}", receiver.url())});
        rpc(&nick, ECHO, "CreateTaskPushNotificationConfig", wanted).await;
        let count = if place == "wrong" { 1 } else { 2 };
        let told = taken(&receiver, count).await;
        assert_eq!(told.last().map(|call| call.target.clone()), Some(format!("/{place}")));
    }
    answer(&nick, &task, "m-2").await;
    let told = taken(&receiver, 3).await;
    assert_eq!((told.len(), told[2].target.as_str()), (3, "/right"), "each state once: {told:?}");
}

/// A person who acts through the token of its owner has none that a configuration could end with.
#[tokio::test]
async fn a_person_sets_no_configuration() {
    let server = config("").start().await;
    let owner = server.owner("nick").await;
    let push = json!({"taskPushNotificationConfig": {"url": "https://example.org/"}});
    for (configuration, refused) in [(json!({}), false), (push, true)] {
        let mut sent = message("m-1", "x", Value::Null);
        sent["configuration"] = configuration;
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sent});
        let headers = [VERSION, ("X-ASP-Agent", "@nick.nick")];
        let answer = owner.call("POST", ECHO, &headers, Some(&call)).await.ok(200);
        if refused {
            assert_error(&answer, -32004, "UNSUPPORTED_OPERATION");
        } else {
            assert!(answer["result"]["task"]["id"].is_string(), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_message_brings_its_configuration_along_for_a_run_and_for_a_session() {
    let server = config("").start().await;
    let (nick, receiver) = (server.agent("@nick.cc").await, Collector::start().await);
    let push = json!({"taskPushNotificationConfig": {"url": format!("{}/run", receiver.url())}});
    let mut sent = message("m-1", "Hello", Value::Null);
    sent["configuration"] = push;
    let done = rest(&post(&nick, &format!("{ECHO}/message:send"), &sent).await);
    let call = taken(&receiver, 1).await.remove(0);
    assert_eq!(json_of(&call)["task"]["id"], done["task"]["id"]);
    assert!(!call.headers.contains_key("webhook-signature"), "nobody chose a secret");
    let ann = server.agent("@ann.helper").await;
    let mut sent = message("m-2", "What is new?", Value::Null);
    sent["configuration"] = json!({"returnImmediately": true,
        "taskPushNotificationConfig": {"url": format!("{}/session", receiver.url())}});
    let begun = rpc(&nick, "/a2a/ann.helper", "SendMessage", sent).await["result"]["task"].clone();
    let session = format!("/sessions/{}", begun["contextId"].as_str().expect("a session"));
    ann.post_empty(&format!("{session}/join")).await.ok(200);
    ann.post(&format!("{session}/messages"), json!({"content": "The schema."})).await.ok(201);
    let call = taken(&receiver, 2).await.remove(1);
    let told = json_of(&call);
    assert_eq!((call.target.as_str(), &told["task"]["id"]), ("/session", &begun["id"]));
    assert_eq!(told["task"]["artifacts"][0]["parts"][0]["text"], "The schema.", "{told}");
}

#[tokio::test]
async fn a2a_53_what_is_told_outlives_a_kill_and_a_receiver_that_is_away_and_comes_once() {
    let mut server = config("retry_first = \"100ms\"\n").start().await;
    let (nick, receiver) = (server.agent("@nick.cc").await, Collector::start().await);
    let task = waiting(&nick, "m-1").await;
    let wanted = json!({"taskId": task, "url": format!("{}/hook", receiver.url())});
    rpc(&nick, ECHO, "CreateTaskPushNotificationConfig", wanted).await;
    taken(&receiver, 1).await;
    receiver.behave(Behaviour::Answer(503));
    answer(&nick, &task, "m-2").await;
    eventually("an attempt", || async { (receiver.exports().len() > 1).then_some(()) }).await;
    server.crash().await;
    receiver.behave(Behaviour::Take);
    let calls = taken(&receiver, 2).await;
    assert_eq!(state(&calls[1]), "TASK_STATE_COMPLETED");
    let nick = server.agent("@nick.other").await;
    let done = rpc(&nick, ECHO, "SendMessage", message("m-9", "x", Value::Null)).await;
    assert!(done["result"]["task"]["id"].is_string(), "{done}");
    assert_eq!(taken(&receiver, 2).await.len(), 2, "nothing is told twice, or of others");
}

#[tokio::test]
async fn a2a_54_55_only_who_has_a_task_hears_of_it_and_only_at_addresses_that_are_allowed() {
    let (_server, [nick, ann]) = Server::with(["@nick.cc", "@ann.cc"]).await;
    let task = waiting(&nick, "m-1").await;
    let wanted = |url: &str, more: Value| {
        let mut config = json!({"taskId": task, "url": url});
        config.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        config
    };
    let hook = "https://example.org/hook";
    let method = "CreateTaskPushNotificationConfig";
    for (url, more) in [
        ("http://127.0.0.1:9/", Value::Null),
        ("http://169.254.169.254/latest/meta-data", Value::Null),
        ("ftp://example.org/", Value::Null),
        ("https://user@example.org/", Value::Null),
        (hook, json!({"token": "two words"})),
        (hook, json!({"id": "a/b"})),
        (hook, json!({"authentication": {"scheme": "Bearer", "credentials": "a\nb"}})),
    ] {
        let refused = rpc(&nick, ECHO, method, wanted(url, more)).await;
        assert_error(&refused, -32602, "INVALID_PARAMS");
        // A message with it is not sent either.
        let mut sent = message("m-7", "x", Value::Null);
        sent["configuration"] = json!({"taskPushNotificationConfig": {"url": "http://127.0.0.1:9/"}});
        assert_error(&rpc(&nick, ECHO, "SendMessage", sent).await, -32602, "INVALID_PARAMS");
    }
    rpc(&nick, ECHO, method, wanted(hook, json!({"id": "mine"}))).await;
    for (method, params) in [
        (method, wanted(hook, Value::Null)),
        ("GetTaskPushNotificationConfig", json!({"taskId": task, "id": "mine"})),
        ("ListTaskPushNotificationConfigs", json!({"taskId": task})),
        ("DeleteTaskPushNotificationConfig", json!({"taskId": task, "id": "mine"})),
    ] {
        assert_error(&rpc(&ann, ECHO, method, params).await, -32001, "TASK_NOT_FOUND");
    }
    let listed = rpc(&nick, ECHO, "ListTaskPushNotificationConfigs", json!({"taskId": task})).await;
    assert_eq!(listed["result"]["configs"].as_array().map(Vec::len), Some(1), "{listed}");
    for n in 1..10 {
        rpc(&nick, ECHO, method, wanted(hook, json!({"id": format!("c-{n}")}))).await;
    }
    let params = wanted(hook, json!({"id": "one-more"}));
    let call = json!({"jsonrpc": "2.0", "id": "c-1", "method": method, "params": params});
    assert_eq!(post(&nick, ECHO, &call).await.status, 429, "ten of one task");
}

/// Push configurations count for their owner, in the append and in the check of a store.
#[tokio::test]
async fn what_push_notifications_store_is_counted_as_it_is_appended() {
    let mut server = config("").start().await;
    let (nick, receiver) = (server.agent("@nick.cc").await, Collector::start().await);
    let url = format!("{}/{}", receiver.url(), "x".repeat(1_800));
    for n in 0..4 {
        let task = waiting(&nick, &format!("m-{n}")).await;
        for config in 0..10 {
            let wanted =
                json!({"taskId": task, "id": format!("c-{config}"), "url": url, "token": "t".repeat(900)});
            let made = rpc(&nick, ECHO, "CreateTaskPushNotificationConfig", wanted).await;
            assert!(made["result"]["id"].is_string(), "{made}");
        }
    }
    server.stop().await;
    assert_sound(&server);
}
