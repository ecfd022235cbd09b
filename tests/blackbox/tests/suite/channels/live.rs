//! A channel read live: without gaps, by id, and no longer than the token.

use std::time::{Duration, Instant};

use blackbox::{Server, eventually, in_time};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{append, channel, events, id, link};
use crate::sse::{Sent, Stream};

/// From now on: what comes is the event as it is listed, with its id.
#[tokio::test]
async fn what_is_appended_comes_at_once() {
    let (_server, [ann, bob]) = Server::with(["@nick.ann", "@acme.bob"]).await;
    let channel = channel(&ann).await;
    let before = append(&ann, &channel, "comms", json!({"n": 0})).await;
    let path = format!("/agent-channel/{channel}/events/stream");
    let mut stream = Stream::open(&bob, &path, &[]).await;
    assert!(stream.head.to_lowercase().contains("content-type: text/event-stream"), "{}", stream.head);
    assert_eq!(stream.next().await, Sent::Id(id(&before)), "where to resume is known before the first event");
    // Line breaks of the payload do not break the message.
    let body = "{\"kind\":\"comms\",\"payload\":{\r\n \"n\": 1,\n\"text\":\"a\\nb\"}}";
    let made = ann.post_raw(&format!("/agent-channel/{channel}/event"), body.as_bytes()).await.ok(200);
    assert_eq!(stream.event().await, made);
    ann.post_empty(&format!("/agent-channel/{channel}/close")).await.ok(200);
    let made = append(&ann, &channel, "status", json!({})).await;
    assert_eq!(stream.event().await, made, "a closing is none of the events, and ends nothing");
}

/// `Last-Event-ID` and `?after_id=`: everything behind it, in order, then what comes.
#[tokio::test]
async fn it_goes_on_behind_an_id() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let mut made = Vec::new();
    for n in 0..300 {
        made.push(append(&ann, &channel, if n % 7 == 0 { "rare" } else { "log" }, json!({ "n": n })).await);
    }
    let path = format!("/agent-channel/{channel}/events/stream");
    let mut whole = Stream::open(&ann, &format!("{path}?after_id=0"), &[]).await;
    for event in &made {
        assert_eq!(whole.event().await, *event);
    }
    let last = id(&made[199]).to_string();
    let mut resumed = Stream::open(&ann, &format!("{path}?after_id=0"), &[("Last-Event-ID", &last)]).await;
    for event in &made[200..] {
        assert_eq!(resumed.event().await, *event, "Last-Event-ID wins");
    }
    let mut rare = Stream::open(&ann, &format!("{path}?kind=rare&after_id={}", id(&made[10])), &[]).await;
    for event in made[11..].iter().filter(|event| event["kind"] == "rare") {
        assert_eq!(rare.event().await, *event);
    }
    let fence = append(&ann, &channel, "rare", json!({})).await;
    for stream in [&mut whole, &mut resumed, &mut rare] {
        assert_eq!(stream.event().await, fence);
    }
    let response = ann.get(&format!("{path}?after_id=x")).await;
    super::refused(&response, 422, "invalid_after_id");
}

/// Streams that are opened while others append: no gap and no repeat at the seam.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_no_seam_between_before_and_after() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream?after_id=0");
    let posts = async {
        for n in 0..120 {
            append(&ann, &channel, "log", json!({ "n": n })).await;
        }
        append(&ann, &channel, "fence", json!({})).await;
    };
    let readers = join_all((0..6).map(|_| async {
        let mut stream = Stream::open(&ann, &path, &[]).await;
        let mut heard: Vec<Value> = Vec::new();
        while heard.last().is_none_or(|event| event["kind"] != "fence") {
            heard.push(stream.event().await);
        }
        heard
    }));
    let (heard, ()) = tokio::join!(readers, posts);
    let mut log = events(&ann, &channel, "?limit=500").await;
    log.reverse();
    for heard in heard {
        assert_eq!(heard, log);
    }
}

/// A client that resumes after a crash of the server misses nothing.
#[tokio::test]
async fn it_resumes_after_a_crash() {
    let (mut server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream");
    let mut stream = Stream::open(&ann, &path, &[]).await;
    let first = append(&ann, &channel, "log", json!({})).await;
    assert_eq!(stream.event().await, first);
    let second = append(&ann, &channel, "log", json!({})).await;
    server.crash().await;
    let mut stream = Stream::open(&ann, &path, &[("Last-Event-ID", &id(&first).to_string())]).await;
    assert_eq!(stream.event().await, second);
    let third = append(&ann, &channel, "log", json!({})).await;
    assert_eq!(stream.event().await, third);
}

/// After 15 s without an event: a comment; with the place to resume at, where events of other kinds have passed by.
#[tokio::test]
async fn an_idle_stream_says_that_it_is_alive() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream");
    let opened = Instant::now();
    let mut all = Stream::open(&ann, &format!("{path}?after_id=0"), &[]).await;
    let mut rare = Stream::open(&ann, &format!("{path}?kind=rare&after_id=0"), &[]).await;
    assert_eq!((all.next().await, rare.next().await), (Sent::Id(0), Sent::Id(0)));
    let passed = append(&ann, &channel, "log", json!({})).await;
    assert_eq!(all.event().await, passed);
    assert_eq!(rare.next().await, Sent::Id(id(&passed)));
    assert_eq!(all.next().await, Sent::Comment("keepalive".into()));
    assert!(opened.elapsed() >= Duration::from_secs(14), "not before its time: {:?}", opened.elapsed());
}

/// A token that dies takes its streams with it, within a second; others go on.
#[tokio::test]
async fn a_dead_token_ends_its_streams() {
    let (server, [ann, bob]) = Server::with(["@nick.ann", "@acme.bob"]).await;
    let owner = server.owner("third").await;
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream");
    let (mut anns, mut bobs) = (Stream::open(&ann, &path, &[]).await, Stream::open(&bob, &path, &[]).await);
    owner.get(&link(&ann, &channel).await).await.ok(200);
    let mut owners = Stream::open(&owner, &path, &[]).await;
    server.operator().post_empty("/_admin/agents/@nick.ann/rotate-token").await.ok(200);
    assert!(in_time("the agent's stream ends", anns.ending()).await.is_empty());
    server.operator().post("/_admin/owners/third/rotate-token", json!({})).await.ok(200);
    assert!(in_time("the owner's stream ends", owners.ending()).await.is_empty());
    let made = append(&bob, &channel, "log", json!({})).await;
    assert_eq!(bobs.event().await, made);
}

/// D.1: a browser can't set headers on an EventSource; a ticket opens it once.
#[tokio::test]
async fn a_ticket_opens_a_stream() {
    let server = Server::start().await;
    let (ann, stranger) = (server.agent("@nick.ann").await, server.stranger());
    let channel = channel(&ann).await;
    let ticket = ann.post_empty("/auth/ticket").await.ok(200);
    let ticket = ticket["ticket"].as_str().expect("a ticket");
    let path = format!("/agent-channel/{channel}/events/stream?ticket={ticket}");
    let mut stream = Stream::open(&stranger, &path, &[]).await;
    let made = append(&ann, &channel, "log", json!({})).await;
    assert_eq!(stream.event().await, made);
    super::refused(&stranger.get(&path).await, 401, "invalid_authorization");
}

/// A server that stops ends its streams whole, and is not held up by readers that never read.
#[tokio::test]
async fn a_stopping_server_ends_its_streams() {
    let (mut server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream");
    let mut reading = Stream::open(&ann, &path, &[]).await;
    let _mute = Stream::open(&ann, &format!("{path}?after_id=0"), &[]).await;
    for _ in 0..20 {
        append(&ann, &channel, "log", json!({"x": "y".repeat(200_000)})).await;
    }
    for _ in 0..20 {
        reading.event().await;
    }
    server.stop().await;
    assert!(reading.ending().await.is_empty());
}

/// Many readers that never read cost little, and the others hear everything.
#[tokio::test]
async fn stalled_readers_hold_nobody_up() {
    let (server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream");
    let mut stalled = Vec::new();
    for _ in 0..40 {
        stalled.push(Stream::open(&ann, &path, &[]).await);
    }
    let mut reading = Stream::open(&ann, &path, &[]).await;
    let before = server.resident_kib();
    for n in 0..60 {
        let made = append(&ann, &channel, "log", json!({"n": n, "x": "y".repeat(100_000)})).await;
        assert_eq!(reading.event().await, made);
    }
    // Forty queues of sixty such events would be 240 MB.
    let grown = eventually("memory settles", || async {
        let grown = server.resident_kib().saturating_sub(before);
        (grown < 120 * 1024).then_some(grown)
    });
    assert!(grown.await < 120 * 1024);
}

/// An id from before a restore, beyond what the log has, hides nothing that comes.
#[tokio::test]
async fn an_id_ahead_of_the_log_is_where_the_log_ends() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let last = append(&ann, &channel, "comms", json!({"n": 0})).await;
    let path = format!("/agent-channel/{channel}/events/stream");
    let mut stream = Stream::open(&ann, &path, &[("Last-Event-ID", "999999")]).await;
    assert_eq!(stream.next().await, Sent::Id(id(&last)));
    let made = append(&ann, &channel, "comms", json!({"n": 1})).await;
    assert_eq!(stream.event().await, made);
}
