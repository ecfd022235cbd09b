//! The closing handshake of a WebSocket.
//! Must not know: the reason.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::StreamExt as _;
use tokio::time::timeout;

/// How long the closing handshake may take.
const CLOSING: Duration = Duration::from_secs(2);

/// Closes a WebSocket with a code and a reason. Waits for the peer's close for a limited time, so that the close is clean.
pub async fn close(mut socket: WebSocket, code: u16, reason: &'static str) {
    let frame = CloseFrame { code, reason: reason.into() };
    let handshake = async {
        if socket.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = socket.next().await {}
        }
    };
    let _late = timeout(CLOSING, handshake).await;
}
