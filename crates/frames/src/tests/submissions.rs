//! Bodies of submissions: bare and wrapped, their scope, their size, their bytes (D.2, D.5).

use bytes::Bytes;
use serde_json::json;

use super::samples::{advisory, bytes, frame, payload, with};
use crate::{
    limits::FRAME_BYTES_MAX,
    malformed::FrameFault,
    scope::{Scope, Sessions},
    submission::Submission,
};

fn read(body: &impl ToString, scope: Option<&str>) -> Result<Submission, FrameFault> {
    Submission::read(&Bytes::from(body.to_string()), scope)
}

#[track_caller]
fn fault(body: &impl ToString, scope: Option<&str>) -> (&'static str, String) {
    let fault = read(body, scope).unwrap_err();
    (fault.code.as_str(), fault.field.unwrap_or_else(|| "-".into()))
}

#[test]
fn fo_90_without_a_scope_a_frame_is_for_all_sessions_of_its_recipient() {
    let all = Scope::Handle("~nick".parse().unwrap(), Sessions::All);
    assert_eq!(read(&advisory(), None).unwrap().scope, all);
    assert_eq!(read(&json!({"frame": advisory()}), None).unwrap().scope, all);
    assert_eq!(read(&advisory(), Some("~nick")).unwrap().scope, all);
    let one = read(&json!({"scope": "~nick/cc@1", "frame": advisory()}), None).unwrap();
    assert!(matches!(one.scope, Scope::Handle(_, Sessions::One(..))));
    let other = read(&json!({"frame": advisory()}), Some("org:acme/members/*")).unwrap();
    assert!(matches!(other.scope, Scope::Org(..)));
}

#[test]
fn a_scope_that_is_malformed_empty_or_said_twice_is_refused() {
    let scope = ("field-invalid", "scope".to_owned());
    for bad in ["", "nick", "~nick/"] {
        assert_eq!(fault(&advisory(), Some(bad)), scope, "{bad}");
        assert_eq!(fault(&json!({"scope": bad, "frame": advisory()}), None), scope, "{bad}");
    }
    for bad in [json!(null), json!(1), json!(["~nick"])] {
        assert_eq!(fault(&json!({"scope": bad, "frame": advisory()}), None), scope);
    }
    assert_eq!(fault(&json!({"scope": "~nick", "frame": advisory()}), Some("~nick")), scope);
}

#[test]
fn a_wrapper_holds_a_frame_a_scope_and_nothing_else() {
    assert_eq!(fault(&json!({"scope": "~nick"}), None), ("field-missing", "frame".into()));
    assert_eq!(fault(&json!({"frame": advisory(), "x": 1}), None), ("field-unknown", "x".into()));
    for bad in [json!(null), json!([]), json!("{}"), json!(1)] {
        assert_eq!(fault(&json!({"frame": bad}), None), ("field-invalid", "frame".into()));
    }
    assert_eq!(fault(&json!({"frame": {}}), None), ("field-missing", "envelope_version".into()));
    assert_eq!(fault(&with(advisory(), "scope", "~nick"), None), ("field-unknown", "scope".into()));
}

#[test]
fn what_is_no_acceptable_json_is_refused() {
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    for body in [
        "",
        " ",
        "{",
        "[]",
        "\"x\"",
        "null",
        "{\"a\":1,\"a\":2}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":9007199254740993}",
        &deep,
    ] {
        assert_eq!(fault(&body, None), ("field-invalid", "-".into()), "{body}");
    }
}

#[test]
fn the_bytes_of_a_frame_are_kept_on_one_line() {
    // Another order, white space, escapes: the sender's text, except for line breaks.
    let body = "\n{\"ttl_ms\" : 1000,\r\n  \"envelope_version\":\"1.\\u0030\", \"frame_id\":\"7d9a0c9e-3f6b-4c1e-9a51-0c2f6f2f6b11\",\n\
                \"kind\":\"agent_lock_release\",\"sender_handle\":\"~nick\",\"recipient_handle\":\"~nick\",\
                \"created_at\":\"2026-05-22T10:00:00.000Z\",\"payload\":{\"lease_id\":\"7D9A0C9E-3f6b-4c1e-9a51-0c2f6f2f6b11\",\
                \"resource\":\"line\\nbreak \\u00e9 é\"},\"acted_by\":\"~nick\",\"drafted_with\":\"~cc\",\
                \"provenance_compute_location\":\"local-only\",\"provenance_method\":[\"a\"],\
                \"provenance_context_check\":\"passed\",\"provenance_basis\":\"b\"}\n ";
    let expected = body.trim().replace(['\r', '\n'], "");
    assert_eq!(read(&body, None).unwrap().frame.line, expected);
    let wrapped = format!("{{\"scope\":\"~nick\",\n\"frame\": {} }}", body.trim());
    assert_eq!(read(&wrapped, None).unwrap().frame.line, expected);
}

#[test]
fn fo_80_a_frame_of_32_kib_passes_and_one_byte_more_does_not() {
    let handover = with(payload("agent_handover").into(), "handover_body", bytes(8_192));
    let text = frame("agent_handover", with(handover, "pointer_refs", vec![bytes(512); 40])).to_string();
    // White space between tokens counts as well.
    let sized = |size: usize| format!("{}{}}}", &text[..text.len() - 1], " ".repeat(size - text.len()));
    assert!(read(&sized(FRAME_BYTES_MAX), None).is_ok());
    assert!(read(&format!("{{\"frame\":{}}}", sized(FRAME_BYTES_MAX)), None).is_ok());
    for body in [sized(FRAME_BYTES_MAX + 1), format!("{{\"frame\":{}}}", sized(FRAME_BYTES_MAX + 1))] {
        let fault = read(&body, None).unwrap_err();
        assert_eq!((fault.code, fault.field), (crate::malformed::Code::TooLarge, None));
        assert_eq!(fault.code.as_str(), "field-invalid");
    }
}
