//! Batches as HTTP requests to the collector, with a few more attempts while it is only busy or away.
//! Must not know: what a batch holds, beyond what the collector says of it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use opentelemetry_http::{Bytes, HttpClient, HttpError};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use plenary_roots::RootsFault;
use prost::Message;
use tokio::time::{Instant, sleep, timeout_at};

use crate::{Fault, Settings};

/// Largest answer of a collector that is read; past it the batch counts as lost.
const ANSWER_OCTETS_MAX: usize = 64 << 10;
/// Pause before the second attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause between two attempts that we choose ourselves.
const PAUSE_MAX: Duration = Duration::from_millis(1_600);
/// How long an unused connection is kept.
const IDLE_CONNECTION_TIME: Duration = Duration::from_secs(30);

/// The way to the collector.
#[derive(Debug)]
pub(crate) struct Transport {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
    said: Arc<Said>,
}

/// What the collector said that the exporter keeps to itself.
#[derive(Debug, Default)]
pub(crate) struct Said {
    rejected: AtomicU64,
    trouble: Mutex<String>,
}

impl Said {
    /// How many spans of the last batch the collector took apart from the others and refused.
    pub(crate) fn take_rejected(&self) -> u64 {
        self.rejected.swap(0, Ordering::Relaxed)
    }

    /// Why the last attempt came to nothing.
    pub(crate) fn take_trouble(&self) -> String {
        std::mem::take(&mut *self.trouble.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, trouble: String) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}

/// How one attempt ended.
enum Attempt {
    Taken(Response<Bytes>),
    /// Worth another attempt, not before the given pause where the collector named one.
    Again(Option<Duration>),
    Refused,
}

/// A lack of authorities is mended by a variable of OpenTelemetry's own.
fn said(fault: &RootsFault) -> String {
    match fault {
        RootsFault::NoBundle => "this system has no bundle of certificate authorities; name one in \
                                 OTEL_EXPORTER_OTLP_CERTIFICATE"
            .to_owned(),
        RootsFault::File { .. } | RootsFault::Tls(_) => fault.to_string(),
    }
}

impl Transport {
    pub(crate) fn new(settings: &Settings) -> Result<Self, Fault> {
        let secure = settings.endpoint.scheme_str() == Some("https");
        let certificate = settings.certificate.as_deref();
        let tls =
            if secure { plenary_roots::client_config(certificate) } else { plenary_roots::plain_config() };
        let tls = tls.map_err(|fault| Fault::Tls(said(&fault)))?;
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTION_TIME)
            .build(connector);
        Ok(Self { client, timeout: settings.timeout, said: Arc::default() })
    }

    /// Where it leaves what the collector says.
    pub(crate) fn said(&self) -> Arc<Said> {
        self.said.clone()
    }

    async fn attempt(&self, request: Request<Full<Bytes>>, by: Instant) -> Attempt {
        let exchange = async {
            let (head, body) = self.client.request(request).await?.into_parts();
            let body = Limited::new(body, ANSWER_OCTETS_MAX).collect().await?.to_bytes();
            Ok::<_, HttpError>(Response::from_parts(head, body))
        };
        let response = match timeout_at(by, exchange).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                self.said.note(deepest(&*error));
                return Attempt::Again(None);
            }
            Err(_) => {
                self.said.note("it did not answer in time".into());
                return Attempt::Refused;
            }
        };
        let status = response.status();
        if status.is_success() {
            return Attempt::Taken(response);
        }
        self.said.note(format!("it answered {status}"));
        // The only ones that the protocol wants to see again.
        let busy = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::BAD_GATEWAY,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::GATEWAY_TIMEOUT,
        ];
        if busy.contains(&status) { Attempt::Again(retry_after(&response)) } else { Attempt::Refused }
    }

    fn read_answer(&self, answer: &Response<Bytes>) {
        let Ok(answer) = ExportTraceServiceResponse::decode(answer.body().as_ref()) else { return };
        let Some(partial) = answer.partial_success else { return };
        if let Ok(rejected @ 1..) = u64::try_from(partial.rejected_spans) {
            self.said.rejected.store(rejected, Ordering::Relaxed);
            self.said.note(format!("it rejected {rejected} spans"));
        }
    }
}

#[async_trait]
impl HttpClient for Transport {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let by = Instant::now() + self.timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.attempt(request.clone().map(Full::new), by).await {
                Attempt::Taken(response) => {
                    self.read_answer(&response);
                    return Ok(response);
                }
                Attempt::Again(at_least) => {
                    let wait = at_least.unwrap_or(pause).max(pause);
                    if Instant::now() + wait >= by {
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

/// Whole seconds; a date is as good as nothing said.
fn retry_after(response: &Response<Bytes>) -> Option<Duration> {
    let value = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
    value.parse().ok().map(Duration::from_secs)
}

/// The cause below the client's own words, such as "Connection refused".
fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
