//! Lists of `key=value`, percent-encoded, as headers and as attributes of the resource.
//! Must not know: the other settings.

use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::Reader;

/// The name of the service, unless it is configured.
const SERVICE_NAME: &str = "plenary";

/// Headers of each request. Invalid entries are skipped; values are never logged, since they may be
/// tokens.
pub(super) fn headers(reader: &mut Reader<'_>) -> Vec<(String, String)> {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
    let Some((variable, list)) = reader.first(&names) else { return Vec::new() };
    let mut headers = Vec::new();
    for (number, entry) in entries(&list).enumerate() {
        let header = pair(entry).filter(|(name, value)| {
            name.parse::<HeaderName>().is_ok() && value.parse::<HeaderValue>().is_ok()
        });
        match header {
            Some(header) => headers.push(header),
            None => {
                reader.warn(format!("{variable}: entry {} is not name=value; it is left out", number + 1))
            }
        }
    }
    headers
}

/// The attributes of the resource. One invalid entry discards the whole list, as the specification
/// requires.
pub(super) fn resource(reader: &mut Reader<'_>) -> Vec<(String, String)> {
    const VARIABLE: &str = "OTEL_RESOURCE_ATTRIBUTES";
    let list = reader.get(VARIABLE).unwrap_or_default();
    let attributes: Option<Vec<_>> = entries(&list).map(pair).collect();
    if attributes.is_none() {
        reader.warn(format!("{VARIABLE} is not a list of key=value; it is left out"));
    }
    let mut attributes = attributes.unwrap_or_default();
    if let Some(name) = reader.get("OTEL_SERVICE_NAME") {
        attributes.retain(|(key, _)| key != "service.name");
        attributes.push(("service.name".to_owned(), name));
    }
    for (key, value) in [("service.name", SERVICE_NAME), ("service.version", env!("CARGO_PKG_VERSION"))] {
        if attributes.iter().all(|(known, _)| known != key) {
            attributes.push((key.to_owned(), value.to_owned()));
        }
    }
    attributes
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

fn pair(entry: &str) -> Option<(String, String)> {
    let (key, value) = entry.split_once('=')?;
    let decoded = |text: &str| percent_decode_str(text.trim()).decode_utf8().ok().map(String::from);
    Some((decoded(key).filter(|key| !key.is_empty())?, decoded(value)?))
}
