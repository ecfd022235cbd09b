//! One of two processes on one PostgreSQL is killed with SIGKILL: what the other decides about who was connected
//! there, and what a listener that moves over sees (ASP-43, ASP-49, ASP-51; scenarios 12, 16).

use std::time::Duration;

use blackbox::{Cli, Relay, assert_gapless, eventually_within, kinds, pair, room, rounds};
use serde_json::Value;

use crate::cluster::two;

/// The lease of a dead process (10 s), the survivor's next look (5 s), the grace, and patience for a busy machine.
const DEATH_MAX: Duration = Duration::from_secs(90);

/// Whoever was connected to the dead process alone is disconnected and, after the grace, gone. Whoever is connected to
/// the survivor too, or comes to it meanwhile, is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_survivor_decides_who_is_gone() {
    let Some(mut servers) = two("500ms").await else { return };
    let alice = servers.a.agent("@alice.bot").await.at(&servers.b);
    let mut others = Vec::new();
    for name in ["@bob.bot", "@carol.bot", "@dave.bot"] {
        others.push(servers.a.agent(name).await);
    }
    let [bob, carol, dave] = &others[..] else { panic!("three agents") };
    let id = room(&[&alice, bob, carol, dave]).await;
    let mut to_alice = alice.connect().await;
    let mut on_a = [bob.connect().await, carol.connect().await, dave.connect().await];
    let mut carol_on_b = carol.at(&servers.b).connect().await;
    alice.say(&id, "everybody is here").await;
    for socket in on_a.iter_mut().chain([&mut to_alice, &mut carol_on_b]) {
        socket.until_text("everybody is here").await;
    }

    servers.a.kill().await;
    let mut dave_on_b = dave.at(&servers.b).connect().await;
    alice.say(&id, "who is left?").await;
    dave_on_b.until_text("who is left?").await;
    eventually_within(DEATH_MAX, "bob has left", || async {
        (alice.status_of(&id, "@bob.bot").await == "left").then_some(())
    })
    .await;
    let heard = to_alice.until_kind("session.left").await;
    assert_eq!(kinds(&heard), ["message", "disconnected", "left"], "{heard:?}");
    for event in &heard[1..] {
        assert_eq!(event["agent"], "@bob.bot", "{event}");
    }

    // The survivor has decided; nothing comes after it.
    alice.say(&id, "so be it").await;
    assert_eq!(kinds(&to_alice.until_text("so be it").await), ["message"]);
    let log = alice.history(&id).await;
    assert_gapless(&log, 1);
    for staying in ["@carol.bot", "@dave.bot"] {
        assert_eq!(alice.status_of(&id, staying).await, "joined", "{staying}");
    }
    servers.a.restart().await;
    assert_eq!(carol.history(&id).await, log, "the one that was killed finds it as it is");
    servers.remove().await;
}

/// `plenary listen` behind a load balancer: each process is killed in its turn, and every event is printed once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listen_moves_from_process_to_process() {
    let Some(mut servers) = two("60s").await else { return };
    let (alice, bob, id) = pair(&servers.a).await;
    let relay = Relay::to(&servers.a).await;
    let cli = Cli::new(&[("PLENARY_URL", &relay.url()), ("PLENARY_TOKEN", bob.token())]);
    let mut listening = cli.start(&["listen", "--json"]);
    let mut printed: Vec<Value> = Vec::new();
    for round in 0..rounds(6, 2) {
        let (stays, goes) =
            if round % 2 == 0 { (&mut servers.b, &mut servers.a) } else { (&mut servers.a, &mut servers.b) };
        // Written on the process that the listener is not connected to.
        for number in 0..10 {
            alice.at(stays).say(&id, format!("{round}: {number}")).await;
        }
        relay.point_at(stays);
        if round % 4 < 2 {
            // Some of it was read, or all of it.
            printed.push(serde_json::from_str(&listening.line().await).expect("an event"));
        }
        goes.kill().await;
        let last = alice.at(stays).say(&id, format!("{round}: nobody is missing")).await;
        while printed.last().is_none_or(|event| event["sequence"] != last) {
            printed.push(serde_json::from_str(&listening.line().await).expect("an event"));
        }
        goes.restart().await;
    }
    // The history has the flat members too; here the envelope is what counts.
    let envelope = |event: &Value| -> [Value; 3] {
        ["event_id", "sequence", "payload"].map(|member| event[member].clone())
    };
    let history = alice.at(&servers.a).history(&id).await;
    assert_eq!(
        printed.iter().map(envelope).collect::<Vec<_>>(),
        history.iter().map(envelope).collect::<Vec<_>>()
    );
    servers.remove().await;
}
