//! The API of LangGraph over the agents of the server: raw JSON. LangGraph's own client walks the same in `tests/a2a`.
//! Must not know: how a run is carried out.

use blackbox::{Agent, Connection, Response, Server, eventually};
use futures_util::future::join_all;
use serde_json::{Value, json};

async fn served() -> (Server, Agent) {
    let (server, [nick]) = Server::with(["@nick.cc"]).await;
    (server, nick)
}

fn user(text: &str) -> Value {
    json!({"assistant_id": "echo", "input": {"messages": [{"role": "user", "content": text}]}})
}

fn contents(values: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = values["messages"].as_array().expect("messages").iter();
    messages.map(|message| (text(&message["type"]), text(&message["content"]))).collect()
}

fn said(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

/// The names and the data of a stream.
fn events(answer: &Response) -> Vec<(String, Value)> {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")), "{answer}");
    let mut events: Vec<(String, Value)> = Vec::new();
    let mut name = String::new();
    for line in answer.text().lines() {
        if let Some(event) = line.strip_prefix("event: ") {
            name = event.to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            events.push((name.clone(), serde_json::from_str(data).expect("JSON")));
        }
    }
    events
}

fn refused(answer: &Response, status: u16, code: &str) {
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (status, &json!(code)), "{answer}");
    assert!(body["detail"].is_string(), "{answer}");
}

/// With a key a repeated request is the same run.
#[tokio::test]
async fn a_request_with_a_key_is_one_run() {
    let (_server, nick) = served().await;
    for path in ["/langgraph/runs", "/langgraph/runs/wait", "/langgraph/runs/stream"] {
        let key = path.replace('/', "-");
        let post = async |text: &str| {
            nick.call("POST", path, &[("Idempotency-Key", &*key)], Some(&user(text))).await
        };
        let (first, again) = (post("Hello").await, post("Hello").await);
        assert_eq!((first.status, again.status), (200, 200), "{again}");
        assert_eq!(first.header("content-location"), again.header("content-location"), "{path}");
        assert_eq!((first.is_replayed(), again.is_replayed()), (false, true), "{path}");
        refused(&post("Other").await, 409, "idempotency_key_reused");
    }
}

#[tokio::test]
async fn a_thread_has_the_messages_of_its_runs() {
    let (_server, nick) = served().await;
    let found = nick.post("/langgraph/assistants/search", json!({"graph_id": "echo"})).await.ok(200);
    assert_eq!(found[0]["assistant_id"], "echo", "{found}");
    let thread = nick.post("/langgraph/threads", json!({})).await.ok(200);
    let thread = format!("/langgraph/threads/{}", thread["thread_id"].as_str().expect("an id"));
    refused(&nick.get(&thread).await, 404, "thread_not_found");
    let answer = nick.post(&format!("{thread}/runs/wait"), user("Hello")).await;
    assert!(
        answer.header("content-location").is_some_and(|place| place.starts_with("/threads/")),
        "{answer}"
    );
    assert_eq!(contents(&answer.ok(200)), [said("human", "Hello"), said("ai", "Hello")]);
    nick.post(&format!("{thread}/runs/wait"), user("More")).await.ok(200);
    let state = nick.get(&format!("{thread}/state")).await.ok(200);
    assert_eq!(contents(&state["values"]).len(), 4, "{state}");
    let history = nick.post(&format!("{thread}/history"), json!({"limit": 1})).await.ok(200);
    assert_eq!((history[0]["values"].clone(), history[1].clone()), (state["values"].clone(), Value::Null));
    let runs = nick.get(&format!("{thread}/runs?limit=1&offset=1")).await.ok(200);
    assert_eq!((&runs[0]["status"], runs.as_array().map(Vec::len)), (&json!("success"), Some(1)), "{runs}");
    let shown = nick.get(&thread).await.ok(200);
    assert_eq!((&shown["status"], &shown["values"]), (&json!("idle"), &state["values"]), "{shown}");
}

/// A state has at most 8 MiB of messages, and the same holds for all states of one answer.
#[tokio::test]
async fn a_state_has_the_last_messages_that_fit() {
    let (_server, nick) = served().await;
    let thread = nick.post("/langgraph/threads", json!({})).await.ok(200);
    let thread = format!("/langgraph/threads/{}", thread["thread_id"].as_str().expect("an id"));
    for run in ["a", "b", "c", "d", "e", "f"] {
        // Echo repeats it, so the messages of a run have nearly 1.8 MB.
        nick.post(&format!("{thread}/runs/wait"), user(&run.repeat(900_000))).await.ok(200);
    }
    let starts = |values: &Value| -> Vec<String> {
        contents(values).iter().map(|(role, text)| format!("{role} {}", &text[..1])).collect()
    };
    let state = nick.get(&format!("{thread}/state")).await.ok(200);
    let expected = ["human c", "ai c", "human d", "ai d", "human e", "ai e", "human f", "ai f"];
    assert_eq!(starts(&state["values"]), expected);
    let history = nick.post(&format!("{thread}/history"), json!({"limit": 10})).await.ok(200);
    let history = history.as_array().expect("states");
    assert_eq!((history.len(), starts(&history[0]["values"])), (1, expected.map(str::to_owned).to_vec()));
}

#[tokio::test]
async fn a_run_is_told_in_the_modes_that_are_asked_for() {
    let (_server, nick) = served().await;
    let mut body = user(r#"{"demo": ["deltas", "tool_call"]}"#);
    body["stream_mode"] = json!(["values", "updates", "messages-tuple", "custom"]);
    let answer = nick.post("/langgraph/runs/stream", body).await;
    assert!(
        answer.header("location").is_some_and(|place| place.contains("/stream?stream_mode=values&")),
        "{answer}"
    );
    let told = events(&answer);
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names[0], names[1], names[names.len() - 1]), ("metadata", "values", "end"), "{names:?}");
    for name in ["custom", "messages", "updates"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let values = &told.iter().rfind(|(name, _)| name == "values").expect("values").1;
    let chunks = told.iter().filter(|(name, _)| name == "messages");
    let text: String = chunks.filter_map(|(_, data)| data[0]["content"].as_str()).collect();
    assert_eq!(contents(values)[1], said("ai", &text), "{values}");
    // What was told before an event is not told again.
    let run = told[0].1["run_id"].as_str().expect("a run");
    let place = format!(
        "/langgraph/threads/{}/runs/{run}/stream?stream_mode=custom",
        told[0].1["thread_id"].as_str().expect("a thread")
    );
    let rest = events(&nick.call("GET", &place, &[("Last-Event-ID", "1")], None).await);
    let ids: Vec<_> =
        rest.iter().filter(|(name, _)| name == "custom").map(|(_, data)| data["id"].clone()).collect();
    assert_eq!(ids.first(), Some(&json!(2)), "{rest:?}");
    // Whoever has the last event gets the end that follows it.
    let last = ids.last().expect("an event").to_string();
    for (mode, names) in [
        ("custom", vec!["metadata", "end"]),
        ("messages-tuple", vec!["metadata", "end"]),
        ("values", vec!["metadata", "values", "end"]),
        ("&cancel_on_disconnect=", vec!["metadata", "values", "end"]),
    ] {
        let place = place.replace("=custom", &format!("={mode}"));
        let rest = events(&nick.call("GET", &place, &[("Last-Event-ID", &last)], None).await);
        let told: Vec<_> = rest.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(told, names, "{mode}");
    }
    let beyond = (last.parse::<u64>().expect("a number") + 1).to_string();
    refused(&nick.call("GET", &place, &[("Last-Event-ID", &beyond)], None).await, 422, "invalid_since");
}

#[tokio::test]
async fn a_question_is_an_interrupt_and_its_answer_resumes_the_run() {
    let (_server, nick) = served().await;
    let thread = "/langgraph/threads/0198c0de-0000-4000-8000-000000000001";
    let asks = user(r#"{"demo": [{"wait_for_input": {"name": "Who?"}}]}"#);
    let waits = nick.post(&format!("{thread}/runs/wait"), asks).await.ok(200);
    assert_eq!(waits["__interrupt__"][0]["value"], json!({"name": "Who?"}), "{waits}");
    let runs = nick.get(&format!("{thread}/runs")).await.ok(200);
    let place =
        format!("{thread}/runs/{}/stream?stream_mode=custom", runs[0]["run_id"].as_str().expect("a run"));
    let asked = events(&nick.get(&place).await);
    let question = asked[asked.len() - 2].1["id"].to_string();
    let rest = events(&nick.call("GET", &place, &[("Last-Event-ID", &question)], None).await);
    let names: Vec<_> = rest.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["metadata", "end"], "whoever has the question gets the end that follows it");
    let state = nick.get(&format!("{thread}/state")).await.ok(200);
    assert_eq!(
        (&state["next"], &state["interrupts"]),
        (&json!(["echo"]), &waits["__interrupt__"]),
        "{state}"
    );
    let answer = json!({"assistant_id": "echo", "command": {"resume": "Nick"}, "stream_mode": "values"});
    let told = events(&nick.post(&format!("{thread}/runs/stream"), answer.clone()).await);
    let last = &told.iter().rfind(|(name, _)| name == "values").expect("values").1;
    assert!(contents(last)[1].1.contains("Nick"), "{last}");
    // The stream of the whole run ends with the run, and not with the question that has its answer.
    let run =
        nick.get(&format!("{thread}/runs")).await.ok(200)[0]["run_id"].as_str().expect("a run").to_owned();
    let whole = events(&nick.get(&format!("{thread}/runs/{run}/stream?stream_mode=custom")).await);
    assert_eq!(whole[whole.len() - 2].1["type"], "RunCompleted", "{whole:?}");
    let joined = nick.get(&format!("{thread}/runs/{run}/join")).await.ok(200);
    assert_eq!(&joined, last);
    refused(&nick.post(&format!("{thread}/runs/wait"), answer).await, 409, "run_not_active");
}

#[tokio::test]
async fn what_means_nothing_here_is_refused_in_the_form_of_the_api() {
    let (server, nick) = served().await;
    let mut body = user("x");
    body["webhook"] = json!("https://example.org/hook");
    refused(&nick.post("/langgraph/runs/wait", body).await, 422, "not_supported");
    refused(&nick.post("/langgraph/runs/wait", json!({"assistant_id": "echo"})).await, 422, "invalid_value");
    for (path, name, value) in [
        ("threads", "thread_id", json!(5)),
        ("threads", "if_exists", json!("zz")),
        ("threads", "metadata", json!(5)),
        ("threads/search", "status", json!("zz")),
        ("threads/search", "sort_by", json!("zz")),
        ("threads/search", "sort_order", json!("zz")),
        ("runs/wait", "config", json!(5)),
        ("runs/wait", "metadata", json!([])),
        ("runs/wait", "if_not_exists", json!(5)),
    ] {
        let mut body = user("x");
        body[name] = value;
        refused(&nick.post(&format!("/langgraph/{path}"), body).await, 422, "invalid_value");
    }
    refused(&nick.post("/langgraph/threads", json!([])).await, 422, "invalid_value");
    let none = nick.post("/langgraph/assistants/search", json!({"limit": 0})).await;
    assert_eq!((none.status, none.header("x-pagination-next")), (200, None));
    refused(
        &nick.post("/langgraph/runs", json!({"assistant_id": "nobody", "input": "x"})).await,
        404,
        "assistant_not_found",
    );
    refused(&nick.post_raw("/langgraph/runs", b"{").await, 400, "invalid_json");
    refused(&nick.get("/langgraph/store/items").await, 404, "not_found");
    refused(&nick.get("/langgraph").await, 404, "not_found");
    refused(&nick.delete("/langgraph/threads/x").await, 405, "method_not_allowed");
    refused(&server.stranger().get("/langgraph/info").await, 401, "invalid_authorization");
    let key = [("X-Api-Key", nick.token())];
    assert_eq!(server.stranger().call("GET", "/langgraph/assistants/echo", &key, None).await.status, 200);
    assert_eq!(nick.get("/agent/echo/threads").await.ok(200), json!([]), "nothing was begun");
}

/// A stream that continues after an event says the same as the rest of one from the start.
#[tokio::test]
async fn a_resumed_stream_continues_the_text() {
    let (_server, nick) = served().await;
    let thread = "/langgraph/threads/0198c0de-0000-4000-8000-000000000002";
    let asks = user(r#"{"demo": [{"wait_for_input": {"name": "Who?"}}]}"#);
    nick.post(&format!("{thread}/runs/wait"), asks).await.ok(200);
    let answer = json!({"assistant_id": "echo", "command": {"resume": "Nick"}});
    let values = nick.post(&format!("{thread}/runs/wait"), answer).await.ok(200);
    let text = contents(&values)[1].1.clone();
    let runs = nick.get(&format!("{thread}/runs")).await.ok(200);
    let place = format!("{thread}/runs/{}/stream?stream_mode=", runs[0]["run_id"].as_str().expect("a run"));
    let after = async |mode: &str, id: &str| {
        events(&nick.call("GET", &format!("{place}{mode}"), &[("Last-Event-ID", id)], None).await)
    };
    let custom = after("custom", "-1").await;
    let all: Vec<&Value> = custom.iter().filter(|(name, _)| name == "custom").map(|(_, data)| data).collect();
    assert_eq!((all.len(), &all[0]["id"]), (5, &json!(1)), "-1 is the start: {custom:?}");
    let mut said = String::new();
    for event in all {
        if event["type"] == "TextOutput" {
            said.push_str(event["content"].as_str().expect("a text"));
        }
        let id = event["id"].to_string();
        let tuples = after("messages-tuple", &id).await;
        let chunks = tuples.iter().filter(|(name, _)| name == "messages");
        let rest: String = chunks.filter_map(|(_, data)| data[0]["content"].as_str()).collect();
        assert_eq!(format!("{said}{rest}"), text, "after {id}");
        let partial = after("messages", &id).await;
        let partial = partial.iter().find(|(name, _)| name == "messages/partial");
        if let Some((_, data)) = partial {
            let so_far = data[0]["content"].as_str().expect("a text");
            assert!(so_far.starts_with(&*said) && text.starts_with(so_far), "after {id}: {so_far}");
        }
    }
}

/// The SDK reads the state of a checkpoint by its object.
#[tokio::test]
async fn a_state_is_read_by_its_checkpoint() {
    let (_server, nick) = served().await;
    let thread = "/langgraph/threads/0198c0de-0000-4000-8000-000000000003";
    for text in ["one", "two"] {
        nick.post(&format!("{thread}/runs/wait"), user(text)).await.ok(200);
    }
    let history = nick.post(&format!("{thread}/history"), json!({})).await.ok(200);
    let at = async |checkpoint: &Value| {
        nick.post(&format!("{thread}/state/checkpoint"), json!({"checkpoint": checkpoint})).await
    };
    for state in [&history[0], &history[1]] {
        let read = at(&state["checkpoint"]).await.ok(200);
        assert_eq!((&read["values"], &read["checkpoint"]), (&state["values"], &state["checkpoint"]));
    }
    let latest = at(&json!({"checkpoint_ns": ""})).await.ok(200);
    assert_eq!(latest["values"], history[0]["values"]);
    refused(&at(&json!({"checkpoint_id": "run_0"})).await, 404, "checkpoint_not_found");
    refused(&at(&json!("run_0")).await, 422, "invalid_value");
    let history =
        nick.post(&format!("{thread}/history"), json!({"checkpoint": {"checkpoint_ns": "a"}})).await;
    refused(&history, 422, "not_supported");
}

/// A stream that is being read.
struct RunReader(Connection, Response);

impl RunReader {
    /// Begins a run that does not end by itself, and follows it.
    async fn begin(server: &Server, nick: &Agent, thread: &str) -> Self {
        let slow = json!({"demo": ["slow"]}).to_string();
        let body = json!({"assistant_id": "echo", "input": slow});
        let run = nick.post(&format!("/langgraph/threads/{thread}/runs"), body).await.ok(200);
        let run = run["run_id"].as_str().expect("an id");
        let path = format!("/langgraph/threads/{thread}/runs/{run}/stream?stream_mode=values");
        let mut connection = Connection::open(server.address().place()).await.expect("the server is there");
        connection.send(&nick.request("GET", &path, &[], None)).await.expect("it takes the request");
        let head = connection.response_head().await.expect("an answer");
        Self(connection, head)
    }

    /// The names of its events, once it has ended.
    async fn ended(mut self) -> Vec<String> {
        let answer = self.0.complete(self.1).await.expect("a whole answer");
        events(&answer).into_iter().map(|(name, _)| name).collect()
    }
}

async fn new_thread(nick: &Agent) -> String {
    let thread = nick.post("/langgraph/threads", json!({})).await.ok(200);
    thread["thread_id"].as_str().expect("an id").to_owned()
}

/// The SDKs follow a run further after neither `end` nor `error`: a run that a stopping server ends has them, one that it
/// has not begun does not.
#[tokio::test]
async fn streams_of_a_stopping_server_say_which_runs_are_over() {
    let (mut server, nick) = served().await;
    let thread = new_thread(&nick).await;
    let active = RunReader::begin(&server, &nick, &thread).await;
    let queued = RunReader::begin(&server, &nick, &thread).await;
    server.stop().await;
    assert_eq!(active.ended().await, ["metadata", "values", "values", "error", "end"]);
    assert_eq!(queued.ended().await, ["metadata", "values"]);
}

/// The SDKs would ask for the run of a stream that broke off, and end without a word if they may not.
#[tokio::test]
async fn a_stream_whose_token_is_revoked_ends_with_an_error() {
    let (server, nick) = served().await;
    let reader = RunReader::begin(&server, &nick, &new_thread(&nick).await).await;
    let rotate = format!("/_admin/agents/{}/rotate-token", nick.handle);
    server.operator().post_empty(&rotate).await.ok(200);
    assert_eq!(reader.ended().await, ["metadata", "values", "error"]);
}

/// The answers of an owner have a share of memory: requests that read inside of others do not wait for each other's part, and
/// those that wait for a run take nothing from the rest.
#[tokio::test]
async fn many_requests_at_once_are_answered() {
    let (server, nick) = served().await;
    let begun = (0..24).map(|_| nick.post("/langgraph/runs/wait", user("Hello")));
    for answer in join_all(begun).await {
        assert_eq!(answer.status, 200, "{answer}");
    }
    let listed = (0..24).map(|_| nick.post("/langgraph/threads/search", json!({"limit": 1})));
    for answer in join_all(listed).await {
        assert_eq!(answer.status, 200, "{answer}");
    }
    let slow = json!({"assistant_id": "echo", "input": json!({"demo": ["slow"]}).to_string()}).to_string();
    let request = nick.request("POST", "/langgraph/runs/wait", &[], Some(slow.as_bytes()));
    let mut waiting = Vec::new();
    for _ in 0..9 {
        let mut connection = Connection::open(server.address().place()).await.expect("the server is there");
        connection.send(&request).await.expect("it takes the request");
        waiting.push(connection);
    }
    eventually("all of them wait", || async {
        let busy = nick.post("/langgraph/threads/count", json!({"status": "busy"})).await;
        (busy.ok(200) == 9).then_some(())
    })
    .await;
    nick.get("/sessions").await.ok(200);
}
