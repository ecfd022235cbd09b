//! Delivery is confirmed by the client's stack: the cursor moves when the pong arrives, not when bytes were written
//! (ASP-43, ASP-45, ASP-48; D.4, D.9; scenarios 16 and 17).

use blackbox::{Agent, Frame, PATIENCE, Server, Socket, content_of, kinds, sequences};
use serde_json::json;

/// Sends `count` messages named by `prefix`, and gives their texts.
async fn talk(agent: &Agent, id: &str, prefix: &str, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    for number in 0..count {
        texts.push(format!("{prefix} {number}"));
        agent.say(id, texts[number].clone()).await;
    }
    texts
}

async fn hear(socket: &mut Socket, texts: &[String]) -> Vec<serde_json::Value> {
    socket.until_text(texts.last().expect("texts")).await
}

/// D.4: a client that never pongs gets everything again, again and again.
#[tokio::test]
async fn without_a_pong_everything_comes_again() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let texts = talk(&alice, &id, "text", 10).await;
    for _ in 0..3 {
        let mut mute = bob.connect_mute().await;
        let heard = hear(&mut mute, &texts).await;
        assert_eq!(content_of(&heard), texts);
        assert_eq!(sequences(&heard)[0], 1, "from the start: nothing was ever confirmed");
        mute.cut().await;
    }
    let mut polite = bob.connect_mute().await;
    assert_eq!(content_of(&hear(&mut polite, &texts).await), texts);
    polite.close().await;
    let mut last = bob.connect().await;
    assert_eq!(
        content_of(&hear(&mut last, &texts).await),
        texts,
        "a clean close without the pong confirms nothing"
    );
}

/// D.9: the server pings within a second after the last event that is not confirmed, and does not wait for the ping that
/// looks after idle connections: that one would come too late for so many rounds.
#[tokio::test]
async fn a_ping_follows_the_last_event() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut socket = bob.connect().await;
    socket.until_kind("session.joined").await;
    let rounds = async {
        for round in 0..10 {
            let text = format!("round {round}");
            alice.say(&id, text.clone()).await;
            socket.until_text(&text).await;
            while socket.frame().await != Frame::Ping {}
        }
    };
    tokio::time::timeout(3 * PATIENCE, rounds).await.expect("a ping follows each event");
}

/// D.4: what was confirmed does not come again; what came after does.
#[tokio::test]
async fn what_was_confirmed_does_not_come_again() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let first = talk(&alice, &id, "first", 5).await;
    let mut socket = bob.connect().await;
    hear(&mut socket, &first).await;
    socket.wait_until_confirmed().await;
    socket.cut().await;
    let second = talk(&alice, &id, "second", 5).await;
    let mut mute = bob.connect_mute().await;
    assert_eq!(content_of(&hear(&mut mute, &second).await), second);
    mute.cut().await;
    let mut again = bob.connect().await;
    assert_eq!(content_of(&hear(&mut again, &second).await), second, "the unconfirmed, and only they");
}

/// The same over an orderly restart: confirmed cursors are kept.
#[tokio::test]
async fn confirmed_cursors_survive_a_shutdown() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let first = talk(&alice, &id, "first", 5).await;
    let mut socket = bob.connect().await;
    hear(&mut socket, &first).await;
    socket.wait_until_confirmed().await;
    server.stop().await;
    server.restart().await;
    let second = talk(&alice, &id, "second", 3).await;
    let mut again = bob.connect().await;
    assert_eq!(content_of(&hear(&mut again, &second).await), second);
}

/// D.4: a crash may bring repeats, never a gap, and nothing unconfirmed is skipped.
#[tokio::test]
async fn the_unconfirmed_survives_a_crash() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let first = talk(&alice, &id, "first", 5).await;
    let mut socket = bob.connect().await;
    hear(&mut socket, &first).await;
    socket.wait_until_confirmed().await;
    socket.cut().await;
    let second = talk(&alice, &id, "second", 5).await;
    let mut mute = bob.connect_mute().await;
    hear(&mut mute, &second).await;
    server.crash().await;
    mute.ending().await;
    let mut again = bob.connect().await;
    let heard = hear(&mut again, &second).await;
    assert!(
        content_of(&heard).ends_with(&second.iter().map(String::as_str).collect::<Vec<_>>()),
        "{heard:?}"
    );
    let numbers = sequences(&heard);
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "no gap: {numbers:?}");
}

/// D.9: the stored cursor is the lowest that the live connections confirmed: a new one starts there.
#[tokio::test]
async fn a_new_connection_starts_at_the_slowest() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut prompt = bob.connect().await;
    let mut mute = bob.connect_mute().await;
    let texts = talk(&alice, &id, "text", 5).await;
    hear(&mut prompt, &texts).await;
    hear(&mut mute, &texts).await;
    prompt.wait_until_confirmed().await;
    let mut third = bob.connect().await;
    assert_eq!(content_of(&hear(&mut third, &texts).await), texts, "the mute one has confirmed nothing");
}

/// D.9: one device's pong never hides another's loss.
#[tokio::test]
async fn a_pong_of_one_device_does_not_hide_the_loss_of_another() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut prompt = bob.connect().await;
    let mut lost = bob.connect_mute().await;
    let texts = talk(&alice, &id, "text", 5).await;
    hear(&mut prompt, &texts).await;
    hear(&mut lost, &texts).await;
    prompt.wait_until_confirmed().await;
    lost.cut().await;
    let mut back = bob.connect().await;
    assert_eq!(
        content_of(&hear(&mut back, &texts).await),
        texts,
        "what the lost device did not confirm comes again"
    );
}

/// The same when the prompt device goes too, and through a crash.
#[tokio::test]
async fn the_loss_of_one_device_outlives_the_other_and_a_crash() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let mut prompt = bob.connect().await;
    let mut lost = bob.connect_mute().await;
    let texts = talk(&alice, &id, "text", 5).await;
    hear(&mut prompt, &texts).await;
    hear(&mut lost, &texts).await;
    prompt.wait_until_confirmed().await;
    server.crash().await;
    prompt.ending().await;
    lost.ending().await;
    let mut back = bob.connect().await;
    assert_eq!(content_of(&hear(&mut back, &texts).await), texts);
}

/// D.9: repeats happen only on a new connection: on one connection every number comes once.
#[tokio::test]
async fn one_connection_repeats_nothing() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut mute = bob.connect_mute().await;
    talk(&alice, &id, "first", 5).await;
    let helper = bob.connect().await;
    talk(&alice, &id, "second", 5).await;
    helper.cut().await;
    alice.say(&id, "fence").await;
    let heard = mute.until_text("fence").await;
    blackbox::assert_gapless(&heard, 1);
}

/// The application's own ping is answered, confirms nothing, and everything else is ignored without harm.
#[tokio::test]
async fn the_application_ping_is_answered_and_confirms_nothing() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let texts = talk(&alice, &id, "text", 3).await;
    let mut mute = bob.connect_mute().await;
    hear(&mut mute, &texts).await;
    for _ in 0..3 {
        mute.round_trip().await;
    }
    mute.cut().await;
    let mut again = bob.connect().await;
    assert_eq!(content_of(&hear(&mut again, &texts).await), texts);
}

/// A pong with another payload than the ping's confirms nothing.
#[tokio::test]
async fn a_made_up_pong_confirms_nothing() {
    use blackbox::{encode, wsframe::PONG};
    let (_server, alice, bob, id) = Server::with_pair().await;
    let texts = talk(&alice, &id, "text", 3).await;
    let mut mute = bob.connect_mute().await;
    hear(&mut mute, &texts).await;
    for payload in [&b""[..], b"0", b"\xff\xff\xff\xff\xff\xff\xff\xff", b"18446744073709551615"] {
        mute.raw(&encode(true, PONG, payload, true)).await.expect("sent");
    }
    mute.round_trip().await;
    mute.cut().await;
    let mut again = bob.connect().await;
    assert_eq!(content_of(&hear(&mut again, &texts).await), texts);
}

/// ASP-45: the cursor runs over all events, and for an invitee over what it may see.
#[tokio::test]
async fn asp_45_cursors_run_over_all_events() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    let mut to_carol = carol.connect().await;
    to_carol.expect("session.invited").await;
    to_carol.wait_until_confirmed().await;
    to_carol.close().await;
    bob.leave(&id).await;
    alice.end(&id).await;
    let mut again = carol.connect().await;
    assert_eq!(kinds(&again.until_kind("session.ended").await), ["ended"]);
}

/// ASP-48: nothing marks an event as read: not a look at the history, not a call, not a text on the socket.
#[tokio::test]
async fn asp_48_nothing_marks_an_event_as_read() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let texts = talk(&alice, &id, "text", 3).await;
    let mut mute = bob.connect_mute().await;
    let last = hear(&mut mute, &texts).await.last().expect("events")["sequence"].clone();
    assert_eq!(content_of(&bob.history(&id).await), texts);
    for verb in ["read", "seen", "ack", "cursor"] {
        let path = format!("/sessions/{id}/{verb}");
        for answer in [
            bob.post(&path, json!({ "sequence": last })).await,
            bob.put(&path, json!({ "sequence": last })).await,
        ] {
            assert!([404, 405].contains(&answer.status), "{verb}: {answer}");
        }
        let text = json!({"type": format!("session.{verb}"), "session_id": id, "sequence": last});
        mute.text(&text.to_string()).await;
    }
    mute.round_trip().await;
    mute.cut().await;
    let mut again = bob.connect().await;
    assert_eq!(content_of(&hear(&mut again, &texts).await), texts);
}
