//! The one task that takes spans from the queue and exports them in batches, until it is stopped.
//! Must not know: the source of spans.

use std::{sync::Arc, time::Duration};

use opentelemetry::KeyValue;
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    resource::TelemetryResourceDetector,
    trace::{SpanData, SpanExporter as _},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Counts, Fault, Settings, Spans,
    queue::{Load, Outlet, QueuedSpan, queue},
    spans::Recorder,
    transport::{CollectorReplies, Transport},
};

/// A batch is sent as soon as its spans have this many bytes: collectors refuse larger requests.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// The recorder of spans, and the task that exports them.
#[derive(Debug, Default)]
pub struct Telemetry {
    spans: Spans,
    counts: Counts,
    export: Option<Export>,
}

#[derive(Debug)]
struct Export {
    finish: CancellationToken,
    task: JoinHandle<()>,
    load: Arc<Load>,
}

impl Telemetry {
    /// Telemetry that records no spans.
    pub fn off() -> Self {
        Self::default()
    }

    /// Starts the export, in a task of this runtime.
    ///
    /// # Errors
    /// When the file of certificate authorities cannot be used, or an exporter cannot be made.
    pub fn start(settings: &Settings) -> Result<Self, Fault> {
        let counts = Counts::default();
        let transport = Transport::new(settings)?;
        let replies = transport.replies();
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(transport)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(settings.endpoint.to_string())
            .with_timeout(settings.timeout)
            .with_headers(settings.headers.iter().cloned().collect())
            // Its pauses would block the thread; the transport has its own.
            .with_retry_policy(RetryPolicy::disabled())
            .build()
            .map_err(|error| Fault::Exporter(error.to_string()))?;
        exporter.set_resource(&resource(settings));
        let (queue, outlet) = queue(settings.queue_spans_max, counts.dropped.clone());
        let recorder = Recorder::new(queue, settings.sampling.clone(), settings.text_chars_max);
        let finish = CancellationToken::new();
        let load = outlet.load();
        let work = Work {
            load: load.clone(),
            outlet,
            exporter,
            replies,
            counts: counts.clone(),
            finish: finish.clone(),
            batch_spans_max: settings.batch_spans_max,
            schedule_delay: settings.schedule_delay,
            export_timeout: settings.export_timeout,
            failing: None,
        };
        let task = tokio::spawn(work.run());
        Ok(Self { spans: Spans::to(recorder), counts, export: Some(Export { finish, task, load }) })
    }

    /// The recorder for rooms.
    pub fn spans(&self) -> Spans {
        self.spans.clone()
    }

    /// The counters of exported and dropped spans.
    pub fn counts(&self) -> Counts {
        self.counts.clone()
    }

    /// Stops accepting spans and sends the waiting ones, for `limit` at most; the rest is counted as
    /// dropped.
    pub async fn finish(self, limit: Duration) {
        let Some(mut export) = self.export else { return };
        export.finish.cancel();
        if timeout(limit, &mut export.task).await.is_err() {
            export.task.abort();
            // Only after the task has ended does the queue refuse, and count, further spans.
            let _cancelled = export.task.await;
        }
        let lost = export.load.spans();
        if lost > 0 {
            self.counts.dropped.inc_by(lost);
            tracing::warn!(spans = lost, "the collector did not accept the last spans in time");
        }
    }
}

/// The source of the spans.
fn resource(settings: &Settings) -> Resource {
    let attributes = settings.resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Resource::builder_empty()
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_attributes(attributes)
        .build()
}

/// The state of the task.
struct Work {
    outlet: Outlet,
    load: Arc<Load>,
    exporter: SpanExporter,
    replies: Arc<CollectorReplies>,
    counts: Counts,
    finish: CancellationToken,
    batch_spans_max: usize,
    schedule_delay: Duration,
    export_timeout: Duration,
    /// Spans lost since the collector stopped accepting them; `None` while it accepts them.
    failing: Option<u64>,
}

#[derive(Default)]
struct SpanBatch {
    spans: Vec<SpanData>,
    bytes: usize,
}

impl SpanBatch {
    fn put(&mut self, queued: QueuedSpan) {
        self.bytes += queued.bytes;
        self.spans.push(queued.span);
    }
}

impl Work {
    async fn run(mut self) {
        let finish = self.finish.clone();
        while let Some(first) = finish.run_until_cancelled(self.outlet.next()).await {
            let Some(first) = first else { return };
            let parcel = self.gather(first).await;
            self.deliver(parcel.spans).await;
        }
        self.outlet.close();
        while let Some(first) = self.outlet.next().await {
            let parcel = self.gather(first).await;
            self.deliver(parcel.spans).await;
        }
    }

    /// Collects spans until the batch is full or the first one has waited long enough.
    async fn gather(&mut self, first: QueuedSpan) -> SpanBatch {
        let mut parcel = SpanBatch::default();
        parcel.put(first);
        let due = sleep_until(Instant::now() + self.schedule_delay);
        tokio::pin!(due);
        while self.has_room(&parcel) {
            let queued = tokio::select! {
                biased;
                queued = self.outlet.next() => queued,
                () = self.finish.cancelled() => self.outlet.next_now(),
                () = &mut due => None,
            };
            match queued {
                Some(queued) => parcel.put(queued),
                None => break,
            }
        }
        parcel
    }

    fn has_room(&self, parcel: &SpanBatch) -> bool {
        parcel.spans.len() < self.batch_spans_max && parcel.bytes < BATCH_BYTES_MAX
    }

    async fn deliver(&mut self, spans: Vec<SpanData>) {
        let sent = spans.len() as u64;
        let accepted = matches!(timeout(self.export_timeout, self.exporter.export(spans)).await, Ok(Ok(())));
        let lost = if accepted { self.replies.take_rejected().min(sent) } else { sent };
        self.counts.exported.inc_by(sent - lost);
        self.counts.dropped.inc_by(lost);
        self.load.leave(sent);
        self.log_change(lost);
    }

    /// Logs that the collector fails, and that it works again: once each, however many spans are lost.
    fn log_change(&mut self, lost: u64) {
        let why = self.replies.take_error();
        match (self.failing, lost) {
            (None, 0) => {}
            (None, lost) => {
                tracing::warn!(why, "the collector does not accept spans; they are dropped");
                self.failing = Some(lost);
            }
            (Some(before), 0) => {
                tracing::info!(lost = before, "the collector accepts spans again");
                self.failing = None;
            }
            (Some(before), lost) => self.failing = Some(before + lost),
        }
    }
}
