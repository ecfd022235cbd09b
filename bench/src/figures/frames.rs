//! P6: an ephemeral frame to many subscribers over server-sent events, under load and idle, and what one subscriber
//! that never reads costs the others. Must not know: a log; nothing of this is written.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{
    fanout::{BARE_MESSAGES, Fan, unloaded},
    percentile,
};
use crate::{
    bench::Bench,
    load::{between, now_ns},
    process::Listening,
    report::{Goal, Row, Series, Unit},
    world::{QUIET, World},
};

/// Agents that send under load.
const PUBLISHERS: usize = 64;
/// No sender is slowed down: what is measured is the fan-out.
const UNLIMITED: [&str; 2] = ["--frames-rate", "1000000"];
/// Sending as fast as possible for so long leaves more than the kernel holds for one that never reads.
const FILL: Duration = Duration::from_millis(500);

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let subscribers = bench.sizes.participants;
    let mut fan = Fan::start(bench, subscribers, 1).await?;
    let server = bench.server_with(&UNLIMITED)?;
    let mut world = World::frames(server.address(), subscribers, PUBLISHERS).await?;
    let mut load = [Series::default(), Series::default()];
    let mut idle = [Series::default(), Series::default()];
    let mut tail = [Series::default(), Series::default()];
    let mut accepted = Series::default();
    for _ in 0..bench.sizes.rounds {
        load[0].0.push(fan.load(BARE_MESSAGES).await?);
        let (deliveries, sends) = loaded(bench, &mut world).await?;
        load[1].0.push(deliveries);
        accepted.0.push(sends);
    }
    world.readers.quiet(QUIET).await?;
    for _ in 0..bench.sizes.rounds {
        idle[0].0.push(percentile(&mut fan.idle().await?, 0.5)?);
        idle[1].0.push(percentile(&mut unloaded(&server, &mut world).await?, 0.5)?);
    }
    for _ in 0..bench.sizes.rounds {
        tail[0].0.push(slowest(&server, &mut world).await?);
        let never_reads = world.stall(server.address()).await?;
        tail[1].0.push(slowest(&server, &mut world).await?);
        drop(never_reads);
    }
    let row = |what: String, unit, [limit, figure]: [Series; 2], name: &str, goal, note| Row {
        id: "P6",
        what,
        unit,
        figure,
        limit: Some((name.to_owned(), limit)),
        goal,
        note,
    };
    let note = format!("{:.0} frames a second accepted meanwhile", accepted.median());
    let loaded = format!("deliveries of frames to {subscribers} subscribers over SSE, 64 publish");
    let single = "the same with one frame every 50 ms, submission to delivery, p50".to_owned();
    let stalled = "the same, p99, with one more subscriber that never reads".to_owned();
    Ok(vec![
        row(loaded, Unit::PerSecond, load, "fan1", Goal::RatioAtLeast(5.0), note),
        row(single, Unit::Micros, idle, "fan1", Goal::None, String::new()),
        row(stalled, Unit::Micros, tail, "without it", Goal::RatioAtMost(1.2), String::new()),
    ])
}

/// Deliveries a second, from the first submission to the last delivery, and accepted frames a second.
async fn loaded(bench: &Bench, world: &mut World) -> Result<(f64, f64)> {
    let (begin, watch) = (now_ns(), Instant::now());
    let sent = world.run(PUBLISHERS, Duration::ZERO, bench.sizes.window).await?;
    let deliveries = sent.acknowledged.iter().sum::<u64>() * world.readers.seen.len() as u64;
    let seconds = between(begin, world.readers.last_ns()).min(watch.elapsed()).as_secs_f64();
    Ok((deliveries as f64 / seconds, sent.rate))
}

/// The 99th percentile over all subscribers that read, behind a load that has filled what a socket holds.
async fn slowest(server: &Listening, world: &mut World) -> Result<f64> {
    world.run(PUBLISHERS, Duration::ZERO, FILL).await?;
    world.readers.quiet(QUIET).await?;
    percentile(&mut unloaded(server, world).await?, 0.99)
}
