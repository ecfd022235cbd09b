//! Credentials for other servers, and the text of their refusals without the credential.
//! Must not know: the servers.

use http::HeaderValue;
use serde_json::Value;

use crate::ConfigFault;

/// The prefix of a token in the header.
const BEARER: &str = "Bearer ";
/// Replaces a credential in a text.
const HIDDEN: &str = "***";
/// Longest part of another server's error text that is passed on, in characters.
const ERROR_CHARS_MAX: usize = 500;

/// A bearer token from the environment: the setting `member` names the variable `name`, whose value is `value`.
pub(crate) fn bearer(
    member: &'static str,
    name: &str,
    value: Option<String>,
) -> Result<HeaderValue, ConfigFault> {
    let fault = |wrong: String| ConfigFault::member(member, wrong);
    let value = value.filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| {
        fault(format!("names the variable {name}, which is not set; export it and start again"))
    })?;
    let mut header = HeaderValue::try_from(format!("{BEARER}{value}"))
        .map_err(|_| fault(format!("names the variable {name}, whose value is not valid in a header")))?;
    header.set_sensitive(true);
    Ok(header)
}

/// An error as text for people: its `message` or `detail`, or all of it, cut.
pub(crate) fn error_text(error: &Value) -> String {
    redacted_error(error, None)
}

/// An error as text for people, without the request's credential, which some servers repeat.
pub(crate) fn redacted_error(error: &Value, credential: Option<&HeaderValue>) -> String {
    let inner = error.get("error").unwrap_or(error);
    let inner = inner.get("message").or_else(|| inner.get("detail")).unwrap_or(inner);
    let text = inner.as_str().map_or_else(|| inner.to_string(), str::to_owned);
    // Removed before the text is cut: half a credential would reveal too much.
    redact(text, credential).chars().take(ERROR_CHARS_MAX).collect()
}

/// A text with the credential replaced.
pub(crate) fn redact(text: String, credential: Option<&HeaderValue>) -> String {
    let value = credential.and_then(|header| header.to_str().ok());
    match value.map(|value| value.trim_start_matches(BEARER)).filter(|secret| !secret.is_empty()) {
        Some(secret) if text.contains(secret) => text.replace(secret, HIDDEN),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_credential_in_an_error_text_is_replaced() {
        let key = bearer("api_key_env", "KEY", Some("sk-secret/1".into())).unwrap();
        let redacted = |error: Value| redacted_error(&error, Some(&key));
        assert_eq!(redacted(json!({"error": {"message": "no such key: sk-secret/1."}})), "no such key: ***.");
        assert_eq!(redacted(json!({"odd": ["sk-secret/1"]})), r#"{"odd":["***"]}"#);
        let long = format!("{}sk-secret/1", "x".repeat(ERROR_CHARS_MAX - 4));
        assert!(!redacted(json!(long)).contains("sk-s"), "nor a part of it");
        assert_eq!(redacted_error(&json!("plain"), None), "plain");
    }
}
