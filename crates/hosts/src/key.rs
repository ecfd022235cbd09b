//! Credentials for other servers, and what those say when they refuse.
//! Must not know: which servers.

use http::HeaderValue;
use serde_json::Value;

use crate::ConfigFault;

/// How much of another server's words is told on, in characters.
const SAID_CHARS_MAX: usize = 500;

/// A bearer token out of the environment: `member` of the configuration names the variable `name`, which has `value`.
pub(crate) fn bearer(
    member: &'static str,
    name: &str,
    value: Option<String>,
) -> Result<HeaderValue, ConfigFault> {
    let fault = |wrong: String| ConfigFault::member(member, wrong);
    let value = value.filter(|value| !value.is_empty());
    let value =
        value.ok_or_else(|| fault(format!("names {name}, which is not set; export it and start again")))?;
    let mut header = HeaderValue::try_from(format!("Bearer {value}"))
        .map_err(|_| fault(format!("names {name}, whose value cannot stand in a header")))?;
    header.set_sensitive(true);
    Ok(header)
}

/// What an error says for people: its `message` or `detail`, or all of it, cut.
pub(crate) fn said(error: &Value) -> String {
    let inner = error.get("error").unwrap_or(error);
    let inner = inner.get("message").or_else(|| inner.get("detail")).unwrap_or(inner);
    let text = inner.as_str().map_or_else(|| inner.to_string(), str::to_owned);
    text.chars().take(SAID_CHARS_MAX).collect()
}
