//! The lists of tools. Each is serialised once for single requests, and all answers share its bytes: the handler
//! answers with a marker, which the list replaces on the way out. An answer in a session contains the list itself,
//! because it may leave on the stream of another request, by which a client has reconnected.
//! Must not know: the caller, or the transport.

use std::{collections::HashMap, convert::Infallible, sync::Arc};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use parking_lot::Mutex;
use rmcp::model::{JsonObject, Tool as Described};

use super::{
    MARKED_BYTES_MAX, calls,
    envelope::{REFUSED, refusal},
    fixture::Fixture,
};
use crate::tool::{Tools, Toolset};

/// The name of the single tool that stands for the list.
const MARK: &str = "plenary list of tools";
const LIST_START: &[u8] = br#""tools":["#;

/// The lists that were requested so far: one for each choice of toolsets.
pub(super) struct Lists {
    tools: Tools,
    fixture: Option<Arc<Fixture>>,
    written: Mutex<HashMap<Vec<Toolset>, Bytes>>,
}

impl Lists {
    pub(super) fn new(tools: Tools, fixture: Option<Arc<Fixture>>) -> Self {
        Self { tools, fixture, written: Mutex::default() }
    }

    /// The placeholder of a list, which [`Lists::put`] replaces.
    pub(super) fn mark() -> Vec<Described> {
        vec![Described::new(MARK, "", JsonObject::new())]
    }

    /// The answer, with the list of these toolsets in place of the mark.
    pub(super) async fn fill(&self, answer: Response, sets: &[Toolset]) -> Response {
        let (mut parts, body) = answer.into_parts();
        let Ok(body) = Limited::new(body, MARKED_BYTES_MAX).collect().await else {
            let text = "The list was interrupted; try again.";
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, None, REFUSED, text);
        };
        let body = body.to_bytes();
        let Some((start, end)) = marked(&body) else { return Response::from_parts(parts, Body::from(body)) };
        let pieces = [body.slice(..start), self.of(sets), body.slice(end..)];
        if parts.headers.contains_key(header::CONTENT_LENGTH) {
            let length: usize = pieces.iter().map(Bytes::len).sum();
            parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let pieces = pieces.into_iter().map(Ok::<_, Infallible>);
        Response::from_parts(parts, Body::from_stream(stream::iter(pieces)))
    }

    /// The tools of these sets as JSON, separated by commas.
    fn of(&self, sets: &[Toolset]) -> Bytes {
        let mut written = self.written.lock();
        written.entry(sets.to_vec()).or_insert_with(|| self.write(sets)).clone()
    }

    fn write(&self, sets: &[Toolset]) -> Bytes {
        let tools = described(&self.tools, self.fixture.as_deref(), sets);
        let texts = tools.iter().filter_map(|tool| serde_json::to_string(tool).ok());
        texts.collect::<Vec<_>>().join(",").into()
    }
}

/// The tools of these sets in the form for clients.
pub(super) fn described(tools: &Tools, fixture: Option<&Fixture>, sets: &[Toolset]) -> Vec<Described> {
    let with_results = sets.len() < Toolset::ALL.len();
    let own = tools.in_sets(sets).map(|tool| calls::described(tool, with_results));
    own.chain(fixture.into_iter().flat_map(Fixture::tools)).collect()
}

/// The range of the mark. A client's text cannot imitate it: in a JSON text its quotes are escaped.
fn marked(body: &[u8]) -> Option<(usize, usize)> {
    let start = body.windows(LIST_START.len()).position(|window| window == LIST_START)? + LIST_START.len();
    let end = start + body[start..].iter().position(|byte| *byte == b']')?;
    let has_mark = body[start..end].windows(MARK.len()).any(|window| window == MARK.as_bytes());
    has_mark.then_some((start, end))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use serde_json::{Value, json};

    use super::*;

    async fn fill(lists: &Lists, body: &Value) -> Value {
        let answer = lists.fill(Response::new(Body::from(body.to_string())), &[Toolset::Core]).await;
        serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
    }

    #[tokio::test]
    async fn a_list_is_written_once_and_stands_where_the_mark_was() {
        let lists = Lists::new(Tools::new(Vec::new), Some(Arc::default()));
        let marked = json!({"id": "\"tools\":[", "result": {"tools": Lists::mark(), "x": 1}});
        let answer = fill(&lists, &marked).await;
        assert!(answer["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 1), "{answer}");
        assert_eq!((&answer["result"]["x"], &answer["id"]), (&json!(1), &marked["id"]));
        let first = lists.of(&[Toolset::Core]);
        assert_eq!(first.as_ptr(), lists.of(&[Toolset::Core]).as_ptr(), "the bytes are shared");
        let own = serde_json::to_value(described(&lists.tools, lists.fixture.as_deref(), &[Toolset::Core]))
            .unwrap();
        assert_eq!(answer["result"]["tools"], own, "a session has the same list");
        let refused = json!({"id": 1, "error": {"message": MARK}});
        assert_eq!(fill(&lists, &refused).await, refused);
    }
}
