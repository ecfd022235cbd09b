//! A live stream as Server-Sent Events: first the events in the log after a cursor, then new ones. Catch-up and live
//! share one path; nothing is queued, so a client that does not read delays no other.
//! Must not know: the content, or the protocol.

use std::{future::Future, hash::Hash, time::Duration};

use axum::response::Response;
use bytes::Bytes;
use plenary_log::Fault;
use tokio::time::{Instant, timeout_at};

use crate::{
    Watch,
    sse::{BURST_OCTETS, KEEPALIVE, KEEPALIVE_MS, Pieces, RETRY_MS, pieces},
};

/// What a look into the log brought.
#[derive(Debug, Default)]
pub struct Catchup {
    /// Server-sent events, made with [`Catchup::tell`].
    text: String,
    /// The id of the last that was told.
    told: Option<u64>,
    /// Whether there may be more at once.
    pub more: bool,
}

impl Catchup {
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

    /// Whether nothing is reported.
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

/// The followed stream and its follower.
pub trait LiveSource: Send + 'static {
    /// Whether the follower still may follow.
    fn is_allowed(&self) -> impl Future<Output = Result<bool, Fault>> + Send;
    /// Reads on behind the cursor, and moves it.
    fn look(&mut self) -> impl Future<Output = Result<Catchup, Fault>> + Send;
    /// The id up to which everything was looked at.
    fn passed(&self) -> u64;
}

/// What is known while it runs.
struct StreamState<F, B: Eq + Hash + Clone, W> {
    followed: F,
    watch: Watch<B, W>,
    /// The id that the client knows of.
    told: u64,
    /// What there is to say first.
    greeting: Option<Bytes>,
    spoke: Instant,
}

/// The response; it ends with the permission, with the server, or with the client.
pub fn live<F, B, W>(followed: F, watch: Watch<B, W>) -> Response
where
    F: LiveSource,
    B: Eq + Hash + Clone + Send + 'static,
    W: Send + 'static,
{
    let told = followed.passed();
    // An id without data sets where a client resumes, also before the first event (WHATWG HTML, 9.2.6).
    let greeting = Bytes::from(format!("retry: {RETRY_MS}\nid: {told}\n\n"));
    let running = StreamState { followed, watch, told, greeting: Some(greeting), spoke: Instant::now() };
    pieces(running)
}

impl<F: LiveSource, B: Eq + Hash + Clone + Send + 'static, W: Send + 'static> Pieces
    for StreamState<F, B, W>
{
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
}

impl<F, B: Eq + Hash + Clone, W> StreamState<F, B, W>
where
    F: LiveSource,
{
    fn spoken(&mut self, looked: Catchup) -> Bytes {
        self.told = looked.told.unwrap_or(self.told);
        self.spoke = Instant::now();
        Bytes::from(looked.text)
    }

    /// Says that the stream is alive, and where to resume when events that are not told have passed by.
    fn keepalive(&mut self) -> Bytes {
        self.spoke = Instant::now();
        let passed = self.followed.passed();
        if passed == self.told {
            return Bytes::from_static(KEEPALIVE.as_bytes());
        }
        self.told = passed;
        Bytes::from(format!(": keepalive\nid: {passed}\n\n"))
    }
}
