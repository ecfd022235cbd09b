//! What the dashboards of agentic-framework call, in raw JSON. The dashboards themselves walk the same in `tests/a2a`.
//! Must not know: how a run is carried out.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use blackbox::{Agent, Response, Server};
use serde_json::{Value, json};

async fn served() -> (Server, Agent) {
    let (server, [nick]) = Server::with(["@nick.cc"]).await;
    (server, nick)
}

fn basic(token: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("me:{token}")))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn types(events: &Value) -> Vec<String> {
    events.as_array().expect("a list").iter().map(|event| text(&event["type"]).to_owned()).collect()
}

/// The data of a stream.
fn data(answer: &Response) -> Vec<Value> {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")), "{answer}");
    let text = answer.text();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

#[tokio::test]
async fn a_prompt_is_a_run_and_its_events_have_their_names() {
    let (_server, nick) = served().await;
    let prompt = json!({"prompt": "Hello", "thread_id": "NEW", "debug": "tools"});
    let begun = nick.post("/agent/echo/process", prompt).await.ok(200);
    let (request, thread) = (text(&begun["request_id"]), text(&begun["thread_id"]));
    let path = format!("/agent/echo/getevents?request_id={request}");
    let events = nick.get(&path).await.ok(200);
    assert_eq!(types(&events), ["prompt_started", "chat_output", "turn_end"], "{events}");
    let started =
        json!({"type": "prompt_started", "agent": "echo", "depth": 0, "payload": {"content": "Hello"}});
    assert_eq!(events[0], started);
    assert_eq!(events[1]["payload"], json!({"content": "Hello", "role": "assistant"}));
    assert_eq!(events[2]["payload"]["messages"][0]["content"], "Hello");
    // Nothing is consumed, and the stream has the same.
    let streamed = nick.get(&format!("{path}&stream=true")).await;
    assert!(streamed.text().starts_with("event: message\ndata: "), "{streamed}");
    assert_eq!(Value::from(data(&streamed)), events);
    assert_eq!(nick.get(&path).await.ok(200), events);
    let run = nick.get(&format!("/agent/echo/runs/{request}")).await.ok(200);
    assert_eq!(
        (&run["request"]["input"], &run["request"]["logging_level"]),
        (&json!("Hello"), &json!("tools"))
    );

    let next = nick.post("/agent/echo/process", json!({"prompt": "More", "thread_id": thread})).await.ok(200);
    assert_eq!(next["thread_id"], thread);
    nick.get(&format!("/agent/echo/getevents?request_id={}", text(&next["request_id"]))).await.ok(200);
    let logs = nick.get(&format!("/agent/echo/threads/{thread}/logs")).await.ok(200);
    let prompts: Vec<_> =
        logs.as_array().expect("a list").iter().filter(|log| log["event_name"] == "prompt_started").collect();
    assert_eq!(
        prompts.iter().map(|log| text(&log["event"]["content"])).collect::<Vec<_>>(),
        ["Hello", "More"]
    );
    assert_eq!((&logs[0]["user_id"], &logs[0]["agent_id"]), (&json!("@nick.cc"), &json!("echo")), "{logs}");
    let listed = nick.get("/agent/echo/threads").await.ok(200);
    assert_eq!((&listed[0]["initial_prompt"], &listed[0]["user_id"]), (&json!("Hello"), &json!("@nick.cc")));
    let reset = nick.post_empty("/agent/echo/reset").await.ok(200);
    assert_eq!(reset["status"], "success");
    assert_eq!(nick.get("/agent/echo/threads").await.ok(200), listed, "nothing is removed");
}

#[tokio::test]
async fn an_answer_continues_the_run_behind_its_question() {
    let (_server, nick) = served().await;
    let asks = r#"{"demo": [{"wait_for_input": {"name": "Who?"}}, {"wait_for_input": {"age": "How old?"}}]}"#;
    let begun = nick.post("/agent/echo/process", json!({"prompt": asks})).await.ok(200);
    let thread = text(&begun["thread_id"]).to_owned();
    let turn = |request: String| {
        let nick = &nick;
        async move { data(&nick.get(&format!("/agent/echo/getevents?request_id={request}&stream=true")).await) }
    };
    let question = turn(text(&begun["request_id"]).to_owned()).await;
    assert_eq!(question.last().expect("an event")["payload"], json!({"name": "Who?"}), "{question:?}");
    let answer = |key: &str, value: &str| json!({"continue_result": {key: value}, "thread_id": thread});
    let resumed = nick.post("/agent/echo/resume", answer("name", "Nick")).await.ok(200);
    let second = turn(text(&resumed["request_id"]).to_owned()).await;
    assert_eq!(
        (&second[0]["type"], &second[0]["payload"]),
        (&json!("resume_with_input"), &json!({"name": "Nick"}))
    );
    assert_eq!(second.last().expect("an event")["payload"], json!({"age": "How old?"}), "{second:?}");
    let ended = nick.post("/agent/echo/resume", answer("age", "7")).await.ok(200);
    let third =
        nick.get(&format!("/agent/echo/getevents?request_id={}", text(&ended["request_id"]))).await.ok(200);
    assert_eq!(types(&third).last().map(String::as_str), Some("turn_end"), "{third}");
    let over = nick.post("/agent/echo/resume", answer("age", "8")).await;
    assert_eq!((over.status, &over.json()["code"]), (409, &json!("run_not_active")), "{over}");
}

#[tokio::test]
async fn a_streamed_prompt_is_text_and_other_requests_stay_as_they_are() {
    let (_server, nick) = served().await;
    let answer = nick.post("/agent/echo/stream_request", json!({"prompt": "a\nb"})).await;
    let said = answer.text();
    assert!(said.contains("data: a\ndata: b\n\n") && said.contains("data: [echo: turn_end]"), "{answer}");
    assert!(answer.header("x-run-id").is_some(), "{answer}");
    let typed = nick.post("/agent/echo/stream_request", json!({"input": "x", "prompt": "y"})).await;
    assert!(typed.text().contains("event: RunStarted"), "{typed}");
    // A prompt begins a thread: one for a thread that exists is refused, not answered elsewhere.
    let threaded = nick.post("/agent/echo/stream_request", json!({"prompt": "a", "thread_id": "t"})).await;
    assert_eq!(
        (threaded.status, &threaded.json()["code"]),
        (422, &json!("unknown_request_type")),
        "{threaded}"
    );
    let neither = nick.post("/agent/echo/stream_request", json!({"prompt": 7})).await;
    assert_eq!((neither.status, &neither.json()["code"]), (422, &json!("unknown_request_type")), "{neither}");
}

#[tokio::test]
async fn a_token_may_be_a_password_but_not_of_a_browser() {
    let (server, nick) = served().await;
    let token = nick.token();
    let stranger = server.stranger();
    let password = basic(token);
    let sent = [("Authorization", password.as_str())];
    let login = stranger.call("POST", "/login", &sent, None).await;
    assert_eq!(login.ok(200), json!({"token": token}));
    assert_eq!(nick.post_empty("/login").await.ok(200), json!({"token": token}));
    for (path, method) in
        [("/_discovery", "GET"), ("/agent/echo/threads", "GET"), ("/agent/echo/reset", "POST")]
    {
        assert_eq!(stranger.call(method, path, &sent, None).await.status, 200, "{path}");
        let page = [sent[0], ("Origin", "http://127.0.0.1:3000")];
        assert_eq!(stranger.call(method, path, &page, None).await.status, 401, "{path}");
    }
    let page = [sent[0], ("Origin", "http://127.0.0.1:3000")];
    let login = stranger.call("POST", "/login", &page, None).await;
    assert_eq!((login.status, login.header("access-control-allow-origin")), (200, Some("*")), "{login}");
    let wrong = basic("pla_wrong");
    for refused in [
        stranger.post_empty("/login").await,
        stranger.call("POST", "/login", &[("Authorization", wrong.as_str())], None).await,
    ] {
        assert_eq!(refused.status, 401, "{refused}");
        let asks = refused.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
        assert!(asks.into_iter().any(|(_, value)| value.starts_with("Basic ")), "{refused}");
    }
}

/// What is missing or wrong in a query is named, and a token as a password opens the streams and artifacts of runs too.
#[tokio::test]
async fn queries_and_passwords_are_read_alike_on_every_path() {
    let (server, nick) = served().await;
    let answer = nick.get("/agent/echo/getevents").await;
    assert_eq!((answer.status, &answer.json()["code"]), (422, &json!("missing_request_id")), "{answer}");
    let begun = nick.post("/agent/echo/process", json!({"prompt": "Hello"})).await.ok(200);
    let (request, thread) = (text(&begun["request_id"]), text(&begun["thread_id"]));
    let answer = nick.get(&format!("/agent/echo/threads/{thread}/logs?after=x")).await;
    assert_eq!((answer.status, &answer.json()["code"]), (422, &json!("invalid_query")), "{answer}");
    assert!(text(&answer.json()["detail"]).contains("integer"), "{answer}");
    let anyone = server.stranger();
    let password = basic(nick.token());
    for (path, expected) in [
        (format!("/agent/echo/get_events/{request}?stream=true"), 200),
        (format!("/agent/echo/get_events/{request}?since=0"), 200),
        ("/artifacts/00000000-0000-4000-8000-000000000000".to_owned(), 404),
    ] {
        assert_eq!(anyone.get(&path).await.status, 401, "{path}");
        let answer = anyone.call("GET", &path, &[("Authorization", &password)], None).await;
        assert_eq!(answer.status, expected, "{path}: {answer}");
    }
    let json = nick.call("GET", "/", &[("Accept", "application/json")], None).await;
    assert!(
        json.header("vary").is_some_and(|vary| vary.contains("Accept")),
        "a browser gets a page there: {json}"
    );
}
