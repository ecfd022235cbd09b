//! One connection of HTTP/2, for clients that support only that: concurrent requests, each with its own
//! allowance.
//! Must not know: routes; the meaning of a request.

mod bodies;
mod exchanges;

use std::{convert::Infallible, panic::AssertUnwindSafe, pin::pin, sync::Arc};

use axum::{body::Body, response::Response};
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderValue, Uri, header};
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http2::Builder,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, MissedTickBehavior, interval},
};

use self::{
    bodies::{TimedBody, WatchedReply},
    exchanges::{Exchanges, OpenExchange, Verdict},
};
use crate::{
    admission::PeerPermits,
    answers::{Allowance, AnswerBudget, SharedAnswer},
    config::{
        CONNECTION_BUFFER_BYTES_MAX, Config, HEAD_BYTES_MAX, HEADERS_MAX, HTTP2_ABANDONED_MAX,
        HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_LOOK, HTTP2_PING, HTTP2_PING_WAIT, HTTP2_REQUESTS_MAX,
        HTTP2_STREAM_WINDOW_BYTES,
    },
    connection::{ServerContext, Stage},
    error::bug_response,
    guard::{Fault, Wire},
    peer::Ends,
    reader::Reader,
    router_bridge::{Reply, RequestGate},
};

/// The first bytes of a connection of HTTP/2 (RFC 9113 section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Serves one connection until it ends or the server stops. `wire` reports the progress of writes,
/// `permits` are for concurrent requests.
pub(crate) async fn serve<IO>(io: IO, wire: &Wire, permits: PeerPermits, ends: Ends, context: &ServerContext)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ServerContext { config, answers, stage, .. } = context;
    let exchanges = Exchanges::new(permits);
    let serving = Http2Connection {
        gate: context.gate(ends),
        answers: answers.clone(),
        config: config.clone(),
        exchanges: exchanges.clone(),
    };
    let mut connection = pin!(builder().serve_connection(TokioIo::new(io), serving));
    // The reader of everything that is written, whichever request it answers.
    let mut reader = Reader::new(Allowance::new(answers.clone()));
    let mut look = interval(HTTP2_LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ends_since = None;
    loop {
        // First listen, then look.
        let changed = stage.changed.notified();
        match stage.at() {
            Stage::CUT => return,
            Stage::DRAINING if ends_since.is_none() => {
                ends_since = Some(Instant::now());
                connection.as_mut().graceful_shutdown();
            }
            _ => {}
        }
        tokio::select! {
            end = connection.as_mut() => {
                if let Err(fault) = end {
                    tracing::debug!(peer = %ends.peer, %fault, "connection ended");
                }
                return;
            }
            () = changed => {}
            now = look.tick() => {
                let is_unread = reader.is_overdue(config, wire.output());
                let verdict = if is_unread { Verdict::Cut } else { exchanges.look(config) };
                match verdict {
                    Verdict::Stays => {}
                    Verdict::Cut => return,
                    Verdict::Idle => match ends_since {
                        None => {
                            ends_since = Some(now);
                            connection.as_mut().graceful_shutdown();
                        }
                        // It was asked to close, and has not closed.
                        Some(since) if now >= since + HTTP2_PING_WAIT => return,
                        Some(_) => {}
                    },
                }
            }
        }
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_REQUESTS_MAX)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(CONNECTION_BUFFER_BYTES_MAX)
        // What arrives in one read is not yet accepted; it counts towards the same limit.
        .max_pending_accept_reset_streams(HTTP2_ABANDONED_MAX as usize)
        .max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX))
        // A dead peer does not answer the ping.
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PING_WAIT);
    builder
}

/// The service of one connection.
struct Http2Connection {
    gate: RequestGate,
    answers: Arc<AnswerBudget>,
    config: Arc<Config>,
    exchanges: Arc<Exchanges>,
}

impl hyper::service::Service<http::Request<Incoming>> for Http2Connection {
    type Response = http::Response<WatchedReply>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: http::Request<Incoming>) -> Self::Future {
        let allowance = Allowance::new(self.answers.clone());
        let (exchange, admitted) = self.exchanges.begin(allowance.clone());
        let request = request.map(|body| {
            let is_empty = body.is_end_stream();
            if is_empty { Body::empty() } else { Body::new(TimedBody::new(body, self.config.clone())) }
        });
        let admitted = admitted.and_then(|()| as_of_http1(request).map_err(Fault::refusal));
        let entered = match admitted {
            Ok(request) => self.gate.enter(request, &allowance),
            Err(refusal) => Err(Box::new(self.gate.refuse(&refusal))),
        };
        Box::pin(async move {
            let response = match entered {
                Err(refused) => *refused,
                Ok(routed) => match AssertUnwindSafe(routed).catch_unwind().await {
                    Ok(Ok(response)) => response,
                    Ok(Err(never)) => match never {},
                    Err(_) => bug_response(),
                },
            };
            Ok(answer(response, allowance, exchange))
        })
    }
}

/// Counts the answer towards its share of the budget and the live streams.
fn answer(
    mut response: Response,
    allowance: Allowance,
    mut exchange: OpenExchange,
) -> http::Response<WatchedReply> {
    exchange.answered();
    let stream = allowance.stream(&mut response);
    let share = allowance.settle(&mut response);
    let is_shared = response.extensions().get::<SharedAnswer>().is_some();
    let allowance = (!is_shared).then_some(allowance);
    response.map(|body| WatchedReply::new(Reply::new(body, None, allowance, share, stream), exchange))
}

/// The request in the form of HTTP/1.1: the authority in `Host`, and only path and query in the target.
fn as_of_http1(mut request: http::Request<Body>) -> Result<http::Request<Body>, Fault> {
    if request.headers().len() > HEADERS_MAX {
        return Err(Fault::HeadersTooMany);
    }
    if request.method() == http::Method::CONNECT {
        return Err(Fault::Connect);
    }
    if let Some(authority) = request.uri().authority() {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| Fault::Host)?;
        request.headers_mut().insert(header::HOST, host);
    }
    match request.headers().get_all(header::HOST).iter().count() {
        0 => return Err(Fault::HostMissing),
        1 => {}
        _ => return Err(Fault::HostRepeated),
    }
    let target = request.uri().path_and_query().cloned().ok_or(Fault::RequestLine)?;
    *request.uri_mut() = Uri::from(target);
    Ok(request)
}
