//! Converts the messages of a client of OpenAI's API into the input of an agent. Pure.
//! Must not know: the endpoint.

use serde_json::Value;

use super::OpenAiError;

/// The requested model.
pub(super) fn model(body: &Value) -> Result<&str, OpenAiError> {
    let model = body["model"].as_str().filter(|model| !model.is_empty());
    model.ok_or_else(|| OpenAiError::param("model", "`model` must name an agent; GET /v1/models lists them."))
}

/// Refuses features that must not be ignored silently: several answers, the client's own tools.
pub(super) fn check_supported(body: &Value) -> Result<(), OpenAiError> {
    if !body["n"].is_null() && body["n"] != 1 {
        return Err(OpenAiError::unsupported("n", "`n` must be 1: an agent answers once."));
    }
    // The client would take the earlier messages for read.
    if !body["conversation"].is_null() {
        let message =
            "`conversation` is not supported: continue after a response with `previous_response_id`.";
        return Err(OpenAiError::unsupported("conversation", message));
    }
    for name in ["tools", "functions"] {
        if body[name].as_array().is_some_and(|tools| !tools.is_empty()) {
            return Err(OpenAiError::unsupported(
                name,
                format!("`{name}` is not supported: agents have their own tools."),
            ));
        }
    }
    Ok(())
}

/// A boolean that is false when absent or null.
pub(super) fn switch(value: &Value, name: &'static str) -> Result<bool, OpenAiError> {
    let value = &value[name];
    if value.is_null() {
        return Ok(false);
    }
    value.as_bool().ok_or_else(|| OpenAiError::param(name, format!("`{name}` must be true or false.")))
}

/// The roles of messages in OpenAI's API.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// The role of a message; `user` if absent.
fn role<'a>(message: &'a Value, param: &'static str) -> Result<&'a str, OpenAiError> {
    let role = &message["role"];
    if role.is_null() {
        return Ok("user");
    }
    let known = role.as_str().filter(|role| ROLES.contains(role));
    known.ok_or_else(|| {
        let roles = ROLES.join(", ");
        OpenAiError::param(param, format!("`{param}`: `role` must be one of {roles}."))
    })
}

/// Messages as one text: a single message unchanged, several with the role of each.
pub(super) fn conversation(messages: &[Value], param: &'static str) -> Result<String, OpenAiError> {
    let texts = messages.iter().map(|message| {
        let role = role(message, param)?;
        let text = text(&message["content"]).ok_or_else(|| {
            OpenAiError::param(param, format!("`{param}`: each `content` must be text, or parts of it."))
        })?;
        Ok((role, text))
    });
    let texts = texts.collect::<Result<Vec<_>, OpenAiError>>()?;
    match &texts[..] {
        [] => Err(OpenAiError::param(param, format!("`{param}` must not be empty."))),
        [(_, text)] => Ok(text.clone()),
        texts => {
            Ok(texts.iter().map(|(role, text)| format!("{role}: {text}")).collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// Content as text: other content is represented by its URL.
fn text(content: &Value) -> Option<String> {
    let part = |part: &Value| {
        let url = || {
            part["image_url"]["url"]
                .as_str()
                .or_else(|| part["image_url"].as_str())
                .or_else(|| part["file_url"].as_str())
        };
        let text = part["text"].as_str().or_else(|| part["refusal"].as_str()).or_else(url)?;
        Some(text.to_owned())
    };
    // An assistant's message with tool calls only.
    if content.is_null() {
        return Some(String::new());
    }
    match content.as_array() {
        Some(parts) => Some(parts.iter().map(part).collect::<Option<Vec<_>>>()?.join("\n")),
        None => content.as_str().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_would_be_missed_is_refused() {
        for body in [json!({}), json!({"n": 1, "tools": [], "functions": null})] {
            assert!(check_supported(&body).is_ok(), "{body}");
        }
        for (param, value, code) in [
            ("n", json!(2), "unsupported_parameter"),
            ("tools", json!([{"type": "web_search"}]), "unsupported_parameter"),
            ("functions", json!([{"name": "f"}]), "unsupported_parameter"),
        ] {
            let error = check_supported(&json!({param: value})).unwrap_err().error();
            assert_eq!((&error["param"], &error["code"]), (&json!(param), &json!(code)));
        }
    }

    #[test]
    fn one_message_is_its_text_and_several_are_a_conversation() {
        let user = json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]});
        assert_eq!(conversation(std::slice::from_ref(&user), "messages").unwrap(), "a\nb");
        let system = json!({"role": "system", "content": "Be short."});
        assert_eq!(conversation(&[system, user], "messages").unwrap(), "system: Be short.\n\nuser: a\nb");
        assert!(conversation(&[], "messages").is_err());
        let said = |role: Value| conversation(&[json!({"role": role, "content": "a"})], "messages");
        for known in ROLES {
            assert_eq!(said(known.into()).unwrap(), "a");
        }
        assert_eq!(said(Value::Null).unwrap(), "a");
        for unknown in [json!("robot"), json!(""), json!("User"), json!(7), json!(["user"])] {
            let error = said(unknown.clone()).unwrap_err().error();
            assert_eq!(
                (&error["param"], &error["code"]),
                (&json!("messages"), &json!("invalid_value")),
                "{unknown}"
            );
        }
        assert!(conversation(&[json!({"role": "user", "content": 7})], "messages").is_err());
    }
}
