//! `GET …/get_events` without a stream: SC-12, SC-36, SC-38, SC-42; D.8.

use blackbox::{Caller, Connection, PATIENCE};
use serde_json::{Value, json};

use super::speak::{
    ECHO, Gates, PUPPET, Run, at, cancel, chat, chat_on, echoing, events_of, finish, ids, known, list,
    playing, poll, refused, said, status_becomes, types, whole,
};

use super::sse::Events;

async fn poll_as(who: &Caller, run: &Run, reader: &str) -> Vec<Value> {
    list(who.call("GET", &events_of(run, ""), &[("X-Reader", reader)], None).await.ok(200))
}

/// SC-36: what is queued since the last call, each event once, then nothing.
#[tokio::test]
async fn sc_36_a_poll_drains() {
    let (_server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "hello there").await;
    let all = whole(&nick, &run).await;
    assert_eq!(poll(&nick, &run).await, all, "streams consume nothing");
    assert_eq!(poll(&nick, &run).await, Vec::<Value>::new(), "an empty array when there is nothing (4.2)");
    let explicit = list(nick.get(&events_of(&run, "?stream=false")).await.ok(200));
    assert!(explicit.is_empty());
    assert_eq!(known(&nick, &run).await, all, "with since everything is still there");
}

/// SC-12, SC-36: polls while the run goes on bring all of it, in pieces, without gap or repeat.
#[tokio::test]
async fn sc_12_sc_36_polls_bring_everything_once() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let script = format!("text a\n{}text b\n{}text c", gates.gate("a"), gates.gate("b"));
    let run = chat(&nick, PUPPET, &script).await;
    let mut heard: Vec<Value> = Vec::new();
    let polls = async {
        for text in ["a", "b", "c"] {
            while !said(&heard).contains(&text) {
                heard.extend(poll(&nick, &run).await);
            }
            gates.open(text);
        }
        while heard.last().is_none_or(|event| event["type"] != "RunCompleted") {
            heard.extend(poll(&nick, &run).await);
        }
    };
    tokio::time::timeout(PATIENCE, polls).await.expect("the run is over in time");
    assert_eq!(heard, whole(&nick, &run).await);
}

/// D.8: `X-Reader` names a reader; each has a queue of its own.
#[tokio::test]
async fn sc_36_readers_do_not_take_from_each_other() {
    let (server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "x").await;
    let all = whole(&nick, &run).await;
    for reader in ["a", "b", "0123456789-._~!"] {
        assert_eq!(poll_as(&nick, &run, reader).await, all, "{reader}");
        assert!(poll_as(&nick, &run, reader).await.is_empty(), "{reader}");
    }
    assert_eq!(poll(&nick, &run).await, all, "the reader without a name is another one");
    // What the operator reads is not taken from the requester.
    assert_eq!(poll_as(&server.operator(), &run, "a").await, all);
    // Whoever invents readers without end is stopped, or costs nothing.
    for number in 0..300 {
        let response =
            nick.call("GET", &events_of(&run, ""), &[("X-Reader", &format!("r{number}"))], None).await;
        assert!([200, 429].contains(&response.status), "{response}");
    }
    let long = "x".repeat(4_000);
    let response = nick.call("GET", &events_of(&run, ""), &[("X-Reader", &long)], None).await;
    assert!([200, 400, 422, 431].contains(&response.status), "{response}");
}

/// A token with a scope may only read, so it takes nothing from the agent's own readers.
#[tokio::test]
async fn sc_36_a_token_with_a_scope_has_readers_of_its_own() {
    let (server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "x").await;
    let all = whole(&nick, &run).await;
    let made = nick.post("/agents/me/tokens", json!({"scope": "runs:read"})).await.ok(201);
    let reads = server.bearer(made["token"].as_str().expect("a token"));
    assert_eq!(poll(&reads, &run).await, all);
    assert!(poll(&reads, &run).await.is_empty());
    assert_eq!(poll_as(&reads, &run, "worker").await, all);
    assert_eq!(poll(&nick, &run).await, all);
    assert_eq!(poll_as(&nick, &run, "worker").await, all);
}

/// 4.4 no. 2: the run in the query is the run in the path.
#[tokio::test]
async fn sc_12_the_run_may_stand_in_the_query() {
    let (_server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "x").await;
    let all = whole(&nick, &run).await;
    let path = at(ECHO, &format!("get_events?run_id={}", run.id));
    assert_eq!(list(nick.get(&format!("{path}&since=0")).await.ok(200)), all);
    assert_eq!(list(nick.get(&path).await.ok(200)), all);
    assert!(poll(&nick, &run).await.is_empty(), "it is one queue");
    let thread = at(ECHO, &format!("get_events?thread_id={}", run.thread));
    assert_eq!(list(nick.get(&thread).await.ok(200)), all);
}

/// SC-42: numbers are of one run each, so `since` in a thread leaves out nothing of its later runs; and what it names is
/// there, or the caller is told so.
#[tokio::test]
async fn sc_42_since_in_a_thread_leaves_out_no_later_run() {
    let (server, nick) = echoing().await;
    let first = chat(&nick, ECHO, "one two three four five").await;
    let mut all = whole(&nick, &first).await;
    let last = *ids(&all).last().expect("an end");
    let begun = all.len();
    let second = chat_on(&nick, &first, "two").await;
    all.extend(whole(&nick, &second).await);
    let view = |query: &str| at(ECHO, &format!("get_events/{}?{query}", first.thread));
    for (since, from) in [
        ("0".to_owned(), 0),
        (last.to_string(), begun),
        ((last + 7).to_string(), begun),
        (format!("{}:{last}", first.id), begun),
        (format!("{}:0", second.id), begun),
        (format!("{}:1", second.id), begun + 1),
    ] {
        let query = format!("since={since}");
        assert_eq!(list(nick.get(&view(&query)).await.ok(200)), all[from..], "{query}");
        if since != (last + 7).to_string() {
            let followed = Events::get(&nick, &view(&format!("{query}&stream=true"))).await.rest().await;
            assert_eq!(followed, all[from..], "{query}, followed");
        }
    }
    let other = chat(&nick, ECHO, "elsewhere").await;
    whole(&nick, &other).await;
    for run in [&other.id, "00000000-0000-4000-8000-000000000000"] {
        for query in [format!("since={run}:1"), format!("since={run}:1&stream=true")] {
            assert_eq!(refused(&nick.get(&view(&query)).await, 404), "run_not_found");
            assert_eq!(
                refused(&nick.get(&events_of(&first, &format!("?{query}"))).await, 404),
                "run_not_found"
            );
        }
    }
    drop(server);
}

/// SC-37: whoever goes on behind an event that there is not is told so, and does not miss what comes before it.
#[tokio::test]
async fn sc_37_a_place_ahead_of_the_log_is_refused() {
    let (_server, nick) = playing().await;
    let run = chat(&nick, PUPPET, "text a\nask name=Name?\ntext b").await;
    status_becomes(&nick, &run, "waiting").await;
    let stream = events_of(&run, "?stream=true");
    let thread = at(PUPPET, &format!("get_events/{}?stream=true", run.thread));
    for (path, ahead) in
        [(&stream, "9".to_owned()), (&thread, format!("{}:9", run.id)), (&thread, "9".to_owned())]
    {
        let response = nick.call("GET", path, &[("Last-Event-ID", &ahead)], None).await;
        assert_eq!(refused(&response, 422), "invalid_since", "{path} {ahead}");
        assert!(response.text().contains("its last event is 3"), "{response}");
    }
    cancel(&nick, &run).await;
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
}

/// The view of a thread shows a run while it goes on.
#[tokio::test]
async fn sc_42_a_thread_shows_what_is_there_so_far() {
    let (_server, nick) = playing().await;
    let run = chat(&nick, PUPPET, "text a\nask name=Name?\ntext b").await;
    status_becomes(&nick, &run, "waiting").await;
    let view = at(PUPPET, &format!("get_events/{}", run.thread));
    let events = list(nick.get(&view).await.ok(200));
    assert_eq!(types(&events), ["RunStarted", "TextOutput", "WaitForInput"]);
    cancel(&nick, &run).await;
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
}

/// D.8: what is unknown, or of another agent, is 404.
#[tokio::test]
async fn sc_12_unknown_runs_are_404() {
    let (server, nick) = playing().await;
    let other = server.agent("@other.bob").await;
    let here = chat(&nick, ECHO, "x").await;
    let foreign = chat(&other, ECHO, "x").await;
    let there = chat(&nick, PUPPET, "text x").await;
    for run in [&here, &there] {
        whole(&nick, run).await;
    }
    let absent = "00000000-0000-4000-8000-000000000000";
    let mut answers = Vec::new();
    for id in [absent, &there.id, &there.thread, &foreign.id, &foreign.thread] {
        for path in [
            format!("get_events/{id}"),
            format!("get_events/{id}?since=0"),
            format!("get_events/{id}?stream=true"),
            format!("get_events?run_id={id}"),
            format!("get_events?thread_id={id}"),
            format!("runs/{id}"),
        ] {
            let response = nick.get(&at(ECHO, &path)).await;
            refused(&response, 404);
            answers.push((path.replace(id, "ID"), response.fingerprint().replace(id, "ID")));
        }
    }
    answers.sort();
    answers.dedup();
    assert_eq!(answers.len(), 6, "absent and foreign look alike on each path: {answers:?}");
    for id in ["x", "", "%2e%2e", &here.id.to_uppercase(), "0"] {
        let response = nick.get(&at(ECHO, &format!("get_events/{id}"))).await;
        assert!([200, 404, 422].contains(&response.status), "{response}");
    }
    // A run is no thread and a thread no run.
    refused(&nick.get(&at(ECHO, &format!("runs/{}", here.thread))).await, 404);
    assert_eq!(json!(here.id), nick.get(&at(ECHO, &format!("runs/{}", here.id))).await.ok(200)["run_id"]);
}

/// SC-36: HEAD looks and takes nothing (RFC 9110, 9.2.1).
#[tokio::test]
async fn sc_36_head_consumes_nothing() {
    let (_server, nick) = echoing().await;
    let run = chat(&nick, ECHO, "hello").await;
    let all = whole(&nick, &run).await;
    for path in [events_of(&run, ""), at(ECHO, &format!("get_events?run_id={}", run.id))] {
        let mut connection = Connection::open(nick.address().place()).await.expect("a connection");
        connection.send(&nick.request("HEAD", &path, &[], None)).await.expect("it is sent");
        let head = connection.response_head().await.expect("a head");
        assert_eq!(head.status, 200, "{head}");
    }
    assert_eq!(poll(&nick, &run).await, all);
}

/// The link to the rest names the run where the path does not.
#[tokio::test]
async fn sc_36_a_link_says_the_whole_of_how_to_go_on() {
    let (_server, nick) = playing().await;
    let run = chat(&nick, PUPPET, "many 1500 t").await;
    assert_eq!(whole(&nick, &run).await.len(), 1_502);
    let ids = [format!("run_id={}", run.id), format!("thread_id={}", run.thread)];
    for which in ids {
        let first = nick.get(&at(PUPPET, &format!("get_events?{which}&since=0"))).await;
        let link = first.header("link").expect("there is more").to_owned();
        let query = link.split_once("<?").and_then(|(_, rest)| rest.split_once('>')).expect("a query").0;
        let second = nick.get(&at(PUPPET, &format!("get_events?{query}"))).await;
        let events = [list(first.ok(200)), list(second.ok(200))].concat();
        assert_eq!(events.len(), 1_502, "{which}: {link}");
    }
}

/// SC-38, SC-42: a place in a thread with several runs at once: what was before it does not come again, in a list or a
/// stream, and a stream of a thread with an active run stays open although an earlier run left the thread idle.
#[tokio::test]
async fn sc_38_sc_42_what_other_runs_said_before_a_place_is_not_said_again() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let idle = chat(&nick, PUPPET, "text idle").await;
    whole(&nick, &idle).await;
    let first = format!("text a\n{}{}text b", gates.mark("on"), gates.gate("go"));
    let first = chat_on(&nick, &idle, &first).await;
    gates.reached("on").await;
    let queued = [chat_on(&nick, &idle, "text c").await, chat_on(&nick, &idle, "text d").await];
    // Its two events stand between those of the active run.
    cancel(&nick, &queued[0]).await;
    let view = |query: &str| at(PUPPET, &format!("get_events/{}?{query}", idle.thread));
    let mut followed = Events::get(&nick, &view("stream=true")).await;
    gates.open("go");
    let followed = followed.rest().await;
    whole(&nick, &queued[1]).await;
    let all = list(nick.get(&view("since=0")).await.ok(200));
    assert_eq!(followed, all, "the stream lasts until the thread is idle");
    let place = |event: &Value| format!("{}:{}", event["run_id"].as_str().expect("a run"), event["id"]);
    let runs: Vec<_> = all.iter().map(|event| event["run_id"].clone()).collect();
    let between = runs.iter().position(|run| *run == json!(queued[0].id)).expect("it was canceled");
    assert_eq!((&runs[between - 1], &runs[between + 2]), (&json!(first.id), &json!(first.id)));
    for (nth, event) in all.iter().enumerate() {
        let since = place(event);
        let listed = list(nick.get(&view(&format!("since={since}"))).await.ok(200));
        assert_eq!(listed, all[nth + 1..], "{since}");
        let mut resumed = Events::get_with(&nick, &view("stream=true"), &[("Last-Event-ID", &since)]).await;
        assert_eq!(resumed.rest().await, all[nth + 1..], "{since}, followed");
    }
}
