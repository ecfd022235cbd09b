//! A WebSocket client that does what a test tells it: by default it answers pings like any browser, on request it
//! never does. A task reads all the time, so that an idle test does not look like a stalled client.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::place::Carrier;
use crate::wsframe::{BINARY, CLOSE, FrameReader, PING, PONG, TEXT, encode};
use crate::{Connection, PATIENCE, Place, Response, render};

/// The sample key of RFC 6455 section 1.3 and the answer that it demands.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
/// Frames kept for the text of a failure.
const HISTORY_MAX: usize = 40;
/// How long an event is awaited while pings come.
const EVENT_PATIENCE: Duration = Duration::from_secs(180);

/// What the client does when the server pings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pongs {
    /// Answers at once, as RFC 6455 demands.
    Answer,
    /// Never answers: reads everything, confirms nothing.
    Withhold,
}

/// What came from the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// A protocol event: a JSON object with a `type`, in a text frame.
    Event(Value),
    /// `{"type":"pong"}`, the application's own.
    AppPong,
    /// A WebSocket ping; already answered unless pongs are withheld.
    Ping,
    /// A WebSocket pong with its payload.
    Pong(Vec<u8>),
    /// Any other text or binary message.
    Other(String),
    /// The closing handshake, with its code.
    Close(Option<u16>),
    /// The connection is over, with the reason as the system tells it.
    Gone(String),
}

/// One connection to `/connect`.
#[derive(Debug)]
pub struct Socket {
    writer: Arc<Mutex<WriteHalf<Box<dyn Carrier>>>>,
    frames: mpsc::UnboundedReceiver<Frame>,
    task: JoinHandle<()>,
    history: VecDeque<String>,
    unconfirmed: bool,
}

impl Socket {
    /// Upgrades. The inner error is the server's answer when it is anything but 101.
    pub async fn open(
        place: impl Into<Place>,
        target: &str,
        headers: &[(&str, &str)],
        pongs: Pongs,
    ) -> Result<Result<Self, Response>> {
        let mut connection = Connection::open(place).await?;
        let response = connection.round_trip(&upgrade_request(target, headers)).await?;
        if response.status != 101 {
            return Ok(Err(response));
        }
        if response.header("sec-websocket-accept") != Some(ACCEPT) {
            bail!("the accept key is wrong: {response}");
        }
        let (stream, rest) = connection.into_parts();
        let (reader, writer) = tokio::io::split(stream);
        let writer = Arc::new(Mutex::new(writer));
        let (sender, frames) = mpsc::unbounded_channel();
        let reader = FrameReader::new(reader, rest);
        let task = tokio::spawn(pump(reader, Arc::clone(&writer), sender, pongs));
        Ok(Ok(Self { writer, frames, task, history: VecDeque::new(), unconfirmed: false }))
    }

    /// The next frame of any kind.
    pub async fn frame(&mut self) -> Frame {
        let frame = match tokio::time::timeout(PATIENCE, self.frames.recv()).await {
            Ok(Some(frame)) => frame,
            Ok(None) => Frame::Gone("already over".to_owned()),
            Err(_) => panic!("nothing came within {PATIENCE:?}; before: {:#?}", self.history),
        };
        match frame {
            Frame::Event(_) => self.unconfirmed = true,
            Frame::Ping => self.unconfirmed = false,
            Frame::AppPong | Frame::Pong(_) | Frame::Other(_) | Frame::Close(_) | Frame::Gone(_) => {}
        }
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(format!("{frame:?}"));
        frame
    }

    /// The next event; other frames are passed over, an ending is a failure. Pings come for ever, so they have a limit.
    pub async fn event(&mut self) -> Value {
        let until = Instant::now() + EVENT_PATIENCE;
        loop {
            assert!(
                Instant::now() < until,
                "no event came within {EVENT_PATIENCE:?}; before: {:#?}",
                self.history
            );
            match self.frame().await {
                Frame::Event(event) => return event,
                end @ (Frame::Close(_) | Frame::Gone(_)) => {
                    panic!(
                        "the socket ended ({end:?}) while an event was awaited; before: {:#?}",
                        self.history
                    )
                }
                Frame::AppPong | Frame::Ping | Frame::Pong(_) | Frame::Other(_) => {}
            }
        }
    }

    /// The next event, which must be of this type.
    pub async fn expect(&mut self, kind: &str) -> Value {
        let event = self.event().await;
        assert_eq!(event["type"], kind, "expected {kind}, got {event}; before: {:#?}", self.history);
        event
    }

    /// All events up to and including the first that satisfies `last`.
    pub async fn until(&mut self, mut last: impl FnMut(&Value) -> bool) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await;
            let done = last(&event);
            events.push(event);
            if done {
                return events;
            }
        }
    }

    /// All events up to and including the first of this type.
    pub async fn until_kind(&mut self, kind: &str) -> Vec<Value> {
        self.until(|event| event["type"] == kind).await
    }

    /// All events up to and including the first of this type behind that sequence: past a transcript that a join
    /// has brought once more.
    pub async fn until_kind_behind(&mut self, kind: &str, sequence: &Value) -> Vec<Value> {
        let behind = sequence.as_u64().expect("a sequence");
        self.until(|event| event["type"] == kind && event["sequence"].as_u64().is_some_and(|it| it > behind))
            .await
    }

    /// All events up to and including the message with this text: the usual fence.
    pub async fn until_text(&mut self, text: &str) -> Vec<Value> {
        self.until(|event| event["type"] == "session.message" && event["payload"]["content"] == text).await
    }

    /// Waits until the server knows that everything received so far has arrived: a ping that came after the last
    /// event was answered, and the server has read the answer.
    pub async fn wait_until_confirmed(&mut self) {
        while self.unconfirmed {
            match self.frame().await {
                Frame::Ping => break,
                Frame::Event(event) => panic!("an event came where none was expected: {event}"),
                end @ (Frame::Close(_) | Frame::Gone(_)) => panic!("the socket ended: {end:?}"),
                Frame::AppPong | Frame::Pong(_) | Frame::Other(_) => {}
            }
        }
        self.round_trip().await;
    }

    /// Waits until the server serves the connection. Events that come first are passed over.
    pub async fn wait_until_served(&mut self) {
        self.text(r#"{"type":"ping"}"#).await;
        loop {
            match self.frame().await {
                Frame::AppPong => return,
                end @ (Frame::Close(_) | Frame::Gone(_)) => panic!("the socket ended: {end:?}"),
                Frame::Event(_) | Frame::Ping | Frame::Pong(_) | Frame::Other(_) => {}
            }
        }
    }

    /// An application ping and its answer: the server has read all that was sent before.
    pub async fn round_trip(&mut self) {
        self.text(r#"{"type":"ping"}"#).await;
        loop {
            match self.frame().await {
                Frame::AppPong => return,
                Frame::Event(event) => panic!("an event came where none was expected: {event}"),
                end @ (Frame::Close(_) | Frame::Gone(_)) => panic!("the socket ended: {end:?}"),
                Frame::Ping | Frame::Pong(_) | Frame::Other(_) => {}
            }
        }
    }

    /// Reads to the end of the connection: the events that still came, and the close code if there was one.
    pub async fn ending(&mut self) -> (Vec<Value>, Option<u16>) {
        let mut events = Vec::new();
        loop {
            match self.frame().await {
                Frame::Event(event) => events.push(event),
                Frame::Close(code) => return (events, code),
                Frame::Gone(_) => return (events, None),
                Frame::AppPong | Frame::Ping | Frame::Pong(_) | Frame::Other(_) => {}
            }
        }
    }

    /// Sends a text message.
    pub async fn text(&self, text: &str) {
        self.raw(&encode(true, TEXT, text.as_bytes(), true)).await.expect("the socket takes a frame");
    }

    /// Sends bytes as they are.
    pub async fn raw(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.writer.lock().await.write_all(bytes).await
    }

    /// Closes with the handshake and waits for the end.
    pub async fn close(mut self) {
        let payload = 1000_u16.to_be_bytes();
        let sent = self.raw(&encode(true, CLOSE, &payload, true)).await;
        if sent.is_ok() {
            self.ending().await;
        }
        self.cut().await;
    }

    /// Drops the connection without a handshake, as a crashed client does.
    pub async fn cut(self) {
        self.task.abort();
        let Self { writer, frames, task, .. } = self;
        drop((writer, frames));
        // The read half lives in the task; it is gone when the task is.
        let ended = task.await;
        drop(ended);
    }
}

/// The bytes of the upgrade request.
pub(crate) fn upgrade_request(target: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut all = vec![
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", KEY),
    ];
    all.extend_from_slice(headers);
    render("GET", target, &all, None)
}

async fn pump(
    mut reader: FrameReader<ReadHalf<Box<dyn Carrier>>>,
    writer: Arc<Mutex<WriteHalf<Box<dyn Carrier>>>>,
    frames: mpsc::UnboundedSender<Frame>,
    pongs: Pongs,
) {
    loop {
        let frame = match reader.next().await {
            Ok((opcode, payload)) => receive(opcode, payload, &writer, pongs).await,
            Err(error) => Err(error.into()),
        };
        let (frame, over) = match frame {
            Ok(frame) => (frame, false),
            Err(error) => (Frame::Gone(error.to_string()), true),
        };
        if frames.send(frame).is_err() || over {
            return;
        }
    }
}

async fn receive(
    opcode: u8,
    payload: Vec<u8>,
    writer: &Mutex<WriteHalf<Box<dyn Carrier>>>,
    pongs: Pongs,
) -> Result<Frame> {
    Ok(match opcode {
        TEXT => {
            let text = String::from_utf8(payload).context("a text message is UTF-8")?;
            classify(text)
        }
        BINARY => Frame::Other(format!("binary, {} bytes", payload.len())),
        PING => {
            if pongs == Pongs::Answer {
                // A connection that is being closed may not take the answer any more.
                let answered = writer.lock().await.write_all(&encode(true, PONG, &payload, true)).await;
                drop(answered);
            }
            Frame::Ping
        }
        PONG => Frame::Pong(payload),
        _ => {
            let answered = writer.lock().await.write_all(&encode(true, CLOSE, &payload, true)).await;
            drop(answered);
            let code = payload.get(..2).map(|code| u16::from_be_bytes([code[0], code[1]]));
            Frame::Close(code)
        }
    })
}

fn classify(text: String) -> Frame {
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if value["type"] == "pong" => Frame::AppPong,
        Ok(value) if value["type"].is_string() => Frame::Event(value),
        _ => Frame::Other(text),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{SinkExt as _, StreamExt as _};
    use tokio::net::TcpListener;
    use tokio_tungstenite::tungstenite::Message;

    use super::*;

    /// The client against a server that is not ours: handshake, events, pings, close code.
    #[tokio::test]
    async fn the_client_speaks_to_another_server() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
            socket.send(Message::text(r#"{"type":"session.ended"}"#)).await.unwrap();
            socket.send(Message::Ping(b"1".to_vec().into())).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong(b"1".to_vec().into()));
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(r#"{"type":"ping"}"#));
            socket.send(Message::text(r#"{"type":"pong"}"#)).await.unwrap();
            assert!(socket.next().await.unwrap().unwrap().is_close());
        });
        let mut socket = Socket::open(address, "/connect", &[], Pongs::Answer).await.unwrap().unwrap();
        socket.expect("session.ended").await;
        socket.wait_until_confirmed().await;
        socket.close().await;
        server.await.unwrap();
    }
}
