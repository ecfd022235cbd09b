//! Two processes on one PostgreSQL: one network (ASP-5, ASP-17, ASP-33, ASP-40, ASP-41, ASP-53; scenarios 12, 16, 18,
//! 22, 23, 25).

use blackbox::{
    Agent, Database, Sender, Server, TestDependency, assert_gapless, check_log, content_of, in_time, kinds,
    pair, room, rounds,
};
use futures_util::future::join_all;
use serde_json::json;
use tokio::sync::watch;

pub(crate) struct Pair {
    pub(crate) a: Server,
    pub(crate) b: Server,
    database: Database,
}

/// Two servers, or nothing when the run has no PostgreSQL.
pub(crate) async fn two(grace: &str) -> Option<Pair> {
    let TestDependency::Available(url) = TestDependency::postgres() else { return None };
    let database = Database::create(&url).await;
    // Started at the same time: the schema must be made once.
    let start = || Server::builder().database(database.url()).grace(grace).start();
    let (a, b) = tokio::join!(start(), start());
    Some(Pair { a, b, database })
}

impl Pair {
    pub(crate) async fn remove(self) {
        drop((self.a, self.b));
        self.database.remove().await;
    }
}

/// Members on different processes hear one log, ordered and complete, both ways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_on_two_processes_hear_one_log() {
    let Some(servers) = two("30s").await else { return };
    let (alice, bob, id) = pair(&servers.a).await;
    let bob_b = bob.at(&servers.b);
    let mut to_alice = alice.connect().await;
    let mut to_bob = bob_b.connect().await;
    let (one, other) = tokio::join!(
        Sender::new(&alice, &id, "alice").run_count(100),
        Sender::new(&bob_b, &id, "bob").run_count(100),
    );
    bob_b.say(&id, "fence").await;
    let log = alice.history(&id).await;
    check_log(&log, &[one, other]);
    assert_eq!(bob_b.history(&id).await, log);
    assert_eq!(to_alice.until_text("fence").await, log);
    assert_eq!(to_bob.until_text("fence").await, log);
    servers.remove().await;
}

/// Every step of a session's life, each on the other process than the one before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_lives_on_two_processes() {
    let Some(servers) = two("30s").await else { return };
    let alice = servers.a.agent("@alice.bot").await;
    let bob = servers.b.agent("@bob.bot").await;
    let (alice_b, bob_a) = (alice.at(&servers.b), bob.at(&servers.a));
    let id = alice.create(&[&bob]).await;
    bob.join(&id).await;
    alice.say(&id, "one").await;
    alice_b.say(&id, "two").await;
    bob_a.leave(&id).await;
    bob.post(&format!("/sessions/{id}/messages"), json!({"content": "x"}))
        .await
        .assert_refused(409, "not_joined");
    alice_b.invite(&id, &["@bob.bot"]).await;
    bob_a.join(&id).await;
    bob.end(&id).await;
    alice
        .post(&format!("/sessions/{id}/messages"), json!({"content": "x"}))
        .await
        .assert_refused(409, "session_ended");
    alice_b.reopen(&id, json!({})).await;
    bob_a.join(&id).await;
    let log = bob.history(&id).await;
    assert_gapless(&log, 1);
    assert_eq!(content_of(&log), ["one", "two"]);
    assert_eq!(log, alice_b.history(&id).await);
    servers.remove().await;
}

/// Scenario 18: the same key on two processes at once makes one message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_one_over_both() {
    let Some(servers) = two("30s").await else { return };
    let (alice, _, id) = pair(&servers.a).await;
    let alice_b = alice.at(&servers.b);
    let path = format!("/sessions/{id}/messages");
    for round in 0..rounds(100, 20) {
        let body = json!({"content": format!("round {round}"), "idempotency_key": format!("k{round}")});
        let (one, other) = tokio::join!(alice.post(&path, body.clone()), alice_b.post(&path, body.clone()));
        assert_eq!(one.ok(201), other.ok(201));
        assert!(one.is_replayed() != other.is_replayed(), "one wrote, one repeated: {one} {other}");
    }
    assert_eq!(content_of(&alice.history(&id).await).len(), rounds(100, 20));
    servers.remove().await;
}

/// ASP-41, ASP-53: online is being connected anywhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presence_is_one_over_both() {
    let Some(servers) = two("30s").await else { return };
    let (alice, bob, id) = pair(&servers.a).await;
    let bob_b = bob.at(&servers.b);
    let mut to_alice = alice.connect().await;
    let mut on_a = bob.connect().await;
    let mut on_b = bob_b.connect().await;
    on_a.until_kind("session.joined").await;
    on_b.until_kind("session.joined").await;
    to_alice.until_kind("session.joined").await;
    on_a.cut().await;
    alice.say(&id, "still there").await;
    assert_eq!(kinds(&on_b.until_text("still there").await), ["message"]);
    let mut again_on_a = bob.connect().await;
    alice.say(&id, "to both").await;
    again_on_a.until_text("to both").await;
    on_b.cut().await;
    alice.say(&id, "and still").await;
    let heard = to_alice.until_text("and still").await;
    assert_eq!(kinds(&heard), ["message"; 3], "one of two connections is nobody's business");
    again_on_a.cut().await;
    to_alice.expect("session.disconnected").await;
    let back_on_b = bob_b.connect().await;
    to_alice.expect("session.reconnected").await;
    back_on_b.close().await;
    servers.remove().await;
}

/// ASP-51: the grace runs out once, whichever process counts it; scenario 22 over two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_grace_is_one_over_both() {
    let Some(servers) = two("300ms").await else { return };
    let (alice, bob, id) = pair(&servers.a).await;
    let mut to_alice = alice.at(&servers.b).connect().await;
    bob.come_and_go().await;
    let heard = to_alice.until_kind("session.left").await;
    assert_eq!(&kinds(&heard)[2..], ["disconnected", "left"]);
    assert_eq!(alice.at(&servers.b).status_of(&id, "@bob.bot").await, "left");
    servers.remove().await;
}

/// ASP-50: who goes at one process comes back at the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_goes_at_one_process_comes_back_at_the_other() {
    let Some(servers) = two("600s").await else { return };
    let (alice, bob, _) = pair(&servers.a).await;
    let mut to_alice = alice.at(&servers.b).connect().await;
    bob.at(&servers.b).come_and_go().await;
    to_alice.until_kind("session.disconnected").await;
    let back = bob.connect().await;
    to_alice.until_kind("session.reconnected").await;
    back.close().await;
    servers.remove().await;
}

/// Scenario 25: a token revoked on one process is dead on the other, for requests and sockets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revocation_reaches_the_other_process() {
    let Some(servers) = two("30s").await else { return };
    let (alice, bob, id) = pair(&servers.a).await;
    let bob_b = bob.at(&servers.b);
    let mut on_b = bob_b.connect().await;
    on_b.until_kind("session.joined").await;
    bob_b.get("/sessions").await.ok(200);
    let rotated = servers.a.operator().post_empty("/_admin/agents/@bob.bot/rotate-token").await.ok(200);
    bob_b.get("/sessions").await.refusal_code(401);
    in_time("sockets close on the other process too", on_b.ending()).await;
    let token = rotated["token"].as_str().expect("a token");
    let bob_b = Agent::new("@bob.bot", servers.b.address().clone(), token);
    alice.say(&id, "hello").await;
    bob_b.connect().await.until_text("hello").await;
    servers.remove().await;
}

/// ASP-17, scenario 23: trust changed on one process is in force on the other for the very next call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trust_is_one_over_both() {
    let Some(servers) = two("30s").await else { return };
    let (alice, bob, id) = pair(&servers.a).await;
    let bob_b = bob.at(&servers.b);
    let invite = json!({"invite": ["@alice.bot"]});
    for _ in 0..rounds(20, 5) {
        bob_b.post("/sessions", invite.clone()).await.ok(201);
        servers.a.operator().patch("/_admin/agents/@alice.bot", json!({"policy": "allowlist"})).await.ok(200);
        bob_b.post("/sessions", invite.clone()).await.assert_refused(404, "not_found");
        servers.a.operator().patch("/_admin/agents/@alice.bot", json!({"policy": "open"})).await.ok(200);
    }
    servers.a.block(&alice, "@bob.bot").await;
    bob_b.post("/sessions", invite).await.assert_refused(404, "not_found");
    bob_b.post(&format!("/sessions/{id}/messages"), json!({"content": "x"})).await.refusal_code(409);
    assert_eq!(alice.show(&id).await["state"], "ended");
    servers.remove().await;
}

/// Scenario 23: a block on one process races messages and invitations on the other: nothing by the blocked comes after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_races_without_a_leak() {
    let Some(servers) = two("30s").await else { return };
    let carol = servers.a.agent("@carol.bot").await;
    for round in 0..rounds(20, 5) {
        let alice = servers.a.agent(&format!("@alice.n{round}")).await;
        let bob = servers.a.agent(&format!("@bob.n{round}")).await;
        let id = room(&[&carol, &alice, &bob]).await;
        let bob_b = bob.at(&servers.b);
        let talk = async {
            for number in 0..10 {
                let path = format!("/sessions/{id}/messages");
                bob_b.post(&path, json!({"content": format!("{number}")})).await;
                bob_b.post("/sessions", json!({"invite": [alice.handle]})).await;
            }
        };
        let block = servers.a.block(&alice, &bob.handle);
        tokio::join!(talk, block);
        let log = carol.history(&id).await;
        assert_gapless(&log, 1);
        let left = log.iter().position(|event| event["type"] == "session.left").expect("bob was ejected");
        assert!(log[left..].iter().all(|event| event["sender"] != bob.handle.as_str()), "{log:?}");
        let shared = alice.get("/sessions").await.ok(200);
        for session in shared["sessions"].as_array().expect("a list") {
            let present = session["participants"].as_array().expect("a list").iter();
            let present: Vec<_> =
                present.filter(|one| one["status"] != "left").map(|one| one["handle"].clone()).collect();
            let both = present.contains(&json!(alice.handle)) && present.contains(&json!(bob.handle));
            assert!(!both, "no session keeps the two together: {session}");
        }
    }
    servers.remove().await;
}

/// One process is killed again and again; the other's members do not notice, and nothing acknowledged is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_dies_and_the_other_goes_on() {
    let Some(mut servers) = two("30s").await else { return };
    let mut members = Vec::new();
    for number in 0..4 {
        members.push(servers.a.agent(&format!("@sender.n{number}")).await);
    }
    let id = room(&members.iter().collect::<Vec<_>>()).await;
    let (stop, stopped) = watch::channel(false);
    let mut senders = Vec::new();
    for (number, member) in members.iter().enumerate() {
        let member = if number % 2 == 0 { member.clone() } else { member.at(&servers.b) };
        senders.push(tokio::spawn(Sender::new(&member, &id, &format!("s{number}")).run(stopped.clone())));
    }
    let watcher = members[1].at(&servers.b);
    let mut to_watcher = watcher.connect().await;
    for _ in 0..rounds(8, 3) {
        to_watcher.until(|event| event["sender"] == "@sender.n0").await;
        servers.a.kill().await;
        let mut others = 0;
        while others < 5 {
            let event = to_watcher.event().await;
            others += usize::from(event["sender"] == "@sender.n1" || event["sender"] == "@sender.n3");
        }
        servers.a.restart().await;
    }
    stop.send(true).expect("the senders listen");
    let senders: Vec<Sender> =
        join_all(senders).await.into_iter().map(|sender| sender.expect("no panic")).collect();
    check_log(&watcher.history(&id).await, &senders);
    servers.remove().await;
}
