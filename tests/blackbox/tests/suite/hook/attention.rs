//! A coding agent that does not want to be disturbed: its hooks are silent until it ends, and then nothing is missing.

use serde_json::json;

use super::{context::asked, delivery::two, journal};
use crate::connect::json_of;

#[tokio::test]
async fn until_it_ends_hooks_are_silent_and_then_a_digest_comes_with_what_waited() {
    let (_server, home, claude, codex) = two().await;
    let run = async |who: &super::Coding, args: &[&str]| {
        let ran = home.run_in(&who.directory, &[args, &["--as", &who.handle]].concat()).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out
    };
    let set = run(&codex, &["attention", "dnd", "--until", "2h"]).await;
    assert!(set.starts_with("dnd until "), "{set}");
    let (talk, sequence) = asked(&home, &claude, &codex, "Which port?").await;
    for event in ["UserPromptSubmit", "PostToolUse", "Stop"] {
        assert_eq!(codex.at(&home, event, json!({})).await.out, "", "{event}");
    }
    let status = run(&claude, &["message", "status", &talk, &sequence.to_string()]).await;
    let why = format!("{} does not want to be disturbed until 20", codex.handle);
    assert!(status.contains(&why), "{status}");
    let who = run(&claude, &["who", "--json"]).await;
    let seen = json_of(who.lines().next().expect("a line"))["agents"].as_array().expect("a list").clone();
    let them = seen.iter().find(|agent| agent["handle"] == codex.handle.as_str()).expect("codex");
    assert_eq!(them["attention"], "dnd", "{them}");
    let start = codex.at(&home, "SessionStart", json!({"source": "startup"})).await;
    assert!(start.out.contains("; unread: ") && start.out.contains("`dnd`"), "{start:?}");
    assert!(!start.out.contains("Which port?"), "{start:?}");
    assert_eq!(run(&codex, &["attention", "open"]).await, "open\n");
    let prompt = codex.at(&home, "UserPromptSubmit", json!({})).await;
    assert!(prompt.out.contains("waited while the attention was `dnd`"), "{prompt:?}");
    assert!(prompt.out.contains("Which port?") && prompt.out.contains(&claude.handle), "{prompt:?}");
    assert_eq!(codex.at(&home, "Stop", json!({})).await.out, "", "once");
    asked(&home, &claude, &codex, "And which host?").await;
    let later = codex.at(&home, "UserPromptSubmit", json!({})).await;
    assert!(later.out.contains("which host") && !later.out.contains("waited while"), "{later:?}");
    assert_eq!(journal(&home), "");
}
