//! A handler wrapper that counts answers and measures their time, records spans, and answers for panics.
//! Must not know: the wrapped handler.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use axum::{extract::Request, handler::Handler, response::Response};
use pin_project_lite::pin_project;

use crate::{
    answers::Allowance,
    challenge::ScopeChallenge,
    error::bug_response,
    metrics::OperationMetrics,
    strict::{self, HANDLING_STRICT, PREFERENCE_APPLIED, Shape, Strict, StrictRequest},
    traced::TracedRequest,
};

/// A handler with the counters of its operation.
#[derive(Clone)]
pub(crate) struct MeasuredHandler<H> {
    handler: H,
    metrics: Arc<OperationMetrics>,
    reserves: usize,
    /// The known members of its body, for strict handling.
    shape: Option<Arc<Shape>>,
}

impl<H> MeasuredHandler<H> {
    pub(crate) fn new(handler: H, metrics: Arc<OperationMetrics>) -> Self {
        Self { handler, metrics, reserves: 0, shape: None }
    }

    /// Sets the bytes that its answers may need.
    pub(crate) fn reserving(mut self, bytes: usize) -> Self {
        self.reserves = bytes;
        self
    }

    /// Sets the shape of its body, which a request may ask to be checked against.
    pub(crate) fn of_shape(self, shape: Option<Arc<Shape>>) -> Self {
        Self { shape, ..self }
    }
}

impl<H, T, S> Handler<T, S> for MeasuredHandler<H>
where
    H: Handler<T, S>,
{
    type Future = MeasuredRequest<H::Future>;

    fn call(self, mut request: Request, state: S) -> Self::Future {
        let started_at = Instant::now();
        if self.reserves > 0
            && let Some(allowance) = request.extensions().get::<Allowance>()
        {
            allowance.expects(self.reserves);
        }
        let traced = self.metrics.traced.begin(&mut request, started_at);
        let mut preferred = false;
        if let Some(shape) = self.shape
            && let Some(strictness) = strict::requested(request.uri(), request.headers())
        {
            preferred = strictness == StrictRequest::Preference;
            request.extensions_mut().insert(Strict(shape));
        }
        let challenge = ScopeChallenge::default();
        request.extensions_mut().insert(challenge.clone());
        let handling = self.handler.call(request, state);
        MeasuredRequest { handling, metrics: self.metrics, started_at, traced, preferred, challenge }
    }
}

pin_project! {
    /// A request in progress.
    pub(crate) struct MeasuredRequest<F> {
        #[pin]
        handling: F,
        metrics: Arc<OperationMetrics>,
        started_at: Instant,
        traced: Option<Box<TracedRequest>>,
        // Whether strict handling was preferred, and applied.
        preferred: bool,
        challenge: ScopeChallenge,
    }
}

impl<F: Future<Output = Response>> Future for MeasuredRequest<F> {
    type Output = Response;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let measuring = self.project();
        let entered = measuring.traced.as_ref().map(|traced| traced.scope.enter());
        // Caught here, so that a panic is counted for its operation; the future is never polled again.
        let polled = catch_unwind(AssertUnwindSafe(|| measuring.handling.poll(cx)));
        let mut response = ready!(polled.unwrap_or_else(|_| Poll::Ready(bug_response())));
        drop(entered);
        if *measuring.preferred {
            response.headers_mut().insert(PREFERENCE_APPLIED, HANDLING_STRICT);
        }
        measuring.challenge.put(&mut response);
        measuring.metrics.answered(response.status(), measuring.started_at.elapsed());
        if let Some(traced) = measuring.traced.take() {
            measuring.metrics.traced.end(*traced, response.status());
        }
        Poll::Ready(response)
    }
}
