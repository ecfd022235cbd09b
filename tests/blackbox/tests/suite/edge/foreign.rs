//! Pages of other sites and names of other servers: nothing of the server is theirs, whatever they ask for.

use blackbox::{Connection, Response, Server};

async fn send(server: &Server, request: &str) -> Response {
    let mut connection = Connection::open(server.address().place()).await.expect("a connection");
    connection.round_trip(request.as_bytes()).await.expect("an answer")
}

#[track_caller]
fn refused(answer: &Response, code: &str) {
    assert_eq!(answer.status, 403, "{answer}");
    let body = answer.json();
    assert_eq!(body["error"]["code"].as_str().or(body["code"].as_str()), Some(code), "{answer}");
}

const WEBSOCKET: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// A page of somebody else may not ask, not even where no token is needed; pages of this machine may.
#[tokio::test]
async fn pages_of_other_sites_may_not_ask() {
    let server = Server::builder().config("[channels]\nopen = true\n").start().await;
    let agent = server.agent("@nick.bot").await;
    let channel = r#"{"title":"open to all"}"#;
    let length = channel.len();
    let post = |origin: &str| {
        format!(
            "POST /agent-channel HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{channel}"
        )
    };
    let connect = |origin: &str| {
        format!("GET /connect?token={} HTTP/1.1\r\nHost: localhost\r\n{origin}{WEBSOCKET}\r\n", agent.token())
    };
    let get = |path: &str, origin: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\r\n")
    };
    for origin in ["https://evil.example", "null", "https://localhost.evil.example"] {
        refused(&send(&server, &post(origin)).await, "foreign_origin");
        refused(&send(&server, &connect(&format!("Origin: {origin}\r\n"))).await, "foreign_origin");
        for path in ["/healthz", "/openapi.json", "/sessions", "/nothing", "/mcp", "/v1/projects"] {
            refused(&send(&server, &get(path, origin)).await, "foreign_origin");
        }
    }
    let own = format!("http://{}", server.address().get());
    assert!((200..300).contains(&send(&server, &post(&own)).await.status));
    assert_eq!(send(&server, &connect("")).await.status, 101, "whoever sends no Origin is no page");
    assert_eq!(send(&server, &connect(&format!("Origin: {own}\r\n"))).await.status, 101);
    assert_eq!(send(&server, &get("/healthz", "http://localhost:3000")).await.status, 200);
}

/// A name that was made to point here is not the server's.
#[tokio::test]
async fn a_rebound_name_is_answered_nothing() {
    let server = Server::builder().config("[channels]\nopen = true\n").start().await;
    let agent = server.agent("@nick.bot").await;
    let port = server.address().get().port();
    let ask = |line: &str, host: &str, more: &str| format!("{line} HTTP/1.1\r\n{host}{more}\r\n");
    let evil = format!("Host: evil.example:{port}\r\n");
    let token = format!("Authorization: Bearer {}\r\n", agent.token());
    for line in ["GET /healthz", "GET /sessions", "POST /agent-channel", "GET /agent-channel", "GET /nothing"]
    {
        refused(&send(&server, &ask(line, &evil, &token)).await, "foreign_host");
    }
    refused(
        &send(&server, &ask("GET /connect", &evil, &format!("{token}{WEBSOCKET}"))).await,
        "foreign_host",
    );
    for host in ["Host: localhost\r\n", "Host: 127.0.0.1:9\r\n", "Host: [::1]:7\r\n", "Host: a.localhost\r\n"]
    {
        assert_eq!(send(&server, &ask("GET /sessions", host, &token)).await.status, 200, "{host}");
    }
}

/// Whatever name a trusted proxy uses is the server's own, and its pages are those of the name that it tells.
#[tokio::test]
async fn a_trusted_proxy_names_the_server_as_it_likes() {
    let behind = Server::builder().config("trusted_proxies = [\"127.0.0.1\"]\n").start().await;
    let get = "GET /healthz HTTP/1.1\r\nHost: backend\r\nX-Forwarded-Host: agents.example\r\n\
               X-Forwarded-Proto: https\r\nOrigin: https://agents.example\r\n\r\n";
    assert_eq!(send(&behind, get).await.status, 200);
    refused(
        &send(&behind, &get.replace("Origin: https://agents", "Origin: https://evil")).await,
        "foreign_origin",
    );
}

/// D.3: what is refused before an operation is known has the form of the protocol of its path.
#[tokio::test]
async fn d_3_each_protocol_refuses_in_its_own_form() {
    let server = Server::start().await;
    for (path, form) in [
        ("/agent-channel/VHGC/event", "detail"),
        ("/agent/echo/run", "detail"),
        ("/_discovery", "detail"),
        ("/artifacts/x", "detail"),
        ("/", "detail"),
        ("/handles/~nick/roster", "message"),
        ("/sessions", "error"),
        ("/v1/projects", "error"),
        ("/nowhere", "error"),
    ] {
        let request = format!("POST {path} HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n");
        let answer = send(&server, &request).await;
        assert_eq!(answer.status, 403, "{path}: {answer}");
        let body = answer.json();
        let (text, code) = if form == "error" {
            (&body["error"]["message"], &body["error"]["code"])
        } else {
            (&body[form], &body["code"])
        };
        assert!(text.is_string(), "{path}: {answer}");
        assert_eq!(code, "foreign_host", "{path}: {answer}");
    }
}
