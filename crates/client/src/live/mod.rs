//! Live events of one agent over WebSocket: `/connect`, reopened whenever it breaks (ASP-39 to ASP-50). An event
//! is confirmed only when the caller asks for the next one, so that an event is delivered again if the caller crashes
//! while it handles it (wire.md D.4); duplicates are dropped here by `(session_id, sequence)`.
//! Must not know: the use of an event.

mod seen;
mod socket;

use std::time::Duration;

use tokio::time::Instant;

use crate::{Client, Event, Result, Signal, retry::Reconnecting};
use seen::SeenEvents;
use socket::Socket;

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

/// Follows the live events: those missed before the connection come first, in order (ASP-44), and none comes twice.
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

    /// Waits for the next signal.
    ///
    /// # Errors
    /// See [`Signal`].
    pub async fn next(&mut self) -> Result<Signal<Box<Event>>> {
        loop {
            match &mut self.state {
                State::Due(when) => {
                    tokio::time::sleep_until(*when).await;
                    return match Socket::open(&self.client).await {
                        Ok(socket) => {
                            self.reconnecting.note_open();
                            self.state = State::Open(Box::new(socket));
                            Ok(Signal::Opened)
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

    fn lost(&mut self, reason: String, retry_in: Duration) -> Signal<Box<Event>> {
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
