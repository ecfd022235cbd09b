//! A reader of the log: from its cursor on, it handles the relevant events, each lane in log order and
//! lanes concurrently, so that no lane waits for slow work in another; then it moves the cursor. Work
//! that a crash interrupted is repeated at the next start, and every process on the store does all of
//! it, so it must be idempotent. The cursor is one row, and the highest position of any process counts
//! for all.
//! Must not know: the work.

use std::{collections::BTreeMap, future::Future, time::Duration};

use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use plenary_kernel::Position;
use plenary_log::{Batch, Fault, Log, PageSize, RowOp, StoredEvent};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

use crate::Recent;

/// Most bytes of events that wait in memory; older ones are read from the log.
pub const REACTOR_BYTES_MAX: usize = 4 << 20;
/// Most events that are handled before the cursor moves.
const ROUND_EVENTS_MAX: usize = 256;
/// Most lanes that are handled at the same time; the others wait.
const LANES_AT_ONCE: usize = 64;
/// How often the reactor looks without a wake-up.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The least time between two writes of the cursor.
const KEEP_EVERY: Duration = Duration::from_millis(500);
/// The cursor is written after this many irrelevant events at the latest.
const KEEP_EVENTS: u64 = 1_000;
/// The pause after a fault.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredCursor {
    position: Position,
}

/// A reader of the log with a cursor of its own.
pub struct Reactor {
    log: Log,
    row: &'static str,
    concerns: fn(&StoredEvent) -> bool,
    lane: fn(&StoredEvent) -> String,
    recent: Mutex<Recent>,
    /// Wakes the reader for relevant events.
    news: Notify,
}

impl Reactor {
    /// A reader whose cursor is the row of this name, `<room>/place`. It handles the events that
    /// `concerns` selects, each in the lane that is named for it.
    pub fn new(
        log: Log,
        row: &'static str,
        concerns: fn(&StoredEvent) -> bool,
        lane: fn(&StoredEvent) -> String,
    ) -> Self {
        let recent = Mutex::new(Recent::new(REACTOR_BYTES_MAX));
        Self { log, row, concerns, lane, recent, news: Notify::new() }
    }

    /// Adds a group of committed events.
    pub fn add(&self, events: &[StoredEvent]) {
        if let (Some(first), Some(last)) = (events.first(), events.last()) {
            let relevant: Vec<_> = events.iter().filter(|event| (self.concerns)(event)).cloned().collect();
            let is_news = !relevant.is_empty();
            self.recent.lock().push(first.position, last.position, relevant);
            if is_news {
                self.news.notify_one();
            }
        }
    }

    /// Handles all events, for ever. Retries after a fault; skips corrupt events.
    pub async fn react<F>(&self, see_to: impl Fn(StoredEvent) -> F + Send + Sync)
    where
        F: Future<Output = Result<(), Fault>> + Send,
    {
        loop {
            if let Err(fault) = self.follow(&see_to).await {
                tracing::warn!(%fault, place = self.row, "events are not seen to; it is tried again");
            }
            sleep(PAUSE).await;
        }
    }

    async fn follow<F>(&self, see_to: &(impl Fn(StoredEvent) -> F + Send + Sync)) -> Result<(), Fault>
    where
        F: Future<Output = Result<(), Fault>> + Send,
    {
        let mut at = self.begin().await?;
        let (mut stored, mut is_due, mut size) = ((None::<Instant>, at), false, PageSize::default());
        loop {
            let lately = self.recent.lock().after(at, ROUND_EVENTS_MAX);
            let (events, until) = match lately {
                Some(found) => found,
                None => {
                    let (page, until) = self.log.read_past_damage(at, size.events()).await?;
                    size.learn(&page);
                    (page.into_iter().filter(|event| (self.concerns)(event)).collect(), until)
                }
            };
            is_due |= !events.is_empty() || until.0 - stored.1.0 >= KEEP_EVENTS;
            self.handle_all(see_to, events).await;
            self.recent.lock().forget(until);
            // After a start as soon as everything is handled, so that a further start need not read it.
            if is_due && stored.0.map_or(until == at, |stored| stored.elapsed() >= KEEP_EVERY) {
                self.keep(until).await?;
                (stored, is_due) = ((Some(Instant::now()), until), false);
            }
            if until == at {
                // A lost wake-up only delays the work.
                let _either = timeout(LOOK_EVERY, self.news.notified()).await;
            }
            at = until;
        }
    }

    /// Handles events: those of one lane in order, the lanes concurrently.
    async fn handle_all<F>(
        &self,
        see_to: &(impl Fn(StoredEvent) -> F + Send + Sync),
        events: Vec<StoredEvent>,
    ) where
        F: Future<Output = Result<(), Fault>> + Send,
    {
        let mut lanes: BTreeMap<String, Vec<StoredEvent>> = BTreeMap::new();
        for event in events {
            lanes.entry((self.lane)(&event)).or_default().push(event);
        }
        let seeing = stream::iter(lanes.into_values()).map(|events| async move {
            for event in events {
                self.handle_one(see_to, event).await;
            }
        });
        seeing.buffer_unordered(LANES_AT_ONCE).collect::<()>().await;
    }

    /// Handles one event, and retries as long as the store fails.
    async fn handle_one<F>(&self, see_to: &(impl Fn(StoredEvent) -> F + Send + Sync), event: StoredEvent)
    where
        F: Future<Output = Result<(), Fault>> + Send,
    {
        let (at, place) = (event.position, self.row);
        loop {
            match see_to(event.clone()).await {
                Ok(()) => return,
                Err(fault @ Fault::Corrupt(_)) => {
                    tracing::error!(%fault, %at, place, "an event can't be seen to and is passed over");
                    return;
                }
                Err(fault) => {
                    tracing::warn!(%fault, %at, place, "an event is not seen to yet");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// The position to continue after. If there is no cursor yet, earlier events are skipped.
    async fn begin(&self) -> Result<Position, Fault> {
        match self.log.read_row(self.row).await? {
            Some(row) => {
                let cursor: StoredCursor = serde_json::from_slice(&row.value)
                    .map_err(|error| Fault::Corrupt(format!("{}: {error}", self.row)))?;
                Ok(cursor.position)
            }
            None => {
                let head = self.log.head().await?;
                self.keep(head).await?;
                Ok(head)
            }
        }
    }

    /// Stores the cursor: everything up to here is handled.
    async fn keep(&self, position: Position) -> Result<(), Fault> {
        let value = serde_json::to_vec(&StoredCursor { position })
            .map_err(|error| Fault::Corrupt(error.to_string()))?;
        let row = RowOp { name: self.row.into(), expected: None, value: Some(value.into()) };
        self.log.append(Batch { rows: vec![row], ..Batch::default() }).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plenary_log::{NewEvent, StreamName, rigged::Store};

    use super::*;

    #[test]
    fn the_stored_form_is_frozen() {
        let cursor = StoredCursor { position: Position(7) };
        assert_eq!(serde_json::to_string(&cursor).unwrap(), r#"{"position":7}"#);
    }

    /// A process that ends soon after its start would otherwise leave the same events to the next one.
    #[tokio::test]
    async fn given_events_from_before_a_start_when_they_are_handled_then_the_cursor_is_kept_at_once() {
        let log = Store::new().process(false).log;
        let reactor = Reactor::new(log.clone(), "test/place", |_| true, |_| String::new());
        reactor.begin().await.unwrap();
        let event = NewEvent { kind: "Sung", form: 1, envelope: "{}".into(), payload: "".into() };
        let events = vec![(StreamName::new("songs", "one"), event); 40];
        log.append(Batch { events, ..Batch::default() }).await.unwrap();
        let kept = async {
            for _ in 0..100_000 {
                if reactor.begin().await.unwrap() == Position(40) {
                    return true;
                }
                tokio::task::yield_now().await;
            }
            false
        };
        tokio::select! {
            () = reactor.react(|_| std::future::ready(Ok(()))) => panic!("it ended"),
            is_kept = kept => assert!(is_kept),
        }
    }

    /// Work in one lane may take any time: here until the other lane is done.
    #[tokio::test]
    async fn given_much_work_in_one_lane_then_another_does_not_wait_for_it() {
        let store = Store::new();
        let log = store.process(false).log;
        let lane = |event: &StoredEvent| event.stream.id().to_owned();
        let reactor = Reactor::new(log.clone(), "test/place", |_| true, lane);
        reactor.begin().await.unwrap();
        let named = |id: &str| {
            let event = NewEvent { kind: "Sung", form: 1, envelope: "{}".into(), payload: "".into() };
            (StreamName::new("songs", id), event)
        };
        let events = ["busy", "busy", "quick", "quick"].map(named).to_vec();
        log.append(Batch { events, ..Batch::default() }).await.unwrap();
        let (seen, other) = (Arc::new(Mutex::new(Vec::new())), Arc::new(tokio::sync::Semaphore::new(0)));
        let see_to = |event: StoredEvent| {
            let (seen, other) = (seen.clone(), other.clone());
            async move {
                if event.stream.id() == "busy" {
                    other.acquire().await.expect("it is open").forget();
                } else {
                    other.add_permits(1);
                }
                seen.lock().push((event.stream.id().to_owned(), event.position));
                Ok(())
            }
        };
        let all = async {
            while seen.lock().len() < 4 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = reactor.react(see_to) => panic!("it ended"),
            done = timeout(Duration::from_secs(60), all) => done.expect("no lane waits for another"),
        }
        let busy: Vec<_> = seen.lock().iter().filter(|(lane, _)| lane == "busy").map(|(_, at)| *at).collect();
        assert!(busy.is_sorted(), "each lane is in order");
    }
}
