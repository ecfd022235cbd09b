//! What Agent2Agent 1.0 requires of a server, by the numbers of `crates/a2a/REQUIREMENTS.md`, over both bindings that have paths.
//! `a2a_grpc` has the third one. Must not know: how a task is kept.

mod bindings;
mod cards;
mod streams;
mod tasks;

use blackbox::{Agent, Server};
use serde_json::{Value, json};

use self::bindings::{BINDINGS, Line};
use crate::a2a::{ECHO, message};

/// A server, and an agent that asks the echo of it.
async fn scene() -> (Server, Agent) {
    let (server, [nick]) = Server::with(["@nick.cc"]).await;
    (server, nick)
}

/// The same over each binding.
fn lines(nick: &Agent) -> impl Iterator<Item = Line<'_>> {
    BINDINGS.into_iter().map(move |binding| Line { binding, caller: nick, base: ECHO })
}

/// A message whose task is answered later or not at all; `demo` is what the echo does.
fn at_once(id: &str, demo: &Value) -> Value {
    let mut sent = message(id, "slow", json!({"metadata": {"demo": demo}}));
    sent["configuration"] = json!({"returnImmediately": true});
    sent
}

/// A message whose task asks for a name.
fn asking(id: &str, text: &str) -> Value {
    message(id, text, json!({"metadata": {"demo": [{"wait_for_input": {"name": "Your name"}}]}}))
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default().trim_start_matches("TASK_STATE_")
}
