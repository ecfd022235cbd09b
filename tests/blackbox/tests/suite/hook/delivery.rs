//! What is new for an agent reaches its coding agent once, and nothing is lost on the way.

use blackbox::{Cli, Server};
use serde_json::{Value, json};

use super::{Coding, journal};
use crate::connect::{home, json_of, server};

/// Two coding agents of one person.
pub(super) async fn two() -> (Server, Cli, Coding, Coding) {
    let server = server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    let codex = Coding::begin(&home, "codex", "b").await;
    (server, home, claude, codex)
}

/// A new session between them; whoever is invited sees what it is about.
pub(super) async fn said(home: &Cli, from: &Coding, to: &Coding, topic: &str) -> String {
    let args = ["session", "create", "--as", &from.handle, "--invite", &to.handle, "--topic", topic];
    let ran = home.run_in(&from.directory, &args).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out.trim().to_owned()
}

async fn answered(home: &Cli, from: &Coding, session: &str, text: &str) {
    let join = home.run_in(&from.directory, &["session", "join", session, "--as", &from.handle]).await;
    assert_eq!(join.code, 0, "{join:?}");
    send(home, from, session, text).await;
}

/// Sends in a session; the message's sequence.
pub(super) async fn send(home: &Cli, from: &Coding, session: &str, text: &str) -> u64 {
    let args = ["session", "send", session, text, "--as", &from.handle, "--json"];
    let sent = home.run_in(&from.directory, &args).await;
    assert_eq!(sent.code, 0, "{sent:?}");
    json_of(&sent.out)["sequence"].as_u64().expect("a sequence")
}

fn context_of(out: &str) -> String {
    let answer = json_of(out);
    answer["hookSpecificOutput"]["additionalContext"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn two_coding_agents_converse_by_their_hooks_alone() {
    let (_server, home, claude, codex) = two().await;
    let start = claude.at(&home, "SessionStart", json!({"source": "startup"})).await;
    let opening = context_of(&start.out);
    assert!(opening.contains("This session is the agent @nick.claude-a"), "{opening}");
    assert_eq!(claude.at(&home, "UserPromptSubmit", json!({"prompt": "go"})).await.out, "", "nothing is new");

    let session = said(&home, &claude, &codex, "Which port does the parser listen on?").await;
    let prompt = codex.at(&home, "UserPromptSubmit", json!({"prompt": "hi", "turn_id": "t"})).await;
    let answer = json_of(&prompt.out);
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
    let text = context_of(&prompt.out);
    for piece in ["@nick.claude-a", "same owner", "not instructions", session.as_str()] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
    answered(&home, &codex, &session, "On 7420.").await;
    let stop = claude.at(&home, "Stop", json!({"stop_hook_active": false})).await;
    let stop = json_of(&stop.out);
    assert_eq!(stop["decision"], "block");
    assert!(stop["reason"].as_str().is_some_and(|reason| reason.contains("On 7420.")), "{stop}");
    let again = claude.at(&home, "Stop", json!({"stop_hook_active": true})).await;
    assert_eq!(again.out, "", "it is continued once");
    send(&home, &claude, &session, "Thanks, moved to 7421.").await;
    let tool = codex
        .at(&home, "PostToolUse", json!({"tool_name": "Bash", "tool_input": {}, "tool_response": {}}))
        .await;
    assert!(context_of(&tool.out).contains("moved to 7421"), "{tool:?}");
    assert_eq!(codex.at(&home, "Stop", json!({"stop_hook_active": false})).await.out, "");
    assert_eq!(journal(&home), "");
}

#[tokio::test]
async fn each_coding_agent_gets_the_form_it_takes() {
    let (_server, home, claude, _) = two().await;
    let gemini = Coding::begin(&home, "gemini", "c").await;
    let cursor = Coding::begin(&home, "cursor", "d").await;
    for (coding, event, more, way) in [
        (&gemini, "SessionStart", json!({"source": "startup"}), "/hookSpecificOutput/additionalContext"),
        (&gemini, "BeforeAgent", json!({"prompt": "x"}), "/hookSpecificOutput/additionalContext"),
        (&gemini, "AfterTool", json!({"tool_name": "x"}), "/hookSpecificOutput/additionalContext"),
        (&gemini, "AfterAgent", json!({"stop_hook_active": false}), "/reason"),
        (&cursor, "sessionStart", json!({}), "/additional_context"),
        (&cursor, "postToolUse", json!({"tool_name": "x"}), "/additional_context"),
        (&cursor, "stop", json!({"status": "completed", "loop_count": 0}), "/followup_message"),
    ] {
        said(&home, &claude, coding, &format!("for {event}")).await;
        let ran = coding.at(&home, event, more).await;
        let answer = json_of(&ran.out);
        let text = answer.pointer(way).and_then(Value::as_str).unwrap_or_else(|| panic!("{way}: {answer}"));
        assert!(text.contains(&format!("for {event}")), "{text}");
        if event == "AfterAgent" {
            assert_eq!(answer["decision"], "deny");
        }
    }
    said(&home, &claude, &cursor, "broken off").await;
    let aborted = cursor.at(&home, "stop", json!({"status": "aborted", "loop_count": 0})).await;
    assert_eq!(aborted.out, "", "whom a person stopped is not continued");
    let later = cursor.at(&home, "postToolUse", json!({})).await;
    assert!(later.out.contains("broken off"), "and nothing is lost by it: {later:?}");
}

#[tokio::test]
async fn what_was_not_printed_is_not_seen() {
    let (_server, home, claude, codex) = two().await;
    said(&home, &claude, &codex, "Do not lose me.").await;
    let line = codex.line("UserPromptSubmit");
    let input =
        json!({"cwd": codex.directory, "hook_event_name": "UserPromptSubmit", "session_id": "s"}).to_string();
    for closed in [">&-", ">/dev/full", ">/dev/null"] {
        let ran = home.shell(&codex.directory, &format!("{line} {closed}"), &input).await;
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{closed}: {ran:?}");
    }
    let ran = home.shell(&codex.directory, &format!("{line} --peek"), &input).await;
    assert!(ran.out.contains("Do not lose me."), "{ran:?}");
    let ran = home.shell(&codex.directory, &line, &input).await;
    assert!(ran.out.contains("Do not lose me."), "{ran:?}");
    assert_eq!(home.shell(&codex.directory, &line, &input).await.out, "", "once it was");
}

#[tokio::test]
async fn a_server_that_is_gone_costs_nothing_and_loses_nothing() {
    let (mut server, home, claude, codex) = two().await;
    said(&home, &claude, &codex, "Are you there?").await;
    server.kill().await;
    let told = json_of(&codex.at(&home, "UserPromptSubmit", json!({})).await.out);
    let words = told["systemMessage"].as_str().expect("its person is told");
    assert!(words.contains("no server answers") && told.as_object().expect("an object").len() == 1, "{told}");
    assert_eq!(codex.at(&home, "Stop", json!({"stop_hook_active": false})).await.out, "", "once");
    assert!(journal(&home).contains("UserPromptSubmit: "), "{}", journal(&home));
    assert_eq!(codex.at(&home, "SessionStart", json!({"source": "startup"})).await.out, "");
}

#[tokio::test]
async fn past_the_room_the_rest_comes_with_the_next_event() {
    let (_server, home, claude, codex) = two().await;
    let session = said(&home, &claude, &codex, "many").await;
    let join = home.run_in(&codex.directory, &["session", "join", &session, "--as", &codex.handle]).await;
    assert_eq!(join.code, 0, "{join:?}");
    let filler = "\"\\\n".repeat(300);
    for n in 0..15 {
        send(&home, &claude, &session, &format!("message {n}. {filler}")).await;
    }
    let mut seen = Vec::new();
    for _ in 0..20 {
        let ran = codex.at(&home, "PostToolUse", json!({})).await;
        if ran.out.is_empty() {
            break;
        }
        let text = context_of(&ran.out);
        seen.extend((0..15).filter(|n| text.contains(&format!("message {n}."))));
    }
    let mut once = seen.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once, (0..15).collect::<Vec<_>>(), "{seen:?}");
    assert_eq!(seen.len(), 15, "each once: {seen:?}");
}

#[tokio::test]
async fn a_turn_is_not_continued_for_ever() {
    let (_server, home, claude, codex) = two().await;
    let session = said(&home, &claude, &codex, "ping").await;
    answered(&home, &codex, &session, "pong").await;
    let mut continued = 0;
    for n in 0..12 {
        let ran = claude.at(&home, "Stop", json!({"stop_hook_active": n > 0})).await;
        if ran.out.is_empty() {
            break;
        }
        continued += 1;
        send(&home, &codex, &session, &format!("pong {n}")).await;
    }
    assert_eq!(continued, 5);
    let prompt = claude.at(&home, "UserPromptSubmit", json!({})).await;
    assert!(prompt.out.contains("pong 4"), "what ended it is not lost: {prompt:?}");
    send(&home, &codex, &session, "later").await;
    let stop = claude.at(&home, "Stop", json!({"stop_hook_active": false})).await;
    assert!(stop.out.contains("later"), "a new turn counts anew: {stop:?}");
}

#[tokio::test]
async fn hooks_at_once_tell_of_a_message_once() {
    let (_server, home, claude, codex) = two().await;
    said(&home, &claude, &codex, "Only once.").await;
    let event = || codex.at(&home, "PostToolUse", json!({}));
    let (a, b, c, d) = tokio::join!(event(), event(), event(), event());
    let shown = [a, b, c, d].iter().filter(|ran| ran.out.contains("Only once.")).count();
    assert_eq!(shown, 1);
}

#[tokio::test]
async fn a_session_begins_with_the_projects_briefing_and_ends_with_a_deposit() {
    let server = server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    let bound = home.run_in(&claude.directory, &["connect", "claude", "--project", "parser"]).await;
    assert_eq!(bound.code, 0, "{bound:?}");
    let deposit = [
        "context",
        "deposit",
        "--title",
        "Ported the lexer",
        "--handoff",
        "Begin with parse.rs",
        "--as",
        &claude.handle,
    ];
    let ran = home.run_in(&claude.directory, &deposit).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let start = claude.at(&home, "SessionStart", json!({"source": "compact"})).await;
    let text = context_of(&start.out);
    for piece in ["Briefing of the project", "Begin with parse.rs", "Ported the lexer"] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
    for line in
        ["git init -q -b main", "git -c user.name=n -c user.email=n@x commit -q --allow-empty -m Changed"]
    {
        let ran = home.shell(&claude.directory, line, "").await;
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let compact = claude.at(&home, "PreCompact", json!({"trigger": "auto"})).await;
    assert_eq!(compact.out, "");
    // The deposit is made by a process that nobody waits for; what is asked waits for it.
    let mut watch = home.start(&["context", "watch", "--project", "parser", "--as", &claude.handle]);
    let pulled = ["context", "pull", "--short", "--project", "parser", "--as", &claude.handle];
    watch.note_with("watching parser").await;
    if !home.run_ok(&pulled).await.contains("Changed") {
        watch.line_with("Changed").await;
    }
}
