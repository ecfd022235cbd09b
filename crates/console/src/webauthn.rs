//! Parses a browser's passkey response and compares it with the server's challenge. There are two kinds of keys and no
//! attestation, so the key is at a fixed offset in a fixed form (CTAP2, 6), and no CBOR parser is needed.
//! Must not know: the owner of a passkey.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use plenary_kernel::json::digest;
use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey};
use serde::Deserialize;

use crate::limits::{CREDENTIAL_BYTES_MAX, PASSKEY_BYTES_MAX};

/// The flags of the authenticator data (WebAuthn, 6.1).
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const HAS_CREDENTIAL: u8 = 1 << 6;
/// The offsets in the authenticator data.
const FLAGS: usize = 32;
const COUNTER: std::ops::Range<usize> = 33..37;
const CREDENTIAL_LENGTH: std::ops::Range<usize> = 53..55;
const CREDENTIAL: usize = 55;
/// A COSE key for ES256 is `{1: 2, 3: -7, -1: 1, -2: x, -3: y}`, in this order and encoding.
const ES256_HEAD: &[u8] = &[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32];
const ES256_Y: &[u8] = &[0x22, 0x58, 32];
/// A COSE key for Ed25519 is `{1: 1, 3: -8, -1: 6, -2: x}`.
const ED25519_HEAD: &[u8] = &[0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32];
const COORDINATE: usize = 32;

/// The site that passkeys belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// The origin of its pages.
    pub(crate) origin: String,
    /// The host name, which is the relying party's id.
    pub(crate) rp_id: String,
}

impl Site {
    /// The site of a URL. Browsers offer passkeys only for host names, over TLS or at `localhost`.
    pub(crate) fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?.to_ascii_lowercase();
        let (host, port) = authority.rsplit_once(':').unwrap_or((&authority, ""));
        let is_local = host == "localhost" || host.ends_with(".localhost");
        let is_name = !host.is_empty()
            && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
            && !host.rsplit('.').next().is_none_or(|last| last.chars().all(|c| c.is_ascii_digit()));
        // An origin omits the scheme's default port.
        let is_own_port = matches!((scheme, port), ("https", "443" | "") | ("http", "80" | ""));
        let port = if is_own_port { String::new() } else { format!(":{port}") };
        let is_secure = scheme == "https" || scheme == "http" && is_local;
        (is_secure && is_name)
            .then(|| Self { origin: format!("{scheme}://{host}{port}"), rp_id: host.to_owned() })
    }
}

/// The browser's part of the signed data.
#[derive(Debug, Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    is_cross_origin: bool,
}

/// A public key of an authenticator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// ECDSA over P-256, as an uncompressed point.
    Es256(Vec<u8>),
    /// Ed25519.
    Ed25519(Vec<u8>),
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Es256(point) => write!(f, "es256:{}", hex::encode(point)),
            Self::Ed25519(key) => write!(f, "ed25519:{}", hex::encode(key)),
        }
    }
}

impl std::str::FromStr for Key {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, key) = text.split_once(':').ok_or(())?;
        let key = hex::decode(key).map_err(|_| ())?;
        match kind {
            "es256" => Ok(Self::Es256(key)),
            "ed25519" => Ok(Self::Ed25519(key)),
            _ => Err(()),
        }
    }
}

impl Key {
    /// Reads a COSE key.
    fn read(cose: &[u8]) -> Option<Self> {
        let coordinate = |bytes: &[u8]| bytes.get(..COORDINATE).map(<[u8]>::to_vec);
        if let Some(rest) = cose.strip_prefix(ED25519_HEAD) {
            return coordinate(rest).map(Self::Ed25519);
        }
        let rest = cose.strip_prefix(ES256_HEAD)?;
        let (x, y) = (coordinate(rest)?, coordinate(rest.get(COORDINATE..)?.strip_prefix(ES256_Y)?)?);
        Some(Self::Es256([&[4], &x[..], &y[..]].concat()))
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Es256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature)
            }
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
        };
        verified.is_ok()
    }
}

/// The response of a browser, decoded.
#[derive(Debug)]
pub(crate) struct Answer {
    client_data: Vec<u8>,
    authenticator_data: Vec<u8>,
    /// The challenge that it contains.
    pub(crate) challenge: String,
}

/// A new passkey.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CreatedPasskey {
    /// The credential id, in base64url.
    pub(crate) credential: String,
    pub(crate) key: Key,
    pub(crate) counter: u32,
}

/// Decodes base64url, with or without padding.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    if text.len() > PASSKEY_BYTES_MAX {
        return None;
    }
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

impl Answer {
    /// Checks a response for this site. `is_new` is for a registration instead of a sign-in. The error says what is wrong.
    pub(crate) fn read(
        site: &Site,
        is_new: bool,
        client_data: &str,
        authenticator_data: &str,
    ) -> Result<Self, &'static str> {
        let client_data = bytes(client_data).ok_or("client_data is no base64url, or too long")?;
        let authenticator_data =
            bytes(authenticator_data).ok_or("authenticator_data is no base64url, or too long")?;
        let parsed: ClientData =
            serde_json::from_slice(&client_data).map_err(|_| "client_data cannot be read")?;
        let kind = if is_new { "webauthn.create" } else { "webauthn.get" };
        if parsed.kind != kind {
            return Err("client_data is for another operation");
        }
        if parsed.origin != site.origin || parsed.is_cross_origin {
            return Err("client_data is of another origin");
        }
        if authenticator_data.get(..FLAGS) != Some(&digest(site.rp_id.as_bytes())[..]) {
            return Err("authenticator_data is for another site");
        }
        let answer = Self { client_data, authenticator_data, challenge: parsed.challenge };
        let (flags, _) = answer.flags_and_counter().ok_or("authenticator_data is too short")?;
        if flags & (USER_PRESENT | USER_VERIFIED) != USER_PRESENT | USER_VERIFIED {
            return Err("the authenticator did not verify its user");
        }
        Ok(answer)
    }

    fn flags_and_counter(&self) -> Option<(u8, u32)> {
        let counter = self.authenticator_data.get(COUNTER)?.try_into().ok()?;
        Some((*self.authenticator_data.get(FLAGS)?, u32::from_be_bytes(counter)))
    }

    /// The authenticator's signature counter.
    pub(crate) fn counter(&self) -> u32 {
        self.flags_and_counter().map_or(0, |(_, counter)| counter)
    }

    /// The new passkey of a registration.
    pub(crate) fn created_passkey(&self) -> Result<CreatedPasskey, &'static str> {
        let (flags, counter) = self.flags_and_counter().ok_or("authenticator_data is too short")?;
        if flags & HAS_CREDENTIAL == 0 {
            return Err("authenticator_data has no passkey");
        }
        let data = &self.authenticator_data;
        let length = data.get(CREDENTIAL_LENGTH).and_then(|length| length.try_into().ok());
        let length = usize::from(u16::from_be_bytes(length.ok_or("authenticator_data is too short")?));
        let credential = data.get(CREDENTIAL..CREDENTIAL + length).filter(|id| !id.is_empty());
        let credential = credential.filter(|id| id.len() <= CREDENTIAL_BYTES_MAX);
        let credential = credential.ok_or("the id of the passkey is no such id")?;
        let key = Key::read(&data[CREDENTIAL + length..]).ok_or("the key is neither ES256 nor Ed25519")?;
        Ok(CreatedPasskey { credential: URL_SAFE_NO_PAD.encode(credential), key, counter })
    }

    /// Whether this key signed the response.
    pub(crate) fn is_signed_by(&self, key: &Key, signature: &[u8]) -> bool {
        let message = [&self.authenticator_data[..], &digest(&self.client_data)[..]].concat();
        key.verifies(&message, signature)
    }
}

#[cfg(test)]
mod tests {
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
    };
    use serde_json::json;

    use super::*;

    fn site() -> Site {
        Site::of("https://agents.example/p").unwrap()
    }

    fn client_data(kind: &str, origin: &str) -> String {
        let json = json!({"type": kind, "challenge": "Y2g", "origin": origin, "crossOrigin": false});
        URL_SAFE_NO_PAD.encode(json.to_string())
    }

    fn data(rp_id: &str, flags: u8, counter: u32, rest: &[u8]) -> Vec<u8> {
        [&digest(rp_id.as_bytes())[..], &[flags], &counter.to_be_bytes(), rest].concat()
    }

    fn created(cose: &[u8]) -> Result<CreatedPasskey, &'static str> {
        let rest = [&[0; 16][..], &[0, 3], b"abc", cose].concat();
        let data = URL_SAFE_NO_PAD.encode(data("agents.example", 0x45, 7, &rest));
        Answer::read(&site(), true, &client_data("webauthn.create", "https://agents.example"), &data)?
            .created_passkey()
    }

    #[test]
    fn sites_have_a_name_and_are_secure() {
        for (url, origin, rp_id) in [
            ("https://Agents.example/p", "https://agents.example", "agents.example"),
            ("https://a.example:443", "https://a.example", "a.example"),
            ("https://a.example:8443/", "https://a.example:8443", "a.example"),
            ("http://localhost:7420", "http://localhost:7420", "localhost"),
            ("http://a.localhost", "http://a.localhost", "a.localhost"),
        ] {
            assert_eq!(Site::of(url), Some(Site { origin: origin.into(), rp_id: rp_id.into() }), "{url}");
        }
        for url in [
            "http://127.0.0.1:7420",
            "https://10.0.0.1",
            "http://a.example",
            "https://[::1]:1",
            "/",
            "https://",
            "ftp://localhost",
        ] {
            assert_eq!(Site::of(url), None, "{url}");
        }
    }

    #[test]
    fn both_kinds_of_keys_are_read_and_verify() {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref();
        let cose = [ES256_HEAD, &point[1..33], ES256_Y, &point[33..]].concat();
        let es256 = created(&cose).unwrap();
        assert_eq!((es256.credential.as_str(), es256.counter), ("YWJj", 7));
        assert_eq!(es256.key.to_string().parse(), Ok(es256.key.clone()));
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let other = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
        let ed25519 = created(&[ED25519_HEAD, other.public_key().as_ref()].concat()).unwrap().key;
        assert_eq!(ed25519.to_string().parse(), Ok(ed25519.clone()));

        let (client, data) =
            (client_data("webauthn.get", "https://agents.example"), data("agents.example", 5, 8, &[]));
        let message = [&data[..], &digest(&bytes(&client).unwrap())[..]].concat();
        let answer = Answer::read(&site(), false, &client, &URL_SAFE_NO_PAD.encode(&data)).unwrap();
        assert_eq!((answer.challenge.as_str(), answer.counter()), ("Y2g", 8));
        let (one, two) = (pair.sign(&random, &message).unwrap(), other.sign(&message));
        assert!(answer.is_signed_by(&es256.key, one.as_ref()) && answer.is_signed_by(&ed25519, two.as_ref()));
        assert!(
            !answer.is_signed_by(&es256.key, two.as_ref()) && !answer.is_signed_by(&ed25519, one.as_ref())
        );
        let mut changed = one.as_ref().to_vec();
        changed[12] ^= 1;
        assert!(!answer.is_signed_by(&es256.key, &changed));
        for cut in 0..cose.len() {
            assert!(created(&cose[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn what_is_for_somebody_else_is_refused() {
        let own = client_data("webauthn.get", "https://agents.example");
        let read = |client: &str, data: Vec<u8>| {
            Answer::read(&site(), false, client, &URL_SAFE_NO_PAD.encode(data)).map(drop)
        };
        assert!(read(&own, data("agents.example", 5, 0, &[])).is_ok());
        for (client, data) in [
            (client_data("webauthn.create", "https://agents.example"), data("agents.example", 5, 0, &[])),
            (client_data("webauthn.get", "https://evil.example"), data("agents.example", 5, 0, &[])),
            (client_data("webauthn.get", "http://agents.example"), data("agents.example", 5, 0, &[])),
            (own.clone(), data("evil.example", 5, 0, &[])),
            (own.clone(), data("agents.example", 1, 0, &[])),
            (own.clone(), data("agents.example", 4, 0, &[])),
            (own, data("agents.example", 5, 0, &[])[..36].to_vec()),
            ("x".into(), data("agents.example", 5, 0, &[])),
            (String::new(), Vec::new()),
        ] {
            assert!(read(&client, data).is_err(), "{client}");
        }
        let cross = json!({"type": "webauthn.get", "challenge": "", "origin": "https://agents.example", "crossOrigin": true});
        assert!(read(&URL_SAFE_NO_PAD.encode(cross.to_string()), data("agents.example", 5, 0, &[])).is_err());
        assert!(read(&"A".repeat(PASSKEY_BYTES_MAX + 4), data("agents.example", 5, 0, &[])).is_err());
    }
}
