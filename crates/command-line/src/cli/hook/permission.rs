//! A permission request of a coding agent, before it appears in its window.
//! Must not know: how events are read.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    event::Event,
    person::{REQUEST_BYTES_MAX, ask, cut, line, surround},
};
use crate::cli::{connect::CodingAgent, context::Context};

/// Sends the request, waits, and prints the decision.
pub(super) async fn run(context: &Context, event: &Event, within: Duration) -> Result<(), String> {
    let Some((tool, arguments)) = &event.tool else { return Ok(()) };
    let body = request(event, tool, arguments);
    ask(context, body, within, |answer| decision(event, arguments, answer)).await
}

/// The request: the tool and its arguments, as far as they can be shown.
fn request(event: &Event, tool: &str, arguments: &Map<String, Value>) -> Value {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let command = command(arguments);
    // The model wrote the description: it may say anything.
    let what =
        command.as_deref().or(text("file_path")).or(text("url")).or(text("path")).or(text("description"));
    let title = match what {
        Some(what) => format!("{tool}: {what}"),
        None => format!("Use {tool}"),
    };
    let mut detail = Map::new();
    if let Some(command) = &command {
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
    let mut body = json!({
        "kind": "permission",
        "title": line(&title),
        "action": {"name": line(tool), "args": arguments},
        // Codex does not accept changed arguments.
        "allow": {"accept": true, "edit": event.coding == CodingAgent::Claude, "respond": true, "ignore": true},
    });
    surround(&mut body, event);
    if !detail.is_empty() {
        body["detail"] = detail.into();
    }
    if body.to_string().len() > REQUEST_BYTES_MAX {
        // Arguments that are too large to show are replaced by their size.
        let bytes = Value::Object(arguments.clone()).to_string().len();
        body["action"]["args"] = json!({"left out": format!("{bytes} bytes of JSON")});
        body["allow"]["edit"] = false.into();
    }
    body
}

/// The command of the tool, as a text or as a list of words.
fn command(arguments: &Map<String, Value>) -> Option<String> {
    match arguments.get("command")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The output for an answer; `None` if there is no decision.
fn decision(event: &Event, arguments: &Map<String, Value>, answer: &Value) -> Option<Value> {
    let text = answer["text"].as_str().filter(|text| !text.is_empty());
    let decision = match answer["type"].as_str()? {
        "accept" => json!({"behavior": "allow"}),
        "edit" => {
            let changed = answer["args"].as_object()?;
            // An argument that the answer omits keeps its value.
            let mut input = arguments.clone();
            input.extend(changed.iter().map(|(name, value)| (name.clone(), value.clone())));
            json!({"behavior": "allow", "updatedInput": input})
        }
        "respond" => json!({"behavior": "deny", "message": text?}),
        "ignore" => json!({"behavior": "deny", "message": text.unwrap_or("The person declined.")}),
        _ => return None,
    };
    Some(json!({"hookSpecificOutput": {"hookEventName": event.name, "decision": decision}}))
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
        let output = decision(&event, arguments, answer);
        output.map_or(Value::Null, |output| output["hookSpecificOutput"]["decision"].clone())
    }

    #[test]
    fn a_permission_request_shows_its_arguments_or_their_size() {
        let event = event();
        let (tool, arguments) = event.tool.as_ref().unwrap();
        let body = request(&event, tool, arguments);
        assert_eq!(body["title"], "Bash: rm -r build", "not what the model says about it");
        assert_eq!(body["detail"], json!({"command": "rm -r build"}));
        assert_eq!((&body["directory"], &body["action"]["name"]), (&json!("/w"), &json!("Bash")));
        let words = Map::from_iter([("command".to_owned(), json!(["rm", "-rf", "/"]))]);
        assert_eq!(request(&event, tool, &words)["title"], "Bash: rm -rf /");
        let described = Map::from_iter([("description".to_owned(), json!("Look around"))]);
        assert_eq!(request(&event, tool, &described)["title"], "Bash: Look around");
        let large = Map::from_iter([("content".to_owned(), "x".repeat(100_000).into())]);
        let body = request(&event, tool, &large);
        assert!(body.to_string().len() < 64 << 10);
        assert_eq!(body["allow"]["edit"], false);
    }

    #[test]
    fn an_answer_is_printed_in_the_form_of_the_coding_agent() {
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
