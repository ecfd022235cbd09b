//! A body of Server-Sent Events: its headers, its keepalives, and its chunks.
//! Must not know: the content of events.

use std::{convert::Infallible, future::Future};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use plenary_log::Fault;

/// Bytes after which what was read is handed to the connection.
pub const BURST_OCTETS: usize = 64 << 10;
/// After how long without an event a live stream says that it is alive.
pub const KEEPALIVE_MS: u64 = 15_000;
/// How long a client is asked to wait before it connects again.
pub const RETRY_MS: u64 = 1_000;
/// The comment that says that a stream is alive.
pub const KEEPALIVE: &str = ": keepalive\n\n";

/// What a live stream says, piece by piece.
pub trait Pieces: Send + 'static {
    /// The next bytes; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Fault>> + Send;
}

/// The response that says these pieces. A fault ends it: the client connects again and goes on where it was.
pub fn pieces(pieces: impl Pieces) -> Response {
    let stream = stream::unfold(pieces, |mut pieces| async move {
        match pieces.next().await {
            Ok(Some(bytes)) => Some((Ok::<_, Infallible>(bytes), pieces)),
            Ok(None) => None,
            Err(fault) => {
                tracing::warn!(%fault, "a live stream could not continue reading");
                None
            }
        }
    });
    response(Body::from_stream(stream))
}

/// The response that has this body.
#[must_use]
pub fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A proxy that gathers the response would hold the events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
