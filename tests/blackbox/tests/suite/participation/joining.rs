//! Being invited, joining, answering. Must not know: what an agent does beyond its answer.

use blackbox::{Server, eventually};
use serde_json::json;

use super::speak::{
    ECHO, PUPPET, config, contents, hosted, joined, messages, opened, playing, puppet, said_by, say_with,
    says, threads,
};

/// It joins, and answers the message that it was invited with, and the next one.
#[tokio::test]
async fn an_invited_agent_joins_and_answers() {
    let (server, nick) = playing().await;
    let id = opened(&nick, &[ECHO], Some("hello")).await;
    joined(&nick, &id, ECHO).await;
    let said = says(&nick, &id, ECHO, 1).await;
    assert_eq!(contents(&said), ["hello"]);
    assert_eq!(said[0]["metadata"]["in_reply_to"], 1, "{said:?}");
    let sequence = nick.say(&id, "again").await;
    let said = says(&nick, &id, ECHO, 2).await;
    assert_eq!(contents(&said), ["hello", "again"]);
    assert_eq!(said[1]["metadata"]["in_reply_to"], sequence, "{said:?}");
    let threads = threads(&server.operator(), "echo").await;
    assert_eq!(threads.len(), 1, "one thread for one session: {threads:?}");
    assert_eq!(threads[0]["runs"].as_array().map(Vec::len), Some(2));
    let listed = nick.get("/agent/echo/threads").await.ok(200);
    assert_eq!(listed, json!([]), "the thread is the agent's own");
}

/// The request tells who speaks, where, and what stands beside it.
#[tokio::test]
async fn a_run_knows_its_message() {
    let (server, nick) = playing().await;
    let id = opened(&nick, &[PUPPET], None).await;
    joined(&nick, &id, PUPPET).await;
    let sequence = say_with(&nick, &id, "request", json!({"a": [1]})).await;
    let said = says(&nick, &id, PUPPET, 1).await;
    let request: serde_json::Value = serde_json::from_str(contents(&said)[0]).expect("the line that it got");
    let context = &request["run_context"];
    for (member, value) in [
        ("session_id", json!(id)),
        ("sequence", json!(sequence)),
        ("sender", json!("@nick.ann")),
        ("hops", json!(0)),
        ("depth", json!(0)),
    ] {
        assert_eq!(context[member], value, "{request}");
    }
    assert_eq!((&request["request_metadata"], &request["content"]), (&json!({"a": [1]}), &json!("request")));
    drop(server);
}

/// What the program puts out as text is heard, with a result that says something else.
#[tokio::test]
async fn text_and_result_are_both_heard() {
    let (server, nick) = playing().await;
    let id = opened(&nick, &[PUPPET], None).await;
    joined(&nick, &id, PUPPET).await;
    for (nth, (script, expected)) in [
        ("text It is 4.\ndone finished", "It is 4.\n\nfinished"),
        ("text Let me look.\ntext It is 4.\ndone It is 4.", "It is 4."),
        ("text It is 4.", "It is 4."),
    ]
    .into_iter()
    .enumerate()
    {
        nick.say(&id, script).await;
        let said = says(&nick, &id, PUPPET, nth + 1).await;
        assert_eq!(contents(&said)[nth], expected, "{script}");
    }
    drop(server);
}

/// Whom its policy denies does not reach it.
#[tokio::test]
async fn asp_17_its_policy_decides_who_invites_it() {
    let tables = [hosted("echo", "kind = \"echo\"\nallowlist = [\"@nick.*\"]"), hosted("puppet", &puppet())];
    let server = Server::builder().config(&tables.concat()).start().await;
    let (nick, mallory) = (server.agent("@nick.ann").await, server.agent("@mallory.bot").await);
    for (who, handle) in [(&mallory, ECHO), (&nick, PUPPET), (&mallory, PUPPET)] {
        who.post("/sessions", json!({"invite": [handle]})).await.ok(404);
    }
    let id = opened(&nick, &[ECHO], Some("hi")).await;
    assert_eq!(contents(&says(&nick, &id, ECHO, 1).await), ["hi"]);
}

/// Among three it answers those that name it.
#[tokio::test]
async fn among_three_it_answers_who_names_it() {
    let (server, nick) = playing().await;
    let bob = server.agent("@bob.bot").await;
    let id = opened(&nick, &[ECHO, "@bob.bot"], None).await;
    bob.join(&id).await;
    joined(&nick, &id, ECHO).await;
    nick.say(&id, "hello everybody").await;
    nick.say(&id, "hello @acme.echoes").await;
    bob.say(&id, "you there, @acme.echo?").await;
    let said = says(&nick, &id, ECHO, 1).await;
    assert_eq!(contents(&said), ["you there, @acme.echo?"]);
}

/// What an agent makes comes with its answer.
#[tokio::test]
async fn an_artifact_comes_with_the_answer() {
    let (_server, nick) = playing().await;
    let id = opened(&nick, &[ECHO], None).await;
    joined(&nick, &id, ECHO).await;
    say_with(&nick, &id, "a report", json!({"demo": ["tool_call", "artifact"]})).await;
    let said = says(&nick, &id, ECHO, 1).await;
    let parts = &said[0]["content"];
    assert_eq!((&parts[0]["type"], &parts[0]["text"]), (&json!("text"), &json!("a report")), "{parts}");
    assert_eq!((&parts[1]["type"], &parts[1]["name"]), (&json!("file"), &json!("echo.txt")), "{parts}");
    assert!(parts[1]["url"].as_str().is_some_and(|url| url.starts_with("data:text/plain")), "{parts}");
}

/// A run that fails says so, once.
#[tokio::test]
async fn a_failure_is_said() {
    let (_server, nick) = playing().await;
    let id = opened(&nick, &[ECHO], None).await;
    joined(&nick, &id, ECHO).await;
    say_with(&nick, &id, "x", json!({"demo": [{"fail": "no paper"}]})).await;
    let said = says(&nick, &id, ECHO, 1).await;
    assert_eq!(contents(&said), ["The run failed: no paper"]);
    assert_eq!(
        (&said[0]["metadata"]["code"], &said[0]["metadata"]["notice"]),
        (&json!("run_failed"), &json!(true))
    );
}

/// The end of a session is the end of what goes on there; reopened, it goes on.
#[tokio::test]
async fn the_end_of_a_session_ends_its_runs() {
    let (server, nick) = playing().await;
    let id = opened(&nick, &[PUPPET], Some("hang")).await;
    let operator = server.operator();
    let run = super::switch::active(&operator, "puppet").await;
    nick.end(&id).await;
    super::switch::over(&operator, "puppet", &run, "canceled").await;
    nick.reopen(&id, json!({"initial_message": {"content": "text back"}})).await;
    let said = says(&nick, &id, PUPPET, 1).await;
    assert_eq!(contents(&said), ["back"]);
}

/// After a crash in the middle there is one answer, not two and not none.
#[tokio::test]
async fn over_a_crash_each_message_has_one_answer() {
    let (mut server, nick) = playing().await;
    let id = opened(&nick, &[ECHO], None).await;
    joined(&nick, &id, ECHO).await;
    for round in 0..blackbox::rounds(6, 2) {
        let before = said_by(&nick, &id, ECHO).await.len();
        for n in 0..5 {
            nick.say(&id, format!("{round}/{n}")).await;
        }
        server.crash().await;
        let said = says(&nick, &id, ECHO, before + 5).await;
        let replies: Vec<_> =
            said.iter().map(|message| message["metadata"]["in_reply_to"].to_string()).collect();
        let mut once = replies.clone();
        once.sort();
        once.dedup();
        assert_eq!((said.len(), once.len()), (before + 5, before + 5), "{replies:?}");
    }
    // A fence: what comes now comes behind everything that was left to be said.
    nick.say(&id, "last").await;
    let count = said_by(&nick, &id, ECHO).await.len().max(1);
    says(&nick, &id, ECHO, count).await;
    let all = messages(&nick, &id).await;
    let asked = all.iter().filter(|message| message["sender"] == "@nick.ann").count();
    says(&nick, &id, ECHO, asked).await;
    assert_eq!(said_by(&nick, &id, ECHO).await.len(), asked);
}

/// An account that was made by hand is that of the agent, and keeps its policy.
#[tokio::test]
async fn an_account_made_by_hand_is_the_agents() {
    let mut server =
        Server::builder().seed(json!({"@acme.echo": "pla_by_hand"})).config(&config()).start().await;
    let nick = server.agent("@nick.ann").await;
    let echo = blackbox::Agent::new(ECHO, server.address().clone(), "pla_by_hand");
    echo.get("/sessions").await.ok(200);
    server.crash().await;
    echo.get("/sessions").await.ok(200);
    let id = opened(&nick, &[ECHO], Some("hi")).await;
    assert_eq!(contents(&says(&nick, &id, ECHO, 1).await), ["hi"]);
}

/// Deleted, it is out of everything, also after a restart.
#[tokio::test]
async fn a_deleted_agent_takes_no_part() {
    let (mut server, nick) = playing().await;
    let id = opened(&nick, &[PUPPET], Some("hang")).await;
    let operator = server.operator();
    let run = super::switch::active(&operator, "puppet").await;
    operator.delete("/_admin/agents/@acme.puppet").await.ok(204);
    super::switch::over(&operator, "puppet", &run, "canceled").await;
    eventually("it has left", || async { (nick.status_of(&id, PUPPET).await == "left").then_some(()) }).await;
    server.crash().await;
    nick.post("/sessions", json!({"invite": [PUPPET]})).await.ok(404);
    nick.post("/sessions", json!({"invite": [ECHO]})).await.ok(201);
}
