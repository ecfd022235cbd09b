//! The members of a package: AP-16, AP-19 to AP-34. Each refusal names its field and leaves nothing behind. The values of
//! each member are tried beside the schema; here stand a few of each, to show that the server asks it.

use serde_json::{Value, json};

use super::bench::Bench;
use super::speak::{PROJECT, deposit, packages_of, refused};

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
    bench.nick.get(&packages_of(PROJECT)).await.assert_refused(404, "project_not_found");
}

/// 0.4 #9: the project of the body is that of the path.
#[tokio::test]
async fn ap_1_a_package_has_one_project() {
    let mut bench = Bench::new().await;
    let package = bench.with(json!({"project_id": "another"}));
    let response = bench.nick.post(&packages_of(PROJECT), package.clone()).await;
    refused(&response, 400, "invalid_schema", "project_id");
    for project in [PROJECT, "another"] {
        bench.nick.get(&packages_of(project)).await.assert_refused(404, "project_not_found");
    }
    deposit(&bench.nick, &package).await.ok(201);
    bench.nick.get(&packages_of(PROJECT)).await.assert_refused(404, "project_not_found");
}

/// What a member takes, and what it does not.
type Values = (Vec<Value>, Vec<Value>);

/// AP-16, AP-20 to AP-25, AP-30 to AP-32, AP-90, AP-92: a value at the bound of each member, and values past it.
#[tokio::test]
async fn ap_16_20_21_22_23_24_25_30_31_32_90_92_each_member_is_held_to_the_schema() {
    let mut bench = Bench::new().await;
    let texts = || (vec![json!(""), json!("prose\n\n# é 😀")], vec![json!(null), json!(1)]);
    let nullable = || (vec![json!(null), json!("retrieval")], vec![json!(false)]);
    let list = || (vec![json!([]), json!(["", "é", "x", "x"])], vec![json!(null), json!("x")]);
    let rows: [(&str, Values); 18] = [
        ("package_id", (vec![], vec![json!(1), json!(["x"])])),
        ("relay_version", (vec![json!("0.1")], vec![json!("0.2"), json!(0.1)])),
        ("title", (vec![json!("😀".repeat(200))], vec![json!(""), json!("e\u{301}".repeat(101))])),
        ("status", (vec![json!("revision_requested")], vec![json!("approved"), json!("Complete")])),
        ("review_type", (vec![json!("agent")], vec![json!("script")])),
        (
            "created_at",
            (vec![json!("0001-01-01T00:00:00.5+00:00")], vec![json!("2026-04-18T22:00:00+02:00")]),
        ),
        ("package_type", (vec![json!("orchestrator_report"), json!("x-é")], vec![json!("memo")])),
        ("description", texts()),
        ("handoff_note", texts()),
        ("content_md", texts()),
        ("parent_package_id", nullable()),
        ("topic", nullable()),
        ("artifact_type", nullable()),
        ("storage_path", nullable()),
        ("tags", list()),
        ("decisions_made", list()),
        ("estimated_next_actor", (vec![json!("human"), json!(null)], vec![json!("script")])),
        ("significance", (vec![json!(1), json!(10)], vec![json!(0), json!(11), json!(5.5)])),
    ];
    for (name, (good, bad)) in rows {
        bench.member(name, &good, &bad).await;
    }
    let package = bench.with(json!({"open_questions": ["x", null]}));
    bench.refuses(&package, "open_questions[1]").await;
}

/// AP-26 to AP-28, AP-33, AP-34: what stands inside a member is named by its path.
#[tokio::test]
async fn ap_26_27_28_33_34_what_is_inside_a_member_is_named_by_its_path() {
    let mut bench = Bench::new().await;
    let by = bench.nick.handle.clone();
    for created_by in [
        json!({"id": by, "type": "human", "session_id": null}),
        json!({"id": by, "type": "script", "session_id": "sess_abc123", "x-key": {"a": null}}),
    ] {
        let package = bench.with(json!({ "created_by": created_by }));
        bench.takes(&package).await;
    }
    let whole = json!({"path": "docs/A.md", "type": "md", "hash": "sha256:abc123", "size_bytes": 18432, "x-more": [1]});
    let package = bench.with(json!({"deliverables": [whole, {"path": "b", "type": "x"}]}));
    bench.takes(&package).await;
    for (members, field) in [
        (json!({"created_by": "nick"}), "created_by"),
        (json!({"created_by": {"type": "agent"}}), "created_by.id"),
        (json!({"created_by": {"id": by, "type": "robot"}}), "created_by.type"),
        (json!({"created_by": {"id": by, "type": "agent", "session_id": 7}}), "created_by.session_id"),
        (json!({"deliverables": {}}), "deliverables"),
        (json!({"deliverables": [whole, {"type": "md"}]}), "deliverables[1].path"),
        (json!({"deliverables": [whole, {"path": "a"}]}), "deliverables[1].type"),
        (json!({"deliverables": [{"path": "a", "type": "md", "hash": "abc123"}]}), "deliverables[0].hash"),
        (
            json!({"deliverables": [{"path": "a", "type": "md", "size_bytes": 1.5}]}),
            "deliverables[0].size_bytes",
        ),
    ] {
        let package = bench.with(members);
        bench.refuses(&package, field).await;
    }
}

/// A body that is JSON but no package.
#[tokio::test]
async fn ap_54_a_package_is_an_object() {
    let bench = Bench::new().await;
    for body in [json!([]), json!("x"), json!(7), json!(null), json!(true), json!([{}])] {
        bench.nick.post(&packages_of(PROJECT), body).await.assert_refused(400, "invalid_schema");
    }
    bench.nick.get(&packages_of(PROJECT)).await.assert_refused(404, "project_not_found");
}
