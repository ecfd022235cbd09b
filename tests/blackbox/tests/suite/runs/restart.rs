//! Runs over a crash and a stop: SC-41, SC-48; D.8 (running and waiting end `error`, queued ones run).

use std::time::Duration;

use blackbox::{Agent, Connection, Server, Tally, rounds, strike_after};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::speak::{
    ECHO, Gates, PUPPET, Run, accepted, acting, assert_whole, at, chat, chat_on, echoing, events_of, finish,
    known, list, playing, poll, refused, said, status, status_becomes, tell, thread, types, whole,
};

/// D.8: after a kill what ran or waited ends `error`, what was queued runs, and all of it is told.
#[tokio::test]
async fn sc_48_after_a_crash_runs_end_and_queued_ones_run() {
    let (mut server, nick) = playing().await;
    let gates = Gates::new();
    let done = chat(&nick, PUPPET, "text done").await;
    let finished = whole(&nick, &done).await;
    let active = chat(&nick, PUPPET, &format!("text a\n{}hang", gates.mark("on"))).await;
    gates.reached("on").await;
    let behind = chat_on(&nick, &active, &format!("text behind\n{}", gates.mark("behind"))).await;
    let waiting = chat(&nick, PUPPET, "ask a=A?\nanswer").await;
    status_becomes(&nick, &waiting, "waiting").await;
    let after = chat_on(&nick, &waiting, "text after").await;
    let before = known(&nick, &active).await;
    server.crash().await;
    for run in [&active, &waiting] {
        let events = whole(&nick, run).await;
        assert_eq!(finish(&events), "error", "{events:?}");
        assert_eq!(status(&nick, run).await["status"], "error");
    }
    let events = known(&nick, &active).await;
    assert!(events.starts_with(&before), "what was told stays as it was: {events:?}");
    for (run, text) in [(&behind, "behind"), (&after, "after")] {
        let events = whole(&nick, run).await;
        assert_eq!((finish(&events), said(&events)), ("success", vec![text]));
    }
    assert_eq!(gates.count("behind"), 1, "once");
    assert_eq!(whole(&nick, &done).await, finished, "history is as it was");
    let listed = thread(&nick, &active).await.expect("it is listed");
    assert_eq!(listed["runs"], json!([active.id, behind.id]));
    let response = tell(&nick, &waiting, "ResumeWithInput", json!({"request_keys": {"a": 1}})).await;
    assert_eq!(refused(&response, 409), "run_not_active");
    // The threads go on.
    let next = chat_on(&nick, &active, "text next").await;
    assert_eq!(said(&whole(&nick, &next).await), ["next"]);
}

/// A draining poll goes on where it was: what was given is not given again.
#[tokio::test]
async fn sc_36_queues_survive_a_crash() {
    let (mut server, nick) = echoing().await;
    let (taken, left) = (chat(&nick, ECHO, "taken").await, chat(&nick, ECHO, "left").await);
    let all = whole(&nick, &left).await;
    whole(&nick, &taken).await;
    assert!(!poll(&nick, &taken).await.is_empty());
    server.crash().await;
    assert_eq!(poll(&nick, &left).await, all);
    let again = poll(&nick, &taken).await;
    assert!(again.is_empty() || again == known(&nick, &taken).await, "nothing in pieces: {again:?}");
}

/// A stop is no crash, but what ran ends the same way, and nothing is lost.
#[tokio::test]
async fn sc_48_after_a_stop_history_is_whole() {
    let (mut server, nick) = playing().await;
    let done = chat(&nick, PUPPET, "many 50 t").await;
    let finished = whole(&nick, &done).await;
    let active = acting(&nick, "hang").await;
    let queued = chat_on(&nick, &active, "text queued").await;
    server.stop().await;
    server.restart().await;
    assert_eq!(whole(&nick, &done).await, finished);
    let events = whole(&nick, &active).await;
    assert!(["error", "canceled"].contains(&finish(&events)), "{events:?}");
    assert_eq!(said(&whole(&nick, &queued).await), ["queued"]);
}

/// `Last-Event-ID` of before a crash resumes after it.
#[tokio::test]
async fn sc_38_a_stream_resumes_over_a_crash() {
    let (mut server, nick) = playing().await;
    let run = chat(&nick, PUPPET, "text a\ntext b\nhang").await;
    let mut stream = super::sse::Events::get(&nick, &events_of(&run, "?stream=true")).await;
    let mut heard = Vec::new();
    while said(&heard).len() < 2 {
        heard.push(stream.event().await);
    }
    server.crash().await;
    let last = heard[1]["id"].to_string();
    let mut stream =
        super::sse::Events::get_with(&nick, &events_of(&run, "?stream=true"), &[("Last-Event-ID", &last)])
            .await;
    let rest = stream.rest().await;
    assert_eq!(rest[0], heard[2], "the same event under the same id");
    assert_eq!(types(&rest), ["TextOutput", "RunCompleted"]);
}

/// Runs until the server is gone; those that were acknowledged.
async fn drive(nick: &Agent, name: usize, load: &Tally) -> Vec<(Run, String)> {
    let mut acked = Vec::new();
    let Ok(mut connection) = Connection::open(nick.address().place()).await else { return acked };
    for number in 0.. {
        let text = format!("{name}-{number}");
        let body = json!({"input": text}).to_string();
        let request = nick.request("POST", &at(ECHO, "run"), &[], Some(body.as_bytes()));
        match connection.round_trip(&request).await {
            Ok(response) => acked.push((accepted(ECHO, &response), text)),
            Err(_) => break,
        }
        load.count();
    }
    acked
}

/// Whatever was acknowledged before a kill is there afterwards and comes to an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_48_acknowledged_runs_survive_kills() {
    let (mut server, nick) = echoing().await;
    for round in 0..rounds(5, 2) {
        let pause = Duration::from_millis(120 + 90 * u64::try_from(round).expect("few"));
        let load = Tally::default();
        let (acked, ()) = tokio::join!(join_all((0..4).map(|name| drive(&nick, name, &load))), async {
            load.reaches(10).await;
            strike_after(pause).await;
            server.kill().await;
        });
        server.restart().await;
        for (run, text) in acked.into_iter().flatten() {
            let events = whole(&nick, &run).await;
            assert_whole(&run, &events);
            if finish(&events) == "success" {
                assert_eq!(said(&events).concat(), text);
            } else {
                assert_eq!(finish(&events), "error", "{events:?}");
            }
        }
    }
    assert_no_run_is_open(&server, &nick).await;
}

/// Also of the runs that nobody heard of, none is left open.
async fn assert_no_run_is_open(server: &Server, nick: &Agent) {
    for listed in list(server.operator().get(&at(ECHO, "threads")).await.ok(200)) {
        for run in listed["runs"].as_array().expect("a list") {
            let path = at(ECHO, &format!("runs/{}", run.as_str().expect("an id")));
            blackbox::eventually("every run ends", || async {
                let status: Value = nick.get(&path).await.ok(200);
                ["completed", "error"].contains(&status["status"].as_str().unwrap_or_default()).then_some(())
            })
            .await;
        }
    }
}
