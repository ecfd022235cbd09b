//! Requests that wait for room: their events are stored in an index, and the requests are made once there is room.
//! Each owner whose agents cause requests has a share of that index. Answers that cannot be applied yet are there too.
//! Must not know: the requests.

use std::time::Duration;

use plenary_kernel::{AskId, OwnerName, Version, limits::READ_ROWS_MAX};
use plenary_log::{Batch, Fault, IndexOp, IndexRow, Order, StoredEvent, StreamName};
use plenary_requests::MakeRequest;
use tokio::time::{sleep, timeout};

use crate::{PUT_OFF_PER_OWNER_MAX, Sources};

/// The events whose requests are postponed: `<asking owner>/<agent>/<stream>/<version>`. Answers to apply later:
/// `<ANSWERS>/<request>/<stream>/<version>`.
const PUT_OFF: &str = "sources.put_off";
/// The first part of the keys of answers; not a valid owner name.
const ANSWERS: &str = "~answers";
/// The interval of rounds without a wake-up: a quota may have room again although no request ended.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The least time between two rounds.
const PAUSE: Duration = Duration::from_millis(500);
/// Most events of one round.
const ROUND_MAX: usize = 100;

/// A share without room: the owner whose agents cause the requests, and the agent in whose name they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Share {
    /// Absent for an answer: it is kept without a limit, because its request counted towards the limits already.
    asker: Option<OwnerName>,
    prefix: String,
}

impl Share {
    /// The share of an answer that cannot be applied yet; nothing else waits for it.
    pub(crate) fn of_answer(request: &AskId) -> Self {
        Self { asker: None, prefix: format!("{ANSWERS}/{request}/") }
    }
}

/// Parses a key of [`PUT_OFF`]: the prefix of its share, the stream and the version.
fn parts(key: &str) -> Option<(&str, StreamName, Version)> {
    let (asker, rest) = key.split_once('/')?;
    let (agent, rest) = rest.split_once('/')?;
    let (stream, version) = rest.rsplit_once('/')?;
    let (category, id) = stream.split_once('/')?;
    let prefix = &key[..asker.len() + agent.len() + 2];
    Some((prefix, StreamName::new(category, id), Version(version.parse().ok()?)))
}

impl Sources {
    /// Makes a request; if there is no room, returns the share that is full.
    pub(crate) async fn ask(&self, id: &AskId, command: MakeRequest) -> Result<Option<Share>, Fault> {
        let asker = command.stranger.clone().unwrap_or_else(|| command.agent.owner_name());
        let prefix = format!("{asker}/{}/", command.agent);
        let is_made = self.0.requests.ask(id, command).await?;
        Ok((!is_made).then_some(Share { asker: Some(asker), prefix }))
    }

    /// Stores an event until there is room for its request, or until its answer can be applied.
    pub(crate) async fn put_off(&self, share: &Share, event: &StoredEvent) -> Result<(), Fault> {
        const { assert!(PUT_OFF_PER_OWNER_MAX <= READ_ROWS_MAX) };
        if let Some(asker) = &share.asker {
            let all = format!("{asker}/");
            let rows =
                self.0.log.read_index(PUT_OFF, &all, None, PUT_OFF_PER_OWNER_MAX, Order::Ascending).await?;
            if rows.len() >= PUT_OFF_PER_OWNER_MAX {
                tracing::warn!(%asker, "a request to people is left out: too many wait for room already");
                return Ok(());
            }
        }
        let key = format!("{}{}/{}", share.prefix, event.stream, event.version.0);
        self.index(IndexOp::put(PUT_OFF, key)).await?;
        match &share.asker {
            Some(asker) => tracing::info!(%asker, "a request to people waits until there is room"),
            None => tracing::info!(request = event.stream.id(), "the answer of a person waits"),
        }
        // There may be room by now.
        self.0.room.notify_one();
        Ok(())
    }

    async fn index(&self, op: IndexOp) -> Result<(), Fault> {
        self.0.log.append(Batch { index: vec![op], ..Batch::default() }).await.map(drop)
    }

    /// Makes postponed requests whenever there may be room. Never returns.
    pub(crate) async fn retry_all_postponed(&self) {
        let mut after = None;
        loop {
            match self.round(after.as_deref()).await {
                Ok(next) => after = next,
                Err(fault) => {
                    tracing::warn!(%fault, "what was put off is not asked yet; it is tried again");
                }
            }
            if after.is_none() {
                // A lost wake-up only delays.
                let _either = timeout(LOOK_EVERY, self.0.room.notified()).await;
            }
            sleep(PAUSE).await;
        }
    }

    /// Handles a page of postponed events; returns where to continue, unless it was the last one.
    async fn round(&self, after: Option<&str>) -> Result<Option<String>, Fault> {
        let rows = self.0.log.read_index(PUT_OFF, "", after, ROUND_MAX, Order::Ascending).await?;
        let next = rows.last().filter(|_| rows.len() == ROUND_MAX).map(|row| row.key.clone());
        let mut full = None::<Share>;
        for IndexRow { key, .. } in rows {
            // If a share is full, its later events find no room either.
            if full.as_ref().is_some_and(|share| key.starts_with(&share.prefix)) {
                continue;
            }
            let seen = self.retry_postponed(&key).await;
            full = Fault::skip_corrupt(seen, "what was put off is damaged and is not asked")?.flatten();
            if full.is_none() {
                self.index(IndexOp::delete(PUT_OFF, key)).await?;
            }
        }
        Ok(next)
    }

    async fn retry_postponed(&self, key: &str) -> Result<Option<Share>, Fault> {
        let damaged = || Fault::Corrupt(format!("{key} in {PUT_OFF}"));
        let (_, stream, version) = parts(key).ok_or_else(damaged)?;
        let before = Version(version.0.saturating_sub(1));
        match self.0.log.read_stream(&stream, before, 1).await?.pop() {
            Some(event) => self.handle_event(&event).await,
            None => Err(damaged()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_locates_its_event() {
        let (prefix, stream, version) = parts("acme/@nick.cc/sessions.session/01JD/7").unwrap();
        assert_eq!((prefix, version), ("acme/@nick.cc/", Version(7)));
        assert_eq!(stream, StreamName::new("sessions.session", "01JD"));
        assert!(parts("acme/@nick.cc/7").is_none());
    }
}
