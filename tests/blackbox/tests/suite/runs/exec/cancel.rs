//! Cancelling programs that do not want to be: SC-46; D.8 (`canceled` within 10 s even if the program ignores the line
//! and SIGTERM).

use blackbox::in_time;
use serde_json::{Value, json};

use super::gone;
use crate::runs::speak::{
    Gates, PUPPET, Run, cancel, chat, chat_on, events_of, finish, hosted, playing, puppet, running, said,
    serving, tell, whole,
};
use crate::runs::sse::Events;

/// Starts a script that first tells its process id; the run and the id.
async fn with_pid(who: &blackbox::Caller, agent: &str, script: &str) -> (Run, String) {
    let run = chat(who, agent, &format!("pid\n{script}")).await;
    let mut stream = Events::get(who, &events_of(&run, "?stream=true")).await;
    let events = stream.until("TextOutput").await;
    (run, said(&events)[0].to_owned())
}

/// The program is told, with its run, and what it answers is taken.
#[tokio::test]
async fn sc_46_the_program_is_told() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let note = gates.path("note");
    let run = chat(&nick, PUPPET, &format!("oncancel {}\n{}hang", note.display(), gates.mark("on"))).await;
    gates.reached("on").await;
    cancel(&nick, &run).await;
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
    let line: Value =
        serde_json::from_str(&std::fs::read_to_string(note).expect("it was told")).expect("JSON");
    let wanted = json!({"type": "CancelRequest", "run_id": run.id, "thread_id": run.thread});
    for (member, value) in wanted.as_object().expect("an object") {
        assert_eq!(&line[member], value, "{member}: {line}");
    }
}

/// It ends `canceled`, whatever the program does about it, and its process with it.
#[tokio::test]
async fn sc_46_a_deaf_program_is_canceled_in_time() {
    let (_server, nick) = playing().await;
    for script in ["deaf\nhang", "deaf\nask a=A?\nhang", "insist\nhang", "hang"] {
        let gates = Gates::new();
        let (run, pid) = with_pid(&nick, PUPPET, &format!("{}{script}", gates.mark("on"))).await;
        gates.reached("on").await;
        cancel(&nick, &run).await;
        let events = in_time(script, whole(&nick, &run)).await;
        assert_eq!(finish(&events), "canceled", "{script}");
        if script.starts_with("deaf") {
            gone(&pid).await;
        }
        let next = chat_on(&nick, &run, "text next").await;
        assert_eq!(said(&whole(&nick, &next).await), ["next"], "{script}: the thread goes on");
    }
}

/// A program that floods is canceled all the same.
#[tokio::test]
async fn sc_46_a_flooding_program_is_canceled_in_time() {
    let (_server, nick) = playing().await;
    let (run, pid) = with_pid(&nick, PUPPET, "deaf\nflood").await;
    let response = tell(&nick, &run, "CancelRequest", json!({})).await;
    if response.status == 202 {
        let events = in_time("a flood is canceled", whole(&nick, &run)).await;
        assert_eq!(finish(&events), "canceled");
    } else {
        assert_eq!(finish(&whole(&nick, &run).await), "error", "a limit was faster");
    }
    gone(&pid).await;
}

/// What a program started is canceled with it: here a shell that started the one that speaks.
#[tokio::test]
async fn sc_46_the_children_of_a_program_go_with_it() {
    let program = env!("CARGO_BIN_EXE_puppet");
    let command = json!(["sh", "-c", format!("'{program}' lines; true")]);
    let server = serving(&[hosted(PUPPET, &format!("kind = \"exec\"\ncommand = {command}"))]).await;
    let nick = server.agent("@nick.ann").await;
    let (run, pid) = with_pid(&nick, PUPPET, "deaf\nhang").await;
    cancel(&nick, &run).await;
    assert_eq!(finish(&in_time("a shell is canceled", whole(&nick, &run)).await), "canceled");
    gone(&pid).await;
}

/// Cancelling one run leaves the others of the agent alone.
#[tokio::test]
async fn sc_46_only_the_one_run_is_canceled() {
    for flags in [&["lines"][..], &["lines", "--named"]] {
        let server = serving(&[hosted(PUPPET, &puppet(flags))]).await;
        let nick = server.agent("@nick.ann").await;
        let gates = Gates::new();
        let one = chat(&nick, PUPPET, "hang").await;
        let two = chat(&nick, PUPPET, &format!("{}text two", gates.gate("go"))).await;
        running(&nick, &one).await;
        running(&nick, &two).await;
        cancel(&nick, &one).await;
        assert_eq!(finish(&whole(&nick, &one).await), "canceled");
        gates.open("go");
        let events = whole(&nick, &two).await;
        assert_eq!((finish(&events), said(&events)), ("success", vec!["two"]), "{flags:?}");
    }
}
