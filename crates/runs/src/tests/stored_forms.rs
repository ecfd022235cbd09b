//! The bytes of stored events, which never change.

use plenary_engine::golden::assert_frozen_with;

use crate::event::ThreadEvent;

const FORMS: &[(&str, &str, &str)] = &[
    (
        "RunQueued",
        r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","request_type":"ChatRequest","depth":1,"held":true}"#,
        r#"{"input": "hi"}"#,
    ),
    ("RunReleased", r#"{"run":"00000000-0007-7000-8000-000000000000"}"#, ""),
    (
        "RunQueued",
        r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","request_type":"ChatRequest","depth":1,"opens":{"agent":"echo","created":7,"title":"hi"}}"#,
        r#"{"input": "hi"}"#,
    ),
    (
        "RunQueued",
        r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","request_type":"ChatRequest","depth":1,"trace":{"parent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","session":"s","sender":"@a.c"}}"#,
        r#"{"input": "hi"}"#,
    ),
    (
        "RunQueued",
        r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","request_type":"ChatRequest","depth":1,"payer":"bob"}"#,
        r#"{"input": "hi"}"#,
    ),
    ("RunResumed", r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b"}"#, r#"{"input": "hi"}"#),
    (
        "RunResumed",
        r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","question":3}"#,
        r#"{"input": "hi"}"#,
    ),
    (
        "CancelRequested",
        r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b"}"#,
        r#"{"input": "hi"}"#,
    ),
    ("RunStarted", r#"{"run":"00000000-0007-7000-8000-000000000000","depth":1,"node":"0"}"#, ""),
    (
        "EventEmitted",
        r#"{"run":"00000000-0007-7000-8000-000000000000","id":2,"kind":"TextOutput","role":"assistant","depth":1}"#,
        r#"{"content":"hi"}"#,
    ),
    (
        "EventEmitted",
        r#"{"run":"00000000-0007-7000-8000-000000000000","id":2,"kind":"WaitForInput","role":"assistant","depth":1,"replaces":3}"#,
        "{}",
    ),
    (
        "EventEmitted",
        r#"{"run":"00000000-0007-7000-8000-000000000000","id":2,"kind":"ArtifactGenerated","role":"assistant","depth":1,"artifact":{"id":"art_1","name":"a.pdf","mime_type":"application/pdf","octets":9,"sha256":"ab"}}"#,
        "{}",
    ),
    (
        "RunCompleted",
        r#"{"run":"00000000-0007-7000-8000-000000000000","id":3,"depth":1,"finish_reason":"success","has_result":true,"leaves":"idle"}"#,
        "hi",
    ),
    (
        "RunCompleted",
        r#"{"run":"00000000-0007-7000-8000-000000000000","id":3,"depth":1,"finish_reason":"error","why":"no","lost":true,"has_result":false,"leaves":"next"}"#,
        "",
    ),
    (
        "RunCompleted",
        r#"{"run":"00000000-0007-7000-8000-000000000000","id":3,"depth":1,"finish_reason":"error","why":"no","rejected":true,"has_result":false,"leaves":"next"}"#,
        "",
    ),
    (
        "RunCompleted",
        r#"{"run":"00000000-0007-7000-8000-000000000000","id":3,"depth":1,"finish_reason":"error","why":"no","has_result":false,"leaves":"next"}"#,
        "",
    ),
    (
        "QueuedRunCanceled",
        r#"{"run":"00000000-0007-7000-8000-000000000000","depth":1,"by":"@a.b","idle":false,"held":true}"#,
        "",
    ),
    (
        "QueuedRunCanceled",
        r#"{"run":"00000000-0007-7000-8000-000000000000","depth":1,"by":"@a.b","idle":false}"#,
        "",
    ),
];

#[test]
fn the_stored_forms_are_frozen() {
    assert_frozen_with::<ThreadEvent>(FORMS);
}
