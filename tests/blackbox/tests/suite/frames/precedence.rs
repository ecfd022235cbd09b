//! Which fault is named when a frame has several (D.5, 1.5 point 4): version, kind, then unknown, missing and invalid
//! members of the frame, then unknown, missing and invalid members of the payload; identity and scope come after
//! (FO-54). Every pair is tried. Must not know: any payload but that of a broadcast.

use serde_json::{Value, json};

use super::lab::Lab;
use super::speak::{Field, refused, submit, submit_to};

/// A fault: what it is called, how it is made, and what it is answered with.
struct Fault {
    what: &'static str,
    make: fn(&mut Value),
    code: &'static str,
    field: Field<'static>,
}

fn remove(frame: &mut Value, name: &str) {
    frame.as_object_mut().expect("an object").remove(name);
}

/// The faults of one rank exclude each other; ranks are in order.
const FAULTS: &[&[Fault]] = &[
    &[
        Fault {
            what: "no version",
            make: |frame| remove(frame, "envelope_version"),
            code: "field-missing",
            field: Field::At("envelope_version"),
        },
        Fault {
            what: "another version",
            make: |frame| frame["envelope_version"] = json!("2.0"),
            code: "envelope-version-unsupported",
            field: Field::Maybe("envelope_version"),
        },
    ],
    &[
        Fault {
            what: "no kind",
            make: |frame| remove(frame, "kind"),
            code: "field-missing",
            field: Field::At("kind"),
        },
        Fault {
            what: "an unknown kind",
            make: |frame| frame["kind"] = json!("agent_memo"),
            code: "kind-unknown",
            field: Field::Maybe("kind"),
        },
    ],
    &[Fault {
        what: "an unknown member",
        make: |frame| frame["x_unknown"] = json!(1),
        code: "field-unknown",
        field: Field::At("x_unknown"),
    }],
    &[Fault {
        what: "a missing member",
        make: |frame| remove(frame, "provenance_basis"),
        code: "field-missing",
        field: Field::At("provenance_basis"),
    }],
    &[
        Fault {
            what: "an invalid frame_id",
            make: |frame| frame["frame_id"] = json!("frame-1"),
            code: "field-invalid",
            field: Field::At("frame_id"),
        },
        Fault {
            what: "a null for an optional member",
            make: |frame| frame["ttl_ms"] = json!(null),
            code: "field-invalid",
            field: Field::At("ttl_ms"),
        },
    ],
    &[Fault {
        what: "an unknown member of the payload",
        make: |frame| frame["payload"]["x_unknown"] = json!(1),
        code: "field-unknown",
        field: Field::At("payload.x_unknown"),
    }],
    &[Fault {
        what: "a missing member of the payload",
        make: |frame| remove(&mut frame["payload"], "broadcast_text"),
        code: "field-missing",
        field: Field::At("payload.broadcast_text"),
    }],
    &[Fault {
        what: "an invalid member of the payload",
        make: |frame| frame["payload"]["event_class"] = json!("other than these"),
        code: "field-invalid",
        field: Field::At("payload.event_class"),
    }],
];

#[tokio::test]
async fn fo_54_the_first_fault_is_named() {
    let mut lab = Lab::new().await;
    for (rank, faults) in FAULTS.iter().enumerate() {
        for fault in *faults {
            let mut alone = lab.frame("agent_broadcast", true);
            (fault.make)(&mut alone);
            lab.refuses(fault.what, &alone, fault.code, fault.field).await;
            for later in FAULTS[rank + 1..].iter().copied().flatten() {
                let mut both = lab.frame("agent_broadcast", true);
                (later.make)(&mut both);
                (fault.make)(&mut both);
                let what = format!("{} with {}", fault.what, later.what);
                lab.refuses(&what, &both, fault.code, fault.field).await;
            }
        }
    }
    lab.takes("no fault", lab.frame("agent_broadcast", true)).await;
    lab.finish().await;
}

/// FO-54: a frame is validated before anybody asks who sent it and to whom.
#[tokio::test]
async fn fo_54_validity_comes_before_identity() {
    let lab = Lab::new().await;
    for fault in FAULTS.iter().copied().flatten() {
        for name in ["sender_handle", "acted_by", "recipient_handle"] {
            let mut frame = lab.frame("agent_broadcast", true);
            frame[name] = json!("~nobody");
            (fault.make)(&mut frame);
            let what = format!("{} in another's name", fault.what);
            lab.refuses(&what, &frame, fault.code, fault.field).await;
        }
        let mut frame = lab.frame("agent_broadcast", true);
        frame["recipient_handle"] = json!("~acme");
        (fault.make)(&mut frame);
        for scope in ["~bob/*", "accord:acme/grant:read", "org:acme/members/*"] {
            refused(&submit_to(&lab.alice, scope, &frame).await, 400, fault.code, fault.field);
        }
    }
    lab.finish().await;
}

/// FO-54, step 2: who sends is asked before whom it may address.
#[tokio::test]
async fn fo_54_identity_comes_before_authorisation() {
    let lab = Lab::new().await;
    for name in ["sender_handle", "acted_by"] {
        let mut frame = lab.frame("agent_broadcast", true);
        frame[name] = json!("~bob");
        frame["recipient_handle"] = json!("~nobody");
        refused(&submit(&lab.alice, &frame).await, 403, "sender-identity-mismatch", Field::Maybe(name));
        let scoped = submit_to(&lab.alice, "~carol/*", &frame).await;
        refused(&scoped, 403, "sender-identity-mismatch", Field::Maybe(name));
    }
    lab.finish().await;
}
