//! Many requests as fast as a few connections carry them, for what a figure needs before it begins.
//! Must not know: what they make.

use std::{net::SocketAddr, sync::Arc};

use anyhow::{Result, bail, ensure};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::HttpConnection;

/// Connections of a bulk.
const CONNECTIONS: usize = 64;

/// Sends the requests, in no order; each must be answered with success. Gives the bodies in the order of requests.
pub(crate) async fn bulk(
    address: SocketAddr,
    requests: impl Iterator<Item = Vec<u8>> + Send + 'static,
) -> Result<Vec<Vec<u8>>> {
    let requests = Arc::new(Mutex::new(requests.enumerate()));
    let mut tasks = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let requests = requests.clone();
        tasks.spawn(async move {
            let mut connection = HttpConnection::open(address).await?;
            let mut replies = Vec::new();
            loop {
                let next = requests.lock().next();
                let Some((nth, request)) = next else { return Ok::<_, anyhow::Error>(replies) };
                let (status, body) = connection.exchange(&request).await?;
                if !(200..300).contains(&status) {
                    bail!("{status} {} to {}", lossy(body), lossy(&request));
                }
                replies.push((nth, body.to_vec()));
            }
        });
    }
    let mut replies = Vec::new();
    while let Some(done) = tasks.join_next().await {
        replies.extend(done??);
    }
    replies.sort_unstable_by_key(|(nth, _)| *nth);
    ensure!(replies.last().is_none_or(|(nth, _)| nth + 1 == replies.len()), "a reply is missing");
    Ok(replies.into_iter().map(|(_, body)| body).collect())
}

pub(crate) async fn one(address: SocketAddr, request: &[u8]) -> Result<Vec<u8>> {
    let mut connection = HttpConnection::open(address).await?;
    let (status, body) = connection.exchange(request).await?;
    ensure!((200..300).contains(&status), "{status} {} to {}", lossy(body), lossy(request));
    Ok(body.to_vec())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
