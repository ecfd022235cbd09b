//! What a program leaves behind goes with its run: also a daemon, which has a session of its own and whose parent has
//! ended; and all of it when the server is killed.

use std::path::Path;

use blackbox::{Server, TempDir, eventually};
use rustix::process::Signal;
use serde_json::json;

use super::gone;
use crate::runs::speak::{PUPPET, cancel, chat, finish, hosted, known, outcome, said, serving, whole};

/// A program that ignores what it is asked, starts a daemon that does so too, and says both their ids; then `last`.
pub(in crate::runs) fn daemonizing(directory: &Path, last: &str) -> String {
    let note = directory.join("daemon");
    let note = note.display();
    format!(
        r#"trap '' TERM INT HUP; read -r line
        ( setsid sh -c 'trap "" TERM INT HUP; echo $$ > {note}.new; mv {note}.new {note}; while :; do sleep 600; done' \
            </dev/null >/dev/null 2>&1 & )
        while [ ! -e {note} ]; do sleep 0.05; done
        echo "{{\"type\":\"TextOutput\",\"content\":\"$$ $(cat {note})\"}}"; rm {note}
        {last}"#
    )
}

/// Waits on, whatever comes.
pub(in crate::runs) const FOREVER: &str = "while :; do sleep 600; done";

async fn server_with(directory: &TempDir, last: &str) -> Server {
    let command = json!(["sh", "-c", daemonizing(directory.path(), last)]);
    serving(&[hosted(PUPPET, &format!("kind = \"exec\"\ncommand = {command}"))]).await
}

/// The ids that a run has said.
async fn processes(who: &blackbox::Caller, run: &crate::runs::speak::Run) -> Vec<String> {
    let events = eventually("it says who it is", || async {
        let events = known(who, run).await;
        (events.len() >= 2).then_some(events)
    })
    .await;
    said(&events)[0].split(' ').map(str::to_owned).collect()
}

async fn all_gone(processes: &[String]) {
    assert_eq!(processes.len(), 2);
    for process in processes {
        gone(process).await;
    }
}

/// Canceled, with whatever it started.
#[tokio::test]
async fn sc_46_a_daemon_goes_with_a_canceled_run() {
    let directory = TempDir::new();
    let server = server_with(&directory, FOREVER).await;
    let nick = server.agent("@nick.ann").await;
    let run = chat(&nick, PUPPET, "x").await;
    let processes = processes(&nick, &run).await;
    cancel(&nick, &run).await;
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
    all_gone(&processes).await;
}

/// Over, well or not, with whatever it started; and it holds nobody up.
#[tokio::test]
async fn sc_26_a_daemon_goes_with_a_run_that_is_over() {
    for (last, reason) in [
        (r#"echo '{"type":"RunCompleted","finish_reason":"success"}'"#, "success"),
        (
            r#"echo '{"type":"RunCompleted","finish_reason":"success"}'; while :; do sleep 600; done"#,
            "success",
        ),
        ("exit 3", "error"),
    ] {
        let directory = TempDir::new();
        let server = server_with(&directory, last).await;
        let nick = server.agent("@nick.ann").await;
        let run = chat(&nick, PUPPET, "x").await;
        let events = whole(&nick, &run).await;
        assert_eq!(finish(&events), reason, "{last}: {events:?}");
        let processes: Vec<_> = said(&events)[0].split(' ').map(str::to_owned).collect();
        all_gone(&processes).await;
    }
}

/// A server that is killed takes its programs with it, and what they started.
#[tokio::test]
async fn sc_26_nothing_outlives_a_server_that_is_killed() {
    let directory = TempDir::new();
    let mut server = server_with(&directory, FOREVER).await;
    let nick = server.agent("@nick.ann").await;
    let mut all = Vec::new();
    for _ in 0..3 {
        let run = chat(&nick, PUPPET, "x").await;
        all.push(processes(&nick, &run).await);
    }
    server.kill().await;
    for processes in &all {
        all_gone(processes).await;
    }
}

/// The same while the program reads nothing of what is written to it.
#[tokio::test]
async fn sc_26_nothing_outlives_a_server_that_is_killed_while_it_writes() {
    let script = r#"echo "{\"type\":\"TextOutput\",\"content\":\"$$ $$\"}"; while :; do sleep 600; done"#;
    let command = json!(["sh", "-c", script]);
    let mut server = serving(&[hosted(PUPPET, &format!("kind = \"exec\"\ncommand = {command}"))]).await;
    let nick = server.agent("@nick.ann").await;
    let run = chat(&nick, PUPPET, &"x".repeat(900_000)).await;
    let processes = processes(&nick, &run).await;
    server.kill().await;
    all_gone(&processes).await;
}

/// How a program ended is still told: its code, its signal, or that it is not there.
#[tokio::test]
async fn sc_26_how_a_program_ended_is_told() {
    for (command, why) in [
        (
            json!(["sh", "-c", "echo oh >&2; exit 42"]),
            "ended with exit code 42 without RunCompleted; it last wrote: oh",
        ),
        (json!(["sh", "-c", "kill -9 $$"]), "was ended by signal 9 without RunCompleted"),
        (json!(["/nonexistent/agent"]), "/nonexistent/agent cannot be started: "),
    ] {
        let server = serving(&[hosted(PUPPET, &format!("kind = \"exec\"\ncommand = {command}"))]).await;
        let nick = server.agent("@nick.ann").await;
        // On a busy machine its last words may come after its end is told.
        let error = eventually(why, || async {
            let events = outcome(&nick, PUPPET, "x").await;
            let error = events.last()?["error"].as_str()?.to_owned();
            error.contains(why).then_some(error)
        })
        .await;
        assert!(error.starts_with("the program "), "{command}: {error}");
    }
}

/// The process between is told by its system to end: so does its program, with all that it started.
#[tokio::test]
async fn sc_26_the_process_between_takes_its_program_along() {
    let directory = TempDir::new();
    let server = server_with(&directory, FOREVER).await;
    let nick = server.agent("@nick.ann").await;
    let run = chat(&nick, PUPPET, "x").await;
    let processes = processes(&nick, &run).await;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", processes[0])).expect("it runs");
    let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)).expect("a parent");
    let parent = rustix::process::Pid::from_raw(parent.parse().expect("a number")).expect("a process");
    rustix::process::kill_process(parent, Signal::TERM).expect("it is there");
    all_gone(&processes).await;
    assert_eq!(finish(&whole(&nick, &run).await), "error");
}
