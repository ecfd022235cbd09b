//! What every test of frames says: a frame is made and submitted, a stream is opened, a refusal is read.
//! Must not know: what a frame's members may hold.

use std::sync::atomic::{AtomicU64, Ordering};

use blackbox::{Agent, Caller, Delivery, Response, Server, Stream, assert_keys};
use serde_json::{Value, json};

use super::catalogue::members;
use super::probes::good;

/// Submissions a second that no test reaches.
const RATE_OF_PROBES: &str = "100000";

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A server that does not mind many submissions of one sender.
pub(super) async fn patient_server() -> Server {
    Server::builder().arg("--frames-rate").arg(RATE_OF_PROBES).start().await
}

/// A version 4 UUID that this run has not used.
pub(super) fn uuid() -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:08x}-0000-4000-8000-{number:012x}", std::process::id())
}

/// `~owner` of `@owner.name`.
pub(super) fn tilde(agent: &Agent) -> String {
    let owner = agent.handle.trim_start_matches('@').split('.').next().expect("a handle has an owner");
    format!("~{owner}")
}

/// A frame without optional members.
pub(super) fn frame(from: &Agent, to: &str, kind: &str, payload: impl Into<Value>) -> Value {
    let payload: Value = payload.into();
    let sender = tilde(from);
    json!({
        "envelope_version": "1.0",
        "frame_id": uuid(),
        "kind": kind,
        "sender_handle": sender,
        "recipient_handle": to,
        "created_at": "2026-05-22T10:00:00Z",
        "payload": payload,
        "acted_by": sender,
        "drafted_with": "~cc-example-model",
        "provenance_compute_location": "server-active",
        "provenance_method": ["session-context"],
        "provenance_context_check": "passed",
        "provenance_basis": "coordination",
    })
}

/// The good payload of a kind, with its optional members or without; sent by `~alice`.
pub(super) fn payload(kind: &str, optional: bool) -> Value {
    let members = members(kind).iter().filter(|member| member.required || optional);
    members
        .map(|member| (member.name.to_owned(), good(member.rule)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// A frame that says something.
pub(crate) fn advisory(from: &Agent, to: &str, text: &str) -> Value {
    frame(from, to, "agent_advisory", json!({ "advisory_text": text }))
}

pub(crate) fn id_of(frame: &Value) -> &str {
    frame["frame_id"].as_str().expect("a frame has a frame_id")
}

/// Percent-encodes what may not stand in a query's value.
pub(super) fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// `POST /frames` with the bare frame, to the default scope.
pub(super) async fn submit(caller: &Caller, frame: &Value) -> Response {
    caller.post("/frames", frame.clone()).await
}

/// `POST /frames?scope=…` with the bare frame.
pub(crate) async fn submit_to(caller: &Caller, scope: &str, frame: &Value) -> Response {
    caller.post(&format!("/frames?scope={}", encode(scope)), frame.clone()).await
}

/// What a submission was answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// The position in the recipient's counter.
    pub(super) event_id: u64,
    /// Subscriptions that the frame was emitted to.
    pub(super) count: u64,
}

/// FO-56: the answer to an accepted submission, its shape checked.
#[track_caller]
pub(super) fn sent(response: &Response, frame: &Value) -> Sent {
    let body = response.ok(200);
    assert_keys(&body, &["frame_id", "event_id", "delivered_count", "recipient_count"], &[]);
    assert_eq!(body["frame_id"], frame["frame_id"], "{response}");
    assert_eq!(body["delivered_count"], body["recipient_count"], "{response}");
    let event_id = body["event_id"].as_str().unwrap_or_else(|| panic!("event_id is a string: {response}"));
    let count = body["delivered_count"].as_u64().unwrap_or_else(|| panic!("a count is a number: {response}"));
    Sent { event_id: event_id.parse().expect("event_id is a decimal"), count }
}

/// Submits an advisory to a scope; how many got it.
pub(crate) async fn tell(from: &Agent, to: &str, scope: &str, text: &str) -> u64 {
    let frame = advisory(from, to, text);
    sent(&submit_to(from, scope, &frame).await, &frame).count
}

/// The path of the agent's own stream.
pub(super) fn stream_path(agent: &Agent, query: &str) -> String {
    let separator = if query.is_empty() { "" } else { "?" };
    format!("/handles/{}/stream{separator}{query}", tilde(agent))
}

/// Opens the agent's stream.
pub(crate) async fn subscribe(agent: &Agent) -> Stream {
    agent.stream(&stream_path(agent, "")).await
}

/// Opens it with this query.
pub(super) async fn subscribe_with(agent: &Agent, query: &str) -> Stream {
    agent.stream(&stream_path(agent, query)).await
}

/// Opens it with this filter.
pub(super) async fn subscribe_to(agent: &Agent, filter: &str) -> Stream {
    subscribe_with(agent, &format!("filter={}", encode(filter))).await
}

/// Opens it as this session.
pub(super) async fn subscribe_as(agent: &Agent, instrument: &str, session: &str) -> Stream {
    subscribe_with(agent, &format!("instrument={instrument}&session_id={}", encode(session))).await
}

/// Opens it behind an event.
pub(super) async fn resume(agent: &Agent, after: &str) -> Stream {
    let opened = agent.try_stream(&stream_path(agent, ""), &[("Last-Event-ID", after)]).await;
    opened.unwrap_or_else(|response| panic!("no stream: {response}"))
}

/// The advisory texts of what was delivered, in order.
pub(super) fn texts(events: &[Delivery]) -> Vec<&str> {
    events.iter().filter_map(|event| event.frame["payload"]["advisory_text"].as_str()).collect()
}

/// Sends a fence from `from` to all sessions of `to`'s handle and gives the texts that came to `stream` before it.
pub(crate) async fn before_fence(from: &Agent, to: &Agent, stream: &mut Stream) -> Vec<String> {
    let fence = advisory(from, &tilde(to), "fence");
    sent(&submit(from, &fence).await, &fence);
    let mut events = stream.until(id_of(&fence)).await;
    events.pop();
    texts(&events).into_iter().map(str::to_owned).collect()
}

/// What the error's `field` must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    /// Exactly this path.
    At(&'a str),
    /// This path, or none: the document names none for this code.
    Maybe(&'a str),
    /// Whatever.
    Any,
}

/// FO-73: a refusal `{code, field?, message}` with this status and code.
#[track_caller]
pub(crate) fn refused(response: &Response, status: u16, code: &str, field: Field<'_>) {
    let (found, at) = refused_as(response, status);
    assert_eq!(found, code, "expected {code}: {response}");
    match field {
        Field::At(path) => assert_eq!(at.as_deref(), Some(path), "the field is named: {response}"),
        Field::Maybe(path) => assert!(at.is_none() || at.as_deref() == Some(path), "{path}: {response}"),
        Field::Any => {}
    }
}

/// The code and the field of a refusal with this status.
#[track_caller]
pub(super) fn refused_as(response: &Response, status: u16) -> (String, Option<String>) {
    assert_eq!(response.status, status, "expected {status}: {response}");
    let kind = response.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("application/json"), "a refusal is JSON: {response}");
    let body = response.json();
    assert_keys(&body, &["code", "message"], &["field"]);
    let text = |name: &str| body.get(name).map(|value| value.as_str().expect("a string").to_owned());
    assert!(text("message").is_some_and(|message| !message.is_empty()), "a message for people: {response}");
    (text("code").expect("a code"), text("field"))
}
