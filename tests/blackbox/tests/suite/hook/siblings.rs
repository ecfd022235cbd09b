//! What agents of one person say to each other comes whole and at once; what others say waits for consent.

use serde_json::json;

use super::{
    delivery::{said, two},
    journal,
};
use crate::connect::json_of;

#[tokio::test]
async fn what_a_sibling_says_comes_with_its_invitation() {
    let (_server, home, claude, codex) = two().await;
    let text = "The lexer has the tokens Number and Text ready.";
    let args =
        ["session", "create", "--as", &claude.handle, "--invite", &codex.handle, "--message", text, "--json"];
    let made = home.run_in(&claude.directory, &args).await;
    assert_eq!(made.code, 0, "{made:?}");
    let session = json_of(&made.out)["session_id"].as_str().expect("a session").to_owned();
    let peeked =
        home.shell(&codex.directory, &format!("{} --peek", codex.line("UserPromptSubmit")), "").await;
    assert!(
        peeked.out.contains("invited") && !peeked.out.contains("Number"),
        "a peek joins nothing: {peeked:?}"
    );
    for closed in [">/dev/full", ">/dev/null"] {
        home.shell(&codex.directory, &format!("{} {closed}", codex.line("UserPromptSubmit")), "").await;
    }
    let prompt = codex.at(&home, "UserPromptSubmit", json!({"prompt": "go on"})).await;
    assert!(prompt.out.contains(text) && prompt.out.contains(&session), "{prompt:?}");
    assert_eq!(codex.at(&home, "Stop", json!({})).await.out, "", "once is enough");
    let more = ["session", "send", &session, "And Comment.", "--as", &claude.handle];
    assert_eq!(home.run_in(&claude.directory, &more).await.code, 0);
    let tool = codex.at(&home, "PostToolUse", json!({"tool_name": "Bash"})).await;
    assert!(tool.out.contains("And Comment."), "{tool:?}");
}

#[tokio::test]
async fn a_session_in_which_nothing_was_said_is_joined_once_it_was_told_of() {
    let (_server, home, claude, codex) = two().await;
    let session = said(&home, &claude, &codex, "Ports").await;
    let prompt = codex.at(&home, "UserPromptSubmit", json!({"prompt": "x"})).await;
    assert!(prompt.out.contains("Ports") && prompt.out.contains(&session), "{prompt:?}");
    let more = ["session", "send", &session, "Which is free?", "--as", &claude.handle];
    assert_eq!(home.run_in(&claude.directory, &more).await.code, 0);
    let stop = codex.at(&home, "Stop", json!({"stop_hook_active": false})).await;
    assert!(stop.out.contains("Which is free?"), "{stop:?}");
    // Whoever is invited beside others finds something before its invitation, and yet no words.
    let gemini = super::Coding::begin(&home, "gemini", "c").await;
    let args =
        ["session", "create", "--as", &claude.handle, "--invite", &gemini.handle, "--invite", &codex.handle];
    let made = home.run_in(&claude.directory, &[&args[..], &["--topic", "All of you"]].concat()).await;
    assert_eq!(made.code, 0, "{made:?}");
    let first = gemini.at(&home, "BeforeAgent", json!({"prompt": "x"})).await;
    let second = codex.at(&home, "UserPromptSubmit", json!({"prompt": "x"})).await;
    assert!(first.out.contains("All of you") && second.out.contains("All of you"), "{first:?} {second:?}");
    assert_eq!(journal(&home), "");
}

#[tokio::test]
async fn an_invitation_by_others_waits_for_consent() {
    let (server, home, claude, _) = two().await;
    let operator = std::fs::read_to_string(server.data().join("operator-token")).expect("a token");
    let support = json!({"handle": "@acme.support", "policy": "open"});
    let made = server.bearer(operator.trim()).post("/_admin/agents", support).await.ok(201);
    let stranger = server.bearer(made["token"].as_str().expect("a token"));
    home.run_ok(&["agent", "allow", &claude.handle, "@acme.*"]).await;
    let body =
        json!({"invite": [claude.handle], "topic": "Offer", "initial_message": {"content": "Buy this."}});
    let made = stranger.call("POST", "/sessions", &[], Some(&body)).await.ok(201);
    let prompt = claude.at(&home, "UserPromptSubmit", json!({"prompt": "x"})).await;
    assert!(prompt.out.contains("Offer") && !prompt.out.contains("Buy this."), "{prompt:?}");
    let path = format!("/sessions/{}", made["session_id"].as_str().expect("a session"));
    let session = stranger.get(&path).await.ok(200);
    let standing = session["participants"].as_array().expect("participants").iter();
    let standing: Vec<_> = standing.map(|one| one["status"].as_str().expect("a status")).collect();
    assert_eq!(standing, ["joined", "invited"], "{session}");
}

#[tokio::test]
async fn an_agent_within_the_session_is_told_nothing_and_nothing_is_lost_by_it() {
    let (_server, home, claude, codex) = two().await;
    said(&home, &codex, &claude, "For the session itself").await;
    let within = json!({"tool_name": "Bash", "agent_id": "a1", "agent_type": "Explore"});
    assert_eq!(claude.at(&home, "PostToolUse", within).await.out, "");
    let own = claude.at(&home, "PostToolUse", json!({"tool_name": "Task"})).await;
    assert!(own.out.contains("For the session itself"), "{own:?}");
}

#[tokio::test]
async fn odd_members_of_an_event_lose_nothing() {
    let (_server, home, claude, codex) = two().await;
    said(&home, &codex, &claude, "Still here").await;
    let odd = json!({"session_id": null, "stop_hook_active": null, "loop_count": 1.5, "workspace_roots": null,
        "tool_response": {"deep": [[[]]], "half": "\u{d7ff}"}});
    let tool = claude.at(&home, "PostToolUse", odd).await;
    assert!(tool.out.contains("Still here"), "{tool:?}");
}
