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

pub(super) struct ConnectionEnd {
    /// The reason, for people.
    pub(super) reason: String,
    /// Whether the server closed the connection normally: it has dismissed the agent.
    pub(super) is_dismissed: bool,
}

impl<T: ToString> From<T> for ConnectionEnd {
    fn from(reason: T) -> Self {
        Self { reason: reason.to_string(), is_dismissed: false }
    }
}

/// An open connection.
pub(super) struct Socket {
    read: SplitStream<WebSocket>,
    write: SplitSink<WebSocket, Message>,
    last_frame_at: Instant,
    /// The queued frame.
    queued: Option<Message>,
    /// Whether written data may not have been flushed.
    needs_flush: bool,
}

impl Socket {
    /// Connects and upgrades.
    pub(super) async fn open(client: &Client, path: &str) -> Result<Self> {
        let (write, read) = websocket::open(client, path, FRAME_BYTES_MAX).await?.split();
        Ok(Self { read, write, last_frame_at: Instant::now(), queued: None, needs_flush: false })
    }

    /// Whether it accepts a frame.
    pub(super) fn has_room(&self) -> bool {
        self.queued.is_none()
    }

    /// Queues a frame.
    pub(super) fn put(&mut self, frame: String) {
        self.queued = Some(Message::Text(frame.into()));
    }

    /// The next text frame, or the end of the connection; sends the queued frame meanwhile. Reading on also answers the
    /// server's pings.
    pub(super) async fn next(&mut self) -> std::result::Result<SocketItem, ConnectionEnd> {
        loop {
            let silent = sleep_until(self.last_frame_at + SILENCE_MAX);
            let has_queued = self.queued.is_some();
            let write = &mut self.write;
            // May be dropped while it waits: nothing is written before there is room.
            let written =
                poll_fn(
                    |cx| if has_queued { write.poll_ready_unpin(cx) } else { write.poll_flush_unpin(cx) },
                );
            let frame = tokio::select! {
                biased;
                frame = self.read.next() => frame,
                written = written, if has_queued || self.needs_flush => {
                    written?;
                    let Some(frame) = self.queued.take() else {
                        self.needs_flush = false;
                        continue;
                    };
                    self.needs_flush = true;
                    self.write.start_send_unpin(frame)?;
                    return Ok(SocketItem::Sent);
                }
                () = silent => return Err("the server stopped sending".into()),
            };
            self.last_frame_at = Instant::now();
            match frame {
                Some(Ok(Message::Text(text))) => return Ok(SocketItem::Frame(text.as_str().to_owned())),
                Some(Ok(Message::Close(frame))) => {
                    let is_dismissed = frame.as_ref().is_some_and(|frame| frame.code == CloseCode::Normal);
                    let reason = websocket::answer_close(&mut self.read, frame).await;
                    return Err(ConnectionEnd { reason, is_dismissed });
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Err("the connection ended".into()),
            }
        }
    }

    /// Sends the queued frame, closes the connection, and waits briefly for the server's close.
    pub(super) async fn close(self) {
        let Self { read, mut write, queued, .. } = self;
        let last = async {
            match queued {
                Some(frame) => write.send(frame).await,
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
