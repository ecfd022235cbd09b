//! Who may run an agent: who may open a session with it, its owner and the operator (D.8). For everybody else there is
//! no such agent, on any path.

use blackbox::{Agent, Caller, Response, Server};
use serde_json::{Value, json};

use super::speak::{
    OWNER, PUPPET, Run, acting, at, cancel, chat, events_of, finish, guarded, list, puppet, refused, running,
    serving, status, status_becomes, tell, whole,
};

/// A name that no agent has, as long as that of the agent.
const ABSENT: &str = "absent";
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// A server with an agent of which nothing is said, and its handle.
async fn guarding() -> (Server, String) {
    let server = serving(&[guarded(PUPPET, &puppet(&["lines"]))]).await;
    (server, format!("@{OWNER}.{PUPPET}"))
}

/// Every operation on an agent.
async fn everything(who: &Caller, agent: &str) -> Vec<(String, Response)> {
    let mut all = Vec::new();
    for path in [
        "describe",
        "threads",
        "threads?limit=x",
        "attach",
        "get_events",
        &format!("get_events?run_id={NOBODY}"),
        &format!("get_events?run_id={NOBODY}&stream=maybe"),
        &format!("get_events?thread_id={NOBODY}"),
        &format!("get_events/{NOBODY}?since=x"),
        &format!("runs/{NOBODY}"),
        "runs/x",
        "nothing",
    ] {
        all.push((format!("GET {path}"), who.get(&at(agent, path)).await));
    }
    for (path, body) in [
        ("run", json!({"input": "text hi"})),
        ("run?wait=result", json!({"input": "text hi"})),
        ("run?wait=perhaps", json!({"input": "text hi"})),
        ("run", json!({"input": 7})),
        ("run", json!([])),
        ("run", json!({"type": "Unheard"})),
        ("run", json!({"input": "x", "thread_id": NOBODY})),
        ("run", json!({"type": "CancelRequest", "run_id": NOBODY})),
        ("run", json!({"type": "CancelRequest", "thread_id": NOBODY})),
        ("run", json!({"type": "ResumeWithInput", "run_id": NOBODY, "request_keys": {}})),
        ("run", json!({"type": "ConfigureRequest", "args": {"a": 1}})),
        ("stream_request", json!({"input": "text hi"})),
        ("configure", json!({"args": {"a": 1}})),
        ("configure", json!({"args": 1})),
        ("stop", json!({})),
        ("start", json!({})),
        ("dismiss", json!({})),
    ] {
        all.push((format!("POST {path} {body}"), who.post(&at(agent, path), body).await));
    }
    let broken = who.post_raw(&at(agent, "run"), b"{").await;
    all.push(("POST run {".to_owned(), broken));
    all
}

/// There is no such agent, as far as the caller can tell.
async fn is_absent(who: &Caller, handle: &str, what: &str) {
    for name in [PUPPET, handle] {
        let absent = everything(who, ABSENT).await;
        for ((path, hidden), (_, absent)) in everything(who, name).await.into_iter().zip(absent) {
            assert_eq!(hidden.status, 404, "{what}: {path}: {hidden}");
            assert_eq!((hidden.status, &hidden.body), (absent.status, &absent.body), "{what}: {path}");
            let names = |response: &Response| {
                let names = response.headers.iter().map(|(name, _)| name.clone());
                names.filter(|name| name != "date").collect::<Vec<_>>()
            };
            assert_eq!(names(&hidden), names(&absent), "{what}: {path}");
        }
    }
    for path in ["/", "/_discovery", "/agent"] {
        assert!(!who.get(path).await.text().contains(PUPPET), "{what}: {path}");
    }
    let tool = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "run_agent", "arguments": {}},
    });
    assert!(!who.post("/mcp", tool).await.text().contains(PUPPET), "{what}");
}

async fn is_there(who: &Caller, what: &str) {
    assert!(
        list(who.get("/").await.ok(200)).contains(&json!([PUPPET, at(PUPPET, "").trim_end_matches('/')]))
    );
    who.get(&at(PUPPET, "describe")).await.ok(200);
    let run = chat(who, PUPPET, "text hi").await;
    assert_eq!(finish(&whole(who, &run).await), "success", "{what}");
}

/// A configured agent is its owner's own, unless the configuration or its account says otherwise.
#[tokio::test]
async fn sc_8_whom_trust_does_not_admit_finds_no_agent() {
    let (server, handle) = guarding().await;
    let sibling = server.agent(&format!("@{OWNER}.sibling")).await;
    let owner = server.owner(OWNER).await;
    let stranger = server.agent("@other.bob").await;
    for (what, who) in [("operator", &server.operator()), ("owner", &owner), ("sibling", &sibling)] {
        is_there(who, what).await;
    }
    is_absent(&stranger, &handle, "a stranger").await;
    is_absent(&server.owner("third").await, &handle, "another owner").await;
    let shy = server.closed_agent(&format!("@{OWNER}.shy"), &[]).await;
    is_absent(&shy, &handle, "an agent that admits nobody itself").await;
    // The allowlist opens it, and a block shuts it again, whoever blocks.
    let path = format!("/_admin/agents/{handle}/allowlist");
    server.operator().post(&path, json!({"entries": ["@other.*"]})).await.ok(200);
    is_there(&stranger, "on the list").await;
    block(&server, &handle, &stranger.handle).await;
    is_absent(&stranger, &handle, "blocked by the agent").await;
    block(&server, &sibling.handle, &handle).await;
    is_absent(&sibling, &handle, "who blocks the agent").await;
}

async fn block(server: &Server, blocker: &str, other: &str) {
    let path = format!("/_admin/agents/{blocker}/blocks");
    server.operator().post(&path, json!({"handle": other})).await.ok(201);
}

async fn open(server: &Server, handle: &str) -> Agent {
    server.operator().patch(&format!("/_admin/agents/{handle}"), json!({"policy": "open"})).await.ok(200);
    server.agent("@other.bob").await
}

/// What somebody has begun it may read and stop, and nothing more is taken of it.
#[tokio::test]
async fn sc_8_who_is_blocked_meanwhile_reads_and_stops_its_runs_and_begins_nothing() {
    let (server, handle) = guarding().await;
    let bob = open(&server, &handle).await;
    let active = acting(&bob, "text before\nhang").await;
    let queued = {
        let body = json!({"input": "text never", "thread_id": active.thread});
        let response = bob.post(&at(PUPPET, "run"), body).await;
        let id = response.header("x-run-id").expect("an id").to_owned();
        Run { id, ..active.clone() }
    };
    let waiting = chat(&bob, PUPPET, "ask a=A?\nanswer").await;
    status_becomes(&bob, &waiting, "waiting").await;
    let inbox = bob.get("/inbox").await.ok(200);
    assert!(inbox.to_string().contains(&waiting.id), "{inbox}");
    block(&server, &handle, &bob.handle).await;
    is_absent(&bob, &handle, "blocked").await;
    // Of others' runs nothing is told either.
    let owner = server.owner(OWNER).await;
    let foreign = chat(&owner, PUPPET, "text secret").await;
    whole(&owner, &foreign).await;
    for view in [events_of(&foreign, ""), at(PUPPET, &format!("runs/{}", foreign.id))] {
        assert_eq!(refused(&bob.get(&view).await, 404), "agent_not_found");
    }
    refused(&tell(&bob, &waiting, "ResumeWithInput", json!({"request_keys": {"a": "x"}})).await, 404);
    let body = json!({"input": "text more", "thread_id": active.thread});
    refused(&bob.post(&at(PUPPET, "run"), body).await, 404);
    assert_eq!(status(&bob, &waiting).await["status"], "waiting");
    let inbox = bob.get("/inbox").await.ok(200);
    assert!(!inbox.to_string().contains(&waiting.id), "nothing asks for what would not be taken: {inbox}");
    // Its own it reads, and stops.
    running(&bob, &active).await;
    cancel(&bob, &active).await;
    assert_eq!(finish(&whole(&bob, &active).await), "canceled");
    cancel(&bob, &waiting).await;
    assert_eq!(finish(&whole(&bob, &waiting).await), "canceled");
    // What waited for its turn comes too late.
    let end = whole(&bob, &queued).await;
    assert_eq!(finish(&end), "error", "{end:?}");
    assert!(!end.iter().any(|event| event["type"] == "TextOutput"), "{end:?}");
}

/// From the answer to the block on nothing is begun, however many ask at that moment.
#[tokio::test]
async fn sc_8_a_block_that_races_beginnings_lets_none_through_after_it() {
    let (server, handle) = guarding().await;
    let bob = open(&server, &handle).await;
    let asking = (0..4).map(|_| {
        let bob = (*bob).clone();
        tokio::spawn(async move {
            let mut begun = 0;
            loop {
                let response = bob.post(&at(PUPPET, "run"), json!({"input": "text hi"})).await;
                match response.status {
                    202 => begun += 1,
                    404 => return begun,
                    _ => panic!("{response}"),
                }
            }
        })
    });
    let asking: Vec<_> = asking.collect();
    chat(&bob, PUPPET, "text hi").await;
    block(&server, &handle, &bob.handle).await;
    let response = bob.post(&at(PUPPET, "run"), json!({"input": "text hi"})).await;
    refused(&response, 404);
    let owner = server.owner(OWNER).await;
    let threads = || async { list(owner.get(&at(PUPPET, "threads?limit=500")).await.ok(200)).len() };
    let before = threads().await;
    let mut begun = 1;
    for task in asking {
        begun += task.await.expect("it asks until it is refused");
    }
    assert_eq!((threads().await, begun), (before, before), "what was accepted was so before the block");
}

/// A session does not reach an agent that blocks the one who speaks in it.
#[tokio::test]
async fn sc_8_a_run_of_a_blocked_agent_is_no_instance_of_it() {
    let (server, handle) = guarding().await;
    let bob = server.agent("@other.bob").await;
    let described: Value = server.operator().get(&at(PUPPET, "describe")).await.ok(200);
    assert_eq!(described["name"], PUPPET);
    let response = bob.get(&at(&handle, "attach")).await;
    assert_eq!(refused(&response, 404), "agent_not_found");
}
