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
    limits::{DELTA_BYTES_MAX, DELTAS_QUEUED_MAX},
    partial_texts::PartialTexts,
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
    fn encode(delta: &RunDelta) -> Self {
        Self { run: delta.run, after: delta.after, bytes: TextDelta::of(delta).event() }
    }
}

pub(crate) type DeltaSubscription = Subscription<(), Arc<Line>>;

/// The lane of a process.
pub(crate) struct Deltas {
    lane: Lane<(), Arc<Line>>,
    /// Locked while a piece is sent, so that a new reader gets each piece exactly once.
    partial_texts: Mutex<PartialTexts>,
    number: AtomicU64,
    /// The path to other processes; `None` if the store is not shared.
    shared: Option<DeltaState>,
}

struct DeltaState {
    signals: Signals,
    clock: Arc<dyn Clock>,
    queue: mpsc::Sender<RunDelta>,
    receiver: Mutex<Option<mpsc::Receiver<RunDelta>>>,
}

impl Deltas {
    pub(crate) fn new(log: &Log, clock: Arc<dyn Clock>) -> Self {
        // Deltas cannot be resumed.
        let limits = LaneLimits { entries_max: 1, age_max: Duration::from_secs(10), ..LaneLimits::default() };
        let shared = log.shared().then(|| {
            let (queue, receiver) = mpsc::channel(DELTAS_QUEUED_MAX);
            DeltaState { signals: log.signals().clone(), clock, queue, receiver: Some(receiver).into() }
        });
        let partial_texts = Mutex::default();
        Self { lane: Lane::new(limits), partial_texts, number: AtomicU64::new(1), shared }
    }

    /// Subscribes to the deltas of a thread, and returns its unfinished text so far.
    pub(crate) fn subscribe(
        &self,
        thread: ThreadId,
    ) -> Result<(DeltaSubscription, Option<Arc<Line>>), SubscribeError> {
        let partial_texts = self.partial_texts();
        let subscription = self.lane.subscribe(&thread.to_string(), (), None)?;
        Ok((subscription, partial_texts.get(thread).map(|delta| Arc::new(Line::encode(delta)))))
    }

    /// Drops the unfinished text of a run that is over.
    pub(crate) fn end(&self, thread: ThreadId, run: RunId) {
        self.partial_texts().end(thread, run);
    }

    fn partial_texts(&self) -> MutexGuard<'_, PartialTexts> {
        self.partial_texts.lock()
    }

    /// Sends a delta. Never waits: if the queue is full, the delta is lost.
    pub(crate) fn send(&self, delta: RunDelta) {
        match &self.shared {
            Some(shared) => drop(shared.queue.try_send(delta)),
            None => self.emit(&delta),
        }
    }

    fn emit(&self, delta: &RunDelta) {
        let mut partial_texts = self.partial_texts();
        partial_texts.add(delta);
        let key = delta.thread.to_string();
        if self.lane.count(&key) == 0 {
            return;
        }
        let message = Arc::new(Line::encode(delta));
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
        let receiver = shared.receiver.lock().take();
        let mut signals = shared.signals.subscribe(TOPIC);
        let receiving = async {
            while let Some(signal) = signals.next().await {
                match serde_json::from_slice(&signal.body) {
                    Ok(delta) => self.emit(&delta),
                    Err(_) => tracing::warn!("ignored a signal of another version"),
                }
            }
        };
        tokio::select! {
            () = receiving => {}
            () = sweeping => {}
            () = shared.publish(receiver) => {}
        }
    }
}

impl DeltaState {
    /// Publishes deltas to all processes. Waiting deltas after the same event are joined.
    async fn publish(&self, receiver: Option<mpsc::Receiver<RunDelta>>) {
        let Some(mut receiver) = receiver else { return std::future::pending().await };
        let mut next_delta = None;
        loop {
            let Some(mut delta) = (match next_delta.take() {
                Some(delta) => Some(delta),
                None => receiver.recv().await,
            }) else {
                return;
            };
            while let Ok(more) = receiver.try_recv() {
                let can_join = (more.run, more.after) == (delta.run, delta.after)
                    && delta.text.len() + more.text.len() <= DELTA_BYTES_MAX;
                if !can_join {
                    next_delta = Some(more);
                    break;
                }
                delta.text.push_str(&more.text);
            }
            let body = serde_json::to_vec(&delta).expect("strings and numbers can be written").into();
            // A single counter: its order is the order of arrival.
            let counters = vec![Arc::from("runs/deltas")];
            let publication = Publication { topic: TOPIC, counters, at: self.clock.now(), body };
            if let Err(error) = self.signals.publish(publication).await {
                tracing::debug!(%error, "a delta was not published");
            }
        }
    }
}
