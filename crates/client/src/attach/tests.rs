//! Attachments to servers with one behaviour each.

use futures_util::{SinkExt, StreamExt};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_tungstenite::{
    WebSocketStream, accept_async,
    tungstenite::{
        Message,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

use super::*;

/// An attachment to whoever listens here.
async fn attachment(wait_for_server: bool) -> (TcpListener, Attachment) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let options = AttachOptions { wait_for_server, ..AttachOptions::default() };
    let attachment = Client::new(base).unwrap().attach(&"@nick.helper".parse().unwrap(), &options);
    (listener, attachment)
}

/// Both ends of one that stands.
async fn attached() -> (WebSocketStream<TcpStream>, Attachment) {
    let (listener, mut attachment) = attachment(false).await;
    let accepting = async { accept_async(listener.accept().await.unwrap().0).await.unwrap() };
    let (server, signal) = tokio::join!(accepting, attachment.next());
    assert!(matches!(signal.unwrap(), Signal::Attached));
    (server, attachment)
}

async fn lost(attachment: &mut Attachment) -> String {
    loop {
        match attachment.next().await.unwrap() {
            Signal::Lost { reason, .. } => return reason,
            Signal::Sent => {}
            other @ (Signal::Attached | Signal::Frame(_) | Signal::Dismissed { .. }) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn frames_go_both_ways_while_the_server_takes_none() {
    let (mut server, mut attachment) = attached().await;
    let bytes = "x".repeat(1 << 20);
    let mut queued = 0;
    loop {
        attachment.put(bytes.clone());
        queued += 1;
        assert!(queued < 1_000, "somebody takes them");
        let stuck = async {
            for _ in 0..10_000 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            signal = attachment.next() => assert!(matches!(signal.unwrap(), Signal::Sent)),
            () = stuck => break,
        }
    }
    server.send(Message::text("a")).await.unwrap();
    let received = loop {
        match attachment.next().await.unwrap() {
            Signal::Frame(frame) => break frame,
            Signal::Sent => {}
            other @ (Signal::Attached | Signal::Dismissed { .. } | Signal::Lost { .. }) => {
                panic!("{other:?}")
            }
        }
    };
    assert_eq!(received, "a");
    let taking = async {
        for _ in 0..queued {
            assert_eq!(server.next().await.unwrap().unwrap().len(), bytes.len());
        }
    };
    let going_out = async {
        loop {
            assert!(matches!(attachment.next().await.unwrap(), Signal::Sent));
        }
    };
    tokio::select! {
        () = taking => {}
        () = going_out => {}
    }
    // What was put last is there when it is closed.
    attachment.put("b".into());
    let closing = tokio::spawn(attachment.close());
    assert_eq!(server.next().await.unwrap().unwrap(), Message::text("b"));
    assert!(matches!(server.next().await, Some(Ok(Message::Close(_)))));
    drop(server);
    closing.await.unwrap();
}

#[tokio::test]
async fn pings_are_answered() {
    let (mut server, mut attachment) = attached().await;
    server.send(Message::Ping(vec![7].into())).await.unwrap();
    tokio::select! {
        signal = attachment.next() => panic!("{signal:?}"),
        pong = server.next() => assert_eq!(pong.unwrap().unwrap(), Message::Pong(vec![7].into())),
    }
}

#[tokio::test]
async fn a_server_that_is_silent_is_lost() {
    let (_server, mut attachment) = attached().await;
    tokio::time::pause();
    assert_eq!(lost(&mut attachment).await, "the server stopped sending");
}

#[tokio::test]
async fn a_frame_past_the_limit_is_a_lost_connection() {
    let (mut server, mut attachment) = attached().await;
    let sending = tokio::spawn(async move { server.send(Message::text("x".repeat((9 << 20) + 1))).await });
    assert!(lost(&mut attachment).await.contains("too long"));
    drop(sending);
}

#[tokio::test]
async fn a_dismissed_client_ends_and_any_other_close_is_retried() {
    for (code, is_dismissed) in
        [(CloseCode::Normal, true), (CloseCode::Away, false), (CloseCode::Restart, false)]
    {
        let (mut server, mut attachment) = attached().await;
        server.close(Some(CloseFrame { code, reason: "why".into() })).await.unwrap();
        match attachment.next().await.unwrap() {
            Signal::Dismissed { reason } => assert!(is_dismissed && reason.contains("why"), "{reason}"),
            Signal::Lost { reason, .. } => assert!(!is_dismissed && reason.contains("why"), "{reason}"),
            other @ (Signal::Attached | Signal::Frame(_) | Signal::Sent) => panic!("{other:?}"),
        }
    }
}

/// Answers one request with this head.
async fn answer(listener: &TcpListener, status: &str) {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut request = vec![0; 4096];
    let mut length = 0;
    while !request[..length].ends_with(b"\r\n\r\n") {
        length += socket.read(&mut request[length..]).await.unwrap();
    }
    assert!(request.starts_with(b"GET /agent/nick.helper/attach HTTP/1.1\r\n"));
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nretry-after: 3600\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn what_is_refused_for_now_is_tried_again_and_what_is_refused_is_not() {
    let (listener, mut attachment) = attachment(false).await;
    for status in ["429 Too Many Requests", "503 Service Unavailable", "500 Internal Server Error"] {
        let ((), signal) = tokio::join!(answer(&listener, status), attachment.next());
        let Signal::Lost { reason, retry_in } = signal.unwrap() else { panic!("{status}") };
        assert!(reason.contains(&status[..3]) && retry_in == LONGEST_WAIT, "{reason}: {retry_in:?}");
        attachment.state = State::Due(Instant::now());
    }
    for status in ["401 Unauthorized", "403 Forbidden", "404 Not Found", "501 Not Implemented", "200 OK"] {
        let ((), signal) = tokio::join!(answer(&listener, status), attachment.next());
        assert!(signal.is_err(), "{status}: {signal:?}");
        attachment.state = State::Due(Instant::now());
    }
}

#[tokio::test]
async fn a_server_that_was_never_reached_is_waited_for_where_it_is_said() {
    for wait in [false, true] {
        let (listener, mut attachment) = attachment(wait).await;
        drop(listener);
        assert_eq!(attachment.next().await.is_ok(), wait);
    }
}

#[test]
fn what_is_told_of_an_agent_stands_in_the_query() {
    let agent = "@nick.helper".parse().unwrap();
    assert_eq!(path(&agent, &AttachOptions::default()), "/agent/nick.helper/attach");
    let options = AttachOptions {
        purpose: Some("reads & writes, 100 %".into()),
        tools: vec!["a=b".into(), "ü".into()],
        wait_for_server: false,
    };
    assert_eq!(
        path(&agent, &options),
        "/agent/nick.helper/attach?purpose=reads%20%26%20writes%2C%20100%20%25&tool=a%3Db&tool=%C3%BC"
    );
}
