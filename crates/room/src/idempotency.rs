//! Reads the header `Idempotency-Key`, in one way for all rooms.
//! Must not know: which requests have been answered.

use std::fmt;

use http::{HeaderMap, HeaderName};

/// Longest idempotency key, in characters.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;
/// The header with the key of a request: the same key and request get the first answer again.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header is sent more than once, or its value is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidIdempotencyKey;

impl fmt::Display for InvalidIdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`Idempotency-Key` must be 1 to {IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters, once")
    }
}

/// The key of a request; `None` if the header is absent.
///
/// # Errors
/// The header occurs twice, or is not 1 to 255 visible ASCII characters.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, InvalidIdempotencyKey> {
    let mut sent = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(first) = sent.next() else { return Ok(None) };
    let is_key = |key: &&str| {
        (1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let key = first.to_str().ok().filter(is_key).filter(|_| sent.next().is_none());
    key.map(Some).ok_or(InvalidIdempotencyKey)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(values: &[&[u8]]) -> Result<Option<String>, InvalidIdempotencyKey> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IDEMPOTENCY_KEY, HeaderValue::from_bytes(value).unwrap());
        }
        idempotency_key(&headers).map(|key| key.map(str::to_owned))
    }

    #[test]
    fn a_key_is_sent_once_in_visible_ascii() {
        let longest = "k".repeat(IDEMPOTENCY_KEY_CHARS_MAX);
        assert_eq!(read(&[]), Ok(None));
        for good in ["a", "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"", &longest] {
            assert_eq!(read(&[good.as_bytes()]), Ok(Some(good.to_owned())));
        }
        let longer = format!("{longest}k");
        for bad in [&b""[..], b"two words", b"tab\tbed", "k\u{e9}".as_bytes(), longer.as_bytes()] {
            assert_eq!(read(&[bad]), Err(InvalidIdempotencyKey), "{bad:?}");
        }
        assert_eq!(read(&[b"a", b"b"]), Err(InvalidIdempotencyKey));
    }
}
