//! One connection of HTTP/2, for clients that speak nothing else: requests beside each other, each with an allowance of its
//! own, and what their peer owes of all of them.
//! Must not know: routes; what a request means.

use std::{
    collections::HashMap,
    convert::Infallible,
    net::SocketAddr,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderValue, Uri, header};
use hyper::{
    body::{Body as HttpBody, Frame, Incoming, SizeHint},
    server::conn::http2::Builder,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, MissedTickBehavior, Sleep, interval, sleep_until},
};

use crate::{
    answers::{Allowance, AnswerBudget, SharedAnswer},
    config::{
        CONNECTION_BUFFER_OCTETS_MAX, Config, HEAD_OCTETS_MAX, HEADERS_MAX, HTTP2_CONNECTION_WINDOW_BYTES,
        HTTP2_LOOK, HTTP2_PING, HTTP2_PING_WAIT, HTTP2_REQUESTS_MAX, HTTP2_STREAM_WINDOW_BYTES,
        STALLED_BEFORE_CUT,
    },
    connection::{Ground, Stage},
    error::{bug_response, refusal_response},
    guard::Fault,
    serving::{Door, Reply},
    stalled::Place,
};

/// The first bytes of a connection of HTTP/2 (RFC 9113 section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What becomes of the connection.
enum Verdict {
    Stays,
    /// Nothing was asked for too long.
    Idle,
    /// A peer does not read, or others need the room that its answers take.
    Cut,
}

/// The requests under way on a connection.
struct Exchanges(Mutex<Table>);

struct Table {
    open: HashMap<u64, Exchange>,
    begun: u64,
    idle_since: Instant,
}

struct Exchange {
    allowance: Allowance,
    /// The piece of the answer that the peer has not made room for the next one behind.
    unread: Option<Unread>,
}

struct Unread {
    since: Instant,
    bytes: u64,
    /// Its place among those who stall.
    place: Option<Place>,
}

/// One of them, until it is dropped.
struct OpenExchange {
    all: Arc<Exchanges>,
    number: u64,
}

impl Exchanges {
    fn new() -> Self {
        Self(Mutex::new(Table { open: HashMap::new(), begun: 0, idle_since: Instant::now() }))
    }

    fn begin(self: &Arc<Self>, allowance: Allowance) -> OpenExchange {
        let mut table = self.0.lock();
        table.begun += 1;
        let number = table.begun;
        table.open.insert(number, Exchange { allowance, unread: None });
        OpenExchange { all: self.clone(), number }
    }

    fn look(&self, config: &Config, budget: &AnswerBudget) -> Verdict {
        let now = Instant::now();
        let mut table = self.0.lock();
        if table.open.is_empty() {
            return if now < table.idle_since + config.idle_deadline {
                Verdict::Stays
            } else {
                Verdict::Idle
            };
        }
        for Exchange { allowance, unread } in table.open.values_mut() {
            if allowance.is_cut() {
                return Verdict::Cut;
            }
            let Some(unread) = unread else { continue };
            let earned_ms =
                unread.bytes.saturating_mul(1000) / u64::from(config.write_bytes_per_s_min.max(1));
            let allowed = config.write_deadline.max(config.write_grace + Duration::from_millis(earned_ms));
            if now >= unread.since + allowed {
                return Verdict::Cut;
            }
            if unread.place.is_none() && now >= unread.since + STALLED_BEFORE_CUT {
                unread.place = Some(budget.stalled.enter(unread.since, allowance.clone()));
            }
        }
        drop(table);
        budget.stalled.trim();
        Verdict::Stays
    }
}

impl Exchange {
    /// The peer has made room for more, or wants no more.
    fn read(&mut self) {
        if let Some(place) = self.unread.take().and_then(|unread| unread.place) {
            self.allowance.budget().stalled.leave(place);
        }
    }
}

impl OpenExchange {
    fn read(&self) {
        if let Some(exchange) = self.all.0.lock().open.get_mut(&self.number) {
            exchange.read();
        }
    }

    fn wrote(&self, bytes: usize) {
        if let Some(exchange) = self.all.0.lock().open.get_mut(&self.number) {
            exchange.unread = Some(Unread { since: Instant::now(), bytes: bytes as u64, place: None });
        }
    }
}

impl Drop for OpenExchange {
    fn drop(&mut self) {
        let mut table = self.all.0.lock();
        if let Some(mut exchange) = table.open.remove(&self.number) {
            exchange.read();
        }
        table.idle_since = Instant::now();
    }
}

/// Serves one connection until it ends or the server stops.
pub(crate) async fn serve<IO>(io: IO, peer: SocketAddr, ground: &Ground)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Ground { config, answers, stage, .. } = ground;
    let exchanges = Arc::new(Exchanges::new());
    let serving = Http2Service {
        door: ground.door(peer),
        answers: answers.clone(),
        config: config.clone(),
        exchanges: exchanges.clone(),
    };
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_REQUESTS_MAX)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(CONNECTION_BUFFER_OCTETS_MAX)
        .max_header_list_size(u32::try_from(HEAD_OCTETS_MAX).unwrap_or(u32::MAX))
        // A peer that is gone, or takes nothing from its socket, does not answer it.
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PING_WAIT);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), serving));
    let mut look = interval(HTTP2_LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_ending = false;
    loop {
        // First listen, then look.
        let changed = stage.changed.notified();
        match stage.at() {
            Stage::CUT => return,
            Stage::DRAINING if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
            _ => {}
        }
        tokio::select! {
            end = connection.as_mut() => {
                if let Err(fault) = end {
                    tracing::debug!(%peer, %fault, "connection ended");
                }
                return;
            }
            () = changed => {}
            _ = look.tick() => match exchanges.look(config, answers) {
                Verdict::Idle if !is_ending => {
                    is_ending = true;
                    connection.as_mut().graceful_shutdown();
                }
                Verdict::Stays | Verdict::Idle => {}
                Verdict::Cut => return,
            },
        }
    }
}

/// The service of one connection.
struct Http2Service {
    door: Door,
    answers: Arc<AnswerBudget>,
    config: Arc<Config>,
    exchanges: Arc<Exchanges>,
}

impl hyper::service::Service<http::Request<Incoming>> for Http2Service {
    type Response = http::Response<Http2Reply>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: http::Request<Incoming>) -> Self::Future {
        let allowance = Allowance::new(self.answers.clone());
        let exchange = self.exchanges.begin(allowance.clone());
        let request = request.map(|body| {
            let is_empty = body.is_end_stream();
            if is_empty { Body::empty() } else { Body::new(TimedBody::new(body, self.config.clone())) }
        });
        let entered = match as_of_http1(request) {
            Ok(request) => self.door.enter(request, &allowance),
            Err(fault) => Err(self.door.refuse(&fault.refusal())),
        };
        Box::pin(async move {
            let mut response: Response = match entered {
                Err(refused) => refused,
                Ok(routed) => match AssertUnwindSafe(routed).catch_unwind().await {
                    Ok(Ok(response)) => response,
                    Ok(Err(never)) => match never {},
                    Err(_) => bug_response(),
                },
            };
            let stream = allowance.stream(&mut response);
            let held = allowance.settle(&mut response);
            let is_shared = response.extensions().get::<SharedAnswer>().is_some();
            let allowance = (!is_shared).then_some(allowance);
            let reply =
                |body| Http2Reply { reply: Reply::new(body, None, allowance, held, stream), exchange };
            Ok(response.map(reply))
        })
    }
}

/// The request as HTTP/1.1 has it: the authority in `Host`, and path and query alone in the target.
fn as_of_http1(mut request: http::Request<Body>) -> Result<http::Request<Body>, Fault> {
    if request.headers().len() > HEADERS_MAX {
        return Err(Fault::HeadersTooMany);
    }
    if request.method() == http::Method::CONNECT {
        return Err(Fault::Connect);
    }
    if let Some(authority) = request.uri().authority() {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| Fault::HeaderValue)?;
        request.headers_mut().insert(header::HOST, host);
    }
    let target = request.uri().path_and_query().cloned().ok_or(Fault::RequestLine)?;
    *request.uri_mut() = Uri::from(target);
    Ok(request)
}

/// A request's body, which must come as fast as one of HTTP/1.1.
struct TimedBody {
    body: Incoming,
    config: Arc<Config>,
    since: Option<Instant>,
    bytes: u64,
    alarm: Pin<Box<Sleep>>,
}

impl TimedBody {
    fn new(body: Incoming, config: Arc<Config>) -> Self {
        let alarm = Box::pin(sleep_until(Instant::now() + config.body_grace));
        Self { body, config, since: None, bytes: 0, alarm }
    }

    fn deadline(&mut self) -> Instant {
        let since = *self.since.get_or_insert_with(Instant::now);
        let config = &self.config;
        let earned_ms = self.bytes.saturating_mul(1000) / u64::from(config.body_octets_per_s_min.max(1));
        since + (config.body_grace + Duration::from_millis(earned_ms)).min(config.body_deadline)
    }
}

/// Why a body ends before its end.
#[derive(Debug, thiserror::Error)]
enum BodyFault {
    #[error("the body is too slow")]
    Slow(#[from] Fault),
    #[error("the body broke off")]
    Broken(#[from] hyper::Error),
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = BodyFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyFault>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            self.bytes += data.map_or(0, |data| data.len() as u64);
            return Poll::Ready(frame.map(|frame| frame.map_err(BodyFault::from)));
        }
        let deadline = self.deadline();
        if self.alarm.deadline() != deadline {
            self.alarm.as_mut().reset(deadline);
        }
        self.alarm.as_mut().poll(cx).map(|()| Some(Err(Fault::BodyTooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a reply. hyper asks for a piece once the peer has room for some of it.
pub(crate) struct Http2Reply {
    reply: Reply,
    exchange: OpenExchange,
}

impl HttpBody for Http2Reply {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.exchange.read();
        let polled = Pin::new(&mut self.reply).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.exchange.wrote(data.len());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.reply.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.reply.size_hint()
    }
}
