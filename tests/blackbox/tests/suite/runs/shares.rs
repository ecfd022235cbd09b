//! What one owner may have at a time of what the server counts: past it the owner is told which rule that is, and the
//! others are served at once.

use blackbox::{Agent, Pongs, Server};
use serde_json::json;

use super::speak::{
    PUPPET, accepted, acting, at, cancel, chat, chat_on, events_of, finish, hosted, puppet, refused,
    status_becomes, whole,
};
use super::sse::Events;

/// A server with these limits and the scripted program, and agents of two owners.
async fn limited(limits: &str) -> (Server, Agent, Agent) {
    let config = format!("[runs]\n{limits}\n{}", hosted(PUPPET, &puppet(&["lines"])));
    let server = Server::builder().config(&config).start().await;
    let (nick, ann) = (server.agent("@nick.one").await, server.agent("@ann.a").await);
    (server, nick, ann)
}

/// Runs that go on: another agent of the owner has no share of its own, and a run that ends makes place.
#[tokio::test]
async fn sc_11_slow_runs_of_one_owner_hold_no_other_up() {
    let (server, nick, ann) = limited("runs_per_owner_max = 2").await;
    let second = server.agent("@nick.two").await;
    let first = acting(&nick, "hang").await;
    acting(&second, "hang").await;
    for who in [&*nick, &*second] {
        for path in ["run", "stream_request"] {
            let response = who.post(&at(PUPPET, path), json!({"input": "text late"})).await;
            assert_eq!(refused(&response, 429), "too_many_runs_of_owner");
            assert!(response.header("retry-after").is_some(), "{response}");
        }
    }
    for who in [&*ann, &server.operator()] {
        let run = chat(who, PUPPET, "text hi").await;
        assert_eq!(finish(&whole(who, &run).await), "success");
    }
    cancel(&nick, &first).await;
    whole(&nick, &first).await;
    let next = blackbox::eventually("there is place again", || async {
        let response = nick.post(&at(PUPPET, "run"), json!({"input": "text hi"})).await;
        (response.status == 202).then_some(())
    });
    next.await;
}

/// A thread that goes on with its next run keeps its place.
#[tokio::test]
async fn sc_3_the_next_run_of_a_thread_has_the_place_of_the_one_before() {
    let (_server, nick, _ann) = limited("runs_per_owner_max = 1").await;
    let first = acting(&nick, "hang").await;
    let next = chat_on(&nick, &first, "hang").await;
    cancel(&nick, &first).await;
    status_becomes(&nick, &next, "running").await;
    let response = nick.post(&at(PUPPET, "run"), json!({"input": "text late"})).await;
    assert_eq!(refused(&response, 429), "too_many_runs_of_owner");
    cancel(&nick, &next).await;
    whole(&nick, &next).await;
    blackbox::eventually("there is place again", || async {
        let response = nick.post(&at(PUPPET, "run"), json!({"input": "text hi"})).await;
        (response.status == 202).then_some(())
    })
    .await;
}

/// Runs that wait for their turn.
#[tokio::test]
async fn sc_11_what_waits_of_one_owner_holds_no_other_up() {
    let (_server, nick, ann) = limited("queued_runs_per_owner_max = 1").await;
    let (slow, others) = (acting(&nick, "hang").await, acting(&ann, "hang").await);
    let waiting = chat_on(&nick, &slow, "text next").await;
    let body = json!({"input": "text late", "thread_id": slow.thread});
    let response = nick.post(&at(PUPPET, "run"), body.clone()).await;
    assert_eq!(refused(&response, 429), "too_many_queued_runs_of_owner");
    let theirs = chat_on(&ann, &others, "text theirs").await;
    // What is canceled before its turn gives its place back, and what has its turn does.
    cancel(&nick, &waiting).await;
    let again = blackbox::eventually("there is place again", || async {
        let response = nick.post(&at(PUPPET, "run"), body.clone()).await;
        (response.status == 202).then_some(())
    });
    again.await;
    cancel(&ann, &others).await;
    assert_eq!(finish(&whole(&ann, &theirs).await), "success");
    cancel(&nick, &slow).await;
    whole(&nick, &slow).await;
}

/// What waited before a crash counts after it.
#[tokio::test]
async fn sc_11_what_waits_still_counts_after_a_crash() {
    let (mut server, nick, _ann) = limited("queued_runs_per_owner_max = 2").await;
    let first = acting(&nick, "hang").await;
    let second = chat_on(&nick, &first, "hang").await;
    let third = chat_on(&nick, &first, "text third").await;
    server.kill().await;
    server.restart().await;
    status_becomes(&nick, &second, "running").await;
    // It leaves the queue when it is carried out, a moment after its start is written.
    let body = json!({"input": "text fourth", "thread_id": first.thread});
    let fourth = blackbox::eventually("the second has left the queue", || async {
        let response = nick.post(&at(PUPPET, "run"), body.clone()).await;
        (response.status == 202).then(|| accepted(PUPPET, &response))
    });
    let fourth = fourth.await;
    let body = json!({"input": "text late", "thread_id": first.thread});
    let response = nick.post(&at(PUPPET, "run"), body).await;
    assert_eq!(refused(&response, 429), "too_many_queued_runs_of_owner");
    cancel(&nick, &second).await;
    for run in [&third, &fourth] {
        assert_eq!(finish(&whole(&nick, run).await), "success");
    }
}

/// Live streams, and requests that wait: of all agents of an owner together.
#[tokio::test]
async fn sc_37_streams_of_one_owner_hold_no_other_up() {
    let (server, nick, ann) = limited("streams_per_owner_max = 2").await;
    let second = server.agent("@nick.two").await;
    let run = acting(&nick, "text a\nhang").await;
    let other = acting(&second, "text b\nhang").await;
    let mut one = Events::get(&nick, &events_of(&run, "?stream=true")).await;
    let mut two = Events::get(&second, &events_of(&other, "?stream=true")).await;
    one.until("TextOutput").await;
    two.until("TextOutput").await;
    let response = nick.get(&events_of(&run, "?stream=true")).await;
    assert_eq!(refused(&response, 429), "too_many_streams");
    let theirs = chat(&ann, PUPPET, "text hi").await;
    assert_eq!(finish(&whole(&ann, &theirs).await), "success");
    let waited = ann.post(&at(PUPPET, "run?wait=result"), json!({"input": "text hi"})).await;
    assert_eq!(waited.ok(200)["finish_reason"], "success");
    drop(one);
    blackbox::eventually("there is place again", || async {
        let response = nick.post(&at(PUPPET, "run?wait=result"), json!({"input": "text hi"})).await;
        (response.status == 200).then_some(())
    })
    .await;
}

/// Attached instances, of all agents of an owner together.
#[tokio::test]
async fn sc_1_instances_of_one_owner_hold_no_other_up() {
    let (server, nick, ann) = limited("instances_per_owner_max = 1").await;
    let second = server.agent("@nick.two").await;
    let path = |agent: &Agent| format!("/agent/{}/attach", agent.handle.trim_start_matches('@'));
    let first = nick.socket(&path(&nick), Pongs::Answer).await;
    let refusal = second.try_socket(&path(&second), &[], Pongs::Answer).await.expect_err("refused");
    assert_eq!(refused(&refusal, 429), "too_many_instances_of_owner");
    let _theirs = ann.socket(&path(&ann), Pongs::Answer).await;
    first.cut().await;
    blackbox::eventually("there is place again", || async {
        second.try_socket(&path(&second), &[], Pongs::Answer).await.ok().map(drop)
    })
    .await;
}
