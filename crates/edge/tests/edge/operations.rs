//! Operations: routes and their description from one definition, and what no operation serves.

use axum::extract::{Path, Query};
use http::{Method, StatusCode};
use plenary_edge::{
    ApiInfo, Auth, Config, Metrics, Operation, OperationDoc, RegistryFault, openapi, routes, with_fallbacks,
};
use plenary_kernel::Class;
use schemars::JsonSchema;
use serde::Deserialize;
use tower::ServiceExt;

use crate::harness::{request, start};

/// A thing.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Thing {
    /// What it is called.
    name: String,
    parts: Vec<Part>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Part {
    #[schemars(default)]
    weight: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
struct Page {
    /// The most to return.
    limit: Option<u16>,
    after: u64,
}

fn docs() -> Vec<OperationDoc> {
    vec![
        OperationDoc::new("thing.create", Method::POST, "/things", "Make a thing")
            .description("It is made at once.")
            .auth(Auth::Owner)
            .success(StatusCode::CREATED)
            .request::<Thing>()
            .reply::<Thing>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body"])
            .errors(Class::Unauthenticated, &["missing_authorization"]),
        OperationDoc::new("thing.list", Method::GET, "/things", "List things")
            .query::<Page>()
            .reply::<Vec<Thing>>()
            .or_empty(StatusCode::ACCEPTED),
        OperationDoc::new("part.show", Method::GET, "/things/{id}/parts/{*rest}", "Show a part")
            .path_parameter::<u64>("id", "The thing's number.")
            .token_optional()
            .reply::<Part>()
            .has_etag()
            .errors(Class::NotFound, &["not_found"]),
        OperationDoc::new("metrics.show", Method::GET, "/metrics", "What is counted")
            .auth(Auth::None)
            .reply_type("text/plain"),
    ]
}

fn operations() -> Vec<Operation<()>> {
    let [create, list, part, metrics] = docs().try_into().unwrap();
    vec![
        create.handled_by(|| async { StatusCode::CREATED }),
        list.handled_by(|Query(page): Query<Page>| async move { format!("{:?} {}", page.limit, page.after) }),
        part.handled_by(|Path((id, rest)): Path<(u64, String)>| async move { format!("{id} {rest}") }),
        metrics.handled_by(|| async { "" }),
    ]
}

async fn answer(router: &axum::Router, method: &str, path: &str) -> (StatusCode, Option<String>, String) {
    let request = http::Request::builder().method(method).uri(path).body(axum::body::Body::empty()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let allow = response.headers().get("allow").map(|allow| allow.to_str().unwrap().to_owned());
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap();
    (status, allow, String::from_utf8(body.into()).unwrap())
}

#[tokio::test]
async fn a_bug_is_counted_as_an_answer_of_its_operation() {
    async fn panics() -> StatusCode {
        panic!("on purpose")
    }
    let metrics = Metrics::new();
    let doc = OperationDoc::new("thing.break", Method::GET, "/break", "Break");
    let router: axum::Router = routes(vec![doc.handled_by(panics)], &metrics).unwrap();
    let (status, _, body) = answer(&router, "GET", "/break").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(body.contains(r#""code":"internal""#) && !body.contains("purpose"), "{body}");
    let line = r#"plenary_http_requests_total{operation="thing.break",status="5xx"} 1"#;
    assert!(metrics.render().contains(line));
}

#[tokio::test]
async fn operations_are_routed_and_counted_and_nothing_else_is() {
    let metrics = Metrics::new();
    let router = with_fallbacks(routes(operations(), &metrics).unwrap(), &metrics);
    assert_eq!(answer(&router, "POST", "/things").await.0, StatusCode::CREATED);
    assert_eq!(answer(&router, "GET", "/things?after=3").await.2, "None 3");
    assert_eq!(answer(&router, "GET", "/things/7/parts/a/b").await.2, "7 a/b");
    let (status, allow, body) = answer(&router, "DELETE", "/things").await;
    assert_eq!((status, allow.as_deref()), (StatusCode::METHOD_NOT_ALLOWED, Some("POST,GET,HEAD")));
    assert!(body.contains(r#"{"error":{"code":"method_not_allowed","message":"#), "{body}");
    let (status, _, body) = answer(&router, "GET", "/nothing").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(body, r#"{"error":{"code":"not_found","message":"Not found."}}"#);
    let text = metrics.render();
    for line in [
        r#"plenary_http_requests_total{operation="thing.create",status="2xx"} 1"#,
        r#"plenary_http_requests_total{operation="thing.list",status="2xx"} 1"#,
        r#"plenary_http_requests_total{operation="unmatched",status="4xx"} 2"#,
    ] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
}

#[test]
fn a_registry_that_contradicts_itself_is_refused() {
    let fault = |doc: OperationDoc| {
        let mut operations = operations();
        operations.push(doc.handled_by(|| async {}));
        routes(operations, &Metrics::new()).unwrap_err()
    };
    let same_id = OperationDoc::new("thing.list", Method::PUT, "/things", "");
    assert_eq!(fault(same_id), RegistryFault::IdTwice("thing.list"));
    let same_route = OperationDoc::new("thing.other", Method::GET, "/things", "");
    assert_eq!(fault(same_route), RegistryFault::RouteTwice(Method::GET, "/things"));
    let stray =
        OperationDoc::new("thing.stray", Method::PUT, "/things/{id}", "").path_parameter::<u8>("ident", "");
    assert_eq!(fault(stray), RegistryFault::PathParameter("thing.stray", "ident"));
}

#[test]
fn the_description_is_as_recorded() {
    let info = ApiInfo {
        title: "Things",
        version: "1.2.3",
        description: "A small registry.",
        server_url: "https://things.example",
        rooms: &[("things", "Things and their parts.")],
    };
    let actual = serde_json::to_string_pretty(&openapi(info, &docs())).unwrap() + "\n";
    assert_eq!(
        actual,
        include_str!("openapi.json"),
        "the description changed; this is what it is now:\n{actual}"
    );
}

#[tokio::test]
async fn a_panic_ends_its_request_only_and_the_peer_is_known() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    client.send(&request("GET", "/panic", "", "")).await;
    let reply = client.reply().await;
    assert_eq!((reply.status, reply.code().as_str()), (500, "internal"));
    client.send(&request("GET", "/peer", "", "")).await;
    assert_eq!(client.reply().await.body, "127.0.0.1");
    server.counts("plenary_http_connections 1").await;
}

#[tokio::test]
async fn a_body_that_is_not_read_does_not_become_a_request() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    let inner = String::from_utf8(request("GET", "/ok", "", "")).unwrap();
    client.send(&request("POST", "/unread", "", &inner)).await;
    assert_eq!(client.reply().await.body, "unread");
    client.send(&request("POST", "/echo", "", "[1]")).await;
    assert_eq!(client.reply().await.body, "[1]");
}
