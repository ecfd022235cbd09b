//! The wire forms of events.

use std::sync::Arc;

use bytes::Bytes;
use plenary_kernel::{Stamp, TimestampMs};
use serde_json::{Value, json};

use crate::{
    Agent, Echo, RunLimits,
    event::{Artifact, EventEmitted, Leaves, QueuedRunCanceled, RunCompleted, RunStarted, ThreadEvent},
    id::{RunId, ThreadId},
    runner::{EventKind, FinishReason, Role},
    wire::{AgentDescriptor, Source},
};

fn ids() -> (RunId, Source) {
    let stamp = Stamp::new(TimestampMs(7), [0; 10]);
    (RunId::mint(&stamp, 0), Source { thread: ThreadId::mint(&stamp, 1), agent: "echo".into() })
}

fn wired(event: &ThreadEvent) -> Vec<Value> {
    let (_, source) = ids();
    source.events(event).iter().map(|event| serde_json::from_str(&event.json).unwrap()).collect()
}

fn based(id: u64, kind: &str, role: &str, own: Value) -> Value {
    let (run, source) = ids();
    let mut event = json!({
        "id": id, "run_id": run, "thread_id": source.thread, "agent": "echo", "type": kind, "role": role, "depth": 1,
    });
    let Value::Object(own) = own else { panic!("members") };
    event.as_object_mut().unwrap().extend(own);
    event
}

#[test]
fn sc_22_sc_24_sc_25_every_event_has_the_base_members_and_its_own() {
    let (run, _) = ids();
    let emitted = EventEmitted {
        run,
        id: 2,
        kind: EventKind::TextOutput,
        role: Role::Assistant,
        depth: 1,
        artifact: None,
        replaces: None,
        members: Bytes::from_static(b"{\"content\":\"a \\\"b\\\"\",\"more\":1.0e2}"),
    };
    let text = ThreadEvent::EventEmitted(emitted.clone());
    let own = json!({"content": "a \"b\"", "more": 100.0});
    assert_eq!(wired(&text), [based(2, "TextOutput", "assistant", own)]);
    let bare =
        EventEmitted { kind: EventKind::CompletionCall, members: Bytes::from_static(b"{}"), ..emitted };
    let bare = wired(&ThreadEvent::EventEmitted(bare));
    assert_eq!(bare, [based(2, "CompletionCall", "assistant", json!({}))]);
    let started = ThreadEvent::RunStarted(RunStarted { run, depth: 1, node: "0".into() });
    assert_eq!(wired(&started), [based(1, "RunStarted", "system", json!({}))]);
}

#[test]
fn sc_14_sc_26_the_end_has_its_reason_and_one_string() {
    let (run, _) = ids();
    let completed = RunCompleted {
        run,
        id: 3,
        depth: 1,
        finish_reason: FinishReason::Success,
        why: None,
        lost: false,
        rejected: false,
        has_result: true,
        leaves: Leaves::Idle,
        result: Bytes::new(),
    };
    let success = wired(&ThreadEvent::RunCompleted(completed.clone()));
    let own = json!({"finish_reason": "success", "result": ""});
    assert_eq!(success, [based(3, "RunCompleted", "system", own)]);
    let failed = RunCompleted {
        finish_reason: FinishReason::Error,
        why: Some("no".into()),
        has_result: false,
        ..completed
    };
    let own = json!({"finish_reason": "error", "error": "no"});
    assert_eq!(wired(&ThreadEvent::RunCompleted(failed.clone())), [based(3, "RunCompleted", "system", own)]);
    let rejected = RunCompleted { rejected: true, ..failed };
    let own = json!({"finish_reason": "error", "error": "no", "rejected": true});
    assert_eq!(wired(&ThreadEvent::RunCompleted(rejected)), [based(3, "RunCompleted", "system", own)]);
    let by = "operator".parse().unwrap();
    let canceled =
        ThreadEvent::QueuedRunCanceled(QueuedRunCanceled { run, depth: 1, by, idle: true, held: false });
    assert_eq!(
        wired(&canceled),
        [
            based(1, "RunStarted", "system", json!({})),
            based(2, "RunCompleted", "system", json!({"finish_reason": "canceled"})),
        ]
    );
}

#[test]
fn sc_47_an_artifact_keeps_its_id_apart_from_the_events() {
    let (run, _) = ids();
    let artifact = Artifact {
        id: "art_1".into(),
        name: "a.pdf".into(),
        mime_type: "application/pdf".into(),
        bytes: 9,
        sha256: "ab".into(),
    };
    let event = EventEmitted {
        run,
        id: 2,
        kind: EventKind::ArtifactGenerated,
        role: Role::Assistant,
        depth: 1,
        artifact: Some(artifact),
        replaces: None,
        members: Bytes::from_static(b"{\"name\":\"a.pdf\",\"mime_type\":\"application/pdf\"}"),
    };
    let own = json!({
        "name": "a.pdf", "mime_type": "application/pdf", "url": "/artifacts/art_1", "artifact_id": "art_1",
        "artifact": {"id": "art_1", "name": "a.pdf", "mime_type": "application/pdf", "url": "/artifacts/art_1",
            "octets": 9, "sha256": "ab"},
    });
    assert_eq!(wired(&ThreadEvent::EventEmitted(event)), [based(2, "ArtifactGenerated", "assistant", own)]);
}

#[test]
fn sc_20_sc_21_every_agent_has_chat() {
    let runner = Arc::new(Echo::with_purpose("says it"));
    let agent = Agent::new("@acme.echo".parse().unwrap(), runner, RunLimits::default());
    let described = AgentDescriptor::of(&agent, false);
    let described = serde_json::to_value(described).unwrap();
    assert_eq!((&described["name"], &described["purpose"]), (&json!("echo"), &json!("says it")));
    let chat = &described["operations"][0];
    assert_eq!((&chat["name"], &chat["description"]), (&json!("chat"), &json!("send a chat request")));
    assert_eq!(chat["input_schema"]["properties"]["input"]["type"], "string");
    assert_eq!(chat["output_schema"]["properties"]["output"]["type"], "string");
    for endpoint in ["/describe", "/configure", "/run", "/get_events"] {
        assert!(described["endpoints"].as_array().unwrap().contains(&json!(endpoint)), "{endpoint}");
    }
}
