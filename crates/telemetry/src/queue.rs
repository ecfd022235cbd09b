//! The queue between the recorders of spans and the export: bounded in spans and bytes, never blocking.
//! Must not know: where its spans go.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use opentelemetry_sdk::trace::SpanData;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::mpsc;

/// Most bytes of spans that wait, whatever their number; beyond it spans are dropped and counted.
pub(crate) const QUEUE_BYTES_MAX: usize = 16 << 20;
/// The approximate size of a span besides its texts.
const SPAN_BYTES: usize = 512;
/// The approximate size of an attribute besides its text.
const ATTRIBUTE_BYTES: usize = 64;

/// The counters of spans. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Spans that a collector has accepted.
    pub exported: Counter,
    /// Spans that were lost: the queue was full, or no collector accepted them.
    pub dropped: Counter,
}

/// The spans in the queue and in the export.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// Bytes of the waiting spans.
    bytes: AtomicUsize,
    /// Spans that wait or are being exported.
    spans: AtomicU64,
}

impl Load {
    /// Subtracts spans that were exported or dropped.
    pub(crate) fn leave(&self, spans: u64) {
        self.spans.fetch_sub(spans, Ordering::Relaxed);
    }

    /// The number of the remaining spans.
    pub(crate) fn spans(&self) -> u64 {
        self.spans.load(Ordering::Relaxed)
    }
}

/// A span with its size.
pub(crate) struct QueuedSpan {
    pub(crate) span: SpanData,
    pub(crate) bytes: usize,
}

/// The sender's end of the queue.
pub(crate) struct Queue {
    sender: mpsc::Sender<QueuedSpan>,
    load: Arc<Load>,
    dropped: Counter,
}

/// The receiver's end of the queue.
pub(crate) struct Outlet {
    receiver: mpsc::Receiver<QueuedSpan>,
    load: Arc<Load>,
}

/// A queue of at most `spans_max` spans; spans that do not fit are counted in `dropped`.
pub(crate) fn queue(spans_max: usize, dropped: Counter) -> (Queue, Outlet) {
    let (sender, receiver) = mpsc::channel(spans_max);
    let load = Arc::new(Load::default());
    (Queue { sender, load: load.clone(), dropped }, Outlet { receiver, load })
}

impl Queue {
    /// Adds a span, or counts it as dropped.
    pub(crate) fn push(&self, span: SpanData) {
        let bytes = weight(&span);
        let before = self.load.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.load.spans.fetch_add(1, Ordering::Relaxed);
        if before + bytes <= QUEUE_BYTES_MAX && self.sender.try_send(QueuedSpan { span, bytes }).is_ok() {
            return;
        }
        self.load.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.load.leave(1);
        self.dropped.inc();
    }
}

impl Outlet {
    /// The next span; `None` if the outlet is closed and empty. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<QueuedSpan> {
        let queued = self.receiver.recv().await;
        self.lighten(queued)
    }

    /// The next span, if one waits.
    pub(crate) fn next_now(&mut self) -> Option<QueuedSpan> {
        let queued = self.receiver.try_recv().ok();
        self.lighten(queued)
    }

    /// Refuses further spans; the waiting ones can still be read.
    pub(crate) fn close(&mut self) {
        self.receiver.close();
    }

    /// The load of the queue and the export.
    pub(crate) fn load(&self) -> Arc<Load> {
        self.load.clone()
    }

    fn lighten(&self, queued: Option<QueuedSpan>) -> Option<QueuedSpan> {
        let queued = queued?;
        self.load.bytes.fetch_sub(queued.bytes, Ordering::Relaxed);
        Some(queued)
    }
}

fn weight(span: &SpanData) -> usize {
    let attributes: usize =
        span.attributes.iter().map(|pair| ATTRIBUTE_BYTES + pair.value.as_str().len()).sum();
    SPAN_BYTES + span.name.len() + attributes
}
