//! From hyper's request to the router and back: the peer's address, panics, faults, the end of a reply.
//! Must not know: the list of routes.

use std::{
    convert::Infallible,
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
use plenary_kernel::{Refusal, Share};
use tower::Service;

use crate::{
    Origin,
    answers::{Allowance, BudgetShare, Payer, SharedAnswer},
    config::SMALL_ANSWER_BYTES_MAX,
    error::{bug_response, refusal_response},
    guard::{Fault, STAND_IN_METHOD, Wire},
    inlet::{BodyDrain, DrainableBody},
    metrics::OperationMetrics,
    paths,
    peer::{LocalAddress, OwnPage, Peer},
};

/// A streamed answer is interrupted: there is no budget for its next piece.
#[derive(Debug, thiserror::Error)]
#[error("there is no room for the next piece of a streamed answer")]
struct NoRoom;

/// The checks before the router, for every version of HTTP.
#[derive(Clone)]
pub(crate) struct RequestGate {
    pub(crate) router: Router,
    pub(crate) peer: Peer,
    pub(crate) local: LocalAddress,
    /// The metrics of requests that are refused before their operation is known.
    pub(crate) refused: Arc<OperationMetrics>,
    /// The names and pages of this server; without it every request passes.
    pub(crate) origin: Option<Arc<Origin>>,
}

impl RequestGate {
    /// The answer to a request that reaches no operation.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> Response {
        let response = refusal_response(refusal);
        self.refused.answered(response.status(), Duration::ZERO);
        response
    }

    /// The same, in the form of the protocol at this path.
    fn refuse_at(&self, origin: &Origin, path: &str, refusal: Refusal) -> Response {
        let Some(form) = origin.form_at(path) else { return self.refuse(&refusal) };
        let response = form(refusal);
        self.refused.answered(response.status(), Duration::ZERO);
        response
    }

    /// Passes a request to the router.
    ///
    /// # Errors
    /// The answer to a request from a page of another site, or for another server.
    pub(crate) fn enter(
        &self,
        mut request: Request,
        allowance: &Allowance,
    ) -> Result<RouteFuture<Infallible>, Box<Response>> {
        let origin = self.origin.as_deref();
        allowance.begin(origin.and_then(|origin| origin.client_address(self.peer.0, request.headers())));
        if let Some(origin) = origin {
            let admitted = origin.admits(self.peer.0, request.uri(), request.headers());
            admitted.map_err(|foreign| {
                Box::new(self.refuse_at(origin, request.uri().path(), foreign.refusal()))
            })?;
            if request.headers().contains_key(header::ORIGIN)
                && origin.is_own(self.peer.0, request.uri(), request.headers())
            {
                request.extensions_mut().insert(OwnPage);
            }
        }
        if let Some(uri) = paths::readable(request.uri()) {
            *request.uri_mut() = uri;
        }
        request.extensions_mut().insert(self.peer);
        request.extensions_mut().insert(self.local);
        request.extensions_mut().insert(allowance.clone());
        Ok(self.router.clone().call(request))
    }
}

/// The service of one connection of HTTP/1.1.
pub(crate) struct ServedConnection {
    pub(crate) gate: RequestGate,
    pub(crate) wire: Arc<Wire>,
    pub(crate) allowance: Allowance,
}

impl hyper::service::Service<http::Request<Incoming>> for ServedConnection {
    type Response = http::Response<Reply>;
    type Error = Infallible;
    type Future = AnswerFuture;

    fn call(&self, request: http::Request<Incoming>) -> AnswerFuture {
        let (wire, allowance) = (self.wire.clone(), self.allowance.clone());
        wire.set_serving(true);
        wire.keep_unread(None);
        wire.set_body_open(false);
        let handshake = request.headers().get(header::UPGRADE).is_some_and(is_websocket);
        let expects_continue = request.headers().contains_key(header::EXPECT);
        let answering = |routed| AnswerFuture {
            routed,
            wire: wire.clone(),
            allowance: allowance.clone(),
            handshake,
            expects_continue,
        };
        // The guard has refused the head.
        if request.method().as_str() == STAND_IN_METHOD {
            let fault = self.wire.head_fault().unwrap_or(Fault::RequestLine);
            return answering(AnswerSource::Answered(Some(self.gate.refuse(&fault.refusal()))));
        }
        // An empty body costs nothing; any other is boxed by axum.
        let request: Request = request.map(|body| {
            if body.is_end_stream() {
                Body::empty()
            } else {
                Body::new(DrainableBody::new(body, wire.clone()))
            }
        });
        match self.gate.enter(request, &allowance) {
            Ok(routed) => answering(AnswerSource::Called(AssertUnwindSafe(routed).catch_unwind())),
            Err(refused) => answering(AnswerSource::Answered(Some(*refused))),
        }
    }
}

fn is_websocket(value: &HeaderValue) -> bool {
    value.as_bytes().eq_ignore_ascii_case(b"websocket")
}

enum AnswerSource {
    Called(CatchUnwind<AssertUnwindSafe<RouteFuture<Infallible>>>),
    Answered(Option<Response>),
    /// The answer is ready; the rest of the request's body is read before it is sent.
    Draining(Option<Response>, BodyDrain),
}

/// A request that is being answered.
pub(crate) struct AnswerFuture {
    routed: AnswerSource,
    wire: Arc<Wire>,
    allowance: Allowance,
    handshake: bool,
    expects_continue: bool,
}

impl AnswerFuture {
    /// Returns the answer, or first drains the rest of a body that the handler has left.
    fn answer(&mut self, response: Response, cx: &mut Context<'_>) -> Poll<http::Response<Reply>> {
        if !self.wire.is_body_open() || self.wire.body_fault().is_some() {
            let closes = self.wire.body_fault().is_some();
            return Poll::Ready(self.give(response, closes));
        }
        let unread = self.wire.keep_unread(None).and_then(|body| BodyDrain::new(body, self.expects_continue));
        match unread {
            None => Poll::Ready(self.give(response, true)),
            Some(unread) => {
                self.routed = AnswerSource::Draining(Some(response), unread);
                self.poll_draining(cx)
            }
        }
    }

    fn poll_draining(&mut self, cx: &mut Context<'_>) -> Poll<http::Response<Reply>> {
        let AnswerSource::Draining(response, unread) = &mut self.routed else { return Poll::Pending };
        let is_read = std::task::ready!(unread.poll(cx));
        let response = response.take().unwrap_or_default();
        self.wire.set_body_open(!is_read);
        Poll::Ready(self.give(response, !is_read))
    }

    fn give(&mut self, mut response: Response, closes: bool) -> http::Response<Reply> {
        let stream = self.allowance.stream(&mut response);
        if self.handshake {
            self.wire.answer_upgrade(response.status() == StatusCode::SWITCHING_PROTOCOLS);
        }
        let share = self.allowance.settle(&mut response);
        if closes {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let is_shared = response.extensions().get::<SharedAnswer>().is_some();
        let (wire, allowance) = (self.wire.clone(), (!is_shared).then(|| self.allowance.clone()));
        // A WebSocket continues after the reply, as long as its connection exists.
        let stream = if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            wire.keep_stream(stream);
            None
        } else {
            stream
        };
        response.map(|body| Reply::new(body, Some(wire), allowance, share, stream))
    }
}

impl Future for AnswerFuture {
    type Output = Result<http::Response<Reply>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answering = self.get_mut();
        let response = match &mut answering.routed {
            AnswerSource::Draining(..) => return answering.poll_draining(cx).map(Ok),
            AnswerSource::Answered(response) => response.take().unwrap_or_default(),
            AnswerSource::Called(routed) => match Pin::new(routed).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(Ok(response))) => response,
                Poll::Ready(Ok(Err(never))) => match never {},
                Poll::Ready(Err(_)) => bug_response(),
            },
        };
        answering.answer(response, cx).map(Ok)
    }
}

/// The body of a reply; on HTTP/1.1 the connection is busy until it is dropped.
pub(crate) struct Reply {
    body: Body,
    wire: Option<Arc<Wire>>,
    /// `None` if all requests share the body.
    allowance: Option<Allowance>,
    share: Option<Arc<BudgetShare>>,
    _stream: Option<Share<Payer>>,
}

impl Reply {
    pub(crate) fn new(
        body: Body,
        wire: Option<Arc<Wire>>,
        allowance: Option<Allowance>,
        share: Option<Arc<BudgetShare>>,
        stream: Option<Share<Payer>>,
    ) -> Self {
        Self { body, wire, allowance, share, _stream: stream }
    }
}

impl HttpBody for Reply {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let reply = &mut *self;
        let frame = std::task::ready!(Pin::new(&mut reply.body).poll_frame(cx));
        let (Some(Ok(data)), Some(allowance)) = (&frame, &reply.allowance) else { return Poll::Ready(frame) };
        if data.data_ref().is_none_or(|data| data.len() <= SMALL_ANSWER_BYTES_MAX) {
            return Poll::Ready(frame);
        }
        let data = frame.and_then(Result::ok).and_then(|frame| frame.into_data().ok()).unwrap_or_default();
        // A large piece counts until its last byte is written, not only until hyper has it.
        let piece = allowance.piece(data, reply.share.as_ref()).map(Frame::data);
        Poll::Ready(Some(piece.ok_or_else(|| axum::Error::new(NoRoom))))
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
        if let Some(wire) = &self.wire {
            wire.set_serving(false);
        }
    }
}
