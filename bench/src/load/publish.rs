//! Publishers in a closed loop: each sends its next message when the one before was acknowledged.
//! Must not know: who acknowledges.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use tokio::task::JoinSet;

use super::{HttpConnection, stamp, stamp_in};

/// One connection with one request that it sends again and again.
#[derive(Debug)]
pub(crate) struct Publisher {
    connection: HttpConnection,
    request: Vec<u8>,
    stamp_at: Option<usize>,
}

/// What came of a loop.
#[derive(Debug)]
pub(crate) struct Sent {
    /// Acknowledged within the window, a second.
    pub(crate) rate: f64,
    /// Acknowledged at all, by publisher.
    pub(crate) acknowledged: Vec<u64>,
}

impl Publisher {
    /// Connects; a stamp in the request will be written anew each time.
    pub(crate) async fn open(address: SocketAddr, request: Vec<u8>) -> Result<Self> {
        let stamp_at = stamp_in(&request);
        Ok(Self { connection: HttpConnection::open(address).await?, request, stamp_at })
    }

    /// Sends once; anything but success is an error.
    pub(crate) async fn send(&mut self) -> Result<()> {
        if let Some(at) = self.stamp_at {
            stamp(&mut self.request, at);
        }
        let (status, body) = self.connection.exchange(&self.request).await?;
        ensure!(
            (200..300).contains(&status),
            "a message was answered with {status}: {}",
            String::from_utf8_lossy(body)
        );
        Ok(())
    }
}

/// Lets the first `active` publishers send for `warm`, and counts for `window` more.
pub(crate) async fn closed_loop(
    publishers: &mut Vec<Publisher>,
    active: usize,
    warm: Duration,
    window: Duration,
) -> Result<Sent> {
    let from = Instant::now() + warm;
    let until = from + window;
    let mut tasks = JoinSet::new();
    for (nth, mut publisher) in publishers.drain(..).enumerate() {
        tasks.spawn(async move {
            let (mut all, mut within) = (0_u64, 0_u32);
            loop {
                if nth >= active {
                    break;
                }
                publisher.send().await?;
                all += 1;
                let now = Instant::now();
                if now >= until {
                    break;
                }
                within += u32::from(now >= from);
            }
            Ok::<_, anyhow::Error>((nth, publisher, all, within))
        });
    }
    let mut back = Vec::new();
    while let Some(done) = tasks.join_next().await {
        back.push(done??);
    }
    back.sort_unstable_by_key(|(nth, ..)| *nth);
    let within: u32 = back.iter().map(|(.., within)| within).sum();
    let acknowledged = back.iter().map(|(_, _, all, _)| *all).collect();
    publishers.extend(back.into_iter().map(|(_, publisher, ..)| publisher));
    Ok(Sent { rate: f64::from(within) / window.as_secs_f64(), acknowledged })
}
