//! Bodies of HTTP/2: a request body must arrive as fast as in HTTP/1.1, and a reply waits until the peer
//! has space.
//! Must not know: their content.

use std::{
    error::Error,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::exchanges::OpenExchange;
use crate::{
    config::{CONNECTION_BUFFER_BYTES_MAX, Config},
    guard::Fault,
    router_bridge::Reply,
};

/// A request's body, which must arrive as fast as in HTTP/1.1.
pub(super) struct TimedBody {
    body: Incoming,
    config: Arc<Config>,
    since: Instant,
    bytes: u64,
    alarm: Pin<Box<Sleep>>,
}

impl TimedBody {
    pub(super) fn new(body: Incoming, config: Arc<Config>) -> Self {
        let since = Instant::now();
        let alarm = Box::pin(sleep_until(since + config.body_grace));
        Self { body, config, since, bytes: 0, alarm }
    }

    fn deadline(&self) -> Instant {
        let config = &self.config;
        let earned_ms = self.bytes.saturating_mul(1000) / u64::from(config.body_bytes_per_s_min.max(1));
        self.since + (config.body_grace + Duration::from_millis(earned_ms)).min(config.body_deadline)
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            self.bytes += data.map_or(0, |data| data.len() as u64);
            return Poll::Ready(frame.map(|frame| Ok(frame?)));
        }
        let deadline = self.deadline();
        if self.alarm.deadline() != deadline {
            self.alarm.as_mut().reset(deadline);
        }
        ready!(self.alarm.as_mut().poll(cx));
        Poll::Ready(Some(Err(io::Error::other(Fault::BodyTooSlow).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a reply, piece by piece: hyper requests the next piece when the peer has space for more.
pub(super) struct WatchedReply {
    reply: Reply,
    rest: Bytes,
    has_started: bool,
    exchange: OpenExchange,
}

impl WatchedReply {
    pub(super) fn new(reply: Reply, exchange: OpenExchange) -> Self {
        exchange.wrote(0, true);
        Self { reply, rest: Bytes::new(), has_started: false, exchange }
    }
}

impl HttpBody for WatchedReply {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let watched = &mut *self;
        watched.has_started = true;
        watched.exchange.wrote(0, false);
        if watched.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut watched.reply).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => watched.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let length = watched.rest.len().min(CONNECTION_BUFFER_BYTES_MAX);
        let piece = watched.rest.split_to(length);
        watched.exchange.wrote(length, true);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    /// True only for an empty body: hyper drops a body that reports its end with its last piece, before
    /// the peer has space for it.
    fn is_end_stream(&self) -> bool {
        !self.has_started && self.reply.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.has_started { SizeHint::default() } else { self.reply.size_hint() }
    }
}
