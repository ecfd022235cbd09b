//! A stream of Server-Sent Events, which resumes after the last event when it breaks or falls silent.
//! Must not know: the content of an event.

use std::{collections::VecDeque, time::Duration};

use http::{HeaderName, HeaderValue, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::{
    Client, Error, Result,
    retry::{LONGEST_WAIT, Reconnecting},
    sse::{Item, Parser, SseEvent},
};

/// Silence after which the stream counts as lost: three keepalives of 15 s (FO-58).
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// Options for following a stream.
#[derive(Debug, Clone, Copy)]
pub struct StreamOptions {
    /// Keep retrying even if the server was never reached; by default the first failure is returned.
    pub wait_for_server: bool,
    /// Longest silence; default 45 s, three keepalives.
    pub silence_max: Duration,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self { wait_for_server: false, silence_max: SILENCE_MAX }
    }
}

/// What a stream returns next. The stream has no background task: it works only while its `next` is awaited, which may be
/// dropped and called again without losing anything.
///
/// `next` fails only for good: with [`Error::Refused`] when the server refuses the stream, [`Error::Network`] when it was
/// never reached, [`Error::Unreadable`] when the response is not such a stream.
#[derive(Debug)]
pub enum Signal<E> {
    /// The stream is open, and resumes after the last event. What no log keeps, frames and text deltas, may be lost before
    /// it (FO-61).
    Opened,
    /// An event.
    Event(E),
    /// The server is reachable, and has no events for now.
    Keepalive,
    /// An event that could not be parsed; the stream continues.
    Unreadable(Error),
    /// The stream is lost; it is reopened automatically.
    Lost {
        /// The reason, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

impl<E> Signal<E> {
    /// The same signal, with its event as `read` reads it.
    pub(crate) fn read<T>(self, read: impl FnOnce(E) -> Result<T>) -> Signal<T> {
        match self {
            Self::Opened => Signal::Opened,
            Self::Event(event) => read(event).map_or_else(Signal::Unreadable, Signal::Event),
            Self::Keepalive => Signal::Keepalive,
            Self::Unreadable(error) => Signal::Unreadable(error),
            Self::Lost { reason, retry_in } => Signal::Lost { reason, retry_in },
        }
    }
}

struct Open {
    body: Incoming,
    parser: Parser,
    items: VecDeque<Item>,
    since: Instant,
    last_data_at: Instant,
}

enum State {
    Due(Instant),
    Open(Box<Open>),
}

/// Follows one stream.
pub(crate) struct Feed {
    client: Client,
    path: String,
    /// The path before any event was read, if it is another one.
    first_path: Option<String>,
    after: Option<String>,
    event_bytes_max: usize,
    options: StreamOptions,
    state: State,
    reconnecting: Reconnecting,
}

impl Feed {
    /// Connects when first awaited, after `after` if given.
    pub(crate) fn new(
        client: Client,
        path: String,
        after: Option<String>,
        event_bytes_max: usize,
        options: StreamOptions,
    ) -> Self {
        Self {
            client,
            path,
            first_path: None,
            after,
            event_bytes_max,
            options,
            state: State::Due(Instant::now()),
            reconnecting: Reconnecting::new(options.wait_for_server),
        }
    }

    /// The same stream, which begins at another path and goes on at its own once there is an id to resume after.
    pub(crate) fn beginning_at(self, path: String) -> Self {
        Self { first_path: Some(path), ..self }
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Result<Signal<SseEvent>> {
        match &mut self.state {
            State::Due(when) => {
                tokio::time::sleep_until(*when).await;
                match self.open().await {
                    Ok(body) => {
                        self.reconnecting.note_open();
                        let now = Instant::now();
                        let parser = Parser::holding(self.event_bytes_max);
                        let open =
                            Open { body, parser, items: VecDeque::new(), since: now, last_data_at: now };
                        self.state = State::Open(Box::new(open));
                        Ok(Signal::Opened)
                    }
                    Err(error) => match self.reconnecting.pause_after(&error) {
                        Some(pause) => Ok(self.lost(error.to_string(), pause)),
                        None => Err(error),
                    },
                }
            }
            State::Open(open) => match open.next(self.options.silence_max, &mut self.after).await {
                Ok(Item::Comment(_)) => Ok(Signal::Keepalive),
                Ok(Item::Event(event)) => {
                    self.reconnecting.reset();
                    Ok(Signal::Event(event))
                }
                Err(reason) => {
                    if open.since.elapsed() > LONGEST_WAIT {
                        self.reconnecting.reset();
                    }
                    let pause = self.reconnecting.pause();
                    Ok(self.lost(reason, pause))
                }
            },
        }
    }

    async fn open(&self) -> Result<Incoming> {
        let path = self.first_path.as_ref().filter(|_| self.after.is_none()).unwrap_or(&self.path);
        let mut headers = vec![(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        // An empty id counts as none (WHATWG HTML, 9.2.6).
        if let Some(after) = self.after.as_ref().filter(|after| !after.is_empty()) {
            let value = HeaderValue::from_str(after)
                .map_err(|_| Error::Invalid(format!("`{after}` is not the id of an event")))?;
            headers.push((HeaderName::from_static("last-event-id"), value));
        }
        let response = self.client.open(path, "text/event-stream", &headers).await?;
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return Err(Error::Unreadable(format!("no event stream at {path}, but `{kind}`")));
        }
        Ok(response.into_body())
    }

    fn lost(&mut self, reason: String, retry_in: Duration) -> Signal<SseEvent> {
        self.state = State::Due(Instant::now() + retry_in);
        Signal::Lost { reason, retry_in }
    }
}

impl Open {
    /// The next item; `after` advances with the returned items, never past them.
    async fn next(
        &mut self,
        silence_max: Duration,
        after: &mut Option<String>,
    ) -> std::result::Result<Item, String> {
        loop {
            if let Some(item) = self.items.pop_front() {
                if let Item::Event(SseEvent { id: Some(id), .. }) = &item {
                    *after = Some(id.clone());
                }
                return Ok(item);
            }
            if let Some(id) = self.parser.last_id() {
                *after = Some(id.to_owned());
            }
            match timeout_at(self.last_data_at + silence_max, self.body.frame()).await {
                Err(_) => return Err("the server stopped sending".into()),
                Ok(None) => return Err("the server ended the stream".into()),
                Ok(Some(Err(error))) => return Err(error.to_string()),
                Ok(Some(Ok(part))) => {
                    self.last_data_at = Instant::now();
                    let mut items = Vec::new();
                    if let Some(bytes) = part.data_ref() {
                        self.parser.feed(bytes, &mut items).map_err(|e| e.to_string())?;
                    }
                    self.items.extend(items);
                }
            }
        }
    }
}
