//! `plenary hook PermissionRequest`: a coding agent's person is asked in the inbox before its window asks.

use blackbox::Cli;
use serde_json::{Value, json};

use super::{House, at, house, listed};

const INPUT: &str = r#"{"session_id":"s","cwd":"/src/app","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -r build","description":"Remove the build"}}"#;

fn cli(house: &House) -> Cli {
    Cli::new(&[
        ("PLENARY_URL", &house.server.url()),
        ("PLENARY_AS", &house.agent.handle),
        ("PLENARY_TOKEN", house.agent.token()),
    ])
}

async fn hook(cli: &Cli, wait: &str) -> String {
    let directory = cli.dir();
    let line = format!("'{}' hook --client claude --wait-seconds {wait}", blackbox::binary().display());
    let ran = cli.shell(&directory, &line, INPUT).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out
}

#[tokio::test]
async fn the_answer_of_a_person_is_printed_as_the_decision() {
    let house = house().await;
    let cli = cli(&house);
    for (answer, expected) in [
        (json!({"type": "accept"}), json!({"behavior": "allow"})),
        (
            json!({"type": "edit", "args": {"command": "ls build"}}),
            json!({"behavior": "allow", "updatedInput": {"command": "ls build", "description": "Remove the build"}}),
        ),
        (json!({"type": "respond", "text": "Keep it."}), json!({"behavior": "deny", "message": "Keep it."})),
    ] {
        let answering = async {
            let page = listed(&house.owner, "permission", 1).await;
            let request = &page["requests"][0];
            assert_eq!(
                (&request["title"], &request["directory"]),
                (&json!("Bash: Remove the build"), &json!("/src/app"))
            );
            let mut body = answer.clone();
            body["version"] = request["version"].clone();
            let id = request["request_id"].as_str().expect("an id");
            house.owner.post(&at(id, "/answer"), body).await.ok(200);
        };
        let (printed, ()) = tokio::join!(hook(&cli, "60"), answering);
        let said: Value = serde_json::from_str(&printed).expect("JSON");
        let output = &said["hookSpecificOutput"];
        assert_eq!((&output["hookEventName"], &output["decision"]), (&json!("PermissionRequest"), &expected));
    }
    assert_eq!(house.agent.get("/inbox").await.ok(200)["items"], json!([]), "the answer was heard");
}

#[tokio::test]
async fn without_an_answer_nothing_is_printed_and_the_request_is_withdrawn() {
    let house = house().await;
    let printed = hook(&cli(&house), "1").await;
    assert_eq!(printed, "");
    let page = house.owner.get("/requests?state=withdrawn").await.ok(200);
    assert_eq!(page["requests"].as_array().map(Vec::len), Some(1), "{page}");
}

#[tokio::test]
async fn only_who_said_so_is_asked_first_and_disconnecting_takes_it_back() {
    let server = crate::connect::server().await;
    let home = crate::connect::home(&server);
    for (coding, file) in [("claude", ".claude/settings.local.json"), ("codex", ".codex/hooks.json")] {
        let directory = home.dir().join(coding);
        let hooks = || {
            let text = std::fs::read_to_string(directory.join(file)).expect("settings");
            crate::connect::json_of(&text)["hooks"]["PermissionRequest"].clone()
        };
        crate::connect::connected(&home, &directory, coding).await;
        assert_eq!(hooks(), Value::Null, "{coding} is asked in its window unless somebody says otherwise");
        let ran = home.run_in(&directory, &["connect", coding, "--approvals", "30"]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        let hook = hooks()[0]["hooks"][0].clone();
        let command = hook["command"].as_str().expect("a command");
        assert!(
            command.ends_with(&format!("hook PermissionRequest --wait-seconds 30 --client {coding}")),
            "{command}"
        );
        assert_eq!(hook["timeout"], 40);
        let ran = home.run_in(&directory, &["disconnect", coding]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!directory.join(file).exists(), "what was made for it goes with it");
    }
    let ran = home.run_in(&home.dir().join("c"), &["connect", "cursor", "--approvals"]).await;
    assert_eq!(ran.code, 2, "{ran:?}");
}
