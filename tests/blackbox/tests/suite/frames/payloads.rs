//! FO-2, FO-17, FO-32, FO-38 to FO-41, FO-80: payloads are held to the catalogue: one bound of each member, one fault of
//! each sort for each kind. Must not know: the frame around them.

use serde_json::{Value, json};

use super::catalogue::KINDS;
use super::lab::Lab;
use super::probes;
use super::speak::{Field, payload};

/// FO-17, FO-41, FO-80: each of the fifteen kinds, with the least payload and the fullest, and each member at its bound
/// and past it.
#[tokio::test]
async fn fo_17_41_80_each_payload_is_held_to_the_catalogue() {
    assert_eq!(KINDS.len(), 15);
    let mut lab = Lab::new().await;
    for (kind, members) in KINDS {
        lab.takes(kind, lab.frame(kind, false)).await;
        lab.takes(kind, lab.frame(kind, true)).await;
        for member in *members {
            let (at, past, place) = probes::bound(member.rule);
            let mut frame = lab.frame(kind, true);
            frame["payload"][member.name] = at;
            lab.takes(&format!("{kind}.{}", member.name), frame).await;
            let mut frame = lab.frame(kind, true);
            frame["payload"][member.name] = past;
            let path = format!("payload.{}{place}", member.name);
            lab.refuses(kind, &frame, "field-invalid", Field::At(&path)).await;
        }
        let required = members.iter().find(|member| member.required).expect("something is required");
        let mut frame = lab.frame(kind, true);
        frame["payload"].as_object_mut().expect("a payload").remove(required.name);
        let path = format!("payload.{}", required.name);
        lab.refuses(kind, &frame, "field-missing", Field::At(&path)).await;
        let mut frame = lab.frame(kind, true);
        frame["payload"]["x_unknown"] = Value::Null;
        lab.refuses(kind, &frame, "field-unknown", Field::At("payload.x_unknown")).await;
    }
    lab.finish().await;
}

/// FO-32, FO-38, FO-39, FO-40: a decision has two to four options, recommends one, and leaves a way out; a way that is
/// not named is open.
#[tokio::test]
async fn fo_32_38_39_40_a_decision_leaves_a_way_out() {
    let mut lab = Lab::new().await;
    let asking = |lab: &Lab, changes: Value| {
        let mut frame = lab.frame("agent_binding_moment", true);
        for (name, value) in changes.as_object().expect("an object") {
            frame["payload"]["question"][name] = value.clone();
        }
        frame
    };
    let options = |count: usize| json!(vec![json!({"label": "a", "reasoning": "because"}); count]);
    for good in [
        json!({"hatches": {}}),
        json!({"hatches": {"free_text": false}}),
        json!({"options": options(4), "recommended_idx": 3}),
    ] {
        lab.takes(&good.to_string(), asking(&lab, good.clone())).await;
    }
    for (bad, place) in [
        (json!({"hatches": {"free_text": false, "dialogue": false}}), "hatches"),
        (json!({"options": options(1)}), "options"),
        (json!({"options": options(5)}), "options"),
        (json!({"recommended_idx": 2}), "recommended_idx"),
        (json!({"stem": ""}), "stem"),
        (
            json!({"options": [{"label": "a", "reasoning": "two\nlines"}, {"label": "b", "reasoning": "c"}]}),
            "options[0].reasoning",
        ),
    ] {
        let path = format!("payload.question.{place}");
        lab.refuses(&bad.to_string(), &asking(&lab, bad.clone()), "field-invalid", Field::At(&path)).await;
    }
    lab.finish().await;
}

/// FO-2: no object, another kind's payload, what is left of one, and one that shares nothing: each is a mismatch. What
/// shares a member is only faulty.
#[tokio::test]
async fn fo_2_a_payload_of_another_kind() {
    let lab = Lab::new().await;
    let lease = json!({"lease_id": "5b0c3c3e-8a4e-4d4c-9c5d-0f6a7b8c9d0e"});
    let mut cases = vec![("agent_lease_extend", lease), ("agent_query", json!({"x_unknown": 1}))];
    cases.extend([json!(null), json!([]), json!("text"), json!(1)].map(|value| ("agent_advisory", value)));
    cases.extend(
        KINDS.iter().zip(KINDS.iter().skip(1)).map(|((kind, _), (next, _))| (*kind, payload(next, true))),
    );
    for (kind, payload) in cases {
        let field = Field::Maybe("payload");
        lab.refuses(kind, &lab.with(kind, payload), "payload-kind-mismatch", field).await;
    }
    let empty = lab.with("agent_advisory", json!({}));
    lab.refuses("empty", &empty, "field-missing", Field::At("payload.advisory_text")).await;
    lab.finish().await;
}
