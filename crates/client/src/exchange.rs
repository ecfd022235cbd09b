//! One HTTP request and its complete reply, bounded in time and size, every failure typed.
//! Must not know: any operation, or the success condition of a reply.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioTimer},
};
use serde::Deserialize;
use tokio::{sync::mpsc, time::timeout};

use crate::{
    BaseUrl, Error, FaultKind, NetworkFault, Result, ServerRefusal,
    net::{ConnectFault, Connector},
    server_clock::ServerClock,
};

/// How long an idle connection is kept for the next request; shorter than servers keep it.
const IDLE_CONNECTION_TIME: Duration = Duration::from_secs(15);
/// Longest kept text of a refusal that is not in our JSON form.
const FOREIGN_TEXT_CHARS_MAX: usize = 200;

/// The server's answer, whatever its status.
#[derive(Debug, Clone)]
pub struct RawReply {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, unchanged.
    pub body: Bytes,
}

impl RawReply {
    /// A header's value, if it exists and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The reply itself if its status is 2xx.
    ///
    /// # Errors
    /// [`Error::Refused`] for any other status.
    pub fn into_success(self) -> Result<Self> {
        if (200..300).contains(&self.status) { Ok(self) } else { Err(self.refusal().into()) }
    }

    /// Parses the error bodies of wire.md D.3, `{"error":{"code","message"}}`, the fan-out's
    /// `{code, field?, message}` and the channels' `{detail, code}`; tolerates missing members.
    pub(crate) fn refusal(&self) -> ServerRefusal {
        #[derive(Deserialize)]
        struct Body {
            error: Inner,
        }
        #[derive(Deserialize)]
        struct Inner {
            code: String,
            field: Option<String>,
            #[serde(default, alias = "detail")]
            message: String,
        }
        let retry_after = self.header("retry-after").and_then(|v| v.parse().ok()).map(Duration::from_secs);
        let inner = serde_json::from_slice::<Body>(&self.body)
            .map(|body| body.error)
            .or_else(|_| serde_json::from_slice::<Inner>(&self.body));
        let Inner { code, field, message } = inner.unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&self.body);
            // An HTML page, of a proxy or another server, is not useful here.
            let message = if text.trim_start().starts_with('<') {
                "the reply is a web page, so it does not come from Plenary; a proxy may have answered, or another server listens there"
                    .to_owned()
            } else {
                text.trim().chars().take(FOREIGN_TEXT_CHARS_MAX).collect()
            };
            Inner { code: format!("http_{}", self.status), field: None, message }
        });
        ServerRefusal { status: self.status, code, field, message, retry_after }
    }
}

/// A body that is produced while it is sent; an error aborts it.
pub(crate) type Pieces = mpsc::Receiver<std::io::Result<Bytes>>;
type UploadBody = StreamBody<BoxStream<'static, std::io::Result<Frame<Bytes>>>>;

/// The pooled HTTP side of a client.
pub(crate) struct Http {
    client: legacy::Client<Connector, Full<Bytes>>,
    uploads: legacy::Client<Connector, UploadBody>,
    timeout: Duration,
    reply_bytes_max: usize,
    clock: ServerClock,
}

impl Http {
    /// The server's clock.
    pub(crate) fn clock(&self) -> &ServerClock {
        &self.clock
    }

    /// Sends a request, and notes the time in the head of the response.
    async fn request(
        &self,
        request: Request<Full<Bytes>>,
    ) -> std::result::Result<Response<Incoming>, Failure> {
        let response = self.client.request(request).await.map_err(|error| request_fault(&error))?;
        self.clock.note(response.headers());
        Ok(response)
    }

    pub(crate) fn new(connector: Connector, timeout: Duration, reply_bytes_max: usize) -> Self {
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTION_TIME)
            .build(connector.clone());
        // Long bodies use their own connections, which are not pooled.
        let uploads =
            legacy::Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Self { client, uploads, timeout, reply_bytes_max, clock: ServerClock::default() }
    }

    pub(crate) async fn exchange(&self, base: &BaseUrl, request: Request<Full<Bytes>>) -> Result<RawReply> {
        let is_safe = request.method().is_safe();
        let whole = async {
            let response = self.request(request).await?;
            self.collect(response).await
        };
        let too_large =
            || format!("the reply is larger than {} MiB; ask for less at once", self.reply_bytes_max >> 20);
        self.in_time(whole).await.map_err(|failure| failure.at(base, is_safe, too_large))
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = std::result::Result<T, Failure>>,
    ) -> std::result::Result<T, Failure> {
        let late = |_| {
            Failure::Network(FaultKind::TimedOut, format!("no reply within {} s", self.timeout.as_secs()))
        };
        timeout(self.timeout, work).await.map_err(late)?
    }

    /// Sends a request with a body of any length. The producer of the body bounds the time.
    pub(crate) async fn upload(&self, base: &BaseUrl, request: Request<Pieces>) -> Result<RawReply> {
        let request = request.map(|pieces| {
            let frames = unfold(pieces, |mut pieces| async {
                pieces.recv().await.map(|piece| (piece.map(Frame::data), pieces))
            });
            StreamBody::new(frames.boxed())
        });
        let whole = async {
            let response = self.uploads.request(request).await.map_err(|e| request_fault(&e))?;
            self.collect(response).await
        };
        let too_large = || "the reply is too large to come from Plenary".to_owned();
        whole.await.map_err(|failure| failure.at(base, false, too_large))
    }

    /// Sends a request with a streaming reply: the time limit covers its head only; a refusal is read completely.
    pub(crate) async fn open(
        &self,
        base: &BaseUrl,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>> {
        let is_safe = request.method().is_safe();
        let too_large = || "the error reply is too large to come from Plenary".to_owned();
        let failed = |failure: Failure| failure.at(base, is_safe, too_large);
        let response = self.in_time(self.request(request)).await.map_err(failed)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let reply = self.in_time(self.collect(response)).await.map_err(failed)?;
        Err(reply.refusal().into())
    }

    /// Sends a request and returns the response once its head has arrived, whatever its status. Only connecting has a
    /// time limit: the reply may take as long as the requested operation.
    pub(crate) async fn converse(
        &self,
        base: &BaseUrl,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>> {
        self.request(request).await.map_err(|failure| self.failed(base, failure))
    }

    /// Reads a complete reply.
    pub(crate) async fn whole(&self, base: &BaseUrl, response: Response<Incoming>) -> Result<RawReply> {
        self.collect(response).await.map_err(|failure| self.failed(base, failure))
    }

    fn failed(&self, base: &BaseUrl, failure: Failure) -> Error {
        failure.at(base, false, || format!("the reply is larger than {} MiB", self.reply_bytes_max >> 20))
    }

    async fn collect(&self, response: Response<Incoming>) -> std::result::Result<RawReply, Failure> {
        let (head, body) = response.into_parts();
        let body = Limited::new(body, self.reply_bytes_max).collect().await.map_err(|e| {
            if e.is::<LengthLimitError>() {
                Failure::TooLarge
            } else {
                Failure::Network(FaultKind::Lost, e.to_string())
            }
        })?;
        Ok(RawReply { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() })
    }
}

enum Failure {
    Network(FaultKind, String),
    TooLarge,
}

impl Failure {
    fn at(self, base: &BaseUrl, is_safe: bool, too_large: impl FnOnce() -> String) -> Error {
        match self {
            Self::Network(kind, detail) => {
                NetworkFault { kind, server: base.to_string(), detail, is_safe }.into()
            }
            Self::TooLarge => Error::Unreadable(too_large()),
        }
    }
}

/// Finds our own connect fault in the pool's error, or otherwise the deepest cause.
fn request_fault(error: &legacy::Error) -> Failure {
    let mut deepest: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = deepest.source() {
        deepest = source;
        if let Some(fault) = deepest.downcast_ref::<ConnectFault>() {
            return Failure::Network(fault.kind, fault.detail.clone());
        }
        if deepest.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return Failure::Network(FaultKind::NotHttp, deepest.to_string());
        }
    }
    Failure::Network(FaultKind::Lost, deepest.to_string())
}
