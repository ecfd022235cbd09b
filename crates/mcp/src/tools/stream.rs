//! Reads a stream of Server-Sent Events for a while: its events, and the position to continue from.
//! Must not know: the stream.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt as _;
use plenary_outward::sse::{Item, Parser, SseEvent};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

/// Maximum size of a stream that one reading keeps, in bytes. The largest event has to fit, otherwise no reading gets past
/// it: a record of an import, with what the server adds to it.
const BYTES_MAX: usize = 4 << 20;

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) data: String,
}

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
            if self.bytes > BYTES_MAX {
                return None;
            }
            let frame = timeout_at(self.until, self.body.frame()).await.ok()??.ok()?;
            let Ok(piece) = frame.into_data() else { continue };
            self.bytes += piece.len();
            let mut items = Vec::new();
            if self.parser.feed(&piece, &mut items).is_err() {
                // The events before the one that is too long are still handed out.
                self.bytes = usize::MAX;
            }
            self.read = items.into_iter();
        }
    }

    /// After the last item: the id from which the stream continues, also one of a block without data.
    pub(crate) fn position(&self) -> Option<&str> {
        self.parser.last_id()
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
    async fn a_stream_without_events_has_a_position() {
        let mut stream = Stream::new(Body::from("retry: 1000\n\nid: 7\n\n"), Duration::from_secs(5));
        assert_eq!(stream.next().await, None);
        assert_eq!(stream.position(), Some("7"));
    }

    #[tokio::test]
    async fn events_of_the_largest_size_are_read_though_they_come_in_one_piece() {
        let text = "x".repeat(plenary_kernel::limits::BODY_BYTES_MAX);
        let body = Body::from(format!("id: 1\ndata: {text}\n\nid: 2\ndata: {text}\n\nid: 3\ndata: y\n\n"));
        let mut stream = Stream::new(body, Duration::from_secs(5));
        for id in ["1", "2", "3"] {
            let Some(StreamItem::Event(event)) = stream.next().await else { panic!("event {id}") };
            assert_eq!(event.id.as_deref(), Some(id));
        }
    }

    #[tokio::test]
    async fn a_stream_that_says_nothing_ends_at_the_deadline() {
        let silent = futures_util::stream::pending::<Result<bytes::Bytes, std::convert::Infallible>>();
        let mut stream = Stream::new(Body::from_stream(silent), Duration::from_millis(1));
        assert_eq!(stream.next().await, None);
    }
}
