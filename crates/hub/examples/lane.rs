//! Deliveries a second of the lane alone: `lane [SUBSCRIBERS [SECONDS]]`. One emitter, as fast as it can, and subscribers that
//! take what waits.
#![allow(clippy::print_stdout, reason = "it is a tool")]

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use plenary_hub::{Emission, Lane, LaneLimits, Matches};

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Fallible<()> {
    let mut args = env::args().skip(1);
    let subscribers: usize = args.next().map_or(Ok(1_000), |text| text.parse())?;
    let time = Duration::from_secs_f64(args.next().map_or(Ok(3.0), |text| text.parse())?);
    let lane = Lane::<usize, Bytes>::new(LaneLimits::default());
    let delivered = Arc::new(AtomicU64::new(0));
    for nth in 0..subscribers {
        let (mut subscription, delivered) = (lane.subscribe("~k", nth, None)?, delivered.clone());
        tokio::spawn(async move {
            let mut deliveries = Vec::new();
            while subscription.next(&mut deliveries).await.is_ok() {
                delivered.fetch_add(deliveries.len() as u64, Ordering::Relaxed);
                deliveries.clear();
            }
        });
    }
    let matches: Matches<usize> = Arc::new(|_| true);
    let message = Bytes::from(vec![b'x'; 300]);
    let (started_at, mut number) = (Instant::now(), 0);
    while started_at.elapsed() < time {
        number += 1;
        let (message, matches) = (message.clone(), matches.clone());
        lane.emit("~k", Emission { number, message, bytes: 300, forget_at: None, matches });
        // No subscription stalls: the emitter waits for deliveries.
        while number * subscribers as u64 > delivered.load(Ordering::Relaxed) + 512 * subscribers as u64 {
            tokio::task::yield_now().await;
        }
    }
    let count = delivered.load(Ordering::Relaxed);
    println!(
        "{subscribers} subscribers: {:.0} deliveries/s",
        count as f64 / started_at.elapsed().as_secs_f64()
    );
    println!("stalled: {}", lane.size().stalled);
    Ok(())
}
