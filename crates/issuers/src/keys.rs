//! An issuer's public keys (RFC 7517): only those for asymmetric signatures. Pure.
//! Must not know: how they are fetched.

use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use crate::{flaw::Flaw, limits::KEYS_MAX};

const RSA: [Algorithm; 6] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// The asymmetric algorithm of this name.
pub(crate) fn algorithm_of(name: &str) -> Option<Algorithm> {
    match name {
        "ES256" => Some(Algorithm::ES256),
        "ES384" => Some(Algorithm::ES384),
        "EdDSA" => Some(Algorithm::EdDSA),
        _ => RSA.into_iter().find(|algorithm| format!("{algorithm:?}") == name),
    }
}

#[derive(Clone)]
pub(crate) struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    pub(crate) decoding: DecodingKey,
}

/// The keys of an issuer.
#[derive(Clone, Default)]
pub(crate) struct Keys(Vec<Key>);

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// The members of a key that this server reads.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    r#use: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Key {
    fn read(value: Value) -> Option<Self> {
        let Jwk { kty, kid, r#use, key_ops, alg, crv, n, e, x, y } = serde_json::from_value(value).ok()?;
        let signs = r#use.is_none_or(|used| used == "sig")
            && key_ops.is_none_or(|operations| operations.iter().any(|operation| operation == "verify"));
        let (able, decoding) = match (kty.as_str(), crv.as_deref()) {
            ("RSA", _) => (RSA.to_vec(), DecodingKey::from_rsa_components(&n?, &e?).ok()?),
            ("EC", Some("P-256")) => {
                (vec![Algorithm::ES256], DecodingKey::from_ec_components(&x?, &y?).ok()?)
            }
            ("EC", Some("P-384")) => {
                (vec![Algorithm::ES384], DecodingKey::from_ec_components(&x?, &y?).ok()?)
            }
            ("OKP", Some("Ed25519")) => (vec![Algorithm::EdDSA], DecodingKey::from_ed_components(&x?).ok()?),
            _ => return None,
        };
        let algorithms = match alg {
            None => able,
            Some(name) => able.into_iter().filter(|one| algorithm_of(&name) == Some(*one)).collect(),
        };
        (signs && !algorithms.is_empty()).then_some(Self { id: kid, algorithms, decoding })
    }
}

impl Keys {
    /// Reads a key set; keys of unsupported kinds are skipped.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let KeySet { keys } = serde_json::from_slice(text).ok()?;
        Some(Self(keys.into_iter().filter_map(Key::read).take(KEYS_MAX).collect()))
    }

    /// Whether the set has a key of this id, or any key if the token names none.
    pub(crate) fn has(&self, id: Option<&str>) -> bool {
        self.0.iter().any(|key| id.is_none_or(|id| key.id.as_deref() == Some(id)))
    }

    /// The key that a token names, or else the only key with this algorithm.
    pub(crate) fn of(&self, id: Option<&str>, algorithm: Algorithm) -> Result<&Key, Flaw> {
        let named: Vec<_> =
            self.0.iter().filter(|key| id.is_none_or(|id| key.id.as_deref() == Some(id))).collect();
        if named.is_empty() {
            return Err(Flaw::UnknownKey);
        }
        let mut able = named.into_iter().filter(|key| key.algorithms.contains(&algorithm));
        match (able.next(), able.next()) {
            (Some(key), None) => Ok(key),
            (Some(_), Some(_)) => Err(Flaw::UnknownKey),
            (None, _) => Err(Flaw::Algorithm),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rsa(id: &str) -> Value {
        json!({"kty": "RSA", "kid": id, "n": "AQAB", "e": "AQAB"})
    }

    fn keys(keys: &Value) -> Keys {
        Keys::read(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_key_is_for_the_algorithms_of_its_kind_alone() {
        let mut only = rsa("b");
        only["alg"] = json!("PS256");
        let keys = keys(&json!([rsa("a"), only, {"kty": "OKP", "crv": "Ed25519", "kid": "c", "x": "AA"}]));
        assert!(keys.of(Some("a"), Algorithm::RS256).is_ok() && keys.of(Some("b"), Algorithm::PS256).is_ok());
        assert!(keys.of(None, Algorithm::EdDSA).is_ok(), "the only one that signs so");
        let no = |id, algorithm| keys.of(id, algorithm).err();
        assert_eq!(no(Some("b"), Algorithm::RS256), Some(Flaw::Algorithm));
        assert_eq!(no(Some("a"), Algorithm::ES256), Some(Flaw::Algorithm));
        assert_eq!(no(Some("a"), Algorithm::HS256), Some(Flaw::Algorithm));
        assert_eq!(no(Some("d"), Algorithm::RS256), Some(Flaw::UnknownKey));
        assert_eq!(no(None, Algorithm::PS256), Some(Flaw::UnknownKey), "two could be meant");
    }

    #[test]
    fn keys_that_do_not_verify_are_left_out() {
        let mut encrypts = rsa("e");
        encrypts["use"] = json!("enc");
        let secret = json!({"kty": "oct", "kid": "s", "k": "AA"});
        let strange = json!({"kty": "EC", "crv": "secp256k1", "kid": "k", "x": "AA", "y": "AA"});
        let keys = keys(&json!([encrypts, secret, strange, 7, rsa("a")]));
        assert!(keys.has(Some("a")) && keys.has(None));
        for id in ["e", "s", "k"] {
            assert!(!keys.has(Some(id)), "{id}");
        }
        assert!(Keys::read(b"{}").is_none() && Keys::read(b"x").is_none());
    }

    #[test]
    fn past_their_number_keys_are_left_out() {
        let many: Vec<_> = (0..=KEYS_MAX).map(|nth| rsa(&nth.to_string())).collect();
        let keys = keys(&json!(many));
        assert!(keys.has(Some("0")) && !keys.has(Some(&KEYS_MAX.to_string())));
    }

    #[test]
    fn only_asymmetric_algorithms_have_a_name_here() {
        for name in ["RS256", "PS512", "ES256", "ES384", "EdDSA"] {
            assert!(algorithm_of(name).is_some(), "{name}");
        }
        for name in ["none", "None", "HS256", "HS512", "rs256", "ES512", ""] {
            assert!(algorithm_of(name).is_none(), "{name}");
        }
    }
}
