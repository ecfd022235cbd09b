//! The current claims, from the retained frames of the caller's principal.
//! Must not know: the purpose of the request.

use std::{collections::BTreeMap, time::Duration};

use plenary_kernel::rfc3339;
use serde_json::{Value, json};

use super::me::Me;
use crate::tools::{
    api::{Refusal, Route, ToolApi, get},
    frame,
    stream::{Stream, StreamItem},
};

pub(super) const STREAM: Route = get("/handles/{handle}/stream");

/// Time limit for reading the retained frames.
const PATIENCE: Duration = Duration::from_secs(5);

/// A current lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) lease_id: String,
    pub(super) resource: String,
    /// The sending principal and its agent runtime, as stated in the frame.
    pub(super) holder: (String, String),
    pub(super) intent: Option<String>,
    until_ms: u64,
}

impl Claim {
    /// Whether the agent itself holds it.
    pub(super) fn is_of(&self, me: &Me) -> bool {
        self.holder.0 == me.principal() && self.holder.1.trim_start_matches('~') == me.handle.name()
    }

    /// The form for a model.
    pub(super) fn shown(&self) -> Value {
        let mut shown = json!({
            "resource": self.resource,
            "by": format!("@{}.{}", self.holder.0.trim_start_matches('~'), self.holder.1.trim_start_matches('~')),
            "lease_id": self.lease_id,
            "left_s": self.until_ms.saturating_sub(frame::now_ms()) / 1_000,
        });
        if let Some(intent) = &self.intent {
            shown["intent"] = intent.clone().into();
        }
        shown
    }
}

/// The current claims, by resource.
pub(super) async fn claims(api: &ToolApi, me: &Me) -> Result<Vec<Claim>, Refusal> {
    let path = STREAM.at(&[&me.principal()], &[("retained", "true"), ("session_id", "mcp-claims")]);
    let mut stream = Stream::new(api.open(&path).await?.into_body(), PATIENCE);
    let mut leases = BTreeMap::new();
    // The first comment follows the retained frames.
    while let Some(StreamItem::Event(event)) = stream.next().await {
        if let Ok(frame) = serde_json::from_str::<Value>(&event.data) {
            note(&mut leases, &frame);
        }
    }
    let now = frame::now_ms();
    let mut claims: Vec<Claim> = leases.into_values().filter(|claim| claim.until_ms > now).collect();
    claims.sort_by(|a, b| a.resource.cmp(&b.resource));
    Ok(claims)
}

/// Applies a frame to the leases.
fn note(leases: &mut BTreeMap<String, Claim>, frame: &Value) {
    let payload = &frame["payload"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let Some(lease_id) = text(&payload["lease_id"]) else { return };
    let ttl_ms = payload["ttl_ms"].as_u64().unwrap_or_default();
    match frame["kind"].as_str() {
        Some("agent_lock_request") => {
            let (Some(resource), Some(sender), Some(drafted)) =
                (text(&payload["resource"]), text(&frame["sender_handle"]), text(&frame["drafted_with"]))
            else {
                return;
            };
            let created = frame["created_at"].as_str().and_then(rfc3339::parse);
            let until_ms = created.and_then(|ms| u64::try_from(ms).ok()).unwrap_or_default() + ttl_ms;
            let (holder, intent) = ((sender, drafted), text(&payload["intent"]));
            leases.insert(lease_id.clone(), Claim { lease_id, resource, holder, intent, until_ms });
        }
        Some("agent_lease_extend") => {
            if let Some(claim) =
                leases.get_mut(&lease_id).filter(|claim| frame["sender_handle"] == *claim.holder.0)
            {
                claim.until_ms += ttl_ms;
            }
        }
        // Only the holder can release a claim.
        Some("agent_lock_release")
            if leases.get(&lease_id).is_some_and(|claim| frame["sender_handle"] == *claim.holder.0) =>
        {
            leases.remove(&lease_id);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: &str, sender: &str, payload: &Value) -> Value {
        json!({
            "kind": kind, "sender_handle": sender, "drafted_with": "~w", "created_at": "2026-01-01T00:00:00Z",
            "payload": payload,
        })
    }

    #[test]
    fn a_lease_is_extended_and_given_up_by_its_own_principal_alone() {
        let mut leases = BTreeMap::new();
        let lease = json!({"lease_id": "l", "resource": "a.rs", "ttl_ms": 1_000});
        note(&mut leases, &frame("agent_lock_request", "~a", &lease));
        let until = leases["l"].until_ms;
        for (kind, sender) in [("agent_lease_extend", "~b"), ("agent_lock_release", "~b")] {
            note(&mut leases, &frame(kind, sender, &lease));
            assert_eq!(leases["l"].until_ms, until, "{kind}");
        }
        note(&mut leases, &frame("agent_lease_extend", "~a", &lease));
        assert_eq!(leases["l"].until_ms, until + 1_000);
        note(&mut leases, &frame("agent_lock_release", "~a", &lease));
        assert!(leases.is_empty());
    }
}
