//! Converts the events of a run into those of agentic-framework. Pure.
//! Must not know: the source of the events.

use serde_json::{Map, Value, json};

use crate::limits::SENT_TEXT_BYTES_MAX;

/// An event in the form of the dashboards.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DashboardEvent {
    pub(crate) kind: &'static str,
    pub(crate) depth: u64,
    pub(crate) payload: Value,
}

impl DashboardEvent {
    fn new(kind: &'static str, depth: u64, payload: Value) -> Self {
        Self { kind, depth, payload }
    }

    /// The form of `getevents`.
    pub(crate) fn json(&self, agent: &str) -> Value {
        let Self { kind, depth, payload } = self;
        let mut event = json!({"type": kind, "agent": agent, "depth": depth, "payload": payload});
        if *kind == "tool_result" {
            event["result"] = payload["result"].clone();
        }
        event
    }

    /// The form of a text stream: output as it is, every other event on a line with its type.
    pub(crate) fn text(&self, agent: &str) -> String {
        let indent = "  ".repeat(usize::try_from(self.depth).unwrap_or_default() + 1);
        let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let payload = &self.payload;
        match self.kind {
            "chat_output" => word(&payload["content"]),
            "tool_call" => {
                format!("{indent}[TOOL: {} >> ({})]\n", word(&payload["name"]), payload["arguments"])
            }
            "tool_result" => {
                format!("{indent}[TOOL: {}] <<\n{}]\n", word(&payload["name"]), word(&payload["result"]))
            }
            kind => format!("[{agent}: {kind}] {}\n", word(payload)),
        }
    }
}

/// The state of the translation of one stream.
#[derive(Debug, Default)]
pub(crate) struct Dialect {
    /// The prompt of the run.
    prompt: Value,
    /// The unfinished text, as far as it was already sent.
    partial_text: String,
    /// All text that was sent, up to a limit.
    sent_text: String,
    /// Whether the turn is over or waits for its caller.
    pub(crate) is_over: bool,
}

/// The answers of a request that resumes a run.
pub(crate) fn request_keys(request: &[u8]) -> Value {
    let request: Value = serde_json::from_slice(request).unwrap_or_default();
    request["request_keys"].clone()
}

impl Dialect {
    /// A translation that starts with this prompt.
    pub(crate) fn new(prompt: Value) -> Self {
        Self { prompt, ..Self::default() }
    }

    /// The next run of a thread.
    pub(crate) fn next_run(&mut self, prompt: Value) {
        *self = Self::new(prompt);
    }

    /// The answers of the caller.
    pub(crate) fn resume(&mut self, answers: Value) -> DashboardEvent {
        self.is_over = false;
        DashboardEvent::new("resume_with_input", 0, answers)
    }

    /// Translates one event of the run into zero or more dashboard events.
    pub(crate) fn translate(&mut self, kind: &str, event: &Value) -> Vec<DashboardEvent> {
        let depth = event["depth"].as_u64().unwrap_or_default();
        let single = |kind, payload| vec![DashboardEvent::new(kind, depth, payload)];
        let call = || event["tool_call_id"].clone();
        match kind {
            "RunStarted" => single("prompt_started", json!({"content": self.prompt})),
            "TextDelta" => {
                let piece = event["content"].as_str().unwrap_or_default();
                self.partial_text.push_str(piece);
                self.chat_output(piece, depth)
            }
            "TextOutput" => {
                let (text, partial_text) =
                    (event["content"].as_str().unwrap_or_default(), std::mem::take(&mut self.partial_text));
                // Pieces may be lost; then the whole text is sent again.
                self.chat_output(text.strip_prefix(&*partial_text).unwrap_or(text), depth)
            }
            "ToolCall" => single(
                "tool_call",
                json!({"name": event["function_name"], "arguments": event["args"], "tool_call_id": call()}),
            ),
            "ToolResult" => single(
                "tool_result",
                json!({"name": event["function_name"], "result": event["text_result"], "is_log": false, "tool_call_id": call()}),
            ),
            "ToolTextOutput" => single(
                "tool_result",
                json!({"name": event["function_name"], "result": event["content"], "is_log": true, "tool_call_id": call()}),
            ),
            "ToolError" => single(
                "tool_error",
                json!({"name": event["function_name"], "error": event["content"], "tool_call_id": call()}),
            ),
            "CompletionCall" => single("completion_start", json!({})),
            "CompletionResult" => single(
                "completion_end",
                json!({"usage": object(&event["usage"]), "metadata": {}, "llm_message": message(&event["content"])}),
            ),
            "ArtifactGenerated" => single("output", event["artifact"].clone()),
            "WaitForInput" => {
                self.is_over = true;
                single("wait_for_input", event["request_keys"].clone())
            }
            "RunCompleted" => self.turn_end(event, depth),
            _ => Vec::new(),
        }
    }

    fn chat_output(&mut self, text: &str, depth: u64) -> Vec<DashboardEvent> {
        if text.is_empty() {
            return Vec::new();
        }
        if self.sent_text.len() + text.len() <= SENT_TEXT_BYTES_MAX {
            self.sent_text.push_str(text);
        }
        vec![DashboardEvent::new("chat_output", depth, json!({"content": text, "role": "assistant"}))]
    }

    /// The end of the turn, preceded by the result if it was not sent yet: the dashboards show only what was sent.
    fn turn_end(&mut self, event: &Value, depth: u64) -> Vec<DashboardEvent> {
        self.is_over = true;
        let reason = event["finish_reason"].as_str();
        if reason == Some("canceled") {
            return vec![DashboardEvent::new("turn_cancelled", depth, json!({}))];
        }
        let result = event["result"].as_str().unwrap_or_default().to_owned();
        let error = event["error"].as_str().unwrap_or("The run failed.");
        let (last, was_sent) = match reason {
            Some("success") => (result.clone(), self.was_sent(&result)),
            _ => (format!("Error: {error}"), false),
        };
        let mut events = if was_sent { Vec::new() } else { self.chat_output(&last, depth) };
        let messages = json!({"messages": [message(&last.into())]});
        events.push(DashboardEvent::new("turn_end", depth, messages));
        events
    }

    /// Whether a result was sent before. A stream that started in the middle of a run has at least the end of it.
    fn was_sent(&self, result: &str) -> bool {
        result.is_empty()
            || !self.sent_text.is_empty()
                && (self.sent_text.contains(result) || result.ends_with(&*self.sent_text))
            || result.len() > SENT_TEXT_BYTES_MAX
    }
}

fn message(content: &Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn object(value: &Value) -> Value {
    if value.is_object() { value.clone() } else { Map::new().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(dialect: &mut Dialect, events: &[(&str, Value)]) -> Vec<(&'static str, Value)> {
        let events = events.iter().flat_map(|(kind, event)| dialect.translate(kind, event));
        events.map(|event| (event.kind, event.payload)).collect()
    }

    #[test]
    fn a_run_is_a_turn_and_its_text_is_told_once() {
        let mut dialect = Dialect::new("Hello".into());
        let events = translated(
            &mut dialect,
            &[
                ("RunStarted", json!({})),
                ("TextDelta", json!({"content": "a "})),
                ("TextOutput", json!({"content": "a b"})),
                ("RunCompleted", json!({"finish_reason": "success", "result": "a b"})),
            ],
        );
        let chat_output = |text: &str| ("chat_output", json!({"content": text, "role": "assistant"}));
        let end = json!({"messages": [{"role": "assistant", "content": "a b"}]});
        assert_eq!(
            events,
            [
                ("prompt_started", json!({"content": "Hello"})),
                chat_output("a "),
                chat_output("b"),
                ("turn_end", end)
            ]
        );
        assert!(dialect.is_over);
    }

    #[test]
    fn the_end_of_a_run_emits_text_not_sent_before() {
        let result = json!({"finish_reason": "success", "result": "done"});
        let kinds = |events: &[(&str, Value)]| {
            let events = translated(&mut Dialect::default(), events);
            events.into_iter().map(|(kind, payload)| (kind, payload["content"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&[("RunCompleted", result)])[0], ("chat_output", "done".into()));
        let whole = json!({"finish_reason": "success", "result": "first last"});
        let tail = kinds(&[("TextOutput", json!({"content": "last"})), ("RunCompleted", whole)]);
        assert_eq!(tail.len(), 2, "{tail:?}");
        let failed = kinds(&[("RunCompleted", json!({"finish_reason": "error", "error": "why"}))]);
        assert_eq!(failed[0], ("chat_output", "Error: why".into()));
        assert_eq!(failed[1].0, "turn_end");
        assert_eq!(kinds(&[("RunCompleted", json!({"finish_reason": "canceled"}))])[0].0, "turn_cancelled");
        let long = "x".repeat(SENT_TEXT_BYTES_MAX + 1);
        let events = kinds(&[
            ("TextOutput", json!({"content": long})),
            ("RunCompleted", json!({"finish_reason": "success", "result": long})),
        ]);
        assert_eq!(events.len(), 2, "past the limit the result is not said again");
    }

    #[test]
    fn tools_and_questions_have_the_names_of_the_dashboards() {
        let mut dialect = Dialect::default();
        let call = json!({"function_name": "f", "args": {"a": 1}, "depth": 1});
        let event = &dialect.translate("ToolCall", &call)[0];
        assert_eq!(event.json("echo")["payload"]["arguments"], json!({"a": 1}));
        assert_eq!(event.text("echo"), "    [TOOL: f >> ({\"a\":1})]\n");
        let result = &dialect.translate("ToolResult", &json!({"function_name": "f", "text_result": "r"}))[0];
        assert_eq!(result.json("echo")["result"], "r");
        let log = &dialect.translate("ToolTextOutput", &json!({"content": "so far"}))[0];
        assert_eq!((log.kind, &log.payload["is_log"]), ("tool_result", &json!(true)));
        let asks = &dialect.translate("WaitForInput", &json!({"request_keys": {"name": "Who?"}}))[0];
        assert_eq!((asks.kind, &asks.payload), ("wait_for_input", &json!({"name": "Who?"})));
        assert!(dialect.is_over);
        assert_eq!(dialect.resume(json!({"name": "Nick"})).kind, "resume_with_input");
        assert!(!dialect.is_over);
        assert!(dialect.translate("SomethingNew", &json!({})).is_empty());
    }
}
