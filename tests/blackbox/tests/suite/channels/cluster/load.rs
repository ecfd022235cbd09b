//! Load on both processes at once, also while one of them dies.
//! Must not know: how the processes tell each other.

use std::time::Duration;

use blackbox::{Caller, Connection, Response, rounds};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::timeout};

use super::{
    super::{append, channel, events, id},
    assert_rising, log, two,
};
use crate::sse::{Sent, Stream};

/// Thirty times a reader is woken: half of what it takes if it looks by itself, each 15 s.
const ALL_WOKEN_MAX: Duration = Duration::from_secs(225);
/// Longest that a writer waits for an answer of a process that may be dead.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// CH-26: one counter, whoever appends and wherever, over all channels.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ch_26_ids_rise_over_both() {
    let Some(servers) = two("").await else { return };
    let ann = servers.a.agent("@nick.ann").await;
    let ann_b = ann.at(&servers.b);
    let channels = [channel(&ann).await, channel(&ann_b).await];
    let mut made = Vec::new();
    for n in 0..rounds(100, 20) {
        let who = if n % 3 == 0 { &ann } else { &ann_b };
        made.push(append(who, &channels[n % 2], "log", json!({ "n": n })).await);
    }
    assert_rising(&made);
    servers.remove().await;
}

/// One writer: `each` events one after the other, as the process acknowledged them.
async fn write(who: Caller, channel: &str, name: &str, each: usize) -> Vec<Value> {
    let mut made = Vec::new();
    for n in 0..each {
        let kind = if n % 5 == 0 { "rare" } else { "log" };
        made.push(append(&who, channel, kind, json!({"by": name, "n": n})).await);
    }
    made
}

/// Goes on from the newest that it has, until the fence; never misses one that gets its number late.
async fn poll(who: &Caller, channel: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    while all.last().is_none_or(|event| event["kind"] != "fence") {
        let after = all.last().map_or(0, id);
        let mut page = events(who, channel, &format!("?limit=500&after_id={after}")).await;
        page.reverse();
        all.append(&mut page);
    }
    all
}

async fn hear(stream: &mut Stream) -> Vec<Value> {
    let mut heard: Vec<Value> = Vec::new();
    while heard.last().is_none_or(|event| event["kind"] != "fence") {
        heard.push(stream.event().await);
    }
    heard
}

/// CH-11, CH-24, CH-26: appended at both at once: one order, the same at both, for pages, kinds, polls and streams.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ch_26_appends_at_both_have_one_order() {
    const WRITERS: usize = 8;
    let Some(servers) = two("").await else { return };
    let ann = servers.a.agent("@nick.ann").await;
    let ann_b = ann.at(&servers.b);
    let each = rounds(50, 12);
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream?after_id=0");
    let (mut on_a, mut on_b) = (Stream::open(&ann, &path, &[]).await, Stream::open(&ann_b, &path, &[]).await);
    let writing = async {
        let names: Vec<_> = (0..WRITERS).map(|n| format!("w{n}")).collect();
        let writers = names.iter().enumerate().map(|(n, name)| {
            let at: &Caller = if n % 2 == 0 { &ann } else { &ann_b };
            write(at.clone(), &channel, name, each)
        });
        let mut made = join_all(writers).await;
        made.push(vec![append(&ann_b, &channel, "fence", json!({})).await]);
        made
    };
    let reading = async {
        tokio::join!(hear(&mut on_a), hear(&mut on_b), poll(&ann, &channel), poll(&ann_b, &channel))
    };
    let (made, heard) = tokio::join!(writing, reading);
    made.iter().for_each(|made| assert_rising(made));
    let mut made: Vec<Value> = made.into_iter().flatten().collect();
    made.sort_by_key(id);
    assert_rising(&made);
    assert_eq!(made.len(), WRITERS * each + 1);
    let rare: Vec<Value> = made.iter().filter(|event| event["kind"] == "rare").cloned().collect();
    for who in [&ann, &ann_b] {
        assert_eq!(log(who, &channel, "").await, made, "what was acknowledged, in the order of its ids");
        assert_eq!(log(who, &channel, "&kind=rare").await, rare);
    }
    for heard in [heard.0, heard.1, heard.2, heard.3] {
        assert_eq!(heard, made);
    }
    servers.remove().await;
}

/// What is appended at one wakes the reader at the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_wakes_readers_at_the_other() {
    let Some(servers) = two("").await else { return };
    let ann = servers.a.agent("@nick.ann").await;
    let ann_b = ann.at(&servers.b);
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream");
    let mut stream = Stream::open(&ann_b, &path, &[]).await;
    let woken = async {
        for n in 0..30 {
            let made = append(&ann, &channel, "log", json!({ "n": n })).await;
            assert_eq!(stream.event().await, made);
        }
    };
    timeout(ALL_WOKEN_MAX, woken).await.expect("woken, not found at the next look");
    servers.remove().await;
}

/// A request to a process that may be dead; nothing when there was no answer.
async fn try_append(who: &Caller, path: &str, key: &str, body: &str) -> Option<Response> {
    let request = who.request("POST", path, &[("Idempotency-Key", key)], Some(body.as_bytes()));
    let asked = async { Connection::open(who.address().place()).await?.round_trip(&request).await };
    timeout(ANSWER_MAX, asked).await.ok()?.ok()
}

/// Appends under a key at one of two, and at the other when no answer comes, until there is one.
async fn insist(each: usize, name: &str, channel: &str, at: [&Caller; 2]) -> Vec<Value> {
    let path = format!("/agent-channel/{channel}/event");
    let mut made = Vec::new();
    for n in 0..each {
        let (key, body) = (format!("{name}-{n}"), json!({"kind": "log", "payload": {"by": name, "n": n}}));
        let mut turn = 0;
        made.push(loop {
            if let Some(answer) = try_append(at[turn % 2], &path, &key, &body.to_string()).await {
                break answer.ok(200);
            }
            turn += 1;
        });
    }
    made
}

/// Follows a stream through every death of its process: resumes with the last id that came, until the fence.
async fn follow(who: &Caller, path: &str, mut stream: Stream, up: &Semaphore) -> (Vec<Value>, usize) {
    let (mut heard, mut last, mut resumed): (Vec<Value>, u64, usize) = (Vec::new(), 0, 0);
    loop {
        match stream.next().await {
            Sent::Event(id, event) => {
                last = id;
                let is_fence = event["kind"] == "fence";
                heard.push(event);
                if is_fence {
                    return (heard, resumed);
                }
            }
            Sent::Id(id) => last = id,
            Sent::Comment(_) => {}
            Sent::Broken => {
                resumed += 1;
                stream = loop {
                    up.acquire().await.expect("it is never closed").forget();
                    // It may be dead again already: then there is one more time that it comes up.
                    let last = last.to_string();
                    if let Some(stream) = Stream::try_open(who, path, &[("Last-Event-ID", &last)]).await {
                        break stream;
                    }
                };
            }
            Sent::End => panic!("a killed process ends nothing properly"),
        }
    }
}

/// CH-4: one is killed in the middle of the load. Nothing acknowledged is lost, nothing done twice, the other's readers
/// miss nothing, and those of the dead one resume at its successor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ch_4_one_is_killed_in_the_middle_of_the_load() {
    const WRITERS: usize = 6;
    let Some(mut servers) = two("").await else { return };
    let ann = servers.a.agent("@nick.ann").await;
    let ann_b = ann.at(&servers.b);
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream?after_id=0");
    let (on_a, mut on_b, mut pacing) = (
        Stream::open(&ann, &path, &[]).await,
        Stream::open(&ann_b, &path, &[]).await,
        Stream::open(&ann_b, &path, &[]).await,
    );
    let (each, kills) = (rounds(120, 40), rounds(4, 2));
    let up = Semaphore::new(0);
    let writing = async {
        let names: Vec<_> = (0..WRITERS).map(|n| format!("w{n}")).collect();
        let writers = names.iter().enumerate().map(|(n, name)| {
            let at: [&Caller; 2] = if n % 3 == 0 { [&ann_b, &ann] } else { [&ann, &ann_b] };
            insist(each, name, &channel, at)
        });
        let made = join_all(writers).await;
        append(&ann_b, &channel, "fence", json!({})).await;
        made
    };
    let killing = async {
        for _ in 0..kills {
            // Between two kills, a part of the load that is sure to be on its way.
            for _ in 0..WRITERS * each / (kills + 2) {
                pacing.event().await;
            }
            servers.a.kill().await;
            servers.a.restart().await;
            up.add_permits(1);
        }
    };
    let reading = async { tokio::join!(hear(&mut on_b), follow(&ann, &path, on_a, &up)) };
    let (made, (), (on_b, (on_a, resumed))) = tokio::join!(writing, killing, reading);
    made.iter().for_each(|made| assert_rising(made));
    let mut made: Vec<Value> = made.into_iter().flatten().collect();
    made.sort_by_key(id);
    let mut whole = log(&ann, &channel, "").await;
    assert_eq!(whole, log(&ann_b, &channel, "").await);
    assert_eq!((&on_a, &on_b), (&whole, &whole), "every event once, in order, at both");
    whole.pop();
    assert_eq!(whole, made, "every event that was acknowledged once, and no other");
    assert!(resumed > 0, "it was killed under its reader");
    servers.remove().await;
}
