//! Live events of one agent over WebSocket: `/connect`, opened again whenever it breaks (ASP-39 to ASP-50). An event
//! is confirmed only when the caller asks for the next one, so that an event is delivered again if the caller dies
//! while it handles it (wire.md D.4); duplicates are dropped here by `(session_id, sequence)`.
//! Must not know: the use of an event.

mod seen;
mod socket;

use std::time::Duration;

use futures_util::Stream;
use tokio::time::Instant;

use crate::{Backoff, Client, Error, Event, Result};
use seen::SeenEvents;
use socket::Socket;

/// The first wait before connecting again; kept short, for the server counts the grace (ASP-50).
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait before connecting again: well below the default grace of 30 s.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What [`Live::next`] reports.
#[derive(Debug)]
pub enum Signal {
    /// The connection stands; what was missed follows, in order, before what is new (ASP-44).
    Connected,
    /// An event, not seen before on this [`Live`].
    Event(Box<Event>),
    /// A frame that was not understood; the following goes on.
    Unreadable(Error),
    /// The connection is gone and will be made again by itself.
    Lost {
        /// Why, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// How to follow.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveOptions {
    /// Keep trying although the server was never reached; default: the first failure is the caller's.
    pub wait_for_server: bool,
}

enum State {
    Due(Instant),
    Open(Box<Socket>),
}

/// A following of the live events. Nothing runs in the background: it works while [`Live::next`] is awaited.
pub struct Live {
    client: Client,
    options: LiveOptions,
    state: State,
    reached: bool,
    backoff: Backoff,
    seen: SeenEvents,
}

impl Live {
    fn new(client: Client, options: LiveOptions) -> Self {
        Self {
            client,
            options,
            state: State::Due(Instant::now()),
            reached: false,
            backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT),
            seen: SeenEvents::default(),
        }
    }

    /// The next thing to report. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// For good: [`Error::Refused`] when the server refuses the connection (401), [`Error::Network`] when it
    /// was never reached, [`Error::Unreadable`] when there is no WebSocket.
    pub async fn next(&mut self) -> Result<Signal> {
        loop {
            match &mut self.state {
                State::Due(when) => {
                    tokio::time::sleep_until(*when).await;
                    return match Socket::open(&self.client).await {
                        Ok(socket) => {
                            self.reached = true;
                            self.state = State::Open(Box::new(socket));
                            Ok(Signal::Connected)
                        }
                        Err(error) if self.tries_again_after(&error) => Ok(self.lost(error.to_string())),
                        Err(error) => Err(error),
                    };
                }
                State::Open(socket) => match socket.next().await {
                    Ok(text) => {
                        self.backoff.reset();
                        match Event::read(&text) {
                            Err(error) => return Ok(Signal::Unreadable(error)),
                            Ok(event) if self.seen.is_new(&event) => {
                                return Ok(Signal::Event(Box::new(event)));
                            }
                            Ok(_repeat) => {}
                        }
                    }
                    Err(reason) => return Ok(self.lost(reason)),
                },
            }
        }
    }

    fn tries_again_after(&self, error: &Error) -> bool {
        let passing = match error {
            Error::Refused(refused) => refused.status >= 500 || refused.status == 429,
            Error::Network(_) => error.is_transient(),
            Error::Unreadable(_) | Error::Invalid(_) => false,
        };
        passing && (self.reached || self.options.wait_for_server)
    }

    fn lost(&mut self, reason: String) -> Signal {
        let retry_in = self.backoff.next_wait();
        self.state = State::Due(Instant::now() + retry_in);
        Signal::Lost { reason, retry_in }
    }

    /// Confirms what was delivered so far where the server has asked for it, and closes.
    pub async fn close(self) {
        if let State::Open(socket) = self.state {
            socket.close().await;
        }
    }

    /// The events alone, as a stream: a frame that was not understood is an item too, an error that is for
    /// good is the last one.
    pub fn into_stream(self) -> impl Stream<Item = Result<Event>> {
        futures_util::stream::unfold(Some(self), |live| async move {
            let mut live = live?;
            loop {
                match live.next().await {
                    Ok(Signal::Event(event)) => return Some((Ok(*event), Some(live))),
                    Ok(Signal::Connected | Signal::Lost { .. }) => {}
                    Ok(Signal::Unreadable(error)) => return Some((Err(error), Some(live))),
                    Err(error) => return Some((Err(error), None)),
                }
            }
        })
    }
}

impl Client {
    /// Follows the live events of the token's agent, over every break of the connection. Connects when first
    /// awaited.
    #[must_use]
    pub fn live(&self, options: LiveOptions) -> Live {
        Live::new(self.clone(), options)
    }
}
