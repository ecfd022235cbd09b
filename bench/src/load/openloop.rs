//! An open loop: messages leave at their time, whatever became of the ones before, so that a server that stands
//! still is not asked less. Must not know: who receives.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval_at},
};

use super::Publisher;

/// Connections at the beginning, and at most.
const CONNECTIONS: usize = 8;
const CONNECTIONS_MAX: usize = 256;
/// A generator that lags its own times by more than this has not measured the server.
const LATE_MAX: Duration = Duration::from_millis(100);

/// Sends `count` messages, one every `period`; each carries the time at which it left.
pub(crate) async fn open_loop(
    address: SocketAddr,
    request: &[u8],
    period: Duration,
    count: u64,
) -> Result<()> {
    let idle = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..CONNECTIONS {
        let publisher = Publisher::open(address, request.to_vec()).await?;
        idle.lock().push(publisher);
    }
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let due = ticks.tick().await;
        let late = due.elapsed();
        ensure!(late < LATE_MAX, "the load generator was {late:?} late: this machine is too busy");
        let next = idle.lock().pop();
        let mut publisher = match next {
            Some(publisher) => publisher,
            None => Publisher::open(address, request.to_vec()).await?,
        };
        ensure!(tasks.len() < CONNECTIONS_MAX, "{CONNECTIONS_MAX} messages wait for their acknowledgement");
        let idle = idle.clone();
        tasks.spawn(async move {
            publisher.send().await?;
            idle.lock().push(publisher);
            Ok::<_, anyhow::Error>(())
        });
        while let Some(done) = tasks.try_join_next() {
            done.context("a sender")??;
        }
    }
    while let Some(done) = tasks.join_next().await {
        done.context("a sender")??;
    }
    Ok(())
}
