//! Search: a projection of the log with a cursor of its own, outside every append. No decision reads it, and whatever
//! it finds is read back from the log.
//! Must not know: how an index is kept.

mod documents;
mod finding;
mod following;
mod recent;

use std::sync::Arc;

use plenary_log::StoredEvent;
use plenary_retrieval::{Fault, Index};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::watch;

use self::recent::Recent;

/// The index of this room, and what is still to go into it.
pub(crate) struct Search {
    index: Arc<dyn Index>,
    recent: Recent,
    /// How many events are to be looked at before all packages are found.
    lag: Gauge,
    closing: watch::Sender<bool>,
}

impl Search {
    pub(crate) fn new(index: Arc<dyn Index>) -> Self {
        Self { index, recent: Recent::default(), lag: Gauge::default(), closing: watch::Sender::new(false) }
    }

    /// Takes note of committed events. Never waits.
    pub(crate) fn committed(&self, events: &[StoredEvent]) {
        if self.recent.push(events) {
            self.count();
        }
    }

    fn count(&self) {
        self.lag.set(i64::try_from(self.recent.lag()).unwrap_or(i64::MAX));
    }

    /// How many events are to be looked at before all packages are found.
    pub(crate) fn lag(&self) -> &Gauge {
        &self.lag
    }

    /// Ends the following and closes the index. What was not put there is read from the log at the next start.
    pub(crate) async fn close(&self) -> Result<(), Fault> {
        self.closing.send_replace(true);
        self.index.close().await
    }
}
