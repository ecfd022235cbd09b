//! Each operation as a tool: which there are, and that arguments arrive where the operation has them.

use plenary_mcp::{tool::Toolset, tools::faults};
use serde_json::{Value, json};

use crate::house::{House, docs};

#[test]
fn every_operation_is_a_tool_or_says_why_not() {
    assert_eq!(faults(&docs()), [""; 0]);
}

#[tokio::test]
async fn the_sets_have_these_tools() {
    let house = House::new().await;
    let names = |set| -> Vec<String> { house.tools.in_sets(&[set]).map(|tool| tool.name.clone()).collect() };
    let [core, channels, sessions, runs] =
        [Toolset::Core, Toolset::Channels, Toolset::Sessions, Toolset::Runs].map(names);
    let daily = [
        "ask",
        "channel",
        "deposit",
        "hand_over",
        "inbox",
        "lock",
        "note_fact",
        "read",
        "recall",
        "run_agent",
        "send",
        "whoami",
    ];
    assert_eq!(core, daily);
    assert_eq!(
        channels,
        [
            "channel_append",
            "channel_close",
            "channel_create",
            "channel_events",
            "channel_key",
            "channel_list",
            "channel_view",
            "channel_watch",
        ]
    );
    assert_eq!(
        sessions,
        [
            "contact",
            "me",
            "message_status",
            "session",
            "session_create",
            "session_events",
            "session_list",
            "session_send"
        ]
    );
    assert_eq!(runs, ["run_configure", "run_events", "run_run", "run_view"]);
    let context = names(Toolset::Context);
    let own: Vec<_> = context.into_iter().filter(|name| name.starts_with("context_")).collect();
    assert_eq!(
        own,
        [
            "context_assert_fact",
            "context_deposit",
            "context_events",
            "context_facts",
            "context_get",
            "context_invalidate_fact",
            "context_orchestrate",
            "context_orient",
            "context_projects",
            "context_pull",
            "context_reviews",
            "context_sessions",
        ]
    );
}

#[tokio::test]
async fn arguments_fill_paths_queries_and_bodies() {
    let house = House::new().await;
    let (alice, bob) = (house.agent("@nick.alice").await, house.agent("@nick.bob").await);
    let session = alice.call("session_create", json!({"invite": ["@nick.bob"], "topic": "T"})).await;
    let id = session["session_id"].clone();
    assert_eq!(bob.call("session", json!({"action": "join", "id": id})).await, json!({"ok": true}));
    alice.call("session_send", json!({"id": id, "content": "Hello"})).await;
    let events = bob.call("session_events", json!({"id": id, "after_sequence": 2})).await;
    assert_eq!(events["events"][0]["content"], "Hello", "{events}");
    assert_eq!(bob.refused("session", json!({"action": "dance", "id": id})).await, "invalid_arguments");
    assert_eq!(bob.refused("session", json!({"action": "join"})).await, "invalid_arguments");
    assert_eq!(bob.refused("session_events", json!({"id": id, "mood": 1})).await, "invalid_arguments");
    assert_eq!(bob.refused("session", json!({"action": "show", "id": "sess_none"})).await, "not_found");

    let project =
        alice.call("context_projects", json!({"action": "create_project", "project_id": "a/b"})).await;
    assert_eq!(project["project_id"], "a/b");
    let fact = json!({"project_id": "a/b", "subject": "s", "predicate": "p", "value": "v"});
    alice.call("context_assert_fact", fact).await;
    assert_eq!(alice.call("context_facts", json!({"project_id": "a/b"})).await["facts"][0]["value"], "v");
    let followed = alice.call("context_events", json!({"project_id": "a/b", "after": 0, "wait_s": 1})).await;
    assert!(followed["events"].as_array().unwrap().iter().any(|event| event["event"] == "fact.asserted"));
    assert!(followed["next"]["after"].is_string());

    let run = alice.call("run_run", json!({"name": "echo", "input": "Say it"})).await;
    assert!(run["run_id"].is_string() && run["ok"] == true, "{run}");
    alice.call("run_agent", json!({"agent": "echo", "run_id": run["run_id"]})).await;
    let events = json!({"name": "echo", "run_id": run["run_id"]});
    let first = alice.call("run_events", events.clone()).await;
    assert_eq!(alice.call("run_events", events).await, first, "reading consumes nothing");
    assert_eq!(alice.call("run_view", json!({"action": "agents"})).await["items"][0][0], "echo");

    let channel = alice.call("channel_create", json!({"title": "C"})).await;
    for nth in 0..3 {
        let event = json!({"id": channel["id"], "kind": "log", "payload": {"nth": nth}});
        alice.call("channel_append", event).await;
    }
    let page = alice.call("channel_events", json!({"id": channel["id"], "limit": 2})).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 2);
    let rest = alice.call("channel_events", page["next"].clone()).await;
    assert_eq!(rest["items"][0]["payload"]["nth"], 0);
}

/// Whatever happens between two readings of a stream is in the second one, also after a first one that saw nothing.
#[tokio::test]
async fn a_stream_without_events_is_continued_without_a_gap() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    let channel = alice.call("channel_create", json!({"title": "C"})).await;
    let first = alice.call("channel_watch", json!({"id": channel["id"], "wait_s": 1})).await;
    assert_eq!(first["events"], json!([]));
    let event = json!({"id": channel["id"], "kind": "log", "payload": {"nth": 1}});
    alice.call("channel_append", event).await;
    let second = alice.call("channel_watch", first["next"].clone()).await;
    assert_eq!(second["events"][0]["data"]["payload"]["nth"], 1, "{second}");

    alice.call("context_projects", json!({"action": "create_project", "project_id": "p"})).await;
    let first = alice.call("context_events", json!({"project_id": "p", "wait_s": 1})).await;
    let fact = json!({"project_id": "p", "subject": "s", "predicate": "p", "value": "v"});
    alice.call("context_assert_fact", fact).await;
    let second = alice.call("context_events", first["next"].clone()).await;
    assert_eq!(second["events"][0]["event"], "fact.asserted", "{second}");
}

#[tokio::test]
async fn a_stream_goes_on_behind_the_largest_event() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    let channel = alice.call("channel_create", json!({"title": "C"})).await;
    let post = |payload: Value| {
        alice.call("channel_append", json!({"id": channel["id"], "kind": "log", "payload": payload}))
    };
    post(json!({"text": "x".repeat((1 << 20) - 64)})).await;
    post(json!({"nth": 2})).await;
    let first = alice.call("channel_watch", json!({"id": channel["id"], "after_id": 0, "wait_s": 1})).await;
    let second = alice.call("channel_watch", first["next"].clone()).await;
    let numbers: Vec<_> = [first, second]
        .iter()
        .flat_map(|read| read["events"].as_array().unwrap().clone())
        .map(|event| event["data"]["payload"]["nth"].clone())
        .collect();
    assert_eq!(numbers.last(), Some(&json!(2)), "{numbers:?}");
}
