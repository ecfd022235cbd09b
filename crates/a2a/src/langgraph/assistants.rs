//! Assistants: the agents that the caller may run, each with one graph of its own name.
//! Must not know: runs.

use axum::response::Response;
use http::HeaderValue;
use serde_json::{Value, json};

use super::{Answer, LangGraphError, Request, count};
use crate::{
    limits::{PAGE_MAX, SEARCHED},
    rooms::{RoomClient, encoded},
    rpc::json_response,
};

/// A constant, since callers may not know when an agent was created.
const UNKNOWN_TIME: &str = "1970-01-01T00:00:00Z";

/// An agent as an assistant.
fn assistant(descriptor: &Value) -> Value {
    let name = &descriptor["name"];
    json!({
        "assistant_id": name, "graph_id": name, "name": name, "description": descriptor["purpose"],
        "config": {}, "context": {}, "metadata": {"created_by": "system", "handle": descriptor["handle"]},
        "created_at": UNKNOWN_TIME, "updated_at": UNKNOWN_TIME, "version": 1,
    })
}

/// The agent with an assistant's id, if the caller may run it.
pub(super) async fn describe(rooms: &RoomClient, id: &str) -> Result<Value, LangGraphError> {
    Ok(rooms.get(&format!("/agent/{}/describe", encoded(id))).await?.value)
}

/// The names of all agents that the caller may run.
pub(super) async fn names(rooms: &RoomClient) -> Result<Vec<String>, LangGraphError> {
    let agents = rooms.get("/agent").await?.value;
    let names = agents.as_array().into_iter().flatten().filter_map(|agent| agent["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}

/// Whether an assistant matches the search.
fn matches_search(assistant: &Value, search: &Value) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_lowercase();
    let of_graph = search["graph_id"].is_null() || search["graph_id"] == assistant["graph_id"];
    let of_name = text(&assistant["name"]).contains(&text(&search["name"]));
    let metadata = search["metadata"].as_object().into_iter().flatten();
    of_graph && of_name && metadata.into_iter().all(|(name, value)| assistant["metadata"][name] == *value)
}

/// The selected members, or all if there is no selection.
pub(super) fn selected(mut item: Value, select: &Value) -> Value {
    if let (Some(names), Some(members)) = (select.as_array(), item.as_object_mut()) {
        members.retain(|name, _| names.iter().any(|selected| selected == name));
    }
    item
}

impl Request<'_> {
    async fn assistants(&self) -> Result<Vec<Value>, LangGraphError> {
        let agents = self.rooms.get("/agent").await?.value;
        let all = agents.as_array().into_iter().flatten().map(assistant);
        Ok(all.filter(|assistant| matches_search(assistant, &self.body)).collect())
    }

    pub(super) async fn search_assistants(&self) -> Answer {
        let limit = count(&self.body["limit"], "limit", SEARCHED, PAGE_MAX)?;
        let offset = count(&self.body["offset"], "offset", 0, usize::MAX)?;
        let mut found = self.assistants().await?;
        if let Some(member) = self.body["sort_by"].as_str() {
            found.sort_by_key(|assistant| assistant[member].as_str().unwrap_or_default().to_owned());
            if self.body["sort_order"] == "desc" {
                found.reverse();
            }
        }
        let total = found.len();
        let select = &self.body["select"];
        let page: Vec<Value> =
            found.into_iter().skip(offset).take(limit).map(|one| selected(one, select)).collect();
        let next = offset.saturating_add(page.len());
        Ok(paged(json_response(&page.into()), total, (next < total && limit > 0).then_some(next)))
    }

    pub(super) async fn count_assistants(&self) -> Answer {
        Ok(json_response(&self.assistants().await?.len().into()))
    }

    pub(super) async fn assistant(&self, id: &str) -> Answer {
        Ok(json_response(&assistant(&describe(&self.rooms, id).await?)))
    }

    pub(super) async fn schemas(&self, id: &str) -> Answer {
        let name = describe(&self.rooms, id).await?["name"].clone();
        let message = json!({"type": "object", "properties": {"role": {"type": "string"}, "content": {"type": "string"}}});
        let messages =
            json!({"type": "object", "properties": {"messages": {"type": "array", "items": message}}});
        Ok(json_response(&json!({
            "graph_id": name, "input_schema": messages, "output_schema": messages, "state_schema": messages,
            "config_schema": null, "context_schema": null,
        })))
    }
}

/// A page, with the total number and the offset of the next page.
fn paged(mut response: Response, total: usize, next: Option<usize>) -> Response {
    let headers = response.headers_mut();
    headers.insert("x-pagination-total", HeaderValue::from(total));
    if let Some(next) = next {
        headers.insert("x-pagination-next", HeaderValue::from(next));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assistant_is_found_by_its_graph_its_name_and_its_metadata() {
        let echo = assistant(&json!({"name": "echo", "purpose": "Repeats", "handle": "@plenary.echo"}));
        for (search, expected) in [
            (json!({}), true),
            (json!({"graph_id": "echo", "name": "EC"}), true),
            (json!({"graph_id": "other"}), false),
            (json!({"name": "x"}), false),
            (json!({"metadata": {"created_by": "system"}}), true),
            (json!({"metadata": {"created_by": "user"}}), false),
        ] {
            assert_eq!(matches_search(&echo, &search), expected, "{search}");
        }
        assert_eq!(selected(echo, &json!(["name"])), json!({"name": "echo"}));
    }
}
