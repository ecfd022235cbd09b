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
    api::{Answer, Refusal, Route, ToolApi, get},
    frame::{FrameSender, scope_of, submit, uuid},
};

pub(super) const LOCK_DESCRIPTION: &str =
    "Claim a file or other resource for a while, release it, or (without `resource`) list claims. Advisory.";
pub(super) const HAND_OVER_DESCRIPTION: &str =
    "Hand work or a claimed file over to an agent; releases your claim.";

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

pub(super) async fn lock(api: ToolApi, arguments: LockArguments) -> Answer {
    if arguments.resource.is_none() && arguments.release == Some(true) {
        return Err(Refusal::arguments(
            "`resource` is missing: name the resource to release. Without `release`, claims are listed.",
        ));
    }
    if arguments.ttl_s == Some(0) {
        return Err(Refusal::arguments("`ttl_s` must be at least 1; use `release` to end a claim."));
    }
    let me = Me::of(&api).await?;
    let claims = claims(&api, &me).await?;
    let Some(resource) = arguments.resource else {
        return Ok(json!({"claims": claims.iter().map(Claim::shown).collect::<Vec<_>>()}));
    };
    let on_resource: Vec<&Claim> = claims.iter().filter(|claim| claim.resource == resource).collect();
    if arguments.release == Some(true) {
        return release(&api, &me, &resource, &on_resource).await;
    }
    if let Some(claim) = on_resource.iter().find(|claim| !claim.is_of(&me)) {
        let shown = claim.shown();
        let (holder, left_s) = (shown["by"].as_str().unwrap_or_default(), &shown["left_s"]);
        let message = format!(
            "{holder} has claimed {resource} for {left_s} s more. Ask {holder} to hand it over, or wait."
        );
        return Err(Refusal::new("resource_claimed", message));
    }
    // A claim cannot outlast the retention of its frames.
    let retained = api.read(&RETENTION, &[&me.principal()], &[]).await?;
    let most = retained["max_age_ms"].as_u64().unwrap_or_default().clamp(1_000, LOCK_MS_MAX);
    let ttl_ms = arguments.ttl_s.map_or(most, |seconds| seconds.saturating_mul(1_000).clamp(1, most));
    // Announcing the same lease again extends it.
    let lease_id = on_resource.first().map_or_else(uuid, |own| own.lease_id.clone());
    let mut payload = json!({"resource": resource, "lease_id": lease_id, "ttl_ms": ttl_ms});
    if let Some(intent) = arguments.intent {
        payload["intent"] = intent.into();
    }
    let sent = announce(&api, &me, "agent_lock_request", &payload, &me.principal()).await?;
    Ok(
        json!({"resource": resource, "lease_id": lease_id, "ttl_s": ttl_ms / 1_000, "told": sent["delivered_count"]}),
    )
}

async fn release(api: &ToolApi, me: &Me, resource: &str, claims: &[&Claim]) -> Answer {
    let (own, others): (Vec<&Claim>, Vec<&Claim>) = claims.iter().partition(|claim| claim.is_of(me));
    if own.is_empty()
        && let Some(other) = others.first()
    {
        let shown = other.shown();
        let holder = shown["by"].as_str().unwrap_or_default();
        let text = format!(
            "{holder} has claimed {resource}, so only {holder} can release it. Ask {holder} to hand it over."
        );
        return Err(Refusal::new("resource_claimed", text));
    }
    for claim in &own {
        let payload = json!({"lease_id": claim.lease_id, "resource": resource});
        announce(api, me, "agent_lock_release", &payload, &me.principal()).await?;
    }
    Ok(json!({"resource": resource, "released": own.len()}))
}

async fn announce(api: &ToolApi, me: &Me, kind: &str, payload: &Value, scope: &str) -> Answer {
    let empty = Map::new();
    let payload = payload.as_object().unwrap_or(&empty);
    submit(api, &me.handle, &FrameSender::default(), (kind, payload), scope, None).await
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

pub(super) async fn hand_over(api: ToolApi, arguments: HandingOver) -> Answer {
    let me = Me::of(&api).await?;
    let to = handle(&arguments.to)?;
    if to == me.handle {
        return Err(Refusal::arguments("`to` is you; name the agent that takes the work over."));
    }
    if arguments.note.trim().is_empty() {
        return Err(Refusal::arguments("`note` is empty: say what is done and what remains."));
    }
    if let Some(package) = &arguments.package_id {
        match api.read(&PACKAGE, &[package], &[]).await {
            Err(refusal) if refusal.code == "package_not_found" => return Err(refusal),
            // A token without the context can still name a package.
            Ok(_) | Err(_) => {}
        }
    }
    let known = if arguments.resource.is_some() { claims(&api, &me).await? } else { Vec::new() };
    let on_resource: Vec<&Claim> =
        known.iter().filter(|claim| arguments.resource.as_ref() == Some(&claim.resource)).collect();
    if let Some(other) = on_resource.iter().find(|claim| !claim.is_of(&me)) {
        let shown = other.shown();
        let holder = shown["by"].as_str().unwrap_or_default();
        let message = format!("{} is not yours to hand over: {holder} has claimed it.", other.resource);
        return Err(Refusal::new("resource_claimed", message));
    }
    let named = [&arguments.resource, &arguments.package_id];
    let refs: Vec<&String> = named.into_iter().flatten().chain(arguments.refs.iter().flatten()).collect();
    let data = json!({"handover": {
        "resource": arguments.resource, "package_id": arguments.package_id, "refs": arguments.refs,
    }});
    let message = Message {
        content: json!([{"type": "text", "text": format!("Handover: {}", arguments.note)}, {"type": "data", "data": data}]),
        topic: None,
        continues: true,
        key: None,
    };
    let sent = session::send_to(&api, &me.handle, std::slice::from_ref(&to), &message).await?;
    // A handover that fails leaves the claim where it was. From here on it is done, so that nobody repeats it.
    let released = match &arguments.resource {
        Some(resource) => {
            release(&api, &me, resource, &on_resource).await.unwrap_or_default()["released"].take()
        }
        None => Value::Null,
    };
    let mut payload = json!({
        "previous_session_id": FrameSender::default().session(), "handover_body": arguments.note,
    });
    if !refs.is_empty() {
        payload["pointer_refs"] = json!(refs);
    }
    let frame = announce(&api, &me, "agent_handover", &payload, &scope_of(&to)).await.unwrap_or_default();
    Ok(json!({
        "to": to.as_str(), "session_id": sent["session_id"], "sequence": sent["sequence"],
        "frame_id": frame["frame_id"], "told_live": frame["delivered_count"], "released": released,
    }))
}
