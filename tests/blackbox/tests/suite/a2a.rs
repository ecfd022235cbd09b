//! Agent2Agent 1.0 as the real server speaks it: raw JSON over both bindings, written from the specification. The SDKs of the
//! protocol walk the same in `tests/a2a`. Must not know: how a task is kept.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blackbox::{Agent, Caller, Response, Server, eventually};
use serde_json::{Value, json};

pub(super) const VERSION: (&str, &str) = ("a2a-version", "1.0");
pub(super) const ECHO: &str = "/a2a/plenary.echo";

pub(super) async fn post(agent: &Agent, path: &str, body: &Value) -> Response {
    agent.call("POST", path, &[VERSION], Some(body)).await
}

/// The body of an answer of the HTTP+JSON binding.
pub(super) fn rest(answer: &Response) -> Value {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("application/a2a+json")),
        "{answer}"
    );
    answer.json()
}

pub(super) async fn get(agent: &Agent, path: &str) -> Response {
    agent.call("GET", path, &[VERSION], None).await
}

/// A call of JSON-RPC; its whole answer.
pub(super) async fn rpc(agent: &Agent, path: &str, method: &str, params: Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": "c-1", "method": method, "params": params});
    let answer = post(agent, path, &call).await.ok(200);
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!("c-1")), "{answer}");
    answer
}

pub(super) fn message(id: &str, text: &str, more: Value) -> Value {
    let mut message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
    if let (Value::Object(more), Some(members)) = (more, message.as_object_mut()) {
        members.extend(more);
    }
    json!({"message": message})
}

/// The limit is that of the body which the client sends: 1 MiB. A larger one is the client's fault.
#[tokio::test]
async fn a_long_message_is_taken_up_to_the_limit_of_the_body() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let long = "\"x\" ".repeat(125_000);
    let task = &rpc(&nick, ECHO, "SendMessage", message("m-1", &long, json!({}))).await["result"]["task"];
    assert_eq!(state(task), "TASK_STATE_COMPLETED");
    let mut data = message("m-2", "", json!({}));
    data["message"]["parts"] = json!([{"data": {"text": long}}]);
    let task = &rpc(&nick, ECHO, "SendMessage", data).await["result"]["task"];
    assert_eq!(state(task), "TASK_STATE_COMPLETED");
    let call = json!({"jsonrpc": "2.0", "id": "c-1", "method": "SendMessage",
        "params": message("m-3", &"x".repeat(1 << 20), json!({}))});
    let refused = post(&nick, ECHO, &call).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (413, &json!(-32602)), "{refused}");
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

/// Section 3.3.2: the code, and the reason in an ErrorInfo.
pub(super) fn assert_error(answer: &Value, code: i64, reason: &str) {
    let error = &answer["error"];
    assert_eq!(error["code"], code, "{answer}");
    let info = &error["data"][0];
    assert_eq!(info["@type"], "type.googleapis.com/google.rpc.ErrorInfo", "{answer}");
    assert_eq!((&info["reason"], &info["domain"]), (&json!(reason), &json!("a2a-protocol.org")), "{answer}");
}

#[tokio::test]
async fn a_message_is_a_task_that_is_read_again_over_both_bindings() {
    let (server, [nick]) = Server::with(["@nick.cc"]).await;
    let sent = message("m-1", "Hello", Value::Null);
    let answer = rpc(&nick, ECHO, "SendMessage", sent.clone()).await;
    let task = &answer["result"]["task"];
    assert_eq!(state(task), "TASK_STATE_COMPLETED", "{answer}");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "Hello", "{answer}");
    let id = task["id"].as_str().expect("an id");
    // Section 3.3.1: the same message is the same task only while that goes on.
    let again = rest(&post(&nick, &format!("{ECHO}/message:send"), &sent).await);
    assert_ne!(again["task"]["id"], id, "{again}");
    let read = rpc(&nick, ECHO, "GetTask", json!({"id": id})).await;
    let shown = rest(&get(&nick, &format!("{ECHO}/tasks/{id}")).await);
    assert_eq!(read["result"], shown);
    assert_eq!((state(&shown), &shown["contextId"]), ("TASK_STATE_COMPLETED", &task["contextId"]));
    // A task of somebody else is none.
    let ann = server.agent("@ann.cc").await;
    assert_error(&rpc(&ann, ECHO, "GetTask", json!({"id": id})).await, -32001, "TASK_NOT_FOUND");
    let listed = rpc(&ann, ECHO, "ListTasks", json!({})).await;
    let none = json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0});
    assert_eq!(listed["result"], none);
}

#[tokio::test]
async fn a_task_that_requires_input_is_answered_by_a_message_with_its_id() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let sent =
        message("m-1", "A form", json!({"metadata": {"demo": [{"wait_for_input": {"name": "Your name"}}]}}));
    let answer = rpc(&nick, ECHO, "SendMessage", sent).await;
    let task = &answer["result"]["task"];
    assert_eq!(state(task), "TASK_STATE_INPUT_REQUIRED", "{answer}");
    let asked = &task["status"]["message"];
    assert_eq!(
        (&asked["role"], &asked["parts"][0]["text"]),
        (&json!("ROLE_AGENT"), &json!("Your name")),
        "{answer}"
    );
    let id = &task["id"];
    let wrong = message("m-2", "Nick", json!({"taskId": id, "contextId": "another"}));
    assert_error(&rpc(&nick, ECHO, "SendMessage", wrong).await, -32602, "INVALID_PARAMS");
    let answered = rpc(&nick, ECHO, "SendMessage", message("m-3", "Nick", json!({"taskId": id}))).await;
    let done = &answered["result"]["task"];
    assert_eq!((&done["id"], state(done)), (id, "TASK_STATE_COMPLETED"), "{answered}");
    assert!(done["artifacts"].to_string().contains("Nick"), "{answered}");
    // Section 3.3.1: the same message is the same answer, also once the task is over.
    let again = rpc(&nick, ECHO, "SendMessage", message("m-3", "Nick", json!({"taskId": id}))).await;
    assert_eq!(again["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{again}");
    let more = message("m-4", "more", json!({"taskId": id}));
    assert_error(&rpc(&nick, ECHO, "SendMessage", more).await, -32004, "UNSUPPORTED_OPERATION");
}

#[tokio::test]
async fn a_task_is_canceled_once_and_pages_have_cursors() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let mut slow = message("m-1", "slow", json!({"metadata": {"demo": ["slow"]}}));
    slow["configuration"] = json!({"returnImmediately": true});
    let begun = rpc(&nick, ECHO, "SendMessage", slow).await;
    let id = begun["result"]["task"]["id"].as_str().expect("an id").to_owned();
    let canceled = rest(&post(&nick, &format!("{ECHO}/tasks/{id}:cancel"), &json!({})).await);
    assert_eq!(state(&canceled), "TASK_STATE_CANCELED", "{canceled}");
    assert_error(&rpc(&nick, ECHO, "CancelTask", json!({"id": id})).await, -32002, "TASK_NOT_CANCELABLE");
    assert_error(
        &rpc(&nick, ECHO, "SubscribeToTask", json!({"id": id})).await,
        -32004,
        "UNSUPPORTED_OPERATION",
    );
    for n in 2..5 {
        rpc(&nick, ECHO, "SendMessage", message(&format!("m-{n}"), "x", Value::Null)).await;
    }
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page =
            rpc(&nick, ECHO, "ListTasks", json!({"pageSize": 3, "pageToken": token})).await["result"].take();
        assert_eq!(page["totalSize"], 4, "{page}");
        for task in page["tasks"].as_array().expect("tasks") {
            assert_eq!(task.get("artifacts"), None, "left out unless asked for");
            seen.push(task["id"].as_str().expect("an id").to_owned());
        }
        token = page["nextPageToken"].as_str().expect("a token").to_owned();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!((seen.len(), seen.last()), (4, Some(&id)), "the oldest last: {seen:?}");
    let failed = rpc(&nick, ECHO, "ListTasks", json!({"status": "TASK_STATE_CANCELED"})).await;
    assert_eq!(failed["result"]["tasks"].as_array().map(Vec::len), Some(1), "{failed}");
    let wrong = rpc(&nick, ECHO, "ListTasks", json!({"pageSize": 101})).await;
    assert_error(&wrong, -32602, "INVALID_PARAMS");
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_its_end() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let sent = message("m-1", "a b", json!({"metadata": {"demo": ["deltas", "artifact"]}}));
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage", "params": sent});
    let answer = post(&nick, ECHO, &call).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")), "{answer}");
    let text = answer.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).expect("JSON")).collect();
    assert!(events.iter().all(|event| event["id"] == 7 && event["jsonrpc"] == "2.0"), "{text}");
    assert!(events[0]["result"]["task"]["id"].is_string(), "{text}");
    let last = &events.last().expect("an event")["result"]["statusUpdate"];
    assert_eq!(state(last), "TASK_STATE_COMPLETED", "{text}");
    let whole = events
        .iter()
        .map(|event| &event["result"]["artifactUpdate"])
        .find(|update| update["lastChunk"] == true && update["artifact"]["artifactId"] == "text-1");
    assert_eq!(whole.expect("the text")["artifact"]["parts"][0]["text"], "a b", "{text}");
    let file = events
        .iter()
        .map(|event| &event["result"]["artifactUpdate"]["artifact"])
        .find(|made| made["name"] == "echo.txt");
    assert_eq!(file.expect("the file")["parts"][0]["text"], "a b", "{text}");
}

#[tokio::test]
async fn an_agent_in_sessions_is_asked_in_one_and_its_message_is_the_end() {
    let (_server, [nick, ann]) = Server::with(["@nick.cc", "@ann.cc"]).await;
    let mut sent = message("m-1", "Are you there?", Value::Null);
    sent["configuration"] = json!({"returnImmediately": true});
    let begun = rpc(&nick, "/a2a/ann.cc", "SendMessage", sent).await["result"]["task"].take();
    assert_eq!(state(&begun), "TASK_STATE_SUBMITTED", "{begun}");
    let session = begun["contextId"].as_str().expect("a session").to_owned();
    ann.join(&session).await;
    let id = begun["id"].as_str().expect("an id");
    let working = rpc(&nick, "/a2a/ann.cc", "GetTask", json!({"id": id})).await;
    assert_eq!(state(&working["result"]), "TASK_STATE_WORKING", "{working}");
    ann.say(&session, "I am.").await;
    let done = rpc(&nick, "/a2a/ann.cc", "GetTask", json!({"id": id})).await;
    assert_eq!(state(&done["result"]), "TASK_STATE_COMPLETED", "{done}");
    assert_eq!(done["result"]["artifacts"][0]["parts"][0]["text"], "I am.", "{done}");
    let mut second = message("m-2", "And now?", json!({"contextId": session}));
    second["configuration"] = json!({"returnImmediately": true});
    let second = rpc(&nick, "/a2a/ann.cc", "SendMessage", second).await["result"]["task"].take();
    assert_eq!((&second["contextId"], state(&second)), (&json!(session), "TASK_STATE_WORKING"), "{second}");
    let canceled = rpc(&nick, "/a2a/ann.cc", "CancelTask", json!({"id": second["id"]})).await;
    assert_eq!(state(&canceled["result"]), "TASK_STATE_CANCELED", "{canceled}");
    assert_eq!(ann.show(&session).await["state"], "ended");
}

#[tokio::test]
async fn a_message_in_a_context_that_the_agent_has_left_is_rejected() {
    let (_server, [nick, ann]) = Server::with(["@nick.cc", "@ann.cc"]).await;
    let mut sent = message("m-1", "Are you there?", Value::Null);
    sent["configuration"] = json!({"returnImmediately": true});
    let begun = rpc(&nick, "/a2a/ann.cc", "SendMessage", sent).await["result"]["task"].take();
    let session = begun["contextId"].as_str().expect("a session").to_owned();
    ann.join(&session).await;
    ann.post(&format!("/sessions/{session}/leave"), json!({})).await.ok(200);
    let rejected = rpc(&nick, "/a2a/ann.cc", "GetTask", json!({"id": begun["id"]})).await;
    assert_eq!(state(&rejected["result"]), "TASK_STATE_REJECTED", "{rejected}");
    // It would be waited for without an end.
    let again = message("m-2", "And now?", json!({"contextId": session}));
    let again = rpc(&nick, "/a2a/ann.cc", "SendMessage", again).await;
    assert_eq!(state(&again["result"]["task"]), "TASK_STATE_REJECTED", "{again}");
}

#[tokio::test]
async fn a_task_whose_caller_is_blocked_or_leaves_is_canceled() {
    let (server, [nick, ann]) = Server::with(["@nick.cc", "@ann.cc"]).await;
    let sent = message("m-1", "Are you there?", Value::Null);
    let block = async {
        let asked = async || (ann.get("/inbox").await.ok(200)["items"] != json!([])).then_some(());
        eventually("it is asked", asked).await;
        server.block(&ann, "@nick.cc").await;
    };
    let (canceled, ()) = tokio::join!(rpc(&nick, "/a2a/ann.cc", "SendMessage", sent), block);
    assert_eq!(state(&canceled["result"]["task"]), "TASK_STATE_CANCELED", "{canceled}");
    server.agent("@pia.cc").await;
    let mut sent = message("m-2", "And you?", Value::Null);
    sent["configuration"] = json!({"returnImmediately": true});
    let begun = rpc(&nick, "/a2a/pia.cc", "SendMessage", sent).await["result"]["task"].take();
    nick.leave(begun["contextId"].as_str().expect("a session")).await;
    let canceled = rpc(&nick, "/a2a/pia.cc", "GetTask", json!({"id": begun["id"]})).await;
    assert_eq!(state(&canceled["result"]), "TASK_STATE_CANCELED", "{canceled}");
}

#[tokio::test]
async fn what_cannot_be_read_has_the_codes_of_the_specification() {
    let (_server, [nick]) = Server::with(["@nick.cc"]).await;
    let raw = |body: &'static str| {
        let nick = &nick;
        async move { nick.bytes(&nick.request("POST", ECHO, &[VERSION], Some(body.as_bytes()))).await.ok(200) }
    };
    assert_error(&raw("{").await, -32700, "PARSE_ERROR");
    assert_error(&raw("[]").await, -32600, "INVALID_REQUEST");
    assert_error(&raw(r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#).await, -32600, "INVALID_REQUEST");
    assert_error(&raw(r#"{"jsonrpc":"2.0","id":1,"method":"Nothing"}"#).await, -32601, "METHOD_NOT_FOUND");
    assert_error(
        &raw(r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}"#).await,
        -32602,
        "INVALID_PARAMS",
    );
    let empty = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}});
    assert_error(&rpc(&nick, ECHO, "SendMessage", empty).await, -32602, "INVALID_PARAMS");
    // Section 3.6: whoever says nothing speaks 0.3.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"});
    assert_error(&nick.post(ECHO, call).await.ok(200), -32009, "VERSION_NOT_SUPPORTED");
    // AIP-193.
    let missing = get(&nick, &format!("{ECHO}/tasks/none")).await;
    let error = missing.json()["error"].take();
    assert_eq!(
        (missing.status, &error["code"], &error["status"]),
        (404, &json!(404), &json!("NOT_FOUND")),
        "{missing}"
    );
    assert_eq!(error["details"][0]["reason"], "TASK_NOT_FOUND", "{missing}");
}

#[tokio::test]
async fn a_card_is_for_those_who_may_ask_and_a_public_one_for_all() {
    let server = Server::builder().config("[a2a]\nagent = \"@nick.shown\"\n").start().await;
    let nick = server.agent("@nick.cc").await;
    let public =
        json!({"handle": "@nick.shown", "visibility": "public", "display_name": "Shown", "policy": "open"});
    server.operator().post("/_admin/agents", public).await.ok(201);
    let card = nick.get("/a2a/plenary.echo/.well-known/agent-card.json").await.ok(200);
    let url = format!("{}/a2a/plenary.echo", server.url());
    for (n, binding) in ["JSONRPC", "HTTP+JSON"].into_iter().enumerate() {
        let interface = json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"});
        assert_eq!(card["supportedInterfaces"][n], interface, "{card}");
    }
    let grpc = json!({"url": server.url(), "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "plenary.echo"});
    assert_eq!(card["supportedInterfaces"][2], grpc, "{card}");
    for required in [
        "name",
        "description",
        "version",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
    ] {
        assert!(!card[required].is_null(), "{required}: {card}");
    }
    let nobody = Caller::new(server.address().clone(), None);
    let shown = nobody.get("/a2a/nick.shown/.well-known/agent-card.json").await.ok(200);
    assert_eq!(shown["name"], "Shown");
    let unsigned = |mut card: Value| {
        card.as_object_mut().expect("an object").remove("signatures").expect("it is signed");
        card
    };
    // No two signatures by one key are alike.
    let own = nobody.get("/.well-known/agent-card.json").await.ok(200);
    assert_eq!(unsigned(own), unsigned(shown));
    server.closed_agent("@nick.no1", &[]).await;
    let hidden = nobody.get("/a2a/nick.no1/.well-known/agent-card.json").await;
    let absent = nobody.get("/a2a/nick.no2/.well-known/agent-card.json").await;
    assert_eq!((hidden.status, hidden.text()), (401, absent.text()));
    let ann = server.agent("@ann.cc").await;
    let hidden = ann.get("/a2a/nick.no1/.well-known/agent-card.json").await;
    let absent = ann.get("/a2a/nick.no2/.well-known/agent-card.json").await;
    assert_eq!((hidden.status, hidden.text()), (404, absent.text()));
    // Section 8.4: the signature names its key, which everybody can read.
    let keys = nobody.get("/.well-known/jwks.json").await.ok(200);
    let head = card["signatures"][0]["protected"].as_str().expect("a protected header");
    let head = URL_SAFE_NO_PAD.decode(head).expect("base64url");
    let head: Value = serde_json::from_slice(&head).expect("JSON");
    assert_eq!((&head["alg"], &head["kid"]), (&json!("ES256"), &keys["keys"][0]["kid"]));
    assert_eq!(head["jku"], format!("{}/.well-known/jwks.json", server.url()));
    assert!(keys["keys"][0].get("d").is_none(), "the private half stays here");
    let extended = rest(&get(&nick, &format!("{ECHO}/extendedAgentCard")).await);
    assert_eq!(extended["supportedInterfaces"], card["supportedInterfaces"]);
    assert!(extended["signatures"][0]["signature"].is_string(), "{extended}");
}
