//! The frame stream against scripted servers: coming back with the last id, repeats, stale frames, silence, refusals,
//! and what a submission sends.
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

mod support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use plenary_client::{
    Error, Signal, StreamOptions,
    frames::{
        Advisory, ComputeLocation, ContextCheck, Frame, Payload, ReceivedFrame, Scope, Seat, Subscription,
        Uuid, VERSION, now,
    },
};
use plenary_kernel::{SovereignHandle, TimestampMs};
use support::{canned, json, raw};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

fn nick() -> SovereignHandle {
    "~nick".parse().unwrap()
}

fn frame(text: &str, at: TimestampMs, ttl_ms: Option<u64>) -> Frame {
    let payload = Payload::Advisory(Advisory { advisory_text: text.into(), ..Advisory::default() });
    Frame {
        envelope_version: VERSION.into(),
        frame_id: Uuid::random(),
        kind: payload.kind(),
        sender_handle: nick(),
        recipient_handle: nick(),
        created_at: Frame::time(at),
        ttl_ms,
        payload: payload.to_object(),
        acted_by: nick(),
        drafted_with: "~cc".into(),
        provenance_compute_location: ComputeLocation::LocalOnly,
        provenance_method: vec!["test".into()],
        provenance_return_ref: None,
        provenance_context_check: ContextCheck::Skipped,
        provenance_basis: "test".into(),
    }
}

fn event(id: u64, frame: &Frame) -> String {
    format!("id: {id}\ndata: {}\n\n", serde_json::to_string(frame).unwrap())
}

async fn head(tcp: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        assert_ne!(tcp.read_buf(&mut bytes).await.unwrap(), 0);
    }
    String::from_utf8(bytes).unwrap()
}

fn describe(signal: &Signal<ReceivedFrame>) -> String {
    match signal {
        Signal::Opened => "opened".into(),
        Signal::Keepalive => "keepalive".into(),
        Signal::Unreadable(_) => "unreadable".into(),
        Signal::Lost { reason, .. } => reason.clone(),
        Signal::Event(received) => {
            format!("{:?} {}", received.event_id, received.frame.payload["advisory_text"].as_str().unwrap())
        }
    }
}

#[tokio::test]
async fn fo_60_fo_61_fo_82_fo_83_it_comes_back_behind_the_last_id_over_gaps_and_drops_repeats_and_stale_frames()
 {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let (log, one, two) = (Arc::clone(&heads), frame("one", now(), None), frame("two", now(), Some(60_000)));
    let stale = frame("stale", TimestampMs(now().0 - 10_000), Some(5_000));
    let first = [event(7, &one), ": keepalive\n\n".into(), "id: 8\ndata: {}\n\n".into()].concat();
    let second = [event(7, &one), event(9, &stale), event(10, &two)].concat();
    let client = raw(move |n, mut tcp| {
        let (log, body) = (Arc::clone(&log), if n == 0 { first.clone() } else { second.clone() });
        async move {
            let request = head(&mut tcp).await;
            log.lock().unwrap().push(request);
            tcp.write_all(format!("{HEAD}{body}").as_bytes()).await.unwrap();
            if n > 0 {
                std::future::pending::<()>().await;
            }
        }
    })
    .await;
    let seat = Seat { instrument: Some("cc".into()), session_id: Some("s 1".into()), tool: None };
    let subscription = Subscription {
        filter: Some("kind:agent_advisory".into()),
        retained: true,
        ..Subscription::of(nick(), seat)
    };
    let mut stream = client.frames(subscription, StreamOptions::default());
    let mut story = Vec::new();
    while story.last() != Some(&"Some(10) two".to_owned()) {
        story.push(describe(&stream.next().await.unwrap()));
    }
    assert_eq!(
        story,
        [
            "opened",
            "Some(7) one",
            "keepalive",
            "unreadable",
            "the server ended the stream",
            "opened",
            "Some(10) two"
        ]
    );
    let heads = heads.lock().unwrap().clone();
    let path = "GET /handles/~nick/stream?filter=kind%3Aagent_advisory&instrument=cc&session_id=s%201";
    assert!(heads[0].starts_with(&format!("{path}&retained=true HTTP/1.1")), "{}", heads[0]);
    assert!(!heads[0].to_lowercase().contains("last-event-id"));
    assert!(heads[1].starts_with(&format!("{path} HTTP/1.1")), "{}", heads[1]);
    assert!(heads[1].to_lowercase().contains("last-event-id: 8"), "an event that was not understood too");
}

#[tokio::test]
async fn fo_58_silence_opens_the_stream_again() {
    let client = raw(|n, mut tcp| async move {
        head(&mut tcp).await;
        tcp.write_all(HEAD.as_bytes()).await.unwrap();
        if n == 0 {
            // Held open, with nothing said.
            let mut rest = Vec::new();
            let _closed = tcp.read_to_end(&mut rest).await;
        } else {
            tcp.write_all(event(1, &frame("back", now(), None)).as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        }
    })
    .await;
    let options = StreamOptions { silence_max: Duration::from_millis(200), ..StreamOptions::default() };
    let mut stream = client.frames(Subscription::of(nick(), Seat::default()), options);
    let mut story = Vec::new();
    while story.last() != Some(&"Some(1) back".to_owned()) {
        story.push(describe(&stream.next().await.unwrap()));
    }
    assert_eq!(story, ["opened", "the server stopped sending", "opened", "Some(1) back"]);
}

#[tokio::test]
async fn fo_73_a_refused_stream_ends_following_with_code_and_field() {
    let refusal = r#"{"code":"filter-axis-unknown","field":"filter","message":"No such axis."}"#;
    let server = canned(move |_| json("400 Bad Request", refusal)).await;
    let mut stream =
        server.client.frames(Subscription::of(nick(), Seat::default()), StreamOptions::default());
    let Err(Error::Refused(refused)) = stream.next().await else { panic!("it was refused") };
    assert_eq!(
        (refused.status, refused.code.as_str(), refused.field.as_deref(), refused.message.as_str()),
        (400, "filter-axis-unknown", Some("filter"), "No such axis.")
    );
    let mut other = canned(|_| json("200 OK", "{}"))
        .await
        .client
        .frames(Subscription::of(nick(), Seat::default()), StreamOptions::default());
    assert!(matches!(other.next().await, Err(Error::Unreadable(_))), "no event stream");
}

#[tokio::test]
async fn fo_56_a_submission_names_scope_and_session_and_reports_the_count() {
    let answer = r#"{"frame_id":"x","event_id":"9","delivered_count":2,"recipient_count":2}"#;
    let server =
        canned(move |n| if n == 0 { json("503 Service Unavailable", "{}") } else { json("200 OK", answer) })
            .await;
    let seat = Seat { instrument: Some("cc".into()), session_id: Some("s".into()), tool: Some("cli".into()) };
    let frame = frame("hi", now(), None);
    let scope: Scope = "~nick/cc@s".parse().unwrap();
    let emitted = server.client.submit_frame(&frame, Some(&scope), &seat).await.unwrap();
    assert_eq!((emitted.delivered_count, emitted.event_id.as_deref()), (2, Some("9")));
    let seen = server.seen();
    assert_eq!(seen.len(), 2, "a transient failure is tried again with the same frame (FO-83)");
    assert_eq!(seen[0].body, seen[1].body);
    assert!(seen[1].head.starts_with("POST /frames?scope=~nick%2Fcc@s HTTP/1.1"), "{}", seen[1].head);
    for header in ["x-agent-instrument: cc", "x-agent-session: s", "x-agent-tool: cli"] {
        assert!(seen[1].head.contains(header), "{header}");
    }
    assert_eq!(serde_json::from_str::<Frame>(&seen[1].body).unwrap().frame_id, frame.frame_id);
}
