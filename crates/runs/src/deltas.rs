//! Text deltas on the ephemeral lane: to the current readers at every process, never stored. A delta names the
//! preceding event, so that a reader can place it.
//! Must not know: the log; the readers' permissions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use plenary_hub::{Emission, Lane, LaneLimits, SubscribeError, Subscription};
use plenary_kernel::Clock;
use plenary_log::{Log, Signals, signals::Publication};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::{
    id::{RunId, ThreadId},
    limits::{DELTA_BYTES_MAX, DELTAS_TO_TELL_MAX},
    making::PartialTexts,
    wire::TextDelta,
};

const TOPIC: &str = "runs";

/// A delta before it is encoded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunDelta {
    pub(crate) thread: ThreadId,
    pub(crate) run: RunId,
    pub(crate) agent: Arc<str>,
    pub(crate) depth: u32,
    /// The id of the last event before it.
    pub(crate) after: u64,
    pub(crate) text: String,
}

/// An encoded delta, as readers get it.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) run: RunId,
    pub(crate) after: u64,
    /// As a server-sent event.
    pub(crate) bytes: Bytes,
}

impl Line {
    fn of(shown: &RunDelta) -> Self {
        Self { run: shown.run, after: shown.after, bytes: TextDelta::of(shown).event() }
    }
}

pub(crate) type DeltaSubscription = Subscription<(), Arc<Line>>;

/// The lane of a process.
pub(crate) struct Deltas {
    lane: Lane<(), Arc<Line>>,
    /// Locked while a piece is sent, so that a new reader gets each piece exactly once.
    making: Mutex<PartialTexts>,
    number: AtomicU64,
    /// The path to other processes; `None` if the store is not shared.
    shared: Option<DeltaState>,
}

struct DeltaState {
    signals: Signals,
    clock: Arc<dyn Clock>,
    to_tell: mpsc::Sender<RunDelta>,
    waiting: Mutex<Option<mpsc::Receiver<RunDelta>>>,
}

impl Deltas {
    pub(crate) fn new(log: &Log, clock: Arc<dyn Clock>) -> Self {
        // Deltas cannot be resumed.
        let limits = LaneLimits { entries_max: 1, age_max: Duration::from_secs(10), ..LaneLimits::default() };
        let shared = log.shared().then(|| {
            let (to_tell, waiting) = mpsc::channel(DELTAS_TO_TELL_MAX);
            DeltaState { signals: log.signals().clone(), clock, to_tell, waiting: Some(waiting).into() }
        });
        let making = Mutex::default();
        Self { lane: Lane::new(limits), making, number: AtomicU64::new(1), shared }
    }

    /// Subscribes to the deltas of a thread, and returns its unfinished text so far.
    pub(crate) fn look_on(
        &self,
        thread: ThreadId,
    ) -> Result<(DeltaSubscription, Option<Arc<Line>>), SubscribeError> {
        let making = self.making();
        let looking = self.lane.subscribe(&thread.to_string(), (), None)?;
        Ok((looking, making.of(thread).map(|shown| Arc::new(Line::of(shown)))))
    }

    /// Drops the unfinished text of a run that is over.
    pub(crate) fn end(&self, thread: ThreadId, run: RunId) {
        self.making().end(thread, run);
    }

    fn making(&self) -> MutexGuard<'_, PartialTexts> {
        self.making.lock()
    }

    /// Sends a delta. Never waits: if the queue is full, the delta is lost.
    pub(crate) fn show(&self, shown: RunDelta) {
        match &self.shared {
            Some(shared) => drop(shared.to_tell.try_send(shown)),
            None => self.emit(&shown),
        }
    }

    fn emit(&self, shown: &RunDelta) {
        let mut making = self.making();
        making.add(shown);
        let key = shown.thread.to_string();
        if self.lane.count(&key) == 0 {
            return;
        }
        let message = Arc::new(Line::of(shown));
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let (bytes_held, matches) = (message.bytes.len(), Arc::new(|_: &()| true));
        self.lane.emit(&key, Emission { number, message, bytes: bytes_held, forget_at: None, matches });
    }

    /// Ends all subscriptions.
    pub(crate) fn close(&self) {
        self.lane.close();
    }

    /// Runs the lane until the log is closed.
    pub(crate) async fn running(&self) {
        let sweeping = self.lane.sweeping();
        let Some(shared) = &self.shared else { return sweeping.await };
        let waiting = shared.waiting.lock().take();
        let mut signals = shared.signals.subscribe(TOPIC);
        let hearing = async {
            while let Some(signal) = signals.next().await {
                match serde_json::from_slice(&signal.body) {
                    Ok(shown) => self.emit(&shown),
                    Err(_) => tracing::warn!("ignored a signal of another version"),
                }
            }
        };
        tokio::select! {
            () = hearing => {}
            () = sweeping => {}
            () = shared.telling(waiting) => {}
        }
    }
}

impl DeltaState {
    /// Publishes deltas to all processes. Waiting deltas after the same event are joined.
    async fn telling(&self, waiting: Option<mpsc::Receiver<RunDelta>>) {
        let Some(mut waiting) = waiting else { return std::future::pending().await };
        let mut next = None;
        loop {
            let Some(mut shown) = (match next.take() {
                Some(shown) => Some(shown),
                None => waiting.recv().await,
            }) else {
                return;
            };
            while let Ok(more) = waiting.try_recv() {
                let joins = (more.run, more.after) == (shown.run, shown.after)
                    && shown.text.len() + more.text.len() <= DELTA_BYTES_MAX;
                if !joins {
                    next = Some(more);
                    break;
                }
                shown.text.push_str(&more.text);
            }
            let body = serde_json::to_vec(&shown).expect("strings and numbers can be written").into();
            // A single counter: its order is the order of arrival.
            let counters = vec![Arc::from("runs/deltas")];
            let publication = Publication { topic: TOPIC, counters, at: self.clock.now(), body };
            if let Err(error) = self.signals.publish(publication).await {
                tracing::debug!(%error, "a delta was not told");
            }
        }
    }
}
