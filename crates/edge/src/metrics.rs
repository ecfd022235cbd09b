//! The server's metrics, in Prometheus' text form: `plenary_` names, base units, no handles or ids as labels.
//! Must not know: a room's metrics, except their names.

use std::{fmt, sync::Arc, time::Duration};

use http::StatusCode;
use parking_lot::Mutex;
use plenary_telemetry::Spans;
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry, Unit},
};

use crate::traced::TracedOperation;

/// The media type of [`Metrics::render`].
pub const METRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the latency buckets, in seconds.
const LATENCY_BOUNDS_S: [f64; 12] =
    [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

/// The classes of status, as labels.
const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    operation: &'static str,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabel {
    operation: &'static str,
}

/// The registry that the rooms share. Cloning shares it.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Mutex<Registry>,
    requests: Family<AnswerLabels, Counter>,
    durations: Family<OperationLabel, Histogram, fn() -> Histogram>,
    connections: Gauge,
    refused: Counter,
    spans: Spans,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// A new registry with the metrics of the edge; no spans are recorded.
    pub fn new() -> Self {
        Self::with_spans(Spans::off())
    }

    /// A new registry with the metrics of the edge; each request of an operation is recorded as a span.
    pub fn with_spans(spans: Spans) -> Self {
        let inner = Inner {
            registry: Mutex::new(Registry::with_prefix("plenary")),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(LATENCY_BOUNDS_S)),
            connections: Gauge::default(),
            refused: Counter::default(),
            spans,
        };
        let metrics = Self(Arc::new(inner));
        let Inner { requests, durations, connections, refused, .. } = &*metrics.0;
        metrics.register(
            "http_requests",
            "Requests answered, by operation and status class",
            requests.clone(),
        );
        metrics.register("http_connections", "Open connections, including WebSockets", connections.clone());
        metrics.register(
            "http_connections_refused",
            "Connections refused because of a limit",
            refused.clone(),
        );
        metrics.registry(|registry| {
            let help = "Time from the head of a request to the head of its response";
            registry.register_with_unit("http_request_duration", help, Unit::Seconds, durations.clone());
        });
        metrics
    }

    fn registry<T>(&self, work: impl FnOnce(&mut Registry) -> T) -> T {
        work(&mut self.0.registry.lock())
    }

    /// Adds a metric as `plenary_NAME`; counters get `_total` when rendered. Labels must never be handles or ids.
    pub fn register(&self, name: &'static str, help: &'static str, metric: impl Metric) {
        self.registry(|registry| registry.register(name, help, metric));
    }

    /// The text for `/metrics`, of type [`METRICS_CONTENT_TYPE`].
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail; if a metric cannot be encoded, the rest stays readable.
        let _ = self.registry(|registry| text::encode(&mut text, registry));
        text
    }

    pub(crate) fn connections(&self) -> Gauge {
        self.0.connections.clone()
    }

    pub(crate) fn connection_refused(&self) {
        self.0.refused.inc();
    }

    /// The counters of one operation, looked up once, so that a request only increments them; `route` is
    /// its path, for its spans.
    pub(crate) fn operation(
        &self,
        operation: &'static str,
        route: Option<&'static str>,
    ) -> Arc<OperationMetrics> {
        let answered = STATUS_CLASSES
            .map(|status| self.0.requests.get_or_create_owned(&AnswerLabels { operation, status }));
        let duration = self.0.durations.get_or_create_owned(&OperationLabel { operation });
        let traced = TracedOperation::new(self.0.spans.clone(), operation, route);
        Arc::new(OperationMetrics { answered, duration, traced })
    }
}

/// The metrics and spans of one operation.
pub(crate) struct OperationMetrics {
    answered: [Counter; 5],
    duration: Histogram,
    pub(crate) traced: TracedOperation,
}

impl OperationMetrics {
    pub(crate) fn answered(&self, status: StatusCode, after: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.answered[class].inc();
        self.duration.observe(after.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_names_with_prefix_and_base_units_and_no_label_but_ours() {
        let metrics = Metrics::new();
        let operation = metrics.operation("session.create", None);
        operation.answered(StatusCode::CREATED, Duration::from_millis(3));
        operation.answered(StatusCode::NOT_FOUND, Duration::from_micros(10));
        let own: Counter = Counter::default();
        own.inc_by(7);
        metrics.register("sessions_opened", "Sessions opened", own);
        let text = metrics.render();
        for line in [
            r#"plenary_http_requests_total{operation="session.create",status="2xx"} 1"#,
            r#"plenary_http_requests_total{operation="session.create",status="4xx"} 1"#,
            r#"plenary_http_request_duration_seconds_count{operation="session.create"} 2"#,
            r#"plenary_http_request_duration_seconds_bucket{le="0.005",operation="session.create"} 2"#,
            "plenary_http_connections 0",
            "plenary_sessions_opened_total 7",
            "# EOF",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} not in\n{text}");
        }
    }
}
