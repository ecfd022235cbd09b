//! A stream of Server-Sent Events, read for a while: what came, and behind what to go on.
//! Must not know: whose stream it is.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

/// Most octets of a stream that one reading keeps.
const OCTETS_MAX: usize = 1 << 20;

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) data: String,
}

/// What a stream brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Event(Event),
    /// A comment: somebody is there, and nothing waits.
    Comment,
}

/// A stream that is being read.
pub(crate) struct Stream {
    body: Body,
    read: Vec<u8>,
    octets: usize,
    until: Instant,
}

impl Event {
    /// As a model sees it: what is JSON stands as JSON.
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
        Self { body, read: Vec::new(), octets: 0, until: Instant::now() + wait }
    }

    /// What comes next; `None` at the deadline, at the end, and past what one reading keeps.
    pub(crate) async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some(end) = self.read.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.read.drain(..end + 2).collect();
                return Some(told(&String::from_utf8_lossy(&block)));
            }
            let frame = timeout_at(self.until, self.body.frame()).await.ok()??.ok()?;
            let Ok(piece) = frame.into_data() else { continue };
            self.octets += piece.len();
            if self.octets > OCTETS_MAX {
                return None;
            }
            self.read.extend_from_slice(&piece);
        }
    }
}

fn told(block: &str) -> Told {
    let (mut id, mut kind, mut data) = (None, None, None::<String>);
    for line in block.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match (name, &mut data) {
            ("id", _) => id = Some(value),
            ("event", _) => kind = Some(value),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(&value);
            }
            ("data", none) => *none = Some(value),
            _ => {}
        }
    }
    data.map_or(Told::Comment, |data| Told::Event(Event { id, kind, data }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_and_comments_come_as_they_were_sent() {
        let body = Body::from(": keepalive\n\nid: 7\nevent: x\ndata: {\"a\":1}\n\ndata: one\ndata: two\n\n");
        let mut stream = Stream::new(body, Duration::from_secs(5));
        assert_eq!(stream.next().await, Some(Told::Comment));
        let Some(Told::Event(event)) = stream.next().await else { panic!("an event") };
        assert_eq!(event.value(), json!({"id": "7", "event": "x", "data": {"a": 1}}));
        let Some(Told::Event(event)) = stream.next().await else { panic!("an event") };
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
