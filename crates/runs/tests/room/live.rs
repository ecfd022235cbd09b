//! Live events: without a gap, with unfinished text, up to the end.

use std::sync::Arc;

use plenary_runs::{Card, Event, Run, RunEnd, RunFuture, RunLimits, RunRequest, RunSignal, Runner};
use serde_json::{Map, Value, json};

use crate::house::{House, agent};

/// Emits the text that its caller requests, in pieces.
struct Puppet;

impl Runner for Puppet {
    fn card(&self) -> Card {
        Card::new("does as it is told")
    }
    fn run(self: Arc<Self>, _: RunRequest, mut run: Run) -> RunFuture {
        Box::pin(async move {
            loop {
                let Ok(RunSignal::Resume(command)) = run.await_input(&Map::new()).await else {
                    return RunEnd::canceled();
                };
                for delta in command.get("deltas").and_then(Value::as_array).into_iter().flatten() {
                    run.emit_delta(delta.as_str().unwrap_or_default());
                }
                if let Some(text) = command.get("text").and_then(Value::as_str) {
                    let _ = run.emit(Event::text(text)).await;
                }
                if command.contains_key("hold") {
                    run.wait().await;
                    return RunEnd::canceled();
                }
                if command.contains_key("end") {
                    return RunEnd::success();
                }
            }
        })
    }
}

async fn house() -> House {
    House::with(vec![agent("puppet", Arc::new(Puppet), RunLimits::default())]).await
}

async fn command_puppet(house: &House, run: &str, keys: Value) {
    let body = json!({"run_id": run, "request_keys": keys});
    house.post(&house.acme, "/agent/puppet/run", &body).await.ok(202);
}

#[tokio::test]
async fn deltas_come_live_before_the_text_that_has_the_whole_and_are_not_kept() {
    let house = house().await;
    let body = json!({"input": "hi"});
    let mut stream = house.open(&house.acme, "POST", "/agent/puppet/stream_request", &body).await;
    let run = stream.headers["x-run-id"].to_str().unwrap().to_owned();
    let waits = stream.until("WaitForInput").await;
    command_puppet(&house, &run, json!({"deltas": ["a", "b"]})).await;
    let mut texts = Vec::new();
    let mut next = stream.next().await.unwrap();
    while next.event == "TextDelta" {
        assert_eq!(next.id, None, "nobody resumes at it");
        assert_eq!(next.data["after"], waits["id"]);
        texts.push(next.data["content"].as_str().unwrap().to_owned());
        next = stream.next().await.unwrap();
    }
    assert_eq!(texts.concat(), "ab");
    assert_eq!(next.event, "WaitForInput");
    command_puppet(&house, &run, json!({"text": "ab", "end": true})).await;
    assert_eq!(stream.until("TextOutput").await["content"], "ab");
    assert_eq!(stream.until("RunCompleted").await["result"], "ab", "SC-14");
    assert_eq!(stream.next().await, None);
    let events =
        house.get(&house.acme, &format!("/agent/puppet/get_events/{run}?stream=true")).await.events();
    let kinds: Vec<_> = events.iter().map(|event| event.event.as_str()).collect();
    assert_eq!(kinds, ["RunStarted", "WaitForInput", "WaitForInput", "TextOutput", "RunCompleted"]);
}

#[tokio::test]
async fn sc_12_who_comes_while_text_is_made_has_it_from_its_beginning() {
    let house = house().await;
    let body = json!({"input": "hi"});
    let mut early_stream = house.open(&house.acme, "POST", "/agent/puppet/stream_request", &body).await;
    let run = early_stream.headers["x-run-id"].to_str().unwrap().to_owned();
    early_stream.until("WaitForInput").await;
    command_puppet(&house, &run, json!({"deltas": ["a", "b"], "hold": true})).await;
    let mut texts = String::new();
    while texts != "ab" {
        texts.push_str(early_stream.until("TextDelta").await["content"].as_str().unwrap());
    }
    let path = format!("/agent/puppet/get_events/{run}?stream=true");
    let mut late_stream = house.open(&house.acme, "GET", &path, &Value::Null).await;
    let delta = late_stream.until("TextDelta").await;
    assert_eq!((&delta["content"], &delta["after"]), (&json!("ab"), &json!(2)));
    let mut resumed_stream = house.open(&house.acme, "GET", &format!("{path}&since=2"), &Value::Null).await;
    house.post(&house.acme, "/agent/puppet/run", &json!({"run_id": run})).await.ok(202);
    late_stream.until("RunCompleted").await;
    let next = resumed_stream.next().await.unwrap();
    assert_eq!(next.event, "RunCompleted", "who goes on may have had it already");
    let events = house.get(&house.acme, &path).await.events();
    assert!(events.iter().all(|event| event.event != "TextDelta"), "it is over: {events:?}");
}

#[tokio::test]
async fn sc_12_who_comes_late_loses_nothing_and_resumes_where_it_was() {
    let house = house().await;
    let (run, _) = house.start_run_of("puppet", &json!({"input": "hi"})).await;
    let path = format!("/agent/puppet/get_events/{run}?stream=true");
    let mut early_stream = house.open(&house.acme, "GET", &path, &Value::Null).await;
    early_stream.until("WaitForInput").await;
    command_puppet(&house, &run, json!({"text": "1"})).await;
    let last = early_stream.until("TextOutput").await["id"].as_u64().unwrap();
    drop(early_stream);
    let mut late_stream = house.open(&house.acme, "GET", &format!("{path}&since={last}"), &Value::Null).await;
    let next = late_stream.next().await.unwrap();
    assert_eq!((next.event.as_str(), next.data["id"].as_u64()), ("WaitForInput", Some(last + 1)));
    command_puppet(&house, &run, json!({"text": "2", "end": true})).await;
    late_stream.until("RunCompleted").await;
    for (header, count) in [("0", 6), ("3", 3), ("6", 0)] {
        let events =
            house.send(&house.acme, "GET", &path, &[("Last-Event-ID", header)], String::new()).await.events();
        assert_eq!(events.len(), count, "behind {header}");
    }
    let response = house.send(&house.acme, "GET", &path, &[("Last-Event-ID", "7")], String::new()).await;
    assert!(response.refused(422, "invalid_since").contains("its last event is 6"));
}

#[tokio::test]
async fn past_their_limit_one_owner_follows_no_more() {
    let house = house().await;
    let (run, _) = house.start_run_of("puppet", &json!({"input": "hi"})).await;
    let path = format!("/agent/puppet/get_events/{run}?stream=true");
    let mut streams = Vec::new();
    for _ in 0..plenary_runs::limits::STREAMS_PER_OWNER_MAX {
        streams.push(house.open(&house.acme, "GET", &path, &Value::Null).await);
    }
    house.get(&house.acme, &path).await.refused(429, "too_many_streams");
    let threads = house.get(&house.acme, "/agent/puppet/threads").await.ok(200);
    let response = house.post(&house.acme, "/agent/puppet/stream_request", &json!({"input": "hi"})).await;
    response.refused(429, "too_many_streams");
    let threads_after = house.get(&house.acme, "/agent/puppet/threads").await.ok(200);
    assert_eq!(threads_after, threads, "nothing is begun that nobody can follow");
    streams.pop();
    house.open(&house.acme, "GET", &path, &Value::Null).await.until("RunStarted").await;
}
