//! One server span for each request of an operation: its name, its parent, its attributes, its scope.

use axum::{body::Body, response::IntoResponse};
use http::{Method, Request, StatusCode};
use plenary_edge::{CallerSpan, Metrics, OperationDoc, routes, with_fallbacks};
use plenary_telemetry::{Kind, MemoryCollector, Spans, Value};
use tower::ServiceExt;

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The reply of the operations below: the caller's span that they saw.
async fn show(CallerSpan(caller): CallerSpan) -> String {
    caller.map(|caller| format!("{caller} {}", caller.state())).unwrap_or_default()
}

async fn broken() -> impl IntoResponse {
    StatusCode::SERVICE_UNAVAILABLE
}

/// The operation and the trace that log lines of a handler carry.
async fn scope() -> String {
    tokio::task::yield_now().await;
    let scope = plenary_telemetry::current_scope().expect("a handler runs under a span");
    format!("{} {}", scope.operation(), scope.own().trace_id())
}

async fn panics() -> StatusCode {
    panic!("on purpose")
}

fn router(spans: Spans) -> axum::Router {
    let metrics = Metrics::with_spans(spans);
    let doc = |id, path| OperationDoc::new(id, Method::GET, path, "A thing");
    let operations = vec![
        doc("thing.show", "/things/{id}").handled_by(show),
        doc("thing.break", "/broken").handled_by(broken),
        doc("thing.panic", "/panic").handled_by(panics),
        doc("thing.scope", "/scope").handled_by(scope),
    ];
    with_fallbacks(routes(operations, &metrics).unwrap(), &metrics)
}

fn router_with_collector() -> (axum::Router, MemoryCollector) {
    let (spans, collector) = Spans::in_memory(16);
    (router(spans), collector)
}

async fn get(router: &axum::Router, path: &str, headers: &[(&str, &str)]) -> String {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn a_request_is_a_span_below_its_caller() {
    let (router, mut collector) = router_with_collector();
    let seen = get(&router, "/things/7", &[("traceparent", CALLER), ("tracestate", "vendor=1")]).await;
    assert_eq!(seen, format!("{CALLER} vendor=1"), "the handler is told who its caller's span is");
    let [span] = collector.take().try_into().unwrap();
    assert_eq!((span.name.as_str(), span.kind), ("thing.show", Kind::Server));
    assert_eq!(span.parent.as_deref(), Some("00f067aa0ba902b7"));
    assert_eq!(span.own.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(span.own.state(), "vendor=1");
    let attributes: Vec<_> =
        span.attributes.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
    let expected = [
        ("http.request.method", Value::from("GET")),
        ("http.response.status_code", Value::from(200)),
        ("http.route", Value::from("/things/{id}")),
    ];
    assert_eq!(attributes, expected, "and nothing else: no path, no query, no header");
}

#[tokio::test]
async fn without_a_caller_a_request_begins_a_trace() {
    let (router, mut collector) = router_with_collector();
    assert_eq!(get(&router, "/things/7", &[]).await, "");
    assert_eq!(get(&router, "/things/7", &[("traceparent", "nonsense")]).await, "");
    let [first, second] = collector.take().try_into().unwrap();
    assert_eq!((first.parent, second.parent), (None, None));
    assert_ne!(first.own.trace_id().to_string(), second.own.trace_id().to_string());
}

#[tokio::test]
async fn faults_and_bugs_are_errors_and_refusals_are_none() {
    let (router, mut collector) = router_with_collector();
    for path in ["/broken", "/panic", "/nowhere"] {
        get(&router, path, &[]).await;
    }
    let [broken, bug, nowhere] = collector.take().try_into().unwrap();
    assert_eq!((broken.failed, &broken.attributes["error.type"]), (true, &Value::from("503")));
    assert_eq!((bug.name.as_str(), bug.failed), ("thing.panic", true));
    assert_eq!((nowhere.name.as_str(), nowhere.failed), ("unmatched", false));
    assert!(!nowhere.attributes.contains_key("http.route"));
    let made_up = Request::builder().method("BREW").uri("/nowhere").body(Body::empty()).unwrap();
    router.clone().oneshot(made_up).await.unwrap();
    assert_eq!(collector.take()[0].attributes["http.request.method"], Value::from("_OTHER"));
}

#[tokio::test]
async fn off_the_caller_is_not_even_read() {
    let router = router(Spans::off());
    assert_eq!(get(&router, "/things/7", &[("traceparent", CALLER)]).await, "");
}

#[tokio::test]
async fn a_handler_runs_under_the_span_of_its_request() {
    let (router, mut collector) = router_with_collector();
    assert_eq!(
        get(&router, "/scope", &[("traceparent", CALLER)]).await,
        "thing.scope 4bf92f3577b34da6a3ce929d0e0e4736"
    );
    assert_eq!(collector.take().len(), 1);
    assert!(plenary_telemetry::current_scope().is_none());
}
