//! A small reader of server-sent events over a bare socket.

use blackbox::{Caller, PATIENCE};
use bytes::{Buf as _, BytesMut};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// What came on a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent {
    /// `id:` and `data:`.
    Event(u64, Value),
    /// `id:` alone.
    Id(u64),
    Comment(String),
    /// The response ended, whole.
    End,
    /// The connection broke; half a message may have been lost with it.
    Broken,
}

/// An open stream.
pub(crate) struct Stream {
    tcp: TcpStream,
    raw: BytesMut,
    text: String,
    /// The head of the response.
    pub(crate) head: String,
}

impl Stream {
    pub(crate) async fn open(who: &Caller, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::try_open(who, path, headers).await.expect("the server answers")
    }

    /// The same at a server that may die meanwhile, or that has too many; nothing when there is no answer, or a 429.
    pub(crate) async fn try_open(who: &Caller, path: &str, headers: &[(&str, &str)]) -> Option<Self> {
        let mut tcp = TcpStream::connect(who.address().get()).await.ok()?;
        tcp.write_all(&who.request("GET", path, headers, None)).await.ok()?;
        let mut stream = Self { tcp, raw: BytesMut::new(), text: String::new(), head: String::new() };
        let end = loop {
            if let Some(at) = stream.raw.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            if !stream.more().await {
                return None;
            }
        };
        stream.head = String::from_utf8(stream.raw.split_to(end).to_vec()).expect("a head in ASCII");
        stream.raw.advance(4);
        if stream.head.starts_with("HTTP/1.1 429 ") {
            return None;
        }
        assert!(stream.head.starts_with("HTTP/1.1 200 "), "{}", stream.head);
        Some(stream)
    }

    /// Reads on; false when the connection is broken.
    async fn more(&mut self) -> bool {
        let read = timeout(PATIENCE, self.tcp.read_buf(&mut self.raw)).await;
        read.expect("something comes in time").is_ok_and(|bytes| bytes > 0)
    }

    /// Whether the next chunk is more than the last one; nothing when the connection is broken.
    async fn chunk(&mut self) -> Option<bool> {
        let line = loop {
            match self.raw.windows(2).position(|window| window == b"\r\n") {
                Some(at) => break at,
                None if self.more().await => {}
                None => return None,
            }
        };
        let size = String::from_utf8(self.raw.split_to(line).to_vec()).expect("a size in ASCII");
        let size = usize::from_str_radix(size.trim(), 16).expect("a size");
        self.raw.advance(2);
        while self.raw.len() < size + 2 {
            if !self.more().await {
                return None;
            }
        }
        let chunk = self.raw.split_to(size);
        self.raw.advance(2);
        self.text.push_str(std::str::from_utf8(&chunk).expect("chunks end between characters"));
        Some(size > 0)
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Sent {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let sent = read(message);
                self.text = rest.to_owned();
                return sent;
            }
            match self.chunk().await {
                Some(true) => {}
                Some(false) => {
                    assert!(self.text.is_empty(), "half a message: {:?}", self.text);
                    return Sent::End;
                }
                None => return Sent::Broken,
            }
        }
    }

    /// The next event; whatever else comes before it is passed over.
    pub(crate) async fn event(&mut self) -> Value {
        loop {
            match self.next().await {
                Sent::Event(id, event) => {
                    assert!(event["id"].is_null() || event["id"] == id, "the id is the event's own");
                    return event;
                }
                end @ (Sent::End | Sent::Broken) => panic!("the stream is over: {end:?}"),
                Sent::Id(_) | Sent::Comment(_) => {}
            }
        }
    }

    /// Waits for the end; events before it are given.
    pub(crate) async fn ending(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            match self.next().await {
                Sent::Event(_, event) => events.push(event),
                Sent::End => return events,
                Sent::Broken => panic!("the stream broke off: {:?}", self.text),
                Sent::Id(_) | Sent::Comment(_) => {}
            }
        }
    }
}

fn read(message: &str) -> Sent {
    assert!(!message.contains('\r'), "lines end with LF alone: {message:?}");
    let (mut id, mut data, mut comment, mut name) = (None, None::<Value>, None, None);
    for line in message.lines() {
        match line.split_once(':').map(|(name, value)| (name, value.strip_prefix(' ').unwrap_or(value))) {
            Some(("", text)) => comment = Some(text.to_owned()),
            Some(("id", value)) => id = Some(value.parse().expect("a decimal id")),
            Some(("data", value)) => {
                assert!(data.is_none(), "one data line: {message}");
                data = Some(serde_json::from_str(value).expect("JSON"));
            }
            Some(("event", value)) => name = Some(value.to_owned()),
            Some(("retry", value)) => assert!(value.parse::<u64>().is_ok()),
            other => panic!("{other:?} is not expected in {message:?}"),
        }
    }
    if let Some(name) = name {
        assert_eq!(data.as_ref().map(|data| &data["type"]), Some(&Value::from(name)), "{message}");
    }
    match (id, data, comment) {
        (Some(id), Some(data), None) => Sent::Event(id, data),
        (Some(id), None, _) => Sent::Id(id),
        (None, None, Some(comment)) => Sent::Comment(comment),
        other => panic!("{other:?} in {message:?}"),
    }
}
