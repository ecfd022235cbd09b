//! Opening: the tables are made once, a store that can't be used is refused, and several handles write at once.

mod server;

use std::time::Duration;

use futures_util::future::join_all;
use plenary_kernel::{Position, Version};
use plenary_log::{Batch, Condition, Fault, OpenedLog, Outcome};
use plenary_log_postgres::{OpenError, Options, open};
use server::{TestStore, admin, assert_gapless, fed, message, message_once, run, soon, stream, url};
use tokio::time::sleep;

/// The version of the tables that a store is opened with.
const SCHEMA: i32 = 7;

#[test]
fn many_opens_at_once_make_the_tables_once() {
    run(async {
        let store = TestStore::new();
        let opened = join_all((0..6).map(|_| store.open())).await;
        let sql = "SELECT version, (SELECT count(*) FROM meta), (SELECT count(*) FROM head) FROM meta";
        let row = store.admin().await.query_one(sql, &[]).await.expect("the tables are there");
        assert_eq!((row.get::<_, i32>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)), (SCHEMA, 1, 1));
        for (n, opened) in opened.iter().enumerate() {
            opened.log.append(message(&stream("a"), "said")).await.expect("appended");
            assert_eq!(opened.log.head().await, Ok(Position(n as u64 + 1)));
        }
    });
}

#[test]
fn a_newer_schema_is_refused() {
    run(async {
        let store = TestStore::new();
        drop(store.open().await);
        store.admin().await.batch_execute("UPDATE meta SET version = 99").await.expect("updated");
        let refused = store.try_open(&url()).await.err();
        assert!(matches!(refused, Some(OpenError::Newer { found: 99, known: SCHEMA })), "{refused:?}");
    });
}

#[test]
fn another_store_under_the_same_name_ends_the_process() {
    run(async {
        let store = TestStore::new();
        let opened = store.open().await;
        let admin = store.admin().await;
        admin.batch_execute("UPDATE meta SET epoch = 'another'").await.expect("updated");
        store.terminate(&admin, "write").await;
        let answer = soon(opened.log.append(message(&stream("a"), "never"))).await;
        assert!(matches!(answer, Err(Fault::Corrupt(_))), "{answer:?}");
        assert!(matches!(soon(opened.log.failed()).await, Fault::Corrupt(_)));
    });
}

#[test]
fn a_log_that_went_back_ends_the_process() {
    run(async {
        let store = TestStore::new();
        let opened = store.open().await;
        opened.log.append(message(&stream("a"), "lost")).await.expect("appended");
        let back =
            "ALTER TABLE events DISABLE TRIGGER append_only; DELETE FROM events; UPDATE head SET last = 0";
        store.admin().await.batch_execute(back).await.expect("the log is set back");
        assert!(matches!(soon(opened.log.failed()).await, Fault::Corrupt(_)));
    });
}

/// A server that lacks acknowledged appends may have as many others before it is asked again.
#[test]
fn a_log_with_another_event_at_its_end_ends_the_process() {
    run(async {
        let store = TestStore::new();
        let polling = store.open().await;
        let options = Options { poll: Duration::from_secs(3_600), ..store.options() };
        let mut writing = open(&url(), options).await.expect("the store opens");
        polling.log.append(message(&stream("a"), "lost")).await.expect("appended");
        assert_gapless(&soon(fed(&mut writing.feed, 1)).await, 1);
        store.damage("UPDATE events SET envelope = 'other', sum = sum # 1").await;
        assert!(matches!(soon(polling.log.failed()).await, Fault::Corrupt(_)));
        let admin = store.admin().await;
        store.terminate(&admin, "write").await;
        let answer = soon(writing.log.append(message(&stream("b"), "never"))).await;
        assert!(matches!(answer, Err(Fault::Corrupt(_))), "{answer:?}");
        let head = admin.query_one("SELECT last FROM head", &[]).await.expect("the head is there");
        assert_eq!(head.get::<_, i64>(0), 1, "nothing was written on top of it");
    });
}

#[test]
fn events_are_never_changed() {
    run(async {
        let store = TestStore::new();
        let opened = store.open().await;
        opened.log.append(message(&stream("a"), "said")).await.expect("appended");
        let admin = store.admin().await;
        for change in
            ["UPDATE events SET payload = ''", "DELETE FROM events", "TRUNCATE events", "DELETE FROM head"]
        {
            let refused = admin.batch_execute(change).await.expect_err(change);
            assert!(refused.to_string() == "db error" && refused.code().is_some(), "{refused:?}");
        }
        assert_eq!(opened.log.read_log(Position::ZERO, 10).await.map(|events| events.len()), Ok(1));
    });
}

#[test]
fn a_name_that_is_too_long_fails_alone() {
    run(async {
        let store = TestStore::new();
        let OpenedLog { log, feed: _feed } = store.open().await;
        let long = stream(&"x".repeat(3_000));
        let good = stream(&"\0\u{1}é".repeat(200));
        let slots = join_all((0..3).map(|_| log.reserve())).await;
        let batches = [message_once(&good, "a"), message_once(&long, "b"), message_once(&good, "c")];
        let pending = slots.into_iter().zip(batches).map(|(slot, batch)| slot.expect("a slot").submit(batch));
        let answers = join_all(pending.collect::<Vec<_>>()).await;
        assert!(matches!(answers[0], Ok(Outcome::Appended(_))), "{answers:?}");
        assert!(matches!(answers[1], Err(Fault::Unavailable(_))), "{answers:?}");
        assert!(matches!(answers[2], Ok(Outcome::Appended(_))), "{answers:?}");
        let events = log.read_log(Position::ZERO, 10).await.expect("read");
        assert!(events.iter().all(|event| event.stream == good), "a NUL comes back");
    });
}

#[test]
fn two_handles_feed_each_other_under_load() {
    const TASKS: usize = 6;
    const EACH: usize = 150;
    run(async {
        let store = TestStore::new();
        let mut handles = [store.open().await, store.open().await];
        let mut writers = Vec::new();
        for task in 0..TASKS {
            let log = handles[task % 2].log.clone();
            writers.push(tokio::spawn(async move {
                for n in 0..EACH {
                    let at = stream(&(n % 7).to_string());
                    let text = format!("{task}.{n}");
                    let outcome = log.append(message_once(&at, &text)).await;
                    assert!(matches!(outcome, Ok(Outcome::Appended(_))), "{outcome:?}");
                }
            }));
        }
        for writer in writers {
            writer.await.expect("the writer ends well");
        }
        let [one, two] = &mut handles;
        let (one, two) =
            soon(async { tokio::join!(fed(&mut one.feed, TASKS * EACH), fed(&mut two.feed, TASKS * EACH)) })
                .await;
        assert_gapless(&one, 1);
        assert_eq!(one, two);
    });
}

/// One process writes without a pause; the other one writes only after the last event that it has read, and succeeds.
#[test]
fn a_writer_that_reads_first_is_not_starved() {
    const WRITERS: usize = 8;
    const WRITES: usize = 40;
    /// The pause between its read and its write.
    const DECIDING: Duration = Duration::from_millis(3);
    const ATTEMPTS_MAX: usize = 32;
    run(async {
        let store = TestStore::new();
        let (busy, careful) = (store.open().await, store.open().await);
        let at = stream("a");
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let (log, at) = (busy.log.clone(), at.clone());
                tokio::spawn(async move {
                    loop {
                        log.append(message(&at, "on and on")).await.expect("appended");
                    }
                })
            })
            .collect();
        let mut version = Version::ZERO;
        for nth in 0..WRITES {
            let mut attempts = 0;
            loop {
                let condition = Condition::at(at.clone(), version);
                let batch = Batch { conditions: vec![condition], ..message(&at, "after a look") };
                attempts += 1;
                let outcome = careful.log.append(batch).await.expect("it is decided");
                if matches!(outcome, Outcome::Appended(_)) {
                    break;
                }
                assert!(matches!(outcome, Outcome::Conflict { .. }), "{outcome:?}");
                assert!(attempts < ATTEMPTS_MAX, "write {nth} was kept out");
                let news = careful.log.read_stream(&at, version, 1_000).await.expect("read");
                version = news.last().map_or(version, |event| event.version);
                sleep(DECIDING).await;
            }
        }
        writers.iter().for_each(tokio::task::JoinHandle::abort);
    });
}

#[test]
fn a_database_that_is_not_utf8_is_refused() {
    run(async {
        let name = format!("plenary_test_{}", std::process::id());
        let server = admin(&url()).await;
        let create = format!(
            "CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        );
        server.batch_execute(&create).await.expect("the database is made");
        let elsewhere = in_database(&name);
        let refused = open(&elsewhere, Options::default()).await.err();
        server.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.expect("dropped");
        assert!(matches!(&refused, Some(OpenError::Unfit(why)) if why.contains("UTF8")), "{refused:?}");
    });
}

fn in_database(name: &str) -> String {
    let url = url();
    let (server, _) = url.rsplit_once('/').expect("the URL names a database");
    format!("{server}/{name}")
}

#[tokio::test]
async fn invalid_options_are_refused_before_the_server_is_contacted() {
    for (url, schema, why) in [
        ("postgres://127.0.0.1:1/x?sslmode=allow", "plenary", "sslmode"),
        ("postgres://127.0.0.1:1/x?sslmode=verify-ca", "plenary", "sslrootcert"),
        ("host=127.0.0.1 port=1 sslmode=verify-full", "plenary", "sslmode"),
        ("postgres://127.0.0.1:1/x?sslcert=a", "plenary", "sslcert"),
        ("postgres://127.0.0.1:1/x", "Robert'); --", "schema"),
        ("postgres://127.0.0.1:1/x", "", "schema"),
        ("mysql://127.0.0.1", "plenary", "URL"),
    ] {
        let options = Options { schema: schema.to_owned(), ..Options::default() };
        let refused = open(url, options).await.err();
        assert!(matches!(&refused, Some(OpenError::Options(text)) if text.contains(why)), "{refused:?}");
    }
    let options = Options { start_wait: Duration::ZERO, ..Options::default() };
    let refused = open("postgres://nobody@127.0.0.1:1/x", options).await.err();
    assert!(matches!(refused, Some(OpenError::Starting(_))), "{refused:?}");
}
