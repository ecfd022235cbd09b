//! A request's body for the handler, and the draining of unread bodies: an answer before the end of the
//! body must not lose the next request of the connection.
//! Must not know: the request, or the answer.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{
    config::{UNREAD_BODY_BYTES_MAX, UNREAD_BODY_WAIT},
    guard::Wire,
};

/// A body that returns to the connection if it is dropped before its end.
pub(crate) struct DrainableBody {
    body: Option<Incoming>,
    wire: Arc<Wire>,
}

impl DrainableBody {
    pub(crate) fn new(body: Incoming, wire: Arc<Wire>) -> Self {
        wire.set_body_open(true);
        Self { body: Some(body), wire }
    }
}

impl HttpBody for DrainableBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(&mut *body).poll_frame(cx);
        // The end of a body with an announced length is known with its last byte, that of a chunked body
        // only after it.
        if matches!(polled, Poll::Ready(None)) || body.is_end_stream() {
            self.wire.set_body_open(false);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for DrainableBody {
    fn drop(&mut self) {
        if self.wire.is_body_open() {
            self.wire.keep_unread(self.body.take());
        }
    }
}

/// The unread rest of a body, which is read to keep the connection.
pub(crate) struct BodyDrain {
    body: Incoming,
    read: u64,
    until: Pin<Box<Sleep>>,
}

impl BodyDrain {
    /// `None` if the rest is too large, or the peer waits for a request to send it.
    pub(crate) fn new(body: Incoming, expects_continue: bool) -> Option<Self> {
        let is_worth_it = !expects_continue && body.size_hint().lower() <= UNREAD_BODY_BYTES_MAX;
        let until = || Box::pin(sleep_until(Instant::now() + UNREAD_BODY_WAIT));
        is_worth_it.then(|| Self { body, read: 0, until: until() })
    }

    /// Reads on; returns whether the end came within the limits.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        loop {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(None) => return Poll::Ready(true),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(false),
                Poll::Ready(Some(Ok(frame))) => {
                    self.read += frame.data_ref().map_or(0, |data| data.len() as u64);
                    if self.read > UNREAD_BODY_BYTES_MAX {
                        return Poll::Ready(false);
                    }
                    if self.body.is_end_stream() {
                        return Poll::Ready(true);
                    }
                }
                Poll::Pending => return self.until.as_mut().poll(cx).map(|()| false),
            }
        }
    }
}
