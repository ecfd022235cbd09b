//! `axumws`: a WebSocket server that echoes, and otherwise holds what is connected.
//! Must not know: who is connected.

use anyhow::Result;
use axum::{
    Router,
    extract::ws::{Message, WebSocket, WebSocketUpgrade},
    routing::get,
};
use tokio::net::TcpListener;

/// With axum's own 128 KiB, which are written to at each read, it would be no limit.
const READ_BUFFER_BYTES: usize = 8 << 10;

pub(super) async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    super::listening(&[listener.local_addr()?])?;
    let connect =
        |upgrade: WebSocketUpgrade| async { upgrade.read_buffer_size(READ_BUFFER_BYTES).on_upgrade(echo) };
    let router = Router::new().route("/connect", get(connect));
    Ok(axum::serve(listener, router).await?)
}

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        let answer = match message {
            Message::Text(_) | Message::Binary(_) => socket.send(message).await,
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => Ok(()),
        };
        if answer.is_err() {
            return;
        }
    }
}
