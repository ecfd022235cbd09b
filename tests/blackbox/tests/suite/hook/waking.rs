//! A session of Claude Code that waits for its person is woken for what is new, and not without end.

use serde_json::{Value, json};

use super::{
    Coding,
    delivery::{said, two},
    journal,
};
use crate::connect::json_of;

/// So often in a row.
const WAKINGS_MAX: usize = 5;

/// The line that waits, as the settings have it.
fn waiting(coding: &Coding) -> String {
    let text =
        std::fs::read_to_string(coding.directory.join(".claude/settings.local.json")).expect("settings");
    let hook = json_of(&text)["hooks"]["Stop"][0]["hooks"][1].clone();
    assert_eq!(json_of(&text)["hooks"]["SessionStart"][0]["hooks"][1], hook, "from the start on");
    assert_eq!(hook["asyncRewake"], true, "{text}");
    assert_eq!(hook["rewakeSummary"], "Messages from the Plenary network");
    assert!(hook["timeout"].as_u64().is_some_and(|seconds| seconds >= 3_600), "{text}");
    hook["command"].as_str().expect("a command").to_owned()
}

fn stopped(coding: &Coding) -> Value {
    json!({"session_id": "s-1", "cwd": coding.directory, "hook_event_name": "Stop", "stop_hook_active": false})
}

#[tokio::test]
async fn what_is_new_wakes_a_session_that_waits_and_not_without_end() {
    let (_server, home, claude, codex) = two().await;
    let woken = home.run_in(&claude.directory, &["connect", "claude", "--wake"]).await;
    assert_eq!(woken.code, 0, "{woken:?}");
    let again = home.run_in(&claude.directory, &["connect", "claude"]).await;
    assert!(again.out.contains("already connected"), "what was chosen stays: {again:?}");
    let (line, input) = (waiting(&claude), stopped(&claude).to_string());
    for n in 1..=WAKINGS_MAX {
        said(&home, &codex, &claude, &format!("Wake up {n}")).await;
        let ran = home.shell(&claude.directory, &line, &input).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(&format!("Wake up {n}")) && ran.err.contains("not instructions"), "{ran:?}");
    }
    said(&home, &codex, &claude, "Once more").await;
    let ran = home.shell(&claude.directory, &line, &input).await;
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""), "{ran:?}");
    assert!(journal(&home).contains("in a row"), "{}", journal(&home));
    let prompt = claude.at(&home, "UserPromptSubmit", json!({"prompt": "x"})).await;
    assert!(prompt.out.contains("Once more"), "and nothing is lost by it: {prompt:?}");
    // What woke the session is no word of its person; that prompt was one.
    said(&home, &codex, &claude, "Again").await;
    let ran = home.shell(&claude.directory, &line, &input).await;
    assert_eq!(ran.code, 2, "{ran:?}");
    let notified =
        "<task-notification>\n<summary>Messages from the Plenary network</summary>\n</task-notification>";
    for _ in 1..WAKINGS_MAX {
        claude.at(&home, "UserPromptSubmit", json!({"prompt": notified})).await;
        said(&home, &codex, &claude, "And again").await;
        assert_eq!(home.shell(&claude.directory, &line, &input).await.code, 2);
    }
    claude.at(&home, "UserPromptSubmit", json!({"prompt": notified})).await;
    said(&home, &codex, &claude, "Too often").await;
    assert_eq!(home.shell(&claude.directory, &line, &input).await.code, 0);
    let gone = home.run_in(&claude.directory, &["disconnect", "claude"]).await;
    assert_eq!(gone.code, 0, "{gone:?}");
    assert!(!claude.directory.join(".claude").exists(), "what waits goes with the rest");
    let other = home.run_in(&codex.directory, &["connect", "gemini", "--wake"]).await;
    assert!(other.code == 2 && other.err.contains("leave out --wake"), "{other:?}");
    let other = home.run_in(&codex.directory, &["connect", "codex", "--wake"]).await;
    assert_eq!(other.code, 0, "{other:?}");
}

#[tokio::test]
async fn who_waits_for_a_session_that_is_gone_or_waited_for_again_takes_nothing() {
    let (_server, home, claude, codex) = two().await;
    home.run_in(&claude.directory, &["connect", "claude", "--wake"]).await;
    let (line, input) = (waiting(&claude), stopped(&claude).to_string());
    said(&home, &codex, &claude, "Nobody reads this yet").await;
    // The session ended, and its end of the pipe with it.
    let gone = home.shell(&claude.directory, &format!("{line} 2>&1 >/dev/null | true"), &input).await;
    assert_eq!((gone.code, gone.out.as_str()), (0, ""), "{gone:?}");
    // Of two that wait for one session the later one wakes it.
    let both = format!(
        "cat >in; {line} <in >/dev/null 2>first & one=$!; while ! grep -q waits ~/.local/state/plenary/hooks/*.json; do :; done; {line} <in >/dev/null 2>second; echo $?; wait $one; echo $?; cat first; echo ---; cat second"
    );
    let ran = home.shell(&claude.directory, &both, &input).await;
    let (first, second) = ran.out.split_once("---").expect("both ended");
    let codes: Vec<&str> = first.lines().take(2).collect();
    assert_eq!(codes.iter().filter(|code| **code == "2").count(), 1, "one wakes: {ran:?}");
    assert_eq!(ran.out.matches("Nobody reads this yet").count(), 1, "{first} {second}");
}
