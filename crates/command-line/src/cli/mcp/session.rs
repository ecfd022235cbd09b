//! The client's session of the generation with `initialize`. If the server has lost it, it is created again, and the
//! client does not notice.
//! Must not know: the source and destination of lines.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use http::HeaderValue;
use parking_lot::{Mutex, MutexGuard};
use plenary_client::{Backoff, Client, Error, FaultKind, RawReply, mcp::Answer};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::line::{Headers, Message, SESSION, VERSION};

/// How long an unreachable server is retried before the client gets an error.
const RECONNECT_MAX: Duration = Duration::from_secs(20);
/// How long it is retried for a call, for which a model waits, and for renewing a session.
pub(super) const RECONNECT_CALL_MAX: Duration = Duration::from_millis(1_500);
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Maximum number of subscriptions that are renewed; the server's own limit.
const SUBSCRIBED_MAX: usize = 32;

#[derive(Default)]
pub(super) struct Session {
    state: Mutex<SessionState>,
    /// One task renews the session, the others wait.
    renewing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct SessionState {
    /// The client's `initialize` message.
    initialize: Option<Message>,
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// Whether the client has sent `notifications/initialized`.
    ready: bool,
    subscribed: BTreeSet<String>,
}

/// The connection to the server.
pub(super) struct Line<'a> {
    pub(super) client: Client,
    pub(super) path: &'a str,
}

/// The headers of a message in a session.
fn headers_of(id: Option<&HeaderValue>, version: Option<&HeaderValue>) -> Headers {
    let id = id.map(|id| (SESSION, id.clone()));
    id.into_iter().chain(version.map(|version| (VERSION, version.clone()))).collect()
}

/// The version of the protocol in the answer to `initialize`.
fn version_of(answer: &str) -> Option<HeaderValue> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    HeaderValue::from_str(answer["result"]["protocolVersion"].as_str()?).ok()
}

impl Session {
    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }

    /// The headers of a message in the session.
    pub(super) fn headers(&self) -> Headers {
        let state = self.lock();
        headers_of(state.id.as_ref(), state.version.as_ref())
    }

    /// Whether the session is open, as far as is known.
    pub(super) fn is_open(&self) -> bool {
        self.lock().id.is_some()
    }

    /// Whether the client has begun a session that the server does not have.
    pub(super) fn is_away(&self) -> bool {
        let state = self.lock();
        state.initialize.is_some() && state.id.is_none()
    }

    /// Records the client's `initialize` message.
    pub(super) fn record_initialize(&self, message: &Message) {
        *self.lock() = SessionState { initialize: Some(message.clone()), ..SessionState::default() };
    }

    /// Records the server's answer to it.
    pub(super) fn opened(&self, id: Option<&HeaderValue>, answer: &str) {
        let mut state = self.lock();
        state.id = id.cloned();
        state.version = version_of(answer);
    }

    /// Records messages that must be repeated when the session is renewed.
    pub(super) fn record_message(&self, message: &Message) {
        let uri = message.params.get("uri").and_then(Value::as_str);
        let mut state = self.lock();
        match (message.method.as_str(), uri) {
            ("notifications/initialized", _) => state.ready = true,
            ("resources/subscribe", Some(uri)) if state.subscribed.len() < SUBSCRIBED_MAX => {
                state.subscribed.insert(uri.to_owned());
            }
            ("resources/unsubscribe", Some(uri)) => drop(state.subscribed.remove(uri)),
            _ => {}
        }
    }

    /// Renews the session, unless another task has done so since these headers. Retries an unreachable server for `longest`.
    pub(super) async fn renew(
        &self,
        line: &Line<'_>,
        lost: &Headers,
        longest: Duration,
    ) -> Result<(), Error> {
        let _guard = self.renewing.lock().await;
        if self.headers() != *lost {
            return Ok(());
        }
        let (initialize, ready, subscribed) = {
            let state = self.lock();
            (state.initialize.clone(), state.ready, state.subscribed.clone())
        };
        let Some(initialize) = initialize else {
            return Err(Error::Invalid("there is no session; send initialize first".into()));
        };
        let (headers, answer) = whole(line.post(&[], &initialize.text, true, longest).await?).await?;
        let renewed = headers_of(headers.get(SESSION), version_of(&answer).as_ref());
        let repeat = |method: &str, params: Value| {
            json!({"jsonrpc": "2.0", "id": format!("plenary-{method}"), "method": method, "params": params})
                .to_string()
        };
        let mut messages = Vec::new();
        if ready {
            messages.push(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        }
        messages.extend(subscribed.iter().map(|uri| repeat("resources/subscribe", json!({"uri": uri}))));
        for text in messages {
            whole(line.post(&renewed, &text, true, longest).await?).await?;
        }
        // Only now do other calls use it: it is initialized, and follows the same resources.
        self.opened(headers.get(SESSION), &answer);
        Ok(())
    }

    /// The answer to a request without parameters.
    pub(super) async fn request(&self, line: &Line<'_>, method: &str) -> Result<Value, Error> {
        let text = json!({"jsonrpc": "2.0", "id": format!("plenary-{method}"), "method": method}).to_string();
        let (_, answer) = whole(line.post(&self.headers(), &text, true, Duration::ZERO).await?).await?;
        serde_json::from_str(&answer).map_err(|error| Error::Unreadable(error.to_string()))
    }
}

impl Line<'_> {
    /// Posts a message; retries an unreachable server for `longest`. A call that the server may have received is not
    /// repeated.
    pub(super) async fn post(
        &self,
        headers: &[(http::HeaderName, HeaderValue)],
        text: &str,
        is_repeatable: bool,
        longest: Duration,
    ) -> Result<Answer, Error> {
        let body = Bytes::copy_from_slice(text.as_bytes());
        let (mut backoff, began) = (Backoff::new(FIRST_WAIT, LONGEST_WAIT), Instant::now());
        loop {
            match self.client.message(self.path, headers, body.clone()).await {
                Err(error) if may_repeat(&error, is_repeatable) && began.elapsed() < longest => {
                    sleep(backoff.next_wait()).await;
                }
                Ok(Answer::Whole(reply)) if reply.status == 503 && began.elapsed() < longest => {
                    sleep(backoff.next_wait()).await;
                }
                outcome => return outcome,
            }
        }
    }
}

/// How long a message waits for an unreachable server.
pub(super) fn time_limit(message: &Message) -> Duration {
    if message.is_repeatable() { RECONNECT_MAX } else { RECONNECT_CALL_MAX }
}

/// Whether it may be repeated: the server cannot have received it, or receiving it twice has no further effect.
fn may_repeat(error: &Error, is_repeatable: bool) -> bool {
    match error {
        Error::Network(fault) => match fault.kind {
            FaultKind::Refused | FaultKind::Unreachable | FaultKind::Busy | FaultKind::Resolve => true,
            FaultKind::TimedOut | FaultKind::Lost => is_repeatable,
            FaultKind::Tls
            | FaultKind::WrongName
            | FaultKind::NotTls
            | FaultKind::NotHttp
            | FaultKind::Unproved => false,
        },
        Error::Refused(_) | Error::Unreadable(_) | Error::Invalid(_) => false,
    }
}

/// Whether no server answers: there was no response, or a proxy says so.
pub(super) fn is_down(outcome: &Result<Answer, Error>) -> bool {
    match outcome {
        Err(Error::Network(fault)) => fault.kind.may_pass(),
        Ok(Answer::Whole(reply)) => (502..=504).contains(&reply.status),
        Ok(Answer::Stream(_)) | Err(_) => false,
    }
}

/// Whether the server has lost the session.
pub(super) fn is_lost(reply: &RawReply, headers: &Headers) -> bool {
    reply.status == 404 && headers.iter().any(|(name, _)| *name == SESSION)
}

/// The single message of an answer, with its headers.
async fn whole(answer: Answer) -> Result<(http::HeaderMap, String), Error> {
    match answer {
        Answer::Whole(reply) => {
            let reply = reply.into_success()?;
            Ok((reply.headers, String::from_utf8_lossy(&reply.body).into_owned()))
        }
        Answer::Stream(mut messages) => {
            let text = messages.next().await?.unwrap_or_default();
            Ok((messages.headers, text))
        }
    }
}
