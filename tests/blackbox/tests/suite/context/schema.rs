//! The required members of a package: AP-19 to AP-30. Each refusal names its field and leaves nothing behind.

use serde_json::{Value, json};

use super::bench::Bench;
use super::speak::{PROJECT, deposit, packages_of, refused};

/// What is no text at all.
fn not_text() -> Vec<Value> {
    vec![json!(1), json!(true), json!(null), json!([]), json!({}), json!(["x"])]
}

fn words(list: &[&str]) -> Vec<Value> {
    list.iter().map(|word| json!(word)).collect()
}

/// AP-19: absence of any of the nine.
#[tokio::test]
async fn ap_19_nine_members_are_required() {
    let mut bench = Bench::new().await;
    for name in [
        "package_id",
        "project_id",
        "relay_version",
        "title",
        "status",
        "package_type",
        "review_type",
        "created_at",
        "created_by",
    ] {
        let package = bench.without(name);
        bench.refuses(&package, name).await;
        let package = bench.with(json!({ name: null }));
        bench.refuses(&package, name).await;
    }
    // None of it brought the project into being.
    bench.nick.get(&packages_of(PROJECT)).await.refused(404, "project_not_found");
}

/// AP-20: the id is a string; the wrong kinds are refused.
#[tokio::test]
async fn ap_20_an_id_is_text() {
    let mut bench = Bench::new().await;
    bench.member("package_id", &[], &not_text()).await;
}

/// 0.4 #9: the project of the body is that of the path.
#[tokio::test]
async fn ap_1_a_package_has_one_project() {
    let mut bench = Bench::new().await;
    let package = bench.with(json!({"project_id": "another"}));
    let response = bench.nick.post(&packages_of(PROJECT), package.clone()).await;
    refused(&response, 400, "invalid_schema", "project_id");
    for project in [PROJECT, "another"] {
        bench.nick.get(&packages_of(project)).await.refused(404, "project_not_found");
    }
    deposit(&bench.nick, &package).await.ok(201);
    bench.nick.get(&packages_of(PROJECT)).await.refused(404, "project_not_found");
    bench.member("project_id", &[], &not_text()).await;
}

/// AP-21, AP-92: this document is 0.1.
#[tokio::test]
async fn ap_21_the_version_is_0_1() {
    let mut bench = Bench::new().await;
    let bad = words(&["", "0.2", "1.0", "0.1.0", "0.10", "v0.1", " 0.1", "0.1 "]);
    let bad: Vec<_> = bad.into_iter().chain([json!(0.1)]).chain(not_text()).collect();
    bench.member("relay_version", &[json!("0.1")], &bad).await;
}

/// AP-22: 1 to 200 characters, not octets.
#[tokio::test]
async fn ap_22_a_title_is_counted_in_characters() {
    let mut bench = Bench::new().await;
    let good: Vec<_> = ["x", "€", "😀"].iter().flat_map(|one| [json!(one), json!(one.repeat(200))]).collect();
    let bad: Vec<_> = ["x", "€", "😀", "e\u{301}"].iter().map(|one| json!(one.repeat(201))).collect();
    let bad: Vec<_> = bad.into_iter().chain([json!("")]).chain(not_text()).collect();
    bench.member("title", &good, &bad).await;
    bench.member("title", &[json!(" "), json!("e\u{301}".repeat(100)), json!("a\nb\u{7f}")], &[]).await;
}

/// AP-6, AP-23: four statuses.
#[tokio::test]
async fn ap_23_there_are_four_statuses() {
    let mut bench = Bench::new().await;
    let good = words(&["draft", "awaiting_review", "revision_requested", "complete"]);
    let bad = words(&[
        "",
        "Complete",
        "complete ",
        "pending_review",
        "approved",
        "rejected",
        "in_progress",
        "x-new",
    ]);
    let bad: Vec<_> = bad.into_iter().chain(not_text()).collect();
    bench.member("status", &good, &bad).await;
}

/// AP-24: three review types.
#[tokio::test]
async fn ap_24_there_are_three_review_types() {
    let mut bench = Bench::new().await;
    let bad: Vec<_> =
        words(&["", "None", "script", "x-panel", "any"]).into_iter().chain(not_text()).collect();
    bench.member("review_type", &words(&["none", "human", "agent"]), &bad).await;
}

/// AP-25, D.7: RFC 3339 in UTC, which ends in `Z` or `+00:00`.
#[tokio::test]
async fn ap_25_times_are_rfc_3339_utc() {
    let mut bench = Bench::new().await;
    let good = words(&[
        "2026-04-18T20:00:00Z",
        "2026-04-18T20:00:00+00:00",
        "2026-04-18T20:00:00.1Z",
        "2026-04-18T20:00:00.123456Z",
        "2024-02-29T23:59:59.999+00:00",
        "1970-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z",
    ]);
    let bad = words(&[
        "",
        "2026-04-18",
        "2026-04-18T20:00:00",
        "2026-04-18T20:00Z",
        "20:00:00Z",
        "2026-04-18T22:00:00+02:00",
        "2026-04-18T20:00:00-01:00",
        "2026-04-18T20:00:00+0000",
        "2026-04-18T20:00:00+00",
        "2026-04-31T20:00:00Z",
        "2025-02-29T20:00:00Z",
        "2026-13-01T20:00:00Z",
        "2026-04-18T24:00:01Z",
        "2026-04-18T20:60:00Z",
        "2026-04-18T20:00:00.Z",
        " 2026-04-18T20:00:00Z",
        "2026-04-18T20:00:00ZZ",
        "26-04-18T20:00:00Z",
        "Sat, 18 Apr 2026 20:00:00 GMT",
        "1776542400",
        "now",
    ]);
    let bad: Vec<_> = bad.into_iter().chain(not_text()).collect();
    bench.member("created_at", &good, &bad).await;
}

/// AP-26 to AP-28: who made it.
#[tokio::test]
async fn ap_26_created_by_names_an_actor() {
    let mut bench = Bench::new().await;
    let by = bench.nick.handle.clone();
    let bad = [json!("nick"), json!(null), json!([]), json!(7), json!(true)];
    bench.member("created_by", &[], &bad).await;
    let good = [
        json!({"id": by, "type": "human"}),
        json!({"id": by, "type": "agent"}),
        json!({"id": by, "type": "script"}),
        json!({"id": by, "type": "agent", "session_id": null}),
        json!({"id": by, "type": "agent", "session_id": "sess_abc123"}),
        json!({"id": by, "type": "agent", "git_commit": "abc", "x-key": {"a": null}}),
    ];
    bench.member("created_by", &good, &[]).await;
    for (created_by, field) in [
        (json!({}), "created_by.id"),
        (json!({"type": "agent"}), "created_by.id"),
        (json!({"id": null, "type": "agent"}), "created_by.id"),
        (json!({"id": 7, "type": "agent"}), "created_by.id"),
        (json!({"id": [by], "type": "agent"}), "created_by.id"),
        (json!({"id": by}), "created_by.type"),
        (json!({"id": by, "type": null}), "created_by.type"),
        (json!({"id": by, "type": ""}), "created_by.type"),
        (json!({"id": by, "type": "Agent"}), "created_by.type"),
        (json!({"id": by, "type": "robot"}), "created_by.type"),
        (json!({"id": by, "type": "x-robot"}), "created_by.type"),
        (json!({"id": by, "type": 1}), "created_by.type"),
        (json!({"id": by, "type": "agent", "session_id": 7}), "created_by.session_id"),
        (json!({"id": by, "type": "agent", "session_id": {}}), "created_by.session_id"),
    ] {
        let package = bench.with(json!({ "created_by": created_by }));
        bench.refuses(&package, field).await;
    }
}

/// AP-29, AP-30, AP-90: eight types and whatever begins with `x-`.
#[tokio::test]
async fn ap_30_new_types_begin_with_x() {
    let mut bench = Bench::new().await;
    let good = words(&[
        "standard",
        "milestone",
        "decision",
        "handoff",
        "auto_deposit",
        "analysis",
        "question",
        "orchestrator_report",
        "x-review-response",
        "x-model-eval",
        "x-é",
    ]);
    let bad =
        words(&["", "memo", "Standard", "auto-deposit", "lattice_node", "human_review", "X-memo", "x_memo"]);
    let bad: Vec<_> = bad.into_iter().chain(not_text()).collect();
    bench.member("package_type", &good, &bad).await;
}

/// A body that is JSON but no package.
#[tokio::test]
async fn ap_54_a_package_is_an_object() {
    let bench = Bench::new().await;
    for body in [json!([]), json!("x"), json!(7), json!(null), json!(true), json!([{}])] {
        bench.nick.post(&packages_of(PROJECT), body).await.refused(400, "invalid_schema");
    }
    bench.nick.get(&packages_of(PROJECT)).await.refused(404, "project_not_found");
}
