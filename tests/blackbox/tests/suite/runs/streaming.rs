//! Runs as streams: SC-19, SC-37, SC-38, SC-39; what a stream tells is what is kept.

use blackbox::in_time;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::speak::{
    ECHO, Gates, PUPPET, Run, acting, assert_whole, at, cancel, chat, chat_on, echoing, events_of, finish,
    ids, known, outcome, playing, poll, refused, resume, said, status_becomes, thread, whole,
};
use super::sse::{Events, Heard};

/// SC-19, SC-37: from the beginning to RunCompleted, which ends the stream; the same each time.
#[tokio::test]
async fn sc_19_sc_37_a_stream_ends_with_run_completed() {
    let (_server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "hello").await;
    let live = whole(&nick, &run).await;
    for path in [
        events_of(&run, "?stream=true"),
        events_of(&run, "?stream=True"),
        at(ECHO, &format!("get_events?run_id={}&stream=true", run.id)),
    ] {
        let mut stream = Events::get(&nick, &path).await;
        assert_eq!(stream.rest().await, live, "{path}: replay equals live");
        let cached = stream.head.header("cache-control").unwrap_or_default();
        assert!(cached.contains("no-cache") || cached.contains("no-store"), "{}", stream.head);
    }
    assert_eq!(known(&nick, &run).await, live, "the same without a stream");
    assert_eq!(poll(&nick, &run).await, live, "D.8: a stream consumes nothing");
}

/// SC-38: with `since`, or with `Last-Event-ID` as browsers resume, what is later; then live.
#[tokio::test]
async fn sc_38_a_stream_resumes_behind_an_event() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let run = chat(&nick, PUPPET, &format!("many 5 t\n{}text late", gates.gate("go"))).await;
    let mut first = Events::get(&nick, &events_of(&run, "?stream=true")).await;
    let mut all = Vec::new();
    while said(&all).len() < 5 {
        all.push(first.event().await);
    }
    let third = ids(&all)[2].to_string();
    let since = events_of(&run, &format!("?stream=true&since={third}"));
    let mut streams = vec![
        Events::get(&nick, &since).await,
        Events::get_with(&nick, &events_of(&run, "?stream=true"), &[("Last-Event-ID", &third)]).await,
        // A browser that reconnects asks the same address again: the header is the newer word.
        Events::get_with(&nick, &events_of(&run, "?stream=true&since=0"), &[("Last-Event-ID", &third)]).await,
    ];
    for stream in &mut streams {
        for event in &all[3..] {
            assert_eq!(stream.event().await, *event);
        }
    }
    gates.open("go");
    let rest = first.rest().await;
    assert_eq!(said(&rest), ["late"]);
    for mut stream in streams {
        assert_eq!(stream.rest().await, rest);
    }
    // Behind the end there is nothing more to come.
    let last = ids(&rest).last().expect("an end").to_string();
    let response = nick.get(&events_of(&run, &format!("?stream=true&since={last}"))).await;
    assert!(response.status == 200 || response.status == 204, "{response}");
    assert!(!response.text().contains("data:"), "{response}");
}

/// A stream that is opened before there is anything, on a run that is queued, brings all of it.
#[tokio::test]
async fn sc_37_a_queued_run_is_streamed_from_its_start() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let first = chat(&nick, PUPPET, &gates.gate("go")).await;
    let second = chat_on(&nick, &first, "text b").await;
    let mut stream = Events::get(&nick, &events_of(&second, "?stream=true")).await;
    gates.open("go");
    let events = stream.rest().await;
    assert_whole(&second, &events);
    assert_eq!(said(&events), ["b"]);
}

/// D.8: WaitForInput does not close the stream; what follows the answer comes on it (SC-45).
#[tokio::test]
async fn sc_44_sc_45_the_stream_goes_on_through_a_question() {
    let (_server, nick) = playing().await;
    let run = chat(&nick, PUPPET, "ask a=A?\nanswer\nask b=B?\nanswer").await;
    let mut stream = Events::get(&nick, &events_of(&run, "?stream=true")).await;
    let asked = stream.until("WaitForInput").await;
    assert_eq!(asked.last().expect("a question")["request_keys"], json!({"a": "A?"}));
    resume(&nick, &run, json!({"a": "1"})).await;
    let next = stream.until("WaitForInput").await;
    assert_eq!(said(&next), ["{\"a\":\"1\"}"]);
    resume(&nick, &run, json!({"b": 2})).await;
    let rest = stream.rest().await;
    assert_eq!(said(&rest), ["{\"b\":2}"]);
    let all = [asked, next, rest].concat();
    assert_whole(&run, &all);
    assert_eq!(all, whole(&nick, &run).await);
}

/// SC-39: a run is started and streamed in one call.
#[tokio::test]
async fn sc_39_stream_request_runs_and_streams() {
    let (_server, nick) = echoing().await;
    let path = at(ECHO, "stream_request");
    let mut stream = Events::post(&nick, &path, &json!({"type": "ChatRequest", "input": "hi"})).await;
    let events = stream.rest().await;
    let run = run_of(&events[0]);
    assert_whole(&run, &events);
    assert_eq!(said(&events).concat(), "hi");
    assert_eq!(whole(&nick, &run).await, events, "it is a run like others");
    assert_eq!(poll(&nick, &run).await, events, "and consumes nothing");
    let on = json!({"input": "more", "thread_id": run.thread});
    let more = Events::post(&nick, &path, &on).await.rest().await;
    assert_eq!(more[0]["thread_id"], run.thread.as_str(), "it goes on with a thread too");
    let listed = thread(&nick, &run).await.expect("it is listed");
    assert_eq!(listed["runs"], json!([run.id, more[0]["run_id"]]));
}

/// Whoever leaves a stream_request leaves the run alone.
#[tokio::test]
async fn sc_39_a_run_outlives_its_stream() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let body = json!({"input": format!("text a\n{}text b", gates.gate("go"))});
    let mut stream = Events::post(&nick, &at(PUPPET, "stream_request"), &body).await;
    let run = run_of(&stream.event().await);
    drop(stream);
    gates.open("go");
    let events = whole(&nick, &run).await;
    assert_eq!((finish(&events), said(&events)), ("success", vec!["a", "b"]));
}

fn run_of(event: &Value) -> Run {
    let text = |member: &str| event[member].as_str().expect("a text").to_owned();
    Run { agent: text("agent"), id: text("run_id"), thread: text("thread_id") }
}

/// Streams that are opened while the run speaks: no gap, no repeat, all alike.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_37_there_is_no_seam_between_before_and_after() {
    let (_server, nick) = playing().await;
    for _ in 0..3 {
        let run = chat(&nick, PUPPET, "many 400 number ").await;
        let streams = join_all((0..8).map(|_| whole(&nick, &run))).await;
        assert_eq!(said(&streams[0]).len(), 400);
        assert!(streams.windows(2).all(|pair| pair[0] == pair[1]), "all readers see the same");
        assert_eq!(known(&nick, &run).await, streams[0], "replay equals live");
    }
}

/// An idle stream says that it is alive.
#[tokio::test]
async fn sc_37_an_idle_stream_is_kept_alive() {
    let (_server, nick) = playing().await;
    let run = acting(&nick, "hang").await;
    let mut stream = Events::get(&nick, &events_of(&run, "?stream=true")).await;
    stream.until("RunStarted").await;
    assert_eq!(stream.heard().await, Heard::Comment);
    cancel(&nick, &run).await;
    assert_eq!(finish(&stream.rest().await), "canceled");
}

/// D.1: a token that is revoked ends what was opened with it within a second; the run goes on.
#[tokio::test]
async fn sc_37_a_dead_token_ends_its_streams() {
    let (server, nick) = playing().await;
    let run = acting(&nick, "hang").await;
    let mut stream = Events::get(&nick, &events_of(&run, "?stream=true")).await;
    stream.until("RunStarted").await;
    let made = server.operator().post_empty("/_admin/agents/@nick.ann/rotate-token").await.ok(200);
    let (events, _) = in_time("a stream of a dead token ends", stream.ending()).await;
    assert!(events.is_empty(), "{events:?}");
    let nick = server.bearer(made["token"].as_str().expect("a token"));
    status_becomes(&nick, &run, "running").await;
    cancel(&nick, &run).await;
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
}

/// A server that is told to stop ends its streams, and what was told stays.
#[tokio::test]
async fn sc_37_a_stop_is_not_held_up_by_streams() {
    let (mut server, nick) = playing().await;
    let run = acting(&nick, "text a\ndeaf\nhang").await;
    let mut stream = Events::get(&nick, &events_of(&run, "?stream=true")).await;
    let before = stream.until("TextOutput").await;
    server.stop().await;
    let (late, _) = stream.ending().await;
    server.restart().await;
    let events = whole(&nick, &run).await;
    assert!(events.starts_with(&[before, late].concat()), "{events:?}");
    assert_eq!(finish(&events), "error", "D.8: what ran when the server ended");
}

/// Many at once: each is whole, or refused because there are too many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_39_many_at_once_are_whole_or_refused() {
    let (_server, nick) = echoing().await;
    let path = at(ECHO, "stream_request");
    let outcomes = join_all((0..150).map(|number| {
        let (nick, path) = (&nick, &path);
        async move {
            let body = json!({"input": format!("number {number}")}).to_string();
            let request = nick.request("POST", path, &[], Some(body.as_bytes()));
            match Events::open(nick, &request).await {
                Ok(mut stream) => {
                    let events = stream.rest().await;
                    assert_whole(&run_of(&events[0]), &events);
                    assert_eq!(said(&events).concat(), format!("number {number}"));
                    true
                }
                Err(refusal) => {
                    refused(&refusal, 429);
                    false
                }
            }
        }
    }))
    .await;
    let whole = outcomes.iter().filter(|whole| **whole).count();
    assert!(whole >= 50, "{whole}");
    assert_eq!(finish(&outcome(&nick, ECHO, "afterwards").await), "success");
}
