//! The reference's nine tools by their names, parameters and results.

use plenary_mcp::tool::Toolset;
use serde_json::{Value, json};

use crate::house::House;

#[tokio::test]
async fn the_nine_have_the_references_names_and_parameters() {
    let house = House::new().await;
    let sets = [Toolset::Context];
    let relay: Vec<_> = house.tools.in_sets(&sets).filter(|tool| tool.name.starts_with("relay_")).collect();
    let parameters: Vec<(&str, Vec<&str>)> = relay
        .iter()
        .map(|tool| {
            (
                tool.name.as_str(),
                tool.input["properties"].as_object().unwrap().keys().map(String::as_str).collect(),
            )
        })
        .collect();
    assert_eq!(
        parameters,
        [
            ("relay_assert_fact", vec!["object", "project_id", "relation", "source_package_id", "subject"]),
            (
                "relay_deposit",
                vec![
                    "artifact_type",
                    "auto",
                    "decisions",
                    "description",
                    "handoff_note",
                    "open_questions",
                    "project_id",
                    "review_type",
                    "status",
                    "title",
                    "topic",
                ]
            ),
            ("relay_invalidate_fact", vec!["object", "project_id", "relation", "subject"]),
            ("relay_orchestrate", vec!["focus", "include_archived", "project_id", "snippets"]),
            ("relay_pull_context", vec!["mode", "package_id", "project_id", "query"]),
            (
                "relay_query_facts",
                vec!["as_of", "include_ended", "limit", "object", "project_id", "relation", "subject"]
            ),
            (
                "relay_session_orient",
                vec!["format", "key_packages", "open_questions", "project_id", "window_days"]
            ),
            ("relay_session_start", vec!["agent_description", "project_id"]),
            ("relay_status", vec!["project_id"]),
        ]
    );
}

#[tokio::test]
async fn a_session_deposits_recalls_and_states_facts() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    let deposit = alice
        .call(
            "relay_deposit",
            json!({"title": "Use SQLite", "decisions": ["SQLite holds the log"], "open_questions": ["Backups?"], "project_id": "p"}),
        )
        .await;
    assert_eq!((&deposit["status"], &deposit["review_type"]), (&json!("complete"), &json!("none")));
    let started =
        alice.call("relay_session_start", json!({"project_id": "p", "agent_description": "x"})).await;
    assert_eq!(started["recent_packages"][0]["id"], deposit["package_id"]);
    assert!(started["session"]["callsign"].is_string());
    let members: Vec<_> = started["recent_packages"][0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["created_at", "handoff_note", "id", "status", "title"]);

    let latest = alice.call("relay_pull_context", json!({})).await;
    assert_eq!(latest[0]["package_id"], deposit["package_id"]);
    let specific = json!({"mode": "specific", "package_id": "nothing"});
    assert_eq!(alice.call("relay_pull_context", specific).await, Value::Null);
    // Without a mode, an id or a query says which one is meant.
    let by_id = alice.call("relay_pull_context", json!({"package_id": deposit["package_id"]})).await;
    assert_eq!(by_id["title"], "Use SQLite");
    let by_query = alice.call("relay_pull_context", json!({"query": "SQLite"})).await;
    assert_eq!(by_query[0]["package_id"], deposit["package_id"]);
    assert_eq!(alice.call("relay_pull_context", json!({"project_id": "p"})).await, latest);
    let status = alice.call("relay_status", json!({})).await;
    assert_eq!(status["session"]["id"], started["session"]["id"]);
    assert_eq!((&status["total_recent_packages"], &status["open_questions"]), (&json!(1), &json!(1)));

    let fact = json!({"subject": "log", "relation": "in", "object": "SQLite"});
    let first = alice.call("relay_assert_fact", fact.clone()).await;
    assert_eq!((&first["relation"], &first["object"]), (&json!("in"), &json!("SQLite")));
    assert_eq!(
        alice.call("relay_assert_fact", fact).await["id"],
        first["id"],
        "asserting it again changes nothing"
    );
    let facts = alice.call("relay_query_facts", json!({"subject": "log"})).await;
    assert_eq!((facts.as_array().unwrap().len(), &facts[0]["id"]), (1, &first["id"]));
    let ended = alice.call("relay_invalidate_fact", json!({"subject": "log", "relation": "in"})).await;
    assert_eq!(ended, json!({"invalidated": 1}));

    let orient = alice.call("relay_session_orient", json!({})).await;
    let callsign = started["session"]["callsign"].as_str().unwrap();
    assert!(orient.as_str().unwrap().starts_with(&format!("**active run `{callsign}`**\n")), "{orient}");
    let orient = alice.call("relay_session_orient", json!({"format": "json"})).await;
    assert_eq!(orient["session"]["auto_started"], false);
    let digest = alice.call("relay_orchestrate", json!({"project_id": "p"})).await;
    assert_eq!(digest["summary"]["package_count"], 1);
}

#[tokio::test]
async fn of_several_projects_the_named_one_is_pulled() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    for project in ["p", "q"] {
        alice.call("relay_deposit", json!({"title": project, "project_id": project})).await;
    }
    assert_eq!(alice.refused("relay_pull_context", json!({})).await, "which_project");
    let latest = alice.call("relay_pull_context", json!({"project_id": "q"})).await;
    assert_eq!(latest.as_array().unwrap().len(), 1, "{latest}");
    assert_eq!(latest[0]["title"], "q");
}
