//! The other endpoint over HTTP: starts a run, sends requests to it, resumes its stream after a disconnect, and
//! fetches its artifacts.
//! Must not know: runs of this server.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use plenary_outward::{
    Pool, deepest,
    sse::{Item, Parser, SseEvent},
    within,
};
use plenary_runs::limits::{ARTIFACT_BYTES_MAX, EVENT_BYTES_MAX};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::{sleep, timeout};

use crate::{ConfigFault, config::pool_of, key::redacted_error};

/// The longest silence of a stream: keepalives are expected every 15 s.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// The longest wait for a response.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Attempts to resume a broken stream.
const ATTEMPTS_MAX: u32 = 8;
/// Pause before the second attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Most bytes of a refusal that are read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// The connection to an agent at another endpoint.
#[derive(Debug)]
pub(super) struct Link {
    pool: Pool,
    /// Without a trailing slash.
    url: String,
    token: Option<HeaderValue>,
}

impl Link {
    pub(super) fn new(url: &str, token: Option<HeaderValue>) -> Result<Self, ConfigFault> {
        let (pool, url) = pool_of(url)?;
        Ok(Self { pool, url, token })
    }

    /// Starts a run; returns its events.
    pub(super) async fn start(&self, body: Map<String, Value>) -> Result<Events, String> {
        let answer =
            self.send(Method::POST, "/stream_request", Some(Value::Object(body).to_string()), None).await;
        Ok(Events::in_body(self.accepted(answer).await?))
    }

    /// Sends a request about a run.
    pub(super) async fn post(&self, body: String) -> Result<(), String> {
        let answer = self.send(Method::POST, "/run", Some(body), None).await;
        self.accepted(answer).await.map(drop)
    }

    /// The content of a URL at the other endpoint; `None` if it belongs to another server or cannot be fetched.
    pub(super) async fn fetch(&self, url: &str) -> Option<Bytes> {
        let uri: Uri = self.absolute(url).parse().ok()?;
        let own_uri: Uri = self.url.parse().ok()?;
        // The token must not be sent to another server.
        if uri.scheme() != own_uri.scheme() || uri.authority() != own_uri.authority() {
            return None;
        }
        let answer = self.ask(Method::GET, uri, None, None).await.ok()?;
        // The body of a refusal is not the artifact.
        if answer.status() != StatusCode::OK {
            return None;
        }
        let content = timeout(ANSWER_TIME, within(answer.into_body(), ARTIFACT_BYTES_MAX)).await;
        content.ok()?.ok()
    }

    /// A URL of an event, which may be only a path, as an absolute URL.
    pub(super) fn absolute(&self, url: &str) -> String {
        if !url.starts_with('/') {
            return url.to_owned();
        }
        let own_uri: Uri = self.url.parse().unwrap_or_default();
        let host = own_uri.authority().map_or("", |authority| authority.as_str());
        format!("{}://{host}{url}", own_uri.scheme_str().unwrap_or("http"))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        after: Option<&str>,
    ) -> Result<Response<Incoming>, String> {
        let uri = format!("{}{path}", self.url).parse().map_err(|_| "the path is none".to_owned())?;
        self.ask(method, uri, body, after).await
    }

    async fn ask(
        &self,
        method: Method,
        uri: Uri,
        body: Option<String>,
        after: Option<&str>,
    ) -> Result<Response<Incoming>, String> {
        let body = body.unwrap_or_default();
        let mut request = Request::new(Full::new(Bytes::from(body)));
        (*request.method_mut(), *request.uri_mut()) = (method, uri);
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.token {
            headers.insert(header::AUTHORIZATION, token.clone());
        }
        if let Some(after) = after.and_then(|after| HeaderValue::from_str(after).ok()) {
            headers.insert("last-event-id", after);
        }
        match timeout(ANSWER_TIME, self.pool.send(request)).await {
            Ok(answer) => answer.map_err(|error| self.failure(&deepest(&error))),
            Err(_) => Err(self.failure("it did not answer in time")),
        }
    }

    async fn accepted(&self, answer: Result<Response<Incoming>, String>) -> Result<Incoming, String> {
        let answer = answer?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer.into_body());
        }
        let body = timeout(ANSWER_TIME, within(answer.into_body(), REFUSAL_BYTES_MAX)).await;
        let body = body.unwrap_or_else(|_| Ok(Bytes::new())).unwrap_or_default();
        let detail = serde_json::from_slice(&body)
            .map_or(String::new(), |error| format!(": {}", redacted_error(&error, self.token.as_ref())));
        Err(self.failure(&format!("it answered {status}{detail}")))
    }

    fn failure(&self, problem: &str) -> String {
        format!("the agent at {} could not be asked: {problem}", self.url)
    }
}

/// The events of a remote run. A broken stream is resumed after the last event that was read.
pub(super) struct Events {
    body: Option<Incoming>,
    parser: Parser,
    items: VecDeque<Item>,
    run_id: Option<String>,
    /// The stream's own id of the last event.
    after: Option<String>,
    /// The number of the last event in its run.
    last: Option<u64>,
    /// The number of the last event before the stream was resumed.
    resumed_after: Option<u64>,
    failures: u32,
}

/// What places an event in its run; a text delta has no number.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Place {
    id: Option<u64>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Events {
    fn in_body(body: Incoming) -> Self {
        let parser = Parser::holding(2 * EVENT_BYTES_MAX);
        let body = Some(body);
        let items = VecDeque::new();
        Self { body, parser, items, run_id: None, after: None, last: None, resumed_after: None, failures: 0 }
    }

    /// Sets the run to resume.
    pub(super) fn set_run(&mut self, run_id: String) {
        self.run_id = Some(run_id);
    }

    pub(super) fn run_id(&self) -> Option<&str> {
        self.run_id.as_deref()
    }

    /// The next event. Cancel-safe.
    pub(super) async fn next(&mut self, link: &Link) -> Result<SseEvent, String> {
        loop {
            while let Some(item) = self.items.pop_front() {
                let Item::Event(event) = item else { continue };
                let place: Place = serde_json::from_str(&event.data).unwrap_or_default();
                if self.repeats(&place) {
                    continue;
                }
                self.last = place.id.or(self.last);
                // The parser of a resumed stream knows no id before its first event with one.
                if event.id.is_some() {
                    self.after.clone_from(&event.id);
                }
                self.failures = 0;
                return Ok(event);
            }
            let error = match &mut self.body {
                None => self.reconnect(link).await.err(),
                Some(body) => match timeout(SILENCE_MAX, body.frame()).await {
                    Err(_) => Some("it stopped sending".to_owned()),
                    Ok(None) => Some("its stream ended before the run did".to_owned()),
                    Ok(Some(Err(error))) => Some(deepest(&error)),
                    Ok(Some(Ok(part))) => self.take(part.data_ref()).err(),
                },
            };
            if let Some(error) = error {
                self.body = None;
                self.failures += 1;
                if self.failures >= ATTEMPTS_MAX || self.run_id.is_none() {
                    return Err(link.failure(&error));
                }
                sleep((FIRST_PAUSE * (1 << self.failures.min(8))).min(PAUSE_MAX)).await;
            }
        }
    }

    /// Whether an event was read before the stream was resumed: an endpoint may ignore where to resume. Nothing follows
    /// the end of a run, so an end is none of them, whatever its number.
    fn repeats(&self, place: &Place) -> bool {
        let is_known = place.id.zip(self.resumed_after).is_some_and(|(id, last)| id <= last);
        is_known && place.kind.as_deref() != Some("RunCompleted")
    }

    fn take(&mut self, bytes: Option<&Bytes>) -> Result<(), String> {
        let Some(bytes) = bytes else { return Ok(()) };
        let mut items = Vec::new();
        self.parser.feed(bytes, &mut items).map_err(|error| error.to_string())?;
        self.items.extend(items);
        Ok(())
    }

    async fn reconnect(&mut self, link: &Link) -> Result<(), String> {
        let run_id = self.run_id.clone().unwrap_or_default();
        // `since` is the document's word (SC-38); only some endpoints know the header of Server-Sent Events.
        let since = self.last.map(|last| format!("&since={last}")).unwrap_or_default();
        let path = format!("/get_events/{run_id}?stream=true{since}");
        let answer = link.send(Method::GET, &path, None, self.after.as_deref()).await;
        self.body = Some(link.accepted(answer).await?);
        self.parser = Parser::holding(2 * EVENT_BYTES_MAX);
        self.resumed_after = self.last;
        Ok(())
    }
}
