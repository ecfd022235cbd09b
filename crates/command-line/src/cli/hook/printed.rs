//! Messages that a command printed in the shell of a coding agent. A hook marks one as in context only if the output of a
//! tool contains all of it; otherwise it stays unread, and a hook prints it.
//! Must not know: the command.

use std::{collections::VecDeque, time::Duration};

use plenary_client::{Client, EventBody, sessions::EventsQuery};
use plenary_kernel::{AgentHandle, SessionId};
use serde_json::Value;
use tokio::time::Instant;

use super::{
    event::{Event, Moment},
    journal,
    shared_state::{HookState, state_file_of},
};
use crate::{
    cli::{context::Context, say},
    out::Out,
};

/// How long a command waits for a running hook of its agent.
const TURN_WITHIN: Duration = Duration::from_secs(1);
/// The members of a hook's input that have the output of a tool.
const OUTPUTS: [&str; 4] = ["tool_response", "tool_output", "tool_result", "toolResult"];

/// Notes that a command prints a message, if the agent has hooks here. Without the note, a hook prints the message again.
pub(crate) async fn note_printed(context: &Context, agent: &AgentHandle, session: &SessionId, sequence: u64) {
    // The first hook of an agent makes the lock.
    if state_file_of(&context.environment, agent).is_none_or(|file| !file.with_extension("lock").exists()) {
        return;
    }
    let state = HookState::take(&context.environment, agent, Instant::now() + TURN_WITHIN).await;
    let noted = state.map_err(String::from).and_then(|state| state.note_printed(session, sequence));
    if let Err(why) = noted {
        journal::note(&context.environment, "ask", &why);
    }
}

/// Marks the printed messages that the output of this tool contains as in context.
pub(super) async fn confirm(context: &Context, event: &Event, client: &Client, state: &HookState) {
    let printed = if event.moment == Moment::Tool { state.printed() } else { Vec::new() };
    if printed.is_empty() {
        return;
    }
    let output = lines(&event.input);
    for (session, sequence) in printed {
        // The command names the session; a short text alone may stand in the output of another command.
        if !output.iter().any(|line| line.contains(session.as_str())) {
            continue;
        }
        let confirmed = async {
            if is_shown(&context.out, client, (&session, sequence), &output).await? {
                client
                    .ack_event(&session, sequence)
                    .await
                    .map_err(|error| journal::describe(&error.into()))?;
                state.forget_printed(&session, sequence)?;
            }
            Ok::<_, String>(())
        };
        if let Err(why) = confirmed.await {
            journal::note(&context.environment, &event.name, &why);
        }
    }
}

/// Whether the output contains the whole message, as text or as JSON.
async fn is_shown(
    out: &Out,
    client: &Client,
    (session, sequence): (&SessionId, u64),
    output: &[String],
) -> Result<bool, String> {
    let query = EventsQuery { after_sequence: sequence.saturating_sub(1), limit: Some(1) };
    let page = client.events(session, query).await.map_err(|error| journal::describe(&error.into()))?;
    let Some(event) = page.value.events.iter().find(|event| event.sequence == Some(sequence)) else {
        return Ok(false);
    };
    let EventBody::Message(message) = &event.body else { return Ok(false) };
    Ok(has_lines(output, &say::content(out, &message.content)) || has_lines(output, event.json()))
}

/// The lines of a tool's output in a hook's input.
fn lines(input: &[u8]) -> Vec<String> {
    let Ok(Value::Object(input)) = serde_json::from_slice(input) else { return Vec::new() };
    let mut values: VecDeque<Value> = input
        .into_iter()
        .filter(|(name, _)| OUTPUTS.contains(&name.as_str()))
        .map(|(_, value)| value)
        .collect();
    let mut lines = Vec::new();
    while let Some(value) = values.pop_front() {
        match value {
            Value::String(text) => {
                lines.extend(text.lines().map(|line| line.trim_end().to_owned()));
                // Some coding agents send the result of a tool as JSON in a string.
                if let Ok(nested @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(&text) {
                    values.push_back(nested);
                }
            }
            Value::Array(several) => values.extend(several),
            Value::Object(members) => values.extend(members.into_iter().map(|(_, value)| value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    lines
}

/// Whether the lines of a text follow each other in the output.
fn has_lines(output: &[String], text: &str) -> bool {
    let expected: Vec<&str> = text.lines().map(str::trim_end).collect();
    !text.trim().is_empty() && output.windows(expected.len()).any(|lines| lines == expected.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_only_as_whole_lines_of_an_output() {
        let has = |input: &str, text: &str| has_lines(&lines(input.as_bytes()), text);
        let bash = r#"{"tool_input":{"command":"ok"},"tool_response":{"stdout":"one\n  two  \n","stderr":"7 asked"}}"#;
        assert!(has(bash, "one\n  two") && has(bash, "one"));
        for absent in ["one\ntwo", "two\nthree", "7", "ok", "on", "", "\n"] {
            assert!(!has(bash, absent), "{absent:?}");
        }
        assert!(has(r#"{"tool_output":"{\"output\":\"one\\ntwo\"}"}"#, "one\ntwo"));
        assert!(has(r#"{"tool_response":{"llmContent":[{"text":"Output: \none"}]}}"#, "one"));
        assert!(!has(r#"{"prompt":"one"}"#, "one") && !has("{", "one"));
    }
}
