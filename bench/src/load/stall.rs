//! A receiver that opens its stream and never reads again. Must not know: what is sent to it.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::net::{TcpSocket, TcpStream};

use super::{receive::open_stream, request};

/// So small that the server soon feels it.
const RECEIVE_BYTES: u32 = 4_096;

/// Connects with so small a buffer that the server soon feels that nobody reads.
pub(crate) async fn unread(address: SocketAddr) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(RECEIVE_BYTES)?;
    Ok(socket.connect(address).await?)
}

/// Opens a stream of server-sent events; it stalls for as long as the socket is kept.
pub(crate) async fn stall(address: SocketAddr, path: &str, token: &str) -> Result<TcpStream> {
    let mut stream = unread(address).await?;
    open_stream(&mut stream, &request("GET", path, token, b""), b"HTTP/1.1 200 ").await?;
    Ok(stream)
}
