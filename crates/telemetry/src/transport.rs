//! Batches as HTTP requests to the collector, with retries while it is busy or unreachable.
//! Must not know: the content of a batch, except the collector's answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use opentelemetry_http::{Bytes, HttpClient, HttpError};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use parking_lot::Mutex;
use plenary_outward::{Pool, client_config, deepest, retry_after, within};
use prost::Message;
use tokio::time::{Instant, sleep, timeout_at};

use crate::{Fault, Settings};

/// Largest response of a collector that is read; beyond it the batch counts as lost.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Pause before the second attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause between two attempts that we choose.
const PAUSE_MAX: Duration = Duration::from_millis(1_600);

/// The connection to the collector.
#[derive(Debug)]
pub(crate) struct Transport {
    pool: Pool,
    timeout: Duration,
    replies: Arc<CollectorReplies>,
}

/// The parts of the collector's responses that the exporter does not pass on.
#[derive(Debug, Default)]
pub(crate) struct CollectorReplies {
    rejected: AtomicU64,
    trouble: Mutex<String>,
}

impl CollectorReplies {
    /// The number of spans of the last batch that the collector refused.
    pub(crate) fn take_rejected(&self) -> u64 {
        self.rejected.swap(0, Ordering::Relaxed)
    }

    /// Why the last attempt failed.
    pub(crate) fn take_error(&self) -> String {
        std::mem::take(&mut *self.trouble.lock())
    }

    fn note(&self, trouble: String) {
        *self.trouble.lock() = trouble;
    }
}

/// The result of one attempt.
enum Attempt {
    Accepted(Response<Bytes>),
    /// Worth another attempt, not before the given pause if the collector named one.
    Again(Option<Duration>),
    Refused,
}

impl Transport {
    pub(crate) fn new(settings: &Settings) -> Result<Self, Fault> {
        let secure = settings.endpoint.scheme_str() == Some("https");
        let tls = client_config(secure, settings.certificate.as_deref(), "in OTEL_EXPORTER_OTLP_CERTIFICATE")
            .map_err(|fault| Fault::Tls(fault.to_string()))?;
        Ok(Self { pool: Pool::new(tls), timeout: settings.timeout, replies: Arc::default() })
    }

    pub(crate) fn replies(&self) -> Arc<CollectorReplies> {
        self.replies.clone()
    }

    async fn attempt(&self, request: Request<Full<Bytes>>, deadline: Instant) -> Attempt {
        let exchange = async {
            let (head, body) = self.pool.send(request).await?.into_parts();
            let body = within(body, ANSWER_BYTES_MAX).await?;
            Ok::<_, HttpError>(Response::from_parts(head, body))
        };
        let response = match timeout_at(deadline, exchange).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                self.replies.note(deepest(&*error));
                return Attempt::Again(None);
            }
            Err(_) => {
                self.replies.note("it did not answer in time".into());
                return Attempt::Refused;
            }
        };
        let status = response.status();
        if status.is_success() {
            return Attempt::Accepted(response);
        }
        self.replies.note(format!("it answered {status}"));
        // The only statuses that the protocol allows to retry.
        let busy = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::BAD_GATEWAY,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::GATEWAY_TIMEOUT,
        ];
        if busy.contains(&status) {
            Attempt::Again(retry_after(response.headers()))
        } else {
            Attempt::Refused
        }
    }

    fn read_answer(&self, answer: &Response<Bytes>) {
        let Ok(answer) = ExportTraceServiceResponse::decode(answer.body().as_ref()) else { return };
        let Some(partial) = answer.partial_success else { return };
        if let Ok(rejected @ 1..) = u64::try_from(partial.rejected_spans) {
            self.replies.rejected.store(rejected, Ordering::Relaxed);
            self.replies.note(format!("it rejected {rejected} spans"));
        }
    }
}

#[async_trait]
impl HttpClient for Transport {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let deadline = Instant::now() + self.timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.attempt(request.clone().map(Full::new), deadline).await {
                Attempt::Accepted(response) => {
                    self.read_answer(&response);
                    return Ok(response);
                }
                Attempt::Again(at_least) => {
                    let wait = at_least.unwrap_or(pause).max(pause);
                    if Instant::now() + wait >= deadline {
                        return Err("no attempt succeeded in time".into());
                    }
                    sleep(wait).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Attempt::Refused => return Err("refused".into()),
            }
        }
    }
}
