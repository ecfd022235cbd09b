//! The answer that redirects a browser after a request.
//! Must not know: the reason, or the target.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};

/// A 303 to a URL, which is not cached and sends no referrer. `None` if the text is not valid in a
/// header.
pub fn see_other(url: &str) -> Option<Response> {
    let location = HeaderValue::try_from(url).ok()?;
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    answer.headers_mut().extend([
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ]);
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_contains_nothing_but_its_location() {
        let answer = see_other("https://a.example/?b=c#d").expect("a place");
        assert_eq!(
            (answer.status(), &answer.headers()["location"]),
            (StatusCode::SEE_OTHER, &"https://a.example/?b=c#d".parse().expect("a value"))
        );
        assert!(see_other("https://a.example/\r\nSet-Cookie: x").is_none());
    }
}
