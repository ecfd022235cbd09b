//! A handler that counts its answers and their time, and answers for its bugs.
//! Must not know: what it handles.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use axum::{extract::Request, handler::Handler, response::Response};
use pin_project_lite::pin_project;

use crate::{error::bug_response, metrics::OperationMetrics};

/// A handler with the counters of its operation.
#[derive(Clone)]
pub(crate) struct Measured<H> {
    handler: H,
    metrics: Arc<OperationMetrics>,
}

impl<H> Measured<H> {
    pub(crate) fn new(handler: H, metrics: Arc<OperationMetrics>) -> Self {
        Self { handler, metrics }
    }
}

impl<H, T, S> Handler<T, S> for Measured<H>
where
    H: Handler<T, S>,
{
    type Future = Measuring<H::Future>;

    fn call(self, request: Request, state: S) -> Self::Future {
        let begun = Instant::now();
        Measuring { handling: self.handler.call(request, state), metrics: self.metrics, begun }
    }
}

pin_project! {
    /// A request that is being handled.
    pub(crate) struct Measuring<F> {
        #[pin]
        handling: F,
        metrics: Arc<OperationMetrics>,
        begun: Instant,
    }
}

impl<F: Future<Output = Response>> Future for Measuring<F> {
    type Output = Response;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let measuring = self.project();
        // Caught here, so that a bug is counted where it is; the future is never polled again.
        let polled = catch_unwind(AssertUnwindSafe(|| measuring.handling.poll(cx)));
        let response = ready!(polled.unwrap_or_else(|_| Poll::Ready(bug_response())));
        measuring.metrics.answered(response.status(), measuring.begun.elapsed());
        Poll::Ready(response)
    }
}
