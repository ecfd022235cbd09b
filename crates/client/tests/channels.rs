//! Channels against scripted servers: coming back over silence behind what was read, refusals, and what a write sends.
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

mod support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use plenary_client::{
    Error, Signal, StreamOptions,
    channels::{ChannelEvent, ChannelSubscription, NewEvent},
};
use serde_json::value::RawValue;
use support::{canned, json, raw};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

fn event(id: u64) -> String {
    format!(
        "id: {id}\ndata: {{\"id\":{id},\"channel_id\":\"VHGC\",\"kind\":\"comms\",\"author\":\"a\",\"via\":null,\
         \"payload\":{{}},\"created_at\":\"2026-11-21T10:00:00Z\"}}\n\n"
    )
}

fn describe(signal: &Signal<ChannelEvent>) -> String {
    match signal {
        Signal::Opened => "opened".into(),
        Signal::Keepalive => "keepalive".into(),
        Signal::Unreadable(_) => "unreadable".into(),
        Signal::Lost { reason, .. } => reason.clone(),
        Signal::Event(event) => event.id.to_string(),
    }
}

/// Behind the id that the stream began with, then behind a keepalive's, then behind an event's: none is cut off, and
/// none comes twice.
#[tokio::test]
async fn silence_opens_the_stream_again_behind_what_was_passed() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heads);
    let client = raw(move |n, mut tcp| {
        let log = Arc::clone(&log);
        async move {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                assert_ne!(tcp.read_buf(&mut request).await.unwrap(), 0);
            }
            log.lock().unwrap().push(String::from_utf8(request).unwrap().to_lowercase());
            let begin = |id: u64| format!("{HEAD}retry: 1000\nid: {id}\n\n");
            let text = match n {
                0 => begin(7),
                1 => begin(7) + ": keepalive\nid: 9\n\n",
                2 => begin(9) + &event(10) + "id: 11\ndata: {\"id\":11",
                _ => begin(10) + &event(10) + "id: 11\ndata: {}\n\n" + &event(12),
            };
            tcp.write_all(text.as_bytes()).await.unwrap();
            // Held open, with nothing said.
            let _closed = tcp.read_to_end(&mut Vec::new()).await;
        }
    })
    .await;
    let options = StreamOptions { silence_max: Duration::from_millis(200), ..StreamOptions::default() };
    let subscription = ChannelSubscription { id: "VHGC".into(), kind: Some("a b".into()), after: None };
    let mut stream = client.channel(&subscription, options);
    let mut story = Vec::new();
    while story.last() != Some(&"12".to_owned()) {
        story.push(describe(&stream.next().await.unwrap()));
    }
    let silent = "the server stopped sending";
    assert_eq!(
        story,
        [
            "opened",
            silent,
            "opened",
            "keepalive",
            silent,
            "opened",
            "10",
            silent,
            "opened",
            "unreadable",
            "12"
        ]
    );
    let heads = heads.lock().unwrap().clone();
    assert!(
        heads[0].starts_with("get /agent-channel/vhgc/events/stream?kind=a%20b http/1.1"),
        "{}",
        heads[0]
    );
    assert!(!heads[0].contains("last-event-id"));
    for (head, id) in heads[1..].iter().zip([7, 9, 10]) {
        assert!(head.contains(&format!("last-event-id: {id}\r\n")), "{id}: {head}");
    }
}

/// The refusals of this protocol have a form of their own (wire.md D.3).
#[tokio::test]
async fn ch_30_a_refusal_says_its_detail_and_code() {
    let refusal = r#"{"detail":"no such channel","code":"no_such_channel"}"#;
    let server = canned(move |_| json("404 Not Found", refusal)).await;
    let Err(Error::Refused(refused)) = server.client.channel_presence("ZZZZ").await else {
        panic!("refused")
    };
    assert_eq!(
        (refused.status, refused.code.as_str(), refused.message.as_str()),
        (404, "no_such_channel", "no such channel")
    );
    let subscription = ChannelSubscription { id: "ZZZZ".into(), kind: None, after: None };
    let mut stream = server.client.channel(&subscription, StreamOptions::default());
    assert!(matches!(stream.next().await, Err(Error::Refused(_))), "following ends for good");
}

#[tokio::test]
async fn a_write_is_tried_again_under_the_same_key() {
    let answer = r#"{"id":9,"channel_id":"VHGC","kind":"comms","author":"a","via":null,"payload":{"a": 1.10},
        "created_at":"2026-11-21T10:00:00Z"}"#;
    let server =
        canned(move |n| if n == 0 { json("503 Service Unavailable", "{}") } else { json("200 OK", answer) })
            .await;
    let payload = RawValue::from_string(r#"{"a": 1.10}"#.to_owned()).unwrap();
    let event = NewEvent { kind: "comms".into(), author: Some("a".into()), payload };
    let appended = server.client.append_event("VHGC", &event).await.unwrap();
    assert_eq!((appended.id, appended.payload.get()), (9, r#"{"a": 1.10}"#));
    assert!(appended.value.json().contains(r#""payload":{"a": 1.10}"#), "{}", appended.value.json());
    let seen = server.seen();
    assert_eq!((seen.len(), &seen[0].body), (2, &seen[1].body));
    assert_eq!(seen[1].body, r#"{"kind":"comms","author":"a","payload":{"a": 1.10}}"#);
    let key =
        |n: usize| seen[n].head.lines().find(|line| line.starts_with("idempotency-key: ")).map(str::to_owned);
    assert!(key(0).is_some() && key(0) == key(1), "{:?}", key(0));
}
