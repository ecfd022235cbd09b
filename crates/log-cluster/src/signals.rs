//! Signals of a cluster: they use a separate journal with short retention, so that all nodes see one
//! order, and a publisher has seen every number assigned before. Answers and heartbeats use the same
//! journal.
//! Must not know: any protocol, or the transport of the journal.

mod counters;
mod form;
mod station;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use plenary_journal::Journal;
use plenary_log::{
    Fault, Read, Signals,
    signals::{Carrier, Exchange, OutgoingSignal, ProcessId, PublicationReceipt},
};
use tokio::sync::{mpsc, oneshot, watch};

use station::Station;

/// Most signals and answers that wait for the journal; beyond it a publisher waits, and an answer is
/// dropped.
const QUEUE_MAX: usize = 1_024;
/// Longest wait at the start for this process to be known.
const START_MAX: Duration = Duration::from_secs(3);

/// A message that a process has to send.
pub(crate) enum Item {
    /// A signal to all processes.
    Publish { outgoing: OutgoingSignal, reply: oneshot::Sender<Result<PublicationReceipt, Fault>> },
    /// An answer to one process.
    Answer { to: ProcessId, question: u64, answer: Option<Bytes> },
}

/// The signals of this process, as soon as the others know of it. If the journal does not answer, the
/// start continues.
pub(crate) async fn join(journal: Arc<dyn Journal>) -> Signals {
    let (queue, items) = mpsc::channel(QUEUE_MAX);
    let (closing, closed) = watch::channel(false);
    let (ready, is_ready) = oneshot::channel();
    let exchange = Arc::new(Exchange::default());
    let station = Station::new(journal, exchange.clone(), queue.downgrade());
    tokio::spawn(station.run(items, closed, ready));
    let _ = tokio::time::timeout(START_MAX, is_ready).await;
    Signals::new(Arc::new(Post { queue, closing }), exchange)
}

/// The carrier for publishers.
struct Post {
    queue: mpsc::Sender<Item>,
    closing: watch::Sender<bool>,
}

impl Carrier for Post {
    fn carry(&self, outgoing: OutgoingSignal) -> Read<'_, PublicationReceipt> {
        Box::pin(async move {
            let (reply, carried) = oneshot::channel();
            let closed = || Fault::Unavailable("signals are closed".into());
            self.queue.send(Item::Publish { outgoing, reply }).await.map_err(|_| closed())?;
            carried.await.unwrap_or_else(|_| Err(closed()))
        })
    }
    fn close(&self) {
        self.closing.send_replace(true);
    }
}
