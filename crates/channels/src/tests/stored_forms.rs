//! The stored form of every event, byte for byte. The forms are frozen: a change is a new form beside the old one.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_engine::golden::assert_frozen;
use plenary_kernel::TimestampMs;

use super::deciding::key;
use crate::event::{
    ChannelClosed, ChannelCreated, ChannelEvent, EventAppended, FirstClosing, Joins, KeyChanged,
    OwnerAdmitted,
};

/// Every event in every variant, with its kind, envelope and payload.
fn forms() -> Vec<(ChannelEvent, &'static str, &'static str, &'static str)> {
    let ann: Actor = "@o.ann".parse().unwrap();
    let owner = || "o".parse().unwrap();
    let created = |via, key| {
        ChannelEvent::ChannelCreated(ChannelCreated {
            title: "té \"x\"".into(),
            created_by: "claude-linux-a-1a2b".into(),
            via,
            created: TimestampMs(7),
            key,
        })
    };
    let payload = r#"{ "b" : 1.0 ,"caf\u00e9":[]}"#;
    let trace = || Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into());
    let appended = |via, run, trace, joins| {
        ChannelEvent::EventAppended(EventAppended {
            kind: "status".into(),
            author: "a".into(),
            via,
            run,
            trace,
            joins,
            payload: Bytes::from_static(payload.as_bytes()),
        })
    };
    let joins = Joins { owner: owner(), created: TimestampMs(7), open: true };
    let closed = |via, first| ChannelEvent::ChannelClosed(ChannelClosed { via, first });
    let first = FirstClosing { created: TimestampMs(7), owners: vec![owner()] };
    vec![
        (
            created(Some(ann.clone()), None),
            "ChannelCreated",
            r#"{"title":"té \"x\"","created_by":"claude-linux-a-1a2b","via":"@o.ann","created":7}"#,
            "",
        ),
        (
            created(Some(ann.clone()), Some(key())),
            "ChannelCreated",
            r#"{"title":"té \"x\"","created_by":"claude-linux-a-1a2b","via":"@o.ann","created":7,"key":"0af7651916cd43dd8448eb211c80319c"}"#,
            "",
        ),
        (
            created(None, None),
            "ChannelCreated",
            r#"{"title":"té \"x\"","created_by":"claude-linux-a-1a2b","created":7}"#,
            "",
        ),
        (appended(None, None, None, None), "EventAppended", r#"{"kind":"status","author":"a"}"#, payload),
        (
            appended(Some(Actor::Operator), Some(3), None, Some(joins)),
            "EventAppended",
            r#"{"kind":"status","author":"a","via":"operator","run":3,"joins":{"owner":"o","created":7,"open":true}}"#,
            payload,
        ),
        (
            appended(None, None, trace(), None),
            "EventAppended",
            r#"{"kind":"status","author":"a","trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
            payload,
        ),
        (closed(None, None), "ChannelClosed", "{}", ""),
        (
            closed(Some(ann), Some(first)),
            "ChannelClosed",
            r#"{"via":"@o.ann","first":{"created":7,"owners":["o"]}}"#,
            "",
        ),
    ]
}

/// The events that record who may use a channel.
fn forms_of_access() -> Vec<(ChannelEvent, &'static str, &'static str, &'static str)> {
    let ann: Actor = "@o.ann".parse().unwrap();
    let owner = "o".parse().unwrap();
    vec![
        (
            ChannelEvent::OwnerAdmitted(OwnerAdmitted { owner, via: Some(ann.clone()) }),
            "OwnerAdmitted",
            r#"{"owner":"o","via":"@o.ann"}"#,
            "",
        ),
        (
            ChannelEvent::KeyChanged(KeyChanged { key: key(), via: Some(ann), revokes: false }),
            "KeyChanged",
            r#"{"key":"0af7651916cd43dd8448eb211c80319c","via":"@o.ann"}"#,
            "",
        ),
        (
            ChannelEvent::KeyChanged(KeyChanged { key: key(), via: None, revokes: true }),
            "KeyChanged",
            r#"{"key":"0af7651916cd43dd8448eb211c80319c","revokes":true}"#,
            "",
        ),
    ]
}

#[test]
fn stored_forms_are_frozen() {
    for (event, kind, envelope, payload) in forms().into_iter().chain(forms_of_access()) {
        // CH-12: the payload is kept as it was sent.
        assert_frozen(&event, kind, envelope, payload);
    }
}
