//! The response for a file of the page: with its tag, compressed if the client accepts it, and with headers that
//! prevent framing and limit the page to this server.
//! Must not know: the list of files.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use plenary_edge::shared_answer;

use crate::assets::{Asset, INDEX, asset};

/// Permits only resources of this server, no inline scripts, and no framing. The only Trusted Types policy creates the URL of
/// the notification worker.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types plenary-worker";

/// The headers of every file.
const GUARDS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    // A file can change with each version of the server; clients revalidate it with the tag.
    ("cache-control", "no-cache"),
    ("vary", "Accept, Accept-Encoding"),
];

/// The page, for clients that prefer HTML to JSON, which are browsers.
pub(crate) fn front(headers: &HeaderMap) -> Option<Response> {
    if !prefers_html(headers) {
        return None;
    }
    Some(answer(asset(INDEX)?, headers))
}

fn prefers_html(headers: &HeaderMap) -> bool {
    let accepted: Vec<_> = weighted(headers, &header::ACCEPT).collect();
    // The higher weight counts, or else the first place.
    let rank = |media_type| {
        let mut ranks = accepted.iter().zip((0..accepted.len()).rev());
        let named = ranks.find(|((name, weight), _)| name.eq_ignore_ascii_case(media_type) && *weight > 0.0);
        named.map(|((_, weight), rank)| (*weight, rank))
    };
    match (rank("text/html"), rank("application/json")) {
        (Some(html), Some(json)) => html > json,
        (html, _) => html.is_some(),
    }
}

/// The elements of a header, each with its weight (RFC 9110, 12.4.2).
fn weighted<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = (&'a str, f32)> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        (name, weight.and_then(|weight| weight.parse().ok()).unwrap_or(1.0))
    })
}

/// The response with a file.
pub(crate) fn answer(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok())
        .is_some_and(|tags| tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == asset.tag));
    let is_zipped = !is_known && takes_gzip(headers) && asset.zipped.len() < asset.plain.len();
    let body = if is_zipped { asset.zipped } else { asset.plain };
    let mut answer = shared_answer(asset.content_type, Bytes::from_static(body));
    if is_known {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        *answer.body_mut() = Body::empty();
        answer.headers_mut().remove(header::CONTENT_TYPE);
    }
    let head = answer.headers_mut();
    for (name, value) in GUARDS {
        head.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if is_zipped {
        head.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(tag) = HeaderValue::from_str(&asset.tag) {
        head.insert(header::ETAG, tag);
    }
    answer
}

/// Whether the client accepts gzip (RFC 9110, 12.5.3): it is named, with a weight above 0.
fn takes_gzip(headers: &HeaderMap) -> bool {
    weighted(headers, &header::ACCEPT_ENCODING)
        .any(|(name, weight)| name.eq_ignore_ascii_case("gzip") && weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_browser_gets_the_page_and_a_program_does_not() {
        let accepts = |value| front(&headers(header::ACCEPT, value)).is_some();
        assert!(
            accepts("text/html,application/xhtml+xml,*/*;q=0.8") && accepts("text/html, application/json")
        );
        assert!(
            !accepts("application/json, text/html") && !accepts("*/*") && front(&HeaderMap::new()).is_none()
        );
        assert!(
            accepts("application/json;q=0.5, TEXT/HTML") && accepts("application/json;q=0, text/html;q=0.1")
        );
        assert!(!accepts("text/html;q=0, */*") && !accepts("text/html;Q=0.5, application/json"));
    }

    #[test]
    fn it_is_compressed_for_whoever_takes_that() {
        let takes = |value| takes_gzip(&headers(header::ACCEPT_ENCODING, value));
        assert!(takes("gzip") && takes("br, gzip;q=0.5") && takes("deflate,GZIP"));
        assert!(
            !takes("br") && !takes("gzip;q=0") && !takes("gzip; q=0.0") && !takes_gzip(&HeaderMap::new())
        );
    }
}
