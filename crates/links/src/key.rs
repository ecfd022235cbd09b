//! The Ed25519 key pair of a network, and the public key in the form of RFC 8037.
//! Must not know: where a key is stored, or the signed content.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use plenary_kernel::json::digest;
use ring::{
    error::Unspecified,
    rand::SystemRandom,
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};
use serde::{Deserialize, Serialize};

use crate::wire::NetworkKeyView;

const KIND: &str = "OKP";
const CURVE: &str = "Ed25519";

#[derive(Debug)]
pub(crate) struct NetworkKey(Ed25519KeyPair);

impl NetworkKey {
    /// Generates a key pair, in PKCS #8.
    pub(crate) fn generate() -> Result<Vec<u8>, Unspecified> {
        Ok(Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())?.as_ref().to_vec())
    }

    /// Reads a stored key pair; `None` if the bytes are not one.
    pub(crate) fn read(pkcs8: &[u8]) -> Option<Self> {
        Ed25519KeyPair::from_pkcs8(pkcs8).ok().map(Self)
    }

    pub(crate) fn public(&self) -> PublicKey {
        let bytes = self.0.public_key().as_ref();
        PublicKey(bytes.try_into().expect("a public key of Ed25519 has 32 bytes"))
    }

    pub(crate) fn sign(&self, base: &[u8]) -> Vec<u8> {
        self.0.sign(base).as_ref().to_vec()
    }
}

/// The public key of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct PublicKey([u8; 32]);

impl PublicKey {
    fn encoded(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// The thumbprint (RFC 7638), which is the key id in signatures.
    pub(crate) fn id(self) -> String {
        let required = format!(r#"{{"crv":"{CURVE}","kty":"{KIND}","x":"{}"}}"#, self.encoded());
        URL_SAFE_NO_PAD.encode(digest(required.as_bytes()))
    }

    /// The key as a JSON Web Key.
    pub(crate) fn view(self) -> NetworkKeyView {
        NetworkKeyView { kty: KIND.into(), crv: CURVE.into(), x: self.encoded(), kid: Some(self.id()) }
    }

    /// Reads a JSON Web Key; `None` for another kind of key.
    pub(crate) fn of(view: &NetworkKeyView) -> Option<Self> {
        let is_one = view.kty == KIND && view.crv == CURVE;
        is_one.then(|| view.x.clone().try_into().ok()).flatten()
    }

    pub(crate) fn verifies(self, base: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(base, signature).is_ok()
    }
}

impl TryFrom<String> for PublicKey {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or("is not a public key of Ed25519")
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.encoded()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn key() -> NetworkKey {
        NetworkKey::read(&NetworkKey::generate().unwrap()).unwrap()
    }

    #[test]
    fn a_key_is_named_as_rfc_8037_shows() {
        let public: PublicKey = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".to_owned().try_into().unwrap();
        assert_eq!(public.id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        assert_eq!(PublicKey::of(&public.view()), Some(public));
    }

    #[test]
    fn a_signature_verifies_as_rfc_9421_shows() {
        let public: PublicKey = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs".to_owned().try_into().unwrap();
        let base = "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n\"@authority\": example.com\n\
                    \"content-type\": application/json\n\"content-length\": 18\n\"@signature-params\": (\"date\" \"@method\" \
                    \"@path\" \"@authority\" \"content-type\" \"content-length\");created=1618884473;keyid=\"test-key-ed25519\"";
        let signature = base64::engine::general_purpose::STANDARD
            .decode(
                "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
            )
            .unwrap();
        assert!(public.verifies(base.as_bytes(), &signature));
        assert!(!public.verifies(b"other", &signature));
        assert!(!key().public().verifies(base.as_bytes(), &signature));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!(NetworkKey::read(b"no key").is_none());
        assert!(PublicKey::try_from("AAAA".to_owned()).is_err());
        let view = key().public().view();
        assert_eq!(PublicKey::of(&NetworkKeyView { kty: "EC".into(), ..view.clone() }), None);
        assert_eq!(PublicKey::of(&NetworkKeyView { crv: "X25519".into(), ..view }), None);
    }
}
