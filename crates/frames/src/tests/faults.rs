//! The fault and field of each refused frame (FO-1 to FO-17, FO-38 to FO-42, D.5).

use serde_json::{Value, json};

use super::samples::{
    TIME, UUID, advisory, binding_moment, bytes, fault, frame, payload, payloads, read, with, without,
};
use crate::{
    catalogue::{ENVELOPE, Kind},
    fit::LINE_BREAKS,
};

#[test]
fn fo_1_17_there_are_exactly_fifteen_kinds_and_each_is_read() {
    assert_eq!(Kind::all().count(), 15);
    for (kind, payload) in payloads() {
        let frame = read(&frame(kind, payload)).unwrap_or_else(|fault| panic!("{kind}: {fault}"));
        assert_eq!(frame.kind.def().name, kind);
    }
    for name in ["agent_gossip", "Agent_advisory", "", "agent_advisory "] {
        assert_eq!(fault(&with(advisory(), "kind", name)), ("kind-unknown", "kind".into()));
    }
}

#[test]
fn fo_5_74_a_field_outside_the_set_is_refused_at_every_level() {
    assert_eq!(fault(&with(advisory(), "extension", 1)), ("field-unknown", "extension".into()));
    for (kind, payload) in payloads() {
        let payload = with(payload, "extension", Value::Null);
        assert_eq!(fault(&frame(kind, payload)), ("field-unknown", "payload.extension".into()), "{kind}");
    }
    let moment = |change: fn(&mut Value)| {
        let mut moment = binding_moment();
        change(&mut moment["question"]);
        fault(&frame("agent_binding_moment", moment)).1
    };
    assert_eq!(moment(|q| q["x"] = json!(1)), "payload.question.x");
    assert_eq!(moment(|q| q["options"][1]["x"] = json!(1)), "payload.question.options[1].x");
    assert_eq!(moment(|q| q["hatches"]["x"] = json!(1)), "payload.question.hatches.x");
    // FO-67: no payload of this version has a content type.
    let typed = with(payload("agent_advisory").into(), "content_type", "text/plain");
    assert_eq!(fault(&frame("agent_advisory", typed)), ("field-unknown", "payload.content_type".into()));
}

#[test]
fn fo_4_the_message_about_an_item_of_a_list_describes_the_item() {
    for item in [json!(""), json!(1), json!("x".repeat(513))] {
        let fault = read(&with(advisory(), "provenance_method", json!(["a", item]))).unwrap_err();
        assert_eq!(fault.message, "`provenance_method[1]` must be a string of 1 to 512 bytes.");
    }
}

#[test]
fn fo_3_14_15_an_absent_required_field_is_named() {
    for field in ENVELOPE.fields {
        let less = without(advisory(), field.name);
        if field.required {
            assert_eq!(fault(&less), ("field-missing", field.name.into()));
        } else {
            read(&less).unwrap();
        }
    }
    assert_eq!(fault(&json!({})), ("field-missing", "envelope_version".into()));
    assert_eq!(fault(&json!({"envelope_version": "1.0"})), ("field-missing", "kind".into()));
}

#[test]
fn fo_3_an_absent_required_member_of_a_payload_is_named_unless_the_rest_is_another_kind() {
    for (kind, full) in payloads() {
        let shape = &Kind::named(kind).unwrap().def().shape;
        for field in shape.fields {
            let less = frame(kind, without(full.clone(), field.name));
            if field.required {
                let expected = match (kind, field.name) {
                    // The remaining members are a complete `agent_lock_release`.
                    ("agent_lease_extend", "ttl_ms") => ("payload-kind-mismatch", "payload".into()),
                    _ => ("field-missing", format!("payload.{}", field.name)),
                };
                assert_eq!(fault(&less), expected, "{kind} {}", field.name);
            } else {
                read(&less).unwrap_or_else(|fault| panic!("{kind} without {}: {fault}", field.name));
            }
        }
    }
    let nested = |path: &[&str]| {
        let mut moment = binding_moment();
        let (last, outer) = path.split_last().unwrap();
        let mut value = &mut moment;
        for step in outer {
            value = match step.parse::<usize>() {
                Ok(nth) => &mut value[nth],
                Err(_) => &mut value[*step],
            };
        }
        value.as_object_mut().unwrap().remove(*last).unwrap();
        fault(&frame("agent_binding_moment", moment))
    };
    for (path, field) in [
        (&["question", "stem"][..], "payload.question.stem"),
        (&["question", "options"], "payload.question.options"),
        (&["question", "recommended_idx"], "payload.question.recommended_idx"),
        (&["question", "options", "1", "label"], "payload.question.options[1].label"),
        (&["question", "options", "0", "reasoning"], "payload.question.options[0].reasoning"),
    ] {
        assert_eq!(nested(path), ("field-missing", field.into()));
    }
}

#[test]
fn fo_2_a_payload_that_is_not_of_its_kind_at_all_is_a_mismatch() {
    let mismatch = ("payload-kind-mismatch", "payload".to_owned());
    for payload in [json!(null), json!("x"), json!(1), json!(true), json!([]), json!([{}])] {
        assert_eq!(fault(&frame("agent_advisory", payload)), mismatch);
    }
    // Each kind refuses the complete payload of every other kind, and accepts its own.
    for (kind, _) in payloads() {
        for (other, payload) in payloads() {
            let frame = frame(kind, payload);
            if kind == other {
                read(&frame).unwrap();
            } else {
                assert_eq!(fault(&frame), mismatch, "{other} as {kind}");
            }
        }
    }
    assert_eq!(fault(&frame("agent_advisory", json!({"a": 1, "b": 2}))), mismatch);
    assert_eq!(fault(&frame("agent_advisory", json!({}))), ("field-missing", "payload.advisory_text".into()));
    let half = json!({"advisory_text": "x", "a": 1});
    assert_eq!(fault(&frame("agent_advisory", half)), ("field-unknown", "payload.a".into()));
}

#[test]
fn fo_6_the_version_is_looked_at_first_and_the_rest_is_not_parsed() {
    for version in [json!("1.1"), json!("2.0"), json!("1"), json!(1.0), json!(null), json!("")] {
        let unsupported = ("envelope-version-unsupported", "envelope_version".to_owned());
        assert_eq!(fault(&with(advisory(), "envelope_version", version.clone())), unsupported);
        let otherwise_wrong = json!({"envelope_version": version, "kind": "new", "new_field": 1});
        assert_eq!(fault(&otherwise_wrong), unsupported);
    }
    for kind in [json!(null), json!(7), json!(["agent_advisory"])] {
        assert_eq!(fault(&with(advisory(), "kind", kind)), ("kind-unknown", "kind".into()));
    }
}

#[test]
fn faults_come_in_order_and_the_envelope_before_the_payload() {
    let unknown = with(with(without(advisory(), "acted_by"), "x", 1), "ttl_ms", 0);
    assert_eq!(fault(&with(unknown.clone(), "kind", "x")).0, "kind-unknown");
    assert_eq!(fault(&unknown), ("field-unknown", "x".into()));
    assert_eq!(fault(&without(unknown, "x")), ("field-missing", "acted_by".into()));
    let invalid = with(with(advisory(), "ttl_ms", 0), "payload", json!({"x": 1}));
    assert_eq!(fault(&invalid), ("field-invalid", "ttl_ms".into()));
    let payload = |value| fault(&frame("agent_broadcast", value));
    let all = json!({"broadcast_text": "", "x": 1});
    assert_eq!(payload(all), ("field-unknown", "payload.x".into()));
    assert_eq!(payload(json!({"broadcast_text": ""})), ("field-missing", "payload.event_class".into()));
    let invalid = json!({"broadcast_text": "", "event_class": "x"});
    assert_eq!(payload(invalid), ("field-invalid", "payload.broadcast_text".into()));
}

#[test]
fn fo_4_null_is_not_absence() {
    for name in ["ttl_ms", "provenance_return_ref"] {
        assert_eq!(fault(&with(advisory(), name, Value::Null)), ("field-invalid", name.into()));
    }
    for (kind, full) in payloads() {
        for field in Kind::named(kind).unwrap().def().shape.fields {
            let null = with(full.clone(), field.name, Value::Null);
            let expected = ("field-invalid", format!("payload.{}", field.name));
            assert_eq!(fault(&frame(kind, null)), expected, "{kind}");
        }
    }
}

#[test]
fn fo_7_a_frame_id_is_a_version_4_uuid_in_either_case() {
    let upper = UUID.to_ascii_uppercase();
    assert_eq!(read(&with(advisory(), "frame_id", upper.clone())).unwrap().id, upper, "kept as sent");
    for bad in [
        "7d9a0c9e-3f6b-1c1e-9a51-0c2f6f2f6b11",
        "7d9a0c9e-3f6b-7c1e-9a51-0c2f6f2f6b11",
        "7d9a0c9e-3f6b-4c1e-7a51-0c2f6f2f6b11",
        "7d9a0c9e-3f6b-4c1e-ca51-0c2f6f2f6b11",
        "7d9a0c9e3f6b4c1e9a510c2f6f2f6b11",
        "{7d9a0c9e-3f6b-4c1e-9a51-0c2f6f2f6b11}",
        "7d9a0c9e-3f6b-4c1e-9a51-0c2f6f2f6b1",
        "7d9a0c9e-3f6b-4c1e-9a51-0c2f6f2f6b1g",
        "7d9a0c9e_3f6b_4c1e_9a51_0c2f6f2f6b11",
        "00000000-0000-0000-0000-000000000000",
        "",
    ] {
        assert_eq!(fault(&with(advisory(), "frame_id", bad)), ("field-invalid", "frame_id".into()), "{bad}");
    }
}

#[test]
fn fo_10_handles_are_canonical_and_only_drafted_with_has_a_version() {
    let long = format!("~{}", bytes(64));
    for good in ["~a", "~a_b-c", "~0", long.as_str()] {
        read(&with(advisory(), "recipient_handle", good)).unwrap();
        read(&with(advisory(), "drafted_with", good)).unwrap();
    }
    let longer = format!("~{}", bytes(65));
    let bad = [
        "", "~", "~~nick", "~nick\n", "nick", "@nick.a", "~Nick", "~-a", "~a-", "~a b", "~a/*", "~nick@1",
        "~a\u{e9}", &longer,
    ];
    for field in ["sender_handle", "recipient_handle", "acted_by"] {
        for bad in bad {
            assert_eq!(fault(&with(advisory(), field, bad)), ("field-invalid", field.into()), "{bad}");
        }
    }
    let version = |version: &str| with(advisory(), "drafted_with", format!("~alter-cli@{version}"));
    for good in ["0.4.16", "1", "v1.0-rc_1+b", &bytes(64)] {
        read(&version(good)).unwrap();
    }
    for bad in ["", "1@2", "1 2", "1/2", &bytes(65)] {
        assert_eq!(fault(&version(bad)), ("field-invalid", "drafted_with".into()), "{bad}");
    }
}

#[test]
fn fo_12_a_time_has_a_zone() {
    for bad in ["2026-05-22T10:00:00", "2026-05-22", "now", ""] {
        assert_eq!(fault(&with(advisory(), "created_at", bad)), ("field-invalid", "created_at".into()));
    }
    let read = read(&with(advisory(), "created_at", "2026-05-22T12:00:00.5+02:00")).unwrap();
    assert_eq!(read.created_at_ms, 1_779_444_000_500);
}

#[test]
fn fo_15_16_87_provenance_is_as_tabulated() {
    for (name, good, bad) in [
        ("provenance_compute_location", json!("server-active"), json!("cloud")),
        ("provenance_compute_location", json!("server-aggregate"), json!("")),
        ("provenance_context_check", json!("skipped"), json!("failed")),
        ("provenance_method", json!(["a", "b"]), json!([])),
        ("provenance_method", json!(["a"]), json!("a")),
        ("provenance_basis", json!("b"), json!("")),
        ("provenance_return_ref", json!("r"), json!("")),
    ] {
        read(&with(advisory(), name, good)).unwrap();
        assert_eq!(fault(&with(advisory(), name, bad)), ("field-invalid", name.into()));
    }
    let methods = with(advisory(), "provenance_method", json!(["a", 1]));
    assert_eq!(fault(&methods), ("field-invalid", "provenance_method[1]".into()));
}

#[test]
fn fo_38_39_40_a_decision_leaves_a_way_out_and_recommends_one_option() {
    let question = |change: &dyn Fn(&mut Value)| {
        let mut moment = binding_moment();
        change(&mut moment["question"]);
        frame("agent_binding_moment", moment)
    };
    let hatches = |hatches: Value| question(&|q| q["hatches"] = hatches.clone());
    for open in [json!({}), json!({"free_text": false}), json!({"dialogue": false, "free_text": true})] {
        read(&hatches(open)).unwrap();
    }
    let closed = json!({"free_text": false, "dialogue": false});
    assert_eq!(fault(&hatches(closed)), ("field-invalid", "payload.question.hatches".into()));
    let number = json!({"free_text": 1});
    assert_eq!(fault(&hatches(number)), ("field-invalid", "payload.question.hatches.free_text".into()));

    let options = |count: usize, recommended: Value| {
        question(&|q| {
            q["options"] = vec![json!({"label": "a", "reasoning": "b"}); count].into();
            q["recommended_idx"] = recommended.clone();
        })
    };
    for (count, recommended) in [(2, 0), (2, 1), (3, 2), (4, 3)] {
        read(&options(count, json!(recommended))).unwrap();
    }
    for count in [0, 1, 5] {
        assert_eq!(fault(&options(count, json!(0))), ("field-invalid", "payload.question.options".into()));
    }
    for (count, recommended) in [(2, json!(2)), (3, json!(3)), (4, json!(4)), (2, json!(-1)), (2, json!(0.5))]
    {
        let expected = ("field-invalid", "payload.question.recommended_idx".to_owned());
        assert_eq!(fault(&options(count, recommended)), expected);
    }
    for line_break in LINE_BREAKS {
        let text = json!(format!("a{line_break}b"));
        read(&question(&|q| q["options"][1]["label"] = text.clone())).unwrap();
        let lines = question(&|q| q["options"][1]["reasoning"] = text.clone());
        assert_eq!(fault(&lines), ("field-invalid", "payload.question.options[1].reasoning".into()));
    }
}

#[test]
fn fo_41_a_pointer_is_a_text_and_never_the_thing() {
    for (kind, name) in [
        ("intent_declare", "payload_ref"),
        ("intent_withdraw", "intent_ref"),
        ("flush_executed", "result_ref"),
    ] {
        let embedded = with(payload(kind).into(), name, json!({"id": "pr-1"}));
        assert_eq!(fault(&frame(kind, embedded)), ("field-invalid", format!("payload.{name}")));
    }
    let embedded = with(payload("flush_executed").into(), "batch_refs", json!(["a", {"id": 1}]));
    assert_eq!(fault(&frame("flush_executed", embedded)), ("field-invalid", "payload.batch_refs[1]".into()));
}

#[test]
fn fo_89_an_intent_says_when_it_is_forgotten() {
    let read = |kind: &str| read(&frame(kind, payload(kind))).unwrap();
    assert_eq!(read("intent_declare").forget_at_ms, Some(1_779_444_000_000 + 60_000), "{TIME}");
    assert_eq!(read("agent_lock_request").forget_at_ms, None);
}

#[test]
fn a_hostile_name_is_cut_off_in_the_answer() {
    let (code, field) = fault(&with(advisory(), &"é".repeat(1_000), 1));
    assert_eq!((code, field.len()), ("field-unknown", 256));
}
