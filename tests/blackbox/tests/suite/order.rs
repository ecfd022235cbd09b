//! One gap-free counter per session, the same order for everyone (ASP-33, ASP-44, ASP-45, ASP-86).

use blackbox::{Server, assert_gapless, content_of, enter, room, sequences};
use futures_util::future::join_all;
use serde_json::{Value, json};

/// 2.5 #4: the counter runs over all events from 1, and answers carry the event's number.
#[tokio::test]
async fn one_counter_runs_over_all_events() {
    let (server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let made = alice.open(json!({"invite": ["@bob.bot"], "initial_message": {"content": "1"}})).await;
    let id = made["session_id"].as_str().expect("an id");
    bob.join(id).await;
    assert_eq!(alice.say(id, "4").await, 4);
    enter(&server, &bob, id, "@carol.bot").await.leave(id).await;
    assert_eq!(bob.say(id, "8").await, 8);
    alice.end(id).await;
    bob.reopen(id, json!({"initial_message": {"content": "11"}})).await;
    let log = bob.history(id).await;
    assert_gapless(&log, 1);
    assert_eq!(content_of(&log), ["1", "4", "8", "11"]);
    for event in log.iter().filter(|event| event["type"] == "session.message") {
        assert_eq!(event["payload"]["content"], event["sequence"].to_string(), "message 11 has sequence 11");
    }
}

/// A refused request takes no number.
#[tokio::test]
async fn refusals_leave_no_gap() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    for round in 0..5 {
        alice.post(&format!("/sessions/{id}/messages"), json!({"content": 7})).await.refusal_code(400);
        alice
            .post(&format!("/sessions/{id}/invite"), json!({"invite": ["@no.body"]}))
            .await
            .refusal_code(404);
        bob.join(&id).await;
        assert_eq!(alice.say(&id, "x").await, 3 + round);
    }
}

/// ASP-33: many senders at the same time: every reader sees one order, without gap, each sender's own kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_senders_make_one_order() {
    const EACH: usize = 40;
    let server = Server::start().await;
    let mut members = Vec::new();
    for number in 0..5 {
        members.push(server.agent(&format!("@sender.n{number}")).await);
    }
    let id = room(&members.iter().collect::<Vec<_>>()).await;
    let mut sockets = Vec::new();
    for member in &members {
        sockets.push(member.connect().await);
    }
    let sends = members.iter().enumerate().map(|(number, member)| {
        let id = &id;
        async move {
            let mut numbers = Vec::new();
            for count in 0..EACH {
                numbers.push(member.say(id, format!("{number}-{count}")).await);
            }
            assert!(numbers.is_sorted(), "one sender's answers rise: {numbers:?}");
        }
    });
    join_all(sends).await;
    members[0].say(&id, "fence").await;
    let log = members[0].history(&id).await;
    assert_gapless(&log, 1);
    assert_eq!(content_of(&log).len(), 5 * EACH + 1);
    for number in 0..5 {
        let own: Vec<_> =
            content_of(&log).into_iter().filter(|text| text.starts_with(&format!("{number}-"))).collect();
        assert_eq!(own, (0..EACH).map(|count| format!("{number}-{count}")).collect::<Vec<_>>());
    }
    for socket in &mut sockets {
        let heard = socket.until_text("fence").await;
        assert_eq!(heard, log, "every socket hears the log");
    }
}

/// Events of all kinds race; the log stays gap-free and what each hears rises strictly.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn races_of_all_kinds_leave_no_gap() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let mut others = Vec::new();
    for number in 0..6 {
        others.push(server.agent(&format!("@other.n{number}")).await);
    }
    let mut to_bob = bob.connect().await;
    let comings = join_all(others.iter().map(|other| {
        let (alice, id) = (&alice, &id);
        async move {
            alice.invite(id, &[&other.handle]).await;
            other.join(id).await;
            other.say(id, "hello").await;
            other.leave(id).await;
        }
    }));
    let talk = async {
        for number in 0..30 {
            bob.say(&id, format!("talk {number}")).await;
        }
    };
    tokio::join!(comings, talk);
    alice.say(&id, "fence").await;
    let log = bob.history(&id).await;
    assert_gapless(&log, 1);
    assert_eq!(log.len(), 2 + 6 * 4 + 30 + 1);
    assert_eq!(to_bob.until_text("fence").await, log);
    for other in &others {
        let seen: Vec<Value> = other.history(&id).await;
        let numbers = sequences(&seen);
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        assert_eq!(seen.last().map(|event| event["type"].clone()), Some(json!("session.left")));
    }
}

/// Joining while others talk: the joiner's stream has no gap and no repeat at the seam.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_join_in_the_middle_has_no_seam() {
    let (server, alice, bob, id) = Server::with_pair().await;
    for round in 0..10 {
        let carol = server.agent(&format!("@carol.n{round}")).await;
        alice.invite(&id, &[&carol.handle]).await;
        let mut to_carol = carol.connect().await;
        to_carol.expect("session.invited").await;
        let talk = async {
            for number in 0..10 {
                bob.say(&id, format!("{round}-{number}")).await;
            }
        };
        tokio::join!(talk, carol.join(&id));
        bob.say(&id, format!("fence {round}")).await;
        let heard = to_carol.until_text(&format!("fence {round}")).await;
        // The transcript may repeat the invitation that had come live; apart from that it is the log.
        let log = carol.history(&id).await;
        let invitation = |event: &&Value| event["payload"]["invitee"] != json!(carol.handle);
        let without = |events: &[Value]| events.iter().filter(invitation).cloned().collect::<Vec<_>>();
        assert_eq!(without(&heard), without(&log));
        let numbers = sequences(&heard);
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "strictly rising: {numbers:?}");
    }
}
