//! The URL of the collector: the URL for traces unchanged, or `v1/traces` below the general one.
//! Must not know: the other settings.

use http::Uri;

use super::Reader;

/// The variable with the URL for traces alone.
const OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// The variable with the URL for all signals, to which a path is added.
const OF_ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// `None` without an endpoint, or if it is not a URL: a guess could send spans to the wrong server.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<Uri> {
    let (name, text) = reader.first(&[OF_TRACES, OF_ALL])?;
    let text = if name == OF_ALL { below(&text) } else { text };
    let uri = text.parse::<Uri>().ok().filter(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    });
    if uri.is_none() {
        reader.warn(format!("{name} is not a URL that begins with http:// or https://; no spans are sent"));
    }
    uri
}

/// Adds the path, before the query if there is one.
fn below(base: &str) -> String {
    let (address, query) =
        base.split_once('?').map_or((base, None), |(address, query)| (address, Some(query)));
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}/v1/traces{query}", address.trim_end_matches('/'))
}
