//! The responses, byte for byte: every event in its three forms (wire.md 2.1, D.4).

use plenary_engine::golden::stored;
use plenary_kernel::{TimestampMs, Version};
use plenary_log::{Fault, StoredEvent};

use super::scene::{given, session};
use crate::{
    event::{LeftReason, MessageHead, SessionEvent},
    wire::{EncodedEvent, Form, write},
};

const ID: &str = "01JZ0000000000000000000001";
const AT: u64 = 1_717_000_000_000;

/// The story's event at a version, as it was stored, with an id that is known.
fn at(story: &str, version: u64) -> StoredEvent {
    let scene = given(story);
    let event = &scene.log[usize::try_from(version).unwrap() - 1];
    let mut written = event.encode();
    let text = std::str::from_utf8(&written.envelope).unwrap();
    written.envelope = text.replacen(r#""id":"""#, &format!(r#""id":"{ID}""#), 1).into();
    StoredEvent { version: Version(version), at: TimestampMs(AT), ..stored(written) }
}

fn text(
    stored: &StoredEvent,
    topic: Option<&str>,
    first: Option<&StoredEvent>,
    form: Form,
) -> Result<String, Fault> {
    write(&session(), topic, stored, &SessionEvent::decode(stored)?, first, form)
}

/// The three forms of the last event of a story: what stands in `payload`, and what stands at top level.
#[track_caller]
fn shows(story: &str, topic: Option<&str>, kind: &str, payload: &str, flat: &str) {
    let version = given(story).head().0;
    let (event, first) = (at(story, version), at(story, 2));
    let first = (version > 2).then_some(&first);
    let sequence = version - 1;
    let head = format!(
        r#"{{"type":"session.{kind}","session_id":"sess_01SCENE","event_id":"evt_{ID}","sequence":{sequence},"created_at":{AT}"#
    );
    let flat = if flat.is_empty() { String::new() } else { format!(",{flat}") };
    let written = |form| text(&event, topic, first, form).unwrap();
    assert_eq!(written(Form::Both), format!(r#"{head},"payload":{{{payload}}}{flat}}}"#));
    assert_eq!(written(Form::Envelope), format!(r#"{head},"payload":{{{payload}}}}}"#));
    assert_eq!(written(Form::Flat), format!("{head}{flat}}}"));
}

#[test]
fn asp_31_asp_56_session_message() {
    shows(
        "ann creates; ann says hi",
        None,
        "message",
        &format!(
            r#""id":"msg_{ID}","session_id":"sess_01SCENE","sender":"@o.ann","sequence":1,"created_at":{AT},"content":"hi""#
        ),
        &format!(r#""id":"msg_{ID}","sender":"@o.ann","content":"hi""#),
    );
}

#[test]
fn asp_36_asp_37_a_message_keeps_what_was_sent_in_the_form_it_was_sent() {
    let members =
        r#""content":[{"type":"text","text":"caf\u00e9"}],"idempotency_key":"k\"1","metadata":{ "b" : 1.0 }"#;
    let event = StoredEvent { payload: members.into(), ..at("ann creates; ann says hi", 2) };
    let both = text(&event, None, None, Form::Both).unwrap();
    assert_eq!(both.matches(members).count(), 2, "in the payload and at top level");
}

#[test]
fn asp_30_asp_57_session_invited() {
    shows(
        "ann creates; ann says hi; ann invites bob",
        None,
        "invited",
        r#""invitee":"@o.bob","by":"@o.ann""#,
        r#""invitee":"@o.bob","invited_by":"@o.ann""#,
    );
    shows(
        "ann creates; ann says hi; ann invites bob",
        Some("a \"b\" \u{1}é"),
        "invited",
        r#""invitee":"@o.bob","by":"@o.ann","topic":"a \"b\" \u0001é""#,
        r#""invitee":"@o.bob","invited_by":"@o.ann","topic":"a \"b\" \u0001é""#,
    );
}

#[test]
fn asp_29_asp_61_session_invited_of_a_send_and_end_carries_the_message() {
    let message = format!(
        r#""initial_message":{{"id":"msg_{ID}","session_id":"sess_01SCENE","sender":"@o.ann","sequence":1,"created_at":{AT},"content":"hi"}}"#
    );
    shows(
        "ann creates; ann says hi; ann invites bob inline",
        Some("tea"),
        "invited",
        &format!(r#""invitee":"@o.bob","by":"@o.ann","topic":"tea",{message}"#),
        &format!(r#""invitee":"@o.bob","invited_by":"@o.ann","topic":"tea",{message}"#),
    );
}

#[test]
fn asp_31_session_joined_disconnected_and_reconnected() {
    for (sentence, kind) in [("joins", "joined"), ("drops", "disconnected"), ("returns", "reconnected")] {
        let story = format!("ann creates; ann invites bob; bob {sentence}");
        shows(&story, Some("tea"), kind, r#""agent":"@o.bob""#, r#""agent":"@o.bob""#);
    }
}

#[test]
fn asp_14_asp_51_session_left_says_nothing_of_a_block() {
    for (sentence, reason) in [("leaves", "left"), ("is-ousted", "left"), ("expires", "grace_expired")] {
        let story = format!("ann creates; ann invites bob; bob {sentence}");
        let members = format!(r#""agent":"@o.bob","reason":"{reason}""#);
        shows(&story, None, "left", &members, &members);
    }
    assert_eq!(serde_json::to_value(LeftReason::GraceExpired).unwrap(), "grace_expired");
}

#[test]
fn asp_31_session_ended_and_reopened() {
    shows(
        "ann creates; ann ends with ann",
        None,
        "ended",
        r#""ended_by":"@o.ann""#,
        r#""ended_by":"@o.ann""#,
    );
    shows("ann creates; ann leaves; ends with", None, "ended", "", "");
    let story = "ann creates; ann ends with ann; ann reopens with";
    shows(story, None, "reopened", r#""reopened_by":"@o.ann""#, r#""reopened_by":"@o.ann""#);
}

#[test]
fn a_creation_has_no_form_on_the_wire() {
    let created = at("ann creates", 1);
    assert!(matches!(text(&created, None, None, Form::Both), Err(Fault::Corrupt(_))));
}

#[test]
fn a_payload_that_is_not_text_is_corrupt_and_not_sent_on() {
    let event = StoredEvent {
        payload: bytes::Bytes::from_static(b"\"content\":\"\xff\""),
        ..at("ann creates; ann says hi", 2)
    };
    assert!(matches!(text(&event, None, None, Form::Both), Err(Fault::Corrupt(_))));
}

/// Without a parser where the members are as this program writes them.
#[test]
fn the_head_of_a_message_is_read_in_every_order() {
    let message = |envelope: &'static str| StoredEvent {
        envelope: bytes::Bytes::from_static(envelope.as_bytes()),
        ..at("ann creates; ann says hi", 2)
    };
    for envelope in [
        r#"{"id":"1","sender":"@a.b"}"#,
        r#"{"id":"1","sender":"@a.b","trace":"t"}"#,
        r#"{"sender":"@a.b","id":"1"}"#,
        r#"{"id": "1", "sender": "@a.b"}"#,
    ] {
        let message = message(envelope);
        let head = MessageHead::read(&message).unwrap();
        assert_eq!(head, Some(MessageHead { id: "1", sender: "@a.b" }), "{envelope}");
    }
    assert!(MessageHead::read(&message(r#"{"id":"1","sender":"@a.b"]"#)).is_err());
}

#[test]
fn each_form_is_written_once_and_kept_apart() {
    let encoded = EncodedEvent::default();
    assert!(encoded.get(Form::Both).is_none());
    assert_eq!(encoded.set(Form::Both, "a".into()).as_str(), "a");
    assert_eq!(encoded.set(Form::Both, "b".into()).as_str(), "a", "the first one stays");
    assert!(encoded.get(Form::Envelope).is_none() && encoded.get(Form::Flat).is_none());
    assert_eq!(encoded.set(Form::Flat, "c".into()).as_str(), "c");
}

#[test]
fn the_forms_have_their_names() {
    assert_eq!((Form::parse("envelope"), Form::parse("flat")), (Some(Form::Envelope), Some(Form::Flat)));
    for none in ["", "both", "Envelope", "flat "] {
        assert_eq!(Form::parse(none), None, "{none:?}");
    }
}
