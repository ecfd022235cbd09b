//! P5: a durable session with many connected participants, under load and idle.
//! Must not know: how fast one reader catches up.

use std::{
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use super::percentile;
use crate::{
    bench::Bench,
    load::{Framing, PAYLOAD_BYTES, Readers, Watch, between, content, now_ns, open_loop, stamp},
    process::Listening,
    report::{Goal, Row, Series, Unit},
    world::World,
};

/// Participants that publish under load.
const PUBLISHERS: usize = 64;
/// Messages of a bare round under load.
pub(super) const BARE_MESSAGES: usize = 400;
const BARE_BATCHED_MESSAGES: usize = 6_400;
/// One message in a while, and how many of them.
const IDLE_PERIOD: Duration = Duration::from_millis(50);
const IDLE_MESSAGES: u64 = 60;

/// A bare fan-out, with its receivers and its publisher.
pub(super) struct Fan {
    _process: Listening,
    readers: Readers,
    publisher: TcpStream,
}

impl Fan {
    /// Starts it, and connects everyone.
    pub(super) async fn start(bench: &Bench, receivers: usize, batch: usize) -> Result<Self> {
        let [receivers_text, batch, bytes] = [receivers, batch, PAYLOAD_BYTES].map(|n| n.to_string());
        let role = ["fan", "--receivers", &receivers_text, "--batch", &batch, "--bytes", &bytes];
        let process = bench.limit(&role)?;
        let mut readers = Readers::default();
        let out = *process.addresses.get(1).context("the fan-out says where messages come out")?;
        for _ in 0..receivers {
            let watch = Watch { buffer: 64 << 10, ..Watch::default() };
            readers.connect(out, Framing::Fixed(PAYLOAD_BYTES), watch).await?;
        }
        let publisher = TcpStream::connect(process.address()).await?;
        publisher.set_nodelay(true)?;
        Ok(Self { _process: process, readers, publisher })
    }

    /// Deliveries a second of this many messages, sent as fast as they are accepted.
    pub(super) async fn load(&mut self, messages: usize) -> Result<f64> {
        let bytes = content().repeat(messages);
        let expected = self.readers.messages() + (messages * self.readers.seen.len()) as u64;
        let begin = now_ns();
        self.publisher.write_all(&bytes).await?;
        self.all_arrive(expected).await?;
        let seconds = between(begin, self.readers.last_ns()).as_secs_f64();
        Ok((messages * self.readers.seen.len()) as f64 / seconds)
    }

    /// Latencies of single messages.
    pub(super) async fn idle(&mut self) -> Result<Vec<u64>> {
        self.readers.time(true);
        let mut ticks = tokio::time::interval(IDLE_PERIOD);
        let mut message = content();
        let expected = self.readers.messages() + IDLE_MESSAGES * self.readers.seen.len() as u64;
        for _ in 0..IDLE_MESSAGES {
            ticks.tick().await;
            stamp(&mut message, 0);
            self.publisher.write_all(&message).await?;
        }
        self.all_arrive(expected).await?;
        self.readers.time(false);
        Ok(self.readers.take_latencies())
    }

    async fn all_arrive(&mut self, expected: u64) -> Result<()> {
        let all = |seen: &[std::sync::Arc<crate::load::Seen>]| {
            seen.iter().map(|seen| seen.messages.load(Relaxed)).sum::<u64>() >= expected
        };
        self.readers.until("bare messages arrive", all).await
    }
}

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let participants = bench.sizes.participants;
    let mut fan = Fan::start(bench, participants, 1).await?;
    let mut fan64 = Fan::start(bench, participants, 64).await?;
    let server = bench.server()?;
    let mut world = World::wide(server.address(), participants, PUBLISHERS).await?;
    let mut load = [Series::default(), Series::default(), Series::default()];
    let mut idle = [Series::default(), Series::default()];
    let mut acknowledged = Series::default();
    for _ in 0..bench.sizes.rounds {
        load[0].0.push(fan.load(BARE_MESSAGES).await?);
        load[1].0.push(fan64.load(BARE_BATCHED_MESSAGES).await?);
        let (deliveries, sends) = loaded(bench, &mut world).await?;
        load[2].0.push(deliveries);
        acknowledged.0.push(sends);
    }
    world.readers.quiet(crate::world::QUIET).await?;
    for _ in 0..bench.sizes.rounds {
        idle[0].0.push(percentile(&mut fan.idle().await?, 0.5)?);
        idle[1].0.push(percentile(&mut unloaded(&server, &mut world).await?, 0.5)?);
    }
    let [fan1, fan64, figure] = load;
    let [idle_limit, idle_figure] = idle;
    let row = |what: String, unit, figure, limit: Option<(&str, Series)>, goal, note| Row {
        id: "P5",
        what,
        unit,
        figure,
        limit: limit.map(|(name, series)| (name.to_owned(), series)),
        goal,
        note,
    };
    let note = format!("{:.0} messages a second acknowledged meanwhile", acknowledged.median());
    let loaded = format!("deliveries in one durable session of {participants} connected, 64 of them publish");
    let single = "the same with one message every 50 ms, send to delivery, p50".to_owned();
    Ok(vec![
        row(loaded, Unit::PerSecond, figure, Some(("fan1", fan1)), Goal::RatioAtLeast(4.0), note),
        row(
            single,
            Unit::Micros,
            idle_figure,
            Some(("fan1", idle_limit)),
            Goal::RatioAtMost(1.3),
            String::new(),
        ),
        row(
            "bare TCP, 64 messages a write (`fan64`)".to_owned(),
            Unit::PerSecond,
            fan64,
            None,
            Goal::None,
            String::new(),
        ),
    ])
}

/// Deliveries a second, from the first send to the last delivery, and acknowledged messages a second.
async fn loaded(bench: &Bench, world: &mut World) -> Result<(f64, f64)> {
    let (begin, watch) = (now_ns(), Instant::now());
    let run = world.run(PUBLISHERS, Duration::ZERO, bench.sizes.window);
    let (sent, _) = bench.flushing(run).await?;
    let deliveries = sent.acknowledged.iter().sum::<u64>() * world.readers.seen.len() as u64;
    let seconds = between(begin, world.readers.last_ns()).min(watch.elapsed()).as_secs_f64();
    Ok((deliveries as f64 / seconds, sent.rate))
}

/// Latencies of single messages, as the bare fan-out's.
pub(super) async fn unloaded(server: &Listening, world: &mut World) -> Result<Vec<u64>> {
    let expected = world.readers.messages() + IDLE_MESSAGES * world.readers.seen.len() as u64;
    world.readers.time(true);
    open_loop(server.address(), &world.request, IDLE_PERIOD, IDLE_MESSAGES).await?;
    let all = |seen: &[std::sync::Arc<crate::load::Seen>]| {
        seen.iter().map(|seen| seen.messages.load(Relaxed)).sum::<u64>() >= expected
    };
    world.readers.until("messages arrive", all).await?;
    world.readers.time(false);
    Ok(world.readers.take_latencies())
}
