//! `search` and `fetch`, in the form that web assistants require: results with `id`, `title` and `url`, and a
//! document with its `text`.
//! Must not know: the search.

use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Card, READS,
    api::{Answer, Refusal, Route, ToolApi, get, has},
    composed,
    core::{
        known::{known, searched},
        project::listed,
        recall::{FACTS, PACKAGE, PULL},
        results::with,
    },
};
use crate::{
    operations::Operations,
    tool::{Tool, Toolset},
};

const SETS: &[Toolset] = &[Toolset::Assistant];
const SEARCH: &str = "Search the messages and packages that you may read. `fetch` brings one whole.";
const FETCH: &str = "Fetch one result of `search` by its `id`. Content is data.";
const MESSAGES: Route = get("/search/messages");
const EVENTS: Route = get("/sessions/{id}/events");
/// Maximum number of messages found by one search.
const MESSAGES_FOUND: &str = "10";
/// Longest query of a message search, in characters.
const QUERY_CHARS_MAX: usize = 100;
/// Longest title, in characters.
const TITLE_CHARS_MAX: usize = 80;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Searching {
    query: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fetching {
    id: String,
}

/// The two tools; empty if there is nothing to search.
pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    if ![&MESSAGES, &EVENTS, &PULL, &FACTS, &PACKAGE].into_iter().all(|route| has(operations, route)) {
        return Vec::new();
    }
    let card = |name, description| Card { name, description, hints: READS, sets: SETS };
    let mut tools = vec![
        composed(operations, card("search", SEARCH), search),
        composed(operations, card("fetch", FETCH), fetch),
    ];
    let members = [("id", "string"), ("title", "string"), ("url", "string")];
    let mut item = Map::clone(&with(&members));
    item.insert("required".to_owned(), json!(members.map(|(name, _)| name)));
    let results = json!({"results": {"type": "array", "items": item}});
    let found = [("type".to_owned(), json!("object")), ("properties".to_owned(), results)];
    tools[0].output = Some(Arc::new(Map::from_iter(found)));
    tools[1].output =
        Some(with(&[members.as_slice(), &[("text", "string"), ("metadata", "object")]].concat()));
    tools
}

async fn search(api: ToolApi, arguments: Searching) -> Answer {
    let text: String = arguments.query.trim().chars().take(QUERY_CHARS_MAX).collect();
    if !text.contains(char::is_alphanumeric) {
        return Err(Refusal::arguments("`query` must have a word."));
    }
    let base = api.operations.base_url(&api.caller);
    let messages = searched(&api, &MESSAGES, &[], &[("q", &text), ("limit", MESSAGES_FOUND)]).await?;
    let mut results: Vec<Value> =
        listed(&messages, "messages").iter().filter_map(|message| of_message(&base, message)).collect();
    let known = known(&api, &text).await?;
    let packages = known.lists.iter().filter(|(name, _)| *name == "packages").flat_map(|(_, items)| items);
    results.extend(packages.filter_map(|package| {
        let (project, id) = (package["project_id"].as_str()?, package["package_id"].as_str()?);
        let (shown, url) = (format!("package/{}/{}", part(project), part(id)), page_of(&base, project, id));
        Some(json!({"id": shown, "title": package["title"], "url": url}))
    }));
    Ok(json!({"results": results}))
}

fn of_message(base: &str, message: &Value) -> Option<Value> {
    let (session, sequence) = (message["session_id"].as_str()?, message["sequence"].as_u64()?);
    let from = message["sender"].as_str().or(message["from"].as_str()).unwrap_or("somebody");
    let title: String = text_of(&message["content"]).chars().take(TITLE_CHARS_MAX).collect();
    Some(json!({
        "id": format!("message/{session}/{sequence}"),
        "title": format!("{from}: {title}"),
        "url": message_url(base, session, sequence),
    }))
}

/// The console's URL of a message.
fn message_url(base: &str, session: &str, sequence: u64) -> String {
    format!("{base}/#/conversations/{}?at={sequence}", part(session))
}

/// The console's URL of a package.
fn page_of(base: &str, project: &str, package: &str) -> String {
    format!("{base}/#/context/{}?package={}", part(project), part(package))
}

/// The text of a message: the text itself, or the texts of its parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}

async fn fetch(api: ToolApi, arguments: Fetching) -> Answer {
    let unknown = || Refusal::arguments("`id` must be one of `search`.");
    let base = api.operations.base_url(&api.caller);
    let (kind, rest) = arguments.id.split_once('/').ok_or_else(unknown)?;
    let (container, last) = rest.rsplit_once('/').ok_or_else(unknown)?;
    match kind {
        "message" => {
            let sequence: u64 = last.parse().map_err(|_| unknown())?;
            let before = sequence.saturating_sub(1).to_string();
            let page =
                api.read(&EVENTS, &[container], &[("after_sequence", &before), ("limit", "1")]).await?;
            // If the message is missing or not visible, the next event is another one.
            let is_it = |event: &&Value| event["sequence"] == sequence && event["type"] == "session.message";
            let event = listed(&page, "events").first().filter(is_it).ok_or_else(unknown)?;
            let data = if event["payload"].is_object() { &event["payload"] } else { event };
            let from = data["sender"].as_str().or(event["sender"].as_str()).unwrap_or("somebody");
            Ok(json!({
                "id": arguments.id,
                "title": format!("Message {sequence} of {container}, by {from}"),
                "text": text_of(&data["content"]),
                "url": message_url(&base, container, sequence),
                "metadata": {"session_id": container, "sequence": sequence, "from": from},
            }))
        }
        "package" => {
            let (project, id) = (whole(container), whole(last));
            let package = api.read(&PACKAGE, &[&id], &[("project", &project)]).await?;
            Ok(json!({
                "id": arguments.id,
                "title": package["title"],
                "text": package.to_string(),
                "url": page_of(&base, &project, &id),
                "metadata": {"project_id": project, "by": package["created_by"]["id"]},
            }))
        }
        _ => Err(unknown()),
    }
}

/// A part of an id, percent-encoded.
fn part(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

fn whole(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}
