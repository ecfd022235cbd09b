//! Paths that are not UTF-8. A room refuses a malformed id in its own form, so each such byte becomes U+FFFD, which no id
//! contains.
//! Must not know: routes.

use http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The same URI with a readable path; `None` if its path is readable.
pub(crate) fn readable(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if !path.contains('%') || percent_decode_str(path).decode_utf8().is_ok() {
        return None;
    }
    let segments = path.split('/').map(|segment| match percent_decode_str(segment).decode_utf8() {
        Ok(_) => segment.to_owned(),
        Err(_) => {
            let text = percent_decode_str(segment).decode_utf8_lossy();
            utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string()
        }
    });
    let path = segments.collect::<Vec<_>>().join("/");
    let target = uri.query().map_or(path.clone(), |query| format!("{path}?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target.try_into().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_segments_that_are_no_text_change() {
        let read = |uri: &str| readable(&uri.parse().unwrap()).map(|uri| uri.to_string());
        for good in ["/", "/sessions/a%2Fb", "/sessions/%C3%A9?x=%ff", "/a%20b"] {
            assert_eq!(read(good), None, "{good}");
        }
        assert_eq!(read("/a%2Fb/%ff/c?d=%ff").unwrap(), "/a%2Fb/%EF%BF%BD/c?d=%ff");
        assert_eq!(read("/%C3").unwrap(), "/%EF%BF%BD");
        assert_eq!(read("http://a.example/x-%80y").unwrap(), "http://a.example/x%2D%EF%BF%BDy");
    }
}
