//! The secret of a subscription, and its derivations: signatures of Standard Webhooks and the secrets of one-tap
//! links.
//! Must not know: HTTP.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use plenary_kernel::AskId;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The prefix of a secret.
pub(crate) const PREFIX: &str = "whsec_";

/// The secret of a subscription, 32 random bytes, in the form `whsec_` and base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(crate) fn of(bytes: [u8; 32]) -> Self {
        Self(format!("{PREFIX}{}", STANDARD.encode(bytes)))
    }

    /// A secret of a client, in the same form.
    pub(crate) const fn chosen(text: String) -> Self {
        Self(text)
    }

    /// A new secret; equal for repetitions of the same request.
    pub(crate) fn random() -> Self {
        let random = || {
            let mut bytes = [0; 32];
            getrandom::fill(&mut bytes).expect("the system has randomness");
            bytes
        };
        Self::of(plenary_engine::secret_of_request().unwrap_or_else(random))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let key = STANDARD.decode(self.0.strip_prefix(PREFIX).unwrap_or_default()).unwrap_or_default();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key may have any length");
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }

    /// The header `webhook-signature` of a message.
    pub(crate) fn signature(&self, id: &str, timestamp: &str, body: &[u8]) -> String {
        let mac = self.mac(&[id.as_bytes(), b".", timestamp.as_bytes(), b".", body]);
        format!("v1,{}", STANDARD.encode(mac))
    }

    /// The secret of the one-tap link to a request; the same for each attempt.
    pub(crate) fn link(&self, request: &AskId) -> [u8; 32] {
        self.mac(&[b"one-tap link ", request.as_str().as_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_signs_as_the_specification_of_standard_webhooks_shows() {
        let secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into());
        let signed =
            secret.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn each_request_has_a_link_of_its_own() {
        let (secret, other) = (Secret::of([1; 32]), Secret::of([2; 32]));
        let (a, b) = (AskId::of_source("a"), AskId::of_source("b"));
        assert_eq!(secret.link(&a), secret.link(&a));
        assert_ne!(secret.link(&a), secret.link(&b));
        assert_ne!(secret.link(&a), other.link(&a));
    }
}
