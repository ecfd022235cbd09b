//! What a hook printed is `shown`, and `in context` only when the session goes on with it: at each next event, and where
//! there is none.

use std::process::{Child, Command, Stdio};

use blackbox::{Caller, Cli, CommandOutput, eventually};
use serde_json::{Value, json};

use super::{
    Coding,
    delivery::{said, send, two},
};
use crate::connect::json_of;

/// A message in a session that both have joined, from Claude to Codex: the session and the sequence.
pub(super) async fn asked(home: &Cli, claude: &Coding, codex: &Coding, text: &str) -> (String, u64) {
    let session = said(home, claude, codex, "Work").await;
    let join = home.run_in(&codex.directory, &["session", "join", &session, "--as", &codex.handle]).await;
    assert_eq!(join.code, 0, "{join:?}");
    (session.clone(), send(home, claude, &session, text).await)
}

/// What its sender is told of it.
async fn status(home: &Cli, from: &Coding, (session, sequence): &(String, u64)) -> Value {
    let sequence = sequence.to_string();
    let args = ["message", "status", session.as_str(), &sequence, "--as", &from.handle, "--json"];
    let ran = home.run_in(&from.directory, &args).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    json_of(&ran.out)["recipients"][0].clone()
}

pub(super) async fn state(home: &Cli, from: &Coding, message: &(String, u64)) -> String {
    status(home, from, message).await["state"].as_str().expect("a state").to_owned()
}

/// An event of one of several sessions.
async fn at(home: &Cli, coding: &Coding, session: &str, event: &str) -> CommandOutput {
    coding.at(home, event, json!({"session_id": session})).await
}

/// A program that stands for a coding agent, killed with this.
pub(super) struct Program(Child);

impl Program {
    pub(super) fn begin() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("1000").stdin(Stdio::null()).spawn().expect("a program"))
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(super) async fn at(&self, home: &Cli, coding: &Coding, session: &str, event: &str) -> CommandOutput {
        let line = format!("PLENARY_AGENT_PID={} {}", self.0.id(), coding.line(event));
        let input = json!({"session_id": session, "cwd": coding.directory, "hook_event_name": event});
        let ran = home.shell(&coding.directory, &line, &input.to_string()).await;
        assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
        ran
    }

    pub(super) fn kill(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

#[tokio::test]
async fn a_session_that_was_opened_and_closed_leaves_it_unread() {
    let (_server, home, claude, codex) = two().await;
    let gemini = Coding::begin(&home, "gemini", "c").await;
    let message = asked(&home, &claude, &gemini, "Which port?").await;
    assert_eq!(state(&home, &claude, &message).await, "accepted");
    for session in ["g-1", "g-2"] {
        let start = at(&home, &gemini, session, "SessionStart").await;
        assert!(start.out.contains("Which port?"), "{start:?}");
        assert_eq!(state(&home, &claude, &message).await, "shown");
        at(&home, &gemini, session, "SessionEnd").await;
        let told = status(&home, &claude, &message).await;
        assert_eq!(
            (&told["state"], &told["waiting"]["reason"]),
            (&json!("shown"), &json!("no_live_session"))
        );
        assert!(told["waiting"]["since"].is_string(), "{told}");
    }
    at(&home, &gemini, "g-3", "SessionStart").await;
    let prompt = at(&home, &gemini, "g-3", "BeforeAgent").await;
    assert_eq!((prompt.out.as_str(), state(&home, &claude, &message).await.as_str()), ("", "in_context"));
    drop(codex);
}

#[tokio::test]
async fn each_event_that_follows_says_that_it_is_in_context() {
    let (_server, home, claude, codex) = two().await;
    for (shown_at, then) in [
        ("SessionStart", "UserPromptSubmit"),
        ("SessionStart", "PostToolUse"),
        ("SessionStart", "Stop"),
        ("UserPromptSubmit", "PostToolUse"),
        ("PostToolUse", "Stop"),
        ("Stop", "PostToolUse"),
    ] {
        let text = format!("{shown_at} then {then}");
        let message = asked(&home, &claude, &codex, &text).await;
        assert!(codex.at(&home, shown_at, json!({})).await.out.contains(&text), "{text}");
        assert_eq!(state(&home, &claude, &message).await, "shown", "{text}");
        assert_eq!(codex.at(&home, then, json!({})).await.out, "", "{text}: once");
        assert_eq!(state(&home, &claude, &message).await, "in_context", "{text}");
    }
}

/// What a prompt, a tool or the end of a turn was answered with was in context when the session ends properly.
#[tokio::test]
async fn a_proper_end_says_so_too() {
    let (_server, home, claude, codex) = two().await;
    for (nth, event) in ["UserPromptSubmit", "PostToolUse", "Stop"].into_iter().enumerate() {
        let claude_b = format!("c-{nth}");
        let message = asked(&home, &codex, &claude, event).await;
        assert!(at(&home, &claude, &claude_b, event).await.out.contains(event));
        assert_eq!(state(&home, &codex, &message).await, "shown");
        at(&home, &claude, &claude_b, "SessionEnd").await;
        assert_eq!(state(&home, &codex, &message).await, "in_context", "{event}");
    }
}

#[tokio::test]
async fn what_was_summarised_before_it_was_in_context_is_shown_again() {
    let (_server, home, claude, codex) = two().await;
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse"] {
        let text = format!("Before the summary, at {event}.");
        let message = asked(&home, &claude, &codex, &text).await;
        assert!(codex.at(&home, event, json!({})).await.out.contains(&text));
        assert_eq!(codex.at(&home, "PreCompact", json!({"trigger": "auto"})).await.out, "");
        assert_eq!(state(&home, &claude, &message).await, "shown");
        let again = codex.at(&home, "SessionStart", json!({"source": "compact"})).await;
        assert!(again.out.contains(&text), "{again:?}");
        assert_eq!(codex.at(&home, "PostToolUse", json!({})).await.out, "");
        assert_eq!(state(&home, &claude, &message).await, "in_context");
    }
    let kept = asked(&home, &claude, &codex, "In context before.").await;
    codex.at(&home, "UserPromptSubmit", json!({})).await;
    codex.at(&home, "PostToolUse", json!({})).await;
    codex.at(&home, "PreCompact", json!({})).await;
    let start = codex.at(&home, "SessionStart", json!({"source": "compact"})).await;
    assert!(!start.out.contains("In context before."), "{start:?}");
    assert_eq!(state(&home, &claude, &kept).await, "in_context");
}

/// A program that is killed says nothing: whoever looks after it does, and the next session has what it was shown.
#[tokio::test]
async fn a_session_that_was_killed_hands_back_what_it_was_shown() {
    let (_server, home, claude, codex) = two().await;
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"] {
        let text = format!("Killed behind {event}.");
        let message = asked(&home, &claude, &codex, &text).await;
        let (mut first, other) = (Program::begin(), Program::begin());
        let session = format!("killed-{event}");
        assert!(first.at(&home, &codex, &session, event).await.out.contains(&text));
        assert_eq!(
            other.at(&home, &codex, "other", "UserPromptSubmit").await.out,
            "",
            "it is the first one's"
        );
        first.kill();
        let shown = eventually("the other session is shown it", || async {
            let ran = other.at(&home, &codex, "other", "PostToolUse").await;
            ran.out.contains(&text).then_some(())
        });
        shown.await;
        assert_eq!(state(&home, &claude, &message).await, "shown");
        assert_eq!(other.at(&home, &codex, "other", "Stop").await.out, "", "once");
        assert_eq!(state(&home, &claude, &message).await, "in_context");
    }
}

/// One session that waits for its person holds nothing up for one that works.
#[tokio::test]
async fn what_one_session_was_shown_no_other_is_and_what_is_new_goes_to_whoever_works() {
    let (_server, home, claude, codex) = two().await;
    let first = asked(&home, &claude, &codex, "To the first.").await;
    assert!(at(&home, &codex, "idle", "SessionStart").await.out.contains("To the first."));
    let start = at(&home, &codex, "works", "SessionStart").await;
    assert!(!start.out.contains("To the first."), "{start:?}");
    send(&home, &claude, &first.0, "To whoever works.").await;
    let tool = at(&home, &codex, "works", "PostToolUse").await;
    assert!(tool.out.contains("To whoever works.") && !tool.out.contains("To the first."), "{tool:?}");
    assert_eq!(at(&home, &codex, "works", "Stop").await.out, "");
    assert_eq!(state(&home, &claude, &first).await, "shown", "though a later one is in context");
    let listed = home.run_in(&codex.directory, &["inbox", "sessions", "--as", &codex.handle, "--json"]).await;
    let sessions = json_of(&listed.out);
    let live = |session: &Value| session["live"] == true && session["client"] == "codex";
    let sessions = sessions["sessions"].as_array().expect("a list");
    assert!(sessions.len() == 2 && sessions.iter().all(live), "{listed:?}");
    assert_eq!(at(&home, &codex, "idle", "UserPromptSubmit").await.out, "");
    assert_eq!(state(&home, &claude, &first).await, "in_context");
}

/// Of a subagent the session sees nothing, and it says nothing of the session.
#[tokio::test]
async fn an_event_within_the_session_settles_nothing() {
    let (_server, home, claude, codex) = two().await;
    let message = asked(&home, &claude, &codex, "To you alone.").await;
    assert!(codex.at(&home, "UserPromptSubmit", json!({})).await.out.contains("To you alone."));
    codex.at(&home, "PostToolUse", json!({"agent_id": "sub-1"})).await;
    assert_eq!(state(&home, &claude, &message).await, "shown");
    let peeked = home.shell(&codex.directory, &format!("{} --peek", codex.line("Stop")), "").await;
    assert_eq!((peeked.out.as_str(), state(&home, &claude, &message).await.as_str()), ("", "shown"));
}

#[tokio::test]
async fn who_waits_for_a_coding_agent_is_told_why() {
    let (_server, home, claude, codex) = two().await;
    let message = asked(&home, &claude, &codex, "Are you there?").await;
    assert!(status(&home, &claude, &message).await.get("waiting").is_none(), "nobody was ever heard of");
    let words = || async {
        let sequence = message.1.to_string();
        let args = ["message", "status", message.0.as_str(), &sequence, "--as", &claude.handle];
        home.run_in(&claude.directory, &args).await.out
    };
    let mut tools = home.start(&["mcp", "--as", &codex.handle]);
    tools.write_line(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    eventually("its hooks are off", || async {
        words().await.contains("its hooks are off since").then_some(())
    })
    .await;
    codex.at(&home, "PreCompact", json!({})).await;
    assert!(words().await.contains("for the next event of its coding session"), "{}", words().await);
    tools.close_input();
    tools.end().await;
    let program = Program::begin();
    program.at(&home, &codex, "s-2", "SessionStart").await;
    assert!(words().await.contains("shown"), "{}", words().await);
}

/// What is long is shown whole where there is room, and else as far as there is, with the way to the rest: then it is seen as
/// far as it was shown, until the rest is read.
#[tokio::test]
async fn a_long_message_is_shown_as_far_as_there_is_room() {
    let (server, home, claude, codex) = two().await;
    let long = format!("begin {} end", "word ".repeat(1_600));
    asked(&home, &claude, &codex, &long).await;
    let prompt = codex.at(&home, "UserPromptSubmit", json!({})).await;
    assert!(prompt.out.contains(&long), "whole: {}", prompt.out.len());
    let longer = format!("begin {} end", "word \\\"quoted\\\" ".repeat(2_000));
    let message = asked(&home, &claude, &codex, &longer).await;
    let tool = codex.at(&home, "PostToolUse", json!({})).await;
    assert!(tool.out.chars().count() > 9_000 && !tool.out.contains(" end"), "{}", tool.out.len());
    let on = format!("the tool read, session_id {}, after_sequence {}, limit 1", message.0, message.1 - 1);
    assert!(tool.out.contains(&on), "{}", &tool.out[tool.out.len() - 300..]);
    assert_eq!(state(&home, &claude, &message).await, "shown");
    assert_eq!(codex.at(&home, "Stop", json!({})).await.out, "", "once");
    let told = status(&home, &claude, &message).await;
    let whole = u64::try_from(longer.chars().count()).expect("small");
    let shown = told["shown_characters"].as_u64().expect("a number");
    assert_eq!((&told["state"], &told["characters"]), (&json!("shown"), &json!(whole)), "{told}");
    assert!(
        0 < shown && shown < 10_000 && tool.out.contains(&format!("after {shown} of {whole} characters"))
    );
    assert_eq!(told["waiting"]["reason"], "rest_unread", "{told}");
    // What comes later is whole, and says nothing of what was cut.
    let later = asked(&home, &claude, &codex, "and so on").await;
    codex.at(&home, "UserPromptSubmit", json!({})).await;
    codex.at(&home, "PostToolUse", json!({})).await;
    assert_eq!(state(&home, &claude, &later).await, "in_context");
    assert_eq!(state(&home, &claude, &message).await, "shown");
    let reader = Caller::new(server.address().clone(), Some(&codex.token(&home)));
    let read = json!({"session_id": message.0, "after_sequence": message.1 - 1, "sequence": message.1});
    reader.post("/inbox/ack", read).await.ok(200);
    let told = status(&home, &claude, &message).await;
    assert_eq!(told["state"], "in_context");
    assert!(told.get("characters").is_none() && told.get("waiting").is_none(), "{told}");
}

/// An acknowledgement is the recipient's word for the whole, and a cut item that is summarised away is printed again.
#[tokio::test]
async fn a_cut_message_comes_again_after_a_summary_and_is_settled_by_an_acknowledgement() {
    let (_server, home, claude, codex) = two().await;
    let message = asked(&home, &claude, &codex, &"words ".repeat(3_000)).await;
    assert!(!codex.at(&home, "UserPromptSubmit", json!({})).await.out.is_empty());
    codex.at(&home, "PreCompact", json!({})).await;
    let again = codex.at(&home, "UserPromptSubmit", json!({})).await;
    assert!(again.out.contains("words words"), "printed again: {again:?}");
    codex.at(&home, "PostToolUse", json!({})).await;
    assert_eq!(state(&home, &claude, &message).await, "shown");
    let ack = home.run_in(&codex.directory, &["inbox", "ack", "--as", &codex.handle]).await;
    assert_eq!(ack.code, 0, "{ack:?}");
    assert_eq!(state(&home, &claude, &message).await, "acknowledged");
}
