//! The optional members of a package: AP-16, AP-31 to AP-34, and what may be null.

use serde_json::{Value, json};

use super::bench::Bench;

/// Members that are text and never null.
#[tokio::test]
async fn ap_31_texts_are_texts() {
    let mut bench = Bench::new().await;
    let good = [json!(""), json!("prose\n\n# é 😀")];
    let bad = [json!(null), json!(1), json!(false), json!([]), json!(["x"]), json!({})];
    for name in ["description", "handoff_note", "content_md"] {
        bench.member(name, &good, &bad).await;
    }
}

/// Members that are text or null.
#[tokio::test]
async fn ap_31_some_texts_may_be_null() {
    let mut bench = Bench::new().await;
    let good = [json!(null), json!("retrieval")];
    let bad = [json!(1), json!(false), json!([]), json!({})];
    for name in ["parent_package_id", "topic", "artifact_type", "storage_path"] {
        bench.member(name, &good, &bad).await;
    }
}

/// Lists of texts; a wrong element is named by its place.
#[tokio::test]
async fn ap_31_lists_hold_texts() {
    let mut bench = Bench::new().await;
    for name in ["tags", "decisions_made", "open_questions"] {
        let good = [json!([]), json!(["x"]), json!(["", "é", "x", "x"])];
        let bad = [json!(null), json!("x"), json!(1), json!({}), json!(true)];
        bench.member(name, &good, &bad).await;
        for (value, place) in [
            (json!([1]), 0),
            (json!(["x", null]), 1),
            (json!(["x", "y", ["z"]]), 2),
            (json!([{"tag": "x"}]), 0),
        ] {
            let package = bench.with(json!({ name: value }));
            bench.refuses(&package, &format!("{name}[{place}]")).await;
        }
    }
}

/// AP-16: a hint of three values, on any type.
#[tokio::test]
async fn ap_16_the_next_actor_is_a_hint() {
    let mut bench = Bench::new().await;
    let good = [json!("human"), json!("agent"), json!(null)];
    let bad = [json!(""), json!("script"), json!("Human"), json!("none"), json!(1), json!([]), json!({})];
    bench.member("estimated_next_actor", &good, &bad).await;
    for kind in ["standard", "question", "handoff", "x-mine"] {
        let package = bench.with(json!({
            "package_type": kind, "handoff_note": "continue at step 3", "estimated_next_actor": "human",
        }));
        bench.takes(&package).await;
    }
}

/// AP-32: a whole number from 1 to 10.
#[tokio::test]
async fn ap_32_significance_is_1_to_10() {
    let mut bench = Bench::new().await;
    let good: Vec<Value> = [1, 2, 5, 9, 10].iter().map(|n| json!(n)).collect();
    let bad = [
        json!(0),
        json!(11),
        json!(-1),
        json!(5.5),
        json!(100),
        json!("5"),
        json!(null),
        json!(true),
        json!([5]),
        json!({}),
    ];
    bench.member("significance", &good, &bad).await;
}

/// AP-33, AP-34: references to artifacts.
#[tokio::test]
async fn ap_33_a_deliverable_has_path_and_type() {
    let mut bench = Bench::new().await;
    let whole = json!({"path": "docs/A.md", "type": "md", "hash": "sha256:abc123", "size_bytes": 18432});
    let good = [
        json!([]),
        json!([{"path": "a", "type": "md"}]),
        json!([{"path": "https://example.org/a?b#c", "type": "html", "size_bytes": 0, "x-more": [1, {"y": null}]}]),
        json!([whole, {"path": "b", "type": "x", "hash": "md5:d41d8cd98f00b204e9800998ecf8427e"}]),
    ];
    let bad = [json!(null), json!({}), json!("a"), json!(1)];
    bench.member("deliverables", &good, &bad).await;
    for (deliverable, field) in [
        (json!("a"), "deliverables[1]"),
        (json!(null), "deliverables[1]"),
        (json!([]), "deliverables[1]"),
        (json!({"type": "md"}), "deliverables[1].path"),
        (json!({"path": null, "type": "md"}), "deliverables[1].path"),
        (json!({"path": 1, "type": "md"}), "deliverables[1].path"),
        (json!({"path": "a"}), "deliverables[1].type"),
        (json!({"path": "a", "type": null}), "deliverables[1].type"),
        (json!({"path": "a", "type": ["md"]}), "deliverables[1].type"),
        (json!({"path": "a", "type": "md", "hash": "abc123"}), "deliverables[1].hash"),
        (json!({"path": "a", "type": "md", "hash": "sha256:"}), "deliverables[1].hash"),
        (json!({"path": "a", "type": "md", "hash": ":abc123"}), "deliverables[1].hash"),
        (json!({"path": "a", "type": "md", "hash": "sha256:xyz"}), "deliverables[1].hash"),
        (json!({"path": "a", "type": "md", "hash": 1}), "deliverables[1].hash"),
        (json!({"path": "a", "type": "md", "size_bytes": 1.5}), "deliverables[1].size_bytes"),
        (json!({"path": "a", "type": "md", "size_bytes": "1"}), "deliverables[1].size_bytes"),
        (json!({"path": "a", "type": "md", "size_bytes": true}), "deliverables[1].size_bytes"),
    ] {
        let package = bench.with(json!({"deliverables": [whole, deliverable]}));
        bench.refuses(&package, field).await;
    }
}
