//! Threads: begun, gone on with, queued while busy: SC-2 to SC-7, SC-15, SC-16; D.8.

use blackbox::eventually;
use futures_util::future::join_all;
use serde_json::json;

use super::speak::{
    ECHO, Gates, PUPPET, accepted, acting, assert_uuid, at, cancel, chat, chat_on, echoing, finish, list,
    outcome, playing, post_run, refused, said, status, status_becomes, thread, whole,
};

/// SC-5, SC-6, SC-15: without a thread, or with null, a new one each time.
#[tokio::test]
async fn sc_5_sc_6_sc_15_no_thread_means_a_new_one() {
    let (_server, nick) = echoing().await;
    let mut threads = Vec::new();
    for body in [json!({"input": "x"}), json!({"input": "x", "thread_id": null}), json!({"input": "x"})] {
        threads.push(post_run(&nick, ECHO, body).await.thread);
    }
    threads.iter().for_each(|thread| assert_uuid(thread));
    threads.sort();
    threads.dedup();
    assert_eq!(threads.len(), 3, "{threads:?}");
}

/// SC-2, SC-3, SC-7, SC-16: the next request is the next run of its thread, and each run has its own events.
#[tokio::test]
async fn sc_2_sc_3_sc_7_sc_16_the_next_request_is_the_next_run() {
    let (_server, nick) = echoing().await;
    let first = chat(&nick, ECHO, "one").await;
    whole(&nick, &first).await;
    let second = chat_on(&nick, &first, "two").await;
    assert_ne!(first.id, second.id);
    for (run, text) in [(&first, "one"), (&second, "two")] {
        assert_eq!(said(&whole(&nick, run).await).concat(), text);
    }
    let found = thread(&nick, &first).await.expect("it is listed");
    assert_eq!(found["runs"], json!([first.id, second.id]), "oldest first");
    // The thread may stand in the query too (4.4 no. 6).
    let path = format!("{}?thread_id={}", at(ECHO, "run"), first.thread);
    let third = accepted(ECHO, &nick.post(&path, json!({"input": "three"})).await);
    assert_eq!(third.thread, first.thread);
}

/// A caller may choose the id of a thread; it gets no thread of somebody else's by that.
#[tokio::test]
async fn a_thread_is_opened_under_an_id_that_the_caller_chose() {
    let (server, nick) = echoing().await;
    let other = server.agent("@other.bob").await;
    let id = "0f3c8d2e-7a51-4c0e-9a55-5b6f1f0a7d11";
    let chosen = |text: &str| json!({"input": text, "thread_id": id, "if_not_exists": "create"});
    let first = post_run(&nick, ECHO, chosen("one")).await;
    let second = post_run(&nick, ECHO, chosen("two")).await;
    assert_eq!((first.thread.as_str(), second.thread.as_str()), (id, id));
    whole(&nick, &second).await;
    assert_eq!(thread(&nick, &first).await.expect("it is listed")["runs"], json!([first.id, second.id]));
    let report = nick.get(&at(ECHO, &format!("runs/{}", second.id))).await.ok(200);
    assert_eq!(report["request"], chosen("two"), "the request as it was sent");
    refused(&other.post(&at(ECHO, "run"), chosen("three")).await, 404);
    let bound =
        json!({"input": "x", "thread_id": "c7970566-3866-89f2-b0fc-91fbb49f31fd", "if_not_exists": "create"});
    refused(&nick.post(&at(ECHO, "run"), bound).await, 404);
    let odd = json!({"input": "x", "thread_id": id, "if_not_exists": "perhaps"});
    assert_eq!(nick.post(&at(ECHO, "run"), odd).await.json()["code"], "invalid_if_not_exists");
}

/// A request that comes again under its key is one run, although the thread is there by then.
#[tokio::test]
async fn a_chosen_thread_is_opened_once_under_one_key() {
    let (_server, nick) = echoing().await;
    let body = json!({"input": "one", "thread_id": "0f3c8d2e-7a51-4c0e-9a55-5b6f1f0a7d12", "if_not_exists": "create"});
    let mut runs = Vec::new();
    for _ in 0..3 {
        let answer = nick.call("POST", &at(ECHO, "run"), &[("Idempotency-Key", "k-1")], Some(&body)).await;
        runs.push(accepted(ECHO, &answer).id);
    }
    runs.dedup();
    assert_eq!(runs.len(), 1);
}

/// The run in the query is a part of the request, as it is in the body.
#[tokio::test]
async fn a_key_for_one_run_is_none_for_another() {
    let (_server, nick) = echoing().await;
    let first = chat(&nick, ECHO, &json!({"demo": ["slow"]}).to_string()).await;
    let second = chat_on(&nick, &first, "two").await;
    let third = chat_on(&nick, &first, "three").await;
    let mut answers = Vec::new();
    for run in [&second, &third] {
        let path = at(ECHO, &format!("run?run_id={}", run.id));
        let body = json!({"type": "CancelRequest"});
        answers.push(nick.call("POST", &path, &[("Idempotency-Key", "k-1")], Some(&body)).await);
    }
    assert_eq!(answers[0].status, 202, "{}", answers[0]);
    assert_eq!(refused(&answers[1], 409), "idempotency_key_reused");
    assert_eq!(status(&nick, &third).await["status"], "queued");
    cancel(&nick, &first).await;
}

/// What was begun before its agent was stopped is found again under its key.
#[tokio::test]
async fn a_repeated_request_to_a_stopped_agent_gets_its_run() {
    let (server, nick) = echoing().await;
    let body = json!({"input": "one"});
    let post =
        async |key: &str| nick.call("POST", &at(ECHO, "run"), &[("Idempotency-Key", key)], Some(&body)).await;
    let first = accepted(ECHO, &post("k-1").await).id;
    server.operator().post_empty(&at(ECHO, "stop")).await.ok(200);
    assert_eq!(accepted(ECHO, &post("k-1").await).id, first);
    assert_eq!(refused(&post("k-2").await, 409), "agent_stopped");
}

/// D.8: a thread that is unknown, of another agent, or none at all is 404, and never made.
#[tokio::test]
async fn sc_16_an_unknown_thread_is_404() {
    let (server, nick) = playing().await;
    let other = server.agent("@other.bob").await;
    let here = chat(&nick, ECHO, "x").await;
    let there = chat(&nick, PUPPET, "x").await;
    let foreign = chat(&other, ECHO, "x").await;
    for run in [&here, &there] {
        whole(&nick, run).await;
    }
    let mut answers = Vec::new();
    for id in [&there.thread, &foreign.thread, &here.id, "00000000-0000-4000-8000-000000000000"] {
        for path in ["run", "run?wait=true", "run?wait=result", "stream_request"] {
            let response = nick.post(&at(ECHO, path), json!({"input": "x", "thread_id": id})).await;
            refused(&response, 404);
            answers.push(response.text());
        }
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "absent and foreign look alike: {answers:?}");
    for id in ["", "x", "NEW", "../x"] {
        let response = nick.post(&at(ECHO, "run"), json!({"input": "x", "thread_id": id})).await;
        assert!([404, 422].contains(&response.status), "{response}");
    }
    assert_eq!(list(nick.get(&at(ECHO, "threads")).await.ok(200)).len(), 1, "none was made");
}

/// D.8, 4.2: a request to a busy thread is queued, and runs when the one before is over; other threads go on.
#[tokio::test]
async fn sc_3_a_busy_thread_queues() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let first = chat(&nick, PUPPET, &format!("{}{}", gates.mark("first"), gates.gate("go"))).await;
    gates.reached("first").await;
    let second = chat_on(&nick, &first, &gates.mark("second")).await;
    let third = chat_on(&nick, &first, &format!("{}{}", gates.mark("third"), gates.gate("third-go"))).await;
    for run in [&second, &third] {
        assert_eq!(status(&nick, run).await["status"], "queued");
        assert_eq!(status(&nick, run).await["last_event_id"], 0, "nothing was told of it yet");
    }
    // The same agent serves another thread meanwhile.
    assert_eq!(finish(&outcome(&nick, PUPPET, "text elsewhere").await), "success");
    assert!(!gates.is_reached("second"), "its turn has not come");
    gates.open("go");
    gates.reached("third").await;
    assert!(gates.is_reached("second"), "in order");
    assert_eq!(status(&nick, &second).await["status"], "completed");
    gates.open("third-go");
    for run in [&first, &second, &third] {
        assert_eq!(finish(&whole(&nick, run).await), "success");
    }
    let found = thread(&nick, &first).await.expect("it is listed");
    assert_eq!(found["runs"], json!([first.id, second.id, third.id]));
}

/// Requests that arrive at once on one thread run one after the other, each once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_3_many_at_once_on_one_thread_run_in_turn() {
    let (_server, nick) = echoing().await;
    let first = chat(&nick, ECHO, "first").await;
    let texts: Vec<_> = (0..8).map(|number| format!("number {number}")).collect();
    let runs = join_all(texts.iter().map(|text| chat_on(&nick, &first, text))).await;
    for (run, text) in runs.iter().zip(&texts) {
        assert_eq!(said(&whole(&nick, run).await).concat(), *text);
    }
    let found = thread(&nick, &first).await.expect("it is listed");
    let listed = found["runs"].as_array().expect("a list").clone();
    assert_eq!(listed.len(), 9);
    for run in &runs {
        assert!(listed.contains(&json!(run.id)));
    }
}

/// The queue of a thread has an end, past which a request is refused and nothing of it stays.
#[tokio::test]
async fn sc_3_the_queue_of_a_thread_is_bounded() {
    let (_server, nick) = playing().await;
    let first = acting(&nick, "hang").await;
    let mut queued = Vec::new();
    let refusal = loop {
        assert!(queued.len() < 5_000, "no limit was met");
        let body = json!({"input": "text late", "thread_id": first.thread});
        let response = nick.post(&at(PUPPET, "run"), body).await;
        if response.status != 202 {
            break response;
        }
        queued.push(accepted(PUPPET, &response));
    };
    assert!([409, 429, 503].contains(&refusal.status), "{refusal}");
    refused(&refusal, refusal.status);
    let found = thread(&nick, &first).await.expect("it is listed");
    assert_eq!(found["runs"].as_array().map(Vec::len), Some(queued.len() + 1));
    // Another thread is not concerned, and the queue has room again once a run is over.
    assert_eq!(finish(&outcome(&nick, PUPPET, "text elsewhere").await), "success");
    cancel(&nick, &first).await;
    eventually("the queue takes one again", || async {
        let body = json!({"input": "text later", "thread_id": first.thread});
        (nick.post(&at(PUPPET, "run"), body).await.status == 202).then_some(())
    })
    .await;
    let last = queued.last().expect("some were queued");
    status_becomes(&nick, last, "completed").await;
    assert_eq!(said(&whole(&nick, last).await), ["late"]);
}

/// SC-4: what the agent keeps of a thread is there in its next run. The echo keeps nothing, the program its thread's id.
#[tokio::test]
async fn sc_4_the_agent_is_told_which_thread_goes_on() {
    let (_server, nick) = playing().await;
    let first = chat(&nick, PUPPET, "request").await;
    let second = chat_on(&nick, &first, "request").await;
    for run in [&first, &second] {
        let events = whole(&nick, run).await;
        let request: serde_json::Value = serde_json::from_str(said(&events)[0]).expect("the line was JSON");
        assert_eq!(request["thread_id"], first.thread.as_str());
        assert_eq!(request["run_id"], run.id.as_str());
    }
}

/// Two runs on different threads go on at the same time: each waits for a step of the other.
#[tokio::test]
async fn sc_7_threads_run_at_the_same_time() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let here = chat(&nick, PUPPET, &format!("{}{}text a", gates.mark("a"), gates.gate("b"))).await;
    let there = chat(&nick, PUPPET, &format!("{}{}text b", gates.mark("b"), gates.gate("a"))).await;
    assert_eq!(said(&whole(&nick, &here).await), ["a"]);
    assert_eq!(said(&whole(&nick, &there).await), ["b"]);
}
