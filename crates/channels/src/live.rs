//! A channel read live: what stands in the log behind a cursor, as server-sent events, and then what comes. Catch-up
//! and live are one path; nothing is queued, so a client that does not read holds nobody up.
//! Must not know: how the connection is kept.

use std::time::Duration;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use plenary_accounts::Principal;
use plenary_kernel::Version;
use plenary_log::{Fault, PageSize, StoredEvent};
use tokio::time::{Instant, timeout_at};

use crate::{Channels, KEEPALIVE_MS, id::ChannelId, watch::Watch, wire::Event};

/// Most events that are taken from the shared tail at a time.
const TAIL_PAGE: usize = 128;
/// Octets after which what was read is handed to the connection.
const BURST_OCTETS: usize = 64 << 10;
/// How long a client is asked to wait before it connects again.
const RETRY_MS: u64 = 1_000;

/// Where a live stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The last version that the client has.
    pub(crate) version: Version,
    /// The id up to which it has everything.
    pub(crate) id: u64,
}

/// One live stream.
pub(crate) struct Live {
    pub(crate) channels: Channels,
    pub(crate) id: ChannelId,
    pub(crate) principal: Option<Principal>,
    pub(crate) kind: Option<String>,
    pub(crate) watch: Watch,
    pub(crate) start: Start,
}

/// What is known while it runs.
struct Running {
    live: Live,
    cursor: Version,
    /// The id up to which everything was looked at, and the one that the client knows of.
    passed: u64,
    told: u64,
    size: PageSize,
    /// What there is to say first.
    greeting: Option<Bytes>,
    spoke: Instant,
}

/// What a look into the log brought.
#[derive(Default)]
struct Looked {
    text: String,
    /// Whether there may be more at once.
    more: bool,
}

impl Live {
    /// The response; it ends with the token, with the server, or with the client.
    pub(crate) fn into_response(self) -> Response {
        let Start { version, id } = self.start;
        // An id without data sets where a client resumes, also before the first event (WHATWG HTML, 9.2.6).
        let greeting = Bytes::from(format!("retry: {RETRY_MS}\nid: {id}\n\n"));
        let running = Running {
            live: self,
            cursor: version,
            passed: id,
            told: id,
            size: PageSize::default(),
            greeting: Some(greeting),
            spoke: Instant::now(),
        };
        let body = stream::unfold(running, |mut running| async move {
            match running.next().await {
                Ok(Some(bytes)) => Some((Ok::<_, std::convert::Infallible>(bytes), running)),
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
}

impl Running {
    /// The next octets; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        if !self.is_valid().await? {
            return Ok(None);
        }
        if let Some(greeting) = self.greeting.take() {
            return Ok(Some(greeting));
        }
        loop {
            let marks = self.live.watch.mailbox.take();
            if marks.closing.is_some() || (marks.recheck && !self.is_valid().await?) {
                return Ok(None);
            }
            let looked = self.look().await?;
            if !looked.text.is_empty() {
                return Ok(Some(self.spoken(looked.text)));
            }
            if looked.more {
                continue;
            }
            let due = self.spoke + Duration::from_millis(KEEPALIVE_MS);
            // A lost wake-up is only late: the log is looked at again when the keepalive is due.
            if timeout_at(due, self.live.watch.mailbox.woken()).await.is_err() {
                let looked = self.look().await?;
                let text = if looked.text.is_empty() { self.keepalive() } else { looked.text };
                return Ok(Some(self.spoken(text)));
            }
        }
    }

    fn spoken(&mut self, text: String) -> Bytes {
        self.spoke = Instant::now();
        Bytes::from(text)
    }

    /// Says that the stream is alive, and where to resume when events of other kinds have passed by.
    fn keepalive(&mut self) -> String {
        if self.passed == self.told {
            return ": keepalive\n\n".to_owned();
        }
        self.told = self.passed;
        format!(": keepalive\nid: {}\n\n", self.passed)
    }

    async fn is_valid(&self) -> Result<bool, Fault> {
        match &self.live.principal {
            Some(principal) => self.live.channels.accounts().is_valid(principal).await,
            None => Ok(true),
        }
    }

    /// Reads on behind the cursor.
    async fn look(&mut self) -> Result<Looked, Fault> {
        let mut looked = Looked::default();
        let stream = &self.live.watch.stream;
        if let Some(rows) = self.live.channels.0.tail.read(stream, self.cursor, TAIL_PAGE) {
            looked.more = rows.len() == TAIL_PAGE;
            for row in rows {
                self.pass(&row.event, &mut looked.text)?;
                if looked.text.len() >= BURST_OCTETS {
                    looked.more = true;
                    break;
                }
            }
            return Ok(looked);
        }
        let asked = self.size.events();
        let stored = self.live.channels.log().read_stream(stream, self.cursor, asked).await?;
        self.size.learn(&stored);
        looked.more = stored.len() == asked;
        for stored in &stored {
            self.pass(stored, &mut looked.text)?;
        }
        Ok(looked)
    }

    /// Passes one event, and writes it if it is wanted.
    fn pass(&mut self, stored: &StoredEvent, out: &mut String) -> Result<(), Fault> {
        self.cursor = stored.version;
        self.passed = stored.position.0;
        let Some(event) = Event::of(&self.live.id, stored)? else { return Ok(()) };
        if self.live.kind.as_ref().is_some_and(|kind| *kind != event.kind) {
            return Ok(());
        }
        let json = serde_json::to_string(&event).expect("strings, numbers and JSON can be written");
        self.told = event.id;
        out.push_str(&format!("id: {}\ndata: ", event.id));
        // Line breaks stand only between the parts of the payload as it was sent: within a string they are escaped.
        out.extend(json.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        out.push_str("\n\n");
        Ok(())
    }
}
