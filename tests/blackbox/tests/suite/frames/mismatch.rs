//! FO-2: a payload of another kind. `payload-kind-mismatch` stands for exactly three things: no object, a payload that
//! fits another kind, and one that shares no member with its own. Must not know: bounds.

use serde_json::{Value, json};

use super::catalogue::KINDS;
use super::lab::Lab;
use super::speak::{Field, payload};

const CODE: &str = "payload-kind-mismatch";

/// Every kind with the payload of every other, least and fullest.
#[tokio::test]
async fn fo_2_payloads_of_other_kinds() {
    let lab = Lab::new().await;
    for (kind, _) in KINDS {
        for (other, _) in KINDS {
            if kind == other {
                continue;
            }
            for optional in [false, true] {
                let frame = lab.with(kind, payload(other, optional));
                lab.refuses(&format!("{other} as {kind}"), &frame, CODE, Field::Maybe("payload")).await;
            }
        }
    }
    lab.finish().await;
}

/// What is left of a payload may be the whole of another kind.
#[tokio::test]
async fn fo_2_remains_that_fit_another_kind() {
    let lab = Lab::new().await;
    let cases: &[(&str, &str)] = &[
        ("agent_lock_request", "resource"), // an extension
        ("agent_lock_request", "ttl_ms"),   // a release
        ("agent_lease_extend", "ttl_ms"),   // a release
    ];
    for (kind, name) in cases {
        let mut frame = lab.frame(kind, false);
        frame["payload"].as_object_mut().expect("a payload").remove(*name);
        lab.refuses(&format!("{kind} without {name}"), &frame, CODE, Field::Maybe("payload")).await;
    }
    lab.finish().await;
}

/// Not one member of its own.
#[tokio::test]
async fn fo_2_payloads_that_share_nothing() {
    let lab = Lab::new().await;
    for (kind, _) in KINDS {
        for value in [json!({"text": "hello"}), json!({"x_unknown": null, "y_unknown": {}})] {
            let frame = lab.with(kind, value);
            lab.refuses(kind, &frame, CODE, Field::Maybe("payload")).await;
        }
    }
    lab.finish().await;
}

/// An empty payload lacks its members; one that shares a member is faulty, not another kind's.
#[tokio::test]
async fn fo_2_what_is_no_mismatch() {
    let lab = Lab::new().await;
    for (kind, members) in KINDS {
        let frame = lab.with(kind, json!({}));
        let first = members.iter().find(|member| member.required).expect("something is required");
        // With one required member there is only one name to give.
        let only = members.iter().filter(|member| member.required).count() == 1;
        let path = format!("payload.{}", first.name);
        let field = if only { Field::At(&path) } else { Field::Any };
        lab.refuses("an empty payload", &frame, "field-missing", field).await;
        let mut frame = lab.frame(kind, false);
        let own = frame["payload"].as_object_mut().expect("a payload");
        own.insert("x_unknown".to_owned(), Value::Null);
        lab.refuses("one too many", &frame, "field-unknown", Field::At("payload.x_unknown")).await;
    }
    let frame = lab.with("agent_lock_release", json!({"lease_id": 5}));
    lab.refuses("a bad lease", &frame, "field-invalid", Field::At("payload.lease_id")).await;
    lab.finish().await;
}
