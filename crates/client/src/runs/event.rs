//! An event of a run, and a text delta.
//! Must not know: the transport.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It succeeded.
    Success,
    /// It failed.
    Error,
    /// It was canceled.
    Canceled,
}

/// The members of an event that depend on its type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type")]
pub enum EventBody {
    /// The run started.
    RunStarted,
    /// Text of the agent.
    TextOutput {
        /// The text.
        content: String,
    },
    /// A piece of the text that follows; never stored.
    TextDelta {
        /// The piece.
        content: String,
    },
    /// The agent calls a tool.
    ToolCall {
        /// The tool.
        function_name: String,
        /// The arguments.
        #[serde(default)]
        args: Value,
    },
    /// A tool answered.
    ToolResult {
        /// The tool.
        function_name: String,
        /// Its answer.
        text_result: String,
    },
    /// Text of a tool.
    ToolTextOutput {
        /// The text.
        content: String,
    },
    /// A tool failed.
    ToolError {
        /// The error.
        content: String,
    },
    /// The agent produced an artifact.
    ArtifactGenerated {
        /// Its file name.
        name: String,
        /// Its media type.
        mime_type: String,
        /// Its URL; without a host, it is on the server itself.
        url: String,
        /// Its id, if the server stores it.
        artifact_id: Option<String>,
    },
    /// The agent waits for input.
    WaitForInput {
        /// The requested inputs: each key with its description.
        request_keys: Map<String, Value>,
    },
    /// The run has ended.
    RunCompleted {
        /// How it ended.
        finish_reason: FinishReason,
        /// The result of a success.
        result: Option<String>,
        /// The error.
        error: Option<String>,
    },
    /// Any other type.
    #[serde(other)]
    Other,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEvent {
    /// Its number in the run, from 1; `None` if it is not stored.
    pub id: Option<u64>,
    /// Its run.
    pub run_id: String,
    /// Its thread.
    pub thread_id: String,
    /// The agent's name.
    pub agent: String,
    /// Its type, e.g. `TextOutput`.
    pub kind: String,
    /// Its source.
    pub role: String,
    /// Its depth in the chain of callers.
    pub depth: u32,
    /// Its further members.
    pub body: EventBody,
    json: String,
}

#[derive(Deserialize)]
struct Base {
    id: Option<u64>,
    run_id: String,
    thread_id: String,
    agent: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    depth: u32,
}

impl RunEvent {
    /// Parses an event.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the text is not an event.
    pub fn read(json: &str) -> Result<Self> {
        let bad = |e| Error::Unreadable(format!("not an event of a run ({e})"));
        let Base { id, run_id, thread_id, agent, kind, role, depth } =
            serde_json::from_str(json).map_err(bad)?;
        let body = serde_json::from_str(json).map_err(bad)?;
        let json = json.replace(['\n', '\r'], " ");
        Ok(Self { id, run_id, thread_id, agent, kind, role, depth, body, json })
    }

    /// Its JSON as the server sent it, on one line.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// How the run ended, if this is its last event.
    pub const fn finish_reason(&self) -> Option<FinishReason> {
        if let EventBody::RunCompleted { finish_reason, .. } = &self.body {
            Some(*finish_reason)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, own: &str) -> Result<RunEvent> {
        RunEvent::read(&format!(
            r#"{{"id":2,"run_id":"r","thread_id":"t","agent":"echo","type":"{kind}","role":"tool","depth":1{own}}}"#
        ))
    }

    #[test]
    fn sc_22_24_an_event_is_read_by_its_type_and_kept_as_it_was_sent() {
        let call = event("ToolCall", r#","function_name":"f","args":{"a":1.10},"more":1.50"#).unwrap();
        assert!(call.json().contains(r#""args":{"a":1.10},"more":1.50"#), "{}", call.json());
        assert_eq!((call.id, call.kind.as_str(), call.depth), (Some(2), "ToolCall", 1));
        let args = serde_json::json!({"a": 1.1});
        assert_eq!(call.body, EventBody::ToolCall { function_name: "f".into(), args });
        assert_eq!(event("CompletionCall", r#","model":"m""#).unwrap().body, EventBody::Other);
        let end = event("RunCompleted", r#","finish_reason":"canceled""#).unwrap();
        assert_eq!(end.finish_reason(), Some(FinishReason::Canceled));
        for (kind, own) in
            [("TextOutput", ""), ("RunCompleted", r#","finish_reason":"bored""#), ("WaitForInput", "")]
        {
            assert!(matches!(event(kind, own), Err(Error::Unreadable(_))), "{kind}");
        }
        assert!(matches!(RunEvent::read("{}"), Err(Error::Unreadable(_))));
    }

    #[test]
    fn sc_12_a_piece_of_text_has_no_number() {
        let json =
            r#"{"run_id":"r","thread_id":"t","agent":"echo","type":"TextDelta","after":1,"content":"a"}"#;
        let delta = RunEvent::read(json).unwrap();
        assert_eq!((delta.id, &delta.body), (None, &EventBody::TextDelta { content: "a".into() }));
    }
}
