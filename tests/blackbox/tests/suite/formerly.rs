//! What a session shows to whoever has left it: it ends where its own events end (ASP-70, ASP-80, D.9).

use blackbox::{Agent, Server, enter, pair};
use serde_json::{Value, json};

/// `GET /sessions/{id}` and the entry of `GET /sessions`, which agree.
async fn view(agent: &Agent, id: &str) -> Value {
    let shown = agent.show(id).await;
    let listed = agent.get("/sessions").await.ok(200);
    let listed =
        listed["sessions"].as_array().expect("a list").iter().find(|entry| entry["id"] == id).cloned();
    assert_eq!(listed.as_ref(), Some(&shown), "the list shows the same");
    shown
}

fn handles(view: &Value) -> Vec<&str> {
    let participants = view["participants"].as_array().expect("a list").iter();
    participants.map(|participant| participant["handle"].as_str().expect("a handle")).collect()
}

#[tokio::test]
async fn who_has_left_sees_nobody_who_came_later_nor_the_end() {
    let mut server = Server::start().await;
    let (alice, bob, id) = pair(&server).await;
    let dave = enter(&server, &alice, &id, "@dave.bot").await;
    bob.leave(&id).await;
    let left = view(&bob, &id).await;
    enter(&server, &alice, &id, "@later.bot").await;
    dave.leave(&id).await;
    alice.end(&id).await;
    assert_eq!(view(&bob, &id).await, left, "nothing of what followed");
    assert_eq!(handles(&left), ["@alice.bot", "@bob.bot", "@dave.bot"]);
    assert_eq!((&left["state"], left.get("ended_at")), (&json!("active"), None));
    assert_eq!(dave.status_of(&id, "@later.bot").await, "joined", "who left later saw more");
    alice.reopen(&id, json!({"invite": ["@later.bot"]})).await;
    server.crash().await;
    assert_eq!(view(&bob, &id).await, left, "also after a restart");
    assert_eq!(view(&alice, &id).await["state"], "active");
}

#[tokio::test]
async fn who_was_blocked_sees_nothing_of_what_follows() {
    let server = Server::start().await;
    let (alice, bob, id) = pair(&server).await;
    enter(&server, &alice, &id, "@carol.bot").await;
    server.block(&alice, "@bob.bot").await;
    let blocked = view(&bob, &id).await;
    assert_eq!(bob.status_of(&id, "@bob.bot").await, "left");
    enter(&server, &alice, &id, "@later.bot").await;
    alice.end(&id).await;
    assert_eq!(view(&bob, &id).await, blocked);
    assert_eq!((handles(&blocked).len(), &blocked["state"]), (3, &json!("active")));
}

#[tokio::test]
async fn who_is_not_asked_back_sees_the_session_as_it_ended() {
    let server = Server::start().await;
    let (alice, bob, id) = pair(&server).await;
    alice.end(&id).await;
    let ended = view(&bob, &id).await;
    alice.reopen(&id, json!({"invite": []})).await;
    enter(&server, &alice, &id, "@later.bot").await;
    let frozen = view(&bob, &id).await;
    assert_eq!((&frozen["state"], &frozen["ended_at"]), (&json!("ended"), &ended["ended_at"]));
    assert_eq!(handles(&frozen), ["@alice.bot", "@bob.bot"]);
    assert_eq!(bob.status_of(&id, "@bob.bot").await, "left", "by its own standing it is answered");
}

#[tokio::test]
async fn who_is_asked_back_sees_its_invitation_and_the_rest_once_it_joins() {
    let server = Server::start().await;
    let (alice, bob, id) = pair(&server).await;
    bob.leave(&id).await;
    enter(&server, &alice, &id, "@later.bot").await;
    alice.invite(&id, &["@bob.bot"]).await;
    let asked = view(&bob, &id).await;
    assert_eq!((handles(&asked).len(), bob.status_of(&id, "@bob.bot").await.as_str()), (2, "invited"));
    bob.join(&id).await;
    assert_eq!(handles(&view(&bob, &id).await), ["@alice.bot", "@bob.bot", "@later.bot"]);
}

/// An invitee is told who invites and the topic, nothing more (ASP-57); its view says no more.
#[tokio::test]
async fn an_invitee_sees_who_invited_it() {
    let server = Server::start().await;
    let (_, bob, id) = pair(&server).await;
    let carol = server.agent("@carol.bot").await;
    enter(&server, &bob, &id, "@dave.bot").await;
    bob.invite(&id, &["@carol.bot"]).await;
    assert_eq!(handles(&view(&carol, &id).await), ["@alice.bot", "@bob.bot", "@carol.bot"]);
    carol.join(&id).await;
    assert_eq!(handles(&view(&carol, &id).await).len(), 4);
}
