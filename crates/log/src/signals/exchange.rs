//! The incoming signals of one process: a bounded queue for each topic, and the answers to this process's questions.
//! Must not know: the source of signals.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use tokio::sync::mpsc;

use super::{
    ProcessId, SIGNAL_ANSWER_BYTES_MAX, SIGNALS_WAITING_BYTES_MAX, SIGNALS_WAITING_MAX, questions::Questions,
};

/// A signal as one process receives it.
#[derive(Debug)]
pub struct Signal {
    /// The counters with the numbers of this signal, in the publisher's order.
    pub numbers: Vec<(Arc<str>, u64)>,
    /// The body, as published.
    pub body: Bytes,
    /// Whether this process published it.
    pub own: bool,
    /// The way to answer, if the publisher waits for answers.
    pub responder: Option<Responder>,
}

/// Answers one question for this process. Dropping it declines, so that no process waits for it.
pub struct Responder(Option<AnswerSink>);

type AnswerSink = Box<dyn FnOnce(Option<Bytes>) + Send>;

impl Responder {
    /// Calls `answering` with the answer, or with `None` if there is none.
    pub fn new(answering: impl FnOnce(Option<Bytes>) + Send + 'static) -> Self {
        Self(Some(Box::new(answering)))
    }
    /// Answers. An answer of more than [`SIGNAL_ANSWER_BYTES_MAX`] bytes is replaced by none.
    pub fn answer(mut self, answer: Bytes) {
        let size = answer.len();
        let answer = (size <= SIGNAL_ANSWER_BYTES_MAX).then_some(answer);
        if answer.is_none() {
            tracing::warn!(size, "an answer to another process is too large and is dropped");
        }
        if let Some(answering) = self.0.take() {
            answering(answer);
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some(answering) = self.0.take() {
            answering(None);
        }
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Responder")
    }
}

/// The signals of one topic, in the order of their numbers. Ends when the signals are closed or a later
/// subscription replaces it.
#[derive(Debug)]
pub struct Subscription {
    signals: mpsc::Receiver<Signal>,
    bytes: Arc<AtomicUsize>,
}

impl Subscription {
    /// The next signal.
    pub async fn next(&mut self) -> Option<Signal> {
        let signal = self.signals.recv().await;
        self.uncounted(signal)
    }
    /// The next signal, if one waits.
    pub fn try_next(&mut self) -> Option<Signal> {
        let signal = self.signals.try_recv().ok();
        self.uncounted(signal)
    }
    fn uncounted(&self, signal: Option<Signal>) -> Option<Signal> {
        let bytes = signal.as_ref().map_or(0, |signal| signal.body.len());
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        signal
    }
}

/// The other end of a subscription.
#[derive(Debug)]
struct Subscriber {
    signals: mpsc::Sender<Signal>,
    /// Bytes of the waiting bodies.
    bytes: Arc<AtomicUsize>,
}

impl Subscriber {
    /// False if the signal is lost because the queue is full; a dropped receiver counts as accepted.
    fn try_hand(&self, signal: Signal) -> bool {
        let bytes = signal.body.len();
        if self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > SIGNALS_WAITING_BYTES_MAX {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        match self.signals.try_send(signal) {
            Ok(()) => true,
            Err(refused) => {
                self.bytes.fetch_sub(bytes, Ordering::Relaxed);
                matches!(refused, mpsc::error::TrySendError::Closed(_))
            }
        }
    }
}

/// A signal that arrives at this process.
#[derive(Debug)]
pub struct IncomingSignal<'a> {
    /// The publisher.
    pub from: ProcessId,
    /// The topic of its subscriber.
    pub topic: &'a str,
    /// The signal for the subscriber.
    pub signal: Signal,
}

/// Distributes the signals that arrive at one process.
#[derive(Debug, Default)]
pub struct Exchange {
    topics: RwLock<HashMap<&'static str, Subscriber>>,
    questions: Questions,
    lost: AtomicU64,
    /// Whether the last signal was lost: only the first loss of a series is logged.
    losing: AtomicBool,
    closed: Mutex<bool>,
    /// The processes that did not answer a question and sent nothing since.
    silent: Mutex<HashSet<ProcessId>>,
}

impl Exchange {
    /// Gives a signal to its subscriber, and never waits: a full queue loses it. Without a subscriber it
    /// is dropped.
    pub fn hand(&self, incoming: IncomingSignal<'_>) {
        self.heard_of(incoming.from);
        let topics = self.topics.read();
        let Some(subscriber) = topics.get(incoming.topic) else { return };
        if subscriber.try_hand(incoming.signal) {
            self.losing.store(false, Ordering::Relaxed);
            return;
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
        if !self.losing.swap(true, Ordering::Relaxed) {
            tracing::warn!(topic = incoming.topic, "a subscriber lags and loses signals");
        }
    }

    /// Records that a process answered a question of this one; `None` if it declined.
    pub fn answered(&self, question: u64, process: ProcessId, answer: Option<Bytes>) {
        self.heard_of(process);
        self.questions.answered(question, process, answer);
    }

    /// Closes the exchange: subscriptions end after the waiting signals.
    pub fn close(&self) {
        *self.closed.lock() = true;
        self.topics.write().clear();
    }

    pub(super) fn questions(&self) -> &Questions {
        &self.questions
    }

    pub(super) fn subscribe(&self, topic: &'static str) -> Subscription {
        let (signals, receiver) = mpsc::channel(SIGNALS_WAITING_MAX);
        let bytes = Arc::<AtomicUsize>::default();
        let subscriber = Subscriber { signals, bytes: bytes.clone() };
        let closed = self.closed.lock();
        if !*closed {
            self.topics.write().insert(topic, subscriber);
        }
        Subscription { signals: receiver, bytes }
    }

    /// Notes processes that did not answer: they are not waited for until they send something.
    pub(super) fn silent(&self, processes: &[ProcessId]) {
        tracing::warn!(?processes, "other processes did not answer a request in time");
        self.silent.lock().extend(processes);
    }

    /// The living processes to wait for; notes about processes that are gone are dropped.
    pub(super) fn awaited(&self, mut alive: Vec<ProcessId>) -> Vec<ProcessId> {
        let mut silent = self.silent.lock();
        if !silent.is_empty() {
            silent.retain(|process| alive.contains(process));
            alive.retain(|process| !silent.contains(process));
        }
        alive
    }

    fn heard_of(&self, process: ProcessId) {
        self.silent.lock().remove(&process);
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
