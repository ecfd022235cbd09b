//! Runs and threads as lists and as status: SC-40, SC-41, SC-48.

use serde_json::{Value, json};

use super::speak::{
    ECHO, PUPPET, assert_uuid, at, cancel, chat, chat_on, echoing, finish, list, playing, resume, running,
    status, status_becomes, thread, whole,
};

/// SC-40: the status follows the run: running, waiting, running, canceled; queued behind it.
#[tokio::test]
async fn sc_40_the_status_follows_the_run() {
    let (_server, nick) = playing().await;
    let run = chat(&nick, PUPPET, "ask a=A?\nhang").await;
    let waiting = status_becomes(&nick, &run, "waiting").await;
    assert!(waiting["finish_reason"].is_null() && waiting["result"].is_null(), "{waiting}");
    assert_eq!(waiting["last_event_id"], 2, "RunStarted and WaitForInput: {waiting}");
    let queued = chat_on(&nick, &run, "text x").await;
    assert_eq!(status(&nick, &queued).await["status"], "queued");
    resume(&nick, &run, json!({"a": "x"})).await;
    running(&nick, &run).await;
    cancel(&nick, &run).await;
    let ended = status_becomes(&nick, &run, "canceled").await;
    assert_eq!(ended["finish_reason"], "canceled", "{ended}");
    assert_eq!(finish(&whole(&nick, &queued).await), "success");
}

/// SC-41, 4.2: an array of threads, each with its runs.
#[tokio::test]
async fn sc_41_threads_are_listed_with_their_runs() {
    let (_server, nick) = playing().await;
    assert_eq!(nick.get(&at(ECHO, "threads")).await.ok(200), json!([]));
    let first = chat(&nick, ECHO, "one").await;
    let second = chat_on(&nick, &first, "two").await;
    let other = chat(&nick, ECHO, "other").await;
    let elsewhere = chat(&nick, PUPPET, "text x").await;
    for run in [&first, &second, &other, &elsewhere] {
        whole(&nick, run).await;
    }
    let threads = list(nick.get(&at(ECHO, "threads")).await.ok(200));
    assert_eq!(threads.len(), 2, "{threads:?}");
    for thread in &threads {
        for member in ["thread_id", "id", "agent", "created_at", "updated_at", "runs"] {
            assert!(!thread[member].is_null(), "{member} is missing: {thread}");
        }
        assert_eq!(thread["thread_id"], thread["id"], "{thread}");
        assert_uuid(thread["id"].as_str().unwrap_or_default());
        assert_eq!(thread["agent"], ECHO);
        assert!(thread["title"].is_null() || thread["title"].is_string(), "{thread}");
    }
    assert_eq!(thread(&nick, &first).await.expect("listed")["runs"], json!([first.id, second.id]));
    assert_eq!(thread(&nick, &other).await.expect("listed")["runs"], json!([other.id]));
    assert!(thread(&nick, &elsewhere).await.is_some(), "under its own agent");
}

/// SC-48: threads are listed, and each is replayed from what the list says.
#[tokio::test]
async fn sc_48_listed_threads_replay() {
    let (mut server, nick) = echoing().await;
    let mut wanted: Vec<(String, Vec<Value>)> = Vec::new();
    for number in 0..3 {
        let run = chat(&nick, ECHO, &format!("first of {number}")).await;
        let next = chat_on(&nick, &run, "next").await;
        wanted.push((run.thread.clone(), [whole(&nick, &run).await, whole(&nick, &next).await].concat()));
    }
    for _ in 0..2 {
        let threads = list(nick.get(&at(ECHO, "threads")).await.ok(200));
        assert_eq!(threads.len(), wanted.len());
        for listed in threads {
            let id = listed["thread_id"].as_str().expect("an id");
            let replayed = list(nick.get(&at(ECHO, &format!("get_events/{id}"))).await.ok(200));
            let (_, events) = wanted.iter().find(|(thread, _)| thread == id).expect("one of ours");
            assert_eq!(replayed, *events, "replay equals live");
        }
        server.crash().await;
    }
}

/// Times are RFC 3339 in UTC, and a run's end is not before its beginning.
#[tokio::test]
async fn sc_40_times_are_in_order() {
    let (_server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "x").await;
    whole(&nick, &run).await;
    let found = status(&nick, &run).await;
    let time = |member: &str| found[member].as_str().unwrap_or_else(|| panic!("{member} is a text: {found}"));
    let (created, updated) = (time("created_at"), time("updated_at"));
    for text in [created, updated] {
        assert!(text.len() >= 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T', "RFC 3339: {text}");
    }
    assert!(created[..19] <= updated[..19], "{found}");
}
