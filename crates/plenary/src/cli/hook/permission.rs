//! A permission that a coding agent is about to ask for in its window: its person is asked in the inbox first. Without an
//! answer nothing is printed, and the coding agent asks as it always does.
//! Must not know: how events are read.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use plenary_client::{Client, IdempotencyKey, frames::now};
use plenary_kernel::AskId;
use serde_json::{Map, Value, json};

use super::{event::Event, journal};
use crate::cli::{connect::CodingAgent, context::Context, interrupts::Interrupts};

/// The longest title that the server takes, in characters.
const TITLE_CHARS_MAX: usize = 200;
/// The longest text of a detail that is sent, in characters.
const DETAIL_CHARS_MAX: usize = 16_000;
/// So much longer than it is waited for does a request stand, should this process be killed.
const GRACE_MS: u64 = 5_000;

/// Asks, waits, and prints what was decided.
pub(super) async fn run(context: &Context, event: &Event, within: Duration) -> Result<(), String> {
    let Some((tool, arguments)) = &event.tool else { return Ok(()) };
    let failed = |error: plenary_client::Error| journal::words(&error.into());
    let client = context.agent_client().map_err(|failure| journal::words(&failure))?;
    let mut interrupts = Interrupts::with_hangup().map_err(|failure| journal::words(&failure))?;
    let body = request(event, tool, arguments, within);
    let made = client.make_request(&body, &IdempotencyKey::random()).await.map_err(failed)?;
    let id: AskId =
        made.value["request_id"].as_str().and_then(|id| id.parse().ok()).ok_or("no request id")?;
    let seen = tokio::select! {
        seen = client.wait_request(&id, within) => seen.map_err(failed)?.value,
        // The coding agent was answered in its window, or ends.
        () = interrupts.next() => return give_up(&client, &id).await,
    };
    match decision(event, arguments, &seen) {
        Some(decision) => {
            print(&decision).map_err(|error| format!("the decision cannot be printed: {error}"))
        }
        None => give_up(&client, &id).await,
    }
}

async fn give_up(client: &Client, id: &AskId) -> Result<(), String> {
    client.withdraw_request(id).await.map(|_| ()).map_err(|error| journal::words(&error.into()))
}

/// The request: what the tool would be used with, as far as it can be looked at.
fn request(event: &Event, tool: &str, arguments: &Map<String, Value>, within: Duration) -> Value {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let what = text("description").or(text("command")).or(text("file_path")).or(text("url")).or(text("path"));
    let title = match what {
        Some(what) => format!("{tool}: {what}"),
        None => format!("Use {tool}"),
    };
    let cut = |text: &str| text.chars().take(DETAIL_CHARS_MAX).collect::<String>();
    let mut detail = Map::new();
    if let Some(command) = text("command") {
        detail.insert("command".into(), cut(command).into());
    }
    if let (Some(old), Some(new)) = (text("old_string"), text("new_string")) {
        let lines = |sign: char, text: &str| {
            cut(text).lines().map(|line| format!("{sign}{line}\n")).collect::<String>()
        };
        detail.insert("diff".into(), format!("{}{}", lines('-', old), lines('+', new)).into());
    }
    if let Some(content) = text("content") {
        detail.insert("document".into(), cut(content).into());
    }
    let wait_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
    let mut body = json!({
        "kind": "permission",
        "title": line(&title),
        "action": {"name": line(tool), "args": arguments},
        // Codex takes no other arguments.
        "allow": {"accept": true, "edit": event.coding == CodingAgent::Claude, "respond": true, "ignore": true},
        "deadline_at": now().0.saturating_add(wait_ms).saturating_add(GRACE_MS),
        "inbox": false,
    });
    if !detail.is_empty() {
        body["detail"] = detail.into();
    }
    if let Some(directory) = event.directory.as_ref().and_then(|path| path.to_str()) {
        body["directory"] = line(directory).into();
    }
    if body.to_string().len() > REQUEST_BYTES_MAX {
        // What is too large to be looked at is named by its size.
        let bytes = Value::Object(arguments.clone()).to_string().len();
        body["action"]["args"] = json!({"left out": format!("{bytes} bytes of JSON")});
        body["allow"]["edit"] = false.into();
    }
    body
}

/// What the server takes of a request, less what it adds.
const REQUEST_BYTES_MAX: usize = 60 << 10;

/// One line without what nobody sees.
fn line(text: &str) -> String {
    let plain = text.chars().map(|c| if plenary_kernel::text::is_hidden(c) { ' ' } else { c });
    plain.take(TITLE_CHARS_MAX).collect()
}

/// What is printed for an answer; nothing where there is none.
fn decision(event: &Event, asked: &Map<String, Value>, request: &Value) -> Option<Value> {
    let answer = &request["answer"];
    let text = answer["text"].as_str().filter(|text| !text.is_empty());
    let decision = match answer["type"].as_str()? {
        "accept" => json!({"behavior": "allow"}),
        "edit" => {
            let changed = answer["args"].as_object()?;
            // What was not said again stays as it was asked.
            let mut input = asked.clone();
            input.extend(changed.iter().map(|(name, value)| (name.clone(), value.clone())));
            json!({"behavior": "allow", "updatedInput": input})
        }
        "respond" => json!({"behavior": "deny", "message": text?}),
        "ignore" => json!({"behavior": "deny", "message": text.unwrap_or("The person said no.")}),
        _ => return None,
    };
    Some(json!({"hookSpecificOutput": {"hookEventName": event.name, "decision": decision}}))
}

fn print(decision: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(decision.to_string().as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::hook::event::read;

    fn event() -> Event {
        let json = br#"{"session_id":"s","cwd":"/w","hook_event_name":"PermissionRequest","tool_name":"Bash",
            "tool_input":{"command":"rm -r build","description":"Remove the build"}}"#;
        read(json, None, Some("claude")).unwrap()
    }

    fn decided(answer: &Value) -> Value {
        let event = event();
        let arguments = &event.tool.as_ref().unwrap().1;
        let said = decision(&event, arguments, &json!({"answer": answer}));
        said.map_or(Value::Null, |said| said["hookSpecificOutput"]["decision"].clone())
    }

    #[test]
    fn what_is_asked_can_be_looked_at() {
        let event = event();
        let (tool, arguments) = event.tool.as_ref().unwrap();
        let body = request(&event, tool, arguments, Duration::from_secs(1));
        assert_eq!(body["title"], "Bash: Remove the build");
        assert_eq!(body["detail"], json!({"command": "rm -r build"}));
        assert_eq!((&body["directory"], &body["action"]["name"]), (&json!("/w"), &json!("Bash")));
        let large = Map::from_iter([("content".to_owned(), "x".repeat(100_000).into())]);
        let body = request(&event, tool, &large, Duration::from_secs(1));
        assert!(body.to_string().len() < 64 << 10);
        assert_eq!(body["allow"]["edit"], false);
    }

    #[test]
    fn an_answer_is_printed_as_the_coding_agent_takes_it() {
        assert_eq!(decided(&json!({"type": "accept"})), json!({"behavior": "allow"}));
        assert_eq!(
            decided(&json!({"type": "edit", "args": {"command": "ls"}})),
            json!({"behavior": "allow", "updatedInput": {"command": "ls", "description": "Remove the build"}})
        );
        assert_eq!(
            decided(&json!({"type": "respond", "text": "Keep it."})),
            json!({"behavior": "deny", "message": "Keep it."})
        );
        assert_eq!(decided(&json!({"type": "ignore"}))["behavior"], "deny");
        assert_eq!(decided(&Value::Null), Value::Null);
    }
}
