//! OpenTelemetry's variables: what each does, and what happens to one that is nonsense (D.6).

use blackbox::{Collector, Server, eventually};

/// Names, headers and the place that the operator gives.
#[tokio::test]
async fn headers_resource_and_endpoint_are_the_operators() {
    let collector = Collector::start().await;
    let mut server = Server::builder()
        .env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &format!("{}/in?key=1", collector.url()))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret-7,x-scope=a")
        .env("OTEL_SERVICE_NAME", "agents-of-acme")
        .env("OTEL_RESOURCE_ATTRIBUTES", "openinference.project.name=acme%20one,service.name=not-this")
        .env("OTEL_BSP_SCHEDULE_DELAY", "20")
        .start()
        .await;
    server.stranger().get("/healthz").await.ok(200);
    let span = collector.wait_for_span("server.health").await;
    assert_eq!(span.resource["service.name"], "agents-of-acme");
    assert_eq!(span.resource["openinference.project.name"], "acme one");
    assert_eq!(span.resource["telemetry.sdk.language"], "rust");
    let export = &collector.exports()[0];
    assert_eq!(export.target, "/in?key=1", "as it stands");
    assert_eq!(export.headers["content-type"], "application/x-protobuf");
    assert_eq!(export.headers["authorization"], "Bearer secret-7");
    assert_eq!(export.headers["x-scope"], "a");
    server.stop().await;
    assert!(!server.output_text().contains("secret-7"), "a header is a secret");
}

/// The endpoint of all signals gets the path of traces.
#[tokio::test]
async fn the_common_endpoint_gets_the_path_of_traces() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&format!("{}/otlp/", collector.url())).start().await;
    server.stranger().get("/healthz").await.ok(200);
    collector.wait_for_span("server.health").await;
    assert_eq!(collector.exports()[0].target, "/otlp/v1/traces");
}

/// Switched off in either way, and without an endpoint, nothing is sent and nothing counted.
#[tokio::test]
async fn off_nothing_is_sent() {
    let collector = Collector::start().await;
    for (name, value) in
        [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "")]
    {
        let mut server = Server::builder().spans_to(&collector.url()).env(name, value).start().await;
        let alice = server.agent("@alice.bot").await;
        alice.get("/sessions").await.ok(200);
        let metrics = server.stranger().get("/metrics").await.text();
        for counter in ["plenary_spans_exported_total 0", "plenary_spans_dropped_total 0"] {
            assert!(metrics.lines().any(|line| line == counter), "{name}: {metrics}");
        }
        // At its end a server sends what still waits.
        server.stop().await;
        assert!(collector.exports().is_empty(), "{name}={value}");
    }
}

/// Spans that wait for others to travel with are sent at the end.
#[tokio::test]
async fn the_last_spans_are_sent_at_the_end() {
    let collector = Collector::start().await;
    let mut server =
        Server::builder().spans_to(&collector.url()).env("OTEL_BSP_SCHEDULE_DELAY", "3600000").start().await;
    for _ in 0..10 {
        server.stranger().get("/healthz").await.ok(200);
    }
    assert!(collector.exports().is_empty(), "they wait");
    server.stop().await;
    let spans = collector.spans();
    assert_eq!(spans.iter().filter(|span| span.name == "server.health").count(), 10, "{spans:?}");
}

/// What was taken is counted.
#[tokio::test]
async fn what_was_taken_is_counted() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&collector.url()).start().await;
    for _ in 0..10 {
        server.stranger().get("/healthz").await.ok(200);
    }
    collector.wait_for_spans("server.health", 10).await;
    eventually("they are counted", || async {
        let metrics = server.stranger().get("/metrics").await.text();
        let exported = metrics.lines().find_map(|line| line.strip_prefix("plenary_spans_exported_total "))?;
        (exported.parse::<u64>().ok()? >= 10).then_some(())
    })
    .await;
}

/// Nonsense is said at the start, without the values that may be secret, and the server serves.
#[tokio::test]
async fn nonsense_is_said_and_never_a_crash() {
    for (name, value, sends) in [
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "no-url", false),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://secret-8@127.0.0.1", false),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", true),
        ("OTEL_EXPORTER_OTLP_HEADERS", "secret-8", true),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", true),
        ("OTEL_RESOURCE_ATTRIBUTES", "secret-8", true),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-1", true),
        ("OTEL_BSP_EXPORT_TIMEOUT", "0", true),
    ] {
        let collector = Collector::start().await;
        let mut server = Server::builder().spans_to(&collector.url()).env(name, value).start().await;
        server.stranger().get("/healthz").await.ok(200);
        server.stop().await;
        let logged = server.log_text();
        let line =
            logged.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {logged}"));
        assert!(line.contains("\"WARN\""), "{line}");
        assert!(!server.output_text().contains("secret-8"), "{logged}");
        // At its end a server has sent what waits.
        assert_eq!(!collector.exports().is_empty(), sends, "{name}={value}");
    }
}
