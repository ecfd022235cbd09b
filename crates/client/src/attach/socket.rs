//! One WebSocket connection of an attached agent: sends and receives frames concurrently, and detects that the server
//! is gone.
//! Must not know: the content of frames, or the reconnect.

use std::{future::poll_fn, time::Duration};

use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::{Message, protocol::frame::coding::CloseCode};

use crate::{
    Client, Result,
    websocket::{self, WebSocket},
};

/// Largest frame accepted: a request as the server may forward it, with room for what the server adds.
const FRAME_BYTES_MAX: usize = 9 << 20;
/// How long the server, which pings every 20 s, may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How long a queued frame may take to be sent before the close.
const LAST_FRAMES_TIME: Duration = Duration::from_millis(500);

/// An item returned by [`Socket::next`].
pub(super) enum SocketItem {
    /// A text frame.
    Frame(String),
    /// The queued frame was sent.
    Sent,
}

/// The end of a connection.
pub(super) struct ConnectionEnd {
    /// The reason, for people.
    pub(super) reason: String,
    /// Whether the server closed the connection normally: it has dismissed the agent.
    pub(super) is_let_go: bool,
}

impl<T: ToString> From<T> for ConnectionEnd {
    fn from(reason: T) -> Self {
        Self { reason: reason.to_string(), is_let_go: false }
    }
}

/// An open connection.
pub(super) struct Socket {
    read: SplitStream<WebSocket>,
    write: SplitSink<WebSocket, Message>,
    heard: Instant,
    /// The queued frame.
    put: Option<Message>,
    /// Whether written data may not have been flushed.
    is_behind: bool,
}

impl Socket {
    /// Connects and upgrades.
    pub(super) async fn open(client: &Client, path: &str) -> Result<Self> {
        let (write, read) = websocket::open(client, path, FRAME_BYTES_MAX).await?.split();
        Ok(Self { read, write, heard: Instant::now(), put: None, is_behind: false })
    }

    /// Whether it accepts a frame.
    pub(super) fn has_room(&self) -> bool {
        self.put.is_none()
    }

    /// Queues a frame.
    pub(super) fn put(&mut self, frame: String) {
        self.put = Some(Message::Text(frame.into()));
    }

    /// The next text frame, or the end of the connection; sends the queued frame meanwhile. Reading on also answers the
    /// server's pings.
    pub(super) async fn next(&mut self) -> std::result::Result<SocketItem, ConnectionEnd> {
        loop {
            let silent = sleep_until(self.heard + SILENCE_MAX);
            let has_put = self.put.is_some();
            let write = &mut self.write;
            // May be dropped while it waits: nothing is written before there is room.
            let written =
                poll_fn(|cx| if has_put { write.poll_ready_unpin(cx) } else { write.poll_flush_unpin(cx) });
            let frame = tokio::select! {
                biased;
                frame = self.read.next() => frame,
                written = written, if has_put || self.is_behind => {
                    written?;
                    let Some(put) = self.put.take() else {
                        self.is_behind = false;
                        continue;
                    };
                    self.is_behind = true;
                    self.write.start_send_unpin(put)?;
                    return Ok(SocketItem::Sent);
                }
                () = silent => return Err("the server stopped sending".into()),
            };
            self.heard = Instant::now();
            match frame {
                Some(Ok(Message::Text(text))) => return Ok(SocketItem::Frame(text.as_str().to_owned())),
                Some(Ok(Message::Close(frame))) => {
                    let is_let_go = frame.as_ref().is_some_and(|frame| frame.code == CloseCode::Normal);
                    let reason = websocket::answer_close(&mut self.read, frame).await;
                    return Err(ConnectionEnd { reason, is_let_go });
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Err("the connection ended".into()),
            }
        }
    }

    /// Sends the queued frame, closes the connection, and waits briefly for the server's close.
    pub(super) async fn close(self) {
        let Self { read, mut write, put, .. } = self;
        let last = async {
            match put {
                Some(put) => write.send(put).await,
                None => write.flush().await,
            }
        };
        // Gives up on a server that accepts no more data.
        if let Ok(Ok(())) = tokio::time::timeout(LAST_FRAMES_TIME, last).await
            && let Ok(mut socket) = read.reunite(write)
        {
            websocket::close(&mut socket).await;
        }
    }
}
