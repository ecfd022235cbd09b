//! Appends a second: `rate URL [SECONDS [SUBMITTERS]]`. Each submitter waits for its commit before it sends the next batch: an
//! event of 300 bytes on a stream of its own, with a condition and an idempotency key. Beside it the bare limit: the
//! same groups as one INSERT of one table, without keys, conditions, streams or feed.
#![allow(clippy::print_stdout, reason = "it is a tool")]

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use plenary_kernel::{TimestampMs, Version};
use plenary_log::{Batch, Condition, KeyClaim, Log, NewEvent, OpenedLog, Outcome, StreamName};
use plenary_log_postgres::{Options, open};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::NoTls;

const SCHEMA: &str = "plenary_rate";
const PAYLOAD: &[u8] = &[b'x'; 300];
const ENVELOPE: &[u8] = &[b'e'; 60];

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Fallible<()> {
    let mut args = env::args().skip(1);
    let url = args.next().ok_or("usage: rate URL [SECONDS [SUBMITTERS]]")?;
    let seconds = args.next().map_or(Ok(3.0), |text| text.parse())?;
    let time = Duration::from_secs_f64(seconds);
    let only: Option<usize> = args.next().map(|text| text.parse()).transpose()?;
    for submitters in only.map_or_else(|| vec![1, 8, 64, 256], |only| vec![only]) {
        let bare = bare(&url, submitters, time).await?;
        print!("{submitters:>4} submitters: bare {bare:>6.0}/s");
        for handles in [1, 3] {
            let rate = appends(&url, handles, submitters, time).await?;
            print!(", {handles} handles {rate:>6.0}/s ({:.2})", rate / bare);
        }
        println!();
    }
    clear(&url).await
}

async fn clear(url: &str) -> Fallible<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")).await?;
    Ok(())
}

async fn appends(url: &str, handles: usize, submitters: usize, time: Duration) -> Fallible<f64> {
    clear(url).await?;
    let mut logs = Vec::new();
    for _ in 0..handles {
        let OpenedLog { log, mut feed } =
            open(url, Options { schema: SCHEMA.to_owned(), ..Options::default() }).await?;
        tokio::spawn(async move { while feed.next().await.is_some() {} });
        logs.push(log);
    }
    let (done, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let tasks: Vec<_> = (0..submitters)
        .map(|n| tokio::spawn(submit(logs[n % handles].clone(), n, done.clone(), ends.clone())))
        .collect();
    let rate = rate(&done, &ends, time).await;
    for task in tasks {
        task.await??;
    }
    Ok(rate)
}

async fn rate(done: &AtomicU64, ends: &AtomicBool, time: Duration) -> f64 {
    tokio::time::sleep(time / 4).await;
    let (before, started_at) = (done.load(Ordering::Relaxed), Instant::now());
    tokio::time::sleep(time).await;
    let count = done.load(Ordering::Relaxed) - before;
    let seconds = started_at.elapsed().as_secs_f64();
    ends.store(true, Ordering::Relaxed);
    count as f64 / seconds
}

async fn submit(log: Log, n: usize, done: Arc<AtomicU64>, ends: Arc<AtomicBool>) -> Fallible<()> {
    let stream = StreamName::new("rate.stream", &n.to_string());
    let mut version = 0;
    while !ends.load(Ordering::Relaxed) {
        let event = NewEvent {
            kind: "Sent",
            form: 1,
            envelope: Bytes::from_static(ENVELOPE),
            payload: Bytes::from_static(PAYLOAD),
        };
        let key = KeyClaim {
            scope: stream.as_str().to_owned(),
            key: format!("{version:020}"),
            digest: [1; 32],
            outcome: Bytes::from_static(b"12345678"),
        };
        let batch = Batch {
            conditions: vec![Condition::at(stream.clone(), Version(version))],
            events: vec![(stream.clone(), event)],
            at: TimestampMs(1_700_000_000_000),
            key: Some(key),
            ..Batch::default()
        };
        let outcome = log.append(batch).await?;
        if !matches!(outcome, Outcome::Appended(_)) {
            return Err(format!("{outcome:?}").into());
        }
        version += 1;
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// One writer, one connection, one table, one statement a group.
async fn bare(url: &str, submitters: usize, time: Duration) -> Fallible<f64> {
    clear(url).await?;
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let make = format!(
        "CREATE SCHEMA {SCHEMA}; CREATE TABLE {SCHEMA}.bare (id bigserial PRIMARY KEY, payload bytea NOT NULL)"
    );
    client.batch_execute(&make).await?;
    let insert = format!("INSERT INTO {SCHEMA}.bare (payload) SELECT * FROM unnest($1::bytea[])");
    let insert = client.prepare(&insert).await?;
    let (jobs, mut waiting) = mpsc::channel::<oneshot::Sender<()>>(4096);
    let (done, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    for _ in 0..submitters {
        let (jobs, done, ends) = (jobs.clone(), done.clone(), ends.clone());
        tokio::spawn(async move {
            while !ends.load(Ordering::Relaxed) {
                let (reply, answer) = oneshot::channel();
                if jobs.send(reply).await.is_err() || answer.await.is_err() {
                    return;
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    drop(jobs);
    let writer = tokio::spawn(async move {
        let mut group = Vec::new();
        while waiting.recv_many(&mut group, 512).await > 0 {
            client.execute(&insert, &[&vec![PAYLOAD; group.len()]]).await?;
            group.drain(..).for_each(|reply| reply.send(()).unwrap_or_default());
        }
        Ok::<_, tokio_postgres::Error>(())
    });
    let rate = rate(&done, &ends, time).await;
    writer.await??;
    Ok(rate)
}
