//! The export, from recorded spans to a collector in the same process, over plain HTTP and TLS.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod collector;

use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use plenary_telemetry::{FinishedSpan, Kind, Settings, Spans, Status, Telemetry, Value};
use prost::Message;
use tokio::time::{interval, timeout};

use collector::{Answer, Collector};

/// Nothing here takes longer, unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);

fn started(endpoint: &str, variables: &[(&str, &str)]) -> Telemetry {
    let configured = Settings::read(|name| {
        let found = variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        found.or_else(|| match name {
            "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.to_owned()),
            "OTEL_BSP_SCHEDULE_DELAY" => Some("5".to_owned()),
            _ => None,
        })
    });
    assert_eq!(configured.warnings, Vec::<String>::new());
    Telemetry::start(&configured.settings.unwrap()).unwrap()
}

fn record(spans: &Spans, text: &str) {
    let now = Instant::now();
    spans.record(FinishedSpan {
        name: "thing.done".into(),
        kind: Kind::Internal,
        parent: None,
        links: Vec::new(),
        start: now,
        end: now,
        attributes: vec![("text", text.to_owned().into()), ("n", Value::from(1))],
        status: Status::Unset,
    });
}

/// Until it is true.
async fn until(what: &str, mut probe: impl FnMut() -> bool) {
    let mut look = interval(Duration::from_millis(2));
    let seen = async {
        while !probe() {
            look.tick().await;
        }
    };
    timeout(PATIENCE, seen).await.expect(what);
}

/// Exported and dropped so far.
fn counts(telemetry: &Telemetry) -> (u64, u64) {
    let counts = telemetry.counts();
    (counts.exported.get(), counts.dropped.get())
}

#[tokio::test]
async fn spans_arrive_over_tls_when_its_authority_is_trusted() {
    let collector = Collector::secure().await;
    let trusted = started(&collector.url(), &[("OTEL_EXPORTER_OTLP_CERTIFICATE", collector.authority())]);
    record(&trusted.spans(), "over TLS");
    until("it is exported", || counts(&trusted) == (1, 0)).await;
    assert_eq!(collector.texts(), ["over TLS"]);

    let stranger = Collector::secure().await;
    let variables =
        [("OTEL_EXPORTER_OTLP_CERTIFICATE", stranger.authority()), ("OTEL_EXPORTER_OTLP_TIMEOUT", "300")];
    let distrusting = started(&collector.url(), &variables);
    record(&distrusting.spans(), "for somebody else");
    until("it is dropped", || counts(&distrusting) == (0, 1)).await;
    assert_eq!(collector.texts().len(), 1);
}

#[tokio::test]
async fn a_file_of_authorities_that_is_none_is_a_fault_and_no_panic() {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://localhost:1"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nonexistent/ca.pem"),
    ];
    let found =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
    let fault = Telemetry::start(&Settings::read(found).settings.unwrap()).unwrap_err();
    assert!(fault.to_string().contains("/nonexistent/ca.pem"), "{fault}");
}

#[tokio::test]
async fn spans_that_the_collector_sorts_out_are_counted_as_dropped() {
    let collector = Collector::plain().await;
    let partial = ExportTracePartialSuccess { rejected_spans: 2, error_message: "too old".into() };
    let answer = ExportTraceServiceResponse { partial_success: Some(partial) };
    collector.answer(Answer::Status(200, answer.encode_to_vec(), None));
    let telemetry = started(&collector.url(), &[("OTEL_BSP_SCHEDULE_DELAY", "3600000")]);
    for _ in 0..5 {
        record(&telemetry.spans(), "x");
    }
    let counts = telemetry.counts();
    telemetry.finish(PATIENCE).await;
    assert_eq!((counts.exported.get(), counts.dropped.get()), (3, 2));
}

#[tokio::test]
async fn a_busy_collector_names_the_time_of_the_next_attempt() {
    let collector = Collector::plain().await;
    collector.answer(Answer::Status(429, Vec::new(), Some(1)));
    let telemetry = started(&collector.url(), &[]);
    record(&telemetry.spans(), "later");
    until("it was asked", || collector.requests() == 1).await;
    let requested_at = Instant::now();
    collector.answer(Answer::take());
    until("it is exported", || counts(&telemetry) == (1, 0)).await;
    assert!(requested_at.elapsed() >= Duration::from_millis(900), "{:?}", requested_at.elapsed());
    assert_eq!(collector.requests(), 2);
}

#[tokio::test]
async fn what_is_refused_for_good_is_not_sent_again() {
    for status in [400, 401, 404, 413, 500] {
        let collector = Collector::plain().await;
        collector.answer(Answer::Status(status, Vec::new(), None));
        let telemetry = started(&collector.url(), &[]);
        record(&telemetry.spans(), "x");
        until("it is dropped", || counts(&telemetry) == (0, 1)).await;
        assert_eq!(collector.requests(), 1, "{status}");
    }
}

#[tokio::test]
async fn finishing_takes_no_longer_than_it_may_and_counts_what_is_left() {
    let collector = Collector::plain().await;
    collector.answer(Answer::Hang);
    let telemetry = started(&collector.url(), &[("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")]);
    let (spans, counts) = (telemetry.spans(), telemetry.counts());
    for _ in 0..5 {
        record(&spans, "x");
    }
    until("one batch is on its way", || collector.requests() == 1).await;
    let started_at = Instant::now();
    telemetry.finish(Duration::from_millis(100)).await;
    // A tenth of how long a batch may be on its way.
    assert!(started_at.elapsed() < Duration::from_secs(1), "{:?}", started_at.elapsed());
    assert_eq!((counts.exported.get(), counts.dropped.get()), (0, 5));
    record(&spans, "too late");
    assert_eq!(counts.dropped.get(), 6);
}

#[tokio::test]
async fn finishing_sends_everything_that_waits_in_batches() {
    let collector = Collector::plain().await;
    let variables = [("OTEL_BSP_SCHEDULE_DELAY", "3600000"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")];
    let telemetry = started(&collector.url(), &variables);
    for number in 0..10 {
        record(&telemetry.spans(), &number.to_string());
    }
    let counts = telemetry.counts();
    telemetry.finish(PATIENCE).await;
    assert_eq!((counts.exported.get(), counts.dropped.get()), (10, 0));
    assert_eq!(collector.texts().len(), 10);
    assert_eq!(collector.requests(), 3);
}

#[tokio::test]
async fn large_spans_travel_in_small_batches() {
    let collector = Collector::plain().await;
    let telemetry = started(&collector.url(), &[("OTEL_BSP_SCHEDULE_DELAY", "3600000")]);
    let mebibyte = "x".repeat(1 << 20);
    for _ in 0..12 {
        record(&telemetry.spans(), &mebibyte);
    }
    telemetry.finish(PATIENCE).await;
    assert_eq!(collector.texts().len(), 12);
    assert!(collector.largest_bytes() <= 5 << 20, "{}", collector.largest_bytes());
}

#[tokio::test]
async fn long_texts_are_cut_at_the_configured_length() {
    let collector = Collector::plain().await;
    let telemetry = started(&collector.url(), &[("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "3")]);
    for text in ["ab", "abc", "äöüß"] {
        record(&telemetry.spans(), text);
    }
    telemetry.finish(PATIENCE).await;
    assert_eq!(collector.texts(), ["ab", "abc", "äöü"]);
}

#[tokio::test]
async fn a_collector_that_answers_without_end_is_not_listened_to() {
    let collector = Collector::plain().await;
    collector.answer(Answer::Status(200, vec![0; 1 << 20], None));
    let telemetry = started(&collector.url(), &[("OTEL_EXPORTER_OTLP_TIMEOUT", "300")]);
    record(&telemetry.spans(), "x");
    until("it is dropped", || counts(&telemetry) == (0, 1)).await;
}
