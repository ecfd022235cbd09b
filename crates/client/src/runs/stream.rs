//! A run's live events across disconnects, each exactly once, until the run ends.
//! Must not know: the use of an event.

use super::{RunEvent, calls::agent_path};
use crate::{Client, Result, Signal, StreamOptions, client::segment, feed::Feed};

/// Largest event in bytes: twice the largest members of one event and the common ones.
const EVENT_BYTES_MAX: usize = 4 << 20;

/// Follows a run, without gaps; only text deltas may be missing.
pub struct RunStream {
    feed: Feed,
    /// The highest id returned so far.
    last: u64,
    over: bool,
}

impl RunStream {
    /// Waits for the next signal; `None` after RunCompleted.
    ///
    /// # Errors
    /// See [`Signal`].
    pub async fn next(&mut self) -> Result<Option<Signal<Box<RunEvent>>>> {
        while !self.over {
            let signal = self.feed.next().await?.read(|event| RunEvent::read(&event.data).map(Box::new));
            if let Signal::Event(event) = &signal {
                if event.id.is_some_and(|id| id <= self.last) {
                    continue;
                }
                self.last = event.id.unwrap_or(self.last);
                self.over = event.finish_reason().is_some();
            }
            return Ok(Some(signal));
        }
        Ok(None)
    }
}

impl Client {
    /// Follows a run from its beginning, or after the event `after`, and reconnects after every failure. Connects when
    /// first awaited.
    pub fn follow_run(
        &self,
        agent: &str,
        run: &str,
        after: Option<u64>,
        options: StreamOptions,
    ) -> RunStream {
        let path = format!("{}?run_id={}&stream=true", agent_path(agent, "get_events"), segment(run));
        let resumed = after.map(|id| id.to_string());
        let feed = Feed::new(self.clone(), path, resumed, EVENT_BYTES_MAX, options);
        RunStream { feed, last: after.unwrap_or(0), over: false }
    }
}
