//! The requested range of a resource, and whether the client already has it.
//! Must not know: the content, or where it is stored.

use std::ops::Range;

use http::{HeaderMap, HeaderName, header};

/// The effect of a range header (RFC 9110, 14.1.2).
#[derive(Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// Everything.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// No existing byte.
    Nothing,
}

/// The requested range of a resource with this tag and size. Several ranges, other units and invalid
/// ranges are ignored: the response is then the whole resource.
pub fn requested_range(headers: &HeaderMap, etag: &str, bytes: u64) -> ByteRange {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    // A range of another version is useless to a client that has the beginning of this one.
    if text(header::IF_RANGE).is_some_and(|tag| tag != etag) {
        return ByteRange::Whole;
    }
    let range = text(header::RANGE).and_then(|range| range.strip_prefix("bytes="));
    let Some((from, until)) = range.and_then(|range| range.split_once('-')) else { return ByteRange::Whole };
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let part = match (number(from), number(until)) {
        (None, Some(last)) if from.is_empty() => bytes.saturating_sub(last)..bytes,
        (Some(from), None) if until.is_empty() => from..bytes,
        (Some(from), Some(until)) if from <= until => from..bytes.min(until.saturating_add(1)),
        _ => return ByteRange::Whole,
    };
    if part.start < part.end { ByteRange::Part(part) } else { ByteRange::Nothing }
}

/// Whether the client has the version with this tag (`If-None-Match`, RFC 9110, 13.1.2, compared
/// weakly).
pub fn is_known(sent: &HeaderMap, etag: &str) -> bool {
    let is_it = |tag: &str| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag;
    let lists = sent.get_all(header::IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    lists.flat_map(|tags| tags.split(',')).any(|tag| is_it(tag.trim()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_range_is_read_as_http_has_it() {
        let range_of = |range: &str| {
            let headers = HeaderMap::from_iter([(header::RANGE, range.parse().unwrap())]);
            requested_range(&headers, "\"a\"", 10)
        };
        for (range, part) in [
            ("bytes=0-0", 0..1),
            ("bytes=3-5", 3..6),
            ("bytes=3-99", 3..10),
            ("bytes=9-", 9..10),
            ("bytes=-3", 7..10),
            ("bytes=-99", 0..10),
            ("bytes=0-18446744073709551615", 0..10),
        ] {
            assert_eq!(range_of(range), ByteRange::Part(part), "{range}");
        }
        for range in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
            assert_eq!(range_of(range), ByteRange::Nothing, "{range}");
        }
        for range in
            ["bytes=5-3", "bytes=-", "bytes=0-1,3-4", "items=0-1", "bytes=a-b", "bytes=+1-2", "bytes=1"]
        {
            assert_eq!(range_of(range), ByteRange::Whole, "{range}");
        }
        let mut headers = HeaderMap::from_iter([(header::RANGE, HeaderValue::from_static("bytes=0-0"))]);
        headers.insert(header::IF_RANGE, HeaderValue::from_static("\"b\""));
        assert_eq!(requested_range(&headers, "\"a\"", 10), ByteRange::Whole, "another content");
    }
}
