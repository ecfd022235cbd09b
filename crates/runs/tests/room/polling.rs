//! Polling for events: each event once per reader, or after a number; and the events of a whole thread.

use serde_json::{Value, json};

use crate::house::{House, types};

#[tokio::test]
async fn sc_36_a_poll_gives_what_came_since_the_last_one() {
    let house = House::new().await;
    let steps = json!({"input": "hi", "request_metadata": {"demo": ["wait_for_input"]}});
    let answer = house.post(&house.acme, "/agent/echo/run?wait=result", &steps).await;
    answer.ok(200);
    let run = answer.header("x-run-id");
    let path = format!("/agent/echo/get_events?run_id={run}");
    let poll = async |reader: &[(&str, &str)], token: &str| {
        let polled = house.send(token, "GET", &path, reader, String::new()).await.ok(200);
        polled.as_array().unwrap().clone()
    };
    assert_eq!(types(&poll(&[], &house.acme).await), ["RunStarted", "WaitForInput"]);
    assert!(poll(&[], &house.acme).await.is_empty(), "each event once");
    assert_eq!(poll(&[("X-Reader", "b")], &house.acme).await.len(), 2, "readers have places of their own");
    assert_eq!(poll(&[], &house.owner).await.len(), 2);
    let resume = json!({"run_id": run, "request_keys": {}});
    house.post(&house.acme, "/agent/echo/run", &resume).await.ok(202);
    assert_eq!(house.all_events("echo", &run).await.len(), 5, "a stream consumes nothing");
    assert_eq!(types(&poll(&[], &house.acme).await), ["TextOutput", "TextOutput", "RunCompleted"]);
    assert_eq!(poll(&[("X-Reader", "b")], &house.acme).await.len(), 3);
    let bad = house.send(&house.acme, "GET", &path, &[("X-Reader", "a/b")], String::new()).await;
    bad.refused(422, "invalid_reader");
}

#[tokio::test]
async fn sc_36_of_two_polls_at_once_one_gets_an_event() {
    let house = House::new().await;
    let (run, _) = house.start_run(&json!({"input": "hi"})).await;
    house.all_events("echo", &run).await;
    let path = format!("/agent/echo/get_events/{run}");
    let poll = || house.get(&house.acme, &path);
    let (a, b, c, d) = tokio::join!(poll(), poll(), poll(), poll());
    let count: usize = [a, b, c, d].iter().map(|poll| poll.ok(200).as_array().unwrap().len()).sum();
    assert_eq!(count, 3);
}

#[tokio::test]
async fn past_their_limit_a_run_has_no_more_readers() {
    let house = House::new().await;
    let (run, _) = house.start_run(&json!({"input": "hi"})).await;
    house.all_events("echo", &run).await;
    let path = format!("/agent/echo/get_events/{run}");
    for nth in 0..plenary_runs::limits::READERS_PER_RUN_MAX {
        house.send(&house.acme, "GET", &path, &[("X-Reader", &nth.to_string())], String::new()).await.ok(200);
    }
    let response = house.send(&house.acme, "GET", &path, &[("X-Reader", "more")], String::new()).await;
    response.refused(429, "too_many_readers");
    assert_eq!(house.get(&house.acme, &format!("{path}?since=0")).await.ok(200).as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn sc_38_since_gives_later_events_and_consumes_nothing() {
    let house = House::new().await;
    let (run, _) = house.start_run(&json!({"input": "hi"})).await;
    house.all_events("echo", &run).await;
    let since = async |since: &str| {
        let path = format!("/agent/echo/get_events?run_id={run}&since={since}");
        house.get(&house.acme, &path).await
    };
    for (after, count) in [("0", 3), ("1", 2), ("3", 0), ("99999999999999999999999", 0), ("0", 3)] {
        assert_eq!(since(after).await.ok(200).as_array().unwrap().len(), count, "{after}");
    }
    since("last").await.refused(422, "invalid_since");
    assert_eq!(
        house
            .get(&house.acme, &format!("/agent/echo/get_events/{run}"))
            .await
            .ok(200)
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[tokio::test]
async fn sc_42_sc_48_a_thread_gives_all_its_events_in_order() {
    let house = House::new().await;
    let (first, thread) = house.start_run(&json!({"input": "a"})).await;
    house.all_events("echo", &first).await;
    let (second, _) = house.start_run(&json!({"input": "b", "thread_id": thread})).await;
    house.all_events("echo", &second).await;
    let places = |events: &Value| -> Vec<(String, u64)> {
        let place =
            |event: &Value| (event["run_id"].as_str().unwrap().to_owned(), event["id"].as_u64().unwrap());
        events.as_array().unwrap().iter().map(place).collect()
    };
    let all: Vec<_> =
        [&first, &second].into_iter().flat_map(|run| (1..=3).map(move |id| (run.clone(), id))).collect();
    for path in [
        format!("/agent/echo/get_events/{thread}"),
        format!("/agent/echo/get_events?thread_id={thread}"),
        format!("/agent/echo/get_events/{thread}"),
    ] {
        assert_eq!(places(&house.get(&house.acme, &path).await.ok(200)), all, "{path}");
    }
    let behind = format!("/agent/echo/get_events/{thread}?since={first}:2");
    assert_eq!(places(&house.get(&house.acme, &behind).await.ok(200)), all[2..]);
    let events = house.get(&house.acme, &format!("{behind}&stream=true")).await.events();
    let ids: Vec<_> = events.iter().map(|event| event.id.clone().unwrap()).collect();
    let expected: Vec<_> = all[2..].iter().map(|(run, id)| format!("{run}:{id}")).collect();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn sc_40_sc_41_runs_and_threads_are_reported() {
    let house = House::new().await;
    let mut threads = Vec::new();
    for nth in 0..5 {
        let (run, thread) = house.start_run(&json!({"input": nth.to_string()})).await;
        house.all_events("echo", &run).await;
        let report = house.status("echo", &run).await;
        assert_eq!((&report["status"], &report["result"]), (&json!("completed"), &json!(nth.to_string())));
        assert_eq!((&report["thread_id"], &report["last_event_id"]), (&json!(thread), &json!(3)));
        assert_eq!(report["finish_reason"], "success");
        threads.insert(0, thread);
    }
    let list = async |query: &str| {
        let answer = house.get(&house.acme, &format!("/agent/echo/threads{query}")).await;
        let ids: Vec<_> = answer
            .ok(200)
            .as_array()
            .unwrap()
            .iter()
            .map(|thread| thread["id"].as_str().unwrap().to_owned())
            .collect();
        (ids, answer.headers.get("link").map(|link| link.to_str().unwrap().to_owned()))
    };
    let mut all = list("").await.0;
    all.sort();
    let mut expected = threads.clone();
    expected.sort();
    assert_eq!(all, expected);
    let (mut paged, mut next) = (Vec::new(), Some(String::from("?limit=2")));
    while let Some(query) = next {
        let (page, link) = list(&query).await;
        paged.extend(page);
        next = link.map(|link| format!("?{}", link.split(['?', '>']).nth(1).unwrap()));
    }
    assert_eq!(paged.len(), 5);
    assert_eq!(paged, list("").await.0);
    house.get(&house.acme, "/agent/echo/threads?limit=many").await.refused(422, "invalid_limit");
    house.get(&house.acme, "/agent/echo/threads?before=nothing").await.refused(404, "thread_not_found");
}
