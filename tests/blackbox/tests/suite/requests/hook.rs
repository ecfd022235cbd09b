//! `plenary hook` at `PermissionRequest` and `Elicitation`: a coding agent's person is asked in the inbox before its window asks.

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

async fn hook(cli: &Cli, wait: &str, input: &str) -> String {
    let directory = cli.dir();
    let line = format!("'{}' hook --client claude --wait-seconds {wait}", blackbox::binary().display());
    let ran = cli.shell(&directory, &line, input).await;
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
                (&json!("Bash: rm -r build"), &json!("/src/app"))
            );
            let mut body = answer.clone();
            body["version"] = request["version"].clone();
            let id = request["request_id"].as_str().expect("an id");
            house.owner.post(&at(id, "/answer"), body).await.ok(200);
        };
        let (printed, ()) = tokio::join!(hook(&cli, "60", INPUT), answering);
        let said: Value = serde_json::from_str(&printed).expect("JSON");
        let output = &said["hookSpecificOutput"];
        assert_eq!((&output["hookEventName"], &output["decision"]), (&json!("PermissionRequest"), &expected));
    }
    assert_eq!(house.agent.get("/inbox").await.ok(200)["items"], json!([]), "the answer was heard");
}

#[tokio::test]
async fn without_an_answer_nothing_is_printed_and_the_request_is_withdrawn() {
    let house = house().await;
    let printed = hook(&cli(&house), "1", INPUT).await;
    assert_eq!(printed, "");
    let page = house.owner.get("/requests?state=withdrawn").await.ok(200);
    assert_eq!(page["requests"].as_array().map(Vec::len), Some(1), "{page}");
}

const ELICITATION: &str = r#"{"session_id":"s","cwd":"/src/app","hook_event_name":"Elicitation","mcp_server_name":"bank","mode":"form","message":"Which account?","requested_schema":{"type":"object","properties":{"account":{"type":"string","enum":["1","2"]}},"required":["account"]}}"#;

#[tokio::test]
async fn what_a_server_asks_for_is_answered_in_the_inbox() {
    let house = house().await;
    let cli = cli(&house);
    for (answer, expected) in [
        (
            json!({"type": "edit", "args": {"account": "2"}}),
            json!({"hookEventName": "Elicitation", "action": "accept", "content": {"account": "2"}}),
        ),
        (json!({"type": "ignore"}), json!({"hookEventName": "Elicitation", "action": "decline"})),
    ] {
        let answering = async {
            let page = listed(&house.owner, "question", 1).await;
            let request = &page["requests"][0];
            assert_eq!(request["title"], "bank asks: Which account?");
            assert_eq!(request["source"], json!({"room": "mcp", "id": "bank"}));
            assert_eq!(request["form"]["required"], json!(["account"]));
            let mut body = answer.clone();
            body["version"] = request["version"].clone();
            let id = request["request_id"].as_str().expect("an id");
            house.owner.post(&at(id, "/answer"), body).await.ok(200);
        };
        let (printed, ()) = tokio::join!(hook(&cli, "60", ELICITATION), answering);
        let said: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(said["hookSpecificOutput"], expected);
    }
}

#[tokio::test]
async fn what_nobody_answers_or_no_form_can_ask_is_left_to_the_window() {
    let house = house().await;
    let cli = cli(&house);
    assert_eq!(hook(&cli, "1", ELICITATION).await, "");
    let withdrawn = house.owner.get("/requests?state=withdrawn").await.ok(200);
    assert_eq!(withdrawn["requests"].as_array().map(Vec::len), Some(1), "{withdrawn}");
    let page = r#"{"session_id":"s","hook_event_name":"Elicitation","mcp_server_name":"bank","mode":"url","message":"Sign in","url":"https://bank.example"}"#;
    let nested = ELICITATION.replace(r#""type":"string","enum":["1","2"]"#, r#""type":"object""#);
    for input in [page, &nested] {
        assert_eq!(hook(&cli, "60", input).await, "");
    }
    assert_eq!(house.owner.get("/requests").await.ok(200)["requests"], json!([]), "nobody is asked");
}

#[tokio::test]
async fn only_who_said_so_is_asked_first_and_disconnecting_takes_it_back() {
    let server = crate::connect::server().await;
    let home = crate::connect::home(&server);
    for (coding, file) in [("claude", ".claude/settings.local.json"), ("codex", ".codex/hooks.json")] {
        let directory = home.dir().join(coding);
        let hooks = |event: &str| {
            let text = std::fs::read_to_string(directory.join(file)).expect("settings");
            crate::connect::json_of(&text)["hooks"][event].clone()
        };
        let command_of = |event: &str| hooks(event)[0]["hooks"][0]["command"].as_str().map(str::to_owned);
        crate::connect::connected(&home, &directory, coding).await;
        for event in ["PermissionRequest", "Elicitation"] {
            assert_eq!(
                hooks(event),
                Value::Null,
                "{coding} is asked in its window unless somebody says otherwise"
            );
        }
        let ran = home.run_in(&directory, &["connect", coding, "--approvals", "30"]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        let command = command_of("PermissionRequest").expect("a command");
        assert!(
            command.ends_with(&format!("hook PermissionRequest --wait-seconds 30 --client {coding}")),
            "{command}"
        );
        assert_eq!(hooks("PermissionRequest")[0]["hooks"][0]["timeout"], 40);
        // Codex has no hook for what servers ask.
        let elicits = command_of("Elicitation")
            .is_some_and(|command| command.contains("hook Elicitation --wait-seconds 30"));
        assert_eq!(elicits, coding == "claude");
        let ran = home.run_in(&directory, &["disconnect", coding]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!directory.join(file).exists(), "what was made for it goes with it");
    }
    let ran = home.run_in(&home.dir().join("c"), &["connect", "cursor", "--approvals"]).await;
    assert_eq!(ran.code, 2, "{ran:?}");
}
