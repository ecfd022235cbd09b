//! The live side against scripted servers: order, repeats, confirmation after the caller took the event,
//! coming back, and giving up.
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

mod support;

use futures_util::{SinkExt, StreamExt};
use plenary_client::{Error, Event, FaultKind, Signal, Token, live::LiveOptions};
use support::{canned, json, raw};
use tokio::{net::TcpStream, sync::mpsc};
use tokio_tungstenite::{
    WebSocketStream, accept_async,
    tungstenite::{Message, protocol::CloseFrame},
};

fn frame(sequence: u64) -> Message {
    Message::text(format!(
        r#"{{"type":"session.ended","session_id":"sess_A","event_id":"evt_{sequence}","sequence":{sequence},"created_at":1,"payload":{{}}}}"#
    ))
}

async fn upgraded(tcp: TcpStream) -> WebSocketStream<TcpStream> {
    accept_async(tcp).await.unwrap()
}

fn sequence(signal: &Signal<Box<Event>>) -> Option<u64> {
    if let Signal::Event(event) = signal { event.sequence } else { None }
}

#[tokio::test]
async fn asp_44_it_comes_back_by_itself_and_drops_repeats() {
    let client = raw(|n, tcp| async move {
        let mut ws = upgraded(tcp).await;
        let frames: &[u64] = if n == 0 { &[1, 2] } else { &[2, 3] };
        for sequence in frames {
            ws.send(frame(*sequence)).await.unwrap();
        }
        if n == 0 {
            let restart = CloseFrame { code: 1001.into(), reason: "restart".into() };
            ws.close(Some(restart)).await.unwrap();
        }
        while ws.next().await.is_some_and(|frame| frame.is_ok()) {}
    })
    .await;
    let mut live = client.live(LiveOptions::default());
    let mut story = Vec::new();
    while story.last() != Some(&"3".to_owned()) {
        story.push(match live.next().await.unwrap() {
            Signal::Opened => "connected".into(),
            Signal::Keepalive => "keepalive".into(),
            Signal::Lost { reason, .. } => reason,
            Signal::Unreadable(error) => error.to_string(),
            Signal::Event(event) => event.sequence.unwrap().to_string(),
        });
    }
    assert_eq!(story, ["connected", "1", "2", "closed by the server (1001: restart)", "connected", "3"]);
}

#[tokio::test]
async fn delivery_is_confirmed_only_when_the_caller_comes_back() {
    let (sender, mut receiver) = mpsc::channel(8);
    let client = raw(move |_, tcp| {
        let sender = sender.clone();
        async move {
            let mut ws = upgraded(tcp).await;
            ws.send(frame(1)).await.unwrap();
            ws.send(Message::Ping("1".into())).await.unwrap();
            while let Some(Ok(message)) = ws.next().await {
                if message.is_pong() {
                    sender.send(()).await.unwrap();
                    ws.send(frame(2)).await.unwrap();
                }
            }
        }
    })
    .await;
    let mut live = client.live(LiveOptions::default());
    assert!(matches!(live.next().await.unwrap(), Signal::Opened));
    assert_eq!(sequence(&live.next().await.unwrap()), Some(1));
    tokio::task::yield_now().await;
    assert!(receiver.try_recv().is_err(), "confirmed before the caller was done with it");
    assert_eq!(sequence(&live.next().await.unwrap()), Some(2));
    assert!(receiver.try_recv().is_ok());
}

#[tokio::test]
async fn a_frame_that_is_no_event_does_not_end_the_following() {
    let client = raw(|_, tcp| async move {
        let mut ws = upgraded(tcp).await;
        ws.send(Message::text("{}")).await.unwrap();
        ws.send(Message::binary(vec![1, 2])).await.unwrap();
        ws.send(frame(1)).await.unwrap();
        while ws.next().await.is_some_and(|frame| frame.is_ok()) {}
    })
    .await;
    let mut live = client.live(LiveOptions::default());
    assert!(matches!(live.next().await.unwrap(), Signal::Opened));
    assert!(matches!(live.next().await.unwrap(), Signal::Unreadable(_)));
    assert_eq!(sequence(&live.next().await.unwrap()), Some(1));
}

#[tokio::test]
async fn a_refused_upgrade_is_final_and_typed() {
    let body = r#"{"error":{"code":"invalid_authorization","message":"Unknown token."}}"#;
    let server = canned(move |_| json("401 Unauthorized", body)).await;
    let client = server.client.with_token(Token::new("pla_x").unwrap());
    let Err(Error::Refused(refused)) = client.live(LiveOptions::default()).next().await else { panic!() };
    assert_eq!((refused.status, &*refused.code), (401, "invalid_authorization"));
    let head = server.seen()[0].head.to_ascii_lowercase();
    assert!(
        head.starts_with("get /connect?events=envelope ") && head.contains("authorization: bearer pla_x")
    );
}

#[tokio::test]
async fn a_server_never_reached_is_the_callers_unless_it_waits() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = support::client_at(listener.local_addr().unwrap().port());
    drop(listener);
    let Err(Error::Network(fault)) = client.live(LiveOptions::default()).next().await else { panic!() };
    assert_eq!(fault.kind, FaultKind::Refused);
    let waiting = client.live(LiveOptions { wait_for_server: true }).next().await.unwrap();
    assert!(matches!(waiting, Signal::Lost { .. }));
}

#[tokio::test]
async fn closing_says_good_bye() {
    let (sender, mut receiver) = mpsc::channel(8);
    let client = raw(move |_, tcp| {
        let sender = sender.clone();
        async move {
            let mut ws = upgraded(tcp).await;
            while let Some(Ok(message)) = ws.next().await {
                if let Message::Close(Some(frame)) = message {
                    sender.send(u16::from(frame.code)).await.unwrap();
                }
            }
        }
    })
    .await;
    let mut live = client.live(LiveOptions::default());
    live.next().await.unwrap();
    live.close().await;
    assert_eq!(receiver.recv().await, Some(1000));
}
