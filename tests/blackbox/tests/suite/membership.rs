//! Inviting, joining, leaving: who may, when, and what it answers
//! (ASP-52, ASP-58, ASP-65 to ASP-68, ASP-73, ASP-74, ASP-76).

use blackbox::{Server, content_of, enter, kinds, room, rounds};
use futures_util::future::join_all;
use serde_json::json;

/// ASP-58, ASP-68: a join is told to everyone present, and once.
#[tokio::test]
async fn a_join_is_told_to_everyone() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let mut to_alice = alice.connect().await;
    let mut to_bob = bob.connect().await;
    to_alice.until_kind("session.joined").await;
    to_bob.until_kind("session.joined").await;
    enter(&server, &alice, &id, "@carol.bot").await;
    for socket in [&mut to_alice, &mut to_bob] {
        let invited = socket.expect("session.invited").await;
        assert_eq!(invited["payload"]["invitee"], "@carol.bot", "joined participants see invitations too");
        let joined = socket.expect("session.joined").await;
        assert_eq!(
            (&joined["payload"], &joined["agent"]),
            (&json!({"agent": "@carol.bot"}), &json!("@carol.bot"))
        );
    }
}

/// D.9: joining twice is 200 and writes nothing.
#[tokio::test]
async fn joining_twice_is_joining_once() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    bob.join(&id).await;
    alice.join(&id).await;
    assert_eq!(kinds(&alice.history(&id).await), ["invited", "joined"]);
    assert_eq!(bob.say(&id, "here").await, 3);
}

/// ASP-65: no body, `{}`, and a member nobody asked for are all the same to join, leave and end.
#[tokio::test]
async fn asp_65_verbs_without_a_body_take_an_empty_object_too() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    for body in [json!({}), json!({"reason": "none"})] {
        let id = alice.create(&[&bob]).await;
        for (agent, verb) in [(&bob, "join"), (&bob, "leave"), (&alice, "end")] {
            let answer = agent.post(&format!("/sessions/{id}/{verb}"), body.clone()).await.ok(200);
            assert_eq!(answer, json!({"ok": true}));
        }
    }
}

/// ASP-66, 2.5 #18: the answer lists only who was newly invited.
#[tokio::test]
async fn an_invitation_answers_with_the_new_ones() {
    let (server, alice, bob, id) = Server::with_pair().await;
    for handle in ["@carol.bot", "@dave.bot"] {
        server.agent(handle).await;
    }
    assert_eq!(
        alice.invite(&id, &["@carol.bot", "@carol.bot", "@alice.bot", "@bob.bot"]).await,
        ["@carol.bot"]
    );
    assert_eq!(alice.invite(&id, &["@carol.bot", "@dave.bot"]).await, ["@dave.bot"]);
    assert!(bob.invite(&id, &["@carol.bot", "@dave.bot"]).await.is_empty());
    assert_eq!(kinds(&alice.history(&id).await), ["invited", "joined", "invited", "invited"]);
}

#[tokio::test]
async fn wrong_invitations_are_refused() {
    let (_server, alice, _, id) = Server::with_pair().await;
    let path = format!("/sessions/{id}/invite");
    for body in [
        json!({}),
        json!({"invite": []}),
        json!({"invite": null}),
        json!({"invite": "@b.c"}),
        json!({"invite": [7]}),
    ] {
        alice.post(&path, body).await.assert_refused(400, "invalid_invite");
    }
    alice.post_empty(&path).await.refusal_code(400);
    assert_eq!(kinds(&alice.history(&id).await), ["invited", "joined"]);
}

/// ASP-73: an invitee may only join.
#[tokio::test]
async fn an_invitee_may_only_join() {
    let (server, alice, _, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    server.agent("@dave.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    let before = alice.history(&id).await;
    carol
        .post(&format!("/sessions/{id}/messages"), json!({"content": "x"}))
        .await
        .assert_refused(409, "not_joined");
    carol
        .post(&format!("/sessions/{id}/invite"), json!({"invite": ["@dave.bot"]}))
        .await
        .assert_refused(409, "not_joined");
    carol.post_empty(&format!("/sessions/{id}/leave")).await.assert_refused(409, "not_joined");
    carol.post_empty(&format!("/sessions/{id}/end")).await.assert_refused(409, "not_joined");
    carol
        .post(&format!("/sessions/{id}/reopen"), json!({}))
        .await
        .assert_refused_any(409, &["session_active", "not_joined"]);
    assert_eq!(alice.history(&id).await, before, "nothing was written");
    carol.join(&id).await;
}

/// ASP-27, ASP-73, ASP-52: who left may do nothing, not even come back alone.
#[tokio::test]
async fn who_left_may_do_nothing() {
    let (server, alice, bob, id) = Server::with_pair().await;
    server.agent("@carol.bot").await;
    bob.leave(&id).await;
    let before = alice.history(&id).await;
    bob.post(&format!("/sessions/{id}/messages"), json!({"content": "x"}))
        .await
        .assert_refused(409, "not_joined");
    bob.post(&format!("/sessions/{id}/invite"), json!({"invite": ["@carol.bot"]}))
        .await
        .assert_refused(409, "not_joined");
    for verb in ["join", "leave", "end"] {
        let refused = bob.post_empty(&format!("/sessions/{id}/{verb}")).await;
        refused.assert_refused(409, "not_joined");
        // It must not advise to join, which was just refused.
        assert!(refused.text().contains("join it if you are invited"), "{refused}");
    }
    bob.post(&format!("/sessions/{id}/reopen"), json!({}))
        .await
        .assert_refused_any(409, &["session_active", "not_joined"]);
    assert_eq!(alice.history(&id).await, before, "nothing was written");
}

/// ASP-68: the leaver and everyone present get the leave; the leaver nothing after it.
#[tokio::test]
async fn a_leave_is_told_to_everyone() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = enter(&server, &alice, &id, "@carol.bot").await;
    let mut sockets = [alice.connect().await, bob.connect().await, carol.connect().await];
    bob.leave(&id).await;
    for socket in &mut sockets {
        let left = socket.until_kind("session.left").await.pop().expect("the leave");
        assert_eq!((&left["payload"]["agent"], &left["agent"]), (&json!("@bob.bot"), &json!("@bob.bot")));
        assert!(left["payload"]["reason"].is_null() || left["payload"]["reason"] == "left", "{left}");
    }
    alice.say(&id, "gone?").await;
    sockets[2].until_text("gone?").await;
    // Fence for the leaver: its next event is the new invitation, with nothing before.
    assert_eq!(alice.invite(&id, &["@bob.bot"]).await, ["@bob.bot"]);
    let next = sockets[1].event().await;
    assert_eq!((&next["type"], &next["payload"]["invitee"]), (&json!("session.invited"), &json!("@bob.bot")));
    assert_eq!(
        bob.status_of(&id, "@bob.bot").await,
        "invited",
        "ASP-76: left becomes invited by a new invitation"
    );
}

/// ASP-52, ASP-76: back by invitation and join; the gap is then readable.
#[tokio::test]
async fn who_left_returns_by_invitation() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "one").await;
    bob.leave(&id).await;
    alice.say(&id, "two").await;
    alice.invite(&id, &["@bob.bot"]).await;
    let history = bob.history(&id).await;
    assert_eq!(content_of(&history), ["one"], "until it joins, only what it could read before");
    assert_eq!(kinds(&history), ["invited", "joined", "message", "left", "invited"]);
    bob.join(&id).await;
    bob.say(&id, "three").await;
    assert_eq!(content_of(&bob.history(&id).await), ["one", "two", "three"]);
    assert_eq!(bob.history(&id).await, alice.history(&id).await);
}

/// ASP-74: there is no way to decline; not joining is declining.
#[tokio::test]
async fn asp_74_there_is_no_decline() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let id = alice.create(&[&bob]).await;
    let response = bob.post_empty(&format!("/sessions/{id}/decline")).await;
    assert!([404, 405].contains(&response.status), "{response}");
    assert_eq!(kinds(&alice.history(&id).await), ["invited"]);
}

/// ASP-42: a join is the identity's: every socket of the agent then hears the session.
#[tokio::test]
async fn a_join_is_for_the_whole_identity() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let id = alice.create(&[&bob]).await;
    alice.say(&id, "early").await;
    let mut sockets = [bob.connect().await, bob.connect().await];
    bob.join(&id).await;
    alice.say(&id, "late").await;
    for socket in &mut sockets {
        assert_eq!(content_of(&socket.until_text("late").await), ["early", "late"]);
    }
}

/// ASP-39: one stream carries every session of the agent, each event with its session's id.
#[tokio::test]
async fn asp_39_one_stream_carries_all_sessions() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(room(&[&alice, &bob]).await);
    }
    let mut to_bob = bob.connect().await;
    for (number, id) in ids.iter().enumerate() {
        alice.say(id, format!("message {number}")).await;
    }
    let mut heard = std::collections::BTreeMap::new();
    while heard.len() < ids.len() {
        let event = to_bob.event().await;
        if event["type"] == "session.message" {
            let content = event["payload"]["content"].as_str().expect("text").to_owned();
            heard.insert(content, event["session_id"].as_str().expect("an id").to_owned());
        }
    }
    assert_eq!(heard.into_values().collect::<Vec<_>>(), ids);
}

/// ASP-18: an invited agent has its session at any time, also while it joins, whoever invited it.
#[tokio::test]
async fn a_session_does_not_disappear_while_an_agent_joins_it() {
    let (_server, [alice, bob]) = Server::with(["@alice.cc", "@bob.cc"]).await;
    for _ in 0..rounds(40, 10) {
        let opened = alice.open(json!({ "invite": [bob.handle] })).await;
        let id = opened["session_id"].as_str().expect("an id").to_owned();
        let joining = tokio::spawn({
            let (bob, id) = (bob.clone(), id.clone());
            async move { bob.join(&id).await }
        });
        while !joining.is_finished() {
            let listed = join_all((0..8).map(|_| bob.get("/sessions"))).await;
            for page in listed {
                assert!(page.ok(200).to_string().contains(&id), "{id} is listed");
            }
        }
        joining.await.expect("joined");
    }
}
