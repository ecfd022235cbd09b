//! The pump of one connection: takes marked streams, reads them from the log after its own cursors, writes the
//! events, and requests confirmation. Catch-up and live share one path. It never queues events: unread events stay in
//! the log.

mod confirmation;
mod delivery;
mod pages;
#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    future::Future,
    pin::{Pin, pin},
};

use axum::extract::ws::{Message, Utf8Bytes};
use futures_util::{FutureExt as _, Sink, SinkExt as _, Stream, StreamExt as _};
use hashbrown::HashMap;
use plenary_accounts::{AgentCaller, INBOX};
use plenary_engine::Room as _;
use plenary_hub::{CloseReason, Connection, Marks};
use plenary_kernel::{AgentHandle, Position, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order, StreamName};
use tokio::time::{Duration, Instant, Sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Error as Broken, error::ProtocolError};

use self::{confirmation::Confirmation, delivery::ReadLimit};
use crate::{STALLED_MS_MAX, Sessions, room::SessionRoom, session_reader::ReadPosition, wire::Form};

/// Up to this distance, an agent in many sessions catches up by reading the log. Beyond it, and for all other agents,
/// the pump checks each of the agent's sessions.
const NEWS_DISTANCE_MAX: u64 = 131_072;

/// Most events per read from the shared tail or an inbox.
const TAIL_PAGE: usize = 128;
/// Most bytes that are passed to the socket before a flush.
const BURST_BYTES: usize = 64 << 10;
/// Most sessions whose read position is kept in memory; beyond it a session is read again from the version of its mark.
const READINGS_MAX: usize = 16_384;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The peer closed the connection or is unreachable.
    Disconnected,
    /// The server closes the connection with this code and reason.
    Close(u16, &'static str),
}

impl End {
    pub(crate) const SHUTDOWN: Self = Self::Close(1001, "the server is restarting; connect again");
    const REVOKED: Self = Self::Close(1008, "the token is no longer valid");
    const STALLED: Self = Self::Close(1013, "resume: connect again, nothing is lost");
    const FAULT: Self = Self::Close(1011, "events cannot be read now; connect again");
    const DAMAGED: Self = Self::Close(1011, "the stored data is damaged");
}

impl End {
    /// The end of a connection whose client breaks the protocol, so that the client can tell it from a lost network.
    fn from_protocol_error(error: axum::Error) -> Self {
        match error.into_inner().downcast_ref() {
            Some(Broken::Capacity(_)) => Self::Close(1009, "the message is too long"),
            Some(Broken::Utf8(_)) => Self::Close(1007, "the text is not UTF-8"),
            Some(Broken::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => Self::Disconnected,
            Some(Broken::Protocol(_)) => Self::Close(1002, "the frame breaks the protocol"),
            _ => Self::Disconnected,
        }
    }
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        if matches!(fault, Fault::Corrupt(_)) {
            tracing::error!(%fault, "a connection could not continue reading");
            return Self::DAMAGED;
        }
        tracing::warn!(%fault, "a connection could not continue reading");
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

pub(crate) struct Pump<'a, S> {
    sessions: &'a Sessions,
    caller: &'a AgentCaller,
    connection: &'a Connection,
    form: Form,
    socket: &'a mut S,
    readings: HashMap<StreamName, ReadPosition>,
    /// Everything for this agent up to this position has been sent.
    sent_position: Position,
    /// Bytes handed to the socket since the last flush.
    buffered: usize,
    confirmation: Confirmation,
    /// Fires when something is due, or earlier.
    alarm: Pin<Box<Sleep>>,
    /// The agents that block this agent. Events of sessions shared with one of them wait until the agent has left
    /// there.
    blockers: Vec<AgentHandle>,
    /// Those sessions, each with its first unsent version.
    held: HashMap<StreamName, Version>,
}

impl<'a, S: Socket> Pump<'a, S> {
    /// Loads the agent's cursor after the committed events have been dispatched. The connection is already registered,
    /// so every later commit marks it.
    pub(crate) async fn start(
        sessions: &'a Sessions,
        caller: &'a AgentCaller,
        connection: &'a Connection,
        form: Form,
        socket: &'a mut S,
    ) -> Result<Self, End> {
        // An accepted joining is then part of the states, and is not read after its own invitation.
        sessions.0.presence.caught_up(sessions.log().head().await?).await;
        let stored_cursor = sessions.0.cursors.take_up(&connection.handle).await?;
        let start = sessions.0.presence.start_at(connection, stored_cursor);
        let now = Instant::now();
        let confirmation =
            Confirmation { number: 0, ping: None, uncovered_since: None, newest: start, last_contact: now };
        Ok(Self {
            sessions,
            caller,
            connection,
            form,
            socket,
            readings: HashMap::new(),
            sent_position: start,
            buffered: 0,
            confirmation,
            alarm: Box::pin(sleep_until(now)),
            blockers: Vec::new(),
            held: HashMap::new(),
        })
    }

    /// Serves until the connection ends.
    pub(crate) async fn run(mut self) -> End {
        let Err(end) = self.serve().await;
        end
    }

    async fn serve(&mut self) -> Result<Infallible, End> {
        self.recheck().await?;
        self.catch_up().await?;
        let mut marks = Marks::default();
        loop {
            // First the position up to which marks are complete, then the marks: so the marks cover it.
            let dispatched_position = self.sessions.0.presence.dispatched();
            self.connection.mailbox.take_into(&mut marks);
            self.apply_orders(&mut marks).await?;
            self.deliver(marks.streams.drain(), ReadLimit::Observed, Some(dispatched_position)).await?;
            self.cover(dispatched_position);
            self.wait().await?;
        }
    }

    /// Reads everything after the cursor: the streams with news are read like marked streams.
    async fn catch_up(&mut self) -> Result<(), End> {
        let (log, start) = (self.sessions.log(), self.sent_position);
        let head = log.head().await?;
        let inbox = StreamName::new(INBOX, self.connection.handle.as_str());
        self.deliver_news(log.streams_after(&[inbox], start).await?, None).await?;
        let (sessions, handle) = (self.sessions, &self.connection.handle);
        let mut ids = sessions.page_of(handle, None).await?;
        if ids.len() == READ_ROWS_MAX && head.0.saturating_sub(start.0) <= NEWS_DISTANCE_MAX {
            let news = log.streams_between(SessionRoom::CATEGORY, start, head).await?;
            self.deliver_news(news, Some(head)).await?;
        } else {
            loop {
                let streams: Vec<_> = ids.iter().map(|id| SessionRoom::stream(id)).collect();
                // Until the last page, older events of other sessions are still to be sent.
                let is_last = ids.len() < READ_ROWS_MAX;
                self.deliver_news(log.streams_after(&streams, start).await?, is_last.then_some(head)).await?;
                if is_last {
                    break;
                }
                ids = sessions.page_of(handle, ids.last().map(String::as_str)).await?;
            }
        }
        self.cover(head);
        Ok(())
    }

    /// Notes that everything up to a position has been sent, unless events are held back.
    fn cover(&mut self, position: Position) {
        if self.held.is_empty() {
            self.sent_position = self.sent_position.max(position);
        }
    }

    async fn deliver_news(
        &mut self,
        news: Vec<plenary_log::StreamNews>,
        covered_position: Option<Position>,
    ) -> Result<(), End> {
        let news = news.into_iter().map(|news| (news.stream, news.first));
        self.deliver(news, ReadLimit::Committed, covered_position).await
    }

    /// Follows the instructions that came with the marks.
    async fn apply_orders(&mut self, marks: &mut Marks) -> Result<(), End> {
        match marks.closing {
            Some(CloseReason::Shutdown) => return Err(End::SHUTDOWN),
            Some(CloseReason::Revoked) => return Err(End::REVOKED),
            None => {}
        }
        if marks.recheck {
            self.recheck().await?;
            // What a block held back is read again.
            for (stream, first) in &self.held {
                marks.streams.entry(stream.clone()).or_insert(*first);
            }
        }
        Ok(())
    }

    /// Checks trust again at delivery: whether the token is still valid, and who blocks the agent.
    async fn recheck(&mut self) -> Result<(), End> {
        let accounts = &self.sessions.0.accounts;
        let agent = accounts.agent(&self.connection.handle).await?;
        if !agent.state.is_live() || !agent.state.accepts_token(&self.caller.token) {
            return Err(End::REVOKED);
        }
        self.blockers = accounts
            .blockers(&self.connection.handle)
            .await?
            .into_iter()
            .map(|(blocker, _)| blocker)
            .collect();
        Ok(())
    }

    /// Passes an event to the socket, and flushes a full burst.
    async fn feed(&mut self, text: Utf8Bytes, position: Position) -> Result<(), End> {
        self.buffered += text.len();
        self.confirmation.newest = self.confirmation.newest.max(position);
        in_time(self.socket.feed(Message::Text(text))).await?;
        if self.confirmation.uncovered_since.is_none() {
            self.confirmation.uncovered_since = Some(Instant::now());
            self.sessions.0.presence.owe(self.connection);
        }
        if self.buffered >= BURST_BYTES { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), End> {
        self.buffered = 0;
        in_time(self.socket.flush()).await
    }

    /// Between two pages of a long read: reads from the peer, requests confirmation, follows instructions.
    async fn serve_between_pages(&mut self) -> Result<(), End> {
        while let Some(received) = self.socket.next().now_or_never() {
            self.handle_message(received).await?;
        }
        if self.next_deadline() <= Instant::now() {
            self.tick().await?;
        }
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), End> {
        let deadline = self.next_deadline();
        // The due time mostly moves later, so the alarm is reset only to an earlier time or after it has fired.
        if deadline < self.alarm.deadline() || self.alarm.is_elapsed() {
            self.alarm.as_mut().reset(deadline);
        }
        tokio::select! {
            () = self.connection.mailbox.wait() => Ok(()),
            received = self.socket.next() => self.handle_message(received).await,
            () = &mut self.alarm => {
                if self.next_deadline() <= Instant::now() {
                    self.raise_sent_position();
                    self.tick().await
                } else {
                    Ok(())
                }
            }
        }
    }
}

impl Sessions {
    /// A page of the sessions that an agent takes or took part in.
    async fn page_of(&self, handle: &AgentHandle, after: Option<&str>) -> Result<Vec<String>, Fault> {
        self.ids_of(handle, after, Order::Ascending, READ_ROWS_MAX).await
    }
}

/// Ends the connection if the client does not accept a write in time; unconfirmed events are sent again later.
async fn in_time(write: impl Future<Output = Result<(), axum::Error>>) -> Result<(), End> {
    let mut write = pin!(write);
    // Nearly every write is done at once, and needs no timer.
    if let Some(done) = write.as_mut().now_or_never() {
        return done.map_err(|_| End::Disconnected);
    }
    match timeout(Duration::from_millis(STALLED_MS_MAX), write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Disconnected),
        Err(_) => Err(End::STALLED),
    }
}
