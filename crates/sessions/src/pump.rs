//! The pump of one connection: takes what was marked, reads it from the log behind its own cursors, writes it,
//! and asks for confirmation. Catch-up and live are the same path. It never queues events: what the client does
//! not take stays in the log.

use std::{collections::HashMap, convert::Infallible, future::Future, sync::Arc};

use axum::extract::ws::{Message, Utf8Bytes};
use bytes::Bytes;
use futures_util::{FutureExt as _, Sink, SinkExt as _, Stream, StreamExt as _};
use plenary_accounts::{AgentCaller, INBOX};
use plenary_engine::Room;
use plenary_hub::{Closing, Connection, Marks, Row};
use plenary_kernel::{AgentHandle, Position, SessionId, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order, PageSize, StreamName};
use tokio::time::{Duration, Instant, sleep_until, timeout};

use crate::{
    CONFIRM_MS, KEEPALIVE_MS, PONG_MS_MAX, STALLED_MS_MAX, Sessions,
    reading::{Reading, Step},
    room::{BY_AGENT, SessionRoom},
    state::SessionState,
    wire::{Encoded, Form},
};

/// Most events that are taken from the shared tail, or from an inbox, at a time.
const TAIL_PAGE: usize = 128;
/// Most octets that are handed to the socket before it is flushed.
const BURST_OCTETS: usize = 64 << 10;
/// Up to this distance the log is read for news; beyond it, the agent's sessions are looked through.
const NEWS_DISTANCE_MAX: u64 = 16_384;
/// Most sessions whose place is kept in memory; past it they are taken up again where they were marked.
const READINGS_MAX: usize = 16_384;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The peer is gone, or went.
    Gone,
    /// The server closes, with code and reason.
    Close(u16, &'static str),
}

impl End {
    pub(crate) const SHUTDOWN: Self = Self::Close(1012, "the server restarts; connect again");
    const REVOKED: Self = Self::Close(1008, "the token is not valid any more");
    const STALLED: Self = Self::Close(1013, "resume: connect again, nothing is lost");
    const FAULT: Self = Self::Close(1011, "events can't be read now; connect again");
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        tracing::warn!(%fault, "a connection could not read on");
        Self::FAULT
    }
}

/// What a pump writes to and reads from.
pub(crate) trait Socket:
    Stream<Item = Result<Message, axum::Error>> + Sink<Message, Error = axum::Error> + Unpin + Send
{
}

impl<S> Socket for S where
    S: Stream<Item = Result<Message, axum::Error>> + Sink<Message, Error = axum::Error> + Unpin + Send
{
}

/// What was sent and not confirmed.
#[derive(Debug)]
struct Confirmation {
    number: u64,
    /// The ping under way: the position that its pong confirms, and when it went out.
    ping: Option<(Position, Instant)>,
    /// Since when there is something that no ping covers yet.
    uncovered: Option<Instant>,
    /// When the peer was last heard or pinged.
    last: Instant,
}

pub(crate) struct Pump<'a, S> {
    sessions: &'a Sessions,
    caller: &'a AgentCaller,
    connection: &'a Connection,
    form: Form,
    socket: &'a mut S,
    readings: HashMap<StreamName, Reading>,
    /// Everything for this agent up to here has been sent.
    sent: Position,
    /// Octets handed to the socket since the last flush.
    buffered: usize,
    confirmation: Confirmation,
    /// Who blocks the agent; whatever it shares with one of them waits until it has left there.
    blockers: Vec<AgentHandle>,
}

impl<'a, S: Socket> Pump<'a, S> {
    /// Takes up the agent's cursor. The connection is registered already, so nothing that is committed from now
    /// on goes unmarked.
    pub(crate) async fn start(
        sessions: &'a Sessions,
        caller: &'a AgentCaller,
        connection: &'a Connection,
        form: Form,
        socket: &'a mut S,
    ) -> Result<Self, End> {
        let stored = sessions.0.cursors.take_up(&connection.handle).await?;
        let start = sessions.0.presence.start_at(connection, stored);
        let last = Instant::now();
        let confirmation = Confirmation { number: 0, ping: None, uncovered: None, last };
        Ok(Self {
            sessions,
            caller,
            connection,
            form,
            socket,
            readings: HashMap::new(),
            sent: start,
            buffered: 0,
            confirmation,
            blockers: Vec::new(),
        })
    }

    /// Serves until the connection ends.
    pub(crate) async fn run(mut self) -> End {
        match self.serve().await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn serve(&mut self) -> Result<Infallible, End> {
        self.recheck().await?;
        self.catch_up().await?;
        loop {
            // First how far everyone has been marked, then the marks: so they cover it.
            let through = self.sessions.0.presence.dispatched();
            let marks = self.connection.mailbox.take();
            self.obey(&marks).await?;
            self.deliver(marks.streams).await?;
            self.sent = self.sent.max(through);
            self.wait().await?;
        }
    }

    /// Everything past the cursor: streams with news, read like any other marks.
    async fn catch_up(&mut self) -> Result<(), End> {
        let (log, start) = (self.sessions.log(), self.sent);
        let head = log.head().await?;
        let inbox = StreamName::new(INBOX, self.connection.handle.as_str());
        self.take_up(log.streams_after(&[inbox], start).await?).await?;
        if head.0.saturating_sub(start.0) <= NEWS_DISTANCE_MAX {
            let news = log.streams_between(SessionRoom::CATEGORY, start, head).await?;
            self.take_up(news).await?;
        } else {
            let mut after = None;
            loop {
                let page = self.sessions.ids(
                    BY_AGENT,
                    &self.connection.handle,
                    after.as_deref(),
                    Order::Ascending,
                    READ_ROWS_MAX,
                );
                let ids = page.await?;
                let streams: Vec<_> = ids.iter().map(|id| SessionRoom::stream(id)).collect();
                self.take_up(log.streams_after(&streams, start).await?).await?;
                if ids.len() < READ_ROWS_MAX {
                    break;
                }
                after = ids.into_iter().next_back();
            }
        }
        self.sent = self.sent.max(head);
        Ok(())
    }

    async fn take_up(&mut self, news: Vec<plenary_log::StreamNews>) -> Result<(), End> {
        self.deliver(news.into_iter().map(|news| (news.stream, news.first)).collect()).await
    }

    /// Orders that came with the marks.
    async fn obey(&mut self, marks: &Marks) -> Result<(), End> {
        match marks.closing {
            Some(Closing::Shutdown) => return Err(End::SHUTDOWN),
            Some(Closing::Revoked) => return Err(End::REVOKED),
            None => {}
        }
        if marks.recheck { self.recheck().await } else { Ok(()) }
    }

    /// Trust again, at delivery: is the token still good, and who blocks the agent?
    async fn recheck(&mut self) -> Result<(), End> {
        let accounts = &self.sessions.0.accounts;
        let me = accounts.agent(&self.connection.handle).await?;
        if !me.state.is_live() || !me.state.accepts_token(&self.caller.token) {
            return Err(End::REVOKED);
        }
        self.blockers =
            accounts.blockers(&self.connection.handle).await?.into_iter().map(|(by, _)| by).collect();
        Ok(())
    }

    async fn deliver(&mut self, marks: HashMap<StreamName, Version>) -> Result<(), End> {
        let mut left = marks.len();
        let mut shown = false;
        for (stream, first) in marks {
            left -= 1;
            shown |= if stream.category() == INBOX {
                self.read_inbox(&stream, first).await?
            } else {
                self.read_session(&stream, first, left == 0).await?
            };
        }
        if shown {
            self.flush().await?;
        }
        Ok(())
    }

    /// Reads one session to its end; whether anything was shown. `last` says that no other stream of this round
    /// is behind, so that what is sent here is sent for good.
    async fn read_session(&mut self, stream: &StreamName, first: Version, last: bool) -> Result<bool, End> {
        let Ok(id) = stream.id().parse::<SessionId>() else { return Ok(false) };
        let streams = &self.sessions.0.streams;
        let (mut shown, mut page) = (false, PageSize::default());
        loop {
            let (state, committed) = streams.committed(stream.id()).await?;
            let Some(participant) = state.participant(&self.connection.handle) else { return Ok(shown) };
            if participant.is_present() && self.blockers.iter().any(|by| is_present(&state, by)) {
                return Ok(shown);
            }
            let mut reading = match self.readings.get(stream) {
                Some(reading) => *reading,
                None => Reading::start(participant, Version(first.0.saturating_sub(1)), committed),
            };
            let Some(next) = reading.next(participant).filter(|next| *next <= committed) else {
                return Ok(shown);
            };
            let rows = self.sessions.rows(stream, reading.skip_to(next), &mut page).await?;
            let topic = state.created.as_ref().and_then(|created| created.topic.as_deref());
            for row in &rows {
                match reading.pass(participant, row.event.version) {
                    Step::Skip => {}
                    Step::Restart => break,
                    Step::Show => {
                        let text = self.sessions.text(&id, topic, stream, row, self.form).await?;
                        self.feed(text).await?;
                        shown = true;
                    }
                }
                if last {
                    self.sent = self.sent.max(row.event.position);
                }
            }
            self.keep(stream, reading);
            if rows.is_empty() {
                return Ok(shown);
            }
            self.breathe().await?;
        }
    }

    fn keep(&mut self, stream: &StreamName, reading: Reading) {
        if self.readings.len() >= READINGS_MAX && !self.readings.contains_key(stream) {
            self.readings.clear();
        }
        self.readings.insert(stream.clone(), reading);
    }

    async fn read_inbox(&mut self, stream: &StreamName, first: Version) -> Result<bool, End> {
        let mut cursor = match self.readings.get(stream) {
            Some(reading) => reading.cursor(),
            None => Version(first.0.saturating_sub(1)),
        };
        let mut shown = false;
        loop {
            let events = self.sessions.log().read_stream(stream, cursor, TAIL_PAGE).await?;
            let Some(last) = events.last() else { return Ok(shown) };
            cursor = last.version;
            for event in &events {
                let text = Utf8Bytes::try_from(plenary_accounts::notice(event)?)
                    .map_err(|error| Fault::Corrupt(error.to_string()))?;
                self.feed(text).await?;
                shown = true;
            }
            self.keep(stream, Reading::at(cursor));
        }
    }

    /// Hands an event to the socket; a full burst is flushed.
    async fn feed(&mut self, text: Utf8Bytes) -> Result<(), End> {
        self.buffered += text.len();
        in_time(self.socket.feed(Message::Text(text))).await?;
        if self.confirmation.uncovered.is_none() {
            self.confirmation.uncovered = Some(Instant::now());
            self.sessions.0.presence.owe(self.connection);
        }
        if self.buffered >= BURST_OCTETS { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), End> {
        self.buffered = 0;
        in_time(self.socket.flush()).await
    }

    /// Between two pages of a long reading: hears the peer, asks for confirmation, obeys.
    async fn breathe(&mut self) -> Result<(), End> {
        while let Some(heard) = self.socket.next().now_or_never() {
            self.hear(heard).await?;
        }
        if self.due() <= Instant::now() {
            self.tick().await?;
        }
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), End> {
        let due = self.due();
        tokio::select! {
            () = self.connection.mailbox.woken() => Ok(()),
            heard = self.socket.next() => self.hear(heard).await,
            () = sleep_until(due) => self.tick().await,
        }
    }

    async fn hear(&mut self, heard: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        let Some(Ok(message)) = heard else { return Err(End::Gone) };
        self.confirmation.last = Instant::now();
        match message {
            Message::Pong(payload) => self.confirmed(&payload),
            Message::Text(text) if is_ping(&text) => {
                in_time(self.socket.send(Message::text(r#"{"type":"pong"}"#))).await?;
            }
            // Anything else is ignored and never closes the socket (wire.md 2.2).
            Message::Text(_) | Message::Binary(_) | Message::Ping(_) => {}
            // The answer goes out while the peer's end is awaited.
            Message::Close(_) => {
                let _ = timeout(Duration::from_secs(1), self.socket.next()).await;
                return Err(End::Gone);
            }
        }
        Ok(())
    }

    /// When something has to be done even if nothing happens.
    fn due(&self) -> Instant {
        let Confirmation { ping, uncovered, last, .. } = &self.confirmation;
        match (ping, uncovered) {
            (Some((_, since)), _) => *since + Duration::from_millis(PONG_MS_MAX),
            (None, Some(since)) => *since + Duration::from_millis(CONFIRM_MS),
            (None, None) => *last + Duration::from_millis(KEEPALIVE_MS),
        }
    }

    /// The client's stack answers a ping only after it has taken everything before it (wire.md D.4).
    async fn tick(&mut self) -> Result<(), End> {
        if self.confirmation.ping.is_some() {
            return Err(End::Close(1008, "no pong came"));
        }
        self.confirmation.number += 1;
        let payload = Bytes::from(self.confirmation.number.to_string());
        in_time(self.socket.send(Message::Ping(payload))).await?;
        let now = Instant::now();
        self.confirmation.ping = Some((self.sent, now));
        self.confirmation.uncovered = None;
        self.confirmation.last = now;
        Ok(())
    }

    fn confirmed(&mut self, payload: &[u8]) {
        if payload != self.confirmation.number.to_string().as_bytes() {
            return;
        }
        let Some((position, _)) = self.confirmation.ping.take() else { return };
        let presence = &self.sessions.0.presence;
        presence.confirm(self.connection, position, self.confirmation.uncovered.is_some());
        if let Some(cursor) = presence.cursor(&self.connection.handle) {
            self.sessions.0.cursors.moved(&self.connection.handle, cursor, true);
        }
    }
}

impl Sessions {
    /// Committed events behind a version: from the shared tail, else from the store.
    async fn rows(
        &self,
        stream: &StreamName,
        after: Version,
        page: &mut PageSize,
    ) -> Result<Vec<Arc<Row<Encoded>>>, Fault> {
        if let Some(rows) = self.0.tail.read(stream, after, TAIL_PAGE) {
            return Ok(rows);
        }
        let stored = self.log().read_stream(stream, after, page.events()).await?;
        page.learn(&stored);
        Ok(stored.into_iter().map(|event| Arc::new(Row::from(event))).collect())
    }

    /// The wire form of an event, written once for all who read it from the tail.
    async fn text(
        &self,
        id: &SessionId,
        topic: Option<&str>,
        stream: &StreamName,
        row: &Row<Encoded>,
        form: Form,
    ) -> Result<Utf8Bytes, Fault> {
        match row.encoded.get(form) {
            Some(text) => Ok(text),
            None => Ok(row.encoded.set(form, self.write(id, topic, stream, &row.event, form).await?)),
        }
    }
}

fn is_present(state: &SessionState, handle: &AgentHandle) -> bool {
    state.participant(handle).is_some_and(crate::state::Participant::is_present)
}

/// `{"type":"ping"}`, whatever else it holds.
fn is_ping(text: &str) -> bool {
    text.len() <= 1_024
        && serde_json::from_str::<serde_json::Value>(text)
            .is_ok_and(|value| value.get("type").and_then(|kind| kind.as_str()) == Some("ping"))
}

/// A write that the client does not take in time ends the connection; what it held comes again.
async fn in_time(write: impl Future<Output = Result<(), axum::Error>>) -> Result<(), End> {
    match timeout(Duration::from_millis(STALLED_MS_MAX), write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Gone),
        Err(_) => Err(End::STALLED),
    }
}
