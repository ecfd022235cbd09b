//! Signals: short-lived messages between all processes on one store. At most once, never stored, in order per
//! counter; a slow process drops some and gets a notice. Data that must not be lost goes through the log instead.
//! Must not know: any protocol, or the transport of signals between processes.

mod exchange;
mod local;
mod questions;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use plenary_kernel::TimestampMs;

pub use self::exchange::{Exchange, IncomingSignal, Responder, Signal, Subscription};
pub use self::local::Network;
use crate::{Fault, reads::Read};

/// Largest body of a signal, in bytes; beyond it [`PublishError::BodyTooLarge`].
pub const SIGNAL_BYTES_MAX: usize = 256 << 10;
/// Largest answer to a question, in bytes; beyond it the process declines instead.
pub const SIGNAL_ANSWER_BYTES_MAX: usize = 1 << 20;
/// Most counters of one signal; beyond it [`PublishError::TooManyCounters`].
pub const SIGNAL_COUNTERS_MAX: usize = 1_024;
/// Longest name of a counter, in bytes; beyond it [`PublishError::BadCounter`].
pub const COUNTER_BYTES_MAX: usize = 128;
/// Most signals of one topic that wait for this process's subscriber; beyond it signals are lost here.
pub const SIGNALS_WAITING_MAX: usize = 1_024;
/// Most bytes of the bodies that wait for it; beyond it signals are lost here.
pub const SIGNALS_WAITING_BYTES_MAX: usize = 32 << 20;
/// Most questions of this process that are open at once; beyond it `Fault::Overloaded`.
pub const QUESTIONS_MAX: usize = 4_096;
/// How long a question usually waits for the other processes' answers.
pub const ANSWERS_WAIT: Duration = Duration::from_millis(250);

/// A signal to publish to every process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The name under which each process subscribed, ASCII letters and `-`.
    pub topic: &'static str,
    /// The counters that give this signal its numbers, each once: 1 to [`COUNTER_BYTES_MAX`] bytes without
    /// white space or control characters. None is fine: then the signal has no number and no order.
    pub counters: Vec<Arc<str>>,
    /// The current time. A new counter begins at this, in microseconds.
    pub at: TimestampMs,
    /// Any bytes, at most [`SIGNAL_BYTES_MAX`].
    pub body: Bytes,
}

/// Why a signal was not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The body has more than [`SIGNAL_BYTES_MAX`] bytes.
    #[error("the body of a signal has {0} bytes")]
    BodyTooLarge(usize),
    /// More than [`SIGNAL_COUNTERS_MAX`].
    #[error("a signal of {0} counters")]
    TooManyCounters(usize),
    /// The counter's name is not valid, or appears twice.
    #[error("{0:?} can't be a counter here")]
    BadCounter(Arc<str>),
    /// The carrier failed: no process got the signal, unless the fault is `OutcomeUnknown`.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The result of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// The numbers of the counters, in their order in the publication.
    pub numbers: Vec<u64>,
    /// The answers of the processes, in order of arrival, without those that declined.
    pub answers: Vec<Bytes>,
    /// Whether every living process has answered or declined.
    pub complete: bool,
}

/// A process that exchanges signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u64);

/// A publication on its way to the processes.
#[derive(Debug, Clone)]
pub struct OutgoingSignal {
    /// The publication; it is within the limits.
    pub publication: Publication,
    /// The number of its question, if it asks one.
    pub question: Option<u64>,
}

/// The result of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicationReceipt {
    /// A number for each counter.
    pub numbers: Vec<u64>,
    /// The processes that were alive when the numbers were given, including this one.
    pub alive: Vec<ProcessId>,
}

/// Transports signals for a backend. It gives each one to the [`Exchange`] of every process, including
/// this one.
pub trait Carrier: Send + Sync + 'static {
    /// Numbers a publication and gives it to all processes.
    fn carry(&self, outgoing: OutgoingSignal) -> Read<'_, PublicationReceipt>;
    /// Stops the carrier.
    fn close(&self);
}

/// The signals of one process. Cheap to clone; when the last clone is gone, its subscriptions end.
#[derive(Clone)]
pub struct Signals {
    carrier: Arc<dyn Carrier>,
    exchange: Arc<Exchange>,
    next_question: Arc<AtomicU64>,
}

impl Signals {
    /// Signals over a carrier that delivers them to this exchange.
    pub fn new(carrier: Arc<dyn Carrier>, exchange: Arc<Exchange>) -> Self {
        Self { carrier, exchange, next_question: Arc::default() }
    }

    /// The signals of a process that is alone on its store.
    pub fn alone() -> Self {
        Network::new().join()
    }

    /// Gives each counter its next number and sends the signal to every process, including this one.
    /// Returns the numbers in the order of the counters: the numbers of one counter rise by one,
    /// whichever process publishes, and keep rising after a restart. Success does not mean that a
    /// process received it.
    ///
    /// # Errors
    /// See [`PublishError`].
    pub async fn publish(&self, publication: Publication) -> Result<Vec<u64>, PublishError> {
        checked(&publication)?;
        let carried = self.carrier.carry(OutgoingSignal { publication, question: None }).await?;
        Ok(carried.numbers)
    }

    /// Publishes a signal, and collects the answers that the processes give through [`Signal::responder`], until
    /// all living ones have answered or `wait` is over. In a process that is alone it takes as long as
    /// its own subscriber takes.
    ///
    /// # Errors
    /// See [`PublishError`]. A slow or dead process is not an error: the answer is then not `complete`.
    pub async fn ask(&self, publication: Publication, wait: Duration) -> Result<Answers, PublishError> {
        checked(&publication)?;
        let number = self.next_question.fetch_add(1, Ordering::Relaxed);
        let mut question = self.exchange.questions().open(number).ok_or(Fault::Overloaded)?;
        let carried = self.carrier.carry(OutgoingSignal { publication, question: Some(number) }).await?;
        question.expect(&self.exchange.awaited(carried.alive));
        let complete = tokio::time::timeout(wait, question.answered()).await.is_ok();
        let (answers, missing) = question.close();
        if !missing.is_empty() {
            self.exchange.silent(&missing);
        }
        Ok(Answers { numbers: carried.numbers, answers, complete })
    }

    /// Subscribes to a topic from now on. Each topic has one subscription: an earlier one ends.
    #[must_use]
    pub fn subscribe(&self, topic: &'static str) -> Subscription {
        self.exchange.subscribe(topic)
    }

    /// How many signals were lost here because a subscriber was too slow.
    pub fn lost(&self) -> u64 {
        self.exchange.lost()
    }

    /// Closes the signals: nothing more is published or delivered, and subscriptions end.
    pub fn close(&self) {
        self.carrier.close();
        self.exchange.close();
    }
}

fn checked(publication: &Publication) -> Result<(), PublishError> {
    let Publication { counters, body, .. } = publication;
    if body.len() > SIGNAL_BYTES_MAX {
        return Err(PublishError::BodyTooLarge(body.len()));
    }
    if counters.len() > SIGNAL_COUNTERS_MAX {
        return Err(PublishError::TooManyCounters(counters.len()));
    }
    let mut names: Vec<_> = counters.iter().collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    let plain = |name: &str| !name.chars().any(|c| c.is_whitespace() || c.is_control());
    let bad = |name: &&&Arc<str>| name.is_empty() || name.len() > COUNTER_BYTES_MAX || !plain(name);
    match twice.or_else(|| names.iter().find(bad).copied()) {
        Some(name) => Err(PublishError::BadCounter(name.clone())),
        None => Ok(()),
    }
}
