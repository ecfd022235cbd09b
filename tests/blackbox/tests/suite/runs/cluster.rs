//! Two processes on one database serve the same agents: SC-3, SC-7, SC-37, SC-45, SC-46, SC-48.

use std::time::Duration;

use blackbox::{Agent, Database, Pongs, Server, TestDependency, eventually, eventually_within};
use futures_util::future::join_all;
use serde_json::json;

use super::speak::{
    ECHO, Gates, PUPPET, accepted, acting, at, cancel, chat, chat_on, events_of, finish, hosted, known, poll,
    puppet, resume, running, said, status, status_becomes, whole,
};
use super::sse::Events;

/// Two servers, and the same person at both; nothing where no database is asked for.
async fn both() -> Option<(Database, Server, Server, Agent, Agent)> {
    let TestDependency::Available(url) = TestDependency::postgres() else { return None };
    let database = Database::create(&url).await;
    let config = [hosted(PUPPET, &puppet(&["lines"])), hosted(ECHO, "kind = \"echo\"")].concat();
    let one = Server::builder().database(database.url()).config(&config).start().await;
    let two = Server::builder().database(database.url()).config(&config).start().await;
    let nick = one.agent("@nick.ann").await;
    let there = nick.at(&two);
    Some((database, one, two, nick, there))
}

/// What one started the other tells, from the beginning and live.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_37_a_run_is_streamed_at_either() {
    let Some((database, one, two, here, there)) = both().await else { return };
    let gates = Gates::new();
    let run = chat(&here, PUPPET, &format!("text a\n{}text b", gates.gate("go"))).await;
    let mut streams = [
        Events::get(&here, &events_of(&run, "?stream=true")).await,
        Events::get(&there, &events_of(&run, "?stream=true")).await,
    ];
    for stream in &mut streams {
        stream.until("TextOutput").await;
    }
    gates.open("go");
    for stream in &mut streams {
        assert_eq!(said(&stream.rest().await), ["b"]);
    }
    assert_eq!(whole(&here, &run).await, whole(&there, &run).await);
    assert_eq!(poll(&there, &run).await, whole(&here, &run).await);
    assert!(poll(&here, &run).await.is_empty(), "it is one queue");
    drop((one, two));
    database.remove().await;
}

/// Answers and cancels reach a run wherever it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_45_sc_46_a_run_is_steered_at_either() {
    let Some((database, one, two, here, there)) = both().await else { return };
    let run = chat(&here, PUPPET, "ask a=A?\nanswer\nhang").await;
    status_becomes(&there, &run, "waiting").await;
    resume(&there, &run, json!({"a": 1})).await;
    running(&there, &run).await;
    eventually("the answer is there", || async {
        (said(&known(&there, &run).await) == ["{\"a\":1}"]).then_some(())
    })
    .await;
    cancel(&there, &run).await;
    assert_eq!(finish(&whole(&here, &run).await), "canceled");
    drop((one, two));
    database.remove().await;
}

/// Runs of one thread are in turn also where both are asked at once: none overlaps another, each runs once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_3_a_thread_is_in_turn_over_both() {
    let Some((database, one, two, here, there)) = both().await else { return };
    let gates = Gates::new();
    let lock = gates.path("lock");
    let script =
        format!("take {}\nmany 20 t\n{}give {}\ndone ok", lock.display(), gates.mark("ran"), lock.display());
    let first = chat(&here, PUPPET, &script).await;
    let runs = join_all((0..10).map(|number| {
        let (who, first, script) = (if number % 2 == 0 { &here } else { &there }, &first, &script);
        async move {
            let body = json!({"input": script, "thread_id": first.thread});
            accepted(PUPPET, &who.post(&at(PUPPET, "run"), body).await)
        }
    }))
    .await;
    for run in &runs {
        let events = whole(&there, run).await;
        assert_eq!(finish(&events), "success");
        assert_eq!((said(&events)[0], said(&events)[21]), ("taken", "given"), "nobody else was in");
    }
    assert_eq!(gates.count("ran"), 11);
    drop((one, two));
    database.remove().await;
}

/// D.8 where another process lives on: what the dead one ran ends `error`, what was queued runs, without a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_48_the_other_takes_over() {
    let Some((database, mut one, two, here, there)) = both().await else { return };
    let lives = acting(&there, "text lives\nhang").await;
    let gates = Gates::new();
    let active = chat(&here, PUPPET, &format!("{}hang", gates.mark("on"))).await;
    gates.reached("on").await;
    let queued = chat_on(&here, &active, "text queued").await;
    one.kill().await;
    eventually_within(Duration::from_secs(90), "the dead one's run ends", || async {
        (status(&there, &active).await["status"] == "error").then_some(())
    })
    .await;
    assert_eq!(said(&whole(&there, &queued).await), ["queued"]);
    assert_eq!(status(&there, &lives).await["status"], "running", "the living one's runs go on");
    cancel(&there, &lives).await;
    assert_eq!(finish(&whole(&there, &lives).await), "canceled");
    drop(two);
    database.remove().await;
}

/// An instance is attached to one process: a run that is asked at the other says where there is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc_26_a_run_without_an_instance_says_where_there_is_one() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let config = hosted("live", "kind = \"connected\"\nattach_wait = \"1s\"");
    let one = Server::builder().database(database.url()).config(&config).start().await;
    let two = Server::builder().database(database.url()).config(&config).start().await;
    let nick = one.agent("@nick.ann").await;
    let live = one.agent("@acme.live").await;
    let there = nick.at(&two);
    let place = one.url().split_once("//").expect("a URL").1.to_owned();
    let why = async |who: &Agent| {
        let events = whole(who, &chat(who, "live", "hi").await).await;
        assert_eq!(finish(&events), "error");
        events.last().expect("an end")["error"].as_str().unwrap_or_default().to_owned()
    };
    let nowhere = why(&there).await;
    assert!(nowhere.contains("to any process"), "{nowhere}");
    let socket = live.socket("/agent/live/attach", Pongs::Answer).await;
    let somewhere = why(&there).await;
    assert!(somewhere.contains(&place), "{somewhere}: {place}");
    drop(socket);
    eventually("it is detached", || async {
        let why = why(&there).await;
        why.contains("to any process").then_some(())
    })
    .await;
    drop((one, two));
    database.remove().await;
}
