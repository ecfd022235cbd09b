//! Verifies a token: its issuer, its audience, and its validity. Pure.
//! Must not know: the source of keys, or the rules of admission.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, Validation, errors::ErrorKind};
use plenary_accounts::TokenDigest;
use plenary_kernel::TimestampMs;
use serde_json::{Map, Value};

use crate::{
    crypto,
    flaw::Flaw,
    keys::{Keys, algorithm_of},
    limits::{SKEW_MS_MAX, TOKEN_BYTES_MAX},
    rules::Claims,
};

/// A verified token.
#[derive(Debug, Clone, PartialEq)]
pub struct Proven {
    /// The `sub` claim.
    pub subject: String,
    /// All claims.
    pub claims: Claims,
    /// The time of expiry.
    pub ends: TimestampMs,
    /// The digest of the signed text, without the signature: one text can have several valid signatures.
    pub signed: TokenDigest,
}

impl Proven {
    /// The time until which it is accepted here, with the tolerated difference of clocks.
    pub fn accepted_until(&self) -> TimestampMs {
        TimestampMs(self.ends.0.saturating_add(SKEW_MS_MAX))
    }
}

impl Proven {
    /// A name for people: a verified address, the name from the issuer, or the subject.
    pub fn display_name(&self) -> &str {
        let text = |name: &str| self.claims.get(name).and_then(Value::as_str);
        let is_verified = self.claims.get("email_verified") == Some(&Value::Bool(true));
        text("email").filter(|_| is_verified).or_else(|| text("preferred_username")).unwrap_or(&self.subject)
    }
}

/// The requirements of a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    /// The accepted audiences.
    pub(crate) audiences: &'a [String],
    pub(crate) is_id_token: bool,
}

/// The header of a token whose signature is not verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    algorithm: Algorithm,
    pub(crate) key: Option<String>,
    kind: Option<String>,
}

fn part(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

/// The three parts of a token.
fn parts(token: &str) -> Result<[&str; 3], Flaw> {
    let mut parts = token.split('.').filter(|_| token.len() <= TOKEN_BYTES_MAX);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(head), Some(claims), Some(signature), None) => Ok([head, claims, signature]),
        _ => Err(Flaw::Malformed),
    }
}

/// The issuer that a token names, before anything is verified.
pub(crate) fn named_issuer(token: &str) -> Result<String, Flaw> {
    let [_, claims, _] = parts(token)?;
    let claims = part(claims).ok_or(Flaw::Malformed)?;
    claims.get("iss").and_then(Value::as_str).map(ToOwned::to_owned).ok_or(Flaw::Claims)
}

impl Head {
    pub(crate) fn of(token: &str) -> Result<Self, Flaw> {
        let [head, ..] = parts(token)?;
        let head = part(head).ok_or(Flaw::Malformed)?;
        // A token with an unknown critical header is invalid (RFC 7515, 4.1.11); no such header is known here.
        if head.contains_key("crit") {
            return Err(Flaw::Malformed);
        }
        let text = |name: &str| match head.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Flaw::Malformed),
        };
        // Symmetric algorithms need a shared secret, and `none` does not sign.
        let algorithm = algorithm_of(&text("alg")?.ok_or(Flaw::Malformed)?).ok_or(Flaw::Algorithm)?;
        Ok(Self { algorithm, key: text("kid")?, kind: text("typ")? })
    }

    /// Whether `typ` is absent or fits the use; tokens for log-out, events and proofs of possession do not.
    fn is_kind(&self, is_id_token: bool) -> bool {
        let kind = self.kind.as_deref().map(str::to_ascii_lowercase);
        match kind.as_deref().map(|kind| kind.trim_start_matches("application/")) {
            None | Some("jwt") => true,
            Some("at+jwt") => !is_id_token,
            Some(_) => false,
        }
    }
}

/// Verifies a token.
pub(crate) fn verify(
    token: &str,
    head: &Head,
    keys: &Keys,
    expected: Expected<'_>,
    now: TimestampMs,
) -> Result<Proven, Flaw> {
    crypto::install();
    if !head.is_kind(expected.is_id_token) {
        return Err(Flaw::Type);
    }
    let key = keys.of(head.key.as_deref(), head.algorithm)?;
    let mut validation = Validation::new(head.algorithm);
    // The claims are checked below, with this server's clock.
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let decoded = jsonwebtoken::decode::<Claims>(token, &key.decoding, &validation);
    let claims = decoded.map_err(|error| flaw_of(error.kind()))?.claims;
    // Anyone can compute a second valid ECDSA signature from a first one, so the digest leaves the signature out.
    let (signed, _) = token.rsplit_once('.').ok_or(Flaw::Malformed)?;
    checked(claims, TokenDigest::of(signed), expected, now)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the enum grows; whatever else is wrong is its form")]
fn flaw_of(error: &ErrorKind) -> Flaw {
    match error {
        ErrorKind::InvalidSignature => Flaw::Signature,
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidKeyFormat => Flaw::Algorithm,
        _ => Flaw::Malformed,
    }
}

/// A time from seconds since the epoch, with or without a fraction.
fn time(value: &Value) -> Option<TimestampMs> {
    let text = value.as_number()?.to_string();
    let seconds: u64 = text.split('.').next()?.parse().ok()?;
    Some(TimestampMs(seconds.saturating_mul(1_000)))
}

fn checked(
    claims: Claims,
    signed: TokenDigest,
    expected: Expected<'_>,
    now: TimestampMs,
) -> Result<Proven, Flaw> {
    let at = |name: &str| claims.get(name).map(|value| time(value).ok_or(Flaw::Claims)).transpose();
    if claims.get("iss").and_then(Value::as_str) != Some(expected.issuer) {
        return Err(Flaw::Issuer);
    }
    let is_for = |value: &Value| {
        value.as_str().is_some_and(|named| expected.audiences.iter().any(|audience| audience == named))
    };
    let (is_audience, others) = match claims.get("aud").ok_or(Flaw::Claims)? {
        Value::Array(named) => (named.iter().any(is_for), named.len() > 1),
        named @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            (is_for(named), false)
        }
    };
    // With several audiences, `azp` of an ID token must name the requesting client (OpenID Connect Core, 3.1.3.7).
    let is_party = || claims.get("azp").map_or(!others, is_for);
    if !is_audience || expected.is_id_token && !is_party() {
        return Err(Flaw::Audience);
    }
    let ends = at("exp")?.ok_or(Flaw::Claims)?;
    if ends.0.saturating_add(SKEW_MS_MAX) <= now.0 {
        return Err(Flaw::Expired);
    }
    let begins = at("nbf")?.max(at("iat")?).unwrap_or_default();
    if begins.0 > now.0.saturating_add(SKEW_MS_MAX) {
        return Err(Flaw::NotYet);
    }
    // The token is bound to a key that this server cannot check.
    if claims.contains_key("cnf") {
        return Err(Flaw::Type);
    }
    let subject = claims.get("sub").and_then(Value::as_str).filter(|subject| !subject.is_empty());
    let subject = subject.ok_or(Flaw::Claims)?.to_owned();
    Ok(Proven { subject, claims, ends, signed })
}

#[cfg(test)]
mod tests;
