//! Who asks: a bearer of some token, and an agent with its handle. Each method is one request of the documents.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{Address, Connection, PATIENCE, Pongs, Response, Server, Socket, Stream, render};

/// Someone with a token, or without one.
#[derive(Debug, Clone)]
pub struct Caller {
    address: Address,
    token: Option<String>,
}

impl Caller {
    /// A caller at that address.
    pub fn new(address: Address, token: Option<&str>) -> Self {
        Self { address, token: token.map(str::to_owned) }
    }

    /// The token, which must be there.
    pub fn token(&self) -> &str {
        self.token.as_deref().expect("this caller has a token")
    }

    /// Sends exactly these bytes on a fresh connection and reads one response.
    pub async fn bytes(&self, request: &[u8]) -> Response {
        // The more there is to do, the longer a busy machine takes.
        let patience = PATIENCE + PATIENCE * u32::try_from(request.len() >> 22).unwrap_or(u32::MAX);
        self.bytes_within(patience, request).await
    }

    async fn bytes_within(&self, patience: Duration, request: &[u8]) -> Response {
        let work = async {
            let mut connection = Connection::open(self.address.place()).await?;
            connection.round_trip(request).await
        };
        let line = String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default());
        match tokio::time::timeout(patience, work).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => panic!("no response to {line}: {error}"),
            Err(_) => panic!("no response to {line} within {patience:?}"),
        }
    }

    /// The bytes of a request with this caller's token, further headers, and a body.
    pub fn request(&self, method: &str, path: &str, extra: &[(&str, &str)], body: Option<&[u8]>) -> Vec<u8> {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers = Vec::new();
        if let Some(bearer) = &bearer {
            headers.push(("Authorization", bearer.as_str()));
        }
        if body.is_some() && !extra.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            headers.push(("Content-Type", "application/json"));
        }
        headers.extend_from_slice(extra);
        render(method, path, &headers, body)
    }

    /// A request with further headers.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        extra: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Response {
        let body = body.map(Value::to_string);
        let mut response =
            self.bytes(&self.request(method, path, extra, body.as_deref().map(str::as_bytes))).await;
        if let Some(body) = body {
            response.request_line =
                format!("{} {}", response.request_line, body.chars().take(500).collect::<String>());
        }
        response
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Response {
        self.call("GET", path, &[], None).await
    }

    /// GET of something that may be very large.
    pub async fn get_large(&self, path: &str) -> Response {
        self.bytes_within(10 * PATIENCE, &self.request("GET", path, &[], None)).await
    }

    /// POST without a body.
    pub async fn post_empty(&self, path: &str) -> Response {
        self.call("POST", path, &[], None).await
    }

    /// POST of a JSON value.
    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.call("POST", path, &[], Some(&body)).await
    }

    /// POST of a body that may not even be JSON.
    pub async fn post_raw(&self, path: &str, body: &[u8]) -> Response {
        self.bytes(&self.request("POST", path, &[], Some(body))).await
    }

    /// PATCH of a JSON value.
    pub async fn patch(&self, path: &str, body: Value) -> Response {
        self.call("PATCH", path, &[], Some(&body)).await
    }

    /// PUT of a JSON value.
    pub async fn put(&self, path: &str, body: Value) -> Response {
        self.call("PUT", path, &[], Some(&body)).await
    }

    /// DELETE.
    pub async fn delete(&self, path: &str) -> Response {
        self.call("DELETE", path, &[], None).await
    }

    /// Upgrades `target` and demands success.
    pub async fn socket(&self, target: &str, pongs: Pongs) -> Socket {
        match self.try_socket(target, &[], pongs).await {
            Ok(socket) => socket,
            Err(response) => panic!("no upgrade: {response}"),
        }
    }

    /// Upgrades `target`; the error is the refusal.
    pub async fn try_socket(
        &self,
        target: &str,
        extra: &[(&str, &str)],
        pongs: Pongs,
    ) -> Result<Socket, Response> {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers: Vec<_> = bearer.iter().map(|bearer| ("Authorization", bearer.as_str())).collect();
        headers.extend_from_slice(extra);
        let opened =
            tokio::time::timeout(PATIENCE, Socket::open(self.address.place(), target, &headers, pongs));
        opened.await.expect("an upgrade is answered in time").expect("an upgrade is answered")
    }

    /// Opens `target` as a stream of server-sent events; the error is the refusal.
    pub async fn try_stream(&self, target: &str, extra: &[(&str, &str)]) -> Result<Stream, Response> {
        let request = self.request("GET", target, extra, None);
        let opened = tokio::time::timeout(PATIENCE, Stream::open(self.address.place(), &request));
        opened.await.expect("a stream is answered in time").expect("a stream is answered")
    }

    /// Opens `target` as a stream of server-sent events and demands success.
    pub async fn stream(&self, target: &str) -> Stream {
        match self.try_stream(target, &[]).await {
            Ok(stream) => stream,
            Err(response) => panic!("no stream: {response}"),
        }
    }

    /// Where this caller's server is.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

/// An agent: a caller with a handle.
#[derive(Debug, Clone)]
pub struct Agent {
    /// `@owner.name`.
    pub handle: String,
    caller: Caller,
}

impl std::ops::Deref for Agent {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl Agent {
    /// An agent known by its token.
    pub fn new(handle: &str, address: Address, token: &str) -> Self {
        Self { handle: handle.to_owned(), caller: Caller::new(address, Some(token)) }
    }

    /// The same agent, asking another server process.
    pub fn at(&self, server: &Server) -> Self {
        Self::new(&self.handle, server.address().clone(), self.token())
    }

    /// `POST /sessions`; the whole answer.
    pub async fn open(&self, body: Value) -> Value {
        self.post("/sessions", body).await.ok(201)
    }

    /// `POST /sessions` with these invitees; the session's id.
    pub async fn create(&self, invite: &[&Agent]) -> String {
        let invite: Vec<_> = invite.iter().map(|agent| agent.handle.as_str()).collect();
        id_of(&self.open(json!({ "invite": invite })).await)
    }

    /// `POST /sessions/{id}/join`.
    pub async fn join(&self, id: &str) {
        let body = self.post_empty(&format!("/sessions/{id}/join")).await.ok(200);
        assert_eq!(body, json!({"ok": true}), "ASP-65");
    }

    /// `POST /sessions/{id}/leave`.
    pub async fn leave(&self, id: &str) {
        let body = self.post_empty(&format!("/sessions/{id}/leave")).await.ok(200);
        assert_eq!(body, json!({"ok": true}), "ASP-65");
    }

    /// `POST /sessions/{id}/end`.
    pub async fn end(&self, id: &str) {
        let body = self.post_empty(&format!("/sessions/{id}/end")).await.ok(200);
        assert_eq!(body, json!({"ok": true}), "ASP-65");
    }

    /// `POST /sessions/{id}/invite`; the handles that were invited.
    pub async fn invite(&self, id: &str, handles: &[&str]) -> Vec<String> {
        let body = self.post(&format!("/sessions/{id}/invite"), json!({ "invite": handles })).await.ok(200);
        let invited = body["invited"].as_array().expect("invite answers with the list (ASP-66)");
        invited.iter().map(|handle| handle.as_str().expect("a handle").to_owned()).collect()
    }

    /// `POST /sessions/{id}/messages`; the sequence.
    pub async fn say(&self, id: &str, content: impl Into<Value>) -> i64 {
        let body = self
            .post(&format!("/sessions/{id}/messages"), json!({ "content": content.into() }))
            .await
            .ok(201);
        body["sequence"].as_i64().expect("the answer has the sequence (ASP-67)")
    }

    /// `POST /sessions/{id}/reopen`.
    pub async fn reopen(&self, id: &str, body: Value) {
        let body = self.post(&format!("/sessions/{id}/reopen"), body).await.ok(200);
        assert_eq!(body, json!({"ok": true}));
    }

    /// `GET /sessions/{id}`.
    pub async fn show(&self, id: &str) -> Value {
        self.get(&format!("/sessions/{id}")).await.ok(200)
    }

    /// `GET /sessions/{id}/events`, following `next_cursor` to the end.
    pub async fn history(&self, id: &str) -> Vec<Value> {
        let mut events = Vec::new();
        let mut after = "0".to_owned();
        loop {
            let page = self.get(&format!("/sessions/{id}/events?after_sequence={after}")).await.ok(200);
            events.extend_from_slice(page["events"].as_array().expect("events is a list"));
            match page["next_cursor"].as_str() {
                Some(next) => after = next.to_owned(),
                None => return events,
            }
        }
    }

    /// The status of a participant as `GET /sessions/{id}` tells it; `none` when it is not listed.
    pub async fn status_of(&self, id: &str, handle: &str) -> String {
        let session = self.show(id).await;
        let participants = session["participants"].as_array().expect("participants is a list");
        let found = participants.iter().find(|participant| participant["handle"] == handle);
        found.and_then(|participant| participant["status"].as_str()).unwrap_or("none").to_owned()
    }

    /// Opens the event stream, answering pings.
    pub async fn connect(&self) -> Socket {
        self.socket("/connect", Pongs::Answer).await
    }

    /// Connects, waits until the server serves the connection, and drops it without a handshake.
    pub async fn come_and_go(&self) {
        let mut socket = self.connect().await;
        socket.wait_until_served().await;
        socket.cut().await;
    }

    /// Opens the event stream and never confirms anything.
    pub async fn connect_mute(&self) -> Socket {
        self.socket("/connect", Pongs::Withhold).await
    }
}

fn id_of(created: &Value) -> String {
    created["session_id"].as_str().expect("create answers with session_id (ASP-64)").to_owned()
}
