//! Signals between two handles on one server: `signals URL [SECONDS]`. How long one takes from its publisher to both handles, how
//! long a question takes until both have answered, and how many 64 publishers get through in a second.
#![allow(clippy::print_stdout, reason = "it is a tool")]

use std::{
    env,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use plenary_kernel::TimestampMs;
use plenary_log::{
    Log, OpenedLog,
    signals::{Publication, Subscription},
};
use plenary_log_postgres::{Options, open};

const SCHEMA: &str = "plenary_signals";
const TOPIC: &str = "rate";
const PUBLISHERS: usize = 64;
const LATENCIES: usize = 500;
const WAIT: Duration = Duration::from_secs(1);

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Fallible<()> {
    let mut args = env::args().skip(1);
    let url = args.next().ok_or("usage: signals URL [SECONDS]")?;
    let seconds = args.next().map_or(Ok(3.0), |text| text.parse())?;
    let (one, two) = (opened(&url).await?, opened(&url).await?);
    for (what, is_question) in [("publish to both", false), ("question to both answers", true)] {
        let took = latencies(&one, &two, is_question).await?;
        let at = |part: usize| took[took.len() * part / 100].as_micros();
        println!("{what}: p50 {} us, p99 {} us", at(50), at(99));
    }
    println!("64 publishers, one handle: {:.0}/s", rate(std::slice::from_ref(&one), seconds).await?);
    println!("64 publishers, two handles: {:.0}/s", rate(&[one, two], seconds).await?);
    Ok(())
}

async fn opened(url: &str) -> Fallible<Log> {
    let options = Options { schema: SCHEMA.to_owned(), ..Options::default() };
    let OpenedLog { log, mut feed } = open(url, options).await?;
    tokio::spawn(async move { while feed.next().await.is_some() {} });
    Ok(log)
}

fn publication(counter: usize) -> Publication {
    let counters = vec![Arc::from(format!("~{counter}"))];
    Publication { topic: TOPIC, counters, at: TimestampMs(1), body: Bytes::from_static(&[b'x'; 300]) }
}

async fn latencies(one: &Log, two: &Log, is_question: bool) -> Fallible<Vec<Duration>> {
    let count_signals = |log: &Log| {
        let mut subscription: Subscription = log.signals().subscribe(TOPIC);
        let (sender, receiver) = tokio::sync::mpsc::channel(LATENCIES);
        tokio::spawn(async move {
            while let Some(signal) = subscription.next().await {
                signal.responder.into_iter().for_each(|responder| responder.answer("yes".into()));
                if sender.send(()).await.is_err() {
                    return;
                }
            }
        });
        receiver
    };
    let (mut first, mut second) = (count_signals(one), count_signals(two));
    let mut took = Vec::new();
    for _ in 0..LATENCIES {
        let started_at = Instant::now();
        if is_question {
            assert!(one.signals().ask(publication(0), WAIT).await?.complete);
            took.push(started_at.elapsed());
        } else {
            one.signals().publish(publication(0)).await?;
        }
        first.recv().await.ok_or("it ended")?;
        second.recv().await.ok_or("it ended")?;
        if !is_question {
            took.push(started_at.elapsed());
        }
    }
    took.sort_unstable();
    Ok(took)
}

async fn rate(logs: &[Log], seconds: f64) -> Fallible<f64> {
    for log in logs {
        let mut subscription = log.signals().subscribe(TOPIC);
        tokio::spawn(async move { while subscription.next().await.is_some() {} });
    }
    let (started_at, time) = (Instant::now(), Duration::from_secs_f64(seconds));
    let tasks: Vec<_> = (0..PUBLISHERS)
        .map(|nth| {
            let log = logs[nth % logs.len()].clone();
            tokio::spawn(async move {
                let mut count = 0_u32;
                while started_at.elapsed() < time {
                    log.signals().publish(publication(nth % 16)).await?;
                    count += 1;
                }
                Ok::<_, plenary_log::signals::PublishError>(count)
            })
        })
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await??;
    }
    Ok(f64::from(count) / started_at.elapsed().as_secs_f64())
}
