//! The key that signs frames for clients that pin it, and capabilities: Ed25519, created at its first use, one for all
//! processes of a store.
//! Must not know: what is signed.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use plenary_log::{Fault, Log};
use ring::{
    rand::SystemRandom,
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};

/// The row of the key, PKCS #8.
const ROW: &str = "frames/signing-key";

/// The key.
#[derive(Debug)]
pub(crate) struct FrameKey(Ed25519KeyPair);

fn broken() -> Fault {
    Fault::Corrupt(format!("{ROW} is no key"))
}

impl FrameKey {
    fn generate() -> Option<Vec<u8>> {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).ok()?;
        Some(key.as_ref().to_vec())
    }

    fn read(pkcs8: &[u8]) -> Option<Self> {
        Ed25519KeyPair::from_pkcs8(pkcs8).ok().map(Self)
    }

    /// The stored key; creates and stores one if there is none.
    pub(crate) async fn kept(log: &Log) -> Result<Self, Fault> {
        let make =
            || Self::generate().map(Into::into).ok_or_else(|| Fault::Corrupt("no key can be made".into()));
        Self::read(&log.row_made_once(ROW, make).await?).ok_or_else(broken)
    }

    /// The public key, in the form that clients pin.
    pub(crate) fn public(&self) -> String {
        format!("ed25519:{}", URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref()))
    }

    /// A signature in the form for JSON.
    pub(crate) fn sign(&self, text: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.0.sign(text).as_ref())
    }

    /// Whether the signature of the text is valid.
    pub(crate) fn signed(&self, text: &[u8], signature: &str) -> bool {
        let public = UnparsedPublicKey::new(&ED25519, self.0.public_key().as_ref());
        URL_SAFE_NO_PAD.decode(signature).is_ok_and(|signature| public.verify(text, &signature).is_ok())
    }
}

#[cfg(test)]
impl FrameKey {
    pub(crate) fn new() -> Self {
        Self::read(&Self::generate().expect("a key")).expect("the same key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_text_and_one_key() {
        let (key, other) = (FrameKey::new(), FrameKey::new());
        let signature = key.sign(b"text");
        assert!(key.signed(b"text", &signature));
        assert!(!key.signed(b"texts", &signature) && !other.signed(b"text", &signature));
        assert!(!key.signed(b"text", "") && !key.signed(b"text", "no base64!"));
        assert!(FrameKey::read(b"no key").is_none());
        assert_eq!(key.public().len(), "ed25519:".len() + 43);
    }
}
