//! A reader of a run's server-sent events: `id`, `event` and `data` lines that agree, or comments; all with bare LF.
//! Must not know: what an event means.

use blackbox::{Caller, Connection, PATIENCE, Response};
use bytes::BytesMut;
use serde_json::Value;

/// An open stream. Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Events {
    /// The answer's status and headers.
    pub(super) head: Response,
    connection: Connection,
    buffer: BytesMut,
    heard: Vec<String>,
}

/// What came.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Heard {
    Event(Value),
    Comment,
    /// A piece of a text that is still being made: without an id, never kept.
    Delta(Value),
    End,
    Broken,
}

impl Events {
    /// `GET`, which must be a stream.
    pub(super) async fn get(who: &Caller, path: &str) -> Self {
        Self::get_with(who, path, &[]).await
    }

    /// The same with further headers.
    pub(super) async fn get_with(who: &Caller, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::open(who, &who.request("GET", path, headers, None)).await.expect("a stream")
    }

    /// `POST` of a JSON value, answered by a stream.
    pub(super) async fn post(who: &Caller, path: &str, body: &Value) -> Self {
        let body = body.to_string();
        Self::open(who, &who.request("POST", path, &[], Some(body.as_bytes()))).await.expect("a stream")
    }

    /// Sends the request; the error is any answer but 200.
    pub(super) async fn open(who: &Caller, request: &[u8]) -> Result<Self, Response> {
        let mut connection = Connection::open(who.address().place()).await.expect("a connection");
        connection.send(request).await.expect("the request is sent");
        let head = tokio::time::timeout(PATIENCE, connection.response_head()).await;
        let mut head = head.expect("an answer in time").expect("an answer");
        head.request_line = String::from_utf8_lossy(request).lines().next().unwrap_or_default().to_owned();
        if head.status != 200 {
            return Err(connection.complete(head).await.expect("the rest of the answer"));
        }
        let kind = head.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("text/event-stream"), "a stream of events (SC-37): {head}");
        Ok(Self { head, connection, buffer: BytesMut::new(), heard: Vec::new() })
    }

    /// What comes next.
    pub(super) async fn heard(&mut self) -> Heard {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|window| window == b"\n\n") {
                let block = String::from_utf8(self.buffer.split_to(end + 2).to_vec()).expect("UTF-8");
                self.heard.push(block.chars().take(300).collect());
                return parse(&block);
            }
            assert!(!self.buffer.contains(&b'\r'), "lines end in LF alone: {:?}", self.buffer);
            let part = tokio::time::timeout(PATIENCE, self.connection.part(self.head.is_chunked())).await;
            match part {
                Ok(Ok(Some(part))) => self.buffer.extend_from_slice(&part),
                Ok(Ok(None)) => {
                    assert!(self.buffer.is_empty(), "the stream ends in an event: {:?}", self.buffer);
                    return Heard::End;
                }
                Ok(Err(_)) => return Heard::Broken,
                Err(_) => panic!("nothing came within {PATIENCE:?}; before: {:#?}", self.heard),
            }
        }
    }

    /// The next event; an ending is a failure.
    pub(super) async fn event(&mut self) -> Value {
        loop {
            match self.heard().await {
                Heard::Event(event) => return event,
                Heard::Comment | Heard::Delta(_) => {}
                end @ (Heard::End | Heard::Broken) => {
                    panic!("the stream ended ({end:?}) before an event; before: {:#?}", self.heard)
                }
            }
        }
    }

    /// All events up to and including the first of this type.
    pub(super) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            events.push(self.event().await);
            if events.last().is_some_and(|event| event["type"] == kind) {
                return events;
            }
        }
    }

    /// All events up to the proper end of the stream.
    pub(super) async fn rest(&mut self) -> Vec<Value> {
        let (events, end) = self.ending().await;
        assert_eq!(end, Heard::End, "the stream ends as HTTP ends a body: {:#?}", self.heard);
        events
    }

    /// All events up to an end of any kind.
    pub(super) async fn ending(&mut self) -> (Vec<Value>, Heard) {
        let mut events = Vec::new();
        loop {
            match self.heard().await {
                Heard::Event(event) => events.push(event),
                Heard::Comment | Heard::Delta(_) => {}
                end @ (Heard::End | Heard::Broken) => return (events, end),
            }
        }
    }
}

/// 4.2: `id: <event id>`, `event: <type>`, `data: <event JSON>`.
#[track_caller]
fn parse(block: &str) -> Heard {
    assert!(!block.contains('\r'), "lines end in LF alone: {block:?}");
    let lines: Vec<_> = block.trim_end_matches('\n').split('\n').collect();
    let says_nothing = |line: &&str| line.starts_with(':') || line.starts_with("retry: ");
    if lines.iter().all(says_nothing) {
        return Heard::Comment;
    }
    let value = |name: &str| {
        let mut values = lines.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        match (values.next(), values.next()) {
            (Some(value), None) => value,
            _ => panic!("one {name} line: {block:?}"),
        }
    };
    if let ["event: TextDelta", data] = lines.as_slice() {
        let data = data.strip_prefix("data: ").unwrap_or_else(|| panic!("data: {block:?}"));
        return Heard::Delta(serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {block:?}")));
    }
    assert_eq!(lines.len(), 3, "id, event, data and nothing else: {block:?}");
    let event: Value =
        serde_json::from_str(value("data")).unwrap_or_else(|error| panic!("{error}: {block:?}"));
    let (id, run) = (event["id"].to_string(), event["run_id"].as_str().unwrap_or_default());
    let known = value("id") == id || value("id") == format!("{run}:{id}");
    assert!(known, "the id is the event's own, in a thread with its run's: {block:?}");
    assert_eq!(event["type"], value("event"), "the name is the event's type: {block:?}");
    Heard::Event(event)
}
