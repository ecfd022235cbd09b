//! Messages that come again (section 3.3.1): the keys under which the rooms take a message once. Pure.
//! Must not know: what a message begins.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName};
use plenary_kernel::json::{Nulls, canonical, digest};
use serde_json::{Value, json};

use crate::failure::Failure;

/// What a client sends to have a request carried out once, whatever becomes of it.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Says that an answer is that of an earlier, equal request.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The keys of a request's messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageKeys {
    /// The client's own.
    given: Option<String>,
}

impl MessageKeys {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Failure> {
        let given = headers.get(KEY).map(|key| key.to_str().map(str::to_owned)).transpose();
        let given =
            given.map_err(|_| Failure::params("`Idempotency-Key` must be visible ASCII characters."))?;
        Ok(Self { given })
    }

    /// Whether the client sent a key: then a repeated request is the same request, also after the end of its task.
    pub(crate) fn is_given(&self) -> bool {
        self.given.is_some()
    }

    /// The key of a message with this content. Clients use the ids of messages for other contents too, so it is of all that
    /// was sent; `over` is the task that the same message began before and that has ended.
    pub(crate) fn key(&self, sent: &Value, over: Option<&str>) -> String {
        let derived = || {
            let bytes = canonical(&json!([sent, over]), Nulls::Keep);
            format!("a2a-{}", URL_SAFE_NO_PAD.encode(digest(&bytes)))
        };
        self.given.clone().unwrap_or_else(derived)
    }
}

/// Whether an answer is that of an earlier, equal request.
pub(crate) fn is_replayed(headers: &HeaderMap) -> bool {
    headers.contains_key(REPLAYED)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_key_is_of_the_whole_content_unless_the_client_has_one() {
        let keys = MessageKeys::of(&HeaderMap::new()).unwrap();
        let key = |text: &str, over| keys.key(&json!({"messageId": "m", "text": text}), over);
        assert_eq!(key("a", None), key("a", None));
        assert_ne!(key("a", None), key("b", None));
        assert_ne!(key("a", None), key("a", Some("run-1")));
        let headers = HeaderMap::from_iter([(KEY, HeaderValue::from_static("k"))]);
        let keys = MessageKeys::of(&headers).unwrap();
        assert!(keys.is_given());
        assert_eq!(keys.key(&json!({"text": "a"}), None), keys.key(&json!({"text": "b"}), Some("run-1")));
        let headers = HeaderMap::from_iter([(KEY, HeaderValue::from_bytes(b"\xff").unwrap())]);
        assert!(MessageKeys::of(&headers).is_err());
    }
}
