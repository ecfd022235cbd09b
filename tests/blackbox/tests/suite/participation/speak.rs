//! Sessions and agents as these tests write them. Must not know: what the single tests are about.

use blackbox::{Agent, Caller, Server, ShiftedClock, eventually};
use serde_json::{Value, json};

/// The agent that gives back what it gets.
pub(super) const ECHO: &str = "@acme.echo";
/// The agent that does what the lines of a message say.
pub(super) const PUPPET: &str = "@acme.puppet";

/// An agent's table, with further lines.
pub(super) fn hosted(name: &str, lines: &str) -> String {
    format!("[agents.{name}]\nowner = \"acme\"\n{lines}\n")
}

/// The same, whom anybody may reach.
pub(super) fn open(name: &str, lines: &str) -> String {
    hosted(name, &format!("policy = \"open\"\n{lines}"))
}

/// The lines of the scripted program.
pub(super) fn puppet() -> String {
    format!("kind = \"exec\"\ncommand = {}", json!([env!("CARGO_BIN_EXE_puppet"), "lines"]))
}

/// The configuration of most tests.
pub(super) fn config() -> String {
    [open("echo", "kind = \"echo\""), open("puppet", &puppet())].concat()
}

/// A server with the agents `echo` and `puppet`, and someone who speaks with them.
pub(super) async fn playing() -> (Server, Agent) {
    let server = Server::builder().config(&config()).start().await;
    let nick = server.agent("@nick.ann").await;
    (server, nick)
}

/// The same with a clock that moves.
pub(super) async fn playing_by(clock: &ShiftedClock) -> (Server, Agent) {
    let mut builder = Server::builder().config(&config());
    for (name, value) in clock.moving() {
        builder = builder.env(name, &value);
    }
    let server = builder.start().await;
    let nick = server.agent("@nick.ann").await;
    (server, nick)
}

/// A session with these, and its first message.
pub(super) async fn opened(who: &Agent, invite: &[&str], message: Option<&str>) -> String {
    let mut body = json!({"invite": invite});
    if let Some(message) = message {
        body["initial_message"] = json!({"content": message});
    }
    who.open(body).await["session_id"].as_str().expect("a session").to_owned()
}

/// Waits until somebody is joined.
pub(super) async fn joined(who: &Agent, id: &str, handle: &str) {
    eventually("it joins", || async { (who.status_of(id, handle).await == "joined").then_some(()) }).await;
}

/// Everything that was said: each message's payload.
pub(super) async fn messages(who: &Agent, id: &str) -> Vec<Value> {
    let events = who.history(id).await;
    events
        .into_iter()
        .filter(|event| event["type"] == "session.message")
        .map(|event| event["payload"].clone())
        .collect()
}

/// What somebody has said.
pub(super) async fn said_by(who: &Agent, id: &str, handle: &str) -> Vec<Value> {
    let all = messages(who, id).await;
    all.into_iter().filter(|message| message["sender"] == handle).collect()
}

/// Waits until somebody has said so much, and no less.
pub(super) async fn says(who: &Agent, id: &str, handle: &str, count: usize) -> Vec<Value> {
    eventually(&format!("{handle} says {count}"), || async {
        let said = said_by(who, id, handle).await;
        (said.len() >= count).then_some(said)
    })
    .await
}

pub(super) fn contents(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["content"].as_str().unwrap_or("?")).collect()
}

/// Sends a message with metadata; its sequence.
pub(super) async fn say_with(who: &Agent, id: &str, content: &str, metadata: Value) -> i64 {
    let body = json!({"content": content, "metadata": metadata});
    let sent = who.post(&format!("/sessions/{id}/messages"), body).await.ok(201);
    sent["sequence"].as_i64().expect("a sequence")
}

/// The threads of an agent, as its owner's operator sees them.
pub(super) async fn threads(operator: &Caller, agent: &str) -> Vec<Value> {
    let listed = operator.get(&format!("/agent/{agent}/threads")).await.ok(200);
    listed.as_array().expect("a list").clone()
}
