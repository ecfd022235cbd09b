//! Answers without a server: to messages that every server of this version answers alike, which are the start of a session
//! and the lists.
//! Must not know: accounts, or where a message comes from.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, header};
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager};
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    changes::only,
    config,
    entry::{CallerContext, Outcome, toolsets},
    envelope::Envelope,
    handler::Handler,
    listed::Lists,
};
use crate::{
    operations::{Caller, Operations},
    tools,
};

/// The methods that are answered here: they read nothing from the log, and are the same for every caller.
const METHODS: [&str; 7] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
];

/// The server's handler without its entry, callers, sessions and log.
pub struct LocalAnswers {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    lists: Lists,
    _end: DropGuard,
}

impl LocalAnswers {
    /// Answers for a server with these operations, which are described but never called.
    pub fn new(operations: Operations) -> Self {
        let (tools, end) = (tools::all(&operations), CancellationToken::new());
        let lists = Lists::new(tools.clone(), None);
        let make = move || Ok(Handler::new(operations.clone(), tools.clone(), None));
        let config = config(&end).with_legacy_session_mode(false);
        Self {
            service: StreamableHttpService::new(make, Arc::default(), config),
            lists,
            _end: end.drop_guard(),
        }
    }

    /// Whether requests of this method are answered here.
    pub fn knows(method: &str) -> bool {
        METHODS.contains(&method)
    }

    /// The answer to a message as JSON, or `None` for a message without one. `path` is `/mcp` with its query; `headers`
    /// are those of the message over HTTP, without a session.
    pub async fn answer(
        &self,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        message: &str,
    ) -> Option<String> {
        let mut request = Request::post(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .body(Full::new(Bytes::copy_from_slice(message.as_bytes())))
            .ok()?;
        request.headers_mut().extend(headers.iter().cloned());
        text(self.ask(request, message).await.unwrap_or_else(|refused| *refused)).await
    }

    async fn ask(&self, request: Request<Full<Bytes>>, message: &str) -> Outcome<Response> {
        let lists = Envelope::read(message.as_bytes())?.lists_tools();
        let (mut parts, body) = request.into_parts();
        let sets = toolsets(&parts)?;
        let caller = CallerContext {
            caller: Caller::default(),
            callers: only(Caller::default()),
            marks: Arc::default(),
            sets: sets.clone(),
            ends: Default::default(),
        };
        parts.extensions.insert(caller);
        let answer = self.service.handle(Request::from_parts(parts, body)).await.map(Body::new);
        Ok(if lists { self.lists.fill(answer, &sets).await } else { answer })
    }
}

/// The single message of an answer, either its body or an event of a stream.
async fn text(answer: Response) -> Option<String> {
    let body = answer.into_body().collect().await.ok()?.to_bytes();
    let body = String::from_utf8_lossy(&body);
    let is_message = |text: &&str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    [&*body].into_iter().chain(events).find(is_message).map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use serde_json::json;

    use super::*;

    fn read(answer: Option<String>) -> Value {
        serde_json::from_str(&answer.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn both_eras_are_answered_without_a_server() {
        let answers = LocalAnswers::new(Operations::new(Router::new(), Vec::new()));
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}})
        .to_string();
        let answer = read(answers.answer("/mcp", &[], &initialize).await);
        assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(1), &json!("2025-06-18")));
        assert!(answer["result"]["instructions"].is_string(), "{answer}");
        let list = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/list"}).to_string();
        let in_session = read(answers.answer("/mcp", &[], &list).await);
        assert_eq!(in_session["id"], "x", "{in_session}");
        let names = |answer: &Value| -> Vec<String> {
            let tools = answer["result"]["tools"].as_array().unwrap();
            tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
        };
        assert!(names(&in_session).contains(&"send".to_owned()), "{in_session}");

        let params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "b", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}});
        let alone = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params}).to_string();
        let headers = [
            (HeaderName::from_static("mcp-protocol-version"), HeaderValue::from_static("2026-07-28")),
            (HeaderName::from_static("mcp-method"), HeaderValue::from_static("tools/list")),
        ];
        let alone = read(answers.answer("/mcp", &headers, &alone).await);
        assert_eq!(names(&alone), names(&in_session));
        let wrong = read(answers.answer("/mcp?toolsets=no", &[], &list).await);
        assert!(wrong["error"]["message"].as_str().unwrap().contains("toolset"), "{wrong}");
    }

    #[test]
    fn what_reads_the_log_is_not_answered() {
        assert!(LocalAnswers::knows("tools/list") && !LocalAnswers::knows("tools/call"));
        assert!(!LocalAnswers::knows("resources/read") && !LocalAnswers::knows("prompts/get"));
    }
}
