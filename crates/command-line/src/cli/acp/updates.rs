//! Events of a run as updates of a session. Pure.
//! Must not know: the transport.

use std::collections::VecDeque;

use plenary_client::runs::{EventBody, FinishReason, RunEvent};
use plenary_hosts::acp::wire::text_block;
use serde_json::{Value, json};

use crate::cli::said::SaidText;

/// The maximum number of open tool calls; beyond it the oldest counts as done.
const CALLS_OPEN_MAX: usize = 256;

/// The parts of a run that the editor was shown.
#[derive(Debug, Default)]
pub(super) struct EditorView {
    /// The part of the current text that was shown.
    text: String,
    /// Whether deltas of the text were lost.
    is_torn: bool,
    /// All texts that were shown.
    said: SaidText,
    /// Calls without a result: id and name.
    calls: VecDeque<(String, String)>,
}

pub(super) fn agent_text(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": text_block(text)})
}

pub(super) fn user_text(text: &str) -> Value {
    json!({"sessionUpdate": "user_message_chunk", "content": text_block(text)})
}

fn finished(id: &str, status: &str, text: &str) -> Value {
    let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status});
    if !text.is_empty() {
        update["content"] = json!([{"type": "content", "content": text_block(text)}]);
    }
    update
}

impl EditorView {
    /// Notes that the stream broke: later deltas may not continue the text that was shown.
    pub(super) fn mark_broken(&mut self) {
        self.is_torn = true;
    }

    pub(super) fn event(&mut self, event: &RunEvent) -> Vec<Value> {
        match &event.body {
            EventBody::TextDelta { content } if self.is_torn || content.is_empty() => Vec::new(),
            EventBody::TextDelta { content } => {
                self.text.push_str(content);
                self.said.push(content);
                vec![agent_text(content)]
            }
            EventBody::TextOutput { content } => {
                self.whole_text(content).iter().map(|t| agent_text(t)).collect()
            }
            EventBody::ToolCall { function_name, args } => self.call(event, function_name, args),
            EventBody::ToolResult { function_name, text_result } => {
                let index = self.calls.iter().position(|(_, name)| name == function_name);
                self.result(index, function_name, "completed", text_result, event)
            }
            EventBody::ToolError { content } => {
                let index = (!self.calls.is_empty()).then_some(0);
                self.result(index, "tool", "failed", content, event)
            }
            EventBody::ToolTextOutput { content } => {
                vec![json!({"sessionUpdate": "agent_thought_chunk", "content": text_block(content)})]
            }
            EventBody::RunCompleted { finish_reason, result, .. } => {
                self.over(*finish_reason, result.as_deref())
            }
            EventBody::RunStarted
            | EventBody::ArtifactGenerated { .. }
            | EventBody::WaitForInput { .. }
            | EventBody::Other => Vec::new(),
        }
    }

    /// The part of a complete text that was not shown yet. One streamed text may end as several complete ones.
    fn whole_text(&mut self, whole: &str) -> Option<String> {
        let shown = std::mem::take(&mut self.text);
        self.is_torn = false;
        if let Some(more) = shown.strip_prefix(whole) {
            more.clone_into(&mut self.text);
            return None;
        }
        let rest = match whole.strip_prefix(shown.as_str()) {
            Some(rest) => rest.to_owned(),
            // Deltas were lost: show the whole text again.
            None => format!("\n\n{whole}"),
        };
        self.said.push(&rest);
        (!rest.is_empty()).then_some(rest)
    }

    fn call(&mut self, event: &RunEvent, name: &str, args: &Value) -> Vec<Value> {
        let id = call_id(event);
        let update = json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": name, "kind": "other", "status": "in_progress",
            "rawInput": args,
        });
        self.calls.push_back((id, name.to_owned()));
        let oldest = if self.calls.len() > CALLS_OPEN_MAX { self.calls.pop_front() } else { None };
        oldest.map(|(id, _)| finished(&id, "completed", "")).into_iter().chain([update]).collect()
    }

    /// Closes the oldest open call of the tool: a result names its tool and not its call.
    fn result(
        &mut self,
        index: Option<usize>,
        name: &str,
        status: &str,
        text: &str,
        event: &RunEvent,
    ) -> Vec<Value> {
        if let Some((id, _)) = index.and_then(|index| self.calls.remove(index)) {
            return vec![finished(&id, status, text)];
        }
        let mut update = finished(&call_id(event), status, text);
        update["sessionUpdate"] = "tool_call".into();
        update["title"] = name.into();
        vec![update]
    }

    fn over(&mut self, reason: FinishReason, result: Option<&str>) -> Vec<Value> {
        let status = if reason == FinishReason::Success { "completed" } else { "failed" };
        let mut updates: Vec<Value> = self.calls.drain(..).map(|(id, _)| finished(&id, status, "")).collect();
        if let Some(result) = result.filter(|result| self.said.lacks(result)) {
            let separator = if self.said.is_empty() { "" } else { "\n\n" };
            updates.push(agent_text(&format!("{separator}{result}")));
        }
        updates
    }
}

/// The id of the call that an event belongs to.
pub(super) fn call_id(event: &RunEvent) -> String {
    format!("{}:{}", event.run_id, event.id.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updates(events: &[Value]) -> Vec<Value> {
        let mut view = EditorView::default();
        let events = events.iter().enumerate().map(|(index, event)| {
            let mut event = event.clone();
            if event == "torn" {
                view.mark_broken();
                return Vec::new();
            }
            let base =
                json!({"run_id": "r", "thread_id": "t", "agent": "a", "role": "assistant", "depth": 0});
            base.as_object().unwrap().iter().for_each(|(name, value)| event[name] = value.clone());
            if event["type"] != "TextDelta" {
                event["id"] = (index + 1).into();
            }
            view.event(&RunEvent::read(&event.to_string()).unwrap())
        });
        events.collect::<Vec<_>>().concat()
    }

    fn texts(events: &[Value]) -> Vec<String> {
        updates(events).iter().map(|update| update["content"]["text"].as_str().unwrap().to_owned()).collect()
    }

    fn delta(text: &str) -> Value {
        json!({"type": "TextDelta", "content": text})
    }

    fn whole(text: &str) -> Value {
        json!({"type": "TextOutput", "content": text})
    }

    #[test]
    fn a_text_is_shown_once_in_deltas_or_whole() {
        assert_eq!(texts(&[whole("ab")]), ["ab"]);
        assert_eq!(texts(&[delta("a"), delta("b"), whole("ab"), whole("c")]), ["a", "b", "c"]);
        assert_eq!(texts(&[delta("a"), whole("ab")]), ["a", "b"]);
        assert_eq!(texts(&[delta("abc"), whole("ab"), delta("d"), whole("cd")]), ["abc", "d"]);
        assert_eq!(texts(&[delta("a"), json!("torn"), delta("c"), whole("abc")]), ["a", "bc"]);
        assert_eq!(texts(&[delta("a"), delta("c"), whole("abc")]), ["a", "c", "\n\nabc"]);
    }

    #[test]
    fn a_result_is_shown_unless_a_text_has_it() {
        let end = json!({"type": "RunCompleted", "finish_reason": "success", "result": "done"});
        assert_eq!(texts(std::slice::from_ref(&end)), ["done"]);
        assert_eq!(texts(&[whole("It is done."), end.clone()]), ["It is done."]);
        assert_eq!(texts(&[delta("Hel"), whole("Hello"), end]), ["Hel", "lo", "\n\ndone"]);
    }

    #[test]
    fn a_result_ends_the_oldest_call_of_its_tool() {
        let call = |name: &str| json!({"type": "ToolCall", "function_name": name, "args": {"of": 1}});
        let updates = updates(&[
            call("list"),
            call("show"),
            call("list"),
            json!({"type": "ToolResult", "function_name": "list", "text_result": "all"}),
            json!({"type": "ToolError", "content": "no"}),
            json!({"type": "ToolResult", "function_name": "other", "text_result": ""}),
            json!({"type": "RunCompleted", "finish_reason": "canceled"}),
        ]);
        let statuses: Vec<_> = updates
            .iter()
            .map(|update| {
                ["sessionUpdate", "toolCallId", "status"].map(|name| update[name].as_str().unwrap())
            })
            .collect();
        assert_eq!(
            statuses,
            [
                ["tool_call", "r:1", "in_progress"],
                ["tool_call", "r:2", "in_progress"],
                ["tool_call", "r:3", "in_progress"],
                ["tool_call_update", "r:1", "completed"],
                ["tool_call_update", "r:2", "failed"],
                ["tool_call", "r:6", "completed"],
                ["tool_call_update", "r:3", "failed"],
            ]
        );
        assert_eq!(updates[0]["rawInput"], json!({"of": 1}));
        assert_eq!(updates[3]["content"][0]["content"]["text"], "all");
    }

    #[test]
    fn open_calls_are_bounded() {
        let mut view = EditorView::default();
        for id in 1..=CALLS_OPEN_MAX + 1 {
            let json = json!({"id": id, "run_id": "r", "thread_id": "t", "agent": "a", "type": "ToolCall",
                "function_name": "f", "args": {}});
            let updates = view.event(&RunEvent::read(&json.to_string()).unwrap());
            assert_eq!(updates.len(), 1 + usize::from(id > CALLS_OPEN_MAX));
        }
        assert_eq!(view.calls.len(), CALLS_OPEN_MAX);
    }
}
