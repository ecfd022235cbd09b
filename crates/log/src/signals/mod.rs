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

/// Largest body of a signal, in bytes; past it [`PublishError::BodyTooLarge`].
pub const SIGNAL_OCTETS_MAX: usize = 256 << 10;
/// Largest answer to a question, in bytes; a larger one is not given, as if there were none.
pub const SIGNAL_ANSWER_OCTETS_MAX: usize = 1 << 20;
/// Most counters of one signal; past it [`PublishError::TooManyCounters`].
pub const SIGNAL_COUNTERS_MAX: usize = 1_024;
/// Longest name of a counter, in bytes; past it [`PublishError::BadCounter`].
pub const COUNTER_OCTETS_MAX: usize = 128;
/// Most signals of one topic that wait for this process's subscriber; past it signals are lost here.
pub const SIGNALS_WAITING_MAX: usize = 1_024;
/// Most bytes of the bodies that wait for it; past it signals are lost here.
pub const SIGNALS_WAITING_OCTETS_MAX: usize = 32 << 20;
/// Most questions of this process that are open at once; past it `Fault::Overloaded`.
pub const QUESTIONS_MAX: usize = 4_096;
/// How long a question usually waits for the other processes' answers.
pub const ANSWERS_WAIT: Duration = Duration::from_millis(250);

/// What is handed to every process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// Who is meant in each process: the name under which it subscribed, ASCII letters and `-`.
    pub topic: &'static str,
    /// The counters that give this signal its numbers, each once: 1 to [`COUNTER_OCTETS_MAX`] bytes without
    /// white space or control characters. None is fine: then the signal has no number and no order.
    pub counters: Vec<Arc<str>>,
    /// Now. A counter that the store has not met yet begins at this, in microseconds.
    pub at: TimestampMs,
    /// Any bytes, at most [`SIGNAL_OCTETS_MAX`].
    pub body: Bytes,
}

/// Why a signal was not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The body has more than [`SIGNAL_OCTETS_MAX`] bytes.
    #[error("the body of a signal has {0} bytes")]
    BodyTooLarge(usize),
    /// More than [`SIGNAL_COUNTERS_MAX`].
    #[error("a signal of {0} counters")]
    TooManyCounters(usize),
    /// The name of a counter, or its second mention.
    #[error("{0:?} can't be a counter here")]
    BadCounter(Arc<str>),
    /// What carries signals failed: nobody got it, unless it is `OutcomeUnknown`.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// The numbers that the counters gave, in the order in which they were named.
    pub numbers: Vec<u64>,
    /// What the processes answered, in the order in which it came; those that have nothing to say are left out.
    pub answers: Vec<Bytes>,
    /// Whether every process that was known to be alive has answered, or has said that it won't.
    pub complete: bool,
}

/// One process among those that exchange signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u64);

/// A publication on its way to the processes.
#[derive(Debug, Clone)]
pub struct OutgoingSignal {
    /// What is published; it keeps the limits.
    pub publication: Publication,
    /// The number of the question that it asks, if it asks one.
    pub question: Option<u64>,
}

/// What became of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicationReceipt {
    /// A number for each counter.
    pub numbers: Vec<u64>,
    /// The processes that were alive when the numbers were given, this one among them.
    pub alive: Vec<ProcessId>,
}

/// What a backend does to carry signals. It hands each one to the [`Exchange`] of every process, this one too.
pub trait Carrier: Send + Sync + 'static {
    /// Numbers a publication and hands it to everybody.
    fn carry(&self, outgoing: OutgoingSignal) -> Read<'_, PublicationReceipt>;
    /// Nothing more is carried.
    fn close(&self);
}

/// The signals of one process. Cheap to clone; when the last clone is gone, its subscriptions end.
#[derive(Clone)]
pub struct Signals {
    carrier: Arc<dyn Carrier>,
    exchange: Arc<Exchange>,
    asked: Arc<AtomicU64>,
}

impl Signals {
    /// Signals that go through a carrier, which hands them to this exchange.
    #[must_use]
    pub fn new(carrier: Arc<dyn Carrier>, exchange: Arc<Exchange>) -> Self {
        Self { carrier, exchange, asked: Arc::default() }
    }

    /// The signals of a process that is alone on its store.
    #[must_use]
    pub fn alone() -> Self {
        Network::new().join()
    }

    /// Gives each counter its next number and hands the signal to every process, this one too. The answer has the
    /// numbers in the order of the counters: those of one counter rise by one, whichever process publishes, and go on
    /// rising after a restart. It does not say that anybody took it.
    ///
    /// # Errors
    /// See [`PublishError`].
    pub async fn publish(&self, publication: Publication) -> Result<Vec<u64>, PublishError> {
        checked(&publication)?;
        let carried = self.carrier.carry(OutgoingSignal { publication, question: None }).await?;
        Ok(carried.numbers)
    }

    /// The same, and collects what the processes answer through [`Signal::responder`], until all that are alive have
    /// answered or `wait` is over. In a process that is alone it takes as long as its own subscriber takes.
    ///
    /// # Errors
    /// See [`PublishError`]. A process that is slow or gone is no error: the answer is not `complete` then.
    pub async fn ask(&self, publication: Publication, wait: Duration) -> Result<Answers, PublishError> {
        checked(&publication)?;
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
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

    /// Takes the signals of a topic from now on. There is one subscription for each topic: an earlier one ends.
    #[must_use]
    pub fn subscribe(&self, topic: &'static str) -> Subscription {
        self.exchange.subscribe(topic)
    }

    /// How many signals were lost here because a subscriber lagged.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.exchange.lost()
    }

    /// Publishes and hands out nothing more; subscriptions end.
    pub fn close(&self) {
        self.carrier.close();
        self.exchange.close();
    }
}

fn checked(publication: &Publication) -> Result<(), PublishError> {
    let Publication { counters, body, .. } = publication;
    if body.len() > SIGNAL_OCTETS_MAX {
        return Err(PublishError::BodyTooLarge(body.len()));
    }
    if counters.len() > SIGNAL_COUNTERS_MAX {
        return Err(PublishError::TooManyCounters(counters.len()));
    }
    let mut names: Vec<_> = counters.iter().collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    let plain = |name: &str| !name.chars().any(|c| c.is_whitespace() || c.is_control());
    let bad = |name: &&&Arc<str>| name.is_empty() || name.len() > COUNTER_OCTETS_MAX || !plain(name);
    match twice.or_else(|| names.iter().find(bad).copied()) {
        Some(name) => Err(PublishError::BadCounter(name.clone())),
        None => Ok(()),
    }
}
