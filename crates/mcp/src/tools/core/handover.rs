//! Claiming a file, and handing work over: announced by frames, and sent as a session message so that it waits for an
//! offline agent.
//! Must not know: the work.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    claims::{Claim, claims},
    me::{Me, handle},
    recall::PACKAGE,
    session::{self, Message},
};
use crate::tools::{
    asking::{Answer, Refusal, Route, ToolCaller, get},
    frame::{FrameSender, scope_of, submit, uuid},
};

pub(super) const LOCKS: &str =
    "Claim a file or other resource for a while, release it, or (without `resource`) list claims. Advisory.";
pub(super) const HANDS_OVER: &str = "Hand work or a claimed file over to an agent; releases your claim.";

pub(super) const RETENTION: Route = get("/handles/{handle}/retention");

/// Longest claim, if frames are retained for that long.
const LOCK_MS_MAX: u64 = 3_600_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LockArguments {
    /// Path or name
    resource: Option<String>,
    /// Maximum, and default: the retention of frames, usually 300
    ttl_s: Option<u64>,
    intent: Option<String>,
    /// True releases it
    release: Option<bool>,
}

pub(super) async fn lock(asking: ToolCaller, wanted: LockArguments) -> Answer {
    if wanted.resource.is_none() && wanted.release == Some(true) {
        return Err(Refusal::arguments(
            "`resource` is missing: name the resource to release. Without `release`, claims are listed.",
        ));
    }
    if wanted.ttl_s == Some(0) {
        return Err(Refusal::arguments("`ttl_s` must be at least 1; use `release` to end a claim."));
    }
    let me = Me::of(&asking).await?;
    let claims = claims(&asking, &me).await?;
    let Some(resource) = wanted.resource else {
        return Ok(json!({"claims": claims.iter().map(Claim::shown).collect::<Vec<_>>()}));
    };
    let of_it: Vec<&Claim> = claims.iter().filter(|claim| claim.resource == resource).collect();
    if wanted.release == Some(true) {
        return release(&asking, &me, &resource, &of_it).await;
    }
    if let Some(held) = of_it.iter().find(|claim| !claim.is_of(&me)) {
        let shown = held.shown();
        let (by, left) = (shown["by"].as_str().unwrap_or_default(), &shown["left_s"]);
        let message =
            format!("{by} has claimed {resource} for {left} s more. Ask {by} to hand it over, or wait.");
        return Err(Refusal::new("resource_claimed", message));
    }
    // A claim cannot outlast the retention of its frames.
    let retained = asking.read(&RETENTION, &[&me.principal()], &[]).await?;
    let most = retained["max_age_ms"].as_u64().unwrap_or_default().clamp(1_000, LOCK_MS_MAX);
    let ttl_ms = wanted.ttl_s.map_or(most, |seconds| seconds.saturating_mul(1_000).clamp(1, most));
    // Announcing the same lease again extends it.
    let lease_id = of_it.first().map_or_else(uuid, |mine| mine.lease_id.clone());
    let mut payload = json!({"resource": resource, "lease_id": lease_id, "ttl_ms": ttl_ms});
    if let Some(intent) = wanted.intent {
        payload["intent"] = intent.into();
    }
    let told = announce(&asking, &me, "agent_lock_request", &payload, &me.principal()).await?;
    Ok(
        json!({"resource": resource, "lease_id": lease_id, "ttl_s": ttl_ms / 1_000, "told": told["delivered_count"]}),
    )
}

async fn release(asking: &ToolCaller, me: &Me, resource: &str, claims: &[&Claim]) -> Answer {
    let (mine, others): (Vec<&Claim>, Vec<&Claim>) = claims.iter().partition(|claim| claim.is_of(me));
    if mine.is_empty()
        && let Some(other) = others.first()
    {
        let shown = other.shown();
        let by = shown["by"].as_str().unwrap_or_default();
        let text =
            format!("{by} has claimed {resource}, so only {by} can release it. Ask {by} to hand it over.");
        return Err(Refusal::new("resource_claimed", text));
    }
    for claim in &mine {
        let payload = json!({"lease_id": claim.lease_id, "resource": resource});
        announce(asking, me, "agent_lock_release", &payload, &me.principal()).await?;
    }
    Ok(json!({"resource": resource, "released": mine.len()}))
}

async fn announce(asking: &ToolCaller, me: &Me, kind: &str, payload: &Value, scope: &str) -> Answer {
    let empty = Map::new();
    let payload = payload.as_object().unwrap_or(&empty);
    submit(asking, &me.handle, &FrameSender::default(), (kind, payload), scope, None).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HandingOver {
    /// Handle
    to: String,
    /// What is done, what remains
    note: String,
    /// The file or other claimed resource
    resource: Option<String>,
    /// A deposited package with the details
    package_id: Option<String>,
    refs: Option<Vec<String>>,
}

pub(super) async fn hand_over(asking: ToolCaller, wanted: HandingOver) -> Answer {
    let me = Me::of(&asking).await?;
    let to = handle(&wanted.to)?;
    if to == me.handle {
        return Err(Refusal::arguments("`to` is you; name the agent that takes the work over."));
    }
    if wanted.note.trim().is_empty() {
        return Err(Refusal::arguments("`note` is empty: say what is done and what remains."));
    }
    if let Some(package) = &wanted.package_id {
        match asking.read(&PACKAGE, &[package], &[]).await {
            Err(refusal) if refusal.code == "package_not_found" => return Err(refusal),
            // A token without the context can still name a package.
            Ok(_) | Err(_) => {}
        }
    }
    let known = if wanted.resource.is_some() { claims(&asking, &me).await? } else { Vec::new() };
    let of_it: Vec<&Claim> =
        known.iter().filter(|claim| wanted.resource.as_ref() == Some(&claim.resource)).collect();
    if let Some(other) = of_it.iter().find(|claim| !claim.is_of(&me)) {
        let shown = other.shown();
        let by = shown["by"].as_str().unwrap_or_default();
        let message = format!("{} is not yours to hand over: {by} has claimed it.", other.resource);
        return Err(Refusal::new("resource_claimed", message));
    }
    let named = [&wanted.resource, &wanted.package_id];
    let refs: Vec<&String> = named.into_iter().flatten().chain(wanted.refs.iter().flatten()).collect();
    let data = json!({"handover": {
        "resource": wanted.resource, "package_id": wanted.package_id, "refs": wanted.refs,
    }});
    let message = Message {
        content: json!([{"type": "text", "text": format!("Handover: {}", wanted.note)}, {"type": "data", "data": data}]),
        topic: None,
        key: None,
    };
    let sent = session::send_to(&asking, &me.handle, std::slice::from_ref(&to), &message).await?;
    // A handover that fails leaves the claim where it was. From here on it is done, so that nobody repeats it.
    let released = match &wanted.resource {
        Some(resource) => {
            release(&asking, &me, resource, &of_it).await.unwrap_or_default()["released"].take()
        }
        None => Value::Null,
    };
    let mut payload = json!({
        "previous_session_id": FrameSender::default().session(), "handover_body": wanted.note,
    });
    if !refs.is_empty() {
        payload["pointer_refs"] = json!(refs);
    }
    let told = announce(&asking, &me, "agent_handover", &payload, &scope_of(&to)).await.unwrap_or_default();
    Ok(json!({
        "to": to.as_str(), "session_id": sent["session_id"], "sequence": sent["sequence"],
        "frame_id": told["frame_id"], "told_live": told["delivered_count"], "released": released,
    }))
}
