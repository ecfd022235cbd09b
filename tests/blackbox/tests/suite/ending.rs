//! How sessions end, and what is refused afterwards (ASP-21, ASP-23, ASP-68, ASP-72, ASP-75, ASP-77, ASP-105).

use blackbox::{Server, content_of, enter, kinds};
use serde_json::json;

/// ASP-21, ASP-68: any joined participant ends it; everyone present hears of it.
#[tokio::test]
async fn an_end_is_told_to_everyone() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    let mut sockets = [alice.connect().await, bob.connect().await, carol.connect().await];
    let before = blackbox::epoch_ms();
    bob.end(&id).await;
    for socket in &mut sockets {
        let ended = socket.until_kind("session.ended").await.pop().expect("the end");
        blackbox::assert_keys(&ended["payload"], &[], &["ended_by"]);
        assert!(ended["payload"]["ended_by"].is_null() || ended["payload"]["ended_by"] == "@bob.bot");
    }
    let session = alice.show(&id).await;
    assert_eq!(session["state"], "ended");
    let ended_at = session["ended_at"].as_i64().expect("an ended session has ended_at (ASP-70)");
    assert!((before - 1_000..=blackbox::epoch_ms() + 1_000).contains(&ended_at), "{ended_at}");
}

/// ASP-75: who was only invited becomes left, and knows of invitation and end.
#[tokio::test]
async fn an_invitee_becomes_left_at_the_end() {
    let (server, alice, _, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.say(&id, "private").await;
    alice.invite(&id, &["@carol.bot"]).await;
    alice.end(&id).await;
    assert_eq!(carol.status_of(&id, "@carol.bot").await, "left");
    assert_eq!(kinds(&carol.history(&id).await), ["invited", "ended"]);
    let response = carol.post_empty(&format!("/sessions/{id}/join")).await;
    response.assert_refused_any(409, &["session_ended", "not_joined"]);
}

/// ASP-72: nothing goes on in an ended session.
#[tokio::test]
async fn an_ended_session_takes_nothing() {
    let (server, alice, bob, id) = Server::with_pair().await;
    server.agent("@carol.bot").await;
    bob.end(&id).await;
    let before = alice.history(&id).await;
    for agent in [&alice, &bob] {
        let refused = agent.post(&format!("/sessions/{id}/messages"), json!({"content": "x"})).await;
        refused.assert_refused(409, "session_ended");
        let refused = agent.post(&format!("/sessions/{id}/invite"), json!({"invite": ["@carol.bot"]})).await;
        refused.assert_refused(409, "session_ended");
        for verb in ["join", "leave", "end"] {
            agent.post_empty(&format!("/sessions/{id}/{verb}")).await.assert_refused(409, "session_ended");
        }
    }
    assert_eq!(alice.history(&id).await, before, "nothing was written");
}

/// ASP-23: it ends by itself when nobody is joined any more; pending invitees hear of it.
#[tokio::test]
async fn a_session_ends_when_nobody_is_joined() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    let mut to_carol = carol.connect().await;
    alice.leave(&id).await;
    assert_eq!(bob.show(&id).await["state"], "active");
    bob.leave(&id).await;
    assert_eq!(kinds(&to_carol.until_kind("session.ended").await), ["invited", "ended"]);
    assert_eq!(carol.show(&id).await["state"], "ended");
    assert_eq!(carol.status_of(&id, "@carol.bot").await, "left");
    let history = bob.history(&id).await;
    assert_eq!(
        kinds(&history).last(),
        Some(&"left"),
        "who left gets nothing past its own leave: {history:?}"
    );
}

/// ASP-23: a creator alone ends its session by leaving.
#[tokio::test]
async fn the_last_leave_ends_it() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let id = alice.create(&[]).await;
    alice.leave(&id).await;
    assert_eq!(alice.show(&id).await["state"], "ended");
    assert_eq!(alice.status_of(&id, "@alice.bot").await, "left");
    assert_eq!(kinds(&alice.history(&id).await), ["left"]);
}

/// ASP-77, ASP-105: the transcript stays readable, after the end and after a restart.
#[tokio::test]
async fn asp_77_105_the_transcript_is_kept() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let carol = enter(&server, &alice, &id, "@carol.bot").await;
    alice.say(&id, "one").await;
    carol.leave(&id).await;
    bob.say(&id, "two").await;
    alice.end(&id).await;
    let before = [alice.history(&id).await, bob.history(&id).await, carol.history(&id).await];
    assert_eq!(content_of(&before[0]), ["one", "two"]);
    assert_eq!(content_of(&before[2]), ["one"]);
    server.crash().await;
    assert_eq!([alice.history(&id).await, bob.history(&id).await, carol.history(&id).await], before);
}

/// ASP-14: an ended session is not ended twice by a block.
#[tokio::test]
async fn an_ended_session_stays_as_it_is() {
    let (server, alice, bob, id) = Server::with_pair().await;
    alice.end(&id).await;
    let before = alice.history(&id).await;
    server.block(&alice, "@bob.bot").await;
    assert_eq!(alice.history(&id).await, before);
    assert_eq!(bob.history(&id).await, before);
}
