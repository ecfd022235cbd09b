//! P4: from a send to its delivery on another connection, when there is little to do.
//! Must not know: what happens under load.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use anyhow::Result;

use super::percentile;
use crate::{
    bench::Bench,
    load::{Framing, Readers, Watch, message_body, open_loop},
    process::Listening,
    report::{Goal, Row, Series, Unit},
    world::{Agent, World, sending},
};

/// 200 a second.
const PERIOD: Duration = Duration::from_millis(5);
/// Messages of a round that do not count.
const WARM: u64 = 40;

pub(super) async fn measure(bench: &mut Bench) -> Result<Vec<Row>> {
    let (limit, server) = (bench.sqlwal()?, bench.server()?);
    let mut bare = Readers::default();
    let watch = Watch { buffer: 4 << 10, ..Watch::default() };
    bare.connect(limit.addresses[1], Framing::Fixed(message_body().len()), watch).await?;
    let bare_request = sending("sess_0", &Agent { handle: String::new(), token: "0".to_owned() });
    let mut world = World::one_session(server.address(), 1, 1).await?;
    let request = world.request.clone();

    let (mut p50, mut p99) = ((Series::default(), Series::default()), (Series::default(), Series::default()));
    for _ in 0..bench.sizes.rounds {
        let mut samples = round(bench, &limit, &bare_request, &mut bare).await?;
        p50.0.0.push(percentile(&mut samples, 0.5)?);
        p99.0.0.push(percentile(&mut samples, 0.99)?);
        let mut samples = round(bench, &server, &request, &mut world.readers).await?;
        p50.1.0.push(percentile(&mut samples, 0.5)?);
        p99.1.0.push(percentile(&mut samples, 0.99)?);
    }
    let row = |what: &str, (limit, figure): (Series, Series), goal| Row {
        id: "P4",
        what: format!("send to delivery on another connection at 200 messages/s, {what}"),
        unit: Unit::Micros,
        figure,
        limit: Some(("sqlwal delivery".to_owned(), limit)),
        goal: Goal::RatioAtMost(goal),
        note: String::new(),
    };
    Ok(vec![row("p50", p50, 1.25), row("p99", p99, 1.5)])
}

/// Latencies of one round, every message accounted for.
async fn round(bench: &Bench, to: &Listening, request: &[u8], readers: &mut Readers) -> Result<Vec<u64>> {
    for (count, timed) in [(WARM, false), (bench.sizes.timed, true)] {
        let expected = readers.messages() + count;
        readers.time(timed);
        let (_, _) = bench.flushing(open_loop(to.address(), request, PERIOD, count)).await?;
        readers
            .until("messages arrive", |seen| seen.iter().all(|seen| seen.messages.load(Relaxed) >= expected))
            .await?;
    }
    readers.time(false);
    Ok(readers.take_latencies())
}
