//! Programs that take too much: time, events, bytes. A run past a limit ends `error`, and the server goes on.

use std::time::Duration;

use blackbox::{eventually, in_time};

use super::gone;
use crate::runs::speak::{
    ECHO, PUPPET, chat, events_of, finish, hosted, list, outcome, puppet, resume, said, serving,
    status_becomes, types, whole,
};
use crate::runs::sse::Events;

/// A server with a program that has these limits, and the agent `echo`, which has none.
async fn limited(limits: &str) -> (blackbox::Server, blackbox::Agent) {
    let lines = format!("{}\n{limits}", puppet(&["lines"]));
    let server = serving(&[hosted(PUPPET, &lines), hosted(ECHO, "kind = \"echo\"")]).await;
    let nick = server.agent("@nick.ann").await;
    (server, nick)
}

/// A run that takes too long ends, and its program with it.
#[tokio::test]
async fn sc_26_time_is_limited() {
    let (_server, nick) = limited("time_max = \"1s\"").await;
    for script in ["hang", "deaf\nhang"] {
        // On a busy machine the time may be over before the program says its id.
        let pid = eventually("a program that was ended had said its id", || async {
            let script = format!("pid\n{script}");
            let events = in_time("a run past its time", outcome(&nick, PUPPET, &script)).await;
            assert_eq!(finish(&events), "error", "{script}");
            said(&events).first().map(|pid| (*pid).to_owned())
        })
        .await;
        gone(&pid).await;
    }
    assert_eq!(finish(&outcome(&nick, ECHO, "quick").await), "success");
}

/// Waiting for a person is counted apart from working.
#[tokio::test]
async fn sc_44_waiting_has_a_limit_of_its_own() {
    let (_server, nick) = limited("time_max = \"1h\"\nwaiting_max = \"1s\"").await;
    let events = in_time("a run that waits too long", outcome(&nick, PUPPET, "ask a=A?\ntext never")).await;
    assert_eq!(types(&events), ["RunStarted", "WaitForInput", "RunCompleted"]);
    assert!(["error", "canceled"].contains(&finish(&events)), "{events:?}");
    // Time enough for a program that starts on a busy machine.
    let (_server, nick) = limited("time_max = \"20s\"").await;
    let run = chat(&nick, PUPPET, "ask a=A?\ntext thanks").await;
    status_becomes(&nick, &run, "waiting").await;
    blackbox::strike_after(Duration::from_millis(20_500)).await;
    resume(&nick, &run, serde_json::json!({"a": "late"})).await;
    assert_eq!(finish(&whole(&nick, &run).await), "success", "a person may take longer than a program");
}

/// A run may tell only so much.
#[tokio::test]
async fn sc_26_events_and_bytes_are_limited() {
    let (_server, nick) = limited("events_max = 50").await;
    let run = chat(&nick, PUPPET, "many 500 t\nhang").await;
    let events = whole(&nick, &run).await;
    assert_eq!(finish(&events), "error");
    assert!(events.len() <= 60 && said(&events).len() >= 40, "{}", events.len());
    let (_server, nick) = limited("octets_max = 20000").await;
    let run = chat(&nick, PUPPET, "flood").await;
    let events = whole(&nick, &run).await;
    assert_eq!(finish(&events), "error");
    assert!((5..=21).contains(&said(&events).len()), "{}", said(&events).len());
    assert_eq!(list(nick.get(&events_of(&run, "?since=0")).await.ok(200)), events);
}

/// A program that floods meets the limit, costs bounded memory, and holds no other run up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_26_a_flood_holds_nobody_up() {
    let (server, nick) = limited("octets_max = 30000000").await;
    let before = server.resident_kib();
    let flood = chat(&nick, PUPPET, "flood").await;
    let mut stalled = Events::get(&nick, &events_of(&flood, "?stream=true")).await;
    for _ in 0..5 {
        assert_eq!(finish(&outcome(&nick, ECHO, "quick").await), "success");
    }
    let ended = status_becomes(&nick, &flood, "error").await;
    assert_eq!(ended["finish_reason"], "error");
    let grown = server.resident_kib().saturating_sub(before);
    assert!(grown < 150 * 1024, "30 MB of events cost {grown} KiB");
    let events = stalled.rest().await;
    assert_eq!(finish(&events), "error", "who was not read meanwhile gets all of it");
    assert_eq!(u64::try_from(events.len()).ok(), ended["last_event_id"].as_u64());
}
