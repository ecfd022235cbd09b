//! Agents of another server of this protocol, here a second one of the same kind. SC-1, SC-14, SC-22, SC-26, SC-44 to
//! SC-46. Must not know: how the first server follows the second.

use std::time::Duration;

use blackbox::{Agent, Relay, Server};
use serde_json::json;

use super::speak::{
    Gates, PUPPET, acting_at, cancel, chat, chat_on, finish, hosted, known, outcome, playing, resume, said,
    status_becomes, types, whole,
};

const AGENT: &str = "far";

/// Two servers: the far one with its programs, the near one with one of them as its own; and who asks at the near one.
async fn two() -> (Server, Server, Agent) {
    let (far, guest) = playing().await;
    let near = near(&far.url(), PUPPET, guest.token()).await;
    let nick = near.agent("@nick.ann").await;
    (far, near, nick)
}

async fn near(url: &str, agent: &str, token: &str) -> Server {
    let lines = format!("kind = \"remote\"\nurl = \"{url}/agent/{agent}\"\ntoken_env = \"FAR_TOKEN\"");
    Server::builder().config(&hosted(AGENT, &lines)).env("FAR_TOKEN", token).start().await
}

/// SC-14: what happens there is told here, in runs of this server's own.
#[tokio::test]
async fn sc_14_a_far_run_is_told_here() {
    let (_far, _near, nick) = two().await;
    let call = json!({"type": "ToolCall", "function_name": "f", "args": {"a": 1}});
    let events = outcome(&nick, AGENT, &format!("text a\nevent {call}\ntext b\ndone the result")).await;
    assert_eq!(types(&events), ["RunStarted", "TextOutput", "ToolCall", "TextOutput", "RunCompleted"]);
    assert_eq!((said(&events), finish(&events)), (vec!["a", "b"], "success"));
    assert_eq!(events[4]["result"], "the result");
}

/// SC-4: a thread here is a thread there.
#[tokio::test]
async fn sc_4_a_thread_is_a_thread_there() {
    let (_far, _near, nick) = two().await;
    let thread = |events: &[serde_json::Value]| {
        let line: serde_json::Value = serde_json::from_str(said(events)[0]).expect("JSON");
        line["thread_id"].clone()
    };
    let first = chat(&nick, AGENT, "request").await;
    let there = thread(&whole(&nick, &first).await);
    assert_eq!(thread(&whole(&nick, &chat_on(&nick, &first, "request").await).await), there);
    assert_ne!(thread(&outcome(&nick, AGENT, "request").await), there);
}

/// SC-4: and it stays one when the near server starts again.
#[tokio::test]
async fn sc_4_a_thread_there_is_known_after_a_restart() {
    let (_far, mut near, nick) = two().await;
    let thread = |events: &[serde_json::Value]| {
        let line: serde_json::Value = serde_json::from_str(said(events)[0]).expect("JSON");
        line["thread_id"].clone()
    };
    let first = chat(&nick, AGENT, "request").await;
    let there = thread(&whole(&nick, &first).await);
    near.stop().await;
    near.restart().await;
    assert_eq!(thread(&whole(&nick, &chat_on(&nick, &first, "request").await).await), there);
    near.crash().await;
    assert_eq!(thread(&whole(&nick, &chat_on(&nick, &first, "request").await).await), there);
}

/// SC-44 to SC-46 over both.
#[tokio::test]
async fn sc_44_sc_45_sc_46_questions_and_cancels_reach_it() {
    let (_far, _near, nick) = two().await;
    let run = chat(&nick, AGENT, "ask name=Who?\nanswer").await;
    status_becomes(&nick, &run, "waiting").await;
    assert_eq!(known(&nick, &run).await[1]["request_keys"], json!({"name": "Who?"}));
    resume(&nick, &run, json!({"name": "Ann"})).await;
    assert_eq!(said(&whole(&nick, &run).await), ["{\"name\":\"Ann\"}"]);
    let gates = Gates::new();
    let note = gates.path("note");
    let run = chat(&nick, AGENT, &format!("oncancel {}\n{}hang", note.display(), gates.mark("on"))).await;
    gates.reached("on").await;
    cancel(&nick, &run).await;
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
    blackbox::eventually("the far program was told", || async { note.exists().then_some(()) }).await;
}

/// SC-26: an error there, a refusal, nobody there.
#[tokio::test]
async fn sc_26_far_trouble_is_an_error() {
    let (far, _near, nick) = two().await;
    assert_eq!(finish(&outcome(&nick, AGENT, "text a\nexit 1").await), "error");
    drop(far);
    assert_eq!(finish(&outcome(&nick, AGENT, "text a").await), "error");
    let (far, guest) = playing().await;
    for (agent, token) in [("nobody", guest.token()), (PUPPET, "pla_wrong")] {
        let near = near(&far.url(), agent, token).await;
        let nick = near.agent("@nick.ann").await;
        let events = outcome(&nick, AGENT, "text a").await;
        assert_eq!(finish(&events), "error");
        assert!(!json!(events).to_string().contains(token), "the token is not told");
    }
}

/// The far server dies in the middle of a run: the run here ends, one way or the other, and the next one is sound.
#[tokio::test]
async fn sc_26_a_far_crash_ends_the_run() {
    let (mut far, _near, nick) = two().await;
    let run = acting_at(&nick, AGENT, "text a\nhang").await;
    blackbox::eventually("the text is here", || async { (known(&nick, &run).await.len() > 1).then_some(()) })
        .await;
    far.kill().await;
    let patience = Duration::from_secs(90);
    blackbox::eventually_within(patience, "the run ends", || async {
        (super::speak::status(&nick, &run).await["status"] == "error").then_some(())
    })
    .await;
    assert_eq!(said(&whole(&nick, &run).await), ["a"], "each text once");
}

/// SC-22: a chain of servers shows in the depth, and has an end where it closes a ring.
#[tokio::test]
async fn sc_22_a_chain_shows_in_the_depth() {
    let (_far, near_server, nick) = two().await;
    let events = outcome(&nick, AGENT, "request").await;
    let line: serde_json::Value = serde_json::from_str(said(&events)[0]).expect("JSON");
    let depth = line["depth"].as_u64().or_else(|| line["run_context"]["depth"].as_u64());
    assert!(depth >= Some(1), "the far program knows that it was called by an agent: {line}");
    // A ring: an agent that is itself, at its own server.
    let relay = Relay::to(&near_server).await;
    let token = "pla_ring000000000000000000000000000000000000000000000000000000000";
    let lines =
        format!("kind = \"remote\"\nurl = \"{}/agent/{AGENT}\"\ntoken_env = \"FAR_TOKEN\"", relay.url());
    let ring = Server::builder()
        .config(&hosted(AGENT, &lines))
        .seed(json!({"@ring.one": token}))
        .env("FAR_TOKEN", token)
        .start()
        .await;
    relay.point_at(&ring);
    let one = Agent::new("@ring.one", ring.address().clone(), token);
    assert_eq!(finish(&outcome(&one, AGENT, "round and round").await), "error");
}

/// The kind of server does not matter: one agent may be several servers away.
#[tokio::test]
async fn sc_1_an_agent_may_be_two_servers_away() {
    let (far, guest) = playing().await;
    let middle = near(&far.url(), PUPPET, guest.token()).await;
    let broker = middle.agent("@broker.b").await;
    let first = near(&middle.url(), AGENT, broker.token()).await;
    let nick = first.agent("@nick.ann").await;
    assert_eq!(said(&outcome(&nick, AGENT, "text far\ndone ok").await), ["far"]);
}
