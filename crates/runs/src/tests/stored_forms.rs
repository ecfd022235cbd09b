//! The bytes of stored events, which never change.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_engine::golden::assert_frozen;
use plenary_kernel::{Stamp, TimestampMs, Version};

use crate::{
    event::{
        Artifact, EventEmitted, Interrupt, Leaves, Opens, QueuedRunCanceled, RunCompleted, RunQueued,
        RunReleased, RunStarted, RunTrace, ThreadEvent,
    },
    id::RunId,
    runner::{EventKind, FinishReason, Role},
};

type Sample = (ThreadEvent, &'static str, &'static str, &'static str);

const INPUT: &str = "{\"input\": \"hi\"}";

fn run() -> RunId {
    RunId::mint(&Stamp::new(TimestampMs(7), [0; 10]), 0)
}

fn by() -> Actor {
    "@a.b".parse().unwrap()
}

fn samples() -> Vec<Sample> {
    [held_samples(), interrupt_samples(), output_samples(), end_samples()].into_iter().flatten().collect()
}

fn queued() -> RunQueued {
    RunQueued {
        run: run(),
        by: by(),
        request_type: "ChatRequest".into(),
        depth: 1,
        payer: None,
        opens: Some(Opens { agent: "echo".into(), created: TimestampMs(7), title: Some("hi".into()) }),
        trace: None,
        held: false,
        request: Bytes::from_static(INPUT.as_bytes()),
    }
}

fn held_samples() -> Vec<Sample> {
    vec![
        (
            ThreadEvent::RunQueued(RunQueued { opens: None, held: true, ..queued() }),
            "RunQueued",
            r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","request_type":"ChatRequest","depth":1,"held":true}"#,
            INPUT,
        ),
        (
            ThreadEvent::RunReleased(RunReleased { run: run() }),
            "RunReleased",
            r#"{"run":"00000000-0007-7000-8000-000000000000"}"#,
            "",
        ),
    ]
}

fn interrupt_samples() -> Vec<Sample> {
    let queued = queued();
    let parent = Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into());
    let trace =
        RunTrace { parent, answers: None, session: Some("s".into()), sender: Some("@a.c".parse().unwrap()) };
    let of_trace = RunQueued { opens: None, trace: Some(Box::new(trace)), ..queued.clone() };
    let of_another = RunQueued { payer: Some("bob".parse().unwrap()), opens: None, ..queued.clone() };
    let request = queued.request.clone();
    let interrupt = Interrupt { run: run(), by: by(), question: None, request };
    let answered = Interrupt { question: Some(Version(3)), ..interrupt.clone() };
    vec![
        (
            ThreadEvent::RunQueued(queued),
            "RunQueued",
            r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","request_type":"ChatRequest","depth":1,"opens":{"agent":"echo","created":7,"title":"hi"}}"#,
            INPUT,
        ),
        (
            ThreadEvent::RunQueued(of_trace),
            "RunQueued",
            r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","request_type":"ChatRequest","depth":1,"trace":{"parent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","session":"s","sender":"@a.c"}}"#,
            INPUT,
        ),
        (
            ThreadEvent::RunQueued(of_another),
            "RunQueued",
            r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","request_type":"ChatRequest","depth":1,"payer":"bob"}"#,
            INPUT,
        ),
        (
            ThreadEvent::RunResumed(interrupt.clone()),
            "RunResumed",
            r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b"}"#,
            INPUT,
        ),
        (
            ThreadEvent::RunResumed(answered),
            "RunResumed",
            r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b","question":3}"#,
            INPUT,
        ),
        (
            ThreadEvent::CancelRequested(interrupt),
            "CancelRequested",
            r#"{"run":"00000000-0007-7000-8000-000000000000","by":"@a.b"}"#,
            INPUT,
        ),
    ]
}

fn output_samples() -> Vec<Sample> {
    let emitted = EventEmitted {
        run: run(),
        id: 2,
        kind: EventKind::TextOutput,
        role: Role::Assistant,
        depth: 1,
        artifact: None,
        replaces: None,
        members: Bytes::from_static(b"{\"content\":\"hi\"}"),
    };
    let asked_again = EventEmitted {
        kind: EventKind::WaitForInput,
        replaces: Some(Version(3)),
        members: Bytes::from_static(b"{}"),
        ..emitted.clone()
    };
    let artifact = Artifact {
        id: "art_1".into(),
        name: "a.pdf".into(),
        mime_type: "application/pdf".into(),
        bytes: 9,
        sha256: "ab".into(),
    };
    let made = EventEmitted {
        kind: EventKind::ArtifactGenerated,
        artifact: Some(artifact),
        members: Bytes::from_static(b"{}"),
        ..emitted
    };
    vec![
        (
            ThreadEvent::RunStarted(RunStarted { run: run(), depth: 1, node: "0".into() }),
            "RunStarted",
            r#"{"run":"00000000-0007-7000-8000-000000000000","depth":1,"node":"0"}"#,
            "",
        ),
        (
            ThreadEvent::EventEmitted(emitted),
            "EventEmitted",
            r#"{"run":"00000000-0007-7000-8000-000000000000","id":2,"kind":"TextOutput","role":"assistant","depth":1}"#,
            "{\"content\":\"hi\"}",
        ),
        (
            ThreadEvent::EventEmitted(asked_again),
            "EventEmitted",
            r#"{"run":"00000000-0007-7000-8000-000000000000","id":2,"kind":"WaitForInput","role":"assistant","depth":1,"replaces":3}"#,
            "{}",
        ),
        (
            ThreadEvent::EventEmitted(made),
            "EventEmitted",
            r#"{"run":"00000000-0007-7000-8000-000000000000","id":2,"kind":"ArtifactGenerated","role":"assistant","depth":1,"artifact":{"id":"art_1","name":"a.pdf","mime_type":"application/pdf","octets":9,"sha256":"ab"}}"#,
            "{}",
        ),
    ]
}

fn end_samples() -> Vec<Sample> {
    let completed = RunCompleted {
        run: run(),
        id: 3,
        depth: 1,
        finish_reason: FinishReason::Success,
        why: None,
        lost: false,
        rejected: false,
        has_result: true,
        leaves: Leaves::Idle,
        result: Bytes::from_static(b"hi"),
    };
    let failed = RunCompleted {
        finish_reason: FinishReason::Error,
        why: Some("no".into()),
        has_result: false,
        leaves: Leaves::Next,
        result: Bytes::new(),
        ..completed
    };
    let lost = RunCompleted { lost: true, ..failed.clone() };
    let rejected = RunCompleted { rejected: true, ..failed.clone() };
    let canceled = QueuedRunCanceled { run: run(), depth: 1, by: by(), idle: false, held: false };
    vec![
        (
            ThreadEvent::RunCompleted(completed),
            "RunCompleted",
            r#"{"run":"00000000-0007-7000-8000-000000000000","id":3,"depth":1,"finish_reason":"success","has_result":true,"leaves":"idle"}"#,
            "hi",
        ),
        (
            ThreadEvent::RunCompleted(lost),
            "RunCompleted",
            r#"{"run":"00000000-0007-7000-8000-000000000000","id":3,"depth":1,"finish_reason":"error","why":"no","lost":true,"has_result":false,"leaves":"next"}"#,
            "",
        ),
        (
            ThreadEvent::RunCompleted(rejected),
            "RunCompleted",
            r#"{"run":"00000000-0007-7000-8000-000000000000","id":3,"depth":1,"finish_reason":"error","why":"no","rejected":true,"has_result":false,"leaves":"next"}"#,
            "",
        ),
        (
            ThreadEvent::RunCompleted(failed),
            "RunCompleted",
            r#"{"run":"00000000-0007-7000-8000-000000000000","id":3,"depth":1,"finish_reason":"error","why":"no","has_result":false,"leaves":"next"}"#,
            "",
        ),
        (
            ThreadEvent::QueuedRunCanceled(QueuedRunCanceled { held: true, ..canceled.clone() }),
            "QueuedRunCanceled",
            r#"{"run":"00000000-0007-7000-8000-000000000000","depth":1,"by":"@a.b","idle":false,"held":true}"#,
            "",
        ),
        (
            ThreadEvent::QueuedRunCanceled(canceled),
            "QueuedRunCanceled",
            r#"{"run":"00000000-0007-7000-8000-000000000000","depth":1,"by":"@a.b","idle":false}"#,
            "",
        ),
    ]
}

#[test]
fn the_stored_forms_are_frozen() {
    for (event, kind, envelope, payload) in samples() {
        assert_frozen(&event, kind, envelope, payload);
    }
}
