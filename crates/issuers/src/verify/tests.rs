//! Given, when, then: the keys of an issuer, a token, acceptance or the reason of refusal.

use jsonwebtoken::Algorithm;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::json;

use super::*;

const NOW: TimestampMs = TimestampMs(1_790_000_000_000);
const NOW_S: u64 = NOW.0 / 1_000;
const ISSUER: &str = "https://issuer.example";

/// Signs as an issuer does.
struct Signer {
    curve: EcdsaKeyPair,
    edwards: Ed25519KeyPair,
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let curve =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self { curve, edwards: Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap() }
    }

    fn keys(&self) -> Keys {
        let point = self.curve.public_key().as_ref();
        let keys = json!({"keys": [
            {"kty": "EC", "crv": "P-256", "kid": "c", "use": "sig", "x": encode(&point[1..33]), "y": encode(&point[33..])},
            {"kty": "OKP", "crv": "Ed25519", "kid": "e", "x": encode(self.edwards.public_key())},
        ]});
        Keys::read(keys.to_string().as_bytes()).unwrap()
    }

    fn sign(&self, head: &Value, claims: &Value) -> String {
        let text = format!("{}.{}", encode(head.to_string()), encode(claims.to_string()));
        let signature = if head["alg"] == "EdDSA" {
            encode(self.edwards.sign(text.as_bytes()))
        } else {
            encode(self.curve.sign(&SystemRandom::new(), text.as_bytes()).unwrap())
        };
        format!("{text}.{signature}")
    }
}

fn head() -> Value {
    json!({"alg": "ES256", "kid": "c", "typ": "JWT"})
}

fn claims(more: &Value) -> Value {
    let mut claims =
        json!({"iss": ISSUER, "sub": "s", "aud": "us", "exp": NOW_S + 60, "iat": NOW_S, "nbf": NOW_S});
    for (name, value) in more.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

fn seen(token: &str, keys: &Keys, is_id_token: bool) -> Result<Proven, Flaw> {
    let audiences = ["us".to_owned(), "us/mcp".to_owned()];
    let expected = Expected { issuer: ISSUER, audiences: &audiences, is_id_token };
    verify(token, &Head::of(token)?, keys, expected, NOW)
}

fn flaw(token: &str, keys: &Keys) -> Flaw {
    seen(token, keys, false).unwrap_err()
}

#[test]
fn a_token_of_either_key_is_accepted() {
    let signer = Signer::new();
    let keys = signer.keys();
    let proven = seen(&signer.sign(&head(), &claims(&json!({"x": [1]}))), &keys, true).unwrap();
    assert_eq!((proven.subject.as_str(), proven.ends), ("s", TimestampMs(NOW.0 + 60_000)));
    assert_eq!((proven.display_name(), &proven.claims["x"]), ("s", &json!([1])));
    let other = json!({"alg": "EdDSA", "kid": "e"});
    assert!(seen(&signer.sign(&other, &claims(&json!({"aud": ["x", "us/mcp"]}))), &keys, false).is_ok());
    let unnamed = json!({"alg": "ES256"});
    assert!(seen(&signer.sign(&unnamed, &claims(&json!({}))), &keys, false).is_ok());
}

#[test]
fn forged_tokens_are_refused() {
    let signer = Signer::new();
    let (keys, other) = (signer.keys(), Signer::new());
    let good = claims(&json!({}));
    assert_eq!(flaw(&other.sign(&head(), &good), &keys), Flaw::Signature);
    let token = signer.sign(&head(), &good);
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let (head_part, _) = signed.split_once('.').unwrap();
    let changed = encode(claims(&json!({"sub": "operator"})).to_string());
    assert_eq!(flaw(&format!("{head_part}.{changed}.{signature}"), &keys), Flaw::Signature);
    assert_eq!(flaw(&format!("{signed}."), &keys), Flaw::Signature);
    for (algorithm, expected) in [
        ("none", Flaw::Algorithm),
        ("NONE", Flaw::Algorithm),
        ("HS256", Flaw::Algorithm),
        ("RS256", Flaw::Algorithm),
        ("ES384", Flaw::Algorithm),
    ] {
        let head = json!({"alg": algorithm, "kid": "c"});
        assert_eq!(flaw(&signer.sign(&head, &good), &keys), expected, "{algorithm}");
    }
    let unknown = json!({"alg": "ES256", "kid": "x"});
    assert_eq!(flaw(&signer.sign(&unknown, &good), &keys), Flaw::UnknownKey);
    let critical = json!({"alg": "ES256", "kid": "c", "crit": ["b64"], "b64": false});
    assert_eq!(flaw(&signer.sign(&critical, &good), &keys), Flaw::Malformed);
    let own_key = json!({"alg": "ES256", "kid": 7});
    assert_eq!(flaw(&signer.sign(&own_key, &good), &keys), Flaw::Malformed);
    for bad in ["", ".", "..", "a.b.c", "a.b", "a.b.c.d", &format!("{token}{}", "A".repeat(TOKEN_BYTES_MAX))]
    {
        assert_eq!(seen(bad, &keys, false).unwrap_err(), Flaw::Malformed, "{bad:.20}");
    }
}

/// The same text with its other ECDSA signature: (r, n - s) instead of (r, s).
fn with_the_other_signature(token: &str) -> String {
    let order: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa,
        0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ];
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let mut signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let mut borrow = 0;
    for at in (0..32).rev() {
        let difference = i16::from(order[at]) - i16::from(signature[32 + at]) - borrow;
        borrow = i16::from(difference < 0);
        signature[32 + at] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    format!("{signed}.{}", encode(signature))
}

#[test]
fn another_signature_of_the_same_text_is_no_other_token() {
    let signer = Signer::new();
    let keys = signer.keys();
    let token = signer.sign(&head(), &claims(&json!({})));
    let other = with_the_other_signature(&token);
    assert_ne!(token, other);
    let signed = |token: &str| seen(token, &keys, false).unwrap().signed;
    assert_eq!(signed(&token), signed(&other));
    assert_ne!(signed(&token), signed(&signer.sign(&head(), &claims(&json!({"jti": "x"})))));
}

#[test]
fn a_key_inside_the_token_is_ignored() {
    let (signer, other) = (Signer::new(), Signer::new());
    let point = other.curve.public_key().as_ref().to_vec();
    let jwk = json!({"kty": "EC", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..])});
    let head = json!({"alg": "ES256", "kid": "c", "jwk": jwk, "jku": "https://evil.example/keys"});
    let token = other.sign(&head, &claims(&json!({})));
    assert!(matches!(flaw(&token, &signer.keys()), Flaw::Signature | Flaw::Malformed));
}

#[test]
fn claims_are_for_this_server_and_now() {
    let signer = Signer::new();
    let keys = signer.keys();
    let far = SKEW_MS_MAX / 1_000;
    for (more, expected) in [
        (json!({"iss": "https://issuer.example/"}), Flaw::Issuer),
        (json!({"iss": null}), Flaw::Issuer),
        (json!({"aud": "them"}), Flaw::Audience),
        (json!({"aud": ["them", 7]}), Flaw::Audience),
        (json!({"aud": null}), Flaw::Claims),
        (json!({"exp": NOW_S - far}), Flaw::Expired),
        (json!({"exp": null}), Flaw::Claims),
        (json!({"exp": "9999999999"}), Flaw::Claims),
        (json!({"exp": -1}), Flaw::Claims),
        (json!({"nbf": NOW_S + far + 1}), Flaw::NotYet),
        (json!({"iat": NOW_S + far + 1}), Flaw::NotYet),
        (json!({"nbf": [1]}), Flaw::Malformed),
        (json!({"sub": null}), Flaw::Claims),
        (json!({"sub": ""}), Flaw::Claims),
        (json!({"cnf": {"jkt": "x"}}), Flaw::Type),
    ] {
        assert_eq!(flaw(&signer.sign(&head(), &claims(&more)), &keys), expected, "{more}");
    }
    for more in [
        json!({"exp": NOW_S - far + 1}),
        json!({"nbf": NOW_S + far, "iat": NOW_S + far}),
        json!({"iat": null, "nbf": null}),
    ] {
        assert!(seen(&signer.sign(&head(), &claims(&more)), &keys, false).is_ok(), "{more}");
    }
}

#[test]
fn an_id_token_is_for_its_client_and_no_access_token_is_one() {
    let signer = Signer::new();
    let keys = signer.keys();
    let verified = |head: &Value, more: &Value| seen(&signer.sign(head, &claims(more)), &keys, true);
    assert!(verified(&head(), &json!({"aud": ["us", "x"], "azp": "us"})).is_ok());
    for more in [json!({"aud": ["us", "x"]}), json!({"azp": "x"}), json!({"aud": ["us", "x"], "azp": "x"})] {
        assert_eq!(verified(&head(), &more).unwrap_err(), Flaw::Audience, "{more}");
    }
    let typed = |kind: &str| json!({"alg": "ES256", "kid": "c", "typ": kind});
    assert_eq!(verified(&typed("at+jwt"), &json!({})).unwrap_err(), Flaw::Type);
    for kind in ["logout+jwt", "dpop+jwt", "secevent+jwt"] {
        assert_eq!(flaw(&signer.sign(&typed(kind), &claims(&json!({}))), &keys), Flaw::Type, "{kind}");
    }
    assert!(seen(&signer.sign(&typed("application/AT+JWT"), &claims(&json!({}))), &keys, false).is_ok());
}

#[test]
fn a_key_of_another_algorithm_is_not_used() {
    let signer = Signer::new();
    let keys = signer.keys();
    assert!(keys.of(Some("c"), Algorithm::ES256).is_ok());
    let mixed = json!({"alg": "EdDSA", "kid": "c"});
    assert_eq!(flaw(&signer.sign(&mixed, &claims(&json!({}))), &keys), Flaw::Algorithm);
}

#[test]
fn the_issuer_that_a_token_names_is_read_without_trust() {
    let signer = Signer::new();
    let token = signer.sign(&head(), &claims(&json!({})));
    assert_eq!(named_issuer(&token).as_deref(), Ok(ISSUER));
    assert_eq!(named_issuer("a.b"), Err(Flaw::Malformed));
    assert_eq!(named_issuer(&signer.sign(&head(), &claims(&json!({"iss": 7})))), Err(Flaw::Claims));
}
