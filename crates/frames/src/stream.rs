//! A handle's stream as the body of a response: Server-Sent Events, all waiting ones in one write (wire.md D.4).
//! Must not know: permissions to open it, or the source of events.

use std::{
    cell::RefCell,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use plenary_hub::{Delivery, EndReason};
use plenary_room::sse;
use tokio::time::{Instant, Sleep, sleep};

use plenary_kernel::SovereignHandle;

use crate::{
    capability::wrapped,
    frames::{Event, FrameSubscription},
    signing_key::FrameKey,
};

thread_local! {
    /// The events of one turn: each thread has one list for all its streams, empty between turns.
    static DELIVERIES: RefCell<Vec<Delivery<Arc<Event>>>> = const { RefCell::new(Vec::new()) };
}

/// The body of one open stream. Dropping it ends its subscription, and it ends with its subscription.
pub(crate) struct EventStream {
    reading: FrameSubscription,
    keepalive: Pin<Box<Sleep>>,
    form: Form,
}

/// The form of frames on the stream.
pub(crate) enum Form {
    /// Unchanged.
    Bare,
    /// In the signed wrapper of alter-runtime.
    Wrapped(Arc<FrameKey>, SovereignHandle),
}

impl Form {
    fn bytes(&self, event: &Event) -> Bytes {
        match self {
            Self::Bare => event.bytes(),
            Self::Wrapped(key, handle) => {
                wrapped(key, handle, event.number, &event.line).unwrap_or_else(|| event.bytes())
            }
        }
    }
}

impl EventStream {
    /// With `keepalive_first`, a keepalive follows as soon as no event waits, so that the peer recognises the
    /// end of the retained frames.
    pub(crate) fn new(reading: FrameSubscription, keepalive_first: bool, form: Form) -> Self {
        let first = if keepalive_first { Duration::ZERO } else { Duration::from_millis(sse::KEEPALIVE_MS) };
        let keepalive = Box::pin(sleep(first));
        Self { reading, keepalive, form }
    }

    /// All waiting events, in one piece.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, EndReason>> {
        DELIVERIES.with_borrow_mut(|deliveries| {
            let polled = self.reading.poll_next(cx, deliveries).map_ok(|()| piece(deliveries, &self.form));
            deliveries.clear();
            polled
        })
    }
}

/// A single event is not copied.
fn piece(deliveries: &[Delivery<Arc<Event>>], form: &Form) -> Bytes {
    if let [only] = deliveries {
        return form.bytes(&only.message);
    }
    let mut piece = BytesMut::new();
    deliveries.iter().for_each(|delivery| piece.extend_from_slice(&form.bytes(&delivery.message)));
    piece.freeze()
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let stream = self.get_mut();
        match stream.poll_piece(cx) {
            Poll::Ready(Ok(piece)) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
            // The peer reconnects and resumes after its last event.
            Poll::Ready(Err(ended)) => {
                tracing::debug!(%ended, "a stream of frames ends");
                return Poll::Ready(None);
            }
            Poll::Pending => {}
        }
        if stream.keepalive.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        stream.keepalive.as_mut().reset(Instant::now() + Duration::from_millis(sse::KEEPALIVE_MS));
        // Polled again, so that the next keepalive wakes the task as well.
        let _ = stream.keepalive.as_mut().poll(cx);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(sse::KEEPALIVE.as_bytes())))))
    }
}
