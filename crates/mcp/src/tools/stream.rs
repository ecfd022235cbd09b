//! Reads a stream of Server-Sent Events for a while: its events, and the position to continue from.
//! Must not know: the stream.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt as _;
use plenary_outward::sse::{Item, Parser, SseEvent};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

/// Maximum size of a stream that one reading keeps, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) data: String,
}

/// An item of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamItem {
    Event(Event),
    /// A comment: the server is reachable, and has no events for now.
    Comment,
}

/// A stream in progress.
pub(crate) struct Stream {
    body: Body,
    parser: Parser,
    read: std::vec::IntoIter<Item>,
    last_id: Option<String>,
    bytes: usize,
    until: Instant,
}

impl Event {
    /// The form for a model: JSON data as JSON.
    pub(crate) fn value(&self) -> Value {
        let data = serde_json::from_str(&self.data).unwrap_or_else(|_| Value::from(self.data.clone()));
        let mut value = json!({"data": data});
        for (name, text) in [("id", &self.id), ("event", &self.kind)] {
            if let Some(text) = text {
                value[name] = text.clone().into();
            }
        }
        value
    }
}

impl Stream {
    pub(crate) fn new(body: Body, wait: Duration) -> Self {
        let parser = Parser::holding(BYTES_MAX);
        let until = Instant::now() + wait;
        Self { body, parser, read: Vec::new().into_iter(), last_id: None, bytes: 0, until }
    }

    /// The next item; `None` at the deadline, at the end, and beyond the size limit.
    pub(crate) async fn next(&mut self) -> Option<StreamItem> {
        loop {
            match self.read.next() {
                Some(Item::Comment(_)) => return Some(StreamItem::Comment),
                Some(Item::Event(SseEvent { id, name, data })) => {
                    // A stream keeps its last id; the event has only its own.
                    let own = id.clone().filter(|_| id != self.last_id);
                    self.last_id = id;
                    let kind = Some(name).filter(|name| !name.is_empty());
                    return Some(StreamItem::Event(Event { id: own, kind, data }));
                }
                None => {}
            }
            let frame = timeout_at(self.until, self.body.frame()).await.ok()??.ok()?;
            let Ok(piece) = frame.into_data() else { continue };
            self.bytes += piece.len();
            if self.bytes > BYTES_MAX {
                return None;
            }
            let mut items = Vec::new();
            self.parser.feed(&piece, &mut items).ok()?;
            self.read = items.into_iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_and_comments_come_as_they_were_sent() {
        let body = Body::from(": keepalive\n\nid: 7\nevent: x\ndata: {\"a\":1}\n\ndata: one\ndata: two\n\n");
        let mut stream = Stream::new(body, Duration::from_secs(5));
        assert_eq!(stream.next().await, Some(StreamItem::Comment));
        let Some(StreamItem::Event(event)) = stream.next().await else { panic!("an event") };
        assert_eq!(event.value(), json!({"id": "7", "event": "x", "data": {"a": 1}}));
        let Some(StreamItem::Event(event)) = stream.next().await else { panic!("an event") };
        assert_eq!(event.data, "one\ntwo");
        assert_eq!(stream.next().await, None);
    }

    #[tokio::test]
    async fn a_stream_that_says_nothing_ends_at_the_deadline() {
        let silent = futures_util::stream::pending::<Result<bytes::Bytes, std::convert::Infallible>>();
        let mut stream = Stream::new(Body::from_stream(silent), Duration::from_millis(1));
        assert_eq!(stream.next().await, None);
    }
}
