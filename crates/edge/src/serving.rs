//! From hyper's request to the router and back: the peer's address, panics, faults, the end of a reply.
//! Must not know: which routes there are.

use std::{
    convert::Infallible,
    net::SocketAddr,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    response::Response,
    routing::future::RouteFuture,
};
use futures_util::{FutureExt, future::CatchUnwind};
use http::{HeaderValue, StatusCode, header};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tower::Service;

use crate::{
    error::{bug_response, refusal_response},
    guard::{Fault, STAND_IN_METHOD, Wire},
    metrics::OperationMetrics,
    peer::Peer,
};

/// The service of one connection.
pub(crate) struct Serving {
    router: Router,
    peer: Peer,
    wire: Arc<Wire>,
    malformed: Arc<OperationMetrics>,
}

impl Serving {
    pub(crate) fn new(
        router: Router,
        peer: SocketAddr,
        wire: Arc<Wire>,
        malformed: Arc<OperationMetrics>,
    ) -> Self {
        Self { router, peer: Peer(peer), wire, malformed }
    }

    /// The answer to a head that the guard has refused.
    fn refuse(&self) -> Response {
        let response = refusal_response(&self.wire.head_fault().unwrap_or(Fault::RequestLine).refusal());
        self.malformed.answered(response.status(), Duration::ZERO);
        response
    }
}

impl hyper::service::Service<http::Request<Incoming>> for Serving {
    type Response = http::Response<Reply>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: http::Request<Incoming>) -> Answering {
        self.wire.set_serving(true);
        let wire = self.wire.clone();
        if request.method().as_str() == STAND_IN_METHOD {
            return Answering { routed: Routed::Refused(Some(self.refuse())), wire, handshake: false };
        }
        let handshake = request.headers().get(header::UPGRADE).is_some_and(is_websocket);
        // An empty body costs nothing; any other is boxed by axum.
        let mut request: Request =
            request.map(|body| if body.is_end_stream() { Body::empty() } else { Body::new(body) });
        request.extensions_mut().insert(self.peer);
        let routed = AssertUnwindSafe(self.router.clone().call(request)).catch_unwind();
        Answering { routed: Routed::Called(routed), wire, handshake }
    }
}

fn is_websocket(value: &HeaderValue) -> bool {
    value.as_bytes().eq_ignore_ascii_case(b"websocket")
}

/// Where the answer comes from.
enum Routed {
    Called(CatchUnwind<AssertUnwindSafe<RouteFuture<Infallible>>>),
    Refused(Option<Response>),
}

/// A request that is being answered.
pub(crate) struct Answering {
    routed: Routed,
    wire: Arc<Wire>,
    handshake: bool,
}

impl Future for Answering {
    type Output = Result<http::Response<Reply>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answering = self.get_mut();
        let mut response = match &mut answering.routed {
            Routed::Refused(response) => response.take().unwrap_or_default(),
            Routed::Called(routed) => match Pin::new(routed).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(Ok(response))) => response,
                Poll::Ready(Ok(Err(never))) => match never {},
                Poll::Ready(Err(_)) => bug_response(),
            },
        };
        if answering.handshake {
            answering.wire.answer_upgrade(response.status() == StatusCode::SWITCHING_PROTOCOLS);
        }
        if answering.wire.body_fault().is_some() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let wire = answering.wire.clone();
        Poll::Ready(Ok(response.map(|body| Reply { body, wire })))
    }
}

/// The body of a reply; the connection is ours until it is dropped.
pub(crate) struct Reply {
    body: Body,
    wire: Arc<Wire>,
}

impl HttpBody for Reply {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.wire.set_serving(false);
    }
}
