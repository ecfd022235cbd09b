//! The extensions for alter-runtime: a capability in place of a token, and frames in a signed wrapper. A
//! capability is a sealed statement of this server, which is not stored: the token that it stands for, and its expiry. It
//! is valid as long as that token, with the same permissions. Its holder cannot read it: the digest of a token proves to
//! clients that a server knows the token.
//! Must not know: HTTP, or the subscriptions.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use plenary_accounts::{AgentCaller, Principal, TokenDigest, TokenOwner};
use plenary_kernel::{
    AgentHandle, SovereignHandle, TimestampMs,
    json::{Nulls, canonical},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{limits::CAPABILITY_MS, signing_key::FrameKey};

const PREFIX: &str = "plf_";

/// The content of a capability.
#[derive(Debug, Serialize, Deserialize)]
struct Statement {
    agent: AgentHandle,
    token: TokenDigest,
    until: TimestampMs,
}

/// A capability for the bearer of a token, and its expiry; `None` if the system has no random numbers.
pub(crate) fn capability(
    key: &FrameKey,
    caller: AgentCaller,
    now: TimestampMs,
) -> Option<(String, TimestampMs)> {
    let until = TimestampMs(now.0 + CAPABILITY_MS);
    let statement = Statement { agent: caller.handle, token: caller.token, until };
    let statement = serde_json::to_vec(&statement).expect("a handle, a digest and a time can be written");
    Some((format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(key.seal(statement)?)), until))
}

/// Whether a bearer credential is a capability rather than a token.
pub(crate) fn is_capability(credential: &str) -> bool {
    credential.starts_with(PREFIX)
}

/// The principal of a capability; `None` if this server did not make it, or it has expired. The caller
/// must check that the token is still valid.
pub(crate) fn holder(key: &FrameKey, capability: &str, now: TimestampMs) -> Option<Principal> {
    let sealed = URL_SAFE_NO_PAD.decode(capability.strip_prefix(PREFIX)?).ok()?;
    let statement = key.unseal(&sealed)?;
    let Statement { agent, token, until } = serde_json::from_slice(&statement).ok()?;
    let is_open = now < until && until.0 <= now.0.saturating_add(CAPABILITY_MS);
    is_open.then_some(Principal { who: TokenOwner::Agent(agent), token })
}

/// A frame in the form of alter-runtime: wrapped, canonical, and signed over everything but the
/// signature.
pub(crate) fn wrapped(key: &FrameKey, handle: &SovereignHandle, number: u64, line: &[u8]) -> Option<Bytes> {
    let frame: Value = serde_json::from_slice(line).ok()?;
    let mut wrapper = json!({
        "v": "alter1", "version": 1, "handle": handle, "kind": "agent_frame", "timestamp": frame["created_at"],
        "payload": frame, "pubkey": key.public(),
    });
    let signature = key.sign(&canonical(&wrapper, Nulls::Keep));
    wrapper["signature"] = signature.into();
    let mut event = format!("id: {number}\ndata: ").into_bytes();
    event.extend(canonical(&wrapper, Nulls::Keep));
    event.extend_from_slice(b"\n\n");
    Some(event.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> AgentCaller {
        AgentCaller { handle: "@nick.laptop".parse().unwrap(), token: TokenDigest::of("pla_one") }
    }

    #[test]
    fn a_capability_stands_for_its_token_until_it_ends() {
        let key = FrameKey::new();
        let (credential, until) = capability(&key, caller(), TimestampMs(5)).unwrap();
        assert_eq!(until, TimestampMs(5 + CAPABILITY_MS));
        assert!(is_capability(&credential) && !is_capability("pla_one"));
        let AgentCaller { handle, token } = caller();
        let principal = Principal { who: TokenOwner::Agent(handle), token };
        assert_eq!(holder(&key, &credential, TimestampMs(until.0 - 1)), Some(principal));
        assert_eq!(holder(&key, &credential, until), None);
        assert_eq!(holder(&FrameKey::new(), &credential, TimestampMs(5)), None, "of another server");
        assert_eq!(holder(&key, &credential, TimestampMs(4)), None, "it lasts longer than any that was made");
        for wrong in ["plf_", "plf_.", &credential[..credential.len() - 4], &format!("{credential}AAAA")] {
            assert_eq!(holder(&key, wrong, TimestampMs(5)), None, "{wrong}");
        }
    }

    #[test]
    fn a_wrapped_frame_is_signed_over_its_canonical_text() {
        let key = FrameKey::new();
        let line = br#"{"kind":"agent_broadcast","created_at":"2026-01-02T03:04:05Z","payload":{"b":1.0,"a":"\u00f6"}}"#;
        let event = wrapped(&key, &"~nick".parse().unwrap(), 7, line).unwrap();
        let text = std::str::from_utf8(&event).unwrap();
        let data = text.strip_prefix("id: 7\ndata: ").unwrap().strip_suffix("\n\n").unwrap();
        let mut wrapper: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&wrapper["v"], &wrapper["handle"]), (&json!("alter1"), &json!("~nick")));
        assert_eq!(wrapper["timestamp"], "2026-01-02T03:04:05Z");
        assert_eq!(wrapper["payload"]["payload"], json!({"a": "ö", "b": 1}));
        let signature = wrapper.as_object_mut().unwrap().remove("signature").unwrap();
        let signed = canonical(&wrapper, Nulls::Keep);
        assert!(key.signed(&signed, signature.as_str().unwrap()));
        assert_eq!(data.replace(&format!(",\"signature\":{signature}"), "").as_bytes(), signed);
        assert!(wrapped(&key, &"~nick".parse().unwrap(), 7, b"no JSON").is_none());
    }
}
