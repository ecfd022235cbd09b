//! Agents, requests and events as these tests write them, and what must hold of every list of events.
//! Must not know: what the single tests are about.

use std::path::PathBuf;

use blackbox::{Agent, Caller, Response, Server, TempDir, assert_keys, eventually};
use serde_json::{Map, Value, json};

use super::sse::Events;

/// The owner of the agents of most tests.
pub(super) const OWNER: &str = "acme";
/// The agent that gives back what it gets.
pub(super) const ECHO: &str = "echo";
/// The agent that does what the lines of its input say.
pub(super) const PUPPET: &str = "puppet";

/// What every event has (4.1).
const BASE: [&str; 7] = ["id", "run_id", "thread_id", "agent", "type", "role", "depth"];
const ROLES: [&str; 4] = ["system", "assistant", "user", "tool"];

/// An agent's table in the configuration, with further lines. Whoever wants may run it, unless the lines say otherwise;
/// of one that attaches itself its account says who may.
pub(super) fn hosted(name: &str, lines: &str) -> String {
    let is_set = lines.contains("\"connected\"") || lines.contains("policy = ");
    let policy = if is_set { "" } else { "policy = \"open\"\n" };
    format!("[agents.{name}]\nowner = \"{OWNER}\"\n{policy}{lines}\n")
}

/// The same, and nothing is said of who may run it.
pub(super) fn guarded(name: &str, lines: &str) -> String {
    format!("[agents.{name}]\nowner = \"{OWNER}\"\n{lines}\n")
}

/// The lines of an agent that is the scripted program, with these arguments.
pub(super) fn puppet(args: &[&str]) -> String {
    let mut command = vec![env!("CARGO_BIN_EXE_puppet")];
    command.extend_from_slice(args);
    format!("kind = \"exec\"\ncommand = {}", json!(command))
}

/// A server with these agents.
pub(super) async fn serving(agents: &[String]) -> Server {
    Server::builder().config(&agents.concat()).start().await
}

/// A server with the agent `echo`, and someone who runs it.
pub(super) async fn echoing() -> (Server, Agent) {
    let server = serving(&[hosted(ECHO, "kind = \"echo\"")]).await;
    let nick = server.agent("@nick.ann").await;
    (server, nick)
}

/// A server with the agents `puppet` and `echo`, and someone who runs them.
pub(super) async fn playing() -> (Server, Agent) {
    let agents = [hosted(PUPPET, &puppet(&["lines"])), hosted(ECHO, "kind = \"echo\"")];
    let server = serving(&agents).await;
    let nick = server.agent("@nick.ann").await;
    (server, nick)
}

/// Files that a script waits for (`gate`) and makes (`mark`).
pub(super) struct Gates(TempDir);

impl Gates {
    pub(super) fn new() -> Self {
        Self(TempDir::new())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A step that waits until the gate is opened.
    pub(super) fn gate(&self, name: &str) -> String {
        format!("gate {}\n", self.path(name).display())
    }

    /// A step that tells that it was reached.
    pub(super) fn mark(&self, name: &str) -> String {
        format!("mark {}\n", self.path(name).display())
    }

    pub(super) fn open(&self, name: &str) {
        std::fs::write(self.path(name), "open").expect("the file can be written");
    }

    /// Waits for a mark.
    pub(super) async fn reached(&self, name: &str) {
        eventually(name, || async { self.is_reached(name).then_some(()) }).await;
    }

    pub(super) fn is_reached(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// How often a mark was made.
    pub(super) fn count(&self, name: &str) -> usize {
        std::fs::read_to_string(self.path(name)).unwrap_or_default().lines().count()
    }
}

/// A run and the thread that it is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) agent: String,
    pub(super) id: String,
    pub(super) thread: String,
}

/// A path below the agent's.
pub(super) fn at(agent: &str, rest: &str) -> String {
    format!("/agent/{agent}/{rest}")
}

/// D.4: 202, empty, with both ids and the place of the run.
#[track_caller]
pub(super) fn accepted(agent: &str, response: &Response) -> Run {
    assert_eq!(response.status, 202, "{response}");
    assert!(response.body.is_empty(), "only the status: {response}");
    let header =
        |name: &str| response.header(name).unwrap_or_else(|| panic!("no {name}: {response}")).to_owned();
    let run = Run { agent: agent.to_owned(), id: header("x-run-id"), thread: header("x-thread-id") };
    assert_uuid(&run.id);
    assert_uuid(&run.thread);
    assert_ne!(run.id, run.thread);
    assert_eq!(header("location"), at(agent, &format!("runs/{}", run.id)), "{response}");
    run
}

/// `POST …/run` with this body, not waited for.
pub(super) async fn post_run(who: &Caller, agent: &str, body: Value) -> Run {
    accepted(agent, &who.post(&at(agent, "run"), body).await)
}

/// A chat on a new thread.
pub(super) async fn chat(who: &Caller, agent: &str, input: &str) -> Run {
    post_run(who, agent, json!({"type": "ChatRequest", "input": input})).await
}

/// A chat on the thread of another run.
pub(super) async fn chat_on(who: &Caller, before: &Run, input: &str) -> Run {
    let body = json!({"type": "ChatRequest", "input": input, "thread_id": before.thread});
    let run = post_run(who, &before.agent, body).await;
    assert_eq!(run.thread, before.thread, "the thread goes on (SC-16)");
    run
}

/// The script `lines` on a new thread, as soon as it runs.
pub(super) async fn acting(who: &Caller, script: &str) -> Run {
    acting_at(who, PUPPET, script).await
}

/// The same of another agent.
pub(super) async fn acting_at(who: &Caller, agent: &str, script: &str) -> Run {
    let run = chat(who, agent, script).await;
    running(who, &run).await;
    run
}

/// Waits until the run is told as running.
pub(super) async fn running(who: &Caller, run: &Run) {
    status_becomes(who, run, "running").await;
}

/// Waits for a status; the whole of it.
pub(super) async fn status_becomes(who: &Caller, run: &Run, wanted: &str) -> Value {
    eventually(&format!("{} is {wanted}", run.id), || async {
        let status = status(who, run).await;
        (status["status"] == wanted).then_some(status)
    })
    .await
}

/// `GET …/runs/{run_id}`, its shape checked (4.2).
pub(super) async fn status(who: &Caller, run: &Run) -> Value {
    let status = who.get(&at(&run.agent, &format!("runs/{}", run.id))).await.ok(200);
    let needed = ["run_id", "thread_id", "agent", "status", "created_at", "updated_at", "last_event_id"];
    for member in needed {
        assert!(!status[member].is_null(), "{member} is missing: {status}");
    }
    assert_eq!((&status["run_id"], &status["thread_id"]), (&json!(run.id), &json!(run.thread)), "{status}");
    assert_eq!(status["agent"], run.agent.as_str(), "{status}");
    assert!(status["last_event_id"].is_u64(), "{status}");
    let known = ["queued", "running", "waiting", "completed", "error", "canceled"];
    assert!(known.contains(&status["status"].as_str().unwrap_or_default()), "{status}");
    status
}

/// The path of a run's events.
pub(super) fn events_of(run: &Run, query: &str) -> String {
    at(&run.agent, &format!("get_events/{}{query}", run.id))
}

/// A draining poll.
pub(super) async fn poll(who: &Caller, run: &Run) -> Vec<Value> {
    list(who.get(&events_of(run, "")).await.ok(200))
}

/// Everything that is there of a run, without consuming it.
pub(super) async fn known(who: &Caller, run: &Run) -> Vec<Value> {
    let events = list(who.get(&events_of(run, "?since=0")).await.ok(200));
    assert_events(run, &events);
    events
}

/// A run from its first event to its last, as the stream tells it.
pub(super) async fn whole(who: &Caller, run: &Run) -> Vec<Value> {
    let events = Events::get(who, &events_of(run, "?stream=true")).await.rest().await;
    assert_whole(run, &events);
    events
}

/// Runs a chat to its end; its events.
pub(super) async fn outcome(who: &Caller, agent: &str, input: &str) -> Vec<Value> {
    let run = chat(who, agent, input).await;
    whole(who, &run).await
}

/// The array of an answer.
#[track_caller]
pub(super) fn list(body: Value) -> Vec<Value> {
    let Value::Array(items) = body else { panic!("not an array: {body}") };
    items
}

/// What must hold of any beginning of a run's events: SC-2, SC-22, SC-24, SC-25.
#[track_caller]
pub(super) fn assert_events(run: &Run, events: &[Value]) {
    for (at, event) in events.iter().enumerate() {
        for member in BASE {
            assert!(event.get(member).is_some(), "{member} is missing: {event}");
        }
        assert_eq!(event["run_id"], run.id.as_str(), "{event}");
        assert_eq!(event["thread_id"], run.thread.as_str(), "{event}");
        assert_eq!(event["agent"], run.agent.as_str(), "the agent defaults to the name (SC-25): {event}");
        assert!(event["id"].is_u64() && event["depth"].is_u64(), "{event}");
        assert!(ROLES.contains(&event["role"].as_str().unwrap_or_default()), "{event}");
        assert_own_members(event);
        assert_eq!(event["type"] == "RunStarted", at == 0, "RunStarted is the first and only there: {event}");
    }
    if let Some(first) = events.first() {
        assert_eq!(first["id"], 1, "ids start at 1 (4.2): {first}");
    }
    for pair in events.windows(2) {
        assert!(pair[0]["id"].as_u64() < pair[1]["id"].as_u64(), "ids rise (SC-22): {pair:?}");
    }
    let ends = events.iter().position(|event| event["type"] == "RunCompleted");
    assert!(
        ends.is_none_or(|at| at + 1 == events.len()),
        "RunCompleted is the final event (SC-19): {events:?}"
    );
}

/// The same of all of them.
#[track_caller]
pub(super) fn assert_whole(run: &Run, events: &[Value]) {
    assert_events(run, events);
    assert_eq!(events.last().map(|event| &event["type"]), Some(&json!("RunCompleted")), "{events:?}");
}

/// SC-24: the members of each type.
#[track_caller]
fn assert_own_members(event: &Value) {
    let text = |member: &str| assert!(event[member].is_string(), "{member} is a text: {event}");
    match event["type"].as_str().expect("a type is a text") {
        "RunStarted" | "CompletionCall" | "CompletionResult" => {}
        "WaitForInput" => assert!(event["request_keys"].is_object(), "{event}"),
        "TextOutput" | "ToolTextOutput" | "ToolError" => text("content"),
        "ToolCall" => {
            text("function_name");
            assert!(event["args"].is_object(), "{event}");
        }
        "ToolResult" => {
            text("function_name");
            text("text_result");
        }
        "ArtifactGenerated" => ["name", "url", "mime_type"].iter().for_each(|member| text(member)),
        "RunCompleted" => {
            let reasons = ["success", "error", "canceled"];
            assert!(reasons.contains(&event["finish_reason"].as_str().unwrap_or_default()), "SC-26: {event}");
            let result = &event["result"];
            assert!(result.is_null() || result.is_string(), "{event}");
        }
        other => panic!("`{other}` is no type of the document: {event}"),
    }
}

/// The types, in order.
pub(super) fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap_or("?")).collect()
}

/// The contents of the text outputs.
pub(super) fn said(events: &[Value]) -> Vec<&str> {
    let texts = events.iter().filter(|event| event["type"] == "TextOutput");
    texts.filter_map(|event| event["content"].as_str()).collect()
}

/// How a whole run ended.
#[track_caller]
pub(super) fn finish(events: &[Value]) -> &str {
    let last = events.last().expect("a run has events");
    assert_eq!(last["type"], "RunCompleted", "{events:?}");
    last["finish_reason"].as_str().expect("a finish reason")
}

pub(super) fn ids(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["id"].as_u64().expect("an integer id")).collect()
}

/// A UUID in its usual form.
#[track_caller]
pub(super) fn assert_uuid(text: &str) {
    let parts: Vec<_> = text.split('-').map(str::len).collect();
    let hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'));
    assert!(parts == [8, 4, 4, 4, 12] && hex, "not a UUID: {text}");
}

/// D.3: `{"detail","code"}`; the code.
#[track_caller]
pub(super) fn refused(response: &Response, status: u16) -> String {
    assert_eq!(response.status, status, "expected {status}: {response}");
    assert_eq!(response.header("content-type"), Some("application/json"), "{response}");
    let body = response.json();
    assert_keys(&body, &["detail", "code"], &[]);
    assert!(body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{response}");
    body["code"].as_str().unwrap_or_else(|| panic!("the code is a text: {response}")).to_owned()
}

/// Tells a run something: cancel or resume.
pub(super) async fn tell(who: &Caller, run: &Run, kind: &str, members: Value) -> Response {
    let mut body = json!({"type": kind, "run_id": run.id});
    for (name, value) in members.as_object().unwrap_or(&Map::new()) {
        body[name] = value.clone();
    }
    who.post(&at(&run.agent, "run"), body).await
}

/// Cancels and demands that it is taken.
pub(super) async fn cancel(who: &Caller, run: &Run) {
    let response = tell(who, run, "CancelRequest", json!({})).await;
    assert_eq!(response.status, 202, "{response}");
}

/// Answers and demands that it is taken.
pub(super) async fn resume(who: &Caller, run: &Run, keys: Value) {
    let response = tell(who, run, "ResumeWithInput", json!({ "request_keys": keys })).await;
    assert_eq!(response.status, 202, "{response}");
}

/// The runs of a thread as `GET …/threads` lists it.
pub(super) async fn thread(who: &Caller, run: &Run) -> Option<Value> {
    let threads = list(who.get(&at(&run.agent, "threads")).await.ok(200));
    threads.into_iter().find(|thread| thread["thread_id"] == run.thread.as_str())
}
