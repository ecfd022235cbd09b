//! A live stream as server-sent events: what stands in the log behind a cursor, and then what comes. Catch-up and live
//! are one path; nothing is queued, so a client that does not read holds nobody up.
//! Must not know: what is told, or by which protocol.

use std::{convert::Infallible, future::Future, hash::Hash, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use plenary_log::Fault;
use tokio::time::{Instant, timeout_at};

use crate::Watch;

/// Octets after which what was read is handed to the connection.
pub const BURST_OCTETS: usize = 64 << 10;
/// After how long without an event a live stream says that it is alive.
pub const KEEPALIVE_MS: u64 = 15_000;
/// How long a client is asked to wait before it connects again.
const RETRY_MS: u64 = 1_000;

/// What a look into the log brought.
#[derive(Debug, Default)]
pub struct Looked {
    /// Server-sent events, made with [`Looked::tell`].
    text: String,
    /// The id of the last that was told.
    told: Option<u64>,
    /// Whether there may be more at once.
    pub more: bool,
}

impl Looked {
    /// Tells an event: its id, its name where it has one, and its JSON.
    pub fn tell(&mut self, id: u64, name: Option<&str>, json: &str) {
        self.told = Some(id);
        if let Some(name) = name {
            self.text.push_str(&format!("event: {name}\n"));
        }
        self.text.push_str(&format!("id: {id}\ndata: "));
        // Line breaks stand only between the parts of JSON as it was sent: within a string they are escaped.
        self.text.extend(json.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        self.text.push_str("\n\n");
    }

    /// Whether nothing is told.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.told.is_none()
    }

    /// Whether it is enough for one piece.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.text.len() >= BURST_OCTETS
    }
}

/// What is followed, by whom.
pub trait Followed: Send + 'static {
    /// Whether whoever follows still may.
    fn is_allowed(&self) -> impl Future<Output = Result<bool, Fault>> + Send;
    /// Reads on behind the cursor, and moves it.
    fn look(&mut self) -> impl Future<Output = Result<Looked, Fault>> + Send;
    /// The id up to which everything was looked at.
    fn passed(&self) -> u64;
}

/// What is known while it runs.
struct Running<F, B: Eq + Hash + Clone> {
    followed: F,
    watch: Watch<B>,
    /// The id that the client knows of.
    told: u64,
    /// What there is to say first.
    greeting: Option<Bytes>,
    spoke: Instant,
}

/// The response; it ends with the permission, with the server, or with the client.
pub fn live<F: Followed, B: Eq + Hash + Clone + Send + 'static>(followed: F, watch: Watch<B>) -> Response {
    let told = followed.passed();
    // An id without data sets where a client resumes, also before the first event (WHATWG HTML, 9.2.6).
    let greeting = Bytes::from(format!("retry: {RETRY_MS}\nid: {told}\n\n"));
    let running = Running { followed, watch, told, greeting: Some(greeting), spoke: Instant::now() };
    let body = stream::unfold(running, |mut running| async move {
        match running.next().await {
            Ok(Some(bytes)) => Some((Ok::<_, Infallible>(bytes), running)),
            Ok(None) => None,
            Err(fault) => {
                tracing::warn!(%fault, "a live stream could not read on");
                None
            }
        }
    });
    let mut response = Body::from_stream(body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A proxy that gathers the response would hold the events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl<F: Followed, B: Eq + Hash + Clone> Running<F, B> {
    /// The next octets; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        if !self.followed.is_allowed().await? {
            return Ok(None);
        }
        if let Some(greeting) = self.greeting.take() {
            return Ok(Some(greeting));
        }
        loop {
            let marks = self.watch.mailbox().take();
            if marks.closing.is_some() || (marks.recheck && !self.followed.is_allowed().await?) {
                return Ok(None);
            }
            let looked = self.followed.look().await?;
            if looked.told.is_some() {
                return Ok(Some(self.spoken(looked)));
            }
            if looked.more {
                continue;
            }
            let due = self.spoke + Duration::from_millis(KEEPALIVE_MS);
            // A lost wake-up is only late: the log is looked at again when the keepalive is due.
            if timeout_at(due, self.watch.mailbox().woken()).await.is_err() {
                let looked = self.followed.look().await?;
                let is_silent = looked.told.is_none();
                return Ok(Some(if is_silent { self.keepalive() } else { self.spoken(looked) }));
            }
        }
    }

    fn spoken(&mut self, looked: Looked) -> Bytes {
        self.told = looked.told.unwrap_or(self.told);
        self.spoke = Instant::now();
        Bytes::from(looked.text)
    }

    /// Says that the stream is alive, and where to resume when events that are not told have passed by.
    fn keepalive(&mut self) -> Bytes {
        self.spoke = Instant::now();
        let passed = self.followed.passed();
        if passed == self.told {
            return Bytes::from_static(b": keepalive\n\n");
        }
        self.told = passed;
        Bytes::from(format!(": keepalive\nid: {passed}\n\n"))
    }
}
