//! Two processes on one PostgreSQL are one substrate: FO-43, FO-53, FO-56, FO-59, FO-76, FO-93 across both.
//! Must not know: how they tell each other.

use blackbox::{Agent, Database, Server, TestDependency, eventually, in_time, rounds};
use serde_json::json;

use super::speak::{
    Field, advisory, before_fence, id_of, refused, sent, submit, submit_to, subscribe, subscribe_as,
    subscribe_to, tell, texts,
};

struct Pair {
    a: Server,
    b: Server,
    database: Database,
}

/// Two servers, or nothing when the run has no PostgreSQL.
async fn two() -> Option<Pair> {
    let TestDependency::Available(url) = TestDependency::postgres() else { return None };
    let database = Database::create(&url).await;
    let start = || Server::builder().database(database.url()).arg("--frames-rate").arg("100000").start();
    let (a, b) = tokio::join!(start(), start());
    Some(Pair { a, b, database })
}

impl Pair {
    async fn remove(self) {
        drop((self.a, self.b));
        self.database.remove().await;
    }
}

/// Waits until this agent's process knows of so many subscriptions of its handle.
async fn known(agent: &Agent, count: usize) {
    let path = format!("/handles/{}/roster", super::speak::tilde(agent));
    eventually("both processes know every subscription", || async {
        let roster = agent.get(&path).await.ok(200);
        (roster["roster"].as_array().map(Vec::len) == Some(count)).then_some(())
    })
    .await;
}

/// A frame submitted at one reaches the subscribers of both, under one number, and the count covers both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_56_a_frame_reaches_both() {
    let Some(servers) = two().await else { return };
    let alice = servers.a.agent("@alice.bot").await;
    let alice_b = alice.at(&servers.b);
    let bob_b = servers.a.agent("@bob.bot").await.at(&servers.b);
    let (mut on_a, mut on_b) = (subscribe(&alice).await, subscribe(&alice_b).await);
    known(&alice, 2).await;
    known(&alice_b, 2).await;
    for from in [&alice, &alice_b, &bob_b, &alice] {
        let frame = advisory(from, "~alice", "to both");
        let answer = sent(&submit(from, &frame).await, &frame);
        assert_eq!(answer.count, 2, "the count covers both");
        for stream in [&mut on_a, &mut on_b] {
            let event = stream.event().await;
            assert_eq!((event.id, &event.frame), (answer.event_id, &frame));
        }
    }
    servers.remove().await;
}

/// Numbers rise over both, whoever submits, and each stream has them in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_59_one_counter_over_both() {
    let Some(servers) = two().await else { return };
    let alice = servers.a.agent("@alice.bot").await;
    let alice_b = alice.at(&servers.b);
    let mut streams = [subscribe(&alice).await, subscribe(&alice_b).await];
    known(&alice, 2).await;
    known(&alice_b, 2).await;
    let mut last = 0;
    for number in 0..20 {
        let from = if number % 2 == 0 { &alice } else { &alice_b };
        let frame = advisory(from, "~alice", "in turns");
        let answer = sent(&submit(from, &frame).await, &frame);
        assert!(answer.event_id > last, "{} after {last}", answer.event_id);
        last = answer.event_id;
    }
    let each = rounds(200, 50);
    let talk = |agent: Agent, name: &'static str| async move {
        let mut numbers = Vec::new();
        for number in 0..each {
            let frame = advisory(&agent, "~alice", &format!("{name}-{number}"));
            numbers.push((sent(&submit(&agent, &frame).await, &frame).event_id, id_of(&frame).to_owned()));
        }
        numbers
    };
    let (mut all, other) = tokio::join!(talk(alice.clone(), "a"), talk(alice_b.clone(), "b"));
    for numbers in [&all, &other] {
        assert!(numbers.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
    all.extend(other);
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0), "no number twice");
    assert!(all[0].0 > last);
    for stream in &mut streams {
        let mut heard = Vec::new();
        let mut before = 0;
        while heard.len() < all.len() {
            let event = stream.event().await;
            assert!(event.id > before, "a stream's numbers rise: {} after {before}", event.id);
            before = event.id;
            if event.id > last {
                heard.push((event.id, event.frame_id().to_owned()));
            }
        }
        assert_eq!(heard, all, "every frame once");
    }
    servers.remove().await;
}

/// Scopes, filters and echo mean the same wherever the subscriber is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_46_scopes_and_filters_over_both() {
    let Some(servers) = two().await else { return };
    let alice = servers.a.agent("@alice.bot").await;
    let alice_b = alice.at(&servers.b);
    let mut laptop = subscribe_as(&alice_b, "cc-laptop", "s1").await;
    let mut phone = subscribe_as(&alice, "cc-phone", "s1").await;
    let picky = subscribe_to(&alice_b, "kind:agent_query").await;
    known(&alice, 3).await;
    known(&alice_b, 3).await;
    assert_eq!(tell(&alice, "~alice", "~alice/cc-laptop@s1", "named").await, 1);
    assert_eq!(tell(&alice, "~alice", "~alice/cc-*", "prefix").await, 2);
    assert_eq!(tell(&alice_b, "~alice", "~alice/cc-phone*", "back").await, 1);
    let me = [("X-Agent-Instrument", "cc-laptop"), ("X-Agent-Session", "s1")];
    let frame = advisory(&alice, "~alice", "echo=0");
    let answer = alice.call("POST", "/frames?echo=0", &me, Some(&frame)).await;
    assert_eq!(sent(&answer, &frame).count, 1, "the session on the other process is left out");
    assert_eq!(before_fence(&alice, &alice, &mut laptop).await, ["named", "prefix"]);
    assert_eq!(before_fence(&alice, &alice, &mut phone).await[..3], ["prefix", "back", "echo=0"]);
    drop(picky);
    servers.remove().await;
}

/// FO-76: a token revoked at one ends the streams at the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_76_revocation_reaches_the_other_process() {
    let Some(servers) = two().await else { return };
    let alice = servers.a.agent("@alice.bot").await;
    let other = servers.a.agent("@alice.other").await;
    let mut on_b = subscribe(&alice.at(&servers.b)).await;
    known(&other, 1).await;
    assert_eq!(tell(&other, "~alice", "~alice", "before").await, 1);
    servers.a.operator().post_empty("/_admin/agents/@alice.bot/rotate-token").await.ok(200);
    let (events, _) = in_time("streams end on the other process too", on_b.ending()).await;
    assert_eq!(texts(&events), ["before"]);
    known(&other, 0).await;
    servers.remove().await;
}

/// FO-47: trust changed at one is in force at the other for the very next frame.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_47_trust_is_one_over_both() {
    let Some(servers) = two().await else { return };
    let alice = servers.a.agent("@alice.bot").await;
    let bob_b = servers.a.agent("@bob.bot").await.at(&servers.b);
    let mut stream = subscribe(&alice).await;
    known(&alice.at(&servers.b), 1).await;
    let mut said = Vec::new();
    for round in 0..rounds(20, 5) {
        let text = format!("open {round}");
        assert_eq!(tell(&bob_b, "~alice", "~alice", &text).await, 1);
        said.push(text);
        servers.a.operator().patch("/_admin/agents/@alice.bot", json!({"policy": "allowlist"})).await.ok(200);
        let answer = submit(&bob_b, &advisory(&bob_b, "~alice", "closed")).await;
        refused(&answer, 403, "scope-unauthorised", Field::Any);
        servers.a.operator().patch("/_admin/agents/@alice.bot", json!({"policy": "open"})).await.ok(200);
    }
    assert_eq!(before_fence(&alice, &alice, &mut stream).await, said);
    servers.remove().await;
}

/// FO-49: members of an organisation are reached on both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_49_organisations_over_both() {
    let Some(servers) = two().await else { return };
    let ann = servers.a.agent("@ann.bot").await;
    let bob_b = servers.b.agent("@bob.bot").await.at(&servers.b);
    let operator = servers.b.operator();
    operator.call("PUT", "/_admin/orgs/acme", &[], None).await.ok(201);
    for member in ["~ann", "~bob"] {
        operator.put(&format!("/_admin/orgs/acme/members/{member}"), json!({"roles": ["dev"]})).await;
    }
    let (mut to_ann, mut to_bob) = (subscribe(&ann).await, subscribe(&bob_b).await);
    known(&ann.at(&servers.b), 1).await;
    known(&bob_b.at(&servers.a), 1).await;
    for from in [&ann, &bob_b] {
        let frame = advisory(from, "~acme", "to all members");
        let answer = submit_to(from, "org:acme/members/dev/*", &frame).await;
        assert_eq!(sent(&answer, &frame).count, 2);
        assert_eq!(to_ann.event().await.frame, frame);
        assert_eq!(to_bob.event().await.frame, frame);
    }
    servers.remove().await;
}

/// A process that dies takes its own subscriptions with it and nothing else; back, it is one of both again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_93_one_process_dies() {
    let Some(mut servers) = two().await else { return };
    let alice = servers.a.agent("@alice.bot").await;
    let alice_b = alice.at(&servers.b);
    let mut on_a = subscribe(&alice).await;
    let mut last = 0;
    for round in 0..rounds(3, 1) {
        let mut on_b = subscribe(&alice_b).await;
        known(&alice, 2).await;
        assert_eq!(tell(&alice, "~alice", "~alice", "both").await, 2);
        on_b.event().await;
        servers.b.kill().await;
        // While it is not yet known to be gone, the others are reached all the same.
        let frame = advisory(&alice, "~alice", "meanwhile");
        sent(&submit(&alice, &frame).await, &frame);
        on_a.until(id_of(&frame)).await;
        known(&alice, 1).await;
        let frame = advisory(&alice, "~alice", "alone");
        let answer = sent(&submit(&alice, &frame).await, &frame);
        assert_eq!(answer.count, 1, "round {round}");
        assert!(answer.event_id > last);
        last = answer.event_id;
        on_a.until(id_of(&frame)).await;
        servers.b.restart().await;
    }
    servers.remove().await;
}

/// Many subscribers on both: every frame reaches all, whichever process it was submitted to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fo_53_many_subscribers_on_both() {
    let Some(servers) = two().await else { return };
    let alice = servers.a.agent("@alice.bot").await;
    let alice_b = alice.at(&servers.b);
    let each = rounds(200, 40);
    let mut streams = Vec::new();
    for _ in 0..each {
        streams.push(subscribe(&alice).await);
        streams.push(subscribe(&alice_b).await);
    }
    known(&alice, 2 * each).await;
    known(&alice_b, 2 * each).await;
    let mut frames = Vec::new();
    for number in 0..20 {
        let from = if number % 2 == 0 { &alice } else { &alice_b };
        let frame = advisory(from, "~alice", &format!("{number}"));
        let answer = sent(&submit(from, &frame).await, &frame);
        assert_eq!(answer.count, 2 * each as u64);
        frames.push((answer.event_id, frame));
    }
    for stream in &mut streams {
        for (id, frame) in &frames {
            let event = stream.event().await;
            assert_eq!((event.id, &event.frame), (*id, frame));
        }
    }
    servers.remove().await;
}
