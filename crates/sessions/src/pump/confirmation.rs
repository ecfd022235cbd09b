//! Confirmation: events count as received when a pong answers a ping that was sent after them (wire.md D.4).
//! Must not know: how events are read, or in which form they are written.

use axum::extract::ws::Message;
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use plenary_kernel::Position;
use tokio::time::{Duration, Instant, timeout};

use super::{End, Pump, Socket, in_time};
use crate::{CONFIRM_MS, KEEPALIVE_MS, PONG_MS_MAX};

/// What was sent and not confirmed.
#[derive(Debug)]
pub(super) struct Confirmation {
    pub(super) number: u64,
    /// The ping under way: the position that its pong confirms, and when it went out.
    pub(super) ping: Option<(Position, Instant)>,
    /// Since when there is something that no ping covers yet.
    pub(super) uncovered_since: Option<Instant>,
    /// The position of the newest event that was sent.
    pub(super) newest: Position,
    /// When the peer was last heard or pinged.
    pub(super) last_contact: Instant,
}

impl<S: Socket> Pump<'_, S> {
    pub(super) async fn handle_message(
        &mut self,
        received: Option<Result<Message, axum::Error>>,
    ) -> Result<(), End> {
        let message = received.ok_or(End::Disconnected)?.map_err(End::from_protocol_error)?;
        self.confirmation.last_contact = Instant::now();
        match message {
            Message::Pong(payload) => self.accept_pong(&payload),
            Message::Text(text) if is_ping(&text) => {
                in_time(self.socket.send(Message::text(r#"{"type":"pong"}"#))).await?;
            }
            // Anything else is ignored and never closes the socket (wire.md 2.2).
            Message::Text(_) | Message::Binary(_) | Message::Ping(_) => {}
            // The answer goes out while the peer's end is awaited.
            Message::Close(_) => {
                let _ = timeout(Duration::from_secs(1), self.socket.next()).await;
                return Err(End::Disconnected);
            }
        }
        Ok(())
    }

    /// When something has to be done even if nothing happens.
    pub(super) fn next_deadline(&self) -> Instant {
        let Confirmation { ping, uncovered_since, last_contact, .. } = &self.confirmation;
        match (ping, uncovered_since) {
            (Some((_, since)), _) => *since + Duration::from_millis(PONG_MS_MAX),
            (None, Some(since)) => *since + Duration::from_millis(CONFIRM_MS),
            (None, None) => *last_contact + Duration::from_millis(KEEPALIVE_MS),
        }
    }

    /// Raises the position that the next ping confirms, if no mark is unread: then everything that was dispatched has been
    /// sent. The position is read first, so that the marks cover it.
    pub(super) fn raise_sent_position(&mut self) {
        let dispatched_position = self.sessions.0.presence.dispatched();
        if self.connection.mailbox.is_empty() {
            self.cover(dispatched_position);
        }
    }

    /// The client's stack answers a ping only after it has taken everything before it (wire.md D.4).
    pub(super) async fn tick(&mut self) -> Result<(), End> {
        if self.confirmation.ping.is_some() {
            return Err(End::Close(1008, "no pong arrived in time"));
        }
        self.confirmation.number += 1;
        let payload = Bytes::from(self.confirmation.number.to_string());
        in_time(self.socket.send(Message::Ping(payload))).await?;
        let now = Instant::now();
        self.confirmation.ping = Some((self.sent_position, now));
        // Events after that position are not confirmed by this ping.
        self.confirmation.uncovered_since = (self.confirmation.newest > self.sent_position).then_some(now);
        self.confirmation.last_contact = now;
        Ok(())
    }

    fn accept_pong(&mut self, payload: &[u8]) {
        if payload != self.confirmation.number.to_string().as_bytes() {
            return;
        }
        let Some((position, _)) = self.confirmation.ping.take() else { return };
        let presence = &self.sessions.0.presence;
        presence.confirm(self.connection, position, self.confirmation.uncovered_since.is_some());
        if let Some(cursor) = presence.cursor(&self.connection.handle) {
            self.sessions.0.cursors.moved(&self.connection.handle, cursor, true);
        }
    }
}

/// `{"type":"ping"}`, whatever else it holds.
fn is_ping(text: &str) -> bool {
    text.len() <= 1_024
        && serde_json::from_str::<serde_json::Value>(text)
            .is_ok_and(|value| value.get("type").and_then(|kind| kind.as_str()) == Some("ping"))
}
