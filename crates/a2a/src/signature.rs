//! Signatures of cards (section 8.4): JSON Web Signatures with a key of this server, over a card's canonical form.
//! Must not know: the place of the stored key, or permissions to read a card.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use plenary_kernel::json::{Nulls, canonical, digest};
use ring::{
    error::Unspecified,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::{Value, json};

/// The bytes of one coordinate of an uncompressed P-256 point, which follow its leading byte.
const COORDINATE_BYTES: usize = 32;

/// The key that signs the cards of this server.
#[derive(Debug)]
pub(crate) struct CardKey {
    pair: EcdsaKeyPair,
    /// The thumbprint of the key (RFC 7638).
    id: String,
}

impl CardKey {
    /// A new key, PKCS #8.
    pub(crate) fn generate() -> Result<Vec<u8>, Unspecified> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())?;
        Ok(key.as_ref().to_vec())
    }

    /// A stored key; `None` if it is not valid.
    pub(crate) fn read(pkcs8: &[u8]) -> Option<Self> {
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &SystemRandom::new()).ok()?;
        let required = canonical(&required(&pair)?, Nulls::Keep);
        Some(Self { id: URL_SAFE_NO_PAD.encode(digest(&required)), pair })
    }

    /// The JSON Web Key Set with the public key (RFC 7517).
    pub(crate) fn set(&self) -> Value {
        let mut key = required(&self.pair).unwrap_or_default();
        key["kid"] = self.id.as_str().into();
        key["alg"] = "ES256".into();
        key["use"] = "sig".into();
        json!({"keys": [key]})
    }

    /// Signs a card; `set_url` is the URL of the key set.
    pub(crate) fn sign(&self, mut card: Value, set_url: &str) -> Result<Value, Unspecified> {
        let protected = json!({"alg": "ES256", "typ": "JOSE", "kid": self.id, "jku": set_url});
        let protected = URL_SAFE_NO_PAD.encode(protected.to_string());
        let payload = canonical(&present(&card).unwrap_or_else(|| json!({})), Nulls::Keep);
        let input = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload));
        let signature = self.pair.sign(&SystemRandom::new(), input.as_bytes())?;
        let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
        card["signatures"] = json!([{"protected": protected, "signature": signature}]);
        Ok(card)
    }
}

/// The members of a key for its thumbprint.
fn required(pair: &EcdsaKeyPair) -> Option<Value> {
    let (x, y) = pair.public_key().as_ref().get(1..)?.split_at_checked(COORDINATE_BYTES)?;
    let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
    Some(json!({"kty": "EC", "crv": "P-256", "x": x, "y": y}))
}

/// Section 8.4.1: empty members count as absent, and absent members are not signed.
fn present(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().filter_map(present).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(members) => {
            let members = members.iter().filter_map(|(name, value)| Some((name.clone(), present(value)?)));
            let members: serde_json::Map<String, Value> = members.collect();
            (!members.is_empty()).then_some(Value::Object(members))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    fn bytes(text: &Value) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap()
    }

    #[test]
    fn a_card_is_signed_by_the_key_of_the_set_over_what_is_set_in_it() {
        let key = CardKey::read(&CardKey::generate().unwrap()).unwrap();
        let card = json!({"name": "Ö", "flag": false, "text": "", "list": [{"of": []}], "a": {"b": 1}});
        let signed = key.sign(card.clone(), "https://h/keys").unwrap();
        let signature = &signed["signatures"][0];
        let head: Value = serde_json::from_slice(&bytes(&signature["protected"])).unwrap();
        let published = &key.set()["keys"][0];
        assert_eq!((&head["kid"], &head["jku"]), (&published["kid"], &json!("https://h/keys")));
        let payload = URL_SAFE_NO_PAD.encode(r#"{"a":{"b":1},"flag":false,"name":"Ö"}"#);
        let input = format!("{}.{payload}", signature["protected"].as_str().unwrap());
        let point = [vec![4], bytes(&published["x"]), bytes(&published["y"])].concat();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        public.verify(input.as_bytes(), &bytes(&signature["signature"])).unwrap();
        assert!(public.verify(b"other", &bytes(&signature["signature"])).is_err());
        let mut unsigned = signed;
        unsigned.as_object_mut().unwrap().remove("signatures");
        assert_eq!(unsigned, card, "the card itself stays as it is");
    }

    #[test]
    fn a_stored_key_is_the_same_and_other_bytes_are_refused() {
        let stored = CardKey::generate().unwrap();
        assert_eq!(CardKey::read(&stored).unwrap().set(), CardKey::read(&stored).unwrap().set());
        assert!(CardKey::read(b"no key").is_none());
    }
}
