//! The body of a pending answer: it ends on time, and releases its slot when it is dropped.
//! Must not know: its content.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio_util::{sync::WaitForCancellationFutureOwned, task::task_tracker::TaskTrackerToken};

use super::registry::Lease;

/// A body that holds one of its caller's request slots.
pub(super) struct LeasedBody {
    inner: Body,
    /// Absent if the inner body ends by itself when the lease says so.
    ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    _lease: Lease,
    _answer: Option<TaskTrackerToken>,
}

impl LeasedBody {
    /// A body that ends early when the lease says so. `answer` is held until the body is read: a stopping server waits for it.
    pub(super) fn new(
        inner: Body,
        lease: Lease,
        answer: Option<TaskTrackerToken>,
        ends_itself: bool,
    ) -> Self {
        let ended = (!ends_itself).then(|| Box::pin(lease.ended().clone().cancelled_owned()));
        Self { inner, ended, _lease: lease, _answer: answer }
    }
}

impl HttpBody for LeasedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.as_mut().is_some_and(|ended| ended.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
