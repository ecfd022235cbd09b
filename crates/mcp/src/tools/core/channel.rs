//! Channels in one tool: list, learn, create, read, post.
//! Must not know: what an event means.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::project::listed;
use crate::tools::{
    asking::{Answer, Asking, Refusal, Route, get, post},
    bounds,
};

pub(super) const SAYS: &str = "Shared channels. list; create (title); read (id): newest events, or those behind after_id; post (id, text or payload).";
pub(super) const LIST: Route = get("/agent-channel");
pub(super) const CREATE: Route = post("/agent-channel");
pub(super) const SHOW: Route = get("/agent-channel/{id}");
pub(super) const EVENTS: Route = get("/agent-channel/{id}/events");
pub(super) const APPEND: Route = post("/agent-channel/{id}/event");

/// How many events or channels one call shows.
const SHOWN: &str = "20";
/// The kind of an event that is said in words.
const COMMS: &str = "comms";

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Act {
    List,
    Create,
    Read,
    Post,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    action: Act,
    id: Option<String>,
    title: Option<String>,
    text: Option<String>,
    /// comms, status, state, spec, log or other; comms if absent
    kind: Option<String>,
    payload: Option<Map<String, Value>>,
    after_id: Option<u64>,
}

pub(super) async fn channel(asking: Asking, wanted: Wanted) -> Answer {
    match (wanted.action, &wanted.id) {
        (Act::List, _) => {
            let channels = asking.read(&LIST, &[], &[("limit", SHOWN)]).await?;
            Ok(json!({"channels": channels}))
        }
        (Act::Create, _) => {
            let title = wanted.title.unwrap_or_default();
            asking.write(&CREATE, &[], &json!({"title": title})).await
        }
        (Act::Read, Some(id)) => read(&asking, id, wanted.kind.as_deref(), wanted.after_id).await,
        (Act::Post, Some(id)) => {
            let payload = match (wanted.payload, wanted.text) {
                (Some(payload), None) => payload,
                (None, Some(text)) => Map::from_iter([("text".to_owned(), text.into())]),
                _ => return Err(Refusal::arguments("Post either `text` or `payload`.")),
            };
            let body = json!({"kind": wanted.kind.as_deref().unwrap_or(COMMS), "payload": payload});
            let event = asking.write(&APPEND, &[id], &body).await?;
            Ok(json!({"id": event["id"], "channel_id": event["channel_id"], "kind": event["kind"]}))
        }
        (Act::Read | Act::Post, None) => Err(Refusal::arguments("`id` is missing.")),
    }
}

/// The newest events, newest first, with what the channel is; or those behind one, in their order.
async fn read(asking: &Asking, id: &str, kind: Option<&str>, after: Option<u64>) -> Answer {
    let after_text = after.map(|after| after.to_string());
    let mut query = vec![("limit", SHOWN)];
    query.extend(kind.map(|kind| ("kind", kind)));
    query.extend(after_text.as_deref().map(|after| ("after_id", after)));
    let events = asking.read(&EVENTS, &[id], &query).await?;
    let mut events: Vec<Value> = events.as_array().cloned().unwrap_or_default();
    if after.is_some() {
        // A page behind an event is what follows it directly; read on from its end.
        events.sort_by_key(|event| event["id"].as_u64());
    }
    let events: Vec<Value> = events.iter().map(short).collect();
    let fitting = bounds::fitting(&events).max(1).min(events.len());
    let mut shown = json!({"id": id, "events": events[..fitting]});
    let last = events[..fitting].last().map(|event| event["id"].clone());
    match after {
        Some(_) => {
            if let Some(last) = last {
                shown["next"] = json!({"action": "read", "id": id, "after_id": last});
            }
        }
        None => {
            let view = asking.read(&SHOW, &[id], &[("format", "json")]).await?;
            for name in ["title", "created_by", "closed_at"] {
                shown[name] = view["channel"][name].clone();
            }
            shown["newest_first"] = true.into();
            if events.len() > fitting {
                shown["left_out"] = (events.len() - fitting).into();
            }
        }
    }
    Ok(shown)
}

fn short(event: &Value) -> Value {
    let mut short = json!({
        "id": event["id"], "kind": event["kind"], "author": event["author"], "via": event["via"],
        "at": event["created_at"], "payload": event["payload"],
    });
    if event["author"] == event["via"] {
        short.as_object_mut().map(|short| short.remove("via"));
    }
    short
}

/// How many of the agents' channels there are to tell of.
pub(super) async fn titles(asking: &Asking) -> Result<Vec<Value>, Refusal> {
    let channels = asking.read(&LIST, &[], &[("limit", "10"), ("include_closed", "false")]).await?;
    let wrapped = json!({"channels": channels});
    Ok(listed(&wrapped, "channels")
        .iter()
        .map(|one| json!({"id": one["id"], "title": one["title"]}))
        .collect())
}
