//! The load generator: raw HTTP/1.1, raw WebSockets and raw event streams on one thread, requests built beforehand, replies parsed no
//! further than needed. Must not know: which figure is measured.

use std::{
    net::SocketAddr,
    sync::LazyLock,
    time::{Duration, Instant},
};

mod bulk;
mod http;
mod openloop;
mod packages;
mod publish;
mod receive;
mod split;
mod stall;

pub(crate) use bulk::{bulk, one};
pub(crate) use http::{HttpConnection, request, request_with};
pub(crate) use openloop::open_loop;
pub(crate) use packages::{Drawn, depositing};
pub(crate) use publish::{Publisher, Sent, closed_loop};
pub(crate) use receive::{Readers, Seen, Watch};
pub(crate) use split::Framing;
pub(crate) use stall::{stall, unread};

/// Bytes of a message's content, the stamp included.
pub(crate) const PAYLOAD_BYTES: usize = 300;
/// Digits of a stamp.
pub(crate) const STAMP_BYTES: usize = 20;
/// The bytes before the content in the body of a message, and in every event that carries it.
const BEFORE_CONTENT: &[u8] = br#""content":""#;
/// The same for a frame.
const BEFORE_TEXT: &[u8] = br#""advisory_text":""#;

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
    let mut content = vec![b'0'; STAMP_BYTES];
    content.extend((0..PAYLOAD_BYTES - STAMP_BYTES).map(|nth| b"the quick brown fox jumps over "[nth % 31]));
    content
}

/// The body of `POST /sessions/{id}/messages`.
pub(crate) fn message_body() -> Vec<u8> {
    [&b"{"[..], BEFORE_CONTENT, &content(), b"\"}"].concat()
}

/// The same with this many bytes of content.
pub(crate) fn large_message_body(bytes: usize) -> Vec<u8> {
    [&b"{"[..], BEFORE_CONTENT, &vec![b'x'; bytes], b"\"}"].concat()
}

/// The frame that its sender says about itself, to all sessions of this handle.
pub(crate) fn frame_body(handle: &str) -> Vec<u8> {
    let before = format!(
        concat!(
            r#"{{"envelope_version":"1.0","frame_id":"5b0c3c3e-8a4e-4d4c-9c5d-0f6a7b8c9d0e","#,
            r#""kind":"agent_advisory","sender_handle":"{0}","recipient_handle":"{0}","#,
            r#""created_at":"2026-05-22T10:00:00Z","acted_by":"{0}","drafted_with":"~cc-bench","#,
            r#""provenance_compute_location":"local-only","provenance_method":["bench"],"#,
            r#""provenance_context_check":"skipped","provenance_basis":"bench","payload":{{"#
        ),
        handle
    );
    [before.as_bytes(), BEFORE_TEXT, &content(), b"\"}}"].concat()
}

/// Writes a stamp over the one that is there.
pub(crate) fn stamp(bytes: &mut [u8], at: usize) {
    let mut rest = now_ns();
    for digit in bytes[at..at + STAMP_BYTES].iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
}

/// Where the stamp is in a request, or in the bytes of an event.
pub(crate) fn stamp_in(bytes: &[u8]) -> Option<usize> {
    let after = |mark: &[u8]| Some(memchr::memmem::find(bytes, mark)? + mark.len());
    after(BEFORE_CONTENT).or_else(|| after(BEFORE_TEXT)).or_else(|| after(packages::BEFORE_ID))
}

pub(crate) fn read_stamp(bytes: &[u8], at: usize) -> Option<u64> {
    digits(bytes.get(at..at + STAMP_BYTES)?)
}

/// A number in decimal digits, up to the first byte that is none.
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
        for (mut body, content) in
            [(message_body(), "/content"), (frame_body("~bench"), "/payload/advisory_text")]
        {
            let at = stamp_in(&body).unwrap();
            let before = now_ns();
            stamp(&mut body, at);
            let read = read_stamp(&body, at).unwrap();
            assert!((before..=now_ns()).contains(&read));
            let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(value.pointer(content).unwrap().as_str().unwrap().len(), PAYLOAD_BYTES);
        }
    }
}
