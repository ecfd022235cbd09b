//! How runs end: canceled, answered, failed, past a limit, with the server.

use std::{sync::Arc, time::Duration};

use plenary_runs::{Card, Echo, Event, Run, RunEnd, RunFuture, RunLimits, RunRequest, Runner};
use serde_json::{Value, json};

use crate::house::{House, agent, types};

fn demo(steps: &Value) -> Value {
    json!({"input": "hi", "request_metadata": {"demo": steps}})
}

#[tokio::test]
async fn what_a_person_says_to_one_question_is_not_given_to_the_next() {
    let house = House::new().await;
    let steps = demo(&json!([{"wait_for_input": {"a": "List?"}}, {"wait_for_input": {"a": "Remove?"}}]));
    let answer = house.post(&house.acme, "/agent/echo/run?wait=result", &steps).await;
    let first_id = answer.ok(200)["id"].clone();
    let (run, thread) = (answer.header("x-run-id"), answer.header("x-thread-id"));
    let place = (thread.parse().unwrap(), run.parse().unwrap());
    let question_version = async || house.runs.thread(place.0).await.unwrap().run(place.1).unwrap().waits;
    let first = question_version().await;
    let yes = json!({"type": "ResumeWithInput", "run_id": run, "request_keys": {"a": "yes"}});
    let answer_question = async |question| {
        let body = yes.to_string().into();
        house.runs.resume_for_person(place, |at| at == question, body).await.unwrap();
    };
    answer_question(first).await;
    while question_version().await == first {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    answer_question(first).await;
    assert_eq!(house.status("echo", &run).await["status"], "waiting", "the same answer came twice");
    let mut answer_to_event = yes.clone();
    answer_to_event["event_id"] = first_id;
    house.post(&house.acme, "/agent/echo/run", &answer_to_event).await.refused(409, "run_not_active");
    answer_question(question_version().await).await;
    assert_eq!(types(&house.all_events("echo", &run).await).last(), Some(&"RunCompleted"));
}

#[tokio::test]
async fn an_answer_that_is_repeated_under_its_key_is_given_once() {
    let house = House::new().await;
    let steps = demo(&json!([{"wait_for_input": {"a": "A"}}]));
    let answer = house.post(&house.acme, "/agent/echo/run?wait=result", &steps).await;
    answer.ok(200);
    let run = answer.header("x-run-id");
    let resume = json!({"run_id": run, "request_keys": {"a": 1}}).to_string();
    let keyed = [("Idempotency-Key", "k")];
    let send = async || house.send(&house.acme, "POST", "/agent/echo/run", &keyed, resume.clone()).await;
    assert!(!send().await.headers.contains_key("idempotency-replayed"));
    house.all_events("echo", &run).await;
    let again = send().await;
    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (202, "true".into()));
}

#[tokio::test(start_paused = true)]
async fn sc_46_who_does_not_listen_is_canceled_all_the_same() {
    let house = House::new().await;
    let (run, _) = house.start_run(&demo(&json!(["deaf"]))).await;
    house.post(&house.acme, "/agent/echo/run", &json!({"run_id": run})).await.ok(202);
    let before = tokio::time::Instant::now();
    let events = house.all_events("echo", &run).await;
    assert_eq!(events.last().unwrap()["finish_reason"], "canceled");
    assert!(before.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn what_fails_says_why() {
    let house = House::new().await;
    for (steps, text) in [(json!([{"fail": "no paper"}]), "no paper"), (json!(["panic"]), "asked to panic")] {
        let answer = house.post(&house.acme, "/agent/echo/run?wait=result", &demo(&steps)).await;
        let ended = answer.ok(200);
        assert_eq!(ended["finish_reason"], "error");
        assert!(ended["error"].as_str().unwrap().contains(text), "{ended}");
        let report = house.status("echo", &answer.header("x-run-id")).await;
        assert_eq!((&report["status"], &report["error"]), (&json!("error"), &ended["error"]));
    }
}

/// Emits this many events, and then waits.
struct Talker(usize);

impl Runner for Talker {
    fn card(&self) -> Card {
        Card::new("talks")
    }
    fn run(self: Arc<Self>, _: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move {
            for n in 0..self.0 {
                if run.emit(Event::text(&format!("{n} "))).await.is_err() {
                    break;
                }
            }
            std::future::pending::<()>().await;
            RunEnd::success()
        })
    }
}

#[tokio::test]
async fn past_its_events_a_run_ends_with_an_error() {
    let limits = RunLimits { events_max: 100, ..RunLimits::default() };
    let house = House::with(vec![agent("talker", Arc::new(Talker(1_000)), limits)]).await;
    let (run, _) = house.start_run_of("talker", &json!({"input": ""})).await;
    let events = house.all_events("talker", &run).await;
    let last = events.last().unwrap();
    assert_eq!(events.len(), 102, "its start, what it may say, and its end");
    assert!(last["error"].as_str().unwrap().contains("events"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn past_its_time_a_run_ends_with_an_error() {
    let limits = RunLimits {
        time_max: Duration::from_secs(5),
        waiting_max: Duration::from_secs(10),
        ..RunLimits::default()
    };
    let house = House::with(vec![agent("slow", Arc::new(Echo::default()), limits)]).await;
    for (steps, most) in
        [(json!(["slow"]), "5 s"), (json!(["deaf"]), "5 s"), (json!(["wait_for_input"]), "10 s")]
    {
        let (run, _) = house.start_run_of("slow", &demo(&steps)).await;
        let events = house.all_events("slow", &run).await;
        let last = events.last().unwrap();
        assert_eq!(last["finish_reason"], "error");
        assert!(last["error"].as_str().unwrap().contains(most), "{last}");
    }
}

#[tokio::test]
async fn a_server_that_stops_ends_its_runs_and_tells_why() {
    let house = House::new().await;
    let (run, thread) = house.start_run(&demo(&json!(["slow"]))).await;
    let (queued, _) = house.start_run(&json!({"input": "b", "thread_id": thread})).await;
    let path = format!("/agent/echo/get_events/{run}?stream=true");
    let mut stream = house.open(&house.acme, "GET", &path, &Value::Null).await;
    stream.until("RunStarted").await;
    house.runs.stop().await;
    let ended = stream.until("RunCompleted").await;
    assert_eq!(ended["finish_reason"], "error");
    assert!(ended["error"].as_str().unwrap().contains("stopped"), "{ended}");
    assert_eq!(house.status("echo", &queued).await["status"], "queued", "the next start begins it");
    house.post(&house.acme, "/agent/echo/run", &json!({"input": "c"})).await.refused(503, "stopping");
}

#[tokio::test]
async fn runs_are_counted() {
    let house = House::new().await;
    let (run, thread) = house.start_run(&demo(&json!(["slow"]))).await;
    house.start_run(&json!({"input": "b", "thread_id": thread})).await;
    let line = |text: &str| house.metrics.render().lines().any(|line| line == text);
    assert!(line("plenary_runs_active 1"), "{}", house.metrics.render());
    house.post(&house.acme, "/agent/echo/run", &json!({"run_id": run})).await.ok(202);
    house.all_events("echo", &run).await;
}
