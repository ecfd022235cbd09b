//! The answer to a hook in the form of each coding agent.
//! Must not know: its content.

use serde_json::{Value, json};

use super::event::{Event, Moment};
use crate::cli::connect::CodingAgent;

/// The longest answer that coding agents pass to the model in full.
pub(super) const ANSWER_CHARS_MAX: usize = 10_000;

/// The form in which a coding agent takes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The form of Claude Code.
    Claude,
    /// The same form; at the end of a turn, the text is a reason to continue.
    Codex,
    Gemini,
    Cursor,
    Copilot,
    Kimi,
    Module,
    Antigravity,
    Crush,
    Goose,
}

const fn form(coding: CodingAgent) -> Form {
    match coding {
        CodingAgent::Claude => Form::Claude,
        CodingAgent::Codex
        | CodingAgent::Qwen
        | CodingAgent::Qoder
        | CodingAgent::Droid
        | CodingAgent::Auggie
        | CodingAgent::Vscode => Form::Codex,
        CodingAgent::Gemini => Form::Gemini,
        CodingAgent::Cursor => Form::Cursor,
        CodingAgent::Copilot => Form::Copilot,
        CodingAgent::Kimi => Form::Kimi,
        CodingAgent::Opencode | CodingAgent::Kilo | CodingAgent::Pi | CodingAgent::Amp => Form::Module,
        CodingAgent::Antigravity => Form::Antigravity,
        CodingAgent::Crush => Form::Crush,
        CodingAgent::Goose => Form::Goose,
    }
}

/// The answer with this text; `None` if the coding agent takes no text at this moment.
pub(super) fn answer(event: &Event, text: &str) -> Option<Value> {
    let context = || json!({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}});
    let block = || json!({"decision": "block", "reason": text});
    Some(match (form(event.coding), event.moment) {
        // The text that wakes a session is read unchanged.
        (Form::Claude | Form::Module, Moment::Wait) => text.into(),
        (
            _,
            Moment::Compact
            | Moment::End
            | Moment::Wait
            | Moment::Watch
            | Moment::Permission
            | Moment::Elicitation,
        )
        | (Form::Cursor, Moment::Prompt)
        | (Form::Kimi, Moment::Start | Moment::Tool)
        | (Form::Goose, Moment::Start | Moment::Prompt | Moment::Tool) => return None,
        (Form::Module, _) => json!({"text": text}),
        (Form::Cursor, Moment::Start | Moment::Tool) => json!({"additional_context": text}),
        (Form::Cursor, Moment::Stop) => json!({"followup_message": text}),
        (Form::Gemini, Moment::Stop) => json!({"decision": "deny", "reason": text}),
        (Form::Claude, Moment::Stop) if event.takes_context => context(),
        (Form::Copilot, Moment::Start | Moment::Prompt | Moment::Tool) => json!({"additionalContext": text}),
        (Form::Kimi, Moment::Prompt) => json!({"message": text}),
        (Form::Kimi, Moment::Stop) => {
            json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": text}})
        }
        (Form::Antigravity, Moment::Stop) => json!({"decision": "continue", "reason": text}),
        (Form::Antigravity, _) => json!({"injectSteps": [{"ephemeralMessage": text}]}),
        (Form::Crush, Moment::Start | Moment::Prompt | Moment::Tool) => json!({"context": text}),
        (_, Moment::Stop) => block(),
        (_, Moment::Start | Moment::Prompt | Moment::Tool) => context(),
    })
}

/// A notice for the user, which the model does not see; `None` if the coding agent shows none.
pub(super) fn notice(event: &Event, text: &str) -> Option<Value> {
    let is_shown = matches!(form(event.coding), Form::Claude | Form::Codex | Form::Gemini);
    let is_moment = matches!(event.moment, Moment::Start | Moment::Prompt | Moment::Tool | Moment::Stop);
    (is_shown && is_moment).then(|| json!({"systemMessage": text}))
}

/// Whether the coding agent reads any answer at this moment.
pub(super) fn takes_answer(event: &Event) -> bool {
    answer(event, "").is_some()
}
