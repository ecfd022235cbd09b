//! The agent's reports of tool calls, as events.
//! Must not know: how reports arrive.

use std::collections::HashMap;

use plenary_runs::Event;
use serde_json::{Map, Value};

use super::{subject::CallSubject, turn::TEXT_BYTES_MAX};

/// Most active tool calls of a run; further ones are ignored.
const CALLS_MAX: usize = 256;

/// The active calls, by id.
#[derive(Debug, Default)]
pub(super) struct Tools(HashMap<String, ToolCall>);

/// An active call.
#[derive(Debug)]
struct ToolCall {
    title: String,
    subject: CallSubject,
}

impl Tools {
    /// What is known about a call that a request is about.
    pub(super) fn subject(&self, call: &Value) -> CallSubject {
        let known = call["toolCallId"].as_str().and_then(|id| self.0.get(id));
        known.map(|call| call.subject.clone()).unwrap_or_default()
    }

    /// The events for a `tool_call` or `tool_call_update`.
    pub(super) fn update(&mut self, update: &Value) -> Vec<Event> {
        let Some(id) = update["toolCallId"].as_str() else { return Vec::new() };
        let mut events = Vec::new();
        let title = update["title"].as_str();
        let is_new = update["sessionUpdate"] == "tool_call" && !self.0.contains_key(id);
        if is_new && self.0.len() < CALLS_MAX {
            let title = title.unwrap_or(id);
            let args = update["rawInput"].as_object().cloned();
            events.push(Event::tool_call(title, &args.unwrap_or_else(Map::new)));
            self.0
                .insert(id.to_owned(), ToolCall { title: title.to_owned(), subject: CallSubject::default() });
        }
        let Some(ToolCall { title: name, subject }) = self.0.get_mut(id) else { return events };
        subject.update(update);
        if let Some(title) = title {
            title.clone_into(name);
        }
        let outcome = match update["status"].as_str() {
            Some("completed") => Event::tool_result(name, &text(update)),
            Some("failed") => {
                let text = text(update);
                Event::tool_error(&if text.is_empty() { format!("{name} failed") } else { text })
            }
            _ => return events,
        };
        self.0.remove(id);
        events.push(outcome);
        events
    }
}

/// The result of a call, as text.
fn text(update: &Value) -> String {
    let blocks = update["content"].as_array().into_iter().flatten();
    let texts: Vec<String> = blocks
        .filter_map(|block| match block["type"].as_str()? {
            "content" => block["content"]["text"].as_str().map(str::to_owned),
            "diff" => Some(format!("changed {}", block["path"].as_str()?)),
            _ => None,
        })
        .collect();
    let mut text = match &update["rawOutput"] {
        raw if texts.is_empty() && !raw.is_null() => raw.to_string(),
        _ => texts.join("\n"),
    };
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}
