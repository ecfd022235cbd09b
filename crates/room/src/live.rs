//! A live stream as Server-Sent Events: first the events in the log after a cursor, then new ones. Both use the same
//! code path. Nothing is queued, so a slow client delays no other client.
//! Must not know: the content, or the protocol.

use std::{future::Future, hash::Hash, time::Duration};

use axum::response::Response;
use bytes::Bytes;
use plenary_log::Fault;
use tokio::time::{Instant, timeout_at};

use crate::{
    Watch,
    sse::{BURST_BYTES, KEEPALIVE, KEEPALIVE_MS, Pieces, RETRY_MS, pieces},
};

/// The result of one read from the log.
#[derive(Debug, Default)]
pub struct Catchup {
    /// Server-Sent Events, written by [`Catchup::tell`].
    text: String,
    /// The id of the last written event.
    last_id: Option<u64>,
    /// Whether more events may be available at once.
    pub more: bool,
}

impl Catchup {
    /// Writes an event: its id, its name if it has one, and its JSON.
    pub fn push_event(&mut self, id: u64, name: Option<&str>, json: &str) {
        self.last_id = Some(id);
        if let Some(name) = name {
            self.text.push_str(&format!("event: {name}\n"));
        }
        self.text.push_str(&format!("id: {id}\ndata: "));
        // In JSON, line breaks occur only between tokens (inside a string they are escaped), so a space can replace
        // them.
        self.text.extend(json.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        self.text.push_str("\n\n");
    }

    /// Whether no event was written.
    pub fn is_empty(&self) -> bool {
        self.last_id.is_none()
    }

    /// Whether there is enough text for one chunk.
    pub fn is_full(&self) -> bool {
        self.text.len() >= BURST_BYTES
    }
}

/// A followed stream and its follower.
pub trait LiveSource: Send + 'static {
    /// Whether the follower still has permission.
    fn is_allowed(&self) -> impl Future<Output = Result<bool, Fault>> + Send;
    /// Reads events after the cursor and advances it.
    fn look(&mut self) -> impl Future<Output = Result<Catchup, Fault>> + Send;
    /// The id up to which everything has been read.
    fn passed(&self) -> u64;
}

/// The state of a running live stream.
struct StreamState<F, B: Eq + Hash + Clone, W> {
    followed: F,
    watch: Watch<B, W>,
    /// The last id that was sent to the client.
    last_id: u64,
    /// The first bytes to send, until they are sent.
    greeting: Option<Bytes>,
    last_write: Instant,
}

/// The response. It ends when the permission ends, the server stops, or the client disconnects.
pub fn live<F, B, W>(followed: F, watch: Watch<B, W>) -> Response
where
    F: LiveSource,
    B: Eq + Hash + Clone + Send + 'static,
    W: Send + 'static,
{
    let last_id = followed.passed();
    // An id without data sets the client's resume point even before the first event (WHATWG HTML, 9.2.6).
    let greeting = Bytes::from(format!("retry: {RETRY_MS}\nid: {last_id}\n\n"));
    let running =
        StreamState { followed, watch, last_id, greeting: Some(greeting), last_write: Instant::now() };
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
            if looked.last_id.is_some() {
                return Ok(Some(self.bytes_of(looked)));
            }
            if looked.more {
                continue;
            }
            let due = self.last_write + Duration::from_millis(KEEPALIVE_MS);
            // Limits the cost of a lost wake-up: the log is read again whenever a keepalive is due.
            if timeout_at(due, self.watch.mailbox().wait()).await.is_err() {
                let looked = self.followed.look().await?;
                let is_silent = looked.last_id.is_none();
                return Ok(Some(if is_silent { self.keepalive() } else { self.bytes_of(looked) }));
            }
        }
    }
}

impl<F, B: Eq + Hash + Clone, W> StreamState<F, B, W>
where
    F: LiveSource,
{
    fn bytes_of(&mut self, looked: Catchup) -> Bytes {
        self.last_id = looked.last_id.unwrap_or(self.last_id);
        self.last_write = Instant::now();
        Bytes::from(looked.text)
    }

    /// A keepalive; it also moves the client's resume point past events that were read but not sent.
    fn keepalive(&mut self) -> Bytes {
        self.last_write = Instant::now();
        let passed = self.followed.passed();
        if passed == self.last_id {
            return Bytes::from_static(KEEPALIVE.as_bytes());
        }
        self.last_id = passed;
        Bytes::from(format!(": keepalive\nid: {passed}\n\n"))
    }
}
