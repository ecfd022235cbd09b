//! The latest packages and the bundle for a new session: AP-8, AP-58, AP-61, AP-81.

use blackbox::{Agent, assert_keys};
use serde_json::{Value, json};

use super::speak::{
    PROJECT, ago, assert_fact, assert_field, days, deposited, desk, instant, latest, list, package_with,
    texts,
};

async fn put(nick: &Agent, id: &str, created_at: &str, more: Value) {
    let members = super::speak::with(json!({ "created_at": created_at }), more);
    deposited(nick, &package_with(&nick.handle, id, members)).await;
}

/// AP-58: newest `created_at` first, as instants, whatever order they came in and however they are spelt.
#[tokio::test]
async fn ap_58_latest_is_newest_first() {
    let (mut server, nick) = desk().await;
    let times = [
        "2026-04-18T20:00:00.25+00:00",
        "2026-04-18T20:00:01Z",
        "2026-04-18T20:00:00Z",
        "2026-04-18T20:00:00.5Z",
        "2026-04-18T19:59:59.999999Z",
        "2999-01-01T00:00:00Z",
        "1970-01-01T00:00:00+00:00",
        "2026-04-18T20:00:00.1234Z",
    ];
    for (number, time) in times.iter().enumerate() {
        put(&nick, &format!("p{number}"), time, json!({})).await;
    }
    let order = ["p5", "p1", "p3", "p0", "p7", "p2", "p4", "p6"];
    for _ in 0..2 {
        assert_eq!(texts(&latest(&nick, "&limit=100").await, "package_id"), order);
        for limit in 1..order.len() {
            let found = latest(&nick, &format!("&limit={limit}")).await;
            assert_eq!(texts(&found, "package_id"), order[..limit]);
        }
        assert_eq!(texts(&latest(&nick, "").await, "package_id"), order[..5], "five when nothing is said");
        server.crash().await;
    }
}

/// 0.4 #13: drafts are listed with their status.
#[tokio::test]
async fn ap_8_drafts_are_visible_in_latest() {
    let (_server, nick) = desk().await;
    for status in ["draft", "awaiting_review", "revision_requested", "complete"] {
        put(&nick, status, "2026-04-18T20:00:00Z", json!({ "status": status })).await;
    }
    let mut found = texts(&latest(&nick, "").await, "status");
    found.sort();
    assert_eq!(found, ["awaiting_review", "complete", "draft", "revision_requested"]);
    for status in ["draft", "complete"] {
        assert_eq!(texts(&latest(&nick, &format!("&status={status}")).await, "package_id"), [status]);
    }
}

async fn orient(nick: &Agent, query: &str) -> Value {
    let bundle = nick.get(&format!("/v1/projects/{PROJECT}/orient{query}")).await.ok(200);
    let keys =
        ["project", "recent_packages", "active_facts", "open_questions", "window_days", "generated_at"];
    assert_keys(&bundle, &keys, &[]);
    bundle
}

/// AP-61, AP-81: exactly six keys; packages of the window as they are; all current facts.
#[tokio::test]
async fn ap_61_81_orient_gives_the_state() {
    let (_server, nick) = desk().await;
    let before = instant(&json!(ago(1)));
    put(&nick, "new", &ago(60_000), json!({"open_questions": ["why?", "how é?"]})).await;
    put(&nick, "week", &ago(days(7)), json!({"open_questions": ["when?"], "x-kept": {"a": null}})).await;
    put(&nick, "edge", &ago(days(14) - 600_000), json!({})).await;
    put(&nick, "past", &ago(days(14) + 600_000), json!({"open_questions": ["forgotten?"]})).await;
    let old = json!({"subject": "s", "predicate": "p", "value": "1", "valid_from": "2020-01-01T00:00:00Z"});
    assert_fact(&nick, old).await;
    let current = assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "2"})).await;
    let gone = json!({"subject": "gone", "predicate": "p", "value": "1"});
    assert_fact(&nick, gone).await;
    nick.delete(&format!("/v1/projects/{PROJECT}/facts?subject=gone&predicate=p")).await.ok(200);
    let bundle = orient(&nick, "").await;
    assert_eq!(bundle["window_days"], 14);
    assert_eq!(bundle["project"]["project_id"], PROJECT);
    assert!(instant(&bundle["generated_at"]) >= before, "{bundle}");
    assert_eq!(bundle["active_facts"], json!([current]));
    let recent = list(&bundle, "recent_packages");
    assert_eq!(texts(&recent, "package_id"), ["new", "week", "edge"]);
    assert_eq!(recent[..], latest(&nick, "").await[..3], "raw packages");
    let questions = list(&bundle, "open_questions");
    let mut asked = texts(&questions, "question");
    asked.sort();
    assert_eq!(asked, ["how é?", "when?", "why?"]);
    for question in &questions {
        assert_keys(question, &["question", "package_id", "created_at"], &[]);
        let package = recent.iter().find(|package| package["package_id"] == question["package_id"]);
        let package = package.expect("its package");
        assert_eq!(question["created_at"], package["created_at"]);
        assert!(list(package, "open_questions").contains(&question["question"]));
    }
}

/// AP-61: the window is the caller's.
#[tokio::test]
async fn ap_61_the_window_is_chosen() {
    let (_server, nick) = desk().await;
    put(&nick, "new", &ago(60_000), json!({})).await;
    put(&nick, "week", &ago(days(7)), json!({})).await;
    put(&nick, "year", &ago(days(300)), json!({})).await;
    for (window, wanted) in [
        (1, &["new"][..]),
        (6, &["new"]),
        (8, &["new", "week"]),
        (299, &["new", "week"]),
        (365, &["new", "week", "year"]),
    ] {
        let bundle = orient(&nick, &format!("?window_days={window}")).await;
        assert_eq!(bundle["window_days"], window);
        assert_eq!(texts(&list(&bundle, "recent_packages"), "package_id"), wanted, "{window} days");
    }
    for bad in ["-1", "x", "1.5", "", "99999999999999999999"] {
        let response = nick.get(&format!("/v1/projects/{PROJECT}/orient?window_days={bad}")).await;
        response.refusal_code(400);
        assert_field(&response, "window_days");
    }
    nick.get("/v1/projects/unknown/orient").await.assert_refused(404, "project_not_found");
}

/// D.7: a window ends now. A package of the future does not take the place of later ones; one of a clock that is a little
/// ahead is there.
#[tokio::test]
async fn packages_of_the_future_hide_nothing() {
    let (_server, nick) = desk().await;
    for (id, ms) in [("ahead", days(9)), ("soon", 20_000), ("now", 0)] {
        put(&nick, id, &ago(-ms), json!({"open_questions": ["why?"]})).await;
    }
    let bundle = orient(&nick, "?window_days=1").await;
    assert_eq!(texts(&list(&bundle, "recent_packages"), "package_id"), ["soon", "now"]);
    assert_eq!(texts(&list(&bundle, "open_questions"), "package_id"), ["soon", "now"]);
    let digest = nick.get(&format!("/v1/orchestrate?project={PROJECT}&window_days=1")).await.ok(200);
    assert_eq!(digest["summary"]["package_count"], 2, "{digest}");
}

/// A project without anything orients to nothing.
#[tokio::test]
async fn ap_61_an_empty_project_orients() {
    let (_server, nick) = desk().await;
    nick.post("/v1/projects", json!({"project_id": PROJECT, "name": "Relay"})).await.ok(201);
    let bundle = orient(&nick, "").await;
    assert_eq!(bundle["project"], nick.get(&format!("/v1/projects/{PROJECT}")).await.ok(200));
    for empty in ["recent_packages", "active_facts", "open_questions"] {
        assert_eq!(bundle[empty], json!([]), "{empty}");
    }
    assert_eq!(latest(&nick, "").await, Vec::<Value>::new());
}
