//! Authorization codes: they represent a person's consent until the client redeems them. Each is a row in the store,
//! so that any process may redeem it; the row reveals a second use, and then the tokens of the first use are revoked.
//! Must not know: HTTP.

use plenary_accounts::TokenDigest;
use plenary_kernel::{AgentHandle, TimestampMs, json::digest, limits::READ_ROWS_MAX};
use plenary_log::{Batch, Fault, Log, Outcome, RowOp};
use serde::{Deserialize, Serialize};

use crate::{limits::CODE_MS_MAX, token::random_hex};

const ROWS: &str = "oauth/code/";
/// How long the row of a code is kept, so that a second use is noticed.
const KEPT_MS: u64 = 10 * CODE_MS_MAX;

/// The stored consent of a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Code {
    pub(crate) grant: String,
    pub(crate) agent: AgentHandle,
    pub(crate) client_id: String,
    pub(crate) redirect_uri: String,
    /// The S256 challenge (RFC 7636).
    pub(crate) challenge: String,
    pub(crate) resource: String,
    pub(crate) until: TimestampMs,
    pub(crate) used: bool,
}

/// A stored code.
pub(crate) struct FoundCode {
    pub(crate) code: Code,
    name: String,
    revision: u64,
}

fn name(code: &str) -> String {
    format!("{ROWS}{}", TokenDigest::of(code).hex())
}

/// Stores a consent and returns its code.
pub(crate) async fn make(log: &Log, code: &Code) -> Result<String, Fault> {
    let secret = format!("plx_{}", random_hex());
    let value = serde_json::to_vec(code).map_err(|_| Fault::Corrupt("a code can't be written".into()))?;
    let row = RowOp { name: name(&secret), expected: Some(0), value: Some(value.into()) };
    log.append(Batch { rows: vec![row], ..Batch::default() }).await?;
    Ok(secret)
}

/// The consent of a code, used or not.
pub(crate) async fn find(log: &Log, code: &str) -> Result<Option<FoundCode>, Fault> {
    let name = name(code);
    let Some(row) = log.read_row(&name).await? else { return Ok(None) };
    let code =
        serde_json::from_slice(&row.value).map_err(|_| Fault::Corrupt(format!("{name} is no code")))?;
    Ok(Some(FoundCode { code, name, revision: row.revision }))
}

/// Marks a code as used; false if another request was faster.
pub(crate) async fn take(log: &Log, found: &FoundCode) -> Result<bool, Fault> {
    let used = Code { used: true, ..found.code.clone() };
    let value = serde_json::to_vec(&used).map_err(|_| Fault::Corrupt("a code can't be written".into()))?;
    let row = RowOp { name: found.name.clone(), expected: Some(found.revision), value: Some(value.into()) };
    let outcome = log.append(Batch { rows: vec![row], ..Batch::default() }).await?;
    Ok(matches!(outcome, Outcome::Appended(_)))
}

/// Deletes the rows of codes that expired long ago.
pub(crate) async fn sweep(log: &Log, now: TimestampMs) -> Result<(), Fault> {
    let mut after = None::<String>;
    loop {
        let rows = log.read_rows(ROWS, after.as_deref(), READ_ROWS_MAX).await?;
        let is_over = |value: &[u8]| {
            serde_json::from_slice::<Code>(value)
                .is_ok_and(|code| code.until.0.saturating_add(KEPT_MS) < now.0)
        };
        let over = rows.iter().filter(|(_, row)| is_over(&row.value));
        let expired: Vec<_> =
            over.map(|(name, _)| RowOp { name: name.clone(), expected: None, value: None }).collect();
        if !expired.is_empty() {
            log.append(Batch { rows: expired, ..Batch::default() }).await?;
        }
        match rows.last() {
            Some((last, _)) if rows.len() == READ_ROWS_MAX => after = Some(last.clone()),
            _ => return Ok(()),
        }
    }
}

/// Whether a verifier fits a challenge (RFC 7636, 4.6).
pub(crate) fn verifies(challenge: &str, verifier: &str) -> bool {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let is_verifier = (43..=128).contains(&verifier.len())
        && verifier.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    let computed = URL_SAFE_NO_PAD.encode(digest(verifier.as_bytes()));
    // No constant-time comparison: the challenge is public in the authorization request.
    is_verifier && computed == challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_checked_as_rfc_7636_shows() {
        let (verifier, challenge) =
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(verifies(challenge, verifier));
        assert!(!verifies(challenge, challenge) && !verifies(verifier, verifier));
        assert!(!verifies(challenge, "") && !verifies("", ""));
    }
}
