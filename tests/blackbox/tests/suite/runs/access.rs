//! Who may run, read and steer: D.8. The protocol itself leaves it open (SC-8).

use blackbox::{Caller, Server};
use serde_json::{Value, json};

use super::speak::{
    ECHO, OWNER, PUPPET, Run, acting, at, cancel, chat, echoing, events_of, finish, known, list, playing,
    refused, serving, status, status_becomes, tell, thread, whole,
};
use super::sse::Events;

/// Everybody who may not, of every kind.
async fn outsiders(server: &Server) -> Vec<(&'static str, Caller)> {
    let sibling = server.agent("@nick.other").await;
    let stranger = server.agent("@other.bob").await;
    vec![
        ("another agent of the requester's owner", (*sibling).clone()),
        ("another agent", (*stranger).clone()),
        ("another owner", server.owner("third").await),
    ]
}

/// Everything that can be read of a run.
fn views(run: &Run) -> Vec<String> {
    vec![
        at(&run.agent, &format!("runs/{}", run.id)),
        events_of(run, ""),
        events_of(run, "?since=0"),
        events_of(run, "?stream=true"),
        at(&run.agent, &format!("get_events?run_id={}", run.id)),
        at(&run.agent, &format!("get_events/{}", run.thread)),
        at(&run.agent, &format!("get_events?thread_id={}", run.thread)),
    ]
}

/// D.8: readable by whoever started it, its agent's owner and the operator; for all others it is not there.
#[tokio::test]
async fn sc_8_a_run_is_read_by_requester_owner_and_operator() {
    let (server, nick) = echoing().await;
    let owner = server.owner(OWNER).await;
    let run = chat(&nick, ECHO, "private words").await;
    let all = whole(&nick, &run).await;
    for who in [&*nick, &owner, &server.operator()] {
        assert_eq!(known(who, &run).await, all);
        assert_eq!(status(who, &run).await["status"], "completed");
        assert!(thread(who, &run).await.is_some());
        for view in views(&run) {
            assert_eq!(who.get(&view).await.status, 200, "{view}");
        }
    }
    let absent = Run { id: "00000000-0000-4000-8000-000000000000".to_owned(), ..run.clone() };
    for (what, who) in outsiders(&server).await {
        for view in views(&run) {
            let response = who.get(&view).await;
            refused(&response, 404);
            assert!(!response.text().contains("private"), "{what}: {response}");
        }
        let threads = who.get(&at(ECHO, "threads")).await;
        match what {
            // An owner's token speaks as no agent: of the agents of others it has none.
            "another owner" => assert_eq!(refused(&threads, 404), "agent_not_found"),
            _ => assert_eq!(list(threads.ok(200)), Vec::<Value>::new(), "{what}"),
        }
        let denied = who.get(&events_of(&run, "")).await.text().replace(&run.id, "ID");
        assert_eq!(denied, who.get(&events_of(&absent, "")).await.text().replace(&absent.id, "ID"), "{what}");
    }
}

/// D.8: the built-in agent is open to every token.
#[tokio::test]
async fn sc_8_every_token_may_run_the_built_in_agent() {
    let server = serving(&[]).await;
    let nick = server.agent("@nick.ann").await;
    let closed = server.closed_agent("@nick.shy", &[]).await;
    let owner = server.owner("nick").await;
    let callers = [("requester", (*nick).clone()), ("owner", owner), ("operator", server.operator())];
    let callers = callers.into_iter().chain([("who admits nobody", (*closed).clone())]);
    for (what, who) in callers.chain(outsiders(&server).await) {
        let run = chat(&who, ECHO, what).await;
        assert_eq!(finish(&whole(&who, &run).await), "success", "{what}");
        assert!(!list(who.get(&at(ECHO, "threads")).await.ok(200)).is_empty(), "{what}");
    }
}

/// Foreign runs are neither steered nor gone on with.
#[tokio::test]
async fn sc_46_outsiders_steer_nothing() {
    let (server, nick) = playing().await;
    let active = acting(&nick, "hang").await;
    let waiting = chat(&nick, PUPPET, "ask a=A?\nanswer").await;
    status_becomes(&nick, &waiting, "waiting").await;
    for (what, who) in outsiders(&server).await {
        for run in [&active, &waiting] {
            refused(&tell(&who, run, "CancelRequest", json!({})).await, 404);
            refused(&tell(&who, run, "ResumeWithInput", json!({"request_keys": {"a": what}})).await, 404);
            for path in ["run", "run?wait=true", "stream_request"] {
                let body = json!({"input": "text x", "thread_id": run.thread});
                refused(&who.post(&at(PUPPET, path), body).await, 404);
            }
        }
    }
    assert_eq!(status(&nick, &active).await["status"], "running");
    assert_eq!(status(&nick, &waiting).await["status"], "waiting");
    assert_eq!(thread(&nick, &active).await.expect("listed")["runs"], json!([active.id]));
    // The operator may.
    cancel(&server.operator(), &active).await;
    cancel(&server.operator(), &waiting).await;
    for run in [&active, &waiting] {
        assert_eq!(finish(&whole(&nick, run).await), "canceled");
    }
}

/// The agent's owner is one of those who may end what its agent does.
#[tokio::test]
async fn sc_46_the_owner_cancels() {
    let (server, nick) = playing().await;
    let owner = server.owner(OWNER).await;
    let run = acting(&nick, "hang").await;
    cancel(&owner, &run).await;
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
}

/// D.8: a run or thread of another agent is 404 under this one, for everybody.
#[tokio::test]
async fn sc_7_a_run_is_under_its_agent_alone() {
    let (server, nick) = playing().await;
    let owner = server.owner(OWNER).await;
    let run = chat(&nick, ECHO, "x").await;
    whole(&nick, &run).await;
    let elsewhere = Run { agent: PUPPET.to_owned(), ..run };
    for who in [&*nick, &owner, &server.operator()] {
        for view in views(&elsewhere) {
            refused(&who.get(&view).await, 404);
        }
        for kind in ["CancelRequest", "ResumeWithInput"] {
            refused(&tell(who, &elsewhere, kind, json!({"request_keys": {}})).await, 404);
        }
        let body = json!({"input": "x", "thread_id": elsewhere.thread});
        refused(&who.post(&at(PUPPET, "run"), body).await, 404);
    }
}

/// Nothing private is in the server's log, whatever is refused.
#[tokio::test]
async fn sc_8_texts_are_not_logged() {
    let (mut server, nick) = playing().await;
    let canary = "canary-7f3a";
    let run = chat(&nick, PUPPET, &format!("text {canary}\nerr other\nfinish error")).await;
    whole(&nick, &run).await;
    nick.post(&at(ECHO, "run"), json!({"input": [canary]})).await;
    nick.post_raw(&at(ECHO, "run"), format!("{{\"input\":\"{canary}").as_bytes()).await;
    nick.get(&at(ECHO, &format!("get_events/{canary}"))).await;
    server.stop().await;
    assert!(!server.output_text().contains(&format!("text {canary}")), "no request is printed");
    assert!(!server.output_text().contains(nick.token()), "no token is printed");
}

/// D.1: a browser, which cannot set a header on an EventSource, opens a stream with a ticket, once.
#[tokio::test]
async fn sc_37_a_ticket_opens_one_stream() {
    let (server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "x").await;
    let all = whole(&nick, &run).await;
    let made = nick.post_empty("/auth/ticket").await.ok(200);
    let ticket = made["ticket"].as_str().expect("a ticket");
    let path = events_of(&run, &format!("?stream=true&ticket={ticket}"));
    let stranger = server.stranger();
    assert_eq!(Events::get(&stranger, &path).await.rest().await, all);
    assert_eq!(stranger.get(&path).await.status, 401, "a ticket is used once");
    let other = server.agent("@other.bob").await;
    let made = other.post_empty("/auth/ticket").await.ok(200);
    let path =
        events_of(&run, &format!("?stream=true&ticket={}", made["ticket"].as_str().expect("a ticket")));
    refused(&stranger.get(&path).await, 404);
}
