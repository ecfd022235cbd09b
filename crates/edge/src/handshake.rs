//! The handshake that opens a WebSocket (RFC 6455, 4.2.1), and the answer to a request that is none.
//! Must not know: the form of a refusal, what the socket is for.

use std::convert::Infallible;

use axum::{
    extract::{
        FromRequestParts,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use http::{
    HeaderValue, StatusCode,
    header::{CONNECTION, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE},
    request::Parts,
};
use plenary_kernel::Refusal;

/// The handshake of a request.
#[derive(Debug)]
pub struct Handshake(pub Result<WebSocketUpgrade, NoHandshake>);

/// Why a request opens no WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoHandshake {
    /// It does not ask for one, or not completely.
    Incomplete,
    /// It asks for another version of the protocol.
    OtherVersion,
    /// Its key is not the base64 form of 16 bytes.
    WrongKey,
}

impl NoHandshake {
    /// The answer, in the form of a room. It tells a client of another version the version, and the protocol to upgrade to
    /// (RFC 6455, 4.4; RFC 9110, 15.5.22).
    pub fn response(self, form: impl FnOnce(Refusal) -> Response) -> Response {
        let text = match self {
            Self::Incomplete => "This path speaks WebSocket; send an upgrade request.",
            Self::OtherVersion => {
                "This path speaks version 13 of WebSocket; send `Sec-WebSocket-Version: 13`."
            }
            Self::WrongKey => "`Sec-WebSocket-Key` must be the base64 form of 16 bytes.",
        };
        let mut response = form(Refusal::malformed("websocket_required", text));
        if self == Self::OtherVersion {
            *response.status_mut() = StatusCode::UPGRADE_REQUIRED;
            for (name, value) in
                [(SEC_WEBSOCKET_VERSION, "13"), (UPGRADE, "websocket"), (CONNECTION, "upgrade")]
            {
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
        }
        response
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Handshake {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let mut keys = parts.headers.get_all(SEC_WEBSOCKET_KEY).iter();
        let has_wrong_key = keys.any(|key| !is_key(key.as_bytes()));
        Ok(Self(match WebSocketUpgrade::from_request_parts(parts, state).await {
            Ok(_) if has_wrong_key => Err(NoHandshake::WrongKey),
            Ok(upgrade) => Ok(upgrade),
            Err(WebSocketUpgradeRejection::InvalidWebSocketVersionHeader(_)) => {
                Err(NoHandshake::OtherVersion)
            }
            Err(_) => Err(NoHandshake::Incomplete),
        }))
    }
}

/// Whether a key is the base64 form of 16 bytes. The last bits need not be zero: they are not in an example of the
/// specification itself (RFC 6455, 4.1).
fn is_key(key: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    matches!(key.strip_suffix(b"=="), Some(digits) if digits.len() == 22 && digits.iter().all(is_base64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_base64_form_of_16_bytes() {
        for good in ["dGhlIHNhbXBsZSBub25jZQ==", "AQIDBAUGBwgJCgsMDQ4PEC==", "/+/+/+/+/+/+/+/+/+/+/w=="] {
            assert!(is_key(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "zz",
            "==",
            "AQIDBAUGBw==",
            "dGhlIHNhbXBsZSBub25jZQ",
            "dGhlIHNhbXBsZSBub25jZQ=a",
            "dGhlIHNhbXBsZSBub25j-Q==",
            "dGhlIHNhbXBsZSBub25jZSE=",
        ] {
            assert!(!is_key(bad.as_bytes()), "{bad}");
        }
    }
}
