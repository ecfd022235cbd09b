//! `plenary ask` in the shell of a coding agent: a hook does not repeat the answer if the model has it from the command.

use blackbox::Cli;
use serde_json::{Value, json};

use super::{
    Coding,
    delivery::{send, two},
    journal,
};
use crate::connect::json_of;

/// Asks in the shell of one coding agent, and answers as the other: what the command printed.
async fn asked(home: &Cli, claude: &Coding, codex: &Coding, answer: &str, more: &str) -> (String, String) {
    let line = claude.line("Stop");
    let program = line.split(" hook ").next().expect("a program");
    let line = format!("{program} ask {} 'Which port?' --wait 60 {more}", codex.handle);
    let answering = async {
        let args = ["inbox", "--wait", "60", "--as", &codex.handle, "--json"];
        let inbox = home.run_in(&codex.directory, &args).await;
        assert_eq!(inbox.code, 0, "{inbox:?}");
        let page = json_of(inbox.out.lines().last().unwrap_or_default());
        let item = page["items"].as_array().and_then(|items| items.last()).unwrap_or(&page).clone();
        let session = item["ref"]["session_id"].as_str().unwrap_or_else(|| panic!("{inbox:?}")).to_owned();
        home.run_in(&codex.directory, &["session", "join", &session, "--as", &codex.handle]).await;
        send(home, codex, &session, answer).await;
        home.run_in(&codex.directory, &["inbox", "--ack", "--as", &codex.handle]).await;
    };
    let (ran, ()) = tokio::join!(home.shell(&claude.directory, &line, ""), answering);
    assert_eq!(ran.code, 0, "{ran:?}");
    (ran.out, ran.err)
}

fn bash(out: &str, err: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": "plenary ask"},
        "tool_response": {"stdout": out.trim_end(), "stderr": err, "interrupted": false}})
}

#[tokio::test]
async fn an_answer_that_the_shell_showed_is_not_shown_again() {
    let (_server, home, claude, codex) = two().await;
    claude.at(&home, "SessionStart", json!({"source": "startup"})).await;
    let long = format!("On 7420.\n\n{}", "It was 7421 before.\n".repeat(400));
    for answer in ["On 7420.", &long] {
        for more in ["", "--json"] {
            let (out, err) = asked(&home, &claude, &codex, answer, more).await;
            let tool = claude.at(&home, "PostToolUse", bash(&out, &err)).await;
            assert_eq!(tool.out, "", "{more}");
            let status = home.run_in(&claude.directory, &["inbox", "--as", &claude.handle]).await;
            assert!(!status.out.contains("7420"), "{status:?}");
        }
    }
    assert_eq!(journal(&home), "");
}

#[tokio::test]
async fn an_answer_that_no_model_saw_whole_is_shown() {
    let (_server, home, claude, codex) = two().await;
    claude.at(&home, "SessionStart", json!({"source": "startup"})).await;
    let (out, err) = asked(&home, &claude, &codex, "no\nit is 7420", "").await;
    assert!(out.contains("7420"), "{out}");
    for unseen in [
        // The output went to a file, was cut, or was of another command.
        bash("", &err),
        bash("no", &err),
        bash("no, it is 7420", &err),
        bash(&out, ""),
        json!({"tool_name": "Bash", "tool_input": {"command": out}}),
    ] {
        let mut within = unseen.clone();
        within["agent_id"] = "within".into();
        assert_eq!(claude.at(&home, "PostToolUse", within).await.out, "", "a subagent has its own context");
        let (line, mut input) = (claude.line("PostToolUse"), unseen);
        input["cwd"] = claude.directory.display().to_string().into();
        input["hook_event_name"] = "PostToolUse".into();
        input["session_id"] = "s-1".into();
        let ran = home.shell(&claude.directory, &format!("{line} >/dev/null"), &input.to_string()).await;
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let tool = claude.at(&home, "PostToolUse", bash("", &err)).await;
    assert!(tool.out.contains("it is 7420"), "{tool:?}");
}
