//! A server with OpenAI's embeddings API, with retries while it is busy or unreachable.
//! Must not know: the meaning of the texts.

mod wire;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use plenary_outward::{Pool, client_config, deepest, retry_after, within};
use tokio::time::{sleep, timeout};

use crate::{Embedder, Fault, Purpose, normalise};

/// Texts per request; the smallest limit among known servers is 96.
const TEXTS_MAX: usize = 64;
/// Largest response that is read: 64 vectors of 4,096 components, with room to spare.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Time limit of one attempt.
const ATTEMPT_TIME: Duration = Duration::from_secs(20);
/// Most attempts of a request.
const ATTEMPTS_MAX: u32 = 4;
/// Pause before the second attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longest pause, whatever the server asks for.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The answers to texts that are too long, or that a filter rejects.
const OF_TEXTS: [StatusCode; 3] =
    [StatusCode::BAD_REQUEST, StatusCode::PAYLOAD_TOO_LARGE, StatusCode::UNPROCESSABLE_ENTITY];

/// A client of the server.
pub struct OpenAi {
    pool: Pool,
    endpoint: Uri,
    served_model: String,
    name: String,
    key: Option<HeaderValue>,
    /// 0 until the first response.
    dimension: AtomicUsize,
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAi").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The failure of one attempt.
enum Attempt {
    /// Worth a retry, not before the pause that the server named, if any.
    Again(String, Option<Duration>),
    /// The server objects to the texts.
    Refused(String),
    Unusable(String),
}

impl OpenAi {
    /// Sends no request yet: a server that is unreachable at the start may be back later.
    pub fn new(endpoint: &Uri, model: &str, key: Option<&str>) -> Result<Self, Fault> {
        let secure = endpoint.scheme_str() == Some("https");
        let tls = client_config(secure, None, "in SSL_CERT_FILE");
        let tls = tls.map_err(|fault| Fault::Unusable(fault.to_string()))?;
        let key = key.filter(|key| !key.is_empty()).map(|key| {
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                .map_err(|_| Fault::Unusable(format!("{} cannot stand in a header", crate::KEY_VARIABLE)))?;
            value.set_sensitive(true);
            Ok(value)
        });
        Ok(Self {
            pool: Pool::new(tls),
            name: format!("openai:{}/{model}", endpoint.authority().map_or("", |host| host.as_str())),
            endpoint: endpoint.clone(),
            served_model: model.to_owned(),
            key: key.transpose()?,
            dimension: AtomicUsize::new(0),
        })
    }

    async fn request(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Fault> {
        let body = Bytes::from(wire::question(&self.served_model, texts));
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            match timeout(ATTEMPT_TIME, self.attempt(body.clone(), texts.len())).await {
                Ok(Ok(vectors)) => return self.checked(vectors),
                Ok(Err(Attempt::Refused(why))) => return Err(Fault::Refused(self.fault_text(&why))),
                Ok(Err(Attempt::Unusable(why))) => return Err(Fault::Unusable(self.fault_text(&why))),
                Ok(Err(Attempt::Again(why, _))) if attempt == ATTEMPTS_MAX => {
                    return Err(Fault::Unavailable(self.fault_text(&why)));
                }
                Ok(Err(Attempt::Again(_, at_least))) => {
                    sleep(at_least.unwrap_or(pause).clamp(pause, PAUSE_MAX)).await;
                }
                Err(_) if attempt == ATTEMPTS_MAX => {
                    return Err(Fault::Unavailable(self.fault_text("did not answer in time")));
                }
                Err(_) => sleep(pause).await,
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Err(Fault::Unavailable(self.fault_text("was given up")))
    }

    async fn attempt(&self, body: Bytes, count: usize) -> Result<Vec<Vec<f32>>, Attempt> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            headers.insert(header::AUTHORIZATION, key.clone());
        }
        let response = self
            .pool
            .send(request)
            .await
            .map_err(|error| Attempt::Again(format!("cannot be reached: {}", deepest(&error)), None))?;
        let status = response.status();
        if !status.is_success() {
            let later = status.is_server_error()
                || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status);
            let pause = retry_after(response.headers());
            let why = format!("answered {status}");
            return Err(if later {
                Attempt::Again(why, pause)
            } else if OF_TEXTS.contains(&status) {
                Attempt::Refused(why)
            } else {
                Attempt::Unusable(why)
            });
        }
        let body = within(response.into_body(), ANSWER_BYTES_MAX).await;
        let body = body.map_err(|why| Attempt::Again(format!("broke its answer off: {why}"), None))?;
        wire::answer(&body, count).map_err(Attempt::Unusable)
    }

    /// Checks that all vectors have one dimension, which never changes.
    fn checked(&self, mut vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, Fault> {
        let found = vectors.first().map_or(0, Vec::len);
        if vectors.iter().any(|vector| vector.len() != found || !vector.iter().all(|part| part.is_finite())) {
            return Err(Fault::Unusable(self.fault_text("sent vectors that do not fit each other")));
        }
        let known = self.dimension.swap(found, Ordering::Relaxed);
        if known != 0 && known != found {
            return Err(Fault::Unavailable(self.fault_text("changed the size of its vectors")));
        }
        vectors.iter_mut().for_each(|vector| normalise(vector));
        Ok(vectors)
    }

    fn fault_text(&self, what: &str) -> String {
        let host = self.endpoint.authority().map_or("", |host| host.as_str());
        format!("the server of embeddings {host} {what}")
    }
}

#[async_trait]
impl Embedder for OpenAi {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> Option<usize> {
        Some(self.dimension.load(Ordering::Relaxed)).filter(|known| *known > 0)
    }

    fn tokens_max(&self) -> Option<usize> {
        None
    }

    async fn embed(&self, _purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS_MAX) {
            vectors.extend(self.request(texts).await?);
        }
        Ok(vectors)
    }
}
