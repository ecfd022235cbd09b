//! Polling for events: each event once per reader; and the list of threads.

use serde_json::json;

use crate::house::House;

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
