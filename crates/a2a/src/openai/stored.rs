//! Stored responses: reading one, listing its input, and canceling it.
//! Must not know: how a run is carried out.

use axum::{
    extract::{Path, Query, State, rejection::QueryRejection},
    response::Response,
};
use http::request::Parts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{OpenAiError, id::ResponseId, responses::Sheet, rooms, run::OutputText};
use crate::{
    A2a,
    limits::{INPUT_ITEMS, INPUT_ITEMS_MAX},
    rooms::{RoomClient, RoomRefusal, encoded},
    rpc::json_response,
};

/// The query of `GET /v1/responses/{response_id}`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ShownAs {
    /// Only `false`: events are sent by the request that creates a response.
    #[schemars(with = "Option<bool>")]
    stream: Option<String>,
}

/// The query of `GET /v1/responses/{response_id}/input_items`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ItemsQuery {
    /// `desc`, the newest first, unless it is `asc`.
    order: Option<String>,
    /// The item after which the list starts.
    after: Option<String>,
    /// 1 to 100; 20 when absent.
    #[schemars(with = "Option<usize>", range(min = 1, max = INPUT_ITEMS_MAX))]
    limit: Option<String>,
}

pub(super) async fn show(
    State(a2a): State<A2a>,
    Path(id): Path<String>,
    query: Result<Query<ShownAs>, QueryRejection>,
    parts: Parts,
) -> Response {
    let shown = async {
        let rooms = rooms(&a2a, &parts).await?;
        let Query(query) = query.map_err(|_| OpenAiError::param("stream", "`stream` must be false."))?;
        if query.stream.is_some_and(|stream| stream != "false") {
            let text =
                "`stream` is not supported here: ask for the response with `stream`, or read it again.";
            return Err(OpenAiError::unsupported("stream", text));
        }
        Ok(json_response(&StoredResponse::find(&rooms, &id).await?.body()))
    };
    shown.await.unwrap_or_else(|wrong: OpenAiError| wrong.response())
}

pub(super) async fn cancel(State(a2a): State<A2a>, Path(id): Path<String>, parts: Parts) -> Response {
    let canceled = async {
        let rooms = rooms(&a2a, &parts).await?;
        let mut found = StoredResponse::find(&rooms, &id).await?;
        if found.text.end.is_none() {
            let body = json!({"type": "CancelRequest", "run_id": found.sheet.id.run});
            match rooms.post(&format!("/agent/{}/run", encoded(&found.agent)), &body, None).await {
                // The run has just ended by itself.
                Err(RoomRefusal { code, .. }) if code == "run_not_active" => {}
                other => drop(other?),
            }
            found = StoredResponse::find(&rooms, &id).await?;
        }
        Ok(json_response(&found.body()))
    };
    canceled.await.unwrap_or_else(|wrong: OpenAiError| wrong.response())
}

pub(super) async fn input_items(
    State(a2a): State<A2a>,
    Path(id): Path<String>,
    query: Result<Query<ItemsQuery>, QueryRejection>,
    parts: Parts,
) -> Response {
    let listed = async {
        let rooms = rooms(&a2a, &parts).await?;
        let Query(query) = query.map_err(|_| OpenAiError::param("limit", "The query cannot be read."))?;
        let found = StoredResponse::find(&rooms, &id).await?;
        Ok(json_response(&page(found.items(), &query)?))
    };
    listed.await.unwrap_or_else(|wrong: OpenAiError| wrong.response())
}

struct StoredResponse {
    sheet: Sheet,
    agent: String,
    text: OutputText,
    report: Value,
}

impl StoredResponse {
    /// # Errors
    /// 404 if the response does not exist or the caller may not see it.
    async fn find(rooms: &RoomClient, text: &str) -> Result<Self, OpenAiError> {
        let id = ResponseId::read(text).ok_or_else(OpenAiError::no_response)?;
        let agent = id.agent.clone().ok_or_else(OpenAiError::no_response)?;
        let hidden = |no: RoomRefusal| match &*no.code {
            "run_not_found" | "agent_not_found" => OpenAiError::no_response(),
            _ => no.into(),
        };
        let path = format!("/agent/{}/runs/{}", encoded(&agent), encoded(&id.run));
        let report = rooms.get(&path).await.map_err(hidden)?.value;
        let text = OutputText::read(rooms, &agent, &id.run, id.number).await.map_err(hidden)?;
        // An answer to a question had its own request, of which the run stores the answer only.
        let stored =
            if id.number == 0 { &report["request"]["request_metadata"]["openai"] } else { &Value::Null };
        let mut body = if stored.is_object() { stored.clone() } else { json!({}) };
        if body["model"].is_null() {
            body["model"] = agent.clone().into();
        }
        Ok(Self { sheet: Sheet { id, body }, agent, text, report })
    }

    fn body(&self) -> Value {
        match (&self.text.end, self.report["status"].as_str()) {
            (Some(end), _) => self.sheet.filled(&self.text, end),
            (None, Some("queued")) => self.sheet.shape("queued"),
            (None, _) => self.sheet.shape("in_progress"),
        }
    }

    /// The input items, oldest first.
    fn items(&self) -> Vec<Value> {
        let id =
            |nth: usize| format!("msg_{}.in{nth}", self.sheet.id.to_string().trim_start_matches("resp_"));
        let of_text = |text: &str| json!([{"type": "input_text", "text": text}]);
        let message = |nth: usize, role: &str, content: Value| json!({"type": "message", "id": id(nth), "status": "completed", "role": role, "content": content});
        let sent = &self.sheet.body["input"];
        let is_of_run = sent.is_null() && self.sheet.id.number == 0;
        let input = if is_of_run { &self.report["request"]["input"] } else { sent };
        let of_item = |(nth, item): (usize, &Value)| {
            let content = item["content"].as_str().map_or_else(|| item["content"].clone(), of_text);
            message(nth, item["role"].as_str().unwrap_or("user"), content)
        };
        match (input.as_str(), input.as_array()) {
            (Some(text), _) => vec![message(0, "user", of_text(text))],
            (None, Some(items)) => items.iter().enumerate().map(of_item).collect(),
            (None, None) => Vec::new(),
        }
    }
}

/// A page of a list.
fn page(mut items: Vec<Value>, query: &ItemsQuery) -> Result<Value, OpenAiError> {
    match query.order.as_deref() {
        Some("asc") => {}
        Some("desc") | None => items.reverse(),
        Some(_) => return Err(OpenAiError::param("order", "`order` must be asc or desc.")),
    }
    let limit = query.limit.as_deref().map_or(Ok(INPUT_ITEMS), str::parse).ok();
    let limit = limit.filter(|limit| (1..=INPUT_ITEMS_MAX).contains(limit));
    let limit = limit.ok_or_else(|| OpenAiError::param("limit", "`limit` must be 1 to 100."))?;
    if let Some(after) = &query.after {
        let index = items.iter().position(|item| item["id"] == after.as_str());
        let index = index.ok_or_else(|| OpenAiError::param("after", "`after` must be the id of an item."))?;
        items.drain(..=index);
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let id = |item: Option<&Value>| item.map(|item| item["id"].clone());
    Ok(json!({
        "object": "list", "first_id": id(items.first()), "last_id": id(items.last()), "has_more": has_more, "data": items,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items_query(order: Option<&str>, after: Option<&str>, limit: Option<&str>) -> ItemsQuery {
        let text = |text: Option<&str>| text.map(str::to_owned);
        ItemsQuery { order: text(order), after: text(after), limit: text(limit) }
    }

    #[test]
    fn a_list_is_read_in_pages_from_either_end() {
        let items: Vec<Value> = ["a", "b", "c"].iter().map(|id| json!({"id": id})).collect();
        let ids = |query: ItemsQuery| {
            let page = page(items.clone(), &query).unwrap();
            let ids: Vec<_> =
                page["data"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
            (ids, page["has_more"] == true)
        };
        assert_eq!(ids(items_query(None, None, None)), (vec![json!("c"), json!("b"), json!("a")], false));
        assert_eq!(ids(items_query(Some("asc"), None, Some("2"))), (vec![json!("a"), json!("b")], true));
        assert_eq!(ids(items_query(Some("asc"), Some("b"), Some("1"))), (vec![json!("c")], false));
        assert_eq!(ids(items_query(None, Some("a"), None)), (vec![], false));
        for (param, bad) in [
            ("order", items_query(Some("up"), None, None)),
            ("after", items_query(None, Some("x"), None)),
            ("limit", items_query(None, None, Some("0"))),
            ("limit", items_query(None, None, Some("101"))),
            ("limit", items_query(None, None, Some("many"))),
        ] {
            assert_eq!(page(items.clone(), &bad).unwrap_err().error()["param"], param);
        }
    }
}
