//! Measures the store against a bare writer: one insert a message, group commit, a flush before the answer, nothing
//! else. Both run in turns in the same process.
//!
//! `cargo run --release -p plenary-log-sqlite --example appends [DIRECTORY]`; `STREAMS` measures one number of streams alone,
//! `INDEX_EVERY` sets the option of that name.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "figures are what it is for")]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use plenary_kernel::{Position, TimestampMs, Version};
use plenary_log::{Batch, Condition, KeyClaim, Log, NewEvent, OpenedLog, Outcome, StreamName};
use plenary_log_sqlite::{Options, open};
use tokio::sync::{mpsc, oneshot};

const PAYLOAD_BYTES: usize = 300;
const ENVELOPE_BYTES: usize = 120;
const TURN: Duration = Duration::from_secs(3);
const TURNS: usize = 3;
const PAGE: usize = 1_000;

type Message = (i64, Bytes, oneshot::Sender<()>);

fn bare(directory: &Path) -> mpsc::Sender<Message> {
    let (sender, mut receiver) = mpsc::channel::<Message>(4_096);
    std::fs::create_dir_all(directory).expect("a directory");
    let database = rusqlite::Connection::open(directory.join("bare.db")).expect("a database");
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE message(id INTEGER PRIMARY KEY, session INTEGER, body BLOB)",
        )
        .expect("a table");
    let write = move || {
        let mut insert = database.prepare("INSERT INTO message(session, body) VALUES(?1, ?2)").expect("SQL");
        let mut messages = Vec::new();
        while receiver.blocking_recv_many(&mut messages, 512) > 0 {
            database.execute_batch("BEGIN IMMEDIATE").expect("begins");
            for (session, body, _) in &messages {
                insert.execute(rusqlite::params![session, &body[..]]).expect("inserts");
            }
            database.execute_batch("COMMIT").expect("commits");
            for (_, _, reply) in messages.drain(..) {
                let _ = reply.send(());
            }
        }
    };
    std::thread::Builder::new().name("bare-writer".to_owned()).spawn(write).expect("a thread");
    sender
}

/// The processor time of the threads with a name. The rates depend on the load of the machine; this shows the cost of
/// the writer alone.
fn busy(name: &str) -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|task| task.path());
    let named =
        tasks.filter(|task| std::fs::read_to_string(task.join("comm")).is_ok_and(|text| text.trim() == name));
    let nanos = named.filter_map(|task| {
        let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// The result of a turn.
#[derive(Clone, Copy)]
struct Figure {
    /// Messages per second.
    rate: f64,
    /// The writer's processor time for each message.
    micros: f64,
}

/// Runs `clients` loops for one turn and returns the figures of the acknowledged messages.
async fn measure<F, Fut>(clients: usize, writer: &str, send: F) -> Figure
where
    F: Fn(usize, u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send,
{
    let send = Arc::new(send);
    let busy_before = busy(writer);
    let started_at = Instant::now();
    let loops: Vec<_> = (0..clients)
        .map(|client| {
            let send = send.clone();
            tokio::spawn(async move {
                let mut sent = 0;
                while started_at.elapsed() < TURN {
                    send(client, sent).await;
                    sent += 1;
                }
                sent
            })
        })
        .collect();
    let mut sent = 0;
    for task in loops {
        sent += task.await.expect("a client ends well");
    }
    let sent = sent as f64;
    let took = started_at.elapsed();
    Figure {
        rate: sent / took.as_secs_f64(),
        micros: (busy(writer) - busy_before).as_secs_f64() * 1e6 / sent,
    }
}

fn batch(name: StreamName, version: u64, keyed: bool) -> Batch {
    let key = keyed.then(|| KeyClaim {
        scope: format!("{name}/@alice.assistant"),
        key: format!("0b8f3a52-7c1e-4d0a-9f3e-{version:012}"),
        digest: [7; 32],
        outcome: Bytes::from_static(
            b"{\"message_id\":\"msg_01J9ZQ3W3V5K8X2N4B6M7C8D9E\",\"sequence\":12345}",
        ),
    });
    let event = NewEvent {
        kind: "MessageSent",
        form: 1,
        envelope: Bytes::from_static(&[b'e'; ENVELOPE_BYTES]),
        payload: Bytes::from_static(&[b'p'; PAYLOAD_BYTES]),
    };
    Batch {
        conditions: vec![Condition::at(name.clone(), Version(version))],
        events: vec![(name, event)],
        at: TimestampMs(1_700_000_000_000),
        key,
        ..Batch::default()
    }
}

async fn measure_store(log: &Log, round: &str, clients: usize, keyed: bool) -> Figure {
    let log = log.clone();
    let round = round.to_owned();
    measure(clients, "log-writer", move |client, sent| {
        let log = log.clone();
        let name = StreamName::new("sessions.session", &format!("sess_01J9ZQ3W3V5K8X2N{round}{client:04}"));
        async move {
            let outcome = log.append(batch(name, sent, keyed)).await.expect("the store works");
            assert!(matches!(outcome, Outcome::Appended(_)), "{outcome:?}");
        }
    })
    .await
}

fn median(figures: &[Figure], value: impl Fn(&Figure) -> f64) -> f64 {
    let mut values: Vec<_> = figures.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn appends(log: &Log, directory: &Path) {
    let only = number("STREAMS");
    for clients in [1, 8, 64].into_iter().filter(|clients| only.is_none_or(|only| only == *clients)) {
        let (mut limit, mut plain, mut keyed) = (Vec::new(), Vec::new(), Vec::new());
        for nth in 0..TURNS {
            let sender = bare(&directory.join(format!("bare-{clients}-{nth}")));
            let rate = measure(clients, "bare-writer", move |client, _| {
                let sender = sender.clone();
                async move {
                    let (reply, answer) = oneshot::channel();
                    let body = Bytes::from_static(&[b'p'; PAYLOAD_BYTES]);
                    let _ = sender.send((client as i64, body, reply)).await;
                    let _ = answer.await;
                }
            });
            limit.push(rate.await);
            plain.push(measure_store(log, &format!("P{clients}T{nth}"), clients, false).await);
            keyed.push(measure_store(log, &format!("K{clients}T{nth}"), clients, true).await);
        }
        for (what, figures) in [("bare", &limit), ("store", &plain), ("store, with keys", &keyed)] {
            let rate = median(figures, |figure| figure.rate);
            let share = rate / median(&limit, |figure| figure.rate);
            let micros = median(figures, |figure| figure.micros);
            println!(
                "{clients:>3} streams {what:<17} {rate:>7.0}/s ({share:.2}), writer {micros:>5.1} us each"
            );
        }
    }
}

async fn reads(log: &Log) {
    let started_at = Instant::now();
    let (mut after, mut rows) = (Position::ZERO, 0_usize);
    loop {
        let page = log.read_log(after, PAGE).await.expect("the store works");
        rows += page.len();
        match page.last() {
            Some(last) if page.len() == PAGE => after = last.position,
            _ => break,
        }
    }
    report("read_log, whole log", rows, started_at);

    let one = StreamName::new("replay.session", "one");
    for _ in 0..400 {
        let version = log.read_stream(&one, Version::ZERO, 1).await.expect("the store works").len();
        let mut large = batch(one.clone(), version as u64, false);
        large.conditions.clear();
        large.events = vec![large.events[0].clone(); 512];
        log.append(large).await.expect("the store works");
    }
    whole_stream(log, "read_stream, a stream that lies together", &one).await;
    let mixed = StreamName::new("sessions.session", "sess_01J9ZQ3W3V5K8X2NP64T00000");
    whole_stream(log, "read_stream, one of 64 that were written at once", &mixed).await;
}

async fn whole_stream(log: &Log, what: &str, name: &StreamName) {
    let started_at = Instant::now();
    let mut rows = 0_usize;
    loop {
        let page = log.read_stream(name, Version(rows as u64), PAGE).await.expect("the store works");
        rows += page.len();
        if page.len() < PAGE {
            break;
        }
    }
    report(what, rows, started_at);
}

fn report(what: &str, rows: usize, started_at: Instant) {
    let rate = rows as f64 / started_at.elapsed().as_secs_f64();
    println!("{what}: {rows} rows, {rate:.0}/s");
}

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

#[tokio::main]
async fn main() {
    let directory =
        std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("plenary-rate"), PathBuf::from);
    let _ = std::fs::remove_dir_all(&directory);
    let options = Options::default();
    let options = Options { index_every: number("INDEX_EVERY").unwrap_or(options.index_every), ..options };
    let (OpenedLog { log, mut feed }, closing) = open(&directory, options).expect("the store opens");
    tokio::spawn(async move { while feed.next().await.is_some() {} });
    appends(&log, &directory).await;
    reads(&log).await;
    drop(log);
    let started_at = Instant::now();
    closing.wait().await;
    println!("closed in {:?}", started_at.elapsed());
    let started_at = Instant::now();
    let (opened, _closing) = open(&directory, options).expect("the store opens again");
    println!("opened again in {:?}", started_at.elapsed());
    drop(opened);
    let _ = std::fs::remove_dir_all(&directory);
}
