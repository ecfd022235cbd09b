//! Strict parsing of configuration tables.
//! Must not know: any kind.

use std::time::Duration;

use http::Uri;
use plenary_outward::{Pool, client_config};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::a2a::Http2;

/// How to add certificate authorities that the system does not have.
const HINT: &str = "in SSL_CERT_FILE";

/// Why a table is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFault {
    /// The kind is unknown.
    #[error("there is no kind of agent {0:?}; the kinds are a2a, acp, connected, echo, exec, openai, remote")]
    UnknownKind(String),
    /// A member of the table is unknown, missing, or of the wrong type.
    #[error("{0}")]
    Table(String),
    /// The value of a member is invalid.
    #[error("`{member}` {problem}")]
    Member {
        /// The member.
        member: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl ConfigFault {
    pub(crate) fn member(member: &'static str, problem: impl Into<String>) -> Self {
        Self::Member { member, problem: problem.into() }
    }
}

/// A table as a kind's settings; unknown members are refused.
pub(crate) fn read<T: DeserializeOwned>(table: toml::Table) -> Result<T, ConfigFault> {
    table.try_into().map_err(|error: toml::de::Error| {
        let (message, text) = (error.message(), error.to_string());
        // Only the full text names the member whose value is wrong.
        let member = text.trim_end().rsplit_once("\nin `").and_then(|(_, rest)| rest.strip_suffix('`'));
        ConfigFault::Table(match member {
            Some(member) => format!("`{member}`: {message}"),
            None => message.to_owned(),
        })
    })
}

/// The default of `request_types`: an agent that gets every request unchanged accepts any type.
pub(crate) fn any_request() -> Vec<String> {
    vec!["*".into()]
}

/// The text of a time in a table; a plain number is seconds.
///
/// # Errors
/// If the value is neither a text nor a whole number.
pub fn time_text<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "write a time, such as \"30s\" or \"5m\", or a number of seconds")]
    enum Time {
        Seconds(u64),
        Text(String),
    }
    Ok(Some(match Time::deserialize(value)? {
        Time::Seconds(seconds) => seconds.to_string(),
        Time::Text(text) => text,
    }))
}

/// Parses a duration: `30s`, `500ms`, `5m`, `1h` or `7d`; a plain number is seconds.
pub(crate) fn duration(member: &'static str, text: &str) -> Result<Duration, ConfigFault> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit_ms: Option<u64> = match unit {
        "ms" => Some(1),
        "s" | "" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let ms = number.parse().ok().zip(unit_ms).and_then(|(number, unit): (u64, u64)| number.checked_mul(unit));
    ms.map(Duration::from_millis)
        .ok_or_else(|| ConfigFault::member(member, "is not a duration; write e.g. 30s or 5m"))
}

/// A connection pool for the server of a table's `url`, and that URL without a trailing slash.
pub(crate) fn pool_of(url: &str) -> Result<(Pool, String), ConfigFault> {
    let (is_secure, _) = target("url", url)?;
    let tls = client_config(is_secure, None, HINT);
    let tls = tls.map_err(|no| ConfigFault::member("url", no.to_string()))?;
    Ok((Pool::new(tls), url.trim_end_matches('/').to_owned()))
}

/// A connection over HTTP/2 for the URL of a member, and that URL.
pub(crate) fn http2_of(member: &'static str, url: &str) -> Result<(Http2, Uri), ConfigFault> {
    let (is_secure, uri) = target(member, url)?;
    let tls = client_config(is_secure, None, HINT);
    let tls = tls.map_err(|no| ConfigFault::member(member, no.to_string()))?;
    Ok((Http2::new(tls), uri))
}

/// A URL of another server, and whether it uses TLS.
fn target(member: &'static str, url: &str) -> Result<(bool, Uri), ConfigFault> {
    let fault = |problem: &str| ConfigFault::member(member, problem);
    let uri: Uri = url.trim_end_matches('/').parse().map_err(|_| fault("is not a URL"))?;
    match (uri.scheme_str(), uri.query()) {
        (Some("https"), None) => Ok((true, uri)),
        (Some("http"), None) => Ok((false, uri)),
        _ => Err(fault("is not an http or https URL without a query")),
    }
}
