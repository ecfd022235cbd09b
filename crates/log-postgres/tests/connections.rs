//! Connections that are lost: nothing acknowledged is lost with them, nothing is written twice, and all of it heals.

mod server;

use std::{collections::HashMap, time::Duration};

use plenary_kernel::{Position, Version};
use plenary_log::{Fault, Log, OpenedLog, Outcome};
use plenary_log_postgres::{Options, open};
use server::{
    TestStore, admin, assert_gapless, fed, message, message_once,
    relay::{Relay, Way},
    run, soon, stream, text, url,
};

/// Appends with the same key until there is an answer.
async fn insist(log: &Log, batch: plenary_log::Batch) -> Outcome {
    loop {
        match log.append(batch.clone()).await {
            Ok(outcome) => return outcome,
            Err(Fault::Unavailable(_) | Fault::OutcomeUnknown(_) | Fault::Overloaded) => {
                tokio::task::yield_now().await;
            }
            Err(fault @ (Fault::Full(_) | Fault::Corrupt(_))) => panic!("{fault}"),
        }
    }
}

#[test]
fn a_writer_that_is_killed_in_a_loop_loses_nothing_and_repeats_nothing() {
    const WRITERS: usize = 8;
    const EACH: usize = 60;
    run(async {
        let store = TestStore::new();
        let OpenedLog { log, mut feed } = store.open().await;
        let admin = store.admin().await;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let log = log.clone();
                tokio::spawn(async move {
                    let at = stream(&writer.to_string());
                    for n in 0..EACH {
                        let outcome = insist(&log, message_once(&at, &n.to_string())).await;
                        let done = matches!(outcome, Outcome::Appended(_) | Outcome::AlreadyDone { .. });
                        assert!(done, "{outcome:?}");
                    }
                })
            })
            .collect();
        // The writer's process is killed after each commit, while more are in progress.
        let (mut events, mut killed) = (Vec::new(), 0);
        while events.len() < WRITERS * EACH {
            events.extend(soon(fed(&mut feed, 1)).await);
            killed += store.terminate(&admin, "write").await;
        }
        for writer in writers {
            writer.await.expect("the writer ends well");
        }
        assert!(killed > 10, "the writer's process was killed {killed} times");
        assert_gapless(&events, 1);
        let mut texts: HashMap<_, Vec<String>> = HashMap::new();
        for event in &events {
            texts.entry(event.stream.clone()).or_default().push(text(event));
        }
        let expected: Vec<_> = (0..EACH).map(|n| n.to_string()).collect();
        assert!(texts.values().all(|texts| *texts == expected), "each writer's events, once, in order");
        assert_eq!(log.head().await, Ok(Position((WRITERS * EACH) as u64)));
    });
}

/// How many appends come before the one that is disturbed: the first one takes the lock and commits, and the third one
/// is one statement outside a transaction.
const BEFORE: [&[&str]; 2] = [&[], &["first", "second"]];

#[test]
fn a_commit_whose_answer_is_lost_is_unknown_and_is_there() {
    run(async {
        for before in BEFORE {
            let (store, relay) = (TestStore::new(), Relay::start().await);
            let OpenedLog { log, mut feed } = store.try_open(relay.url()).await.expect("the store opens");
            let at = stream("a");
            for text in before {
                log.append(message_once(&at, text)).await.expect("appended");
            }
            relay.set(Way::CutAfterCommit);
            let answer = log.append(message_once(&at, "once")).await;
            assert!(matches!(answer, Err(Fault::OutcomeUnknown(_))), "{answer:?}");
            relay.cut().await;
            let answer = log.append(message_once(&at, "once")).await;
            assert!(matches!(answer, Err(Fault::Unavailable(_))), "{answer:?}");
            relay.set(Way::Open);
            let outcome = soon(insist(&log, message_once(&at, "once"))).await;
            assert_eq!(outcome, Outcome::AlreadyDone { outcome: "once".into() });
            assert_gapless(&soon(fed(&mut feed, before.len() + 1)).await, 1);
            assert_eq!(log.head().await, Ok(Position(before.len() as u64 + 1)));
        }
    });
}

#[test]
fn a_commit_that_never_arrives_is_unknown_and_is_not_there() {
    run(async {
        for before in BEFORE {
            let (store, relay) = (TestStore::new(), Relay::start().await);
            let OpenedLog { log, mut feed } = store.try_open(relay.url()).await.expect("the store opens");
            let at = stream("a");
            for text in before {
                log.append(message_once(&at, text)).await.expect("appended");
            }
            relay.set(Way::CutBeforeCommit);
            let answer = log.append(message_once(&at, "once")).await;
            assert!(matches!(answer, Err(Fault::OutcomeUnknown(_))), "{answer:?}");
            relay.set(Way::Open);
            let outcome = soon(insist(&log, message_once(&at, "once"))).await;
            assert!(matches!(outcome, Outcome::Appended(_)), "{outcome:?}");
            assert_gapless(&soon(fed(&mut feed, before.len() + 1)).await, 1);
            assert_eq!(log.head().await, Ok(Position(before.len() as u64 + 1)));
        }
    });
}

#[test]
fn a_server_that_goes_away_is_unavailable_until_it_is_back() {
    run(async {
        let (store, relay) = (TestStore::new(), Relay::start().await);
        let OpenedLog { log, mut feed } = store.try_open(relay.url()).await.expect("the store opens");
        let other = store.open().await;
        let at = stream("a");
        log.append(message(&at, "before")).await.expect("appended");
        relay.set(Way::Cut);
        let answer = log.append(message(&at, "never")).await;
        assert!(matches!(answer, Err(Fault::Unavailable(_))), "{answer:?}");
        let answer = log.read_stream(&at, Version::ZERO, 10).await;
        assert!(matches!(answer, Err(Fault::Unavailable(_))), "{answer:?}");
        other.log.append(message(&at, "by another")).await.expect("appended");
        relay.set(Way::Open);
        soon(insist(&log, message_once(&at, "after"))).await;
        let texts: Vec<_> = soon(fed(&mut feed, 3)).await.iter().map(text).collect();
        assert_eq!(texts, ["before", "by another", "after"]);
        soon(async { while log.read_stream(&at, Version::ZERO, 10).await.is_err() {} }).await;
    });
}

/// A process that writes without the lock notices at its next append that another one was there.
#[test]
fn appends_without_the_lock_give_way() {
    run(async {
        let store = TestStore::new();
        let (mut one, other) = (store.open().await, store.open().await);
        for round in 0..10 {
            for n in 0..3 {
                one.log.append(message(&stream("a"), &format!("{round} {n}"))).await.expect("appended");
            }
            for at in ["a", "b"] {
                other
                    .log
                    .append(message(&stream(at), &format!("{round} of the other")))
                    .await
                    .expect("appended");
            }
        }
        let events = soon(fed(&mut one.feed, 50)).await;
        assert_gapless(&events, 1);
        assert_eq!(events.iter().filter(|event| event.stream == stream("a")).count(), 40);
        assert_eq!(one.log.head().await, Ok(Position(50)));
    });
}

#[test]
fn a_lost_ear_costs_time_and_no_event() {
    const COUNT: usize = 50;
    run(async {
        let store = TestStore::new();
        let (mut reader, writer) = (store.open().await, store.open().await);
        let admin = store.admin().await;
        for n in 0..COUNT {
            store.terminate(&admin, "signal").await;
            writer.log.append(message(&stream("a"), &n.to_string())).await.expect("appended");
            assert_gapless(&soon(fed(&mut reader.feed, 1)).await, n as u64 + 1);
        }
    });
}

#[test]
fn a_commit_of_another_process_is_notified() {
    run(async {
        let store = TestStore::new();
        let writer = store.open().await;
        // This one practically never polls.
        let options = Options { poll: Duration::from_secs(3_600), ..store.options() };
        let mut reader = open(&url(), options).await.expect("the store opens");
        for n in 1..=20 {
            writer.log.append(message(&stream("a"), "said")).await.expect("appended");
            assert_gapless(&soon(fed(&mut reader.feed, 1)).await, n);
        }
    });
}

#[test]
fn a_hint_that_comes_while_others_are_read_is_not_lost() {
    const WRITERS: u64 = 4;
    const EACH: u64 = 40;
    run(async {
        let store = TestStore::new();
        // This one practically never polls: each commit needs a notification, and many arrive during a read.
        let options = Options { poll: Duration::from_secs(3_600), ..store.options() };
        let mut reader = open(&url(), options).await.expect("the store opens");
        let writer = store.open().await;
        for round in 0..3 {
            for _ in 0..WRITERS {
                let log = writer.log.clone();
                tokio::spawn(async move {
                    for _ in 0..EACH {
                        log.append(message(&stream("a"), "said")).await.expect("appended");
                    }
                });
            }
            let events = WRITERS * EACH;
            let count = usize::try_from(events).expect("a few");
            assert_gapless(&soon(fed(&mut reader.feed, count)).await, round * events + 1);
        }
    });
}

/// The connection is stalled but not lost: only the poll finds the appends of another process.
#[test]
fn a_stalled_listener_costs_a_poll() {
    run(async {
        let (store, relay) = (TestStore::new(), Relay::start().await);
        let mut reader = store.try_open(relay.url()).await.expect("the store opens");
        let writer = store.open().await;
        relay.set(Way::Still);
        for n in 1..=3 {
            writer.log.append(message(&stream("a"), "said")).await.expect("appended");
            let found = tokio::time::timeout(Duration::from_secs(4), fed(&mut reader.feed, 1)).await;
            assert_gapless(&found.expect("the poll finds it"), n);
        }
    });
}

/// The same without a poll: the check finds the stalled connection, and a new one reads the missed events.
#[test]
fn a_stalled_listener_is_replaced() {
    run(async {
        let (store, relay) = (TestStore::new(), Relay::start().await);
        let options = Options { poll: Duration::from_secs(3_600), ..store.options() };
        let mut reader = open(relay.url(), options).await.expect("the store opens");
        let writer = store.open().await;
        relay.set(Way::Still);
        for n in 1..=3 {
            writer.log.append(message(&stream("a"), "said")).await.expect("appended");
            assert_gapless(&soon(fed(&mut reader.feed, 1)).await, n);
        }
    });
}

#[test]
fn a_commit_without_a_notification_is_found_by_the_poll() {
    run(async {
        let store = TestStore::new();
        let mut opened = store.open().await;
        opened.log.append(message(&stream("a"), "told")).await.expect("appended");
        let silent = "BEGIN; SELECT last FROM head FOR UPDATE; \
            INSERT INTO events SELECT 2, stream, 2, kind, form, at, 'untold', payload FROM events; \
            UPDATE head SET last = 2; COMMIT";
        store.admin().await.batch_execute(silent).await.expect("written");
        let events = soon(fed(&mut opened.feed, 2)).await;
        assert_gapless(&events, 1);
        assert_eq!(text(&events[1]), "untold");
        // The writer continues after it.
        opened.log.append(message(&stream("a"), "told")).await.expect("appended");
        assert_eq!(soon(fed(&mut opened.feed, 1)).await[0].version, Version(3));
    });
}

#[test]
fn a_locked_head_is_a_fault_in_time_and_passes() {
    run(async {
        let store = TestStore::new();
        let opened = store.open().await;
        let holder = store.admin().await;
        holder.batch_execute("BEGIN; SELECT last FROM head FOR UPDATE").await.expect("the head is held");
        let started_at = tokio::time::Instant::now();
        let answer = opened.log.append(message(&stream("a"), "never")).await;
        assert_eq!(answer, Err(Fault::Overloaded));
        assert!(started_at.elapsed() < Duration::from_secs(4), "{:?}", started_at.elapsed());
        holder.batch_execute("COMMIT").await.expect("the head is free");
        opened.log.append(message(&stream("a"), "appended")).await.expect("appended");
        assert_eq!(opened.log.head().await, Ok(Position(1)));
    });
}

/// A role or a database may have a time limit for idle sessions, which is for people who forget theirs.
#[test]
fn idle_connections_are_kept() {
    run(async {
        let (store, admin) = (TestStore::new(), admin(&url()).await);
        let url = url();
        let mark = if url.contains('?') { '&' } else { '?' };
        let limited = format!("{url}{mark}options=-c%20idle_session_timeout%3D300");
        let opened = store.try_open(&limited).await.expect("the store opens");
        opened.log.append(message(&stream("a"), "said")).await.expect("appended");
        let ours = format!(
            "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity \
            WHERE application_name IN ('plenary write {0}', 'plenary signal {0}')",
            store.schema
        );
        let processes = async || admin.query_one(&ours, &[]).await.expect("listed").get::<_, Vec<i32>>(0);
        let before = processes().await;
        admin.batch_execute("SELECT pg_sleep(1)").await.expect("time passes");
        assert_eq!((processes().await, before.len()), (before, 2));
    });
}
