//! Creates and reads signatures of requests between networks (RFC 9421, over method, target URI and content digest).
//! Pure, but for the transport's types.
//! Must not know: which networks exist, or which nonces were used.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use plenary_kernel::{TimestampMs, json::digest};
use sfv::{BareItem, Dictionary, FieldType as _, InnerList, List, ListEntry, Parser};

use crate::{
    key::{NetworkKey, PublicKey},
    limits::{FIELD_BYTES_MAX, NONCE_CHARS, SIGNATURE_SECONDS, SIGNATURE_SECONDS_MAX, SKEW_SECONDS_MAX},
};

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");
/// The covered components, in this order.
const COVERED: [&str; 3] = ["@method", "@target-uri", "content-digest"];
/// The purpose of a signature (section 2.3); one with another tag is ignored.
const TAG: &str = "plenary-link";
const ALGORITHM: &str = "ed25519";
/// The label of this network's signatures.
const LABEL: &str = "plenary";

/// The signed parts of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignedParts<'a> {
    pub(crate) method: &'a str,
    /// The full URL under the receiving network's own origin, so that the signature is not valid at another network.
    pub(crate) target: &'a str,
    pub(crate) body: &'a [u8],
}

impl SignedParts<'_> {
    fn content_digest(&self) -> String {
        format!("sha-256=:{}:", STANDARD.encode(digest(self.body)))
    }

    fn base(&self, content_digest: &str, parameters: &str) -> String {
        let [method, target, digest] = COVERED;
        format!(
            "\"{method}\": {}\n\"{target}\": {}\n\"{digest}\": {content_digest}\n\"@signature-params\": {parameters}",
            self.method, self.target
        )
    }
}

/// The headers of a signed request.
pub(crate) fn sign(
    parts: &SignedParts<'_>,
    key: &NetworkKey,
    now: TimestampMs,
    nonce: [u8; 16],
) -> [(HeaderName, HeaderValue); 3] {
    let created = now.0 / 1_000;
    let components = COVERED.map(|component| format!("\"{component}\"")).join(" ");
    let parameters = format!(
        "({components});created={created};expires={};nonce=\"{}\";alg=\"{ALGORITHM}\";keyid=\"{}\";tag=\"{TAG}\"",
        created + SIGNATURE_SECONDS,
        URL_SAFE_NO_PAD.encode(nonce),
        key.public().id()
    );
    let content_digest = parts.content_digest();
    let signature = STANDARD.encode(key.sign(parts.base(&content_digest, &parameters).as_bytes()));
    let value =
        |text: String| HeaderValue::try_from(text).expect("base64, numbers and names are visible ASCII");
    [
        (CONTENT_DIGEST, value(content_digest)),
        (SIGNATURE_INPUT, value(format!("{LABEL}={parameters}"))),
        (SIGNATURE, value(format!("{LABEL}=:{signature}:"))),
    ]
}

/// The signature of a request, not yet verified.
#[derive(Debug, Clone)]
pub(crate) struct SentSignature {
    /// The id of its key.
    pub(crate) key: String,
    /// The nonce, which is unique for the key.
    pub(crate) nonce: String,
    /// The expiry, in seconds since the epoch.
    pub(crate) expires: u64,
    created: u64,
    base: String,
    signature: Vec<u8>,
}

/// The signature is not valid at this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotNow;

impl SentSignature {
    /// Reads the signature for a link; `None` if there is none, if it is malformed, or if the body does not match its digest.
    pub(crate) fn read(parts: &SignedParts<'_>, headers: &HeaderMap) -> Option<Self> {
        let sent_digest = single_header(headers, &CONTENT_DIGEST)?;
        let digests: Dictionary = Parser::new(sent_digest).parse().ok()?;
        if bytes(digests.get("sha-256")?)? != digest(parts.body) {
            return None;
        }
        let inputs: Dictionary = Parser::new(single_header(headers, &SIGNATURE_INPUT)?).parse().ok()?;
        let (label, entry) = inputs.iter().find(|(_, entry)| is_for_link(entry))?;
        let signatures: Dictionary = Parser::new(single_header(headers, &SIGNATURE)?).parse().ok()?;
        let signature = bytes(signatures.get(label)?)?.to_vec();
        let ListEntry::InnerList(input) = entry else { return None };
        covers_all(input).then_some(())?;
        let nonce = text(input, "nonce")?;
        let is_nonce = NONCE_CHARS.contains(&nonce.len())
            && nonce.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        let is_ours = text(input, "alg").is_none_or(|alg| alg == ALGORITHM);
        if !(is_nonce && is_ours) {
            return None;
        }
        // The parameters in the canonical serialization of the field (section 2.3).
        let parameters = List::from([entry.clone()]).serialize()?;
        Some(Self {
            key: text(input, "keyid")?.to_owned(),
            nonce: nonce.to_owned(),
            expires: seconds(input, "expires")?,
            created: seconds(input, "created")?,
            base: parts.base(sent_digest, &parameters),
            signature,
        })
    }

    /// Whether the signature was made with this key.
    pub(crate) fn is_by(&self, key: &PublicKey) -> bool {
        self.key == key.id() && key.verifies(self.base.as_bytes(), &self.signature)
    }

    /// Checks that the signature is valid at this time.
    pub(crate) fn is_timely(&self, now: TimestampMs) -> Result<(), NotNow> {
        let now = now.0 / 1_000;
        let has_begun = self.created <= now.saturating_add(SKEW_SECONDS_MAX);
        let lifetime = self.expires.saturating_sub(self.created);
        if has_begun && now < self.expires && lifetime <= SIGNATURE_SECONDS_MAX {
            Ok(())
        } else {
            Err(NotNow)
        }
    }
}

/// The value of a header that occurs exactly once.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?.trim();
    (values.next().is_none() && value.len() <= FIELD_BYTES_MAX).then_some(value)
}

fn bytes(entry: &ListEntry) -> Option<&[u8]> {
    match entry {
        ListEntry::Item(item) => item.bare_item.as_byte_sequence(),
        ListEntry::InnerList(_) => None,
    }
}

fn text<'a>(input: &'a InnerList, name: &str) -> Option<&'a str> {
    Some(input.params.get(name)?.as_string()?.as_str())
}

fn seconds(input: &InnerList, name: &str) -> Option<u64> {
    let number = input.params.get(name).and_then(BareItem::as_integer)?;
    u64::try_from(i64::from(number)).ok()
}

fn is_for_link(entry: &ListEntry) -> bool {
    matches!(entry, ListEntry::InnerList(input) if text(input, "tag") == Some(TAG))
}

/// Whether the signature covers exactly the required components, without parameters.
fn covers_all(input: &InnerList) -> bool {
    let names = input.items.iter().map(|item| {
        let name = item.bare_item.as_string().map(|name| name.as_str());
        name.filter(|_| item.params.is_empty())
    });
    names.eq(COVERED.into_iter().map(Some))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::key;

    const NOW: TimestampMs = TimestampMs(1_700_000_000_000);
    const PARTS: SignedParts<'_> =
        SignedParts { method: "POST", target: "https://b.example/link/v1/accords", body: b"{\"a\":1}" };

    fn signed(parts: &SignedParts<'_>, key: &NetworkKey) -> HeaderMap {
        sign(parts, key, NOW, [7; 16]).into_iter().collect()
    }

    fn with(name: &HeaderName, change: impl Fn(&str) -> String) -> HeaderMap {
        let mut headers = signed(&PARTS, &key());
        let value = change(headers[name].to_str().unwrap());
        headers.insert(name.clone(), value.parse().unwrap());
        headers
    }

    #[test]
    fn what_is_signed_verifies_by_its_key_alone() {
        let (ours, other) = (key(), key());
        let sent = SentSignature::read(&PARTS, &signed(&PARTS, &ours)).unwrap();
        assert!(sent.is_by(&ours.public()));
        assert!(!sent.is_by(&other.public()));
        assert_eq!((sent.nonce.len(), sent.expires), (22, 1_700_000_060));
    }

    #[test]
    fn another_method_target_or_body_is_not_what_was_signed() {
        let key = key();
        let headers = signed(&PARTS, &key);
        let by = |parts: &SignedParts<'_>| {
            SentSignature::read(parts, &headers).is_some_and(|sent| sent.is_by(&key.public()))
        };
        assert!(by(&PARTS));
        assert!(!by(&SignedParts { method: "GET", ..PARTS }));
        assert!(!by(&SignedParts { target: "https://c.example/link/v1/accords", ..PARTS }));
        assert!(!by(&SignedParts { target: "https://b.example/link/v1/accords?x", ..PARTS }));
        assert!(!by(&SignedParts { body: b"{\"a\":2}", ..PARTS }));
    }

    #[test]
    fn a_signature_is_good_for_a_while() {
        let sent = SentSignature::read(&PARTS, &signed(&PARTS, &key())).unwrap();
        let at = |seconds: i64| {
            let ms = NOW.0.saturating_add_signed(seconds * 1_000);
            sent.is_timely(TimestampMs(ms)).is_ok()
        };
        assert!(at(0) && at(59) && at(-30));
        assert!(!at(60) && !at(-31));
        let long = SentSignature { expires: sent.created + SIGNATURE_SECONDS_MAX + 1, ..sent };
        assert_eq!(long.is_timely(NOW), Err(NotNow));
    }

    #[test]
    fn a_signature_that_covers_less_or_is_for_something_else_is_none() {
        assert!(SentSignature::read(&PARTS, &with(&SIGNATURE_INPUT, str::to_owned)).is_some());
        for (from, to) in [
            (" \"content-digest\"", ""),
            ("\"@method\" ", ""),
            ("\"@target-uri\"", "\"@path\""),
            ("\"@target-uri\"", "\"@target-uri\";req"),
            ("(", "(\"date\" "),
            (TAG, "other"),
            (ALGORITHM, "hmac-sha256"),
            (";nonce=", ";once="),
            ("nonce=\"", "nonce=\"/"),
            (";expires=", ";ends="),
            (";created=1700000000", ";created=-1"),
            ("keyid", "key"),
            ("plenary=", "other="),
        ] {
            let headers = with(&SIGNATURE_INPUT, |text| text.replacen(from, to, 1));
            assert!(SentSignature::read(&PARTS, &headers).is_none(), "{from} -> {to}");
        }
        for name in [&CONTENT_DIGEST, &SIGNATURE_INPUT, &SIGNATURE] {
            let mut twice = signed(&PARTS, &key());
            twice.append(name.clone(), twice[name].clone());
            assert!(SentSignature::read(&PARTS, &twice).is_none(), "{name} twice");
            twice.remove(name);
            assert!(SentSignature::read(&PARTS, &twice).is_none(), "no {name}");
            let long = with(name, |text| format!("{text};x=\"{}\"", "y".repeat(FIELD_BYTES_MAX)));
            assert!(SentSignature::read(&PARTS, &long).is_none(), "a long {name}");
        }
    }

    #[test]
    fn one_of_several_signatures_is_the_one_for_the_link() {
        let key = key();
        let mut headers = signed(&PARTS, &key);
        for (name, other) in
            [(SIGNATURE_INPUT, "proxy=(\"@method\");created=1, "), (SIGNATURE, "proxy=:AAAA:, ")]
        {
            let both = format!("{other}{}", headers[&name].to_str().unwrap());
            headers.insert(name, both.parse().unwrap());
        }
        assert!(SentSignature::read(&PARTS, &headers).unwrap().is_by(&key.public()));
    }
}
