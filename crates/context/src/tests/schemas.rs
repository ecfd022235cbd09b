//! The package schema: accepted and refused documents, and the reported field.

use plenary_kernel::json::Tree;
use serde_json::{Value, json};

use super::samples::package;
use crate::{
    hash::ContentHash,
    limits::ID_BYTES_MAX,
    malformed::{Code, ContextFault},
    schema::{PACKAGE_TYPES, Package},
};

fn read(value: &Value) -> Result<Package, ContextFault> {
    Package::read(&value.to_string())
}

/// The minimal package with one member set; `null` is a value here.
fn with(name: &str, value: Value) -> Value {
    let mut package = package();
    package[name] = value;
    package
}

#[track_caller]
fn refused(value: &Value, field: &str) {
    let malformed = read(value).unwrap_err();
    assert_eq!((malformed.code, malformed.field.as_deref()), (Code::InvalidSchema, Some(field)), "{value}");
}

#[test]
fn ap_19_every_required_member_is_missed_by_its_name() {
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
        let mut package = package();
        package.as_object_mut().unwrap().remove(name);
        refused(&package, name);
        refused(&with(name, Value::Null), name);
    }
    for (name, path) in [("id", "created_by.id"), ("type", "created_by.type")] {
        let mut package = package();
        package["created_by"].as_object_mut().unwrap().remove(name);
        refused(&package, path);
    }
    for text in ["[]", "1", "null", "\"x\""] {
        assert_eq!(Package::read(text).unwrap_err().field, None, "{text}");
    }
}

#[test]
fn ap_17_to_ap_34_values_outside_the_schema_are_named() {
    let wrong = [
        ("package_id", json!("")),
        ("package_id", json!(7)),
        ("package_id", json!("x".repeat(ID_BYTES_MAX + 1))),
        ("relay_version", json!("0.2")),
        ("relay_version", json!(0.1)),
        ("title", json!("")),
        ("title", json!("é".repeat(201))),
        ("relay_version", json!("0.1.0")),
        ("relay_version", json!("0.1 ")),
        ("status", json!("in_progress")),
        ("status", json!("Complete")),
        ("status", json!("x-new")),
        ("package_type", json!("memo")),
        ("package_type", json!("x-")),
        ("package_type", json!("X-memo")),
        ("package_type", json!("Standard")),
        ("package_type", json!("x_memo")),
        ("review_type", json!("robot")),
        ("review_type", json!("None")),
        ("created_at", json!("2026-04-18T20:00:00+02:00")),
        ("created_at", json!(1_717_000_000)),
        ("created_at", json!("2026-04-18")),
        ("created_at", json!("2026-04-18T20:00:00")),
        ("created_at", json!("2026-04-18T20:00:00-01:00")),
        ("created_at", json!("2026-04-18T20:00:00+0000")),
        ("created_at", json!("2026-04-31T20:00:00Z")),
        ("created_at", json!("now")),
        ("created_by", json!("jordan")),
        ("created_by", json!([])),
        ("description", json!(null)),
        ("handoff_note", json!(null)),
        ("content_md", json!(null)),
        ("artifact_type", json!(false)),
        ("storage_path", json!({})),
        ("decisions_made", json!(null)),
        ("open_questions", json!("x")),
        ("content_md", json!([])),
        ("handoff_note", json!(1)),
        ("tags", json!("cli")),
        ("tags", json!(null)),
        ("topic", json!(1)),
        ("estimated_next_actor", json!("script")),
        ("estimated_next_actor", json!("none")),
        ("significance", json!(0)),
        ("significance", json!(11)),
        ("significance", json!(-1)),
        ("significance", json!(5.5)),
        ("significance", json!("5")),
        ("significance", json!(null)),
        ("deliverables", json!({})),
        ("parent_package_id", json!(1)),
    ];
    for (name, value) in wrong {
        refused(&with(name, value), name);
    }
}

#[test]
fn ap_26_28_33_34_what_is_inside_a_member_is_named_by_its_path() {
    let deeper = [
        (with("created_by", json!({"id": "", "type": "human"})), "created_by.id"),
        (with("created_by", json!({"id": "a", "type": "robot"})), "created_by.type"),
        (with("created_by", json!({"id": "a", "type": "human", "session_id": 1})), "created_by.session_id"),
        (with("tags", json!(["a", 1])), "tags[1]"),
        (with("open_questions", json!([null])), "open_questions[0]"),
        (with("deliverables", json!([1])), "deliverables[0]"),
        (with("deliverables", json!([{"path": "a", "type": "md"}, {"type": "md"}])), "deliverables[1].path"),
        (with("deliverables", json!([{"path": "a"}])), "deliverables[0].type"),
        (with("deliverables", json!([{"path": "a", "type": "md", "hash": "abc"}])), "deliverables[0].hash"),
        (
            with("deliverables", json!([{"path": "a", "type": "md", "hash": "sha256:xyz"}])),
            "deliverables[0].hash",
        ),
        (
            with("deliverables", json!([{"path": "a", "type": "md", "hash": "sha256:"}])),
            "deliverables[0].hash",
        ),
        (
            with("deliverables", json!([{"path": "a", "type": "md", "hash": ":abc123"}])),
            "deliverables[0].hash",
        ),
        (with("deliverables", json!([{"path": null, "type": "md"}])), "deliverables[0].path"),
        (with("deliverables", json!([{"path": "a", "type": ["md"]}])), "deliverables[0].type"),
        (
            with("deliverables", json!([{"path": "a", "type": "md", "size_bytes": -1}])),
            "deliverables[0].size_bytes",
        ),
    ];
    for (package, field) in deeper {
        refused(&package, field);
    }
}

#[test]
fn ap_20_ap_22_ap_29_ap_90_what_the_schema_allows_is_taken() {
    let taken = [
        ("package_id", json!("any string / at all ✓")),
        ("title", json!("é".repeat(200))),
        ("package_type", json!("x-review-response")),
        ("created_by", json!({"id": "jordan", "type": "script", "session_id": "s", "git_commit": "abc"})),
        ("title", json!("😀".repeat(200))),
        ("created_at", json!("9999-12-31T23:59:59.999999999Z")),
        ("created_at", json!("1969-12-31T23:59:59.999+00:00")),
        ("created_at", json!("0001-01-01T00:00:00Z")),
        ("tags", json!(["", "é", "x", "x"])),
        ("description", json!("")),
        ("artifact_type", json!(null)),
        ("storage_path", json!(null)),
        ("topic", json!(null)),
        ("estimated_next_actor", json!(null)),
        ("significance", json!(10)),
        ("significance", json!(5.0)),
        ("parent_package_id", json!(null)),
        (
            "deliverables",
            json!([{"path": "a", "type": "md", "hash": "sha256:ABC123", "size_bytes": 0, "x-a": 1}]),
        ),
        ("deliverables", json!([{"path": "b", "type": "x", "hash": "md5:d41d8cd98f00b204e9800998ecf8427e"}])),
        ("x-trust-score", json!({"a": [null]})),
        ("some_later_member", json!(null)),
    ];
    for (name, value) in taken {
        read(&with(name, value)).unwrap();
    }
    for word in PACKAGE_TYPES {
        read(&with("package_type", json!(word))).unwrap();
    }
}

#[test]
fn ap_12_ap_18_the_bytes_stay_and_the_hash_covers_all_of_them() {
    let text = package().to_string();
    let spaced = format!("\n {} ", text.replacen(",\"", " ,\n\"", 1));
    let (plain, spaced_package) = (Package::read(&text).unwrap(), Package::read(&spaced).unwrap());
    assert_eq!(spaced_package.raw, spaced.trim());
    assert_eq!(plain.hash, spaced_package.hash, "AP-94");
    let mut other = package();
    other["created_by"]["id"] = json!("somebody else");
    assert_ne!(read(&other).unwrap().hash, plain.hash, "AP-12");
    assert_ne!(read(&with("x-a", json!(1))).unwrap().hash, plain.hash);
    assert_eq!(read(&with("x-a", json!(null))).unwrap().hash, plain.hash, "AP-95");
}

#[test]
fn ap_37_a_claimed_hash_is_verified_and_is_no_part_of_the_package() {
    let plain = read(&package()).unwrap();
    let claimed = read(&with("content_hash", json!(plain.hash.to_string()))).unwrap();
    assert_eq!((claimed.hash, claimed.raw), (plain.hash, plain.raw.clone()));
    assert_eq!(read(&with("content_hash", Value::Null)).unwrap().raw, plain.raw);
    let other = ContentHash::of(&Tree::Null).to_string();
    let malformed = read(&with("content_hash", json!(other))).unwrap_err();
    assert_eq!((malformed.code, malformed.field.as_deref()), (Code::HashMismatch, Some("content_hash")));
    let no_hash = read(&with("content_hash", json!("md5:1"))).unwrap_err();
    assert_eq!(no_hash.code, Code::HashMismatch, "a claim that is no hash is not the hash");
    refused(&with("content_hash", json!(5)), "content_hash");
}
