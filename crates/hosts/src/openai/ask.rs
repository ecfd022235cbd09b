//! One request to the model's server, with its streamed response; retried while the server is busy or unreachable and
//! has not started its response.
//! Must not know: runs, tools.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use plenary_outward::{
    Pool, deepest, retry_after,
    sse::{Item, Parser},
    within,
};
use tokio::time::{sleep, timeout};

use super::chat::{Answer, MESSAGE_BYTES_MAX};
use crate::key::{redact, redacted_error};

/// The longest silence of a response.
const SILENCE_MAX: Duration = Duration::from_secs(180);
/// Attempts per request.
const ATTEMPTS_MAX: u32 = 4;
/// Pause before the second attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause, even if the server asks for more.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Most bytes of a refusal that are read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// Most bytes of one event: a whole message, escaped.
const EVENT_BYTES_MAX: usize = 8 * MESSAGE_BYTES_MAX;

/// The server of a model.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) pool: Pool,
    pub(super) endpoint: Uri,
    pub(super) key: Option<HeaderValue>,
}

/// Why an attempt failed.
enum AttemptFailure {
    /// Worth a retry, not before the given pause if the server named one.
    Temporary(String, Option<Duration>),
    /// Permanent.
    Refused(String),
}

impl Server {
    /// Sends the request; `on_text` gets text as it arrives. The error is text for people, without the API key.
    pub(super) async fn ask(&self, question: &Bytes, on_text: impl Fn(&str)) -> Result<Answer, String> {
        self.ask_with_retries(question, on_text).await.map_err(|error| redact(error, self.key.as_ref()))
    }

    async fn ask_with_retries(&self, question: &Bytes, on_text: impl Fn(&str)) -> Result<Answer, String> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..ATTEMPTS_MAX {
            match self.attempt(question, &on_text).await {
                Ok(answer) => return Ok(answer),
                Err(AttemptFailure::Refused(error)) => return Err(error),
                Err(AttemptFailure::Temporary(_, at_least)) => {
                    sleep(at_least.unwrap_or(pause).clamp(pause, PAUSE_MAX)).await
                }
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
        self.attempt(question, &on_text).await.map_err(|failure| match failure {
            AttemptFailure::Refused(error) | AttemptFailure::Temporary(error, _) => error,
        })
    }

    async fn attempt(&self, question: &Bytes, on_text: &impl Fn(&str)) -> Result<Answer, AttemptFailure> {
        let mut request = Request::new(Full::new(question.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if let Some(key) = &self.key {
            headers.insert(header::AUTHORIZATION, key.clone());
        }
        let response = match timeout(SILENCE_MAX, self.pool.send(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(AttemptFailure::Temporary(self.failure(&deepest(&error)), None)),
            Err(_) => return Err(AttemptFailure::Temporary(self.failure("it did not answer in time"), None)),
        };
        if !response.status().is_success() {
            return Err(self.failure_of(response).await);
        }
        self.read(response, on_text).await
    }

    async fn failure_of(&self, response: Response<Incoming>) -> AttemptFailure {
        let (status, pause) = (response.status(), retry_after(response.headers()));
        let body = timeout(SILENCE_MAX, within(response.into_body(), REFUSAL_BYTES_MAX)).await;
        let body = body.unwrap_or_else(|_| Ok(Bytes::new())).unwrap_or_default();
        let detail = serde_json::from_slice(&body)
            .map_or(String::new(), |error| format!(": {}", redacted_error(&error, self.key.as_ref())));
        let error = self.failure(&format!("it answered {status}{detail}"));
        let is_temporary = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        if is_temporary { AttemptFailure::Temporary(error, pause) } else { AttemptFailure::Refused(error) }
    }

    async fn read(
        &self,
        response: Response<Incoming>,
        on_text: &impl Fn(&str),
    ) -> Result<Answer, AttemptFailure> {
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let streams = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
        let mut body = response.into_body();
        let mut answer = Answer::default();
        if !streams {
            let body = timeout(SILENCE_MAX, within(body, EVENT_BYTES_MAX)).await;
            let body = body.map_err(|_| AttemptFailure::Refused(self.failure("it stopped sending")))?;
            let body = body.map_err(|error| AttemptFailure::Refused(self.failure(&error)))?;
            on_text(&answer.take(&body, self.key.as_ref()).map_err(AttemptFailure::Refused)?);
            return answer.finish().map_err(AttemptFailure::Refused);
        }
        let (mut parser, mut items) = (Parser::holding(EVENT_BYTES_MAX), Vec::new());
        loop {
            let part = match timeout(SILENCE_MAX, body.frame()).await {
                Err(_) => return Err(AttemptFailure::Refused(self.failure("it stopped sending"))),
                Ok(None) if answer.finish_reason.is_some() => return Ok(answer),
                Ok(None) => return Err(AttemptFailure::Refused(self.failure("its answer broke off"))),
                Ok(Some(Err(error))) => {
                    let error = format!("its answer broke off: {}", deepest(&error));
                    return Err(AttemptFailure::Refused(self.failure(&error)));
                }
                Ok(Some(Ok(part))) => part,
            };
            let Some(bytes) = part.data_ref() else { continue };
            parser
                .feed(bytes, &mut items)
                .map_err(|error| AttemptFailure::Refused(self.failure(&error.to_string())))?;
            for item in items.drain(..) {
                let Item::Event(event) = item else { continue };
                if event.data.trim() == "[DONE]" {
                    return answer.finish().map_err(AttemptFailure::Refused);
                }
                let text =
                    answer.take(event.data.as_bytes(), self.key.as_ref()).map_err(AttemptFailure::Refused)?;
                if !text.is_empty() {
                    on_text(&text);
                }
            }
        }
    }

    /// An error text that names the server, without path or query.
    fn failure(&self, problem: &str) -> String {
        let host = self.endpoint.authority().map_or("", |authority| authority.as_str());
        format!("the model's server at {host} could not be asked: {problem}")
    }
}
