//! Every operation that writes, with a body, another one, and how it takes a repeated request.
//! Must not know: what is demanded of the answers.

mod accounts;
mod people;
mod rooms;

use blackbox::{Agent, Caller, MULTIPART, Response, Server, multipart};
use serde_json::{Value, json};

/// How an operation takes a request that comes again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// The first answer, and nothing happens.
    Once,
    /// The same, but the answer is told apart by its head alone: a run's body is a stream.
    OnceByHead,
    /// The key is passed over, for repeating it changes nothing: the statuses of both answers, and why.
    Naturally(u16, u16, &'static str),
    /// The key is passed over, for every call counts, and why.
    EachTime(&'static str),
    /// Nothing that can be asked here is done; a refused request leaves its key free.
    Refused(u16),
}
pub(super) use Takes::{EachTime, Naturally, Once, OnceByHead};

pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) takes: Takes,
    pub(super) by: Caller,
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) body: Option<Value>,
    /// Another body.
    pub(super) other: Value,
}

impl Row {
    pub(super) async fn send(&self, body: Option<&Value>) -> Response {
        let key = format!("key-{}", self.id);
        if self.id == "file.upload" {
            // The body is the content of the file.
            let content = body.map(Value::to_string).unwrap_or_default();
            let body = multipart("a.txt", "text/plain", content.as_bytes());
            let headers = [MULTIPART, ("Idempotency-Key", &*key)];
            return self.by.bytes(&self.by.request(self.method, &self.path, &headers, Some(&body))).await;
        }
        self.by.call(self.method, &self.path, &[("Idempotency-Key", &key)], body).await
    }
}

pub(super) fn row(
    id: &'static str,
    takes: Takes,
    by: &Caller,
    (method, path): (&'static str, impl Into<String>),
    (body, other): (Value, Value),
) -> Row {
    let body = Some(body).filter(|body| !body.is_null());
    Row { id, takes, by: by.clone(), method, path: path.into(), body, other }
}

const OTHER: fn() -> (Value, Value) = || (Value::Null, json!({"x-other": 1}));

pub(super) struct Scene {
    pub(super) operator: Caller,
    pub(super) owner: Caller,
    pub(super) nick: Agent,
    pub(super) own: Agent,
    pub(super) bob: Agent,
}

impl Scene {
    pub(super) async fn new(server: &Server) -> Self {
        let own = json!({"handle": "@nick.own", "self_service": true});
        Self {
            operator: server.operator(),
            owner: server.owner("nick").await,
            nick: server.agent("@nick.a").await,
            own: server.agent_as(own).await,
            bob: server.agent("@bob.b").await,
        }
    }
}
