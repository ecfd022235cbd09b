//! Live events of one agent over WebSocket: `/connect`, reopened whenever it breaks (ASP-39 to ASP-50). An event
//! is confirmed only when the caller asks for the next one, so that an event is delivered again if the caller crashes
//! while it handles it (wire.md D.4); duplicates are dropped here by `(session_id, sequence)`.
//! Must not know: the use of an event.

mod seen;
mod socket;

use std::time::Duration;

use tokio::time::Instant;

use crate::{Client, Error, Event, Result, retry::Reconnecting};
use seen::SeenEvents;
use socket::Socket;

/// An item returned by [`Live::next`].
#[derive(Debug)]
pub enum Signal {
    /// The connection is open; missed events follow in order, before new ones (ASP-44).
    Connected,
    /// An event that this [`Live`] has not returned before.
    Event(Box<Event>),
    /// A frame that could not be parsed; the stream continues.
    Unreadable(Error),
    /// The connection is lost; it is reopened automatically.
    Lost {
        /// The reason, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// Options for following live events.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveOptions {
    /// Keep retrying even if the server was never reached; by default the first failure is returned.
    pub wait_for_server: bool,
}

enum State {
    Due(Instant),
    Open(Box<Socket>),
}

/// Follows the live events. There is no background task: it works only while [`Live::next`] is awaited.
pub struct Live {
    client: Client,
    state: State,
    reconnecting: Reconnecting,
    seen: SeenEvents,
}

impl Live {
    fn new(client: Client, options: LiveOptions) -> Self {
        Self {
            client,
            state: State::Due(Instant::now()),
            reconnecting: Reconnecting::new(options.wait_for_server),
            seen: SeenEvents::default(),
        }
    }

    /// Waits for the next signal. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// Fatal errors only: [`Error::Refused`] when the server refuses the connection (401), [`Error::Network`] when it
    /// was never reached, [`Error::Unreadable`] when the endpoint is not a WebSocket.
    pub async fn next(&mut self) -> Result<Signal> {
        loop {
            match &mut self.state {
                State::Due(when) => {
                    tokio::time::sleep_until(*when).await;
                    return match Socket::open(&self.client).await {
                        Ok(socket) => {
                            self.reconnecting.note_open();
                            self.state = State::Open(Box::new(socket));
                            Ok(Signal::Connected)
                        }
                        Err(error) => match self.reconnecting.pause_after(&error) {
                            Some(pause) => Ok(self.lost(error.to_string(), pause)),
                            None => Err(error),
                        },
                    };
                }
                State::Open(socket) => match socket.next().await {
                    Ok(text) => {
                        self.reconnecting.reset();
                        match Event::read(&text) {
                            Err(error) => return Ok(Signal::Unreadable(error)),
                            Ok(event) if self.seen.is_new(&event) => {
                                return Ok(Signal::Event(Box::new(event)));
                            }
                            Ok(_repeat) => {}
                        }
                    }
                    Err(reason) => {
                        let pause = self.reconnecting.pause();
                        return Ok(self.lost(reason, pause));
                    }
                },
            }
        }
    }

    fn lost(&mut self, reason: String, retry_in: Duration) -> Signal {
        self.state = State::Due(Instant::now() + retry_in);
        Signal::Lost { reason, retry_in }
    }

    /// Confirms the delivered events if the server has asked for it, and closes.
    pub async fn close(self) {
        if let State::Open(socket) = self.state {
            socket.close().await;
        }
    }
}

impl Client {
    /// Follows the live events of the token's agent, and reconnects after every failure. Connects when first awaited.
    pub fn live(&self, options: LiveOptions) -> Live {
        Live::new(self.clone(), options)
    }
}
