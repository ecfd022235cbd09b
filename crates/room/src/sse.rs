//! A body of Server-Sent Events: its headers, its keepalives, and its chunks.
//! Must not know: the content of events.

use std::{convert::Infallible, future::Future};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use plenary_log::Fault;

/// The chunk size in bytes: at this size, text is passed on to the connection.
pub const BURST_BYTES: usize = 64 << 10;
/// The time without an event after which a live stream sends a keepalive.
pub const KEEPALIVE_MS: u64 = 15_000;
/// The reconnection delay that the client is asked for.
pub const RETRY_MS: u64 = 1_000;
/// The comment that is sent as a keepalive.
pub const KEEPALIVE: &str = ": keepalive\n\n";

/// The content of a live stream, in chunks.
pub trait Pieces: Send + 'static {
    /// The next chunk; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Fault>> + Send;
}

/// The response with these chunks. A fault ends it; the client then reconnects and resumes.
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

/// The response with this body and the headers of Server-Sent Events.
pub fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A buffering proxy would delay the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
