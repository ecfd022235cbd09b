//! Agents that nobody configured: each attaches under its whole name with its own token, and is one of the server's from
//! then on. SC-1, SC-3, SC-9, SC-33. Must not know: who is on the other side.

use blackbox::{Agent, Database, Pongs, Server, Socket, TestDependency, eventually};
use serde_json::{Value, json};

use super::speak::{chat, finish, post_run, whole};

/// What `plenary agent host` sends of itself.
const TOLD: &str = "?purpose=reads%20mail&tool=open&tool=close";

fn path(agent: &str) -> String {
    format!("/agent/{agent}/attach")
}

async fn attach(agent: &Agent, told: &str) -> Socket {
    let name = agent.handle.trim_start_matches('@').to_owned();
    agent.socket(&(path(&name) + told), Pongs::Answer).await
}

/// Answers the next request with its input.
async fn answer(socket: &mut Socket) -> Value {
    let asked = socket.until_kind("ChatRequest").await.pop().expect("it came");
    let done = json!({"type": "RunCompleted", "run_id": asked["run_id"], "finish_reason": "success",
        "result": asked["input"]});
    socket.text(&done.to_string()).await;
    asked
}

/// Asks for a run that the instance answers.
async fn echoed(who: &Agent, agent: &str, socket: &mut Socket, text: &str) {
    let run = chat(who, agent, text).await;
    answer(socket).await;
    let events = whole(who, &run).await;
    assert_eq!((finish(&events), &events.last().expect("an end")["result"]), ("success", &json!(text)));
}

/// The description of an agent once so many of it are attached: that follows the 101.
async fn instances(who: &Agent, agent: &str, count: u64) -> Value {
    eventually(&format!("{agent} has {count} instances"), || async {
        let described = who.get(&format!("/agent/{agent}/describe")).await.ok(200);
        (described["instances"] == count).then_some(described)
    })
    .await
}

async fn names(who: &Agent) -> Vec<String> {
    let listed = who.get("/").await.ok(200);
    listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|pair| pair[0].as_str().expect("a name").to_owned())
        .collect()
}

/// SC-1, SC-9, SC-33: whoever attaches is listed and described by its whole name, and its short name is nobody's.
#[tokio::test]
async fn sc_1_sc_33_whoever_attaches_is_an_agent_of_the_server() {
    let (_server, [tool, ann]) = Server::with(["@nick.tool", "@ann.cc"]).await;
    assert!(!names(&ann).await.contains(&"nick.tool".to_owned()));
    let mut socket = attach(&tool, TOLD).await;
    assert!(names(&ann).await.contains(&"nick.tool".to_owned()));
    let described = instances(&ann, "nick.tool", 1).await;
    for (member, value) in [
        ("name", json!("nick.tool")),
        ("handle", json!("@nick.tool")),
        ("purpose", json!("reads mail")),
        ("tools", json!(["open", "close"])),
    ] {
        assert_eq!(described[member], value, "{described}");
    }
    let run = post_run(&ann, "nick.tool", json!({"input": "hi"})).await;
    let asked = answer(&mut socket).await;
    assert_eq!((&asked["input"], &asked["run_id"]), (&json!("hi"), &json!(run.id)));
    let events = whole(&ann, &run).await;
    assert_eq!((finish(&events), &events[0]["agent"]), ("success", &json!("nick.tool")));
    assert_eq!(ann.get("/agent/tool/describe").await.status, 404);
}

/// One name, two owners: each has its own.
#[tokio::test]
async fn sc_1_agents_of_two_owners_do_not_meet() {
    let (_server, [nicks, anns]) = Server::with(["@nick.tool", "@ann.tool"]).await;
    let (mut one, mut two) = (attach(&nicks, "").await, attach(&anns, "").await);
    echoed(&anns, "nick.tool", &mut one, "for nick").await;
    echoed(&nicks, "ann.tool", &mut two, "for ann").await;
}

/// Only the agent itself attaches, and what is not there says nothing of what is.
#[tokio::test]
async fn sc_1_nobody_attaches_as_somebody_else() {
    let (_server, [tool, ann]) = Server::with(["@nick.tool", "@ann.cc"]).await;
    let refused = async |who: &Agent, path: &str| {
        who.try_socket(path, &[], Pongs::Answer).await.expect_err("refused").status
    };
    assert_eq!(refused(&ann, &path("nick.tool")).await, refused(&ann, &path("nick.nobody")).await);
    for name in ["tool", "@@nick.tool", "nick.tool.more", "nick", "NICK.tool", "%20"] {
        let status = refused(&tool, &path(name)).await;
        assert!((400..500).contains(&status), "{name}: {status}");
    }
    // Without an upgrade, nothing is enlisted.
    assert_eq!(tool.get(&path("nick.tool")).await.status, 400);
    assert_eq!(refused(&tool, &(path("nick.tool") + "?purpose=" + &"x".repeat(501))).await, 422);
    assert_eq!(ann.get("/agent/nick.tool/describe").await.status, 404);
    let _socket = attach(&tool, "").await;
    assert_eq!(refused(&ann, &path("nick.tool")).await, 403);
}

/// SC-7: it is known after a crash, its threads with it, and runs wait for it to come back.
#[tokio::test]
async fn sc_7_it_is_known_after_a_crash() {
    let (mut server, [tool, ann]) = Server::with(["@nick.tool", "@ann.cc"]).await;
    let mut socket = attach(&tool, TOLD).await;
    let run = chat(&ann, "nick.tool", "before").await;
    answer(&mut socket).await;
    let before = whole(&ann, &run).await;
    server.kill().await;
    server.restart().await;
    assert_eq!(ann.get("/agent/nick.tool/describe").await.ok(200)["purpose"], "reads mail");
    assert_eq!(whole(&ann, &run).await, before);
    instances(&ann, "nick.tool", 0).await;
    let waits = chat(&ann, "nick.tool", "after").await;
    let mut socket = attach(&tool, "").await;
    answer(&mut socket).await;
    assert_eq!(finish(&whole(&ann, &waits).await), "success");
    assert_eq!(
        ann.get("/agent/nick.tool/describe").await.ok(200)["purpose"],
        "reads mail",
        "it told nothing else"
    );
    let _other = attach(&tool, "?purpose=writes").await;
    assert_eq!(ann.get("/agent/nick.tool/describe").await.ok(200)["purpose"], "writes");
}

/// It is let go by those who own it: what it does ends, it is disconnected, and with a new attachment it is back.
#[tokio::test]
async fn sc_1_it_is_let_go() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let (tool, ann) = (server.agent("@nick.tool").await, server.agent("@ann.cc").await);
    let mut socket = attach(&tool, "").await;
    let run = chat(&ann, "nick.tool", "long").await;
    socket.until_kind("ChatRequest").await;
    let dismiss = "/agent/nick.tool/dismiss";
    assert_eq!(ann.post(dismiss, json!({})).await.status, 403);
    assert_eq!(owner.post(dismiss, json!({})).await.ok(200), json!({"dismissed": true}));
    assert_eq!(socket.ending().await.1, Some(1000));
    assert_eq!(ann.get("/agent/nick.tool/describe").await.status, 404);
    assert_eq!(owner.post(dismiss, json!({})).await.status, 404);
    let mut socket = attach(&tool, "").await;
    let events = whole(&ann, &run).await;
    assert_eq!(finish(&events), "canceled", "{events:?}");
    echoed(&ann, "nick.tool", &mut socket, "again").await;
    let response = server.operator().post("/agent/echo/dismiss", json!({})).await;
    assert_eq!((response.status, &response.json()["code"]), (409, &json!("agent_configured")));
}

/// Without its account it is not there either.
#[tokio::test]
async fn sc_1_it_goes_with_its_account() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let (tool, ann) = (server.agent("@nick.tool").await, server.agent("@ann.cc").await);
    let _socket = attach(&tool, "").await;
    assert_eq!(owner.delete("/_admin/agents/@nick.tool").await.status / 100, 2);
    eventually("it is not listed any more", || async {
        (ann.get("/agent/nick.tool/describe").await.status == 404).then_some(())
    })
    .await;
}

/// SC-1: an agent that stands in the configuration has its whole name too, and is asked and answered alike.
#[tokio::test]
async fn sc_1_a_configured_agent_has_its_whole_name_too() {
    let (_server, [ann]) = Server::with(["@ann.cc"]).await;
    let short = ann.get("/agent/echo/describe").await.ok(200);
    assert_eq!(ann.get("/agent/plenary.echo/describe").await.ok(200), short);
    let ended = ann.post("/agent/plenary.echo/run?wait=result", json!({"input": "hi"})).await;
    let event = ended.ok(200);
    assert_eq!((&event["result"], &event["agent"]), (&json!("hi"), &json!("echo")));
    for name in ["echo", "plenary.echo", "@plenary.echo", "%40plenary.echo"] {
        let threads = ann.get(&format!("/agent/{name}/threads")).await.ok(200);
        assert_eq!(threads[0]["thread_id"], event["thread_id"], "{name}: {threads}");
    }
    assert_eq!(ann.get("/agent/other.echo/describe").await.status, 404);
}

/// It takes part in sessions as every agent of the server does.
#[tokio::test]
async fn it_answers_in_sessions() {
    let (_server, [tool, ann]) = Server::with(["@nick.tool", "@ann.cc"]).await;
    let mut socket = attach(&tool, "").await;
    let body = json!({"invite": ["@nick.tool"], "initial_message": {"content": "are you there?"}});
    let session = ann.open(body).await["session_id"].as_str().expect("a session").to_owned();
    let asked = answer(&mut socket).await;
    assert!(asked["input"].as_str().expect("a text").contains("are you there?"), "{asked}");
    eventually("its answer is a message", || async {
        let events = ann.history(&session).await;
        events
            .into_iter()
            .find(|event| event["type"] == "session.message" && event["payload"]["sender"] == "@nick.tool")
    })
    .await;
}

/// Processes of one store know the same agents.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_3_who_came_to_one_process_is_known_at_the_other() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let start = || Server::builder().database(database.url()).start();
    let (a, b) = tokio::join!(start(), start());
    let (tool, ann) = (a.agent("@nick.tool").await, a.agent("@ann.cc").await);
    let _at_a = attach(&tool, "?purpose=both").await;
    let (tool_b, ann_b) = (tool.at(&b), ann.at(&b));
    eventually("the other one knows it", || async {
        let response = ann_b.get("/agent/nick.tool/describe").await;
        (response.status == 200 && response.json()["purpose"] == "both").then_some(())
    })
    .await;
    let mut at_b = tool_b.socket(&path("nick.tool"), Pongs::Answer).await;
    let run = ann_b.post("/agent/nick.tool/run?wait=result", json!({"input": "over there"}));
    let (response, _) = tokio::join!(run, answer(&mut at_b));
    assert_eq!(response.ok(200)["result"], "over there");
    drop((a, b));
    database.remove().await;
}
