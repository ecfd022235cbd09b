//! Sends the elicitations of MCP servers to a coding agent's user in the inbox.
//! Must not know: how events are read.

use std::time::Duration;

use plenary_kernel::form::Form;
use serde_json::{Value, json};

use super::{
    event::{Elicitation, Event},
    person::{ask, cut, line, surround},
};
use crate::cli::{connect::SERVER, context::Context};

/// Sends the request, waits, and prints the answer.
pub(super) async fn run(context: &Context, event: &Event, within: Duration) -> Result<(), String> {
    let Some(elicitation) = &event.elicitation else { return Ok(()) };
    let Some(body) = request(event, elicitation)? else { return Ok(()) };
    ask(context, body, within, |answer| decision(event, answer)).await
}

/// The request; `None` if only the coding agent's window can ask for it.
fn request(event: &Event, elicitation: &Elicitation) -> Result<Option<Value>, String> {
    let Some(schema) = &elicitation.schema else { return Ok(None) };
    // A question of our own server is in the inbox already.
    if elicitation.server == SERVER || elicitation.server.ends_with(&format!(":{SERVER}")) {
        return Ok(None);
    }
    let form =
        Form::read(schema).map_err(|error| format!("what {} asks for {error}", line(&elicitation.server)))?;
    let mut body = json!({
        "kind": "question",
        "title": line(&format!("{} asks: {}", elicitation.server, elicitation.message)),
        "detail": {"text": cut(&elicitation.message)},
        "source": {"room": "mcp", "id": line(&elicitation.server)},
    });
    if form.is_empty() {
        body["allow"] = json!({"accept": true, "edit": false, "respond": false, "ignore": true});
    } else {
        body["form"] = schema.clone().into();
    }
    surround(&mut body, event);
    Ok(Some(body))
}

/// The output for an answer; `None` if there is no decision.
fn decision(event: &Event, answer: &Value) -> Option<Value> {
    let output = |action: &str| json!({"hookEventName": event.name, "action": action});
    let mut output = match answer["type"].as_str()? {
        "accept" | "edit" => output("accept"),
        "ignore" => output("decline"),
        _ => return None,
    };
    if output["action"] == "accept" {
        output["content"] = answer["args"].as_object().cloned().unwrap_or_default().into();
    }
    Some(json!({"hookSpecificOutput": output}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::hook::event::read;

    fn event(members: &Value) -> Event {
        let mut input = json!({"session_id": "s", "cwd": "/w", "hook_event_name": "Elicitation",
            "mcp_server_name": "bank", "message": "Which account?", "mode": "form"});
        input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        read(input.to_string().as_bytes(), None, Some("claude")).unwrap()
    }

    fn request_of(members: &Value) -> Result<Option<Value>, String> {
        let event = event(members);
        request(&event, event.elicitation.as_ref().unwrap())
    }

    #[test]
    fn a_form_is_sent_unchanged() {
        let schema =
            json!({"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]});
        let body = request_of(&json!({"requested_schema": schema})).unwrap().unwrap();
        assert_eq!((&body["title"], &body["form"]), (&json!("bank asks: Which account?"), &schema));
        assert_eq!(
            (&body["kind"], &body["directory"], &body["inbox"]),
            (&json!("question"), &json!("/w"), &json!(false))
        );
        assert_eq!(body["allow"], Value::Null, "the server allows the answers of a form");
    }

    #[test]
    fn a_confirmation_has_no_form() {
        let body =
            request_of(&json!({"requested_schema": {"type": "object", "properties": {}}})).unwrap().unwrap();
        assert_eq!((&body["form"], &body["allow"]["accept"]), (&Value::Null, &json!(true)));
    }

    #[test]
    fn a_request_without_a_form_is_left_to_the_window() {
        assert_eq!(request_of(&json!({"mode": "url", "url": "https://bank.example"})), Ok(None));
        assert_eq!(request_of(&json!({})), Ok(None));
        for own in ["plenary", "plugin:plenary:plenary"] {
            let schema = json!({"properties": {"answer": {"type": "string"}}});
            assert_eq!(request_of(&json!({"mcp_server_name": own, "requested_schema": schema})), Ok(None));
        }
        assert!(request_of(&json!({"requested_schema": {"properties": {"a": {"type": "object"}}}})).is_err());
    }

    #[test]
    fn an_answer_is_printed_in_the_form_of_claude_code() {
        let event = event(&json!({}));
        let output =
            |answer: Value| decision(&event, &answer).map(|output| output["hookSpecificOutput"].clone());
        let accepted =
            json!({"hookEventName": "Elicitation", "action": "accept", "content": {"account": "1"}});
        assert_eq!(output(json!({"type": "edit", "args": {"account": "1"}})), Some(accepted));
        let confirmed = json!({"hookEventName": "Elicitation", "action": "accept", "content": {}});
        assert_eq!(output(json!({"type": "accept"})), Some(confirmed));
        let declined = json!({"hookEventName": "Elicitation", "action": "decline"});
        assert_eq!(output(json!({"type": "ignore"})), Some(declined));
        assert_eq!(output(Value::Null), None);
    }
}
