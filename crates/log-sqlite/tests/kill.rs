//! `kill -9` while it writes: what was acknowledged is there once, whole and in order.
//!
//! The test starts itself again as the process that is killed.

mod directory;

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use directory::{Directory, Store, message, stream};
use plenary_kernel::{Position, Version};
use plenary_log::{Condition, IndexOp, KeyClaim, Log, Order, Outcome, RowOp, StoredEvent};
use plenary_log_sqlite::{Options, open};

const DIRECTORY: &str = "PLENARY_TEST_KILL_DIRECTORY";
const QUICK: &str = "PLENARY_TEST_QUICK";
const WRITERS: usize = 6;
/// Written at once, so that a kill falls into it often.
const INDEX_EVERY: usize = 50;
/// Longest life of the process once it has acknowledged something.
const LIFE_MAX_MICROS: u64 = 150_000;
const START_MAX: Duration = Duration::from_secs(60);

fn options() -> Options {
    Options { index_every: INDEX_EVERY, ..Options::default() }
}

/// The process that is killed; nothing when run as a test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY).map(PathBuf::from) else { return };
    let (opened, _closing) = open(&directory, options()).expect("the store opens");
    let mut feed = opened.feed;
    let fed = tokio::spawn(async move { while feed.next().await.is_some() {} });
    for writer in 0..WRITERS {
        tokio::spawn(write(opened.log.clone(), writer));
    }
    drop(opened.log);
    fed.await.expect("it is killed before");
}

/// Appends numbers for ever. Each batch has two events, an index row, a row and a key that all tell the same number.
async fn write(log: Log, writer: usize) {
    let (own, name) = (stream(&writer.to_string()), format!("last/{writer}"));
    let row = log.read_row(&name).await.expect("the store works");
    for n in row.map_or(0, |row| row.revision) + 1.. {
        let text = format!("{writer} {n}");
        let mut batch = message(&own, text.clone());
        batch.events.extend(message(&stream("all"), text.repeat(40)).events);
        batch.conditions.push(Condition::at(own.clone(), Version(n - 1)));
        let value = Bytes::from(text.clone());
        batch.index.push(IndexOp::Put { name: "test.last", key: writer.to_string(), value: value.clone() });
        batch.rows.push(RowOp { name: name.clone(), expected: Some(n - 1), value: Some(value.clone()) });
        let key = KeyClaim { scope: writer.to_string(), key: n.to_string(), digest: [1; 32], outcome: value };
        batch.key = Some(key);
        let outcome = log.append(batch).await.expect("the store works");
        assert!(matches!(outcome, Outcome::Appended(_)), "{outcome:?}");
        writeln!(std::io::stdout(), "ack {text}").expect("the other end reads");
    }
}

/// Starts the process, kills it some time after its first acknowledgement, and says what it acknowledged last.
fn life(directory: &Directory) -> HashMap<usize, u64> {
    let mut child: Child = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", "writes_until_it_is_killed", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("it has an output")).lines();
    let (acks, acked) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let mut words = line.split(' ');
            // The test harness may have started the first line.
            if words.any(|word| word.ends_with("ack"))
                && let (Some(writer), Some(n)) = (words.next(), words.next())
            {
                let _ = acks.send((writer.parse().expect("a writer"), n.parse().expect("a number")));
            }
        }
    });
    let mut last: HashMap<usize, u64> = HashMap::new();
    let first = acked.recv_timeout(START_MAX).expect("it acknowledges something");
    let micros = RandomState::new().hash_one("life") % LIFE_MAX_MICROS;
    let until = Instant::now() + Duration::from_micros(micros);
    let mut note = |(writer, n): (usize, u64)| last.insert(writer, n);
    note(first);
    while let Some(remaining) = until.checked_duration_since(Instant::now()) {
        if let Ok(ack) = acked.recv_timeout(remaining) {
            note(ack);
        }
    }
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    reader.join().expect("the output ends");
    acked.try_iter().for_each(|ack| {
        note(ack);
    });
    last
}

async fn whole(log: &Log) -> Vec<StoredEvent> {
    let mut events: Vec<StoredEvent> = Vec::new();
    loop {
        let after = events.last().map_or(Position::ZERO, |event| event.position);
        let page = log.read_log(after, 1_000).await.expect("the store works");
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

/// Every writer's numbers are there from 1 without a gap, in both streams, and all records tell the last of them.
async fn checked(log: &Log, acked: &HashMap<usize, u64>) {
    let events = whole(log).await;
    assert_eq!(log.head().await.expect("the store works"), Position(events.len() as u64));
    let mut seen = HashSet::new();
    let mut versions = HashMap::new();
    for (event, position) in events.iter().zip(1..) {
        assert_eq!(event.position, Position(position), "positions have no gaps");
        let version = versions.entry(event.stream.clone()).or_insert(Version::ZERO);
        *version = version.next();
        assert_eq!(event.version, *version, "versions have no gaps");
        assert!(seen.insert((event.stream.clone(), event.payload.clone())), "nothing is there twice");
    }
    for pair in events.chunks(2) {
        assert_eq!(pair.len(), 2, "no batch is torn");
        let text = String::from_utf8_lossy(&pair[0].payload);
        assert_eq!(pair[1].payload, text.repeat(40), "no batch is torn");
    }
    for writer in 0..WRITERS {
        let count = versions.get(&stream(&writer.to_string())).map_or(0, |version| version.0);
        assert!(count >= acked.get(&writer).copied().unwrap_or(0), "what was acknowledged is there");
        if count == 0 {
            continue;
        }
        let (scope, last) = (writer.to_string(), format!("{writer} {count}"));
        let end = log.read_stream(&stream(&scope), Version(count - 1), 10).await.expect("the store works");
        assert_eq!((end.len(), &end[0].payload[..]), (1, last.as_bytes()));
        let index = log.read_index("test.last", &scope, None, 1, Order::Ascending).await;
        assert_eq!(index.expect("the store works")[0].value, last);
        let row = log.read_row(&format!("last/{scope}")).await.expect("the store works").expect("a row");
        assert_eq!((row.revision, &row.value[..]), (count, last.as_bytes()));
        for n in [1, count / 2 + 1, count] {
            let key = log.read_key(&scope, &n.to_string()).await.expect("the store works").expect("a key");
            assert_eq!(key.outcome, format!("{writer} {n}"));
        }
        let next = log.read_key(&scope, &(count + 1).to_string()).await.expect("the store works");
        assert_eq!(next, None);
    }
}

#[test]
fn what_was_acknowledged_outlives_a_kill() {
    let rounds = if std::env::var_os(QUICK).is_some() { 3 } else { 10 };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let directory = Directory::new();
    let mut acked = HashMap::new();
    for round in 0..rounds {
        acked.extend(life(&directory));
        runtime.block_on(async {
            let Store { log, feed, closing } = directory.open(options()).expect("the store opens");
            checked(&log, &acked).await;
            // A retry of the last acknowledged request is answered and not written again.
            for (writer, n) in &acked {
                let mut again = message(&stream(&writer.to_string()), "again");
                let (scope, key) = (writer.to_string(), n.to_string());
                again.key = Some(KeyClaim { scope, key, digest: [1; 32], outcome: Bytes::new() });
                let done = Outcome::AlreadyDone { outcome: format!("{writer} {n}").into() };
                assert_eq!(log.append(again).await.expect("the store works"), done, "round {round}");
            }
            drop((log, feed));
            closing.wait().await;
        });
    }
    assert!(acked.values().sum::<u64>() > 0);
}
