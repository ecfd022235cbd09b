//! A person speaks with the token of its owner, and `X-ASP-Agent` beside it.

use blackbox::{Caller, Response, Server};
use serde_json::{Value, json};

const NICK: (&str, &str) = ("X-ASP-Agent", "@nick.nick");

async fn post(caller: &Caller, path: &str, body: Value) -> Response {
    caller.call("POST", path, &[NICK], Some(&body)).await
}

async fn get(caller: &Caller, path: &str) -> Response {
    caller.call("GET", path, &[NICK], None).await
}

#[tokio::test]
async fn the_token_of_an_owner_speaks_as_its_person_and_is_answered() {
    let server = Server::start().await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.cc").await);
    assert_eq!(get(&owner, "/agents/me").await.ok(200)["handle"], "@nick.nick");
    let made = json!({"invite": ["@nick.cc"], "initial_message": {"content": "Is it done?"}});
    let id = post(&owner, "/sessions", made).await.ok(201)["session_id"].as_str().expect("an id").to_owned();
    agent.post_empty(&format!("/sessions/{id}/join")).await.ok(200);
    let sequence = agent.say(&id, "It is.").await;
    let inbox = get(&owner, "/inbox").await.ok(200);
    let item = &inbox["items"][0];
    assert_eq!((&item["from"], &item["text"]), (&json!("@nick.cc"), &json!("It is.")), "{inbox}");
    let path = format!("/sessions/{id}/messages/{sequence}/status");
    let state = async || agent.get(&path).await.ok(200)["recipients"][0]["state"].clone();
    assert_eq!(state().await, "accepted");
    let seen = json!({"cursor": inbox["cursor"], "state": "seen"});
    post(&owner, "/inbox/ack", seen).await.ok(200);
    assert_eq!(state().await, "in_context");
    post(&owner, &format!("/sessions/{id}/messages"), json!({"content": "Good."})).await.ok(201);
    assert_eq!(state().await, "answered");
    assert_eq!(get(&server.operator(), "/agents/me").await.ok(200)["handle"], "@nick.nick");
}

#[tokio::test]
async fn a_reopened_session_invites_the_person_of_the_owner() {
    let server = Server::start().await;
    let (_owner, agent, other) =
        (server.owner("nick").await, server.agent("@nick.cc").await, server.agent("@nick.bob").await);
    let id = agent.create(&[&other]).await;
    agent.end(&id).await;
    agent.reopen(&id, json!({"invite": ["@nick.bob", "@nick.nick"]})).await;
    assert_eq!(agent.status_of(&id, "@nick.nick").await, "invited");
}

#[tokio::test]
async fn it_speaks_as_nobody_else() {
    let server = Server::start().await;
    let (owner, other) = (server.owner("nick").await, server.owner("acme").await);
    server.agent("@nick.cc").await;
    for named in ["@nick.cc", "@acme.acme", "@nick.nobody", "@nick", "nick"] {
        owner
            .call("GET", "/agents/me", &[("X-ASP-Agent", named)], None)
            .await
            .assert_refused(401, "invalid_authorization");
    }
    get(&other, "/agents/me").await.assert_refused(401, "invalid_authorization");
    let twice = [NICK, NICK];
    owner.call("GET", "/agents/me", &twice, None).await.assert_refused(401, "invalid_authorization");
    owner.get("/agents/me").await.refusal_code(401);
    post(&owner, "/auth/ticket", json!({})).await.assert_refused(403, "token_required");
    let socket = owner.try_socket("/connect", &[NICK], blackbox::Pongs::Answer).await;
    socket.expect_err("no socket for a person").assert_refused(403, "token_required");
}

#[tokio::test]
async fn it_ends_with_the_token_of_the_owner_also_within_an_append_and_a_wait() {
    let server = Server::start().await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.cc").await);
    let made = json!({"invite": ["@nick.cc"], "initial_message": {"content": "Hi"}});
    let id = post(&owner, "/sessions", made).await.ok(201)["session_id"].as_str().expect("an id").to_owned();
    agent.post_empty(&format!("/sessions/{id}/join")).await.ok(200);
    let waiting = {
        let owner = owner.clone();
        tokio::spawn(async move { get(&owner, "/inbox/wait?timeout_s=60").await })
    };
    let new = server.operator().post_empty("/_admin/owners/nick/rotate-token").await.ok(200);
    post(&owner, &format!("/sessions/{id}/messages"), json!({"content": "x"})).await.refusal_code(401);
    // It wakes whoever waits, whose token is looked at before it is told anything.
    agent.say(&id, "news").await;
    let ended = blackbox::in_time("the wait", waiting).await.expect("a wait");
    ended.assert_refused(401, "invalid_authorization");
    let owner = server.bearer(new["token"].as_str().expect("a token"));
    post(&owner, &format!("/sessions/{id}/messages"), json!({"content": "x"})).await.ok(201);
}
