//! What reaches whom, live and after an absence
//! (ASP-25 to ASP-28, ASP-30, ASP-40, ASP-43, ASP-44, ASP-46, ASP-47, ASP-78 to ASP-81, ASP-85, ASP-97).

use blackbox::{Server, assert_gapless, content_of, enter, kinds, sequences};
use serde_json::{Value, json};

/// ASP-25, ASP-46, ASP-79: an invitee hears of its own invitation and of the end, of nothing between.
#[tokio::test]
async fn an_invitee_hears_only_of_itself() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    server.agent("@dave.bot").await;
    let mut to_carol = carol.connect().await;
    alice.say(&id, "before").await;
    alice.invite(&id, &["@carol.bot"]).await;
    alice.say(&id, "between").await;
    alice.invite(&id, &["@dave.bot"]).await;
    bob.leave(&id).await;
    alice.end(&id).await;
    let heard = to_carol.until_kind("session.ended").await;
    assert_eq!(kinds(&heard), ["invited", "ended"]);
    assert_eq!(heard[0]["payload"]["invitee"], "@carol.bot");
    assert!(!format!("{heard:?}").contains("between"));
    let again = carol.connect_mute().await.until_kind("session.ended").await;
    assert_eq!(again.last(), heard.last(), "and so it is after an absence");
}

/// ASP-26, ASP-56, 2.5 #14: the joined hear everything, their own doings too.
#[tokio::test]
async fn the_joined_hear_everything() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let mut sockets = [alice.connect().await, bob.connect().await];
    alice.say(&id, "mine").await;
    bob.say(&id, "yours").await;
    let carol = enter(&server, &bob, &id, "@carol.bot").await;
    carol.leave(&id).await;
    alice.end(&id).await;
    for socket in &mut sockets {
        let heard = socket.until_kind("session.ended").await;
        assert_gapless(&heard, 1);
        assert_eq!(
            kinds(&heard),
            ["invited", "joined", "message", "message", "invited", "joined", "left", "ended"]
        );
    }
}

/// ASP-47, 2.5 #13: on joining, the whole transcript in order, then one's own join, then live.
#[tokio::test]
async fn a_joiner_gets_the_transcript_first() {
    let (server, alice, bob, id) = Server::with_pair().await;
    for number in 0..20 {
        alice.say(&id, format!("old {number}")).await;
    }
    let carol = server.agent("@carol.bot").await;
    let mut to_carol = carol.connect().await;
    alice.invite(&id, &["@carol.bot"]).await;
    let invited = to_carol.expect("session.invited").await;
    bob.say(&id, "old 20").await;
    carol.join(&id).await;
    bob.say(&id, "new").await;
    let own_join = |event: &Value| event["type"] == "session.joined" && event["agent"] == "@carol.bot";
    let mut transcript = to_carol.until(own_join).await;
    let numbers = sequences(&transcript);
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "strictly rising: {numbers:?}");
    if !numbers.contains(&invited["sequence"].as_i64().expect("a number")) {
        transcript.push(invited);
        transcript.sort_by_key(|event| event["sequence"].as_i64());
    }
    assert_gapless(&transcript, 1);
    let wanted: Vec<_> = (0..=20).map(|number| format!("old {number}")).collect();
    assert_eq!(content_of(&transcript), wanted);
    assert_eq!(content_of(&to_carol.until_text("new").await), ["new"]);
}

/// ASP-28, ASP-43, ASP-44: what came while away comes first, in order, then live.
#[tokio::test]
async fn asp_28_44_the_absent_miss_nothing() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut first = bob.connect().await;
    alice.say(&id, "seen").await;
    first.until_text("seen").await;
    first.wait_until_confirmed().await;
    first.close().await;
    for number in 0..50 {
        alice.say(&id, format!("missed {number}")).await;
    }
    let mut again = bob.connect().await;
    alice.say(&id, "live").await;
    let heard = again.until_text("live").await;
    let mut wanted: Vec<_> = (0..50).map(|number| format!("missed {number}")).collect();
    wanted.push("live".to_owned());
    assert_eq!(content_of(&heard), wanted);
    let numbers = sequences(&heard);
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "no gap, no repeat: {numbers:?}");
}

/// ASP-28: joined but never connected is only offline.
#[tokio::test]
async fn asp_28_a_member_that_never_connected_has_all_waiting() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "one").await;
    server.crash().await;
    alice.say(&id, "two").await;
    let mut to_bob = bob.connect().await;
    let heard = to_bob.until_text("two").await;
    assert_gapless(&heard, 1);
    assert_eq!(kinds(&heard), ["invited", "joined", "message", "message"]);
}

/// ASP-27, ASP-80: who left has the log up to its own leave, and never more.
#[tokio::test]
async fn who_left_gets_nothing_past_its_leave() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "one").await;
    bob.leave(&id).await;
    alice.say(&id, "two").await;
    alice.invite(&id, &["@bob.bot"]).await;
    let mut to_bob = bob.connect().await;
    let heard = to_bob.until(|event| event["sequence"] == 6).await;
    assert_eq!(kinds(&heard), ["invited", "joined", "message", "left", "invited"]);
    assert_eq!(sequences(&heard), [1, 2, 3, 4, 6]);
    assert_eq!(content_of(&heard), ["one"]);
}

/// ASP-81: eligibility is judged event by event through all changes of status.
#[tokio::test]
async fn eligibility_is_judged_per_event() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut to_bob = bob.connect().await;
    to_bob.until_kind("session.joined").await;
    alice.say(&id, "as joined").await;
    bob.leave(&id).await;
    alice.say(&id, "as left").await;
    alice.invite(&id, &["@bob.bot"]).await;
    alice.say(&id, "as invited").await;
    let heard = to_bob.until_kind("session.invited").await;
    assert_eq!(kinds(&heard), ["message", "left", "invited"]);
    bob.join(&id).await;
    alice.say(&id, "as joined again").await;
    let heard = to_bob.until_text("as joined again").await;
    let tail: Vec<_> = content_of(&heard).into_iter().skip_while(|text| *text != "as left").collect();
    assert_eq!(tail, ["as left", "as invited", "as joined again"], "the join brings the transcript (ASP-47)");
}

/// ASP-40, ASP-97: every live connection of an agent hears every event.
#[tokio::test]
async fn asp_40_97_every_connection_hears_everything() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut sockets = [bob.connect().await, bob.connect().await, bob.connect().await];
    for number in 0..10 {
        alice.say(&id, format!("{number}")).await;
    }
    alice.say(&id, "fence").await;
    let mut all = Vec::new();
    for socket in &mut sockets {
        all.push(socket.until_text("fence").await);
    }
    assert_eq!(all[0], all[1]);
    assert_eq!(all[1], all[2]);
    assert_gapless(&all[0], 1);
}

/// ASP-41: with one of two connections gone the agent is still there.
#[tokio::test]
async fn losing_one_connection_of_two_loses_nothing() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let one = bob.connect().await;
    let mut two = bob.connect().await;
    two.until_kind("session.joined").await;
    one.cut().await;
    alice.say(&id, "hello").await;
    assert_eq!(kinds(&two.until_text("hello").await), ["message"]);
}

/// ASP-85: an independent client library hears the same.
#[tokio::test]
async fn asp_85_another_client_library_hears_the_same() {
    use futures_util::StreamExt as _;
    use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest as _};
    let (server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "hello").await;
    let url = format!("ws://{}/connect", server.address().get());
    let mut request = url.into_client_request().expect("a request");
    let bearer = format!("Bearer {}", bob.token()).parse().expect("a header");
    request.headers_mut().insert("Authorization", bearer);
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await.expect("an upgrade");
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let frame = tokio::time::timeout(blackbox::PATIENCE, socket.next()).await.expect("in time");
        if let Message::Text(text) = frame.expect("open").expect("a frame") {
            heard.push(serde_json::from_str::<Value>(&text).expect("JSON"));
        }
    }
    assert_eq!(heard, bob.history(&id).await);
}

/// ASP-36, ASP-54, ASP-98: content and metadata arrive as they were sent, whatever they hold.
#[tokio::test]
async fn asp_54_98_content_arrives_as_sent() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let mut to_bob = bob.connect().await;
    to_bob.until_kind("session.joined").await;
    let metadata =
        json!({"n": [1, -2.5, 1e3, null, true], "o": {"": {}}, "u": "\u{1f980}\u{202e}", "z": {"y": []}});
    let text = "line\nbreak \"quote\" \\ \u{7f} \u{85} <b>&amp; ANSI \u{1b}[31m \u{1f469}\u{200d}\u{1f4bb}";
    let body = json!({"content": text, "metadata": metadata});
    alice.post(&format!("/sessions/{id}/messages"), body).await.ok(201);
    let message = to_bob.event().await;
    assert_eq!(message["payload"]["content"], text);
    assert_eq!(message["payload"]["metadata"], metadata);
    assert_eq!(bob.history(&id).await.last(), Some(&message));
}
