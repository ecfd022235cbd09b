//! Blocks: unilateral, stronger than any policy, and an ordinary leave for whoever looks on
//! (ASP-12 to ASP-15, ASP-17, ASP-18).

use blackbox::{Server, content_of, kinds, room};
use serde_json::json;

/// ASP-14: the blocked is out of every shared session; others see an ordinary session.left and go on.
#[tokio::test]
async fn a_block_ejects_from_shared_sessions() {
    let (server, alice, bob, first) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&first, &["@carol.bot"]).await;
    carol.join(&first).await;
    let second = room(&[&carol, &bob, &alice]).await;
    let apart = room(&[&carol, &bob]).await;
    let mut to_carol = carol.connect().await;
    alice.say(&first, "sync").await;
    to_carol.until_text("sync").await;
    server.block(&alice, "@bob.bot").await;
    let mut told = std::collections::BTreeSet::new();
    for _ in [&first, &second] {
        let left = to_carol.until_kind("session.left").await.pop().expect("a leave");
        told.insert(left["session_id"].as_str().expect("an id").to_owned());
        assert_eq!(left["payload"]["agent"], "@bob.bot");
        assert!(left["payload"]["reason"].is_null() || left["payload"]["reason"] == "left", "{left}");
        assert_eq!(left["agent"], "@bob.bot");
    }
    assert_eq!(told, [first.clone(), second.clone()].into());
    for id in [&first, &second] {
        assert_eq!(carol.status_of(id, "@bob.bot").await, "left");
        assert_eq!(carol.show(id).await["state"], "active");
        alice.say(id, "we go on").await;
        to_carol.until_text("we go on").await;
    }
    assert_eq!(
        carol.status_of(&apart, "@bob.bot").await,
        "joined",
        "a session without the blocker is untouched"
    );
    bob.say(&apart, "here").await;
}

/// ASP-14: if nobody else is there, the session ends.
#[tokio::test]
async fn a_block_between_two_ends_the_session() {
    let (server, alice, bob, id) = Server::with_pair().await;
    server.block(&alice, "@bob.bot").await;
    assert_eq!(kinds(&alice.history(&id).await), ["invited", "joined", "left", "ended"]);
    assert_eq!(alice.show(&id).await["state"], "ended");
    assert_eq!(
        kinds(&bob.history(&id).await),
        ["invited", "joined", "left"],
        "left gets nothing past its own leave"
    );
}

/// D.9: it goes on while somebody is still invited.
#[tokio::test]
async fn a_block_leaves_a_session_with_invitees_open() {
    let (server, alice, _, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    server.block(&alice, "@bob.bot").await;
    assert_eq!(alice.show(&id).await["state"], "active");
    carol.join(&id).await;
    alice.say(&id, "welcome").await;
}

/// ASP-15: the blocked gets its own leave and nothing more; what it had stays readable.
#[tokio::test]
async fn the_blocked_receives_nothing_more() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = blackbox::enter(&server, &alice, &id, "@carol.bot").await;
    let other = room(&[&carol, &bob]).await;
    alice.say(&id, "before").await;
    let mut to_bob = bob.connect().await;
    carol.say(&other, "sync").await;
    to_bob.until_text("sync").await;
    server.block(&alice, "@bob.bot").await;
    alice.say(&id, "after, from alice").await;
    carol.say(&id, "after, from carol").await;
    let mut to_carol = carol.connect().await;
    to_carol.until_text("after, from carol").await;
    carol.say(&other, "fence").await;
    let left = to_bob.until_kind("session.left").await.pop().expect("its own leave");
    assert_eq!((&left["session_id"], &left["agent"]), (&json!(id), &json!("@bob.bot")));
    let rest = to_bob.until_text("fence").await;
    assert!(
        rest.iter().all(|event| event["session_id"] != id.as_str()),
        "nothing past its own leave: {rest:?}"
    );
    let history = bob.history(&id).await;
    assert_eq!(content_of(&history), ["before"]);
    assert_eq!(history.last().expect("events")["type"], "session.left");
    assert_eq!(bob.status_of(&id, "@bob.bot").await, "left");
}

/// D.9: afterwards the ejected is answered like anyone who left; only reopening is not there for it.
#[tokio::test]
async fn the_blocked_is_answered_like_one_who_left() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = blackbox::enter(&server, &alice, &id, "@carol.bot").await;
    let dave = blackbox::enter(&server, &alice, &id, "@dave.bot").await;
    dave.leave(&id).await;
    server.block(&alice, "@bob.bot").await;
    for (verb, body) in [
        ("messages", Some(json!({"content": "hello"}))),
        ("invite", Some(json!({"invite": ["@carol.bot"]}))),
        ("join", None),
        ("leave", None),
        ("end", None),
    ] {
        let path = format!("/sessions/{id}/{verb}");
        let ejected = bob.call("POST", &path, &[], body.as_ref()).await;
        ejected.assert_refused(409, "not_joined");
        let left = dave.call("POST", &path, &[], body.as_ref()).await;
        assert_eq!(ejected.fingerprint(), left.fingerprint(), "{verb}");
    }
    carol.end(&id).await;
    bob.post(&format!("/sessions/{id}/reopen"), json!({})).await.assert_refused(404, "not_found");
}

/// D.9: a pending invitation dies with the block.
#[tokio::test]
async fn a_block_ends_a_pending_invitation() {
    let (server, alice, bob, _) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    let id = carol.create(&[&alice, &bob]).await;
    alice.join(&id).await;
    server.block(&alice, "@bob.bot").await;
    assert_eq!(carol.status_of(&id, "@bob.bot").await, "left");
    bob.post_empty(&format!("/sessions/{id}/join")).await.assert_refused(409, "not_joined");
    alice.say(&id, "private").await;
    assert!(content_of(&bob.history(&id).await).is_empty());
}

/// ASP-12, ASP-13, ASP-15, ASP-17: no new session brings the two together, whoever tries and whatever the policies.
#[tokio::test]
async fn a_block_refuses_every_new_contact() {
    let server = Server::start().await;
    let alice = server.closed_agent("@alice.bot", &["@bob.bot", "@carol.bot"]).await;
    let bob = server.closed_agent("@bob.bot", &["@alice.bot", "@carol.bot"]).await;
    let carol = server.agent("@carol.bot").await;
    server.block(&alice, "@bob.bot").await;
    alice.post("/sessions", json!({"invite": ["@bob.bot"]})).await.assert_refused(404, "not_found");
    bob.post("/sessions", json!({"invite": ["@alice.bot"]})).await.assert_refused(404, "not_found");
    for order in [json!(["@alice.bot", "@bob.bot"]), json!(["@bob.bot", "@alice.bot"])] {
        carol.post("/sessions", json!({ "invite": order })).await.assert_refused(404, "not_found");
    }
    let with_alice = room(&[&carol, &alice]).await;
    let path = format!("/sessions/{with_alice}/invite");
    carol.post(&path, json!({"invite": ["@bob.bot"]})).await.assert_refused(404, "not_found");
    alice.post(&path, json!({"invite": ["@bob.bot"]})).await.assert_refused(404, "not_found");
    let with_bob = room(&[&carol, &bob]).await;
    let path = format!("/sessions/{with_bob}/invite");
    carol.post(&path, json!({"invite": ["@alice.bot"]})).await.assert_refused(404, "not_found");
    let pending = carol.create(&[&bob]).await;
    let path = format!("/sessions/{pending}/invite");
    carol.post(&path, json!({"invite": ["@alice.bot"]})).await.assert_refused(404, "not_found");
}

/// ASP-15, ASP-78: nobody leaves an ended session, so a later block takes from nobody what others said there before.
#[tokio::test]
async fn a_block_hides_nothing_of_a_session_that_has_ended() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = blackbox::enter(&server, &alice, &id, "@carol.bot").await;
    alice.say(&id, "the last word").await;
    alice.end(&id).await;
    server.block(&bob, "@carol.bot").await;
    let inbox = carol.get("/inbox").await.ok(200);
    assert_eq!(inbox["items"].as_array().map(Vec::len), Some(1), "{inbox}");
    let mut to_carol = carol.connect().await;
    to_carol.until_text("the last word").await;
    to_carol.until_kind("session.ended").await;
}

/// D.9: a reopening skips whoever the block keeps apart.
#[tokio::test]
async fn a_reopening_respects_blocks() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = blackbox::enter(&server, &alice, &id, "@carol.bot").await;
    carol.end(&id).await;
    server.block(&alice, "@bob.bot").await;
    alice.reopen(&id, json!({})).await;
    assert_eq!(alice.status_of(&id, "@carol.bot").await, "invited");
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "left");
    assert_eq!(kinds(&bob.history(&id).await).last(), Some(&"ended"));
    bob.post_empty(&format!("/sessions/{id}/join")).await.assert_refused(409, "not_joined");
}

/// Lifting a block allows new contact; it puts nobody back.
#[tokio::test]
async fn lifting_a_block_allows_new_contact() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = blackbox::enter(&server, &alice, &id, "@carol.bot").await;
    server.block(&alice, "@bob.bot").await;
    server.operator().delete("/_admin/agents/@alice.bot/blocks/@bob.bot").await.ok(200);
    assert_eq!(carol.status_of(&id, "@bob.bot").await, "left");
    bob.post_empty(&format!("/sessions/{id}/join")).await.assert_refused(409, "not_joined");
    assert_eq!(carol.invite(&id, &["@bob.bot"]).await, ["@bob.bot"]);
    bob.join(&id).await;
    room(&[&bob, &alice]).await;
}

/// Blocks and their effects outlive a crash.
#[tokio::test]
async fn blocks_outlive_a_crash() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    server.block(&alice, "@bob.bot").await;
    server.crash().await;
    assert_eq!(alice.show(&id).await["state"], "ended");
    bob.post("/sessions", json!({"invite": ["@alice.bot"]})).await.assert_refused(404, "not_found");
    bob.post(&format!("/sessions/{id}/messages"), json!({"content": "x"})).await.refusal_code(409);
}
