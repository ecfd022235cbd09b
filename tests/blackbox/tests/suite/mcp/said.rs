//! How messages are sent in each era, and how a stream of them is read.

use blackbox::{Agent, Connection, PATIENCE, Response, Server};
use serde_json::{Value, json};
use tokio::time::timeout;

/// The revision without sessions.
pub(super) const SINGLE: &str = "2026-07-28";
/// The newest revision with them.
pub(super) const SESSIONS: &str = "2025-11-25";
pub(super) const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

/// A server with the tools that show each form of the protocol.
pub(super) async fn served() -> Server {
    Server::builder().arg("--mcp-fixture").start().await
}

/// A request that stands alone, with what every one of them has to say of itself.
pub(super) fn single(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": SINGLE,
        "io.modelcontextprotocol/clientInfo": {"name": "blackbox", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The headers of such a request; they repeat what is in it.
pub(super) fn headers(message: &Value) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("Accept", ACCEPT.1.to_owned()),
        ("MCP-Protocol-Version", SINGLE.to_owned()),
        ("Mcp-Method", message["method"].as_str().expect("a method").to_owned()),
    ];
    let name = match message["method"].as_str() {
        Some("tools/call" | "prompts/get") => message["params"]["name"].as_str(),
        Some("resources/read" | "resources/subscribe" | "resources/unsubscribe") => {
            message["params"]["uri"].as_str()
        }
        _ => None,
    };
    headers.extend(name.map(|name| ("Mcp-Name", name.to_owned())));
    headers
}

/// Sends a request that stands alone.
pub(super) async fn ask(agent: &Agent, method: &str, params: Value) -> Response {
    ask_at(agent, "/mcp", method, params).await
}

/// The same with a query.
pub(super) async fn ask_at(agent: &Agent, path: &str, method: &str, params: Value) -> Response {
    let message = single(method, params);
    let headers = headers(&message);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    agent.call("POST", path, &headers, Some(&message)).await
}

/// The result of a request that stands alone.
pub(super) async fn result(agent: &Agent, method: &str, params: Value) -> Value {
    let answer = ask(agent, method, params).await;
    let body = answer.ok(200);
    assert!(body["result"].is_object(), "a result: {answer}");
    body["result"].clone()
}

/// Sends exactly this message with these headers beside the usual ones.
pub(super) async fn send(agent: &Agent, extra: &[(&str, &str)], message: &Value) -> Response {
    let headers: Vec<_> = [ACCEPT].iter().chain(extra).copied().collect();
    agent.call("POST", "/mcp", &headers, Some(message)).await
}

/// The code of an error, which has a message too.
#[track_caller]
pub(super) fn code(answer: &Response) -> i64 {
    let body = answer.json();
    assert!(body["error"]["message"].is_string(), "an error has a message: {answer}");
    body["error"]["code"].as_i64().unwrap_or_else(|| panic!("an error has a code: {answer}"))
}

/// The messages of an answer that came as a stream and is over.
pub(super) fn messages(answer: &Response) -> Vec<Value> {
    let text = answer.text();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
    lines.map(|data| serde_json::from_str(data).expect("a message is JSON")).collect()
}

/// A session of the initialize era.
pub(super) struct Session<'a> {
    pub(super) agent: &'a Agent,
    pub(super) id: String,
    next: i64,
}

impl<'a> Session<'a> {
    /// Begins one as a client does, in two steps.
    pub(super) async fn open(agent: &'a Agent) -> Self {
        let params = json!({
            "protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": {"name": "blackbox", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let answer = send(agent, &[], &message).await;
        assert_eq!(answer.status, 200, "{answer}");
        let id = answer.header("mcp-session-id").expect("a session has an id").to_owned();
        let result = &messages(&answer)[0]["result"];
        assert_eq!(result["protocolVersion"], SESSIONS, "{answer}");
        assert_eq!(result["serverInfo"]["name"], "plenary", "{answer}");
        let session = Self { agent, id, next: 1 };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.send(&ready).await.status, 202);
        session
    }

    /// The same session with another token of its client.
    pub(super) fn of<'b>(self, agent: &'b Agent) -> Session<'b> {
        Session { agent, id: self.id, next: self.next }
    }

    /// The headers of what is said in it.
    pub(super) fn headers(&self) -> [(&str, &str); 2] {
        [("Mcp-Session-Id", &self.id), ("MCP-Protocol-Version", SESSIONS)]
    }

    pub(super) async fn send(&self, message: &Value) -> Response {
        send(self.agent, &self.headers(), message).await
    }

    /// Everything that comes back to a request, its answer last.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Vec<Value> {
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let answer = self.send(&message).await;
        assert_eq!(answer.status, 200, "{answer}");
        let messages = messages(&answer);
        assert_eq!(messages.last().map(|last| &last["id"]), Some(&message["id"]), "{answer}");
        messages
    }

    /// The result of a request.
    pub(super) async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await.pop().unwrap_or_default();
        assert!(answer["result"].is_object(), "a result: {answer}");
        answer["result"].clone()
    }
}

/// Messages as they come.
pub(super) struct Coming {
    connection: Connection,
    chunked: bool,
    text: String,
}

impl Coming {
    /// Opens a stream: the answer to a request, or what the server says by itself.
    pub(super) async fn open(agent: &Agent, server: &Server, request: &[u8]) -> Self {
        let mut connection = Connection::open(server.address().place()).await.expect("the server is there");
        connection.send(request).await.expect("it takes the request");
        let head = timeout(PATIENCE, connection.response_head()).await.expect("in time").expect("an answer");
        assert_eq!(head.status, 200, "{} opens a stream: {head}", agent.handle);
        assert_eq!(head.header("content-type"), Some("text/event-stream"), "{head}");
        assert_eq!(head.header("x-accel-buffering"), Some("no"), "{head}");
        Self { connection, chunked: head.is_chunked(), text: String::new() }
    }

    /// Subscribes to notices of resources by a request that stands alone.
    pub(super) async fn listen(agent: &Agent, server: &Server, uris: &[&str]) -> Self {
        let message =
            single("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}));
        let headers = headers(&message);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request = agent.request("POST", "/mcp", &headers, Some(message.to_string().as_bytes()));
        Self::open(agent, server, &request).await
    }

    /// Hears what the server says by itself in a session.
    pub(super) async fn hear(session: &Session<'_>, server: &Server) -> Self {
        let [id, version] = session.headers();
        let request = session.agent.request("GET", "/mcp", &[ACCEPT, id, version], None);
        Self::open(session.agent, server, &request).await
    }

    /// The next message; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Value> {
        timeout(PATIENCE, self.read()).await.expect("a message comes in time")
    }

    /// Reads to the end of a request that listened: the last message is its result.
    pub(super) async fn ends_with_its_result(&mut self) {
        let mut last = Value::Null;
        while let Some(message) = self.next().await {
            last = message;
        }
        assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(1), &json!("complete")), "{last}");
        assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{last}");
    }

    async fn read(&mut self) -> Option<Value> {
        loop {
            while let Some(at) = self.text.find("\n\n") {
                let event: String = self.text.drain(..at + 2).collect();
                let data: String = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
                if !data.trim().is_empty() {
                    return Some(serde_json::from_str(data.trim()).expect("a message is JSON"));
                }
            }
            let part = self.connection.part(self.chunked).await.ok()??;
            self.text.push_str(&String::from_utf8_lossy(&part));
        }
    }
}
