//! The output of a runner: events with their own members (wire.md 4.1). The room writes the base members. Pure.
//! Must not know: runs, threads, or the receiver of an event.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FinishReason, RunEnd};
use crate::{
    limits::EVENT_BYTES_MAX,
    members::{Members, quoted},
};

/// Longest part of an invalid reason that an error quotes, in characters.
const REASON_CHARS_MAX: usize = 100;

/// The key of an answer that declines or cancels a form instead of giving values.
pub const ELICITATION: &str = "elicitation";

/// The members of every event, which the room writes (SC-22).
const BASE: &[&str] = &["id", "run_id", "thread_id", "agent", "type", "role", "depth"];

plenary_kernel::words! {
    /// The types of event that a runner may emit; only the room emits RunStarted and RunCompleted.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum EventKind {
        /// The agent emitted text: `content`.
        TextOutput = "TextOutput",
        /// The agent calls a tool: `function_name`, `args`.
        ToolCall = "ToolCall",
        /// A tool returned: `function_name`, `text_result`.
        ToolResult = "ToolResult",
        /// A tool printed text: `content`.
        ToolTextOutput = "ToolTextOutput",
        /// A tool failed: `content`.
        ToolError = "ToolError",
        /// The agent produced an artifact: `name`, `url`, `mime_type`.
        ArtifactGenerated = "ArtifactGenerated",
        /// The agent calls a model.
        CompletionCall = "CompletionCall",
        /// The model returned.
        CompletionResult = "CompletionResult",
        /// The agent waits for its caller: `request_keys` describes each requested value by its key; `options` lists the
        /// possible answers of a key, for a choice. The run is `waiting` until a `ResumeWithInput`.
        WaitForInput = "WaitForInput",
    }
}

impl EventKind {
    /// The role of an event whose runner sets none.
    const fn role(self) -> Role {
        match self {
            Self::TextOutput
            | Self::ToolCall
            | Self::ArtifactGenerated
            | Self::CompletionCall
            | Self::CompletionResult
            | Self::WaitForInput => Role::Assistant,
            Self::ToolResult | Self::ToolTextOutput | Self::ToolError => Role::Tool,
        }
    }

    /// The required members, each with whether it is an object; the others are text.
    const fn members(self) -> &'static [(&'static str, bool)] {
        match self {
            Self::TextOutput | Self::ToolTextOutput | Self::ToolError => &[("content", false)],
            Self::ToolCall => &[("function_name", false), ("args", true)],
            Self::ToolResult => &[("function_name", false), ("text_result", false)],
            Self::ArtifactGenerated => &[("name", false), ("url", false), ("mime_type", false)],
            Self::WaitForInput => &[("request_keys", true)],
            Self::CompletionCall | Self::CompletionResult => &[],
        }
    }
}

/// The source of an event (SC-22).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RunEventRole")]
pub enum Role {
    /// The server.
    System,
    /// The agent.
    Assistant,
    /// The caller.
    User,
    /// A tool.
    Tool,
}

/// Why an object is not a valid event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEvent {
    /// It is not a JSON object.
    #[error("not a JSON object")]
    NotAnObject,
    /// Its `type` is missing or not an event type.
    #[error("`type` is not an event type")]
    UnknownType,
    /// A member is missing or of the wrong type.
    #[error("`{0}` is missing or of the wrong type")]
    Member(&'static str),
    /// It has more than [`EVENT_BYTES_MAX`] bytes.
    #[error("an event of {0} bytes; the maximum is {EVENT_BYTES_MAX}")]
    TooLarge(usize),
}

/// An event of a runner, before the room numbers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its type.
    pub kind: EventKind,
    /// Its source.
    pub role: Role,
    /// The depth below the run: 1 for an event of an agent that the agent called.
    pub deeper: u32,
    /// Its own members as a JSON object, on one line.
    pub(crate) members: String,
    /// For an ArtifactGenerated that the room stores: the content. The room assigns its id and URL.
    pub artifact: Option<Bytes>,
}

impl Event {
    /// An event of a kind with these members; unknown members are kept.
    ///
    /// # Errors
    /// If a required member is missing, or the event is too large.
    pub fn new(kind: EventKind, members: &Map<String, Value>) -> Result<Self, InvalidEvent> {
        let json = serde_json::to_string(members).map_err(|_| InvalidEvent::NotAnObject)?;
        Self::read(kind, &Members::read(json.as_bytes()).map_err(|_| InvalidEvent::NotAnObject)?)
    }

    fn read(kind: EventKind, members: &Members<'_>) -> Result<Self, InvalidEvent> {
        for (name, is_object) in kind.members() {
            let fits =
                if *is_object { members.is_object(name) } else { matches!(members.text(name), Ok(Some(_))) };
            if !fits {
                return Err(InvalidEvent::Member(name));
            }
        }
        let members = members.line(&artifact_id(kind, members), BASE);
        if members.len() > EVENT_BYTES_MAX {
            return Err(InvalidEvent::TooLarge(members.len()));
        }
        Ok(Self { kind, role: kind.role(), deeper: 0, members, artifact: None })
    }

    fn of(kind: EventKind, members: &[(&str, String)]) -> Self {
        let members = Members::default().line(members, &[]);
        Self { kind, role: kind.role(), deeper: 0, members, artifact: None }
    }

    /// Text of the agent.
    pub fn text(content: &str) -> Self {
        Self::of(EventKind::TextOutput, &[("content", quoted(content))])
    }

    /// A call of a tool.
    pub fn tool_call(function_name: &str, args: &Map<String, Value>) -> Self {
        let args = serde_json::to_string(args).unwrap_or_else(|_| "{}".into());
        Self::of(EventKind::ToolCall, &[("function_name", quoted(function_name)), ("args", args)])
    }

    /// The result of a tool.
    pub fn tool_result(function_name: &str, text_result: &str) -> Self {
        let members = [("function_name", quoted(function_name)), ("text_result", quoted(text_result))];
        Self::of(EventKind::ToolResult, &members)
    }

    /// Text that a tool printed.
    pub fn tool_text(content: &str) -> Self {
        Self::of(EventKind::ToolTextOutput, &[("content", quoted(content))])
    }

    /// The failure of a tool.
    pub fn tool_error(content: &str) -> Self {
        Self::of(EventKind::ToolError, &[("content", quoted(content))])
    }

    /// An artifact, which the room stores and the caller can download (SC-47).
    pub fn artifact(name: &str, mime_type: &str, content: Bytes) -> Self {
        let members = [("name", quoted(name)), ("mime_type", quoted(mime_type))];
        Self { artifact: Some(content), ..Self::of(EventKind::ArtifactGenerated, &members) }
    }

    /// A question to the caller: a description for each requested key.
    pub fn wait_for_input(request_keys: &Map<String, Value>) -> Self {
        let keys = serde_json::to_string(request_keys).unwrap_or_else(|_| "{}".into());
        Self::of(EventKind::WaitForInput, &[("request_keys", keys)])
    }

    /// A question with a form: the caller may show `message` and ask for the values with the JSON Schema `form`.
    /// Instead of values, the answer may have [`ELICITATION`]: `decline` or `cancel`.
    pub fn wait_for_form(
        request_keys: &Map<String, Value>,
        message: &str,
        form: &Map<String, Value>,
    ) -> Self {
        let json =
            |members: &Map<String, Value>| serde_json::to_string(members).unwrap_or_else(|_| "{}".into());
        let members =
            [("request_keys", json(request_keys)), ("message", quoted(message)), ("form", json(form))];
        Self::of(EventKind::WaitForInput, &members)
    }

    /// A question with a choice for one key: each option is an object with `id` (the answer), `name` (its label) and
    /// `kind`, for example a kind of option of the Agent Client Protocol.
    pub fn wait_for_choice(request_keys: &Map<String, Value>, key: &str, options: &[Value]) -> Self {
        let keys = serde_json::to_string(request_keys).unwrap_or_else(|_| "{}".into());
        let options = serde_json::json!({key: options}).to_string();
        Self::of(EventKind::WaitForInput, &[("request_keys", keys), ("options", options)])
    }

    /// The same event, deeper in the chain of callers.
    pub const fn deeper(mut self, by: u32) -> Self {
        self.deeper = by;
        self
    }

    /// Its members as a value.
    pub fn members(&self) -> Map<String, Value> {
        serde_json::from_str(&self.members).unwrap_or_default()
    }

    /// Its own members, unchanged: a JSON object on one line, without the members that the room writes.
    pub fn json(&self) -> &str {
        &self.members
    }

    /// Its size in bytes, with its artifact.
    pub fn bytes(&self) -> usize {
        self.members.len() + self.artifact.as_ref().map_or(0, Bytes::len)
    }

    /// For a TextOutput: the text.
    pub fn content(&self) -> Option<String> {
        let members = Members::read(self.members.as_bytes()).ok()?;
        (self.kind == EventKind::TextOutput).then(|| members.text("content").ok().flatten()).flatten()
    }
}

/// An artifact that its maker stores may have its own id. As `id` it would collide with the event's id, so it is in
/// `artifact_id` and in `artifact` (wire.md 4.4, no. 8).
fn artifact_id(kind: EventKind, members: &Members<'_>) -> Vec<(&'static str, String)> {
    let text = |name| members.text(name).ok().flatten().map(|text| quoted(&text));
    let id = text("artifact_id").or_else(|| text("id")).filter(|_| kind == EventKind::ArtifactGenerated);
    let Some(id) = id else { return Vec::new() };
    if members.is_object("artifact") {
        return vec![("artifact_id", id)];
    }
    let [name, url, mime_type] = ["name", "url", "mime_type"].map(|name| text(name).unwrap_or_default());
    let artifact = [("id", id.clone()), ("name", name), ("url", url), ("mime_type", mime_type)];
    vec![("artifact_id", id), ("artifact", Members::default().line(&artifact, &[]))]
}

/// A member as text; another type becomes its JSON.
fn member_text(members: &Members<'_>, name: &'static str) -> Option<String> {
    let value = members.get(name)?;
    Some(members.text(name).ok().flatten().unwrap_or_else(|| value.get().to_owned()))
}

/// The error of a run whose end has no valid reason.
fn invalid_reason(reason: Option<&str>, error: Option<String>) -> String {
    let reason = reason.map_or_else(
        || "no finish_reason".into(),
        |reason| {
            let excerpt: String = reason.chars().take(REASON_CHARS_MAX).collect();
            format!("finish_reason {excerpt:?}")
        },
    );
    let detail = error.map_or_else(String::new, |error| format!("; it said: {error}"));
    format!(
        "the agent ended its run with {reason}, which is not success, error, rejected or canceled{detail}"
    )
}

/// A message of a program, one JSON object: an event, or the end of its run (wire.md D.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramMessage {
    /// An event.
    Event(Event),
    /// `RunCompleted`.
    Ended(RunEnd),
    /// `RunStarted`, which the room has already written.
    Started,
}

impl ProgramMessage {
    /// Reads an object with a `type`. Base members other than `type` and a valid `role` are ignored: the room writes
    /// them.
    ///
    /// # Errors
    /// If it is not a valid event.
    pub fn read(json: &[u8]) -> Result<Self, InvalidEvent> {
        let members = Members::read(json).map_err(|_| InvalidEvent::NotAnObject)?;
        let name = members.text("type").ok().flatten().ok_or(InvalidEvent::UnknownType)?;
        match name.as_str() {
            "RunStarted" => Ok(Self::Started),
            "RunCompleted" => Self::read_end(&members),
            name => {
                let kind = EventKind::named(name).ok_or(InvalidEvent::UnknownType)?;
                let event = Event::read(kind, &members)?;
                let role = members.get("role").and_then(|role| serde_json::from_str(role.get()).ok());
                Ok(Self::Event(Event { role: role.unwrap_or(event.role), ..event }))
            }
        }
    }

    fn read_end(members: &Members<'_>) -> Result<Self, InvalidEvent> {
        let (result, mut error) = (member_text(members, "result"), member_text(members, "error"));
        let reason = member_text(members, "finish_reason");
        // A program that ends its run does nothing more, so an invalid end also ends the run.
        // Another Plenary server reports a rejection as `error` with the member `rejected`.
        let rejected = match reason.as_deref() {
            Some("rejected") => true,
            Some("error") => members.get("rejected").is_some_and(|rejected| rejected.get() == "true"),
            _ => false,
        };
        let finish_reason = match reason.as_deref() {
            Some("success") => FinishReason::Success,
            Some("error" | "rejected") => FinishReason::Error,
            Some("canceled") => FinishReason::Canceled,
            other => {
                error = Some(invalid_reason(other, error));
                FinishReason::Error
            }
        };
        let bytes = result.as_ref().map_or(0, String::len) + error.as_ref().map_or(0, String::len);
        if bytes > EVENT_BYTES_MAX {
            return Err(InvalidEvent::TooLarge(bytes));
        }
        Ok(Self::Ended(RunEnd { finish_reason, result, error, rejected }))
    }
}
