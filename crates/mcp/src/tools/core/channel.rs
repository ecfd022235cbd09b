//! Channels in one tool: list, onboarding, create, read, post.
//! Must not know: the meaning of an event.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::project::listed;
use crate::tools::{
    AGAIN,
    api::{Answer, Refusal, Route, ToolApi, get, post},
    bounds,
};

pub(super) const DESCRIPTION: &str = "Shared channels. list; create (title); read (id or URL with key): newest events, or after_id; post (id, text or payload).";
pub(super) const LIST: Route = get("/agent-channel");
pub(super) const CREATE: Route = post("/agent-channel");
pub(super) const SHOW: Route = get("/agent-channel/{id}");
pub(super) const EVENTS: Route = get("/agent-channel/{id}/events");
pub(super) const APPEND: Route = post("/agent-channel/{id}/event");

/// Number of events or channels that one call shows.
const SHOWN: &str = "20";
/// The kind of an event with a text.
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
pub(super) struct ChannelArguments {
    action: Act,
    id: Option<String>,
    title: Option<String>,
    text: Option<String>,
    /// comms (default), status, state, spec, log or other
    kind: Option<String>,
    payload: Option<Map<String, Value>>,
    after_id: Option<u64>,
    peer: Option<String>,
}

impl Act {
    const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Create => "create",
            Self::Read => "read",
            Self::Post => "post",
        }
    }

    /// The arguments that it takes.
    const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::List => &[],
            Self::Create => &["title"],
            Self::Read => &["id", "kind", "after_id"],
            Self::Post => &["id", "text", "kind", "payload"],
        }
    }
}

impl ChannelArguments {
    /// An argument with content that the action does not take: ignored, it would look obeyed. Some models fill in every
    /// argument, with nothing.
    fn misplaced(&self) -> Option<&'static str> {
        let is_text = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
        let given = [
            ("id", is_text(self.id.as_deref())),
            ("title", is_text(self.title.as_deref())),
            ("text", is_text(self.text.as_deref())),
            ("kind", is_text(self.kind.as_deref())),
            ("payload", self.payload.as_ref().is_some_and(|payload| !payload.is_empty())),
            ("after_id", self.after_id.is_some_and(|after| after > 0)),
        ];
        let taken = self.action.arguments();
        given.into_iter().find(|(name, is_given)| *is_given && !taken.contains(name)).map(|(name, _)| name)
    }
}

pub(super) async fn channel(api: ToolApi, arguments: ChannelArguments) -> Answer {
    if let Some(name) = arguments.misplaced() {
        let (act, taken) = (arguments.action.name(), arguments.action.arguments().join("`, `"));
        let taken = if taken.is_empty() { "nothing".to_owned() } else { format!("`{taken}`") };
        return Err(Refusal::arguments(format!("`{act}` takes {taken}; leave out `{name}`.")));
    }
    let api = api.at_peer(arguments.peer);
    match (arguments.action, &arguments.id) {
        (Act::List, _) => {
            let channels = api.read(&LIST, &[], &[("limit", SHOWN)]).await?;
            Ok(json!({"channels": channels}))
        }
        (Act::Create, _) => {
            let title = arguments.title.filter(|title| !title.trim().is_empty());
            let title = title
                .ok_or_else(|| Refusal::arguments("`title` is missing: say what the channel is about."))?;
            api.write(&CREATE, &[], &json!({"title": title})).await
        }
        (Act::Read, Some(text)) => {
            let (id, key) = here(&api, text).await?;
            read(&api, id, key, arguments.kind.as_deref(), arguments.after_id).await.map_err(advised)
        }
        (Act::Post, Some(text)) => {
            let (id, key) = here(&api, text).await?;
            let payload = match (arguments.payload, arguments.text) {
                (Some(payload), None) => payload,
                (None, Some(text)) => Map::from_iter([("text".to_owned(), text.into())]),
                _ => return Err(Refusal::arguments("Post either `text` or `payload`.")),
            };
            let body = json!({"kind": arguments.kind.as_deref().unwrap_or(COMMS), "payload": payload});
            let query: Vec<_> = key.map(|key| ("key", key)).into_iter().collect();
            let path = APPEND.at(&[id], &query);
            let event = api.reply(APPEND.method.clone(), &path, Some(&body)).await.map_err(advised)?.value();
            Ok(json!({"id": event["id"], "channel_id": event["channel_id"], "kind": event["kind"]}))
        }
        (Act::Read | Act::Post, None) => Err(Refusal::arguments("`id` is missing.")),
    }
}

/// The id and the key in a channel's name: its id, or its URL.
fn named(text: &str) -> (&str, Option<&str>) {
    let text = text.rsplit_once("/agent-channel/").map_or(text, |(_, rest)| rest);
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let id = path.split('/').next().unwrap_or_default();
    (id, query.split('&').find_map(|pair| pair.strip_prefix("key=")))
}

/// The id and the key in a channel's name, if it names a channel of this server.
async fn here<'a>(api: &ToolApi, text: &'a str) -> Result<(&'a str, Option<&'a str>), Refusal> {
    let (id, key) = named(text);
    let Some((server, _)) = text.split_once("/agent-channel/").filter(|(server, _)| server.contains("://"))
    else {
        return Ok((id, key));
    };
    let mut query = vec![("format", "json")];
    query.extend(key.map(|key| ("key", key)));
    let elsewhere = |ours: &str| {
        Refusal::arguments(format!(
            "This URL names a channel at {server}, and this server is {ours}. Send the request there, or pass the id \
             alone for a channel of this server."
        ))
    };
    let view = api.read(&SHOW, &[id], &query).await.map_err(|mut refusal| {
        if refusal.code == "no_such_channel" {
            refusal.message =
                format!("This server has no such channel for you. The URL names one at {server}.");
        }
        refusal
    })?;
    let url = view["channel"]["url"].as_str().unwrap_or_default();
    let (ours, _) = url.split_once("/agent-channel/").unwrap_or_default();
    let has_key = key.is_some() && named(url).1 == key;
    if has_key || is_same_server(server, ours) { Ok((id, key)) } else { Err(elsewhere(ours)) }
}

/// Whether two URLs begin at one server. The loopback has several names.
fn is_same_server(one: &str, other: &str) -> bool {
    let plain = |url: &str| {
        let url = url.trim_end_matches('/').to_lowercase();
        url.replace("//localhost", "//127.0.0.1").replace("//[::1]", "//127.0.0.1")
    };
    plain(one) == plain(other)
}

/// Adds advice to the refusal for a channel that the caller cannot see.
fn advised(mut refusal: Refusal) -> Refusal {
    if refusal.code == "no_such_channel" {
        refusal.message =
            "There is no such channel for you. Check the id, or ask for the channel's URL with its key and pass it as `id`."
                .to_owned();
    }
    refusal
}

/// The newest events, newest first, with a description of the channel; or the events after one, in order.
async fn read(api: &ToolApi, id: &str, key: Option<&str>, kind: Option<&str>, after: Option<u64>) -> Answer {
    let after_text = after.map(|after| after.to_string());
    let mut query = vec![("limit", SHOWN)];
    query.extend(kind.map(|kind| ("kind", kind)));
    query.extend(key.map(|key| ("key", key)));
    query.extend(after_text.as_deref().map(|after| ("after_id", after)));
    let events = api.read(&EVENTS, &[id], &query).await?;
    let mut events: Vec<Value> = events.as_array().cloned().unwrap_or_default();
    if after.is_some() {
        // The page after an event has the events that follow it directly; the next page starts at its end.
        events.sort_by_key(|event| event["id"].as_u64());
    }
    let events: Vec<Value> = events.iter().map(short).collect();
    if after.is_none()
        && let Some(newest) = events.first().filter(|newest| !bounds::fits(newest))
        && let Some(number) = newest["id"].as_u64()
    {
        // It is read in several parts, so later events must not change the result meanwhile.
        return Box::pin(read(api, id, key, kind, Some(number - 1))).await;
    }
    let fitting = bounds::fitting(&events).max(1).min(events.len());
    let mut again = api.again(json!({"action": "read", "id": id}));
    if let Some(kind) = kind {
        again["kind"] = kind.into();
    }
    if let Some(after) = after {
        again["after_id"] = after.into();
    }
    let mut shown = json!({"id": id, "events": events[..fitting]});
    let last = events[..fitting].last().map(|event| event["id"].clone());
    match after {
        Some(_) => {
            if let Some(last) = last {
                shown["next"] = again.clone();
                shown["next"]["after_id"] = last;
            }
        }
        None => {
            let view = api.read(&SHOW, &[id], &[("format", "json")]).await?;
            for name in ["title", "created_by", "closed_at"] {
                shown[name] = view["channel"][name].clone();
            }
            shown["newest_first"] = true.into();
            if events.len() > fitting {
                shown["left_out"] = (events.len() - fitting).into();
            }
        }
    }
    shown[AGAIN] = again;
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

/// The agent's channels, in short.
pub(super) async fn titles(api: &ToolApi) -> Result<Vec<Value>, Refusal> {
    let channels = api.read(&LIST, &[], &[("limit", "10"), ("include_closed", "false")]).await?;
    let wrapped = json!({"channels": channels});
    Ok(listed(&wrapped, "channels")
        .iter()
        .map(|one| json!({"id": one["id"], "title": one["title"]}))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_6_a_channel_is_named_by_its_id_or_its_link() {
        for (text, id, key) in [
            ("VHGC", "VHGC", None),
            ("VHGC?key=0af7", "VHGC", Some("0af7")),
            ("http://h:1/agent-channel/VHGC?key=0af7&format=md", "VHGC", Some("0af7")),
            ("http://h:1/agent-channel/VHGC/events?kind=a&key=0af7", "VHGC", Some("0af7")),
        ] {
            assert_eq!(named(text), (id, key), "{text}");
        }
    }

    #[test]
    fn a_server_is_the_same_under_each_name_of_the_loopback() {
        for (one, other, is_same) in [
            ("http://127.0.0.1:7420", "http://localhost:7420", true),
            ("http://[::1]:7420/", "http://127.0.0.1:7420", true),
            ("https://Agents.example/base", "https://agents.example/base", true),
            ("http://evil.example", "http://127.0.0.1:7420", false),
            ("http://127.0.0.1:7421", "http://127.0.0.1:7420", false),
        ] {
            assert_eq!(is_same_server(one, other), is_same, "{one} {other}");
        }
    }
}
