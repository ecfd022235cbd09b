//! The load generator: raw HTTP/1.1 and raw WebSockets on one thread, requests built beforehand, replies parsed no
//! further than needed. Must not know: which figure is measured.

use std::{
    net::SocketAddr,
    sync::LazyLock,
    time::{Duration, Instant},
};

mod bulk;
mod http;
mod openloop;
mod publish;
mod receive;
mod split;

pub(crate) use bulk::{bulk, one};
pub(crate) use http::{HttpConnection, request};
pub(crate) use openloop::open_loop;
pub(crate) use publish::{Publisher, Sent, closed_loop};
pub(crate) use receive::{Readers, Seen, Watch};
pub(crate) use split::Framing;

/// Octets of a message's content, the stamp included.
pub(crate) const PAYLOAD_OCTETS: usize = 300;
/// Digits of a stamp.
pub(crate) const STAMP_OCTETS: usize = 20;
/// What stands before the content in the body of a message, and in every event that carries it.
const BEFORE_CONTENT: &[u8] = br#""content":""#;

/// The first moment; stamps count from it.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Monotonic nanoseconds since the first call.
pub(crate) fn now_ns() -> u64 {
    u64::try_from(ORIGIN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds between two stamps.
pub(crate) fn between(from: u64, to: u64) -> Duration {
    Duration::from_nanos(to.saturating_sub(from))
}

/// A message's content: room for a stamp, then filling.
pub(crate) fn content() -> Vec<u8> {
    let mut content = vec![b'0'; STAMP_OCTETS];
    content
        .extend((0..PAYLOAD_OCTETS - STAMP_OCTETS).map(|nth| b"the quick brown fox jumps over "[nth % 31]));
    content
}

/// The body of `POST /sessions/{id}/messages`.
pub(crate) fn message_body() -> Vec<u8> {
    [&b"{"[..], BEFORE_CONTENT, &content(), b"\"}"].concat()
}

/// Writes a stamp over the one that is there.
pub(crate) fn stamp(bytes: &mut [u8], at: usize) {
    let mut left = now_ns();
    for digit in bytes[at..at + STAMP_OCTETS].iter_mut().rev() {
        *digit = b'0' + u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
    }
}

/// Where the stamp is in a request, or in the octets of an event.
pub(crate) fn stamp_in(bytes: &[u8]) -> Option<usize> {
    Some(memchr::memmem::find(bytes, BEFORE_CONTENT)? + BEFORE_CONTENT.len())
}

/// Reads a stamp.
pub(crate) fn read_stamp(bytes: &[u8], at: usize) -> Option<u64> {
    digits(bytes.get(at..at + STAMP_OCTETS)?)
}

/// A number in decimal digits, up to the first octet that is none.
fn digits(bytes: &[u8]) -> Option<u64> {
    let end = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()
}

/// A connection without delay.
async fn dial(address: SocketAddr) -> std::io::Result<tokio::net::TcpStream> {
    let stream = tokio::net::TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_found_again() {
        let mut body = message_body();
        let at = stamp_in(&body).unwrap();
        let before = now_ns();
        stamp(&mut body, at);
        let read = read_stamp(&body, at).unwrap();
        assert!((before..=now_ns()).contains(&read));
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value["content"].as_str().unwrap().len(), PAYLOAD_OCTETS);
    }
}
