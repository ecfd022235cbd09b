//! Frames of Agent-Channel Fan-Out as tools send them: the envelope around a kind and a payload, in the caller's
//! name.
//! Must not know: the meaning of a payload.

use plenary_engine::SystemClock;
use plenary_kernel::{AgentHandle, Clock as _};
use serde_json::{Map, Value, json};

use super::api::{Answer, Refusal, Route, ToolApi, post};

pub(crate) const SUBMIT: Route = post("/frames");
/// The default session of an agent here: calls of tools are independent of each other.
pub(crate) const SESSION: &str = "mcp";
const VERSION: &str = "1.0";

/// The session that a caller sends from.
#[derive(Debug, Clone, Default)]
pub(crate) struct FrameSender {
    pub(crate) instrument: Option<String>,
    pub(crate) session_id: Option<String>,
}

impl FrameSender {
    pub(crate) fn instrument<'a>(&'a self, me: &'a AgentHandle) -> &'a str {
        self.instrument.as_deref().unwrap_or(me.name())
    }

    pub(crate) fn session(&self) -> &str {
        self.session_id.as_deref().unwrap_or(SESSION)
    }

    /// The scope of this session alone, if the caller names it.
    pub(crate) fn named_scope(&self, me: &AgentHandle) -> Option<String> {
        let is_named = self.instrument.is_some() || self.session_id.is_some();
        is_named.then(|| format!("~{}/{}@{}", me.owner(), self.instrument(me), self.session()))
    }
}

/// The scope of an agent's sessions: those whose instrument starts with its name.
pub(crate) fn scope_of(agent: &AgentHandle) -> String {
    format!("~{}/{}*", agent.owner(), agent.name())
}

/// 32 unique hex digits.
pub(crate) fn hex() -> String {
    format!("{:032x}", bits())
}

/// A UUID of version 4.
pub(crate) fn uuid() -> String {
    let bits = (bits() & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// 128 random bits, combined from two draws of 80 bits.
fn bits() -> u128 {
    let random = || u128::from(SystemClock.stamp().ulid(0)) & ((1 << 80) - 1);
    random() ^ (random() << 48)
}

/// The current time, RFC 3339 in UTC.
pub(crate) fn now() -> String {
    SystemClock.now().rfc3339()
}

/// The current time in milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    SystemClock.now().0
}

/// The principal, the organisation or the peer in a scope, which is the recipient of its frames.
fn recipient(scope: &str) -> Result<String, Refusal> {
    if let Some(rest) = scope.strip_prefix("org:").or_else(|| scope.strip_prefix("accord:")) {
        return Ok(format!("~{}", rest.split('/').next().unwrap_or_default()));
    }
    match scope.split('/').next() {
        Some(handle) if handle.starts_with('~') => Ok(handle.to_owned()),
        _ => Err(Refusal::arguments(format!(
            "`{scope}` is not a scope; a scope looks like ~owner/* or ~owner/agent*."
        ))),
    }
}

/// Sends a frame to a scope; returns the answer of the submission.
pub(crate) async fn submit(
    api: &ToolApi,
    me: &AgentHandle,
    from: &FrameSender,
    (kind, payload): (&str, &Map<String, Value>),
    scope: &str,
    ttl_ms: Option<u64>,
) -> Answer {
    let principal = format!("~{}", me.owner());
    let mut frame = json!({
        "envelope_version": VERSION,
        "frame_id": uuid(),
        "kind": kind,
        "sender_handle": principal,
        "recipient_handle": recipient(scope)?,
        "created_at": now(),
        "payload": payload,
        "acted_by": principal,
        "drafted_with": format!("~{}", from.instrument(me)),
        "provenance_compute_location": "server-active",
        "provenance_method": ["tool"],
        "provenance_context_check": "skipped",
        "provenance_basis": "tool-call",
    });
    if let Some(ttl_ms) = ttl_ms {
        frame["ttl_ms"] = ttl_ms.into();
    }
    let named =
        api.with("x-agent-instrument", from.instrument(me))?.with("x-agent-session", from.session())?;
    named.write(&SUBMIT, &[], &json!({"scope": scope, "frame": frame})).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fo_7_ids_are_uuids_of_version_4() {
        for _ in 0..64 {
            let uuid = uuid();
            let bytes = uuid.as_bytes();
            assert_eq!((uuid.len(), bytes[14]), (36, b'4'), "{uuid}");
            assert!(b"89ab".contains(&bytes[19]), "{uuid}");
        }
        assert_ne!(hex(), hex());
    }
}
