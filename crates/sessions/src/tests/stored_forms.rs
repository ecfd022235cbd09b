//! The stored form of every event, byte for byte. They are frozen: a change is a new form beside the old one.

use bytes::Bytes;
use plenary_engine::golden::{assert_frozen_with, frozen};
use plenary_log::{Fault, StoredEvent};

use crate::event::{MessageHead, MessageSent, SessionEvent};

/// Every event in every shape: its kind, envelope and payload.
const FORMS: &[(&str, &str, &str)] = &[
    (
        "MessageSent",
        r#"{"id":"01JZ0000000000000000000001","sender":"@o.ann"}"#,
        r#""content":"caf\u00e9","idempotency_key":"k","metadata":{ "b" : 1.0 }"#,
    ),
    (
        "MessageSent",
        r#"{"id":"01JZ0000000000000000000001","sender":"@o.ann","origin":{"hops":2}}"#,
        r#""content":"caf\u00e9","idempotency_key":"k","metadata":{ "b" : 1.0 }"#,
    ),
    (
        "MessageSent",
        r#"{"id":"01JZ0000000000000000000001","sender":"@o.ann","origin":{"hops":1,"notice":true}}"#,
        r#""content":"caf\u00e9","idempotency_key":"k","metadata":{ "b" : 1.0 }"#,
    ),
    (
        "MessageSent",
        r#"{"id":"01JZ0000000000000000000001","sender":"@o.ann","names":{"at":3,"files":[{"id":"file_1","pending":{"by":"@o.ann","until":9}},{"id":"file_2"}]}}"#,
        r#""content":"caf\u00e9","idempotency_key":"k","metadata":{ "b" : 1.0 }"#,
    ),
    (
        "MessageSent",
        r#"{"id":"01JZ0000000000000000000001","sender":"@o.ann","names":{"at":3,"files":[{"id":"file_3"}],"elsewhere":true}}"#,
        r#""content":"caf\u00e9","idempotency_key":"k","metadata":{ "b" : 1.0 }"#,
    ),
    (
        "MessageSent",
        r#"{"id":"01JZ0000000000000000000001","sender":"@o.ann","trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
        "",
    ),
    ("SessionCreated", r#"{"creator":"@o.ann"}"#, ""),
    ("SessionCreated", r#"{"creator":"@o.ann","topic":"té \"x\""}"#, ""),
    ("SessionCreated", r#"{"creator":"@nick-at-acme.cc","host":"acme"}"#, ""),
    ("AgentInvited", r#"{"id":"01JZ0000000000000000000001","invitee":"@o.bob","by":"@o.ann"}"#, ""),
    (
        "AgentInvited",
        r#"{"id":"01JZ0000000000000000000001","invitee":"@o.bob","by":"@o.ann","inline":true}"#,
        "",
    ),
    (
        "AgentInvited",
        r#"{"id":"01JZ0000000000000000000001","invitee":"@o.bob","by":"@o.ann","denied":true}"#,
        "",
    ),
    (
        "AgentInvited",
        r#"{"id":"01JZ0000000000000000000001","invitee":"@o.bob","by":"@o.ann","elsewhere":true}"#,
        "",
    ),
    (
        "AgentInvited",
        r#"{"id":"01JZ0000000000000000000001","invitee":"@o.bob","by":"@o.ann","offered":true}"#,
        "",
    ),
    (
        "AgentInvited",
        r#"{"id":"01JZ0000000000000000000001","invitee":"@o.bob","by":"@o.ann","offered":true,"settles":"x"}"#,
        "",
    ),
    (
        "AgentInvited",
        r#"{"id":"01JZ0000000000000000000001","invitee":"@o.bob","by":"@o.ann","held":true}"#,
        "",
    ),
    ("AgentJoined", r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob"}"#, ""),
    ("AgentJoined", r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob","settles":"x"}"#, ""),
    ("AgentJoined", r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob","released":true}"#, ""),
    ("AgentDisconnected", r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob"}"#, ""),
    ("AgentReconnected", r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob"}"#, ""),
    ("AgentLeft", r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob","reason":"left"}"#, ""),
    (
        "AgentLeft",
        r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob","reason":"left","forced":true}"#,
        "",
    ),
    ("AgentLeft", r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob","reason":"left","held":true}"#, ""),
    (
        "AgentLeft",
        r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob","reason":"left","forced":true,"settles":"x"}"#,
        "",
    ),
    ("AgentLeft", r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob","reason":"grace_expired"}"#, ""),
    ("AgentLeft", r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob","reason":"accord_revoked"}"#, ""),
    (
        "AgentLeft",
        r#"{"id":"01JZ0000000000000000000001","agent":"@o.bob","reason":"host_restored","forced":true}"#,
        "",
    ),
    ("SessionReopened", r#"{"id":"01JZ0000000000000000000001","by":"@o.ann","returning":["@o.bob"]}"#, ""),
    (
        "SessionReopened",
        r#"{"id":"01JZ0000000000000000000001","by":"@o.bob","returning":[],"settles":"x"}"#,
        "",
    ),
    ("SessionEnded", r#"{"id":"01JZ0000000000000000000001","by":"@o.ann","joined":["@o.ann","@o.bob"]}"#, ""),
    ("SessionEnded", r#"{"id":"01JZ0000000000000000000001","joined":[]}"#, ""),
    (
        "SessionEnded",
        r#"{"id":"01JZ0000000000000000000001","joined":[],"uncounted":[{"invitee":"@o.bob","owner":"x"}]}"#,
        "",
    ),
];

#[test]
fn stored_forms_are_frozen() {
    assert_frozen_with::<SessionEvent>(FORMS);
}

#[test]
fn the_head_of_a_message_is_that_of_the_whole_and_nothing_else_has_one() {
    for (kind, envelope, payload) in FORMS {
        let stored = frozen(kind, envelope, payload);
        let event = SessionEvent::decode(&stored).unwrap();
        let expected = if let SessionEvent::MessageSent(MessageSent { id, sender, .. }) = &event {
            Some(MessageHead { id, sender: sender.as_str() })
        } else {
            None
        };
        assert_eq!(MessageHead::read(&stored).unwrap(), expected);
        let newer = StoredEvent { form: 2, ..stored.clone() };
        let is_guessed = !matches!(MessageHead::read(&newer), Err(Fault::Corrupt(_)));
        assert!(expected.is_none() || !is_guessed, "an unknown form is not guessed");
    }
}

#[test]
fn an_envelope_that_can_not_be_read_is_corrupt() {
    for (kind, envelope, payload) in FORMS {
        let upper_case = envelope.replace("@o.", "O.");
        for bad in ["{}", &upper_case] {
            if bad != *envelope {
                let bad =
                    StoredEvent { envelope: Bytes::from(bad.to_owned()), ..frozen(kind, envelope, payload) };
                assert!(matches!(SessionEvent::decode(&bad), Err(Fault::Corrupt(_))), "{bad:?}");
            }
        }
    }
}
