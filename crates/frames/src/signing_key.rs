//! The key that signs frames for clients that pin it: Ed25519, created at its first use, one for all processes of a
//! store. Another key, derived from it, seals capabilities.
//! Must not know: what is signed or sealed.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use plenary_log::{Fault, Log};
use plenary_room::SealingKey;
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};

/// The row of the key, PKCS #8.
const ROW: &str = "frames/signing-key";

/// The purpose of the derived key.
const SEALING: &[u8] = b"plenary frames: capabilities";

#[derive(Debug)]
pub(crate) struct FrameKey {
    signing: Ed25519KeyPair,
    sealing: SealingKey,
}

fn broken() -> Fault {
    Fault::Corrupt(format!("{ROW} is no key"))
}

impl FrameKey {
    fn generate() -> Option<Vec<u8>> {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).ok()?;
        Some(key.as_ref().to_vec())
    }

    fn read(pkcs8: &[u8]) -> Option<Self> {
        let signing = Ed25519KeyPair::from_pkcs8(pkcs8).ok()?;
        Some(Self { signing, sealing: SealingKey::derived(pkcs8, SEALING) })
    }

    /// The text in a form that only this server can read or make; `None` if the system has no random numbers.
    pub(crate) fn seal(&self, text: Vec<u8>) -> Option<Vec<u8>> {
        self.sealing.seal("", text)
    }

    /// The text that this server sealed.
    pub(crate) fn unseal(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        self.sealing.unseal("", sealed)
    }

    /// The stored key; creates and stores one if there is none.
    pub(crate) async fn load(log: &Log) -> Result<Self, Fault> {
        let make =
            || Self::generate().map(Into::into).ok_or_else(|| Fault::Corrupt("no key can be made".into()));
        Self::read(&log.row_created_once(ROW, make).await?).ok_or_else(broken)
    }

    /// The public key, in the form that clients pin.
    pub(crate) fn public(&self) -> String {
        format!("ed25519:{}", URL_SAFE_NO_PAD.encode(self.signing.public_key().as_ref()))
    }

    /// A signature in the form for JSON.
    pub(crate) fn sign(&self, text: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.signing.sign(text).as_ref())
    }

    /// Whether the signature of the text is valid.
    #[cfg(test)]
    pub(crate) fn signed(&self, text: &[u8], signature: &str) -> bool {
        let public = ring::signature::UnparsedPublicKey::new(
            &ring::signature::ED25519,
            self.signing.public_key().as_ref(),
        );
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
