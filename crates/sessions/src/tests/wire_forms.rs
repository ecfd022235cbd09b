//! The responses, byte for byte: every event in its three forms (wire.md 2.1, D.4), and the rules for all of them.

use plenary_engine::golden::stored;
use plenary_kernel::{TimestampMs, Version};
use plenary_log::{Fault, StoredEvent};
use serde_json::{Map, Value};

use super::scene::{given, session};
use crate::{
    event::{LeftReason, SessionEvent},
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
    for form in [Form::Both, Form::Envelope, Form::Flat] {
        check(&serde_json::from_str(&written(form)).unwrap(), form);
    }
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
    check(&serde_json::from_str(&both).unwrap(), Form::Both);
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

/// The published shapes (wire.md 2.1): an open top level, and payloads that hold these members and no others.
fn check(event: &Value, form: Form) {
    let event = event.as_object().unwrap();
    let kind = event["type"].as_str().unwrap();
    is_id(&event["event_id"], "evt_");
    is_id(&event["session_id"], "sess_");
    assert!(event["sequence"].as_u64().unwrap() >= 1 && event["created_at"].is_u64());
    match (form, event.get("payload")) {
        (Form::Flat, payload) => assert!(payload.is_none(), "{kind}"),
        (Form::Envelope, payload) => {
            assert_eq!(event.len(), 6, "{kind}");
            check_payload(kind, payload.unwrap().as_object().unwrap());
        }
        (Form::Both, payload) => {
            let payload = payload.unwrap().as_object().unwrap();
            check_payload(kind, payload);
            for (member, value) in payload {
                let flat =
                    if (kind, member.as_str()) == ("session.invited", "by") { "invited_by" } else { member };
                assert!(event.get(flat) == Some(value), "{kind} has `{member}` at top level too");
            }
        }
    }
}

fn check_payload(kind: &str, payload: &Map<String, Value>) {
    let (required, optional): (&[&str], &[&str]) = match kind {
        "session.invited" => (&["invitee", "by"], &["topic", "initial_message"]),
        "session.joined" | "session.disconnected" | "session.reconnected" => (&["agent"], &[]),
        "session.left" => (&["agent"], &["reason"]),
        "session.message" => return check_message(payload),
        "session.ended" => (&[], &["ended_by"]),
        "session.reopened" => (&["reopened_by"], &[]),
        _ => panic!("{kind} is none of the eight"),
    };
    closed(payload, required, optional);
    if let Some(message) = payload.get("initial_message") {
        check_message(message.as_object().unwrap());
    }
    if let Some(reason) = payload.get("reason") {
        assert!(reason == "left" || reason == "grace_expired");
    }
}

fn check_message(message: &Map<String, Value>) {
    let required = ["id", "session_id", "sender", "sequence", "content", "created_at"];
    closed(message, &required, &["idempotency_key", "metadata"]);
    is_id(&message["id"], "msg_");
    assert!(message["content"].is_string() || message["content"].is_array());
    assert!(message.get("metadata").is_none_or(Value::is_object));
}

fn closed(object: &Map<String, Value>, required: &[&str], optional: &[&str]) {
    for member in required {
        assert!(object.contains_key(*member), "{member} is missing");
    }
    for member in object.keys() {
        assert!(
            required.contains(&member.as_str()) || optional.contains(&member.as_str()),
            "{member} is too much"
        );
    }
}

fn is_id(value: &Value, prefix: &str) {
    let body = value.as_str().unwrap().strip_prefix(prefix).unwrap();
    assert!(
        !body.is_empty() && body.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()),
        "{value}"
    );
}
