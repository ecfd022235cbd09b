//! Messages to browsers: encrypted (RFC 8291), with the key that identifies this server to push services (RFC 8292).
//! Must not know: the content of a message.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral},
    error::Unspecified,
    hkdf::{HKDF_SHA256, KeyType, Prk, Salt},
    rand::{SecureRandom as _, SystemRandom},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::json;

/// The record size in the header of a message.
const RECORD_BYTES: u32 = 4_096;
/// The delimiter of the last record.
const LAST: u8 = 2;
/// An uncompressed point on P-256.
const POINT_BYTES: usize = 65;
/// The authentication secret of a browser.
const AUTH_BYTES: usize = 16;
/// How long a token for a push service is valid, in seconds; the standard allows a day.
const TOKEN_SECONDS: u64 = 12 * 3_600;

/// The keys of a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Browser {
    p256dh: Vec<u8>,
    auth: Vec<u8>,
}

impl Browser {
    /// Parses the keys from base64url; `None` if they are not valid.
    pub(crate) fn read(p256dh: &str, auth: &str) -> Option<Self> {
        let read = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let (p256dh, auth) = (read(p256dh)?, read(auth)?);
        let fits = p256dh.len() == POINT_BYTES && p256dh.first() == Some(&4) && auth.len() == AUTH_BYTES;
        fits.then_some(Self { p256dh, auth })
    }
}

struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

fn expanded(prk: &Prk, info: &[&[u8]], len: usize) -> Result<Vec<u8>, Unspecified> {
    let mut out = vec![0; len];
    prk.expand(info, Bytes(len))?.fill(&mut out)?;
    Ok(out)
}

/// Encrypts a message with the keys that both sides share.
fn sealed_with(
    browser: &Browser,
    shared: &[u8],
    (public, salt): (&[u8], [u8; 16]),
    text: &[u8],
) -> Result<Vec<u8>, Unspecified> {
    let prk = Salt::new(HKDF_SHA256, &browser.auth).extract(shared);
    let both = expanded(&prk, &[b"WebPush: info\0", &browser.p256dh, public], 32)?;
    let prk = Salt::new(HKDF_SHA256, &salt).extract(&both);
    let key = expanded(&prk, &[b"Content-Encoding: aes128gcm\0"], 16)?;
    let nonce = expanded(&prk, &[b"Content-Encoding: nonce\0"], 12)?;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    let mut record = [text, &[LAST]].concat();
    key.seal_in_place_append_tag(Nonce::try_assume_unique_for_key(&nonce)?, Aad::empty(), &mut record)?;
    let point = u8::try_from(public.len()).map_err(|_| Unspecified)?;
    Ok([&salt[..], &RECORD_BYTES.to_be_bytes(), &[point], public, &record].concat())
}

/// A message that only this browser can decrypt.
pub(crate) fn sealed(browser: &Browser, text: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let random = SystemRandom::new();
    let private = EphemeralPrivateKey::generate(&ECDH_P256, &random)?;
    let public = private.compute_public_key()?;
    let mut salt = [0; 16];
    random.fill(&mut salt)?;
    let peer = UnparsedPublicKey::new(&ECDH_P256, &browser.p256dh);
    agree_ephemeral(private, &peer, |shared| sealed_with(browser, shared, (public.as_ref(), salt), text))?
}

/// The key that identifies this server.
#[derive(Debug)]
pub(crate) struct Vapid(EcdsaKeyPair);

impl Vapid {
    /// A new key, PKCS #8.
    pub(crate) fn generate() -> Result<Vec<u8>, Unspecified> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)?;
        Ok(key.as_ref().to_vec())
    }

    /// A stored key.
    pub(crate) fn read(pkcs8: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random).ok().map(Self)
    }

    /// The public key, in the form for browsers.
    pub(crate) fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref())
    }

    /// The `Authorization` header for a push service.
    pub(crate) fn authorization(
        &self,
        origin: &str,
        contact: &str,
        now_s: u64,
    ) -> Result<String, Unspecified> {
        let head = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"ES256"}"#);
        let claims = json!({"aud": origin, "exp": now_s.saturating_add(TOKEN_SECONDS), "sub": contact});
        let signed = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes())?;
        Ok(format!("vapid t={signed}.{}, k={}", URL_SAFE_NO_PAD.encode(signature.as_ref()), self.public()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn it_seals_as_the_example_of_rfc_8291_shows() {
        let browser = Browser::read(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "BTBZMqHH6r4Tts7J_aSIgg",
        )
        .unwrap();
        let public =
            bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let salt: [u8; 16] = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let shared = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let text = b"When I grow up, I want to be a watermelon";
        let sealed = sealed_with(&browser, &shared, (&public, salt), text).unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.encode(sealed),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn a_stored_key_is_read_unchanged() {
        let stored = Vapid::generate().unwrap();
        let (first, second) = (Vapid::read(&stored).unwrap(), Vapid::read(&stored).unwrap());
        assert_eq!(first.public(), second.public());
        assert!(Vapid::read(b"no key").is_none());
        let header = first.authorization("https://push.example", "mailto:a@b", 1).unwrap();
        assert!(header.starts_with("vapid t=") && header.ends_with(&format!(", k={}", first.public())));
    }

    #[test]
    fn invalid_keys_of_a_browser_are_refused() {
        assert!(Browser::read("", "").is_none());
        assert!(Browser::read(&URL_SAFE_NO_PAD.encode([4; 65]), &URL_SAFE_NO_PAD.encode([0; 15])).is_none());
    }
}
