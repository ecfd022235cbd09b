//! A small HTTP/1.1 client over a bare socket: it sends the bytes it is given and reads one response.
//! It knows nothing of the protocol spoken inside.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use bytes::{Buf, Bytes, BytesMut};
use rustls::ClientConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::place::Carrier;
use crate::{Place, Response};

/// Longest head that is accepted from the server.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Where a server listens now. Shared, because a restarted server has another port.
#[derive(Debug, Clone, Default)]
pub struct Address {
    port: Arc<AtomicU16>,
    tls: Option<Arc<ClientConfig>>,
}

impl Address {
    /// The present address, without what may be spoken there.
    pub fn get(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.load(Ordering::SeqCst)))
    }

    /// The present address with its TLS, if any.
    pub fn place(&self) -> Place {
        Place::from(self.get()).with_tls(self.tls.clone())
    }

    /// An address that is spoken to over TLS.
    pub(crate) fn with_tls(tls: Option<Arc<ClientConfig>>) -> Self {
        Self { tls, ..Self::default() }
    }

    /// Remembers the port of the newly started server.
    pub fn set_port(&self, port: u16) {
        self.port.store(port, Ordering::SeqCst);
    }
}

/// The bytes of a request. `Host` and, with a body, `Content-Length` are added.
pub fn render(method: &str, target: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Vec<u8> {
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = body {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body.unwrap_or_default());
    bytes
}

/// One connection, kept open between requests.
#[derive(Debug)]
pub struct Connection {
    stream: Box<dyn Carrier>,
    buffer: BytesMut,
}

impl Connection {
    /// Connects.
    pub async fn open(place: impl Into<Place>) -> Result<Self> {
        let stream = place.into().connect().await?;
        Ok(Self { stream, buffer: BytesMut::new() })
    }

    /// Sends bytes as they are.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Sends a rendered request and reads its response. The request may still be on its way out when an early
    /// refusal arrives, so a failed write is only reported when no response can be read.
    pub async fn round_trip(&mut self, request: &[u8]) -> Result<Response> {
        let written = self.stream.write_all(request).await;
        let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
        match self.response().await {
            Ok(mut response) => {
                response.request_line = String::from_utf8_lossy(line).into_owned();
                Ok(response)
            }
            Err(error) => Err(written.err().unwrap_or(error)),
        }
    }

    /// Reads one response.
    pub async fn response(&mut self) -> Result<Response> {
        let response = self.response_head().await?;
        self.complete(response).await
    }

    /// Reads the head of a response and leaves its body on the connection.
    pub async fn response_head(&mut self) -> Result<Response> {
        let (status, headers) = self.head().await?;
        Ok(Response { request_line: String::new(), status, headers, body: Bytes::new() })
    }

    /// Reads the body that belongs to a head.
    pub async fn complete(&mut self, mut response: Response) -> Result<Response> {
        let status = response.status;
        response.body = if status == 204 || status == 304 || status < 200 {
            Bytes::new()
        } else if response.is_chunked() {
            self.chunks().await?
        } else if let Some(length) = response.header("content-length") {
            let length =
                length.parse::<usize>().map_err(|_| protocol_error("content-length is no number"))?;
            self.exactly(length).await?
        } else {
            self.read_to_end().await?
        };
        Ok(response)
    }

    /// The next part of a body that may never end: a chunk, or what has come of a body without chunks; `None` at
    /// its proper end.
    pub async fn part(&mut self, chunked: bool) -> Result<Option<Bytes>> {
        if chunked {
            return self.chunk().await;
        }
        if self.buffer.is_empty() && self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Ok(None);
        }
        Ok(Some(self.buffer.split().freeze()))
    }

    /// Reads until the server closes and gives what came, for tests that send broken requests.
    pub async fn read_to_end(&mut self) -> Result<Bytes> {
        loop {
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(0) => return Ok(self.buffer.split().freeze()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    return Ok(self.buffer.split().freeze());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives up the socket and what was read beyond the last response, for the upgrade to a WebSocket.
    pub(crate) fn into_parts(self) -> (Box<dyn Carrier>, BytesMut) {
        (self.stream, self.buffer)
    }

    async fn head(&mut self) -> Result<(u16, Vec<(String, String)>)> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(protocol_error("the head never ends"));
            }
            self.read_more().await?;
        };
        let head = self.buffer.split_to(end);
        self.buffer.advance(4);
        let head = std::str::from_utf8(&head).map_err(|_| protocol_error("the head is not text"))?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
        let status = status.and_then(|line| line.get(..3)).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| protocol_error("no HTTP/1.1 status line"))?;
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
        Ok((status, headers))
    }

    async fn exactly(&mut self, length: usize) -> Result<Bytes> {
        while self.buffer.len() < length {
            self.read_more().await?;
        }
        Ok(self.buffer.split_to(length).freeze())
    }

    async fn chunks(&mut self) -> Result<Bytes> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        let line = self.line().await?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(|_| protocol_error("no chunk size"))?;
        let chunk = self.exactly(size).await?;
        if !self.line().await?.is_empty() {
            return Err(protocol_error("a chunk is longer than its size"));
        }
        Ok((size > 0).then_some(chunk))
    }

    async fn line(&mut self) -> Result<String> {
        loop {
            if let Some(at) = self.buffer.windows(2).position(|window| window == b"\r\n") {
                let line = self.buffer.split_to(at);
                self.buffer.advance(2);
                return String::from_utf8(line.to_vec()).map_err(|_| protocol_error("a line is not text"));
            }
            self.read_more().await?;
        }
    }

    async fn read_more(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")),
            _ => Ok(()),
        }
    }
}

fn protocol_error(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
