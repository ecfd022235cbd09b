//! Programs that end, or do not: D.8 (exit without RunCompleted, code 0 included, is `error`).

use serde_json::json;

use super::gone;
use crate::runs::speak::{
    Gates, PUPPET, chat, chat_on, finish, hosted, outcome, playing, said, serving, status, types, whole,
};

/// An exit without RunCompleted is an error, whatever the code; what was said before stays.
#[tokio::test]
async fn sc_26_an_early_exit_is_an_error() {
    let (_server, nick) = playing().await;
    for code in [0, 1, 42] {
        let run = chat(&nick, PUPPET, &format!("text a\nexit {code}")).await;
        let events = whole(&nick, &run).await;
        assert_eq!((said(&events), finish(&events)), (vec!["a"], "error"), "exit {code}");
        assert_eq!(status(&nick, &run).await["status"], "error");
        let next = chat_on(&nick, &run, "text b").await;
        assert_eq!(finish(&whole(&nick, &next).await), "success", "the thread goes on");
    }
}

/// An exit that follows RunCompleted changes nothing.
#[tokio::test]
async fn sc_26_an_exit_after_the_end_is_no_error() {
    let (_server, nick) = playing().await;
    for code in [0, 1] {
        for _ in 0..5 {
            assert_eq!(
                finish(&outcome(&nick, PUPPET, &format!("text a\ndone ok\nexit {code}")).await),
                "success"
            );
        }
    }
}

/// The last line counts also where no line feed ends it, as far as it is whole.
#[tokio::test]
async fn sc_26_a_half_line_before_the_exit_is_no_event() {
    let (_server, nick) = playing().await;
    let half: String =
        br#"{"type":"TextOutput","content":"ha"#.iter().map(|byte| format!("{byte:02x}")).collect();
    let events = outcome(&nick, PUPPET, &format!("text a\nhex {half}\nexit 0")).await;
    assert_eq!((said(&events), finish(&events)), (vec!["a"], "error"));
}

/// A program that goes on after RunCompleted holds nobody up, and goes away.
#[tokio::test]
async fn sc_19_a_program_that_lingers_holds_nobody_up() {
    let (_server, nick) = playing().await;
    let run = chat(&nick, PUPPET, "pid\ndeaf\ndone ok\nhang").await;
    let events = whole(&nick, &run).await;
    assert_eq!(finish(&events), "success");
    let pid = said(&events)[0].to_owned();
    let next = chat_on(&nick, &run, "pid\ndone ok").await;
    assert_eq!(finish(&whole(&nick, &next).await), "success");
    let other = said(&whole(&nick, &next).await)[0].to_owned();
    if other != pid {
        gone(&pid).await;
    }
}

/// A program that cannot be started ends its runs, not the server.
#[tokio::test]
async fn sc_26_what_cannot_be_started_is_an_error() {
    for command in
        [json!(["/nonexistent/program"]), json!(["/"]), json!(["/etc/hostname"]), json!(["not-in-path-x"])]
    {
        let lines = format!("kind = \"exec\"\ncommand = {command}");
        let server = serving(&[hosted(PUPPET, &lines), hosted("echo", "kind = \"echo\"")]).await;
        let nick = server.agent("@nick.ann").await;
        let events = outcome(&nick, PUPPET, "x").await;
        assert_eq!((types(&events)[0], finish(&events)), ("RunStarted", "error"), "{command}");
        assert_eq!(finish(&outcome(&nick, "echo", "x").await), "success");
    }
}

/// A program that ends at once, or closes its ears, is an error and no hang.
#[tokio::test]
async fn sc_26_programs_of_the_system_are_errors() {
    for command in [
        json!(["true"]),
        json!(["false"]),
        json!(["sh", "-c", "exec <&- >&-; exit 0"]),
        json!(["sh", "-c", "kill -9 $$"]),
    ] {
        let server = serving(&[hosted(PUPPET, &format!("kind = \"exec\"\ncommand = {command}"))]).await;
        let nick = server.agent("@nick.ann").await;
        assert_eq!(finish(&outcome(&nick, PUPPET, "x").await), "error", "{command}");
    }
}

/// `cat` gives back the request, which is no event; it ends when its standard input does.
#[tokio::test]
async fn sc_46_a_program_that_says_nothing_is_canceled() {
    let server = serving(&[hosted(PUPPET, "kind = \"exec\"\ncommand = [\"cat\"]")]).await;
    let nick = server.agent("@nick.ann").await;
    let run = crate::runs::speak::acting(&nick, "x").await;
    crate::runs::speak::cancel(&nick, &run).await;
    let events = whole(&nick, &run).await;
    assert_eq!(types(&events), ["RunStarted", "RunCompleted"]);
    assert_eq!(finish(&events), "canceled");
}

/// A configuration that cannot be is refused at the start, by a text that names the agent.
#[tokio::test]
async fn sc_1_a_bad_configuration_is_refused() {
    for lines in [
        "kind = \"exec\"",
        "kind = \"exec\"\ncommand = []",
        "kind = \"exec\"\ncommand = \"x\"",
        "kind = \"none\"",
        "",
    ] {
        let directory = blackbox::TempDir::new();
        let path = directory.path().join("plenary.toml");
        std::fs::write(&path, hosted(PUPPET, lines)).expect("the file can be written");
        let path = path.to_str().expect("a path in UTF-8").to_owned();
        let cli = blackbox::Cli::new(&[("PATH", "/usr/bin:/bin")]);
        let ran = cli.run(&["serve", "--listen", "127.0.0.1:0", "--data", "d", "--config", &path]).await;
        assert_ne!(ran.code, 0, "{lines}: {ran:?}");
        assert!(ran.err.contains("puppet"), "it says which agent: {ran:?}");
    }
}

/// A stop takes the programs along.
#[tokio::test]
async fn sc_1_a_stop_leaves_no_program_behind() {
    let (mut server, nick) = playing().await;
    let gates = Gates::new();
    let mut pids = Vec::new();
    for script in ["hang", "deaf\nhang", "ask a=A?"] {
        let run = chat(&nick, PUPPET, &format!("pid\n{}{script}", gates.mark("on"))).await;
        let mut stream =
            crate::runs::sse::Events::get(&nick, &crate::runs::speak::events_of(&run, "?stream=true")).await;
        let said_pid = stream.until("TextOutput").await;
        pids.push(said(&said_pid)[0].to_owned());
    }
    server.stop().await;
    for pid in &pids {
        gone(pid).await;
    }
}
