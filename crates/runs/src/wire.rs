//! The responses of the Agent Protocol (wire.md 4.1, 4.2, D.8). Pure.
//! Must not know: the source of the data.

use std::sync::Arc;

use bytes::Bytes;
use plenary_kernel::{AgentHandle, TimestampMs};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    deltas::RunDelta,
    event::{Artifact, EventEmitted, RunCompleted, ThreadEvent},
    id::{RunId, ThreadId},
    members::{Members, quoted},
    registry::Agent,
    runner::{AgentOperation, EventKind, FinishReason, Role},
    state::{RunState, RunStatus, ThreadState},
};

/// An agent and its path, as `GET /` lists them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(extend("items" = {"type": "string"}))]
pub struct AgentPath(pub String, pub String);

/// `GET /agent/{name}/describe` (SC-20).
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentDescriptor {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub purpose: String,
    /// The endpoints below its path.
    pub endpoints: Vec<&'static str>,
    /// Its operations; each agent has `chat`.
    pub operations: Vec<AgentOperation>,
    /// The tools that it uses, for information.
    pub tools: Vec<String>,
    /// Its address, `@owner.name`, under which it participates in sessions.
    pub handle: AgentHandle,
    /// Whether it is stopped: it accepts no runs until it is started.
    pub stopped: bool,
    /// For an agent that attaches itself: the number of instances that are attached to this process. Without an
    /// instance, its runs wait for one for some time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<usize>,
}

/// An agent in the list of all of them: `GET /agent`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentSummary {
    /// The path of its endpoints.
    pub path: String,
    /// Its description.
    #[serde(flatten)]
    pub descriptor: AgentDescriptor,
}

/// The endpoints of each agent.
const ENDPOINTS: [&str; 7] =
    ["/describe", "/configure", "/run", "/get_events", "/stream_request", "/runs", "/threads"];

impl AgentDescriptor {
    pub(crate) fn of(agent: &Agent, stopped: bool) -> Self {
        let card = agent.runner.card();
        let text = |name: &str| {
            Some(json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}))
        };
        let chat = AgentOperation {
            name: "chat".into(),
            description: "send a chat request".into(),
            input_schema: text("input"),
            output_schema: text("output"),
        };
        let others = card.operations.into_iter().filter(|operation| operation.name != "chat");
        Self {
            name: agent.name().to_owned(),
            purpose: card.purpose,
            endpoints: ENDPOINTS.to_vec(),
            operations: std::iter::once(chat).chain(others).collect(),
            tools: card.tools,
            handle: agent.handle.clone(),
            stopped,
            instances: card.instances,
        }
    }
}

/// The response to the dismissal of an agent.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Dismissal {
    /// Always true.
    pub dismissed: bool,
}

/// An event of a run (SC-22), with the members of its type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RunEvent", extend("additionalProperties" = true))]
pub struct Base {
    /// Its number in the run, from 1.
    pub id: u64,
    /// The run.
    pub run_id: RunId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The agent's name (SC-25).
    #[schemars(with = "String")]
    pub agent: Arc<str>,
    /// RunStarted, TextOutput, ToolCall, ToolResult, ToolTextOutput, ToolError, ArtifactGenerated, CompletionCall,
    /// CompletionResult, WaitForInput or RunCompleted.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its source.
    pub role: Role,
    /// Its depth in the chain of callers.
    pub depth: u32,
}

/// An encoded event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireEvent {
    /// The run.
    pub run: RunId,
    /// Its number in the run.
    pub id: u64,
    /// Its type.
    pub kind: &'static str,
    /// The whole event as JSON on one line.
    pub json: String,
}

/// The thread of the events, for their base members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The thread.
    pub thread: ThreadId,
    /// The name of its agent.
    pub agent: Arc<str>,
}

impl Source {
    fn event(&self, run: RunId, id: u64, kind: &'static str, role: Role, depth: u32, own: &str) -> WireEvent {
        let (thread_id, agent) = (self.thread, self.agent.clone());
        let base = Base { id, run_id: run, thread_id, agent, kind, role, depth };
        let mut json = serde_json::to_string(&base).expect("strings and numbers can be written");
        if own.len() > 2 {
            json.pop();
            json.push(',');
            json.push_str(&own[1..]);
        }
        WireEvent { run, id, kind, json }
    }

    /// The first event of a run (SC-18).
    pub fn started(&self, run: RunId, depth: u32) -> WireEvent {
        self.event(run, 1, "RunStarted", Role::System, depth, "{}")
    }

    /// The response to a configuration (SC-43).
    pub fn configured(&self, run: RunId) -> WireEvent {
        let own = r#"{"finish_reason":"success","result":"configured"}"#;
        self.event(run, 1, "RunCompleted", Role::System, 0, own)
    }

    fn completed(&self, event: &RunCompleted) -> WireEvent {
        let mut own = vec![("finish_reason", quoted(reason(event.finish_reason)))];
        if event.has_result {
            own.push(("result", quoted(&String::from_utf8_lossy(&event.result))));
        }
        if let Some(why) = &event.why {
            own.push(("error", quoted(why)));
        }
        if event.rejected {
            own.push(("rejected", "true".into()));
        }
        let own = Members::default().line(&own, &[]);
        self.event(event.run, event.id, "RunCompleted", Role::System, event.depth, &own)
    }

    fn emitted(&self, event: &EventEmitted) -> WireEvent {
        let members = String::from_utf8_lossy(&event.members);
        let own = match &event.artifact {
            Some(artifact) => with_artifact(&members, artifact),
            None if event.kind == EventKind::ArtifactGenerated => with_artifact_id(&members, event),
            None => members.into_owned(),
        };
        self.event(event.run, event.id, event.kind.as_str(), event.role, event.depth, &own)
    }

    /// The wire events for one event of the thread.
    pub fn events(&self, event: &ThreadEvent) -> Vec<WireEvent> {
        match event {
            ThreadEvent::RunStarted(event) => vec![self.started(event.run, event.depth)],
            ThreadEvent::EventEmitted(event) => vec![self.emitted(event)],
            ThreadEvent::RunCompleted(event) => vec![self.completed(event)],
            ThreadEvent::QueuedRunCanceled(event) => {
                let own = r#"{"finish_reason":"canceled"}"#;
                let completed = self.event(event.run, 2, "RunCompleted", Role::System, event.depth, own);
                vec![self.started(event.run, event.depth), completed]
            }
            ThreadEvent::RunQueued(_)
            | ThreadEvent::RunReleased(_)
            | ThreadEvent::RunResumed(_)
            | ThreadEvent::CancelRequested(_) => Vec::new(),
        }
    }
}

/// The members with `artifact_id`, and with the same id in `artifact`: `id` is the event's (wire.md 4.4, 8).
fn with_artifact(members: &str, artifact: &Artifact) -> String {
    let url = format!("/artifacts/{}", artifact.id);
    let Artifact { id, name, mime_type, bytes, sha256 } = artifact;
    let whole = json!({"id": id, "name": name, "mime_type": mime_type, "url": url, "octets": bytes, "sha256": sha256});
    let own = [
        ("name", quoted(name)),
        ("mime_type", quoted(mime_type)),
        ("url", quoted(&url)),
        ("artifact_id", quoted(id)),
        ("artifact", whole.to_string()),
    ];
    Members::read(members.as_bytes()).unwrap_or_default().line(&own, &[])
}

/// An artifact that is stored elsewhere: without an id of its maker, it gets `<run>:<event id>` as its id.
fn with_artifact_id(members: &str, event: &EventEmitted) -> String {
    let read = Members::read(members.as_bytes()).unwrap_or_default();
    if read.get("artifact_id").is_some() {
        return members.to_owned();
    }
    let text = |name| read.text(name).ok().flatten().unwrap_or_default();
    let id = format!("{}:{}", event.run, event.id);
    let whole = json!({"id": id, "name": text("name"), "mime_type": text("mime_type"), "url": text("url")});
    let mut own = vec![("artifact_id", quoted(&id))];
    if !read.is_object("artifact") {
        own.push(("artifact", whole.to_string()));
    }
    read.line(&own, &[])
}

const fn reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Success => "success",
        FinishReason::Error => "error",
        FinishReason::Canceled => "canceled",
    }
}

/// A piece of unfinished text; the TextOutput that follows has the whole text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TextDelta<'a> {
    /// The run.
    pub run_id: RunId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The agent's name.
    pub agent: &'a str,
    /// Always `TextDelta`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its source.
    pub role: Role,
    /// Its depth in the chain of callers.
    pub depth: u32,
    /// The id of the last event before it.
    pub after: u64,
    /// The piece.
    pub content: &'a str,
}

impl<'a> TextDelta<'a> {
    pub(crate) fn of(shown: &'a RunDelta) -> Self {
        Self {
            run_id: shown.run,
            thread_id: shown.thread,
            agent: &shown.agent,
            kind: "TextDelta",
            role: Role::Assistant,
            depth: shown.depth,
            after: shown.after,
            content: &shown.text,
        }
    }

    /// The delta as a server-sent event, without an `id`, so that no client resumes at it.
    pub(crate) fn event(&self) -> Bytes {
        let json = serde_json::to_string(self).expect("strings and numbers can be written");
        format!("event: {}\ndata: {json}\n\n", self.kind).into()
    }
}

/// `GET /agent/{name}/runs/{run_id}` (SC-40).
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunReport {
    /// The run.
    pub run_id: RunId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The agent's name.
    #[schemars(with = "String")]
    pub agent: Arc<str>,
    /// Its state.
    pub status: RunStatus,
    /// For a queued run: it is held until a person of the agent's owner releases it. Absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// The reason of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The agent rejected the request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// For a waiting run: the requested input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_keys: Option<Map<String, Value>>,
    /// For a waiting run: the options of each key for which the agent offers a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Map<String, Value>>,
    /// For a waiting run: the requested input as a form, a flat JSON Schema, if the agent sent one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Map<String, Value>>,
    /// For a waiting run with a form: the agent's message about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For a waiting run: the id of the WaitForInput that asks, for the `event_id` of the ResumeWithInput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<u64>,
    /// Its request, as it was sent.
    pub request: Value,
    /// When it was requested, RFC 3339, UTC.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// The id of its last event; 0 if it is queued.
    pub last_event_id: u64,
}

impl RunReport {
    pub(crate) fn of(source: &Source, run: &RunState) -> Self {
        Self {
            run_id: run.id,
            thread_id: source.thread,
            agent: source.agent.clone(),
            status: run.status,
            held: run.held,
            finish_reason: None,
            result: None,
            error: None,
            rejected: false,
            request_keys: None,
            options: None,
            form: None,
            message: None,
            event_id: None,
            request: Value::Null,
            created_at: run.created.rfc3339(),
            updated_at: run.updated.rfc3339(),
            last_event_id: run.last_event_id,
        }
    }
}

/// A thread, as `GET /agent/{name}/threads` lists them (SC-41).
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ThreadReport {
    /// The id of the thread.
    pub thread_id: ThreadId,
    /// The id once more.
    pub id: ThreadId,
    /// The agent's name.
    #[schemars(with = "String")]
    pub agent: Arc<str>,
    /// When it was opened, RFC 3339, UTC.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// Its runs, oldest first.
    pub runs: Vec<RunId>,
    /// Its first request, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent's name once more, as dashboards of agentic-framework read it.
    #[schemars(with = "String")]
    pub agent_id: Arc<str>,
    /// Who opened it, likewise.
    pub user_id: String,
    /// Its first request, shortened, likewise; empty if it has no text.
    pub initial_prompt: String,
}

impl ThreadReport {
    /// The report about a thread; `None` if it does not exist.
    pub(crate) fn of(id: ThreadId, state: &ThreadState) -> Option<Self> {
        let opened = state.opened.as_ref()?;
        Some(Self {
            thread_id: id,
            id,
            agent: opened.agent.clone(),
            created_at: TimestampMs::rfc3339(opened.at),
            updated_at: state.updated.rfc3339(),
            runs: state.runs.iter().map(|run| run.id).collect(),
            title: opened.title.clone(),
            agent_id: opened.agent.clone(),
            user_id: opened.by.to_string(),
            initial_prompt: opened.title.clone().unwrap_or_default(),
        })
    }
}

/// The form of every error of this protocol (wire.md D.3).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunError")]
pub struct ErrorBody<'a> {
    /// What happened, for people.
    pub detail: &'a str,
    /// Stable, for machines.
    pub code: &'a str,
}
