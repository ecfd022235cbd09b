//! A stream of Server-Sent Events, which resumes after the last event when it breaks or falls silent.
//! Must not know: the content of an event.

use std::{collections::VecDeque, time::Duration};

use http::{HeaderValue, Method, Request, header};
use http_body_util::{BodyExt, Full};
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

/// An item returned by [`Feed::next`].
pub(crate) enum FeedItem {
    /// The stream is open.
    Opened,
    /// An event.
    Event(SseEvent),
    /// A comment: the server is reachable.
    Keepalive,
    /// The stream is lost; it is reopened automatically.
    Lost {
        /// The reason, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// The paths of the stream.
pub(crate) struct Paths {
    /// The path before any event was read.
    pub(crate) first: String,
    /// The path once there is an id to resume after.
    pub(crate) resumed: String,
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

/// Follows one stream. There is no background task: it works only while [`Feed::next`] is awaited.
pub(crate) struct Feed {
    client: Client,
    paths: Paths,
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
        paths: Paths,
        after: Option<String>,
        event_bytes_max: usize,
        options: StreamOptions,
    ) -> Self {
        Self {
            client,
            paths,
            after,
            event_bytes_max,
            options,
            state: State::Due(Instant::now()),
            reconnecting: Reconnecting::new(options.wait_for_server),
        }
    }

    /// Waits for the next item. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// Fatal errors only: [`Error::Refused`] when the server refuses the stream, [`Error::Network`] when it was never
    /// reached, [`Error::Unreadable`] when the response is not an event stream.
    pub(crate) async fn next(&mut self) -> Result<FeedItem> {
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
                        Ok(FeedItem::Opened)
                    }
                    Err(error) => match self.reconnecting.pause_after(&error) {
                        Some(pause) => Ok(self.lost(error.to_string(), pause)),
                        None => Err(error),
                    },
                }
            }
            State::Open(open) => match open.next(self.options.silence_max, &mut self.after).await {
                Ok(Item::Comment(_)) => Ok(FeedItem::Keepalive),
                Ok(Item::Event(event)) => {
                    self.reconnecting.reset();
                    Ok(FeedItem::Event(event))
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
        let path = if self.after.is_some() { &self.paths.resumed } else { &self.paths.first };
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(self.client.target(path)?)
            .header(header::ACCEPT, "text/event-stream")
            .header(header::CACHE_CONTROL, "no-store");
        for (name, value) in self.client.credentials()? {
            request = request.header(name, value);
        }
        // An empty id counts as none (WHATWG HTML, 9.2.6).
        if let Some(after) = self.after.as_ref().filter(|after| !after.is_empty()) {
            let value = HeaderValue::from_str(after)
                .map_err(|_| Error::Invalid(format!("`{after}` is not the id of an event")))?;
            request = request.header("last-event-id", value);
        }
        let request = request.body(Full::default()).map_err(|e| Error::Invalid(e.to_string()))?;
        let response = self.client.open(request).await?;
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return Err(Error::Unreadable(format!("no event stream at {path}, but `{kind}`")));
        }
        Ok(response.into_body())
    }

    fn lost(&mut self, reason: String, retry_in: Duration) -> FeedItem {
        self.state = State::Due(Instant::now() + retry_in);
        FeedItem::Lost { reason, retry_in }
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
