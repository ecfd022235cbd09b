//! A run that waits is a request to the people of whoever started it, and their answer goes into it.

use blackbox::{Caller, eventually};
use serde_json::json;

use super::speak::{
    PUPPET, Run, cancel, chat, playing, refused, resume, said, status, status_becomes, tell, whole,
};
use crate::requests::{at, listed};

#[tokio::test]
async fn a_run_that_waits_is_answered_from_the_inbox_of_the_person() {
    let (server, nick) = playing().await;
    let owner = server.owner("nick").await;
    let run = chat(&nick, PUPPET, "text a\nask name=Your name?\nwhole-answer").await;
    let page = listed(&owner, "run_input", 1).await;
    let request = &page["requests"][0];
    assert_eq!((&request["from"], &request["source"]["room"]), (&json!(nick.handle), &json!("runs")));
    assert_eq!(request["action"]["args"], json!({"name": "Your name?"}));
    let place = request["source"]["url"].as_str().expect("a URL");
    assert_eq!(nick.get(place).await.ok(200)["run_id"], run.id);
    let answer = json!({"type": "respond", "text": "Ann", "version": request["version"]});
    let id = request["request_id"].as_str().expect("an id");
    owner.post(&at(id, "/answer"), answer).await.ok(200);
    status_becomes(&nick, &run, "completed").await;
}

#[tokio::test]
async fn a_run_that_was_answered_elsewhere_waits_for_no_person() {
    let (server, nick) = playing().await;
    let owner = server.owner("nick").await;
    let run = chat(&nick, PUPPET, "text a\nask name=Your name?\nwhole-answer").await;
    listed(&owner, "run_input", 1).await;
    resume(&nick, &run, json!({"name": "Ann"})).await;
    listed(&owner, "run_input", 0).await;
    let page = owner.get("/requests?state=withdrawn").await.ok(200);
    assert_eq!(page["requests"][0]["kind"], "run_input");
}

#[tokio::test]
async fn a_run_that_is_told_to_stop_waits_for_nobody() {
    let (server, nick) = playing().await;
    let owner = server.owner("nick").await;
    let run = chat(&nick, PUPPET, "insist\nask name=Your name?\nwhole-answer").await;
    status_becomes(&nick, &run, "waiting").await;
    listed(&owner, "run_input", 1).await;
    cancel(&nick, &run).await;
    // The agent does not listen, so the run ends some seconds later.
    let late = json!({"request_keys": {"name": "Ann"}});
    assert_eq!(refused(&tell(&nick, &run, "ResumeWithInput", late).await, 409), "run_not_active");
    listed(&owner, "run_input", 0).await;
}

/// A person gives each value that the run asks for.
#[tokio::test]
async fn an_answer_has_each_value_and_no_other() {
    let (server, nick) = playing().await;
    let owner = server.owner("nick").await;
    let run = chat(&nick, PUPPET, "ask a=A?\nwhole-answer").await;
    let request = listed(&owner, "run_input", 1).await["requests"][0].clone();
    let path = at(request["request_id"].as_str().expect("an id"), "/answer");
    let answer = |args| json!({"type": "edit", "args": args, "version": request["version"]});
    for wrong in [json!({}), json!({"a": "1", "b": "2"}), json!({"zzz": 1})] {
        owner.post(&path, answer(wrong)).await.assert_refused(400, "invalid_answer");
    }
    owner.post(&path, answer(json!({"a": "1"}))).await.ok(200);
    status_becomes(&nick, &run, "completed").await;
}

/// The agent asks at once again when it was answered: an answer to its first question that stands only then is none to the next.
#[tokio::test]
async fn an_answer_is_not_given_to_the_next_question() {
    let (server, nick) = playing().await;
    let owner = server.owner("nick").await;
    let run = chat(&nick, PUPPET, "ask a=May I list?\nanswer\nask a=May I remove?\nanswer").await;
    let first = listed(&owner, "run_input", 1).await["requests"][0].clone();
    let first_id = first["request_id"].as_str().expect("an id");
    let late = json!({"type": "respond", "text": "yes", "version": first["version"], "undo_seconds": 2});
    owner.post(&at(first_id, "/answer"), late).await.ok(200);
    resume(&nick, &run, json!({"a": "no"})).await;
    let second = listed(&owner, "run_input", 1).await["requests"][0].clone();
    assert_eq!(second["action"]["args"], json!({"a": "May I remove?"}));
    let withdrawn = async || {
        let state = owner.get(&at(first_id, "")).await.ok(200)["state"].clone();
        (state == "withdrawn").then_some(())
    };
    eventually("the first question waits no more", withdrawn).await;
    // Another answer, given later and with as long to undo it, counts only after the first would have.
    let witness = nick.post("/requests", json!({"kind": "question", "title": "Which branch?"})).await.ok(201);
    let witness = witness["request_id"].as_str().expect("an id");
    let answer = json!({"type": "respond", "text": "main", "version": 1, "undo_seconds": 2});
    owner.post(&at(witness, "/answer"), answer).await.ok(200);
    assert_eq!(nick.get(&at(witness, "?wait=60")).await.ok(200)["answer"]["text"], "main");
    assert_eq!(status(&nick, &run).await["status"], "waiting");
    let stale = json!({"request_keys": {"a": "yes"}, "event_id": asked(&nick, &run).await - 2});
    assert_eq!(refused(&tell(&nick, &run, "ResumeWithInput", stale).await, 409), "run_not_active");
    let named = json!({"request_keys": {"a": "never"}, "event_id": asked(&nick, &run).await});
    assert_eq!(tell(&nick, &run, "ResumeWithInput", named).await.status, 202);
    assert_eq!(said(&whole(&nick, &run).await), [r#"{"a":"no"}"#, r#"{"a":"never"}"#]);
    let odd = json!({"request_keys": {}, "event_id": "1"});
    assert_eq!(refused(&tell(&nick, &run, "ResumeWithInput", odd).await, 422), "invalid_event_id");
}

/// The id of the WaitForInput that a run waits with.
async fn asked(who: &Caller, run: &Run) -> u64 {
    status(who, run).await["event_id"].as_u64().expect("the id of what is asked")
}
