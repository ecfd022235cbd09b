//! Seals texts that a client keeps and returns, and that it must neither read nor make: capabilities, cursors.
//! Must not know: what is sealed.

use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
    rand::{SecureRandom as _, SystemRandom},
};

/// The key of one purpose.
#[derive(Debug)]
pub struct SealingKey(LessSafeKey);

impl SealingKey {
    /// The key for a purpose, derived from a secret of the server.
    pub fn derived(secret: &[u8], purpose: &[u8]) -> Self {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), purpose);
        let key = UnboundKey::new(&CHACHA20_POLY1305, derived.as_ref());
        Self(LessSafeKey::new(key.expect("a digest of 32 bytes is a key of 32 bytes")))
    }

    /// Encrypts a text for one bearer; [`Self::unseal`] with another bearer fails. `None` if the system has no random
    /// numbers.
    pub fn seal(&self, bearer: &str, mut text: Vec<u8>) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let unique = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(unique, Aad::from(bearer.as_bytes()), &mut text).ok()?;
        Some([&nonce[..], &text].concat())
    }

    /// The text that this key sealed for the bearer.
    pub fn unseal(&self, bearer: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let length = self.0.open_in_place(nonce, Aad::from(bearer.as_bytes()), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_that_sealed_a_text_opens_it_for_its_bearer() {
        let key = SealingKey::derived(b"secret", b"purpose");
        let sealed = key.seal("@a.b", b"text".to_vec()).unwrap();
        assert_eq!(key.unseal("@a.b", &sealed).as_deref(), Some(&b"text"[..]));
        assert_eq!(key.unseal("@a.c", &sealed), None);
        assert_ne!(key.seal("@a.b", b"text".to_vec()), Some(sealed.clone()));
        for (secret, purpose) in [("other", "purpose"), ("secret", "other")] {
            let other = SealingKey::derived(secret.as_bytes(), purpose.as_bytes());
            assert_eq!(other.unseal("@a.b", &sealed), None);
        }
        for index in [0, NONCE_LEN, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(key.unseal("@a.b", &changed), None, "{index}");
        }
        assert_eq!(key.unseal("@a.b", &sealed[..5]), None);
    }
}
