//! HTTP/1.1 with keep-alive as a client that knows its server: a length is always given.
//! Must not know: what is asked.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const END_OF_HEAD: &[u8] = b"\r\n\r\n";
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";
const LENGTH: &[u8] = b"\r\ncontent-length: ";
/// Room for a reply; longer ones make it grow.
const BUFFER_BYTES: usize = 4 << 10;

/// A request with everything it needs; a body makes it JSON.
pub(crate) fn request(method: &str, path: &str, token: &str, body: &[u8]) -> Vec<u8> {
    request_with(method, path, token, "", body)
}

/// The same with these header lines, each with its end.
pub(crate) fn request_with(method: &str, path: &str, token: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    let length = body.len();
    let mut request = format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n{headers}{kind}content-length: {length}\r\n\r\n"
    )
    .into_bytes();
    request.extend_from_slice(body);
    request
}

/// One connection, one request at a time.
#[derive(Debug)]
pub(crate) struct HttpConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl HttpConnection {
    /// Connects.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        Ok(Self { stream: super::dial(address).await?, buffer: vec![0; BUFFER_BYTES] })
    }

    /// Sends a request that is answered in chunks, and reads on until these bytes have come and the answer is whole;
    /// when they came.
    pub(crate) async fn until(&mut self, request: &[u8], mark: &[u8]) -> Result<u64> {
        self.stream.write_all(request).await?;
        let (mut answer, mut found_at) = (Vec::new(), None);
        loop {
            let read = self.stream.read(&mut self.buffer).await?;
            ensure!(read > 0, "the server closed the connection");
            answer.extend_from_slice(&self.buffer[..read]);
            if found_at.is_none() && memchr::memmem::find(&answer, mark).is_some() {
                found_at = Some(super::now_ns());
            }
            if answer.ends_with(LAST_CHUNK) {
                return found_at.context("the answer ended without what it should end with");
            }
        }
    }

    /// Sends a request and waits for the whole reply: its status and its body.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            let read = self.stream.read(&mut self.buffer[filled..]).await?;
            if read == 0 {
                bail!("the server closed the connection");
            }
            filled += read;
            let Some((status, body, end)) = reply(&self.buffer[..filled])? else { continue };
            if filled >= end {
                ensure!(filled == end, "more came than the reply");
                return Ok((status, &self.buffer[body..end]));
            }
        }
    }
}

/// The status, and where the body begins and ends; `None` while the head is not there.
fn reply(bytes: &[u8]) -> Result<Option<(u16, usize, usize)>> {
    let Some(head) = memchr::memmem::find(bytes, END_OF_HEAD) else { return Ok(None) };
    let status = bytes.get(9..12).and_then(super::digits).context("no status line")?;
    let length = match memchr::memmem::find(&bytes[..head], LENGTH) {
        Some(at) => super::digits(&bytes[at + LENGTH.len()..head]).context("no number")?,
        None => bail!("a reply without a length"),
    };
    let body = head + END_OF_HEAD.len();
    Ok(Some((u16::try_from(status)?, body, body + usize::try_from(length)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_measured() {
        let text = b"HTTP/1.1 201 Created\r\nx: y\r\ncontent-length: 11\r\ndate: z\r\n\r\n{\"ok\":true}";
        let (status, body, end) = reply(text).unwrap().unwrap();
        assert_eq!((status, &text[body..end]), (201, &b"{\"ok\":true}"[..]));
        assert!(reply(&text[..40]).unwrap().is_none());
        assert!(reply(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
