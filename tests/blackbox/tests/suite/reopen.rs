//! Reopening (ASP-21, ASP-24, ASP-60, ASP-62, ASP-69, ASP-91).

use blackbox::{Server, assert_gapless, content_of, enter, kinds};
use serde_json::json;

/// ASP-24, ASP-60, ASP-69: same id, transcript kept, everyone who was joined invited afresh.
#[tokio::test]
async fn asp_91_a_reopened_session_goes_on() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "before").await;
    bob.end(&id).await;
    let mut to_alice = alice.connect().await;
    let mut to_bob = bob.connect().await;
    to_alice.until_kind("session.ended").await;
    to_bob.until_kind("session.ended").await;
    alice.reopen(&id, json!({"initial_message": {"content": "follow-up", "metadata": {"k": 1}}})).await;
    let session = alice.show(&id).await;
    assert_eq!((&session["state"], &session["id"]), (&json!("active"), &json!(id)));
    assert!(session["ended_at"].is_null(), "an active session has no end: {session}");
    assert_eq!(alice.status_of(&id, "@alice.bot").await, "joined");
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "invited");
    let heard = to_alice.until_kind("session.invited").await;
    assert_eq!(kinds(&heard), ["reopened", "message", "invited"]);
    assert_eq!(heard[0]["payload"], json!({"reopened_by": "@alice.bot"}));
    let heard = to_bob.until_kind("session.invited").await;
    assert_eq!(kinds(&heard), ["reopened", "invited"], "no content before joining (ASP-30)");
    assert_eq!(heard[1]["payload"]["by"], "@alice.bot");
    bob.join(&id).await;
    let heard = to_bob.until_kind_behind("session.joined", &heard[1]["sequence"]).await;
    assert!(content_of(&heard).ends_with(&["follow-up"]), "{heard:?}");
    let log = bob.history(&id).await;
    assert_gapless(&log, 1);
    assert_eq!(content_of(&log), ["before", "follow-up"]);
    assert_eq!(log, alice.history(&id).await);
}

/// 2.5 #9: a given list replaces the default; prior ones are told of both, new ones only of the invitation.
#[tokio::test]
async fn a_reopening_may_choose_whom() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = enter(&server, &alice, &id, "@carol.bot").await;
    let dave = server.agent("@dave.bot").await;
    alice.say(&id, "private").await;
    alice.end(&id).await;
    bob.reopen(&id, json!({"invite": ["@alice.bot", "@dave.bot"]})).await;
    for (agent, status) in [(&alice, "invited"), (&bob, "joined"), (&carol, "left"), (&dave, "invited")] {
        assert_eq!(bob.status_of(&id, &agent.handle).await, status, "{}", agent.handle);
    }
    assert_eq!(kinds(&dave.history(&id).await), ["invited"]);
    assert_eq!(kinds(&dave.connect().await.until_kind("session.invited").await), ["invited"]);
    let again = alice.history(&id).await;
    assert_eq!(kinds(&again[again.len() - 2..]), ["reopened", "invited"], "what it had, and its invitation");
    let frozen = carol.history(&id).await;
    assert_eq!(
        kinds(&frozen).last(),
        Some(&"ended"),
        "who is not asked back is frozen at the end: {frozen:?}"
    );
    carol.post_empty(&format!("/sessions/{id}/join")).await.assert_refused(409, "not_joined");
    carol
        .post(&format!("/sessions/{id}/messages"), json!({"content": "x"}))
        .await
        .assert_refused(409, "not_joined");
    let left: Vec<_> =
        bob.history(&id).await.into_iter().filter(|event| event["type"] == "session.left").collect();
    assert!(left.is_empty(), "becoming left by not being asked is no event: {left:?}");
}

/// An explicit empty list invites nobody.
#[tokio::test]
async fn a_reopening_may_be_alone() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.end(&id).await;
    alice.reopen(&id, json!({"invite": []})).await;
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "left");
    alice.say(&id, "alone").await;
    assert!(!content_of(&bob.history(&id).await).contains(&"alone"));
}

/// ASP-62: only who was joined when it ended may reopen.
#[tokio::test]
async fn only_the_joined_may_reopen() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let left = enter(&server, &alice, &id, "@left.bot").await;
    left.leave(&id).await;
    let invited = server.agent("@invited.bot").await;
    alice.invite(&id, &["@invited.bot"]).await;
    let stranger = server.agent("@stranger.bot").await;
    alice.post(&format!("/sessions/{id}/reopen"), json!({})).await.assert_refused(409, "session_active");
    alice.end(&id).await;
    let before = alice.history(&id).await;
    for agent in [&left, &invited] {
        agent.post(&format!("/sessions/{id}/reopen"), json!({})).await.refusal_code(409);
    }
    stranger.post(&format!("/sessions/{id}/reopen"), json!({})).await.assert_refused(404, "not_found");
    assert_eq!(alice.history(&id).await, before, "nothing was written");
    bob.reopen(&id, json!({})).await;
    alice
        .post(&format!("/sessions/{id}/reopen"), json!({}))
        .await
        .assert_refused_any(409, &["session_active", "not_joined"]);
}

/// 2.5 #10: a session that everyone left cannot be reopened.
#[tokio::test]
async fn an_abandoned_session_stays_ended() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.leave(&id).await;
    bob.leave(&id).await;
    for agent in [&alice, &bob] {
        agent.post(&format!("/sessions/{id}/reopen"), json!({})).await.refusal_code(409);
    }
    for agent in [&alice, &bob] {
        assert_eq!(agent.show(&id).await["state"], "ended", "whoever left first");
    }
}

/// ASP-62: trust is checked afresh; who refuses now is skipped silently.
#[tokio::test]
async fn trust_is_checked_afresh() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let bob = server.closed_agent("@bob.bot", &["@alice.bot"]).await;
    let carol = server.agent("@carol.bot").await;
    let id = blackbox::room(&[&alice, &bob, &carol]).await;
    alice.end(&id).await;
    server.operator().delete("/_admin/agents/@bob.bot/allowlist/@alice.bot").await.ok(200);
    alice.reopen(&id, json!({"invite": ["@bob.bot", "@carol.bot", "@nobody.bot"]})).await;
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "left");
    assert_eq!(alice.status_of(&id, "@carol.bot").await, "invited");
    assert_eq!(alice.status_of(&id, "@nobody.bot").await, "none");
    assert_eq!(kinds(&bob.history(&id).await).last(), Some(&"ended"));
}

/// D.9: reachable invitees of a send-and-end count as joined at the end: the acknowledgement of section 7.2.
#[tokio::test]
async fn the_invitee_of_a_send_and_end_may_reopen() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let body = json!({"invite": ["@bob.bot"], "end_after_send": true, "initial_message": {"content": "FYI"}});
    let made = alice.open(body).await;
    let id = made["session_id"].as_str().expect("an id");
    bob.reopen(id, json!({"initial_message": {"content": "thanks"}})).await;
    assert_eq!(bob.status_of(id, "@alice.bot").await, "invited");
    assert_eq!(content_of(&bob.history(id).await), ["FYI", "thanks"]);
    alice.join(id).await;
    assert_eq!(content_of(&alice.history(id).await), ["FYI", "thanks"]);
}

#[tokio::test]
async fn wrong_reopenings_are_refused() {
    let (_server, alice, _, id) = Server::with_pair().await;
    alice.end(&id).await;
    let path = format!("/sessions/{id}/reopen");
    for (body, code) in [
        (json!({"invite": "@bob.bot"}), "invalid_invite"),
        (json!({"invite": ["bob"]}), "invalid_invite"),
        (json!({"initial_message": "x"}), "invalid_initial_message"),
    ] {
        alice.post(&path, body).await.assert_refused(400, code);
    }
    assert_eq!(alice.show(&id).await["state"], "ended");
    let bare = alice.post_empty(&path).await;
    assert_eq!(bare.ok(200), json!({"ok": true}), "every member is optional");
}

/// ASP-21: end and reopen, again and again, and through a crash.
#[tokio::test]
async fn a_session_may_end_and_reopen_many_times() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    for round in 0..5 {
        bob.say(&id, format!("round {round}")).await;
        bob.end(&id).await;
        server.crash().await;
        alice.reopen(&id, json!({})).await;
        bob.join(&id).await;
    }
    let log = alice.history(&id).await;
    assert_gapless(&log, 1);
    assert_eq!(content_of(&log).len(), 5);
    assert_eq!(bob.history(&id).await, log);
}
