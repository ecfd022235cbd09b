//! One WebSocket connection to `/connect`: its frames, and the detection of a dead peer.
//! Must not know: events, or the reconnect.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::{
    Client, Result,
    websocket::{self, WebSocket},
};

/// Largest frame accepted: an event with an inline message of the largest body, in its escaped form.
const FRAME_BYTES_MAX: usize = 16 << 20;
/// Silence after which the client pings the server.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// How long the server may take to answer the ping; after that the connection counts as lost.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);

/// An open connection.
pub(super) struct Socket {
    ws: WebSocket,
    last_frame_at: Instant,
    ping_sent_at: Option<Instant>,
}

impl Socket {
    /// Connects and upgrades. Requests the envelope form: the flat members would only repeat it.
    pub(super) async fn open(client: &Client) -> Result<Self> {
        let ws = websocket::open(client, "/connect?events=envelope", FRAME_BYTES_MAX).await?;
        Ok(Self { ws, last_frame_at: Instant::now(), ping_sent_at: None })
    }

    /// The next text frame, or why there is none. The pong that confirms delivery (wire.md D.4) is sent by the call
    /// after the one that read the ping, and so after the caller has handled the events before the ping.
    pub(super) async fn next(&mut self) -> std::result::Result<Utf8Bytes, String> {
        loop {
            let due = self
                .ping_sent_at
                .map_or(self.last_frame_at + SILENCE_MAX, |sent_at| sent_at + ANSWER_TIME_MAX);
            let frame = tokio::select! {
                biased;
                frame = self.ws.next() => frame,
                () = tokio::time::sleep_until(due) => {
                    if self.ping_sent_at.is_some() {
                        return Err("the server stopped sending".into());
                    }
                    self.ping_sent_at = Some(Instant::now());
                    self.ws.send(Message::Ping(Default::default())).await.map_err(|e| e.to_string())?;
                    continue;
                }
            };
            self.last_frame_at = Instant::now();
            self.ping_sent_at = None;
            match frame {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Close(frame))) => {
                    return Err(websocket::answer_close(&mut self.ws, frame).await);
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Err(error.to_string()),
                None => return Err("the connection ended".into()),
            }
        }
    }

    /// Closes the connection, and waits briefly for the server's close.
    pub(super) async fn close(mut self) {
        websocket::close(&mut self.ws).await;
    }
}
