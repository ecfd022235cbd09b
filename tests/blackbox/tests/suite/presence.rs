//! Connections and what others see of them (ASP-41, ASP-49 to ASP-53, ASP-92).

use std::time::Duration;

use blackbox::{Server, content_of, enter, epoch_ms, kinds, pair, room};
use serde_json::json;

/// ASP-49, ASP-50: the last connection drops: disconnected, still joined; back in time: reconnected, nothing missed.
#[tokio::test]
async fn asp_92_a_short_absence_is_told_and_healed() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut to_alice = alice.connect().await;
    let mut to_bob = bob.connect().await;
    to_bob.until_kind("session.joined").await;
    to_alice.until_kind("session.joined").await;
    to_bob.wait_until_confirmed().await;
    to_bob.cut().await;
    let gone = to_alice.event().await;
    assert_eq!(
        (&gone["type"], &gone["payload"]),
        (&json!("session.disconnected"), &json!({"agent": "@bob.bot"}))
    );
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "joined");
    alice.say(&id, "missed").await;
    to_alice.until_text("missed").await;
    let mut again = bob.connect().await;
    let back = to_alice.event().await;
    assert_eq!(
        (&back["type"], &back["payload"]),
        (&json!("session.reconnected"), &json!({"agent": "@bob.bot"}))
    );
    let heard = again.until_kind("session.reconnected").await;
    assert_eq!(kinds(&heard), ["disconnected", "message", "reconnected"], "ASP-44: the queued come first");
    assert_eq!(content_of(&heard), ["missed"]);
}

/// ASP-49: it is told in every active session it is joined in, and in no other.
#[tokio::test]
async fn an_absence_is_told_where_it_matters() {
    let (_server, alice, bob, first) = Server::with_pair().await;
    let second = room(&[&alice, &bob]).await;
    let ended = room(&[&alice, &bob]).await;
    alice.end(&ended).await;
    let only_invited = alice.create(&[&bob]).await;
    let left = room(&[&alice, &bob]).await;
    bob.leave(&left).await;
    let mut to_alice = alice.connect().await;
    bob.come_and_go().await;
    let mut told = std::collections::BTreeSet::new();
    while told.len() < 2 {
        let event = to_alice.event().await;
        if event["type"] == "session.disconnected" {
            told.insert(event["session_id"].as_str().expect("an id").to_owned());
        }
    }
    assert_eq!(told, std::collections::BTreeSet::from([first.clone(), second.clone()]));
    for id in [&ended, &only_invited, &left] {
        assert!(!kinds(&alice.history(id).await).contains(&"disconnected"));
    }
    let again = bob.connect().await;
    let mut healed = std::collections::BTreeSet::new();
    while healed.len() < 2 {
        let event = to_alice.until_kind("session.reconnected").await.pop().expect("an event");
        healed.insert(event["session_id"].as_str().expect("an id").to_owned());
    }
    assert_eq!(healed, told);
    again.close().await;
}

/// ASP-51, ASP-52: past the grace it has left; back only by invitation and join.
#[tokio::test]
async fn a_long_absence_is_a_leave() {
    let server = Server::builder().grace("300ms").start().await;
    let (alice, bob, id) = pair(&server).await;
    let mut to_alice = alice.connect().await;
    bob.come_and_go().await;
    let gone = to_alice.until_kind("session.disconnected").await.pop().expect("the drop");
    let left = to_alice.event().await;
    assert_eq!(left["type"], "session.left");
    assert_eq!(left["payload"], json!({"agent": "@bob.bot", "reason": "grace_expired"}));
    let waited = left["created_at"].as_i64().zip(gone["created_at"].as_i64()).map(|(left, gone)| left - gone);
    assert!(waited.is_some_and(|waited| waited >= 290), "the whole grace was given: {waited:?}");
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "left");
    let mut again = bob.connect().await;
    bob.post_empty(&format!("/sessions/{id}/join")).await.assert_refused(409, "not_joined");
    bob.post(&format!("/sessions/{id}/messages"), json!({"content": "x"}))
        .await
        .assert_refused(409, "not_joined");
    alice.say(&id, "without bob").await;
    to_alice.until_text("without bob").await;
    let heard = again.until_kind("session.left").await;
    assert_eq!(
        kinds(&heard),
        ["invited", "joined", "disconnected", "left"],
        "its own leave is the last it gets"
    );
    alice.invite(&id, &["@bob.bot"]).await;
    let invited = again.event().await;
    assert_eq!(invited["type"], "session.invited");
    bob.join(&id).await;
    let transcript = again.until_kind_behind("session.joined", &invited["sequence"]).await;
    assert_eq!(content_of(&transcript).last(), Some(&"without bob"));
    assert!(!kinds(&alice.history(&id).await).contains(&"reconnected"), "left is not disconnected any more");
}

/// ASP-23, ASP-51: when the grace takes the last one, the session ends.
#[tokio::test]
async fn the_grace_can_end_a_session() {
    let server = Server::builder().grace("200ms").start().await;
    let (alice, bob, id) = pair(&server).await;
    alice.leave(&id).await;
    bob.come_and_go().await;
    blackbox::eventually("the session ends", || async {
        (bob.show(&id).await["state"] == "ended").then_some(())
    })
    .await;
    assert_eq!(bob.status_of(&id, "@bob.bot").await, "left");
}

/// ASP-53: further connections coming and going are nobody's business.
#[tokio::test]
async fn asp_53_extra_connections_make_no_events() {
    let server = Server::builder().grace("200ms").start().await;
    let (alice, bob, id) = pair(&server).await;
    let mut to_alice = alice.connect().await;
    to_alice.until_kind("session.joined").await;
    let mut stays = bob.connect().await;
    stays.wait_until_served().await;
    for _ in 0..5 {
        let one = bob.connect().await;
        let two = bob.connect().await;
        one.cut().await;
        two.close().await;
    }
    alice.say(&id, "fence").await;
    assert_eq!(kinds(&to_alice.until_text("fence").await), ["message"]);
    stays.cut().await;
    to_alice.expect("session.disconnected").await;
}

/// D.9: `reconnected` only follows a `disconnected`: a first connection is no return.
#[tokio::test]
async fn a_first_connection_is_no_return() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut to_alice = alice.connect().await;
    to_alice.until_kind("session.joined").await;
    let mut to_bob = bob.connect().await;
    alice.say(&id, "fence").await;
    assert_eq!(kinds(&to_alice.until_text("fence").await), ["message"]);
    to_bob.until_text("fence").await;
    assert!(!kinds(&alice.history(&id).await).contains(&"reconnected"));
}

/// 2.5 #12: who never connected is offline, but no clock runs for it.
#[tokio::test]
async fn no_clock_runs_for_the_never_connected() {
    let server = Server::builder().grace("100ms").start().await;
    let (alice, bob, id) = pair(&server).await;
    let carol = enter(&server, &alice, &id, "@carol.bot").await;
    let mut to_alice = alice.connect().await;
    // Carol's clock runs out, so bob's, started before, would have too.
    carol.come_and_go().await;
    let heard = to_alice.until_kind("session.left").await;
    assert!(heard.iter().all(|event| event["agent"] != "@bob.bot" || event["type"] == "session.joined"));
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "joined");
    bob.say(&id, "still here").await;
}

/// A closing handshake is a drop like any other.
#[tokio::test]
async fn a_clean_close_is_a_drop_too() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut to_alice = alice.connect().await;
    let mut to_bob = bob.connect().await;
    to_bob.until_kind("session.joined").await;
    to_bob.close().await;
    to_alice.until_kind("session.disconnected").await;
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "joined");
}

/// 2.5 #12: no presence events on a shutdown, nor for those who were connected at a crash.
#[tokio::test]
async fn a_restart_makes_no_events() {
    let mut server = Server::builder().grace("200ms").start().await;
    let (alice, bob, id) = pair(&server).await;
    let carol = enter(&server, &alice, &id, "@carol.bot").await;
    let before = alice.history(&id).await;
    for round in 0..2 {
        let mut sockets = [bob.connect().await, carol.connect().await];
        for socket in &mut sockets {
            socket.wait_until_served().await;
        }
        if round == 0 {
            server.stop().await
        } else {
            server.kill().await
        }
        server.restart().await;
        for socket in &mut sockets {
            socket.ending().await;
        }
    }
    // Another's grace runs out meanwhile: if clocks ran for bob and carol, they would have too.
    let dave = server.agent("@dave.bot").await;
    let other = room(&[&alice, &dave]).await;
    dave.come_and_go().await;
    blackbox::eventually("dave's grace runs out", || async {
        (alice.status_of(&other, "@dave.bot").await == "left").then_some(())
    })
    .await;
    assert_eq!(alice.history(&id).await, before);
    let mut back = bob.connect().await;
    alice.say(&id, "fence").await;
    back.until_text("fence").await;
    assert_eq!(kinds(&alice.history(&id).await[before.len()..]), ["message"], "and no return either");
}

/// D.9: a restart in the grace starts the grace again, and then it runs out.
#[tokio::test]
async fn a_restart_starts_the_grace_again() {
    let mut server = Server::builder().grace("10s").start().await;
    let (alice, bob, id) = pair(&server).await;
    let mut to_alice = alice.connect().await;
    bob.come_and_go().await;
    to_alice.until_kind("session.disconnected").await;
    server.kill().await;
    let down = epoch_ms();
    server.restart().await;
    let mut to_alice = alice.connect().await;
    let left = to_alice.until_kind("session.left").await.pop().expect("the leave");
    assert_eq!(left["payload"], json!({"agent": "@bob.bot", "reason": "grace_expired"}));
    let at = left["created_at"].as_i64().expect("a time");
    assert!(at >= down + 9_990, "the grace was given anew: {} ms after the restart", at - down);
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "left");
}

/// ASP-50: back after a restart within the grace: one `reconnected`, no `left`.
#[tokio::test]
async fn a_return_after_a_restart_heals() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let mut to_alice = alice.connect().await;
    bob.come_and_go().await;
    to_alice.until_kind("session.disconnected").await;
    server.crash().await;
    let mut to_alice = alice.connect().await;
    let _to_bob = bob.connect().await;
    to_alice.until_kind("session.reconnected").await;
    assert_eq!(alice.status_of(&id, "@bob.bot").await, "joined");
}

/// Scenario 22: returns around the deadline: exactly one of `reconnected` and `left`, and the status agrees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn returns_around_the_deadline_have_one_outcome() {
    let server = Server::builder().grace("60ms").start().await;
    let (alice, bob, _) = pair(&server).await;
    let mut to_alice = alice.connect().await;
    for round in 0..blackbox::rounds(40, 10) {
        let id = room(&[&alice, &bob]).await;
        bob.come_and_go().await;
        to_alice.until(|e| e["type"] == "session.disconnected" && e["session_id"] == id.as_str()).await;
        let pause = 50 + u64::try_from(round % 20).expect("small");
        blackbox::strike_after(Duration::from_millis(pause)).await;
        let to_bob = bob.connect().await;
        let outcome = to_alice
            .until(|e| {
                e["session_id"] == id.as_str()
                    && (e["type"] == "session.reconnected" || e["type"] == "session.left")
            })
            .await;
        if outcome.last().is_some_and(|event| event["type"] == "session.reconnected") {
            assert_eq!(bob.status_of(&id, "@bob.bot").await, "joined");
            bob.say(&id, "back").await;
        } else {
            assert_eq!(bob.status_of(&id, "@bob.bot").await, "left");
        }
        alice.end(&id).await;
        let log = alice.history(&id).await;
        let outcomes = kinds(&log).iter().filter(|kind| ["reconnected", "left"].contains(kind)).count();
        assert_eq!(outcomes, 1, "{:?}", kinds(&log));
        to_bob.close().await;
    }
}
