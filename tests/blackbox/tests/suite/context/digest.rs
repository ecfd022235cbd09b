//! The digest across packages: AP-8, AP-62, AP-105.

use blackbox::{Agent, assert_keys};
use serde_json::{Value, json};

use super::speak::{
    PROJECT, ago, assert_fact, assert_field, days, deposited, desk, instant, list, package_with, texts,
};

const KEYS: [&str; 8] = [
    "project",
    "focus",
    "window_days",
    "summary",
    "active_facts",
    "open_questions",
    "snippets",
    "generated_at",
];

async fn orchestrate(nick: &Agent, query: &str) -> Value {
    let bundle = nick.get(&format!("/v1/orchestrate{query}")).await.ok(200);
    assert_keys(&bundle, &KEYS, &["projects"]);
    let summary = ["package_count", "by_type", "by_status", "first_at", "last_at", "text"];
    assert_keys(&bundle["summary"], &summary, &["truncated"]);
    assert!(bundle["summary"]["text"].is_string(), "{bundle}");
    instant(&bundle["generated_at"]);
    bundle
}

async fn put(nick: &Agent, id: &str, members: Value) {
    let members = super::speak::with(json!({"created_at": ago(60_000)}), members);
    deposited(nick, &package_with(&nick.handle, id, members)).await;
}

#[tokio::test]
async fn ap_62_a_digest_of_a_project() {
    let (_server, nick) = desk().await;
    let (first, last) = (ago(days(3)), ago(1_000));
    put(&nick, "a", json!({"created_at": last, "package_type": "decision", "open_questions": ["why?"]}))
        .await;
    put(&nick, "b", json!({"created_at": first, "package_type": "decision", "status": "awaiting_review"}))
        .await;
    put(&nick, "c", json!({"package_type": "x-model-eval"})).await;
    put(&nick, "old", json!({"created_at": ago(days(400)), "open_questions": ["forgotten?"]})).await;
    let fact = assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
    let bundle = orchestrate(&nick, &format!("?project={PROJECT}")).await;
    let project = nick.get(&format!("/v1/projects/{PROJECT}")).await.ok(200);
    assert!(bundle["project"] == project || bundle["project"] == PROJECT, "{bundle}");
    assert_eq!(bundle["focus"], json!(null));
    let summary = &bundle["summary"];
    assert_eq!(summary["package_count"], 3, "{bundle}");
    assert_eq!(summary["by_type"], json!({"decision": 2, "x-model-eval": 1}));
    assert_eq!(summary["by_status"], json!({"complete": 2, "awaiting_review": 1}));
    assert_eq!(instant(&summary["first_at"]), instant(&json!(first)));
    assert_eq!(instant(&summary["last_at"]), instant(&json!(last)));
    assert_eq!(bundle["active_facts"], json!([fact]));
    let questions = list(&bundle, "open_questions");
    assert_eq!(texts(&questions, "question"), ["why?"]);
    assert_eq!(texts(&questions, "package_id"), ["a"]);
    assert!(bundle.get("projects").is_none(), "only globally: {bundle}");
    nick.get("/v1/orchestrate?project=unknown").await.assert_refused(404, "project_not_found");
}

/// AP-62: without a project, all of one's own, with counts.
#[tokio::test]
async fn ap_62_a_digest_of_all_projects() {
    let (_server, nick) = desk().await;
    put(&nick, "a", json!({"open_questions": ["why?", "how?"]})).await;
    put(&nick, "b", json!({})).await;
    put(&nick, "c", json!({"project_id": "other"})).await;
    assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
    let bundle = orchestrate(&nick, "").await;
    assert_eq!(bundle["project"], json!(null));
    assert_eq!(bundle["summary"]["package_count"], 3);
    let mut projects = list(&bundle, "projects");
    projects.sort_by_key(|project| project["project_id"].to_string());
    let wanted = json!([
        {"project_id": "other", "packages": 1, "facts": 0, "open_questions": 0},
        {"project_id": PROJECT, "packages": 2, "facts": 1, "open_questions": 2},
    ]);
    assert_eq!(json!(projects), wanted);
}

/// AP-8, D.7: a digest shows drafts to nobody.
#[tokio::test]
async fn ap_8_drafts_stay_out_of_digests() {
    let (server, nick) = desk().await;
    let members = json!({"status": "draft", "title": "hidden-title", "open_questions": ["hidden-question?"]});
    put(&nick, "hidden-draft", members).await;
    put(&nick, "shown", json!({})).await;
    for (caller, query) in [
        (&*nick, format!("?project={PROJECT}")),
        (&*nick, String::new()),
        (&server.operator(), format!("?project={PROJECT}")),
    ] {
        let bundle = caller.get(&format!("/v1/orchestrate{query}")).await.ok(200);
        assert_eq!(bundle["summary"]["package_count"], 1, "{bundle}");
        assert_eq!(bundle["summary"]["by_status"], json!({"complete": 1}));
        assert!(!bundle.to_string().contains("hidden"), "{bundle}");
    }
    nick.post("/v1/packages/hidden-draft/review", json!({"status": "complete"})).await.ok(200);
    let bundle = orchestrate(&nick, &format!("?project={PROJECT}")).await;
    assert_eq!(bundle["summary"]["package_count"], 2);
    assert_eq!(texts(&list(&bundle, "open_questions"), "question"), ["hidden-question?"]);
}

/// Nothing at all is a digest too.
#[tokio::test]
async fn ap_62_an_empty_digest() {
    let (_server, nick) = desk().await;
    let bundle = orchestrate(&nick, "").await;
    assert_eq!(bundle["summary"]["package_count"], 0);
    assert_eq!((&bundle["summary"]["by_type"], &bundle["summary"]["by_status"]), (&json!({}), &json!({})));
    assert_eq!((&bundle["summary"]["first_at"], &bundle["summary"]["last_at"]), (&json!(null), &json!(null)));
    for empty in ["active_facts", "open_questions", "snippets", "projects"] {
        assert_eq!(bundle[empty], json!([]), "{empty}");
    }
    for bad in ["-1", "x", "1.5"] {
        let response = nick.get(&format!("/v1/orchestrate?snippets={bad}")).await;
        response.refusal_code(400);
        assert_field(&response, "snippets");
    }
}
