//! CH-5: given only the channel's URL and a token, curl alone suffices: to read, to post a status, to take the work over
//! from somebody who is gone, and to close. Every command is taken from what the server says, and run as it stands.

use blackbox::{Caller, Server, eventually};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{append, channel, events};

/// Runs a command as a shell does, with the token where the server says that it has to be.
async fn run(command: &str, token: &str) -> String {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).env("PLENARY_TOKEN", token).kill_on_drop(true);
    let output = shell.output().await.expect("a shell runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command}: {}{text}", String::from_utf8_lossy(&output.stderr));
    text
}

async fn json_of(command: &str, token: &str) -> Value {
    let text = run(command, token).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{command}: {error}: {text}"))
}

/// The commands in the fences and lines of a Markdown text.
fn commands(markdown: &str) -> Vec<String> {
    let lines = markdown.lines().filter_map(|line| line.find("curl ").map(|at| line[at..].to_owned()));
    lines.collect()
}

#[track_caller]
fn the(commands: &[String], mark: &str) -> String {
    let found = commands.iter().find(|command| command.contains(mark));
    found.unwrap_or_else(|| panic!("no command has {mark}: {commands:?}")).clone()
}

async fn state_of(who: &Caller, id: &str) -> Value {
    who.get(&format!("/agent-channel/{id}/state")).await.ok(200)
}

#[tokio::test]
async fn ch_5_33_curl_alone_suffices() {
    let server = Server::builder().arg("--channels-status-cadence-seconds").arg("1").start().await;
    let (ann, bob) = (server.agent("@nick.ann").await, server.agent("@acme.bob").await);
    let id = channel(&ann).await;
    append(&ann, &id, "spec", json!({"mission": "port the parser"})).await;
    let concept =
        json!({"id": "lexer", "owner": "@nick.ann", "status": "in_progress", "concept": "isn't it done?"});
    let state = json!({
        "protocol_version": 2, "updated_by": "@nick.ann", "own member": [1, 2],
        "handoff": {"holder": "@nick.ann", "expected_action": "port the lexer"}, "concepts": [concept],
        "agents": {"@nick.ann": {"role": "worker", "status": "working"}},
    });
    append(&ann, &id, "state", state.clone()).await;
    append(&ann, &id, "status", json!({"agent": "@nick.ann", "phase": "working"})).await;

    // All that the newcomer has.
    let (url, token) = (format!("http://{}/agent-channel/{id}", bob.address().get()), bob.token().to_owned());
    let first = json_of(&format!("curl -s -H \"Authorization: Bearer $PLENARY_TOKEN\" {url}"), &token).await;
    let participate = |name: &str| first["participate"][name].as_str().expect("a command").to_owned();
    assert_eq!(json_of(&participate("read_spec"), &token).await["mission"], "port the parser");
    assert_eq!(json_of(&participate("read_state"), &token).await, state);
    assert_eq!(json_of(&participate("read_events"), &token).await, json!([]));
    let posted = json_of(&participate("append_event"), &token).await;
    assert_eq!((&posted["kind"], &posted["author"]), (&json!("status"), &json!("@acme.bob")));
    assert_eq!(posted["payload"]["agent"], "@acme.bob");

    // The same again as Markdown, until the holder is gone.
    let read_this = participate("read_this");
    let page = eventually("the holder is presumed dead", || async {
        let page = run(&read_this, &token).await;
        page.contains("PRESUMED DEAD").then_some(page)
    })
    .await;
    let said = commands(&page);
    let taken = json_of(&the(&said, "\"kind\":\"state\""), &token).await;
    assert_eq!((&taken["kind"], &taken["via"]), (&json!("state"), &json!("@acme.bob")));
    let mut expected = state;
    expected["updated_by"] = json!("@acme.bob");
    expected["handoff"]["holder"] = json!("@acme.bob");
    expected["agents"]["@nick.ann"]["status"] = json!("dead");
    assert_eq!(state_of(&ann, &id).await, expected, "all else is kept");
    json_of(&the(&said, "\"kind\":\"status\""), &token).await;
    let closed = json_of(&the(&said, "/close"), &token).await;
    assert!(closed["closed_at"].is_string(), "{closed}");
    assert_eq!(events(&ann, &id, "").await.len(), 6);
}

/// Where no token is needed the commands ask for none.
#[tokio::test]
async fn an_open_server_needs_no_token() {
    let (server, _directory) = super::configured("[channels]\nopen = true").await;
    let anyone = server.stranger();
    let id = channel(&anyone).await;
    let url = format!("http://{}/agent-channel/{id}", anyone.address().get());
    let page = run(&format!("curl -s '{url}?format=md'"), "").await;
    let said = commands(&page);
    assert!(said.iter().all(|command| !command.contains("Authorization")), "{said:?}");
    let posted = json_of(&the(&said, "\"kind\":\"status\"").replace("YOUR-NAME", "claude-1"), "").await;
    assert_eq!((&posted["author"], &posted["via"]), (&json!("claude-1"), &Value::Null));
}

/// Where no token is needed, the commands of a reader that sent its token have it: it is what opens a channel that has an
/// owner, and what says who writes.
#[tokio::test]
async fn on_an_open_server_the_commands_of_a_token_have_it() {
    let (server, _directory) = super::configured("[channels]\nopen = true").await;
    let (ann, bob) = (server.agent("@nick.ann").await, server.agent("@acme.bob").await);
    let owned = ann.post("/agent-channel", json!({"title": "owned"})).await.ok(200);
    let nobodys = channel(&server.stranger()).await;
    let url = |id: &str| format!("http://{}/agent-channel/{id}", ann.address().get());
    let link = owned["url"].as_str().expect("a link").to_owned();
    for (reader, from) in
        [(&ann, url(owned["id"].as_str().expect("an id"))), (&bob, link), (&ann, url(&nobodys))]
    {
        let first = format!("curl -s -H \"Authorization: Bearer $PLENARY_TOKEN\" '{from}'");
        let view = json_of(&first, reader.token()).await;
        assert_eq!(view["participate"]["auth"], "Set PLENARY_TOKEN to your token.", "{view}");
        let command = |name: &str| view["participate"][name].as_str().expect("a command").to_owned();
        let posted = json_of(&command("append_event"), reader.token()).await;
        assert_eq!((&posted["author"], &posted["via"]), (&json!(reader.handle), &json!(reader.handle)));
        assert!(json_of(&command("read_events"), reader.token()).await.is_array());
    }
}
