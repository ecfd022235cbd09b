//! Signals between processes by NOTIFY: one connection that numbers, sends and listens, with a bounded queue before
//! it. Every signal, including the process's own, arrives by NOTIFY, so that all processes get them in the same
//! order. The connection also hears the commits of other processes: the server wakes each listening connection for
//! every commit.
//! Must not know: the content of signals.

mod parts;
mod receive;
mod send;
mod session;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use plenary_log::{
    Fault, Read, Signals,
    signals::{Carrier, Exchange, OutgoingSignal, ProcessId, PublicationReceipt},
};
use tokio::sync::{mpsc, oneshot, watch};

use crate::StoreState;

/// Most signals and answers that wait for the connection; beyond it a publisher waits, and an answer is
/// dropped.
const QUEUE_MAX: usize = 1_024;

/// A message that the connection has to send.
enum Item {
    /// A signal to all processes.
    Publish { outgoing: OutgoingSignal, reply: oneshot::Sender<Result<PublicationReceipt, Fault>> },
    /// An answer to one process.
    Answer { to: ProcessId, question: u64, answer: Option<Bytes> },
}

/// Longest wait at the start for the connection to listen.
const START_MS_MAX: u64 = 3_000;

/// The signals of a store, as soon as this process listens. If the server is lost meanwhile, the start
/// continues.
pub(crate) async fn signals(store: Arc<StoreState>) -> Signals {
    let (queue, items) = mpsc::channel(QUEUE_MAX);
    let (closing, closed) = watch::channel(false);
    let exchange = Arc::new(Exchange::default());
    let shared = Arc::new(SignalState {
        store,
        exchange: exchange.clone(),
        process: AtomicU64::new(0),
        former: AtomicU64::new(0),
        queue: queue.downgrade(),
    });
    let (ready, listens) = oneshot::channel();
    tokio::spawn(session::run(shared, items, closed, ready));
    let _ = tokio::time::timeout(Duration::from_millis(START_MS_MAX), listens).await;
    Signals::new(Arc::new(Notify { queue, closing }), exchange)
}

/// The state that the publishers and the task share.
struct SignalState {
    store: Arc<StoreState>,
    exchange: Arc<Exchange>,
    /// The id under which this process listens now; 0 while it does not.
    process: AtomicU64,
    /// The id under which it listened on an earlier, lost connection; 0 for none.
    former: AtomicU64,
    queue: mpsc::WeakSender<Item>,
}

impl SignalState {
    fn process(&self) -> u64 {
        self.process.load(Ordering::Acquire)
    }
}

/// The carrier for publishers.
struct Notify {
    queue: mpsc::Sender<Item>,
    closing: watch::Sender<bool>,
}

impl Carrier for Notify {
    fn carry(&self, outgoing: OutgoingSignal) -> Read<'_, PublicationReceipt> {
        Box::pin(async move {
            let (reply, carried) = oneshot::channel();
            let closed = || Fault::Unavailable("signals are closed".into());
            self.queue.send(Item::Publish { outgoing, reply }).await.map_err(|_| closed())?;
            carried.await.unwrap_or_else(|_| {
                Err(Fault::OutcomeUnknown("the connection that carries signals was lost".into()))
            })
        })
    }
    fn close(&self) {
        self.closing.send_replace(true);
    }
}
