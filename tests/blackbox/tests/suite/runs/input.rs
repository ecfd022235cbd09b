//! A person in the loop: SC-44, SC-45; and cancelling: SC-46; D.8.

use serde_json::{Value, json};

use super::speak::{
    ECHO, Gates, PUPPET, Run, acting, at, cancel, chat, chat_on, events_of, finish, known, playing, poll,
    refused, resume, running, said, status, status_becomes, tell, types, whole,
};

/// SC-44: the run pauses; SC-45: the answer reaches it, and it goes on under its id.
#[tokio::test]
async fn sc_44_sc_45_a_question_pauses_and_its_answer_resumes() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let run =
        chat(&nick, PUPPET, &format!("text a\nask name=Your name?\n{}whole-answer", gates.mark("on"))).await;
    status_becomes(&nick, &run, "waiting").await;
    let asked = poll(&nick, &run).await;
    assert_eq!(types(&asked), ["RunStarted", "TextOutput", "WaitForInput"]);
    assert_eq!(asked[2]["request_keys"], json!({"name": "Your name?"}));
    assert!(!gates.is_reached("on"), "it waits");
    let keys = json!({"name": "Ann \u{1f600}", "deep": {"a": [1, 2.5, null]}});
    resume(&nick, &run, keys.clone()).await;
    let events = whole(&nick, &run).await;
    let answer: Value = serde_json::from_str(said(&events)[1]).expect("the line was JSON");
    let line =
        json!({"type": "ResumeWithInput", "request_keys": keys, "run_id": run.id, "thread_id": run.thread});
    for (member, value) in line.as_object().expect("an object") {
        assert_eq!(&answer[member], value, "{member}: {answer}");
    }
    assert_eq!(poll(&nick, &run).await, events[3..], "the queue went on where it was");
    assert_eq!(finish(&events), "success");
}

/// 4.4 no. 6 and 7: without a type it is told by its members; the run may stand in the query.
#[tokio::test]
async fn sc_23_types_are_told_by_members() {
    let (_server, nick) = playing().await;
    let path = at(PUPPET, "run");
    let run = chat(&nick, PUPPET, "ask a=A?\nanswer\nask b=B?\nanswer\nhang").await;
    status_becomes(&nick, &run, "waiting").await;
    let response = nick.post(&path, json!({"request_keys": {"a": 1}, "run_id": run.id})).await;
    assert_eq!(response.status, 202, "{response}");
    let next = || async {
        known(&nick, &run).await.iter().any(|event| event["request_keys"]["b"] == "B?").then_some(())
    };
    blackbox::eventually("the second question", next).await;
    let response = nick.post(&format!("{path}?run_id={}", run.id), json!({"request_keys": {"b": 2}})).await;
    assert_eq!(response.status, 202, "{response}");
    running(&nick, &run).await;
    let response = nick.post(&path, json!({"run_id": run.id})).await;
    assert_eq!(response.status, 202, "run_id only is cancel: {response}");
    let events = whole(&nick, &run).await;
    assert_eq!((finish(&events), said(&events)), ("canceled", vec!["{\"a\":1}", "{\"b\":2}"]));
    // The run of a cancel may stand in the query too.
    let run = acting(&nick, "hang").await;
    let response = nick.post(&format!("{path}?run_id={}", run.id), json!({"type": "CancelRequest"})).await;
    assert_eq!(response.status, 202, "{response}");
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
}

/// D.8: 409 `run_not_active` where there is nothing to resume.
#[tokio::test]
async fn sc_45_resuming_what_does_not_wait_is_409() {
    let (_server, nick) = playing().await;
    let over = chat(&nick, ECHO, "x").await;
    whole(&nick, &over).await;
    let active = acting(&nick, "hang").await;
    let queued = chat_on(&nick, &active, "text x").await;
    for run in [&over, &active, &queued] {
        let response = tell(&nick, run, "ResumeWithInput", json!({"request_keys": {"a": "x"}})).await;
        assert_eq!(refused(&response, 409), "run_not_active", "{response}");
    }
    cancel(&nick, &active).await;
    assert_eq!(finish(&whole(&nick, &queued).await), "success");
}

/// A question is answered once: of answers at once one is taken, the others are 409.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_45_a_question_is_answered_once() {
    let (_server, nick) = playing().await;
    for _ in 0..5 {
        let run = chat(&nick, PUPPET, "ask a=A?\nanswer\nhang").await;
        status_becomes(&nick, &run, "waiting").await;
        let answers = (0..6).map(|number| tell_number(&nick, &run, number));
        let answers = futures_util::future::join_all(answers).await;
        let taken: Vec<_> = answers.iter().filter(|response| response.status == 202).collect();
        assert_eq!(taken.len(), 1, "{answers:#?}");
        for response in answers.iter().filter(|response| response.status != 202) {
            assert_eq!(refused(response, 409), "run_not_active");
        }
        blackbox::eventually("the answer is said", || async {
            (!said(&known(&nick, &run).await).is_empty()).then_some(())
        })
        .await;
        cancel(&nick, &run).await;
        let events = whole(&nick, &run).await;
        assert_eq!(said(&events).len(), 1, "{events:?}");
    }
}

async fn tell_number(who: &blackbox::Caller, run: &Run, number: usize) -> blackbox::Response {
    tell(who, run, "ResumeWithInput", json!({"request_keys": {"a": number}})).await
}

/// SC-46: a running, a waiting and a queued run end `canceled`.
#[tokio::test]
async fn sc_46_cancel_ends_a_run() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let active = acting(&nick, "text a\nhang").await;
    let waiting = chat(&nick, PUPPET, "ask a=A?").await;
    status_becomes(&nick, &waiting, "waiting").await;
    let queued = chat_on(&nick, &active, &gates.mark("queued")).await;
    let behind = chat_on(&nick, &active, "text behind").await;
    cancel(&nick, &queued).await;
    status_becomes(&nick, &queued, "canceled").await;
    for run in [&waiting, &active] {
        cancel(&nick, run).await;
        let events = whole(&nick, run).await;
        assert_eq!(finish(&events), "canceled");
        assert_eq!(status(&nick, run).await["status"], "canceled");
    }
    assert_eq!(said(&whole(&nick, &behind).await), ["behind"], "the thread goes on");
    assert!(!gates.is_reached("queued"), "what was canceled in the queue never ran");
    let events = whole_of_queued(&nick, &queued).await;
    assert_eq!(events.last().expect("an end")["finish_reason"], "canceled");
}

/// The events of a run that never started may lack RunStarted.
async fn whole_of_queued(who: &blackbox::Caller, run: &Run) -> Vec<Value> {
    let path = events_of(run, "?stream=true");
    super::sse::Events::get(who, &path).await.rest().await
}

/// D.8: 409 on a run that is over, also when it was canceled; a second cancel changes nothing.
#[tokio::test]
async fn sc_46_cancelling_what_is_over_is_409() {
    let (_server, nick) = playing().await;
    let over = chat(&nick, ECHO, "x").await;
    let events = whole(&nick, &over).await;
    let canceled = acting(&nick, "hang").await;
    cancel(&nick, &canceled).await;
    whole(&nick, &canceled).await;
    for run in [&over, &canceled] {
        let response = tell(&nick, run, "CancelRequest", json!({})).await;
        assert_eq!(refused(&response, 409), "run_not_active");
    }
    assert_eq!(known(&nick, &over).await, events);
}

/// A run of another agent, or of nobody, is 404 for both requests.
#[tokio::test]
async fn sc_46_runs_elsewhere_are_404() {
    let (_server, nick) = playing().await;
    let run = acting(&nick, "hang").await;
    for id in [run.id.as_str(), "00000000-0000-4000-8000-000000000000"] {
        for body in [
            json!({"type": "CancelRequest", "run_id": id}),
            json!({"run_id": id}),
            json!({"type": "ResumeWithInput", "run_id": id, "request_keys": {}}),
            json!({"run_id": id, "request_keys": {"a": "b"}}),
        ] {
            refused(&nick.post(&at(ECHO, "run"), body).await, 404);
        }
    }
    assert_eq!(status(&nick, &run).await["status"], "running");
    cancel(&nick, &run).await;
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
}

/// A cancel that races the end: the run has one end, whichever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_46_a_race_has_one_end() {
    let (_server, nick) = playing().await;
    for _ in 0..20 {
        let gates = Gates::new();
        let run = chat(&nick, PUPPET, &format!("{}{}done x", gates.mark("on"), gates.gate("go"))).await;
        gates.reached("on").await;
        gates.open("go");
        let response = tell(&nick, &run, "CancelRequest", json!({})).await;
        assert!([202, 409].contains(&response.status), "{response}");
        let events = whole(&nick, &run).await;
        if response.status == 409 {
            assert_eq!(finish(&events), "success");
        }
        assert_eq!(status(&nick, &run).await["finish_reason"], finish(&events));
    }
}
