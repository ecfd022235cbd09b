//! The HTTP side against answers of every kind: typed refusals, faults told apart, bounds, safe repetition.
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

mod support;

use std::time::Duration;

use plenary_client::{
    Client, Error, FaultKind, IdempotencyKey, Retry, Token,
    sessions::{CreateSession, SendMessage, SessionsQuery},
};
use plenary_kernel::SessionId;
use support::{canned, json};
use tokio::net::TcpListener;

fn session() -> SessionId {
    "sess_01".parse().unwrap()
}

#[tokio::test]
async fn a_refusal_carries_status_code_and_message() {
    let body = r#"{"error":{"code":"not_joined","message":"Join first."}}"#;
    let server = canned(move |_| json("409 Conflict", body)).await;
    let Err(Error::Refused(refused)) = server.client.join_session(&session()).await else { panic!() };
    assert_eq!((refused.status, &*refused.code, &*refused.message), (409, "not_joined", "Join first."));
}

#[tokio::test]
async fn a_refusal_in_a_foreign_form_is_still_a_refusal() {
    let server = canned(|_| json("502 Bad Gateway", "<html>proxy</html>")).await;
    let Err(Error::Refused(refused)) = server.client.me().await else { panic!() };
    assert_eq!((refused.status, &*refused.code), (502, "http_502"));
    assert!(
        refused.message.contains("web page") && !refused.message.contains("<html>"),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn a_success_that_is_not_ours_is_unreadable() {
    let server = canned(|_| json("200 OK", "hello")).await;
    assert!(matches!(server.client.health().await, Err(Error::Unreadable(_))));
}

#[tokio::test]
async fn no_content_is_a_success_with_empty_json() {
    let server = canned(|_| b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()).await;
    let reply = server.client.delete_agent(&"@nick.a".parse().unwrap()).await.unwrap();
    assert_eq!((reply.status, reply.json()), (204, ""));
    assert!(server.seen()[0].head.starts_with("DELETE /_admin/agents/@nick.a HTTP/1.1"));
}

#[tokio::test]
async fn the_token_and_the_expected_agent_go_into_headers_only() {
    let server = canned(|_| json("200 OK", r#"{"sessions":[]}"#)).await;
    let client =
        server.client.with_token(Token::new("pla_secret").unwrap()).expecting("@nick.a".parse().unwrap());
    client.sessions(&SessionsQuery::default()).await.unwrap();
    let head = server.seen()[0].head.to_ascii_lowercase();
    assert!(head.contains("authorization: bearer pla_secret"), "{head}");
    assert!(head.contains("x-asp-agent: @nick.a"), "{head}");
    assert!(head.starts_with("get /sessions http/1.1"), "{head}");
    assert!(!format!("{client:?}").contains("secret"));
}

#[tokio::test]
async fn nothing_listening_is_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = support::client_at(listener.local_addr().unwrap().port());
    drop(listener);
    let Err(Error::Network(fault)) = client.health().await else { panic!() };
    assert_eq!(fault.kind, FaultKind::Refused);
    assert!(!fault.outcome_unknown());
}

#[tokio::test]
async fn an_unknown_host_is_told_apart() {
    let client = Client::new("http://no-such-host.invalid:1".parse().unwrap()).unwrap();
    let Err(Error::Network(fault)) = client.health().await else { panic!() };
    assert_eq!(fault.kind, FaultKind::Resolve);
}

#[tokio::test]
async fn a_silent_server_runs_into_the_time_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let client = Client::builder(base).request_timeout(Duration::from_millis(50)).build().unwrap();
    let Err(Error::Network(fault)) = client.health().await else { panic!() };
    assert_eq!(fault.kind, FaultKind::TimedOut);
    assert!(!fault.outcome_unknown(), "a read changes nothing");
    let session = "sess_01J00000000000000000000000".parse().unwrap();
    let Err(Error::Network(fault)) = client.join_session(&session).await else { panic!() };
    assert!(fault.outcome_unknown());
}

#[tokio::test]
async fn a_reply_cut_short_is_a_lost_connection() {
    let server = canned(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"ok\"".to_vec()).await;
    let base = server.client.base().clone();
    let client = Client::builder(base).request_timeout(Duration::from_millis(300)).build().unwrap();
    let Err(Error::Network(fault)) = client.health().await else { panic!() };
    assert!(matches!(fault.kind, FaultKind::Lost | FaultKind::TimedOut));
}

#[tokio::test]
async fn a_reply_over_the_limit_is_refused_and_not_kept() {
    let server =
        canned(|_| json("200 OK", &format!("{{\"ok\":true,\"network\":\"{}\"}}", "x".repeat(4096)))).await;
    let client = Client::builder(server.client.base().clone()).reply_bytes_max(1024).build().unwrap();
    let Err(Error::Unreadable(text)) = client.health().await else { panic!() };
    assert!(text.contains("larger"), "{text}");
}

#[tokio::test]
async fn asp_35_a_send_is_repeated_under_its_one_key() {
    let server = canned(|n| match n {
        0 => Vec::new(),
        1 => json("503 Service Unavailable", r#"{"error":{"code":"unavailable","message":""}}"#),
        _ => json("201 Created", r#"{"message_id":"msg_01","sequence":4}"#),
    })
    .await;
    let retry = Retry { first_wait: Duration::from_millis(1), ..Retry::default() };
    let client = Client::builder(server.client.base().clone()).retry(retry).build().unwrap();
    let sent = client.send(&session(), &SendMessage::new("hi")).await.unwrap();
    assert_eq!(sent.sequence, 4);
    let bodies: Vec<String> = server.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies.len(), 3);
    assert!(bodies[0].contains("idempotency_key") && bodies.iter().all(|body| *body == bodies[0]));
}

#[tokio::test]
async fn repetition_is_bounded_and_never_without_a_key_or_after_a_refusal() {
    let retry = Retry { attempts: 3, first_wait: Duration::from_millis(1), ..Retry::default() };
    let down = canned(|_| json("503 Service Unavailable", "{}")).await;
    let client = Client::builder(down.client.base().clone()).retry(retry).build().unwrap();
    assert!(client.send(&session(), &SendMessage::new("hi")).await.is_err());
    assert_eq!(down.seen().len(), 3);
    let keyless = CreateSession::default();
    assert!(client.create_session(&keyless).await.is_err());
    assert_eq!(down.seen().len(), 4);

    let refusing =
        canned(|_| json("409 Conflict", r#"{"error":{"code":"session_ended","message":""}}"#)).await;
    let client = Client::builder(refusing.client.base().clone()).retry(retry).build().unwrap();
    let keyed = CreateSession { idempotency_key: Some(IdempotencyKey::new("k")), ..CreateSession::default() };
    assert!(client.create_session(&keyed).await.is_err());
    assert_eq!(refusing.seen().len(), 1);
}

#[tokio::test]
async fn a_replayed_answer_says_so() {
    let server = canned(|_| {
        let body = r#"{"message_id":"msg_01","sequence":4}"#;
        let head =
            format!("HTTP/1.1 201 Created\r\nidempotency-replayed: true\r\ncontent-length: {}", body.len());
        format!("{head}\r\n\r\n{body}").into()
    })
    .await;
    let sent = server.client.send(&session(), &SendMessage::new("hi")).await.unwrap();
    assert!(sent.replayed);
    assert_eq!(sent.json(), r#"{"message_id":"msg_01","sequence":4}"#);
}
