//! A reader of server-sent events that looks at every byte: what a stream may hold is an `id` line with one `data`
//! line, or a comment, each closed by an empty line, all with bare LF. A task reads all the time, so that an idle test
//! does not look like a stalled client. Must not know: what a frame means.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::Result;
use bytes::BytesMut;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::{Connection, PATIENCE, Place, Response};

/// Pieces kept for the text of a failure.
const HISTORY_MAX: usize = 20;

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The `id` line, a decimal number.
    pub id: u64,
    /// The `data` line, a JSON object.
    pub frame: Value,
    /// The event as it came, up to and with its empty line.
    pub bytes: String,
}

impl Delivery {
    /// The `frame_id` of the frame.
    pub fn frame_id(&self) -> &str {
        self.frame["frame_id"].as_str().expect("a frame has a frame_id")
    }
}

/// What came on a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// An event.
    Event(Delivery),
    /// A comment, with its colon and its empty line.
    Comment(String),
    /// The body ended as HTTP ends a body.
    End,
    /// The connection broke.
    Broken(String),
}

enum Piece {
    Block(String),
    End(String),
    Broken(String),
}

/// One open stream. Dropping it closes the connection.
#[derive(Debug)]
pub struct Stream {
    /// The answer's status and headers.
    pub head: Response,
    pieces: mpsc::UnboundedReceiver<Piece>,
    task: JoinHandle<()>,
    history: VecDeque<String>,
}

impl Stream {
    /// Sends the request. The inner error is the server's answer when it is anything but 200.
    pub async fn open(place: impl Into<Place>, request: &[u8]) -> Result<Result<Self, Response>> {
        let mut connection = Connection::open(place).await?;
        connection.send(request).await?;
        let mut head = connection.response_head().await?;
        let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
        head.request_line = String::from_utf8_lossy(line).into_owned();
        if head.status != 200 {
            return Ok(Err(connection.complete(head).await?));
        }
        let (sender, pieces) = mpsc::unbounded_channel();
        let task = tokio::spawn(pump(connection, head.is_chunked(), sender));
        Ok(Ok(Self { head, pieces, task, history: VecDeque::new() }))
    }

    /// What comes next, within the usual patience.
    pub async fn next_item(&mut self) -> StreamItem {
        self.next_item_within(PATIENCE).await
    }

    /// What comes next, within another patience.
    pub async fn next_item_within(&mut self, patience: Duration) -> StreamItem {
        let piece = match tokio::time::timeout(patience, self.pieces.recv()).await {
            Ok(Some(piece)) => piece,
            Ok(None) => Piece::Broken("already over".to_owned()),
            Err(_) => panic!("nothing came within {patience:?}; before: {:#?}", self.history),
        };
        let item = match piece {
            Piece::Block(block) => parse(&block),
            Piece::End(rest) => {
                assert!(rest.is_empty(), "the stream ends in the middle of an event: {rest:?}");
                StreamItem::End
            }
            Piece::Broken(error) => StreamItem::Broken(error),
        };
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(format!("{item:?}").chars().take(400).collect());
        item
    }

    /// The next event; comments are passed over, an ending is a failure.
    pub async fn event(&mut self) -> Delivery {
        loop {
            match self.next_item().await {
                StreamItem::Event(event) => return event,
                StreamItem::Comment(_) => {}
                end @ (StreamItem::End | StreamItem::Broken(_)) => {
                    panic!(
                        "the stream ended ({end:?}) while an event was awaited; before: {:#?}",
                        self.history
                    )
                }
            }
        }
    }

    /// All events up to and including the one with this `frame_id`: the usual fence.
    pub async fn until(&mut self, frame_id: &str) -> Vec<Delivery> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await;
            let last = event.frame_id() == frame_id;
            events.push(event);
            if last {
                return events;
            }
        }
    }

    /// Reads to the end: the events that still came, and how it ended.
    pub async fn ending(&mut self) -> (Vec<Delivery>, StreamItem) {
        let mut events = Vec::new();
        loop {
            match self.next_item().await {
                StreamItem::Event(event) => events.push(event),
                StreamItem::Comment(_) => {}
                end @ (StreamItem::End | StreamItem::Broken(_)) => return (events, end),
            }
        }
    }

    /// Drops the connection, as a client does that has seen enough.
    pub async fn cut(self) {
        self.task.abort();
        let ended = self.task.await;
        drop(ended);
    }
}

async fn pump(mut connection: Connection, chunked: bool, pieces: mpsc::UnboundedSender<Piece>) {
    let mut buffer = BytesMut::new();
    loop {
        let over = match connection.part(chunked).await {
            Ok(Some(part)) => {
                buffer.extend_from_slice(&part);
                None
            }
            Ok(None) => Some(Piece::End(String::from_utf8_lossy(&buffer).into_owned())),
            Err(error) => Some(Piece::Broken(error.to_string())),
        };
        // A carriage return would hide the empty line: it is handed on for the reader to stumble over.
        if over.is_none() && buffer.contains(&b'\r') {
            buffer.extend_from_slice(b"\n\n");
        }
        while let Some(at) = buffer.windows(2).position(|window| window == b"\n\n") {
            let block = buffer.split_to(at + 2);
            if pieces.send(Piece::Block(String::from_utf8_lossy(&block).into_owned())).is_err() {
                return;
            }
        }
        if let Some(over) = over {
            // Nobody may be listening any more.
            let told = pieces.send(over);
            drop(told);
            return;
        }
    }
}

/// One block of a stream, its empty line included. Panics at anything that has no place there.
fn parse(block: &str) -> StreamItem {
    assert!(!block.contains('\r'), "lines end in LF alone: {block:?}");
    let lines: Vec<&str> = block.trim_end_matches('\n').split('\n').collect();
    if lines.iter().all(|line| line.starts_with(':')) {
        return StreamItem::Comment(block.to_owned());
    }
    let value = |name: &str| -> Vec<&str> {
        let values = lines.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        values.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect()
    };
    let (ids, data) = (value("id"), value("data"));
    assert!(lines.len() == 2 && ids.len() == 1 && data.len() == 1, "one id and one data line: {block:?}");
    let decimal = !ids[0].is_empty() && ids[0].bytes().all(|byte| byte.is_ascii_digit());
    assert!(decimal, "the id is a decimal number: {block:?}");
    let frame: Value = serde_json::from_str(data[0]).unwrap_or_else(|error| panic!("{error}: {block:?}"));
    assert!(frame.is_object(), "the data is the JSON of a frame: {block:?}");
    StreamItem::Event(Delivery {
        id: ids[0].parse().expect("a decimal number"),
        frame,
        bytes: block.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Events that are torn over chunks come whole; comments and the end are told apart.
    #[tokio::test]
    async fn a_torn_stream_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0_u8; 7];
            stream.read_exact(&mut request).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
            for part in ["id: 7\nda", "ta: {\"frame_id\":\"a\"}\n", "\n: keepalive\n\n", ""] {
                let chunk = format!("{:x}\r\n{part}\r\n", part.len());
                stream.write_all(chunk.as_bytes()).await.unwrap();
            }
        });
        let mut stream = Stream::open(address, b"GET /\r\n").await.unwrap().unwrap();
        assert_eq!(stream.until("a").await[0].bytes, "id: 7\ndata: {\"frame_id\":\"a\"}\n\n");
        assert_eq!(stream.next_item().await, StreamItem::Comment(": keepalive\n\n".to_owned()));
        assert_eq!(stream.next_item().await, StreamItem::End);
        server.await.unwrap();
    }

    #[test]
    fn what_has_no_place_is_refused() {
        for block in
            ["id: 1\nevent: x\ndata: {}\n\n", "data: {}\n\n", "id: 1\r\ndata: {}\n\n", "id: a\ndata: {}\n\n"]
        {
            assert!(std::panic::catch_unwind(|| parse(block)).is_err(), "{block:?}");
        }
    }
}
