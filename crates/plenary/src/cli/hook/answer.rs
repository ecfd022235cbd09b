//! The answer to a hook in the form that each coding agent takes.
//! Must not know: what is said in it.

use serde_json::{Value, json};

use super::event::{Event, Moment};
use crate::cli::connect::CodingAgent;

/// The longest answer: what coding agents put before the model whole.
pub(super) const ANSWER_CHARS_MAX: usize = 10_000;

/// The answer with this text; none where this coding agent takes no text at this moment.
pub(super) fn answer(event: &Event, text: &str) -> Option<Value> {
    Some(match (event.coding, event.moment) {
        // What wakes a session is read as it is.
        (CodingAgent::Claude, Moment::Wait) => text.into(),
        (_, Moment::Compact | Moment::End | Moment::Wait | Moment::Watch)
        | (CodingAgent::Cursor, Moment::Prompt) => {
            return None;
        }
        (CodingAgent::Cursor, Moment::Start | Moment::Tool) => json!({"additional_context": text}),
        (CodingAgent::Cursor, Moment::Stop) => json!({"followup_message": text}),
        (CodingAgent::Gemini, Moment::Stop) => json!({"decision": "deny", "reason": text}),
        (_, Moment::Stop) => json!({"decision": "block", "reason": text}),
        (_, Moment::Start | Moment::Prompt | Moment::Tool) => {
            json!({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})
        }
    })
}

/// Whether there is an answer to this moment at all.
pub(super) fn is_heard(event: &Event) -> bool {
    answer(event, "").is_some()
}
