//! Several runs at once, by several processes or by one: D.8 (`run_id` is allowed, and needed when one process serves
//! several runs).

use futures_util::future::join_all;
use serde_json::json;

use crate::runs::speak::{
    Gates, PUPPET, cancel, chat, finish, hosted, playing, puppet, resume, running, said, serving,
    status_becomes, types, whole,
};

/// Twenty runs on twenty threads, each with its own events, whether the program names its run or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_22_many_runs_at_once_stay_apart() {
    for flags in [&["lines"][..], &["lines", "--named"]] {
        let server = serving(&[hosted(PUPPET, &puppet(flags))]).await;
        let nick = server.agent("@nick.ann").await;
        let runs = join_all((0..20).map(|number| {
            let nick = nick.clone();
            async move {
                let run = chat(&nick, PUPPET, &format!("many 20 {number}-\ndone {number}")).await;
                (number, whole(&nick, &run).await)
            }
        }))
        .await;
        for (number, events) in runs {
            let wanted: Vec<_> = (0..20).map(|at| format!("{number}-{at}")).collect();
            assert_eq!(said(&events), wanted, "{flags:?}");
            assert_eq!(events.last().expect("an end")["result"], number.to_string());
        }
    }
}

#[tokio::test]
async fn sc_45_answers_reach_the_run_that_asked() {
    let server = serving(&[hosted(PUPPET, &puppet(&["lines", "--named"]))]).await;
    let nick = server.agent("@nick.ann").await;
    let one = chat(&nick, PUPPET, "ask a=A?\nanswer").await;
    let two = chat(&nick, PUPPET, "ask a=A?\nanswer").await;
    for run in [&one, &two] {
        status_becomes(&nick, run, "waiting").await;
    }
    resume(&nick, &two, json!({"a": "two"})).await;
    assert_eq!(said(&whole(&nick, &two).await), ["{\"a\":\"two\"}"]);
    status_becomes(&nick, &one, "waiting").await;
    resume(&nick, &one, json!({"a": "one"})).await;
    assert_eq!(said(&whole(&nick, &one).await), ["{\"a\":\"one\"}"]);
}

/// A program cannot speak in a run that was not given to it: another agent's, another thread's, one that is over.
#[tokio::test]
async fn sc_22_a_program_speaks_in_its_own_runs_only() {
    let (server, nick) = playing().await;
    let other = server.agent("@other.bob").await;
    let victim = chat(&other, PUPPET, "text mine\nhang").await;
    running(&other, &victim).await;
    let over = chat(&nick, PUPPET, "text over").await;
    let before = whole(&nick, &over).await;
    for target in [&victim.id, &over.id, &"00000000-0000-4000-8000-000000000000".to_owned(), &"x".to_owned()]
    {
        let text = json!({"type": "TextOutput", "content": "forged", "run_id": target});
        let end =
            json!({"type": "RunCompleted", "finish_reason": "success", "result": "forged", "run_id": target});
        let run = chat(&nick, PUPPET, &format!("event {text}\nevent {end}\ntext own\ndone ok")).await;
        let events = whole(&nick, &run).await;
        assert_eq!((said(&events), finish(&events)), (vec!["own"], "success"), "{target}");
    }
    assert_eq!(whole(&nick, &over).await, before);
    let events = crate::runs::speak::known(&other, &victim).await;
    assert_eq!(types(&events), ["RunStarted", "TextOutput"], "{events:?}");
    assert_eq!(said(&events), ["mine"]);
    cancel(&other, &victim).await;
    assert_eq!(finish(&whole(&other, &victim).await), "canceled");
}

/// A line that names its run is of that run; one that names none is of the process's own.
#[tokio::test]
async fn sc_22_the_run_may_be_named() {
    let (_server, nick) = playing().await;
    let script = "event {\"type\":\"TextOutput\",\"content\":\"named\",\"run_id\":\"{run}\"}\ntext unnamed\n\
                  event {\"type\":\"RunCompleted\",\"finish_reason\":\"success\",\"result\":\"r\",\"run_id\":\"{run}\"}\nmute";
    let run = chat(&nick, PUPPET, script).await;
    let events = whole(&nick, &run).await;
    assert_eq!((said(&events), finish(&events)), (vec!["named", "unnamed"], "success"));
}

/// One process that is killed ends the runs it had, and no others.
#[tokio::test]
async fn sc_26_a_crash_ends_only_its_own_runs() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let other = chat(&nick, PUPPET, &format!("{}text lives", gates.gate("go"))).await;
    running(&nick, &other).await;
    let crashed = chat(&nick, PUPPET, "exit 1").await;
    assert_eq!(finish(&whole(&nick, &crashed).await), "error");
    gates.open("go");
    let events = whole(&nick, &other).await;
    assert_eq!((said(&events), finish(&events)), (vec!["lives"], "success"));
}
