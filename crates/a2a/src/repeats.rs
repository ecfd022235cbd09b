//! Repeated messages (section 3.3.1): the idempotency keys under which the rooms accept a message once. Pure.
//! Must not know: the effect of a message.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName};
use plenary_kernel::json::{Nulls, canonical, digest};
use plenary_room::idempotency_key;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Marks a response that repeats the one to an earlier, equal request.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The key of the client, if it sent one; otherwise why it is none, as a sentence.
pub(crate) fn client_key(headers: &HeaderMap) -> Result<Option<&str>, String> {
    idempotency_key(headers).map_err(|why| format!("{why}."))
}

/// Derives the keys of a request's messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageKeys {
    /// The key of the client, if it sent one.
    client_key: Option<String>,
}

impl MessageKeys {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Result<Self, Failure> {
        let client_key = client_key(headers).map_err(Failure::params)?;
        Ok(Self { client_key: client_key.map(str::to_owned) })
    }

    /// Whether the client sent a key: then a repetition is the same request even after the end of its task.
    pub(crate) fn is_from_client(&self) -> bool {
        self.client_key.is_some()
    }

    /// The key of a message with this content. It covers all that was sent, since clients reuse message ids for other
    /// contents. `over` is the ended task that the same message started before.
    pub(crate) fn key(&self, sent: &Value, over: Option<&str>) -> String {
        let derived = || {
            let bytes = canonical(&json!([sent, over]), Nulls::Keep);
            format!("a2a-{}", URL_SAFE_NO_PAD.encode(digest(&bytes)))
        };
        self.client_key.clone().unwrap_or_else(derived)
    }
}

/// Whether a response repeats the one to an earlier, equal request.
pub(crate) fn is_replayed(headers: &HeaderMap) -> bool {
    headers.contains_key(REPLAYED)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use plenary_room::IDEMPOTENCY_KEY;

    use super::*;

    #[test]
    fn a_key_is_of_the_whole_content_unless_the_client_has_one() {
        let keys = MessageKeys::from_headers(&HeaderMap::new()).unwrap();
        let key = |text: &str, over| keys.key(&json!({"messageId": "m", "text": text}), over);
        assert_eq!(key("a", None), key("a", None));
        assert_ne!(key("a", None), key("b", None));
        assert_ne!(key("a", None), key("a", Some("run-1")));
        let headers = HeaderMap::from_iter([(IDEMPOTENCY_KEY, HeaderValue::from_static("k"))]);
        let keys = MessageKeys::from_headers(&headers).unwrap();
        assert!(keys.is_from_client());
        assert_eq!(keys.key(&json!({"text": "a"}), None), keys.key(&json!({"text": "b"}), Some("run-1")));
        let headers = HeaderMap::from_iter([(IDEMPOTENCY_KEY, HeaderValue::from_bytes(b"\xff").unwrap())]);
        assert!(MessageKeys::from_headers(&headers).is_err());
    }
}
