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
    ProcessId, SIGNAL_ANSWER_OCTETS_MAX, SIGNALS_WAITING_MAX, SIGNALS_WAITING_OCTETS_MAX,
    questions::Questions,
};

/// A signal as one process gets it.
#[derive(Debug)]
pub struct Signal {
    /// The counters with the numbers that they gave it, in the publisher's order.
    pub numbers: Vec<(Arc<str>, u64)>,
    /// The body, as it was published.
    pub body: Bytes,
    /// Whether this process published it.
    pub own: bool,
    /// Where the answer goes, when an answer is awaited.
    pub responder: Option<Responder>,
}

/// Gives the answer of this process to one question. Dropped without one, it says so, and nobody waits for it.
pub struct Responder(Option<AnswerSink>);

type AnswerSink = Box<dyn FnOnce(Option<Bytes>) + Send>;

impl Responder {
    /// What is done with the answer; `None` says that there is none.
    pub fn new(answering: impl FnOnce(Option<Bytes>) + Send + 'static) -> Self {
        Self(Some(Box::new(answering)))
    }
    /// Answers. An answer of more than [`SIGNAL_ANSWER_OCTETS_MAX`] bytes is not given.
    pub fn answer(mut self, answer: Bytes) {
        let size = answer.len();
        let answer = (size <= SIGNAL_ANSWER_OCTETS_MAX).then_some(answer);
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

/// The signals of one topic, in the order in which their numbers were given. Ends when the signals are closed or a
/// later subscription takes the topic.
#[derive(Debug)]
pub struct Subscription {
    signals: mpsc::Receiver<Signal>,
    octets: Arc<AtomicUsize>,
}

impl Subscription {
    /// The next signal.
    pub async fn next(&mut self) -> Option<Signal> {
        let signal = self.signals.recv().await;
        self.taken(signal)
    }
    /// The next signal, if one waits.
    pub fn try_next(&mut self) -> Option<Signal> {
        let signal = self.signals.try_recv().ok();
        self.taken(signal)
    }
    fn taken(&self, signal: Option<Signal>) -> Option<Signal> {
        let octets = signal.as_ref().map_or(0, |signal| signal.body.len());
        self.octets.fetch_sub(octets, Ordering::Relaxed);
        signal
    }
}

/// The other end of a subscription.
#[derive(Debug)]
struct Subscriber {
    signals: mpsc::Sender<Signal>,
    /// Bytes of the bodies that wait.
    octets: Arc<AtomicUsize>,
}

impl Subscriber {
    /// Whether it was accepted, or the receiver is gone; if not, it is lost.
    fn try_hand(&self, signal: Signal) -> bool {
        let octets = signal.body.len();
        if self.octets.fetch_add(octets, Ordering::Relaxed) + octets > SIGNALS_WAITING_OCTETS_MAX {
            self.octets.fetch_sub(octets, Ordering::Relaxed);
            return false;
        }
        match self.signals.try_send(signal) {
            Ok(()) => true,
            Err(refused) => {
                self.octets.fetch_sub(octets, Ordering::Relaxed);
                matches!(refused, mpsc::error::TrySendError::Closed(_))
            }
        }
    }
}

/// A signal on its way in.
#[derive(Debug)]
pub struct IncomingSignal<'a> {
    /// Who published it.
    pub from: ProcessId,
    /// Its recipient.
    pub topic: &'a str,
    /// What the subscriber gets.
    pub signal: Signal,
}

/// Where the signals of one process arrive.
#[derive(Debug, Default)]
pub struct Exchange {
    topics: RwLock<HashMap<&'static str, Subscriber>>,
    questions: Questions,
    lost: AtomicU64,
    /// Whether the last signal was lost: it is said once, not for each.
    losing: AtomicBool,
    closed: Mutex<bool>,
    /// Who let a question pass, and was not heard of since.
    silent: Mutex<HashSet<ProcessId>>,
}

impl Exchange {
    /// Hands a signal to its subscriber, and never waits: a full queue loses it. Without a subscriber it is nobody's.
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

    /// A process has answered a question of this one; `None` says that it has no answer.
    pub fn answered(&self, question: u64, process: ProcessId, answer: Option<Bytes>) {
        self.heard_of(process);
        self.questions.answered(question, process, answer);
    }

    /// No more signals arrive: subscriptions end after they have read the waiting ones.
    pub fn close(&self) {
        *self.closed.lock() = true;
        self.topics.write().clear();
    }

    pub(super) fn questions(&self) -> &Questions {
        &self.questions
    }

    pub(super) fn subscribe(&self, topic: &'static str) -> Subscription {
        let (signals, receiver) = mpsc::channel(SIGNALS_WAITING_MAX);
        let octets = Arc::<AtomicUsize>::default();
        let subscriber = Subscriber { signals, octets: octets.clone() };
        let closed = self.closed.lock();
        if !*closed {
            self.topics.write().insert(topic, subscriber);
        }
        Subscription { signals: receiver, octets }
    }

    /// These let a question pass: they are not waited for until they are heard of.
    pub(super) fn silent(&self, processes: &[ProcessId]) {
        tracing::warn!(?processes, "other processes did not answer a request in time");
        self.silent.lock().extend(processes);
    }

    /// Those who are waited for; what is known of others is forgotten.
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
