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
    let mut leases = Leases::new();
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

/// The leases by sending principal and id: nobody else can take over, extend or release a claim, whatever id they name.
type Leases = BTreeMap<(String, String), Claim>;

/// Applies a frame to the leases.
fn note(leases: &mut Leases, frame: &Value) {
    let payload = &frame["payload"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (Some(lease_id), Some(sender)) = (text(&payload["lease_id"]), text(&frame["sender_handle"])) else {
        return;
    };
    let created = frame["created_at"].as_str().and_then(rfc3339::parse);
    let created_ms = created.and_then(|ms| u64::try_from(ms).ok()).unwrap_or_default();
    let ttl_ms = payload["ttl_ms"].as_u64().unwrap_or_default();
    let key = (sender.clone(), lease_id.clone());
    match frame["kind"].as_str() {
        Some("agent_lock_request") => {
            let (Some(resource), Some(drafted)) = (text(&payload["resource"]), text(&frame["drafted_with"]))
            else {
                return;
            };
            let until_ms = created_ms.saturating_add(ttl_ms);
            let (holder, intent) = ((sender, drafted), text(&payload["intent"]));
            leases.insert(key, Claim { lease_id, resource, holder, intent, until_ms });
        }
        Some("agent_lease_extend") => {
            if let Some(claim) = leases.get_mut(&key) {
                // Compensates a missed extension: the claim holds at least for the stated time from now on.
                claim.until_ms = claim.until_ms.max(created_ms).saturating_add(ttl_ms);
            }
        }
        Some("agent_lock_release") => {
            leases.remove(&key);
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
        let mut leases = Leases::new();
        let lease = json!({"lease_id": "l", "resource": "a.rs", "ttl_ms": 1_000});
        note(&mut leases, &frame("agent_lock_request", "~a", &lease));
        let own = ("~a".to_owned(), "l".to_owned());
        let until = leases[&own].until_ms;
        for kind in ["agent_lease_extend", "agent_lock_request", "agent_lock_release"] {
            note(&mut leases, &frame(kind, "~b", &lease));
            assert_eq!(leases[&own].until_ms, until, "{kind}");
        }
        note(&mut leases, &frame("agent_lease_extend", "~a", &lease));
        assert_eq!(leases[&own].until_ms, until + 1_000);
        let mut late = frame("agent_lease_extend", "~a", &lease);
        late["created_at"] = "2026-01-01T00:01:00Z".into();
        note(&mut leases, &late);
        assert_eq!(leases[&own].until_ms, until - 1_000 + 60_000 + 1_000, "as for a claim of that moment");
        note(&mut leases, &frame("agent_lock_release", "~a", &lease));
        assert!(leases.is_empty());
    }
}
