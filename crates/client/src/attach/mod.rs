//! An agent that attaches itself: its WebSocket at `/agent/{owner}.{name}/attach`, which is opened again after each
//! failure.
//! Must not know: the content of frames, or their effects.

mod socket;
#[cfg(test)]
mod tests;

use std::time::Duration;

use plenary_kernel::AgentHandle;
use tokio::time::Instant;

use crate::{Backoff, Client, Error, Result, client::segment};
use socket::{ConnectionEnd, Socket, SocketItem};

/// The first wait before attaching again.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest: below the time for which a run waits for an instance unless it is said.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What [`Attachment::next`] reports.
#[derive(Debug)]
pub enum Signal {
    /// The connection stands: requests come over it.
    Attached,
    /// A text frame.
    Frame(String),
    /// What was put is on its way: there is room again.
    Sent,
    /// The agent was let go: the connection is closed for good. Awaited again, it would be made anew.
    LetGo {
        /// What the server says of it.
        reason: String,
    },
    /// The connection is gone, and what was put and not sent with it; it will be made again by itself.
    Lost {
        /// Why, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// How to attach, and what is told of the agent.
#[derive(Debug, Clone, Default)]
pub struct AttachOptions {
    /// What the agent is for, one line.
    pub purpose: Option<String>,
    /// Its tools, for information.
    pub tools: Vec<String>,
    /// Keep trying although the server was never reached; default: the first failure is the caller's.
    pub wait_for_server: bool,
}

enum State {
    Due(Instant),
    Open(Box<Socket>, Instant),
}

/// An agent's attachment. Nothing runs in the background: it works while [`Attachment::next`] is awaited.
pub struct Attachment {
    client: Client,
    path: String,
    wait_for_server: bool,
    state: State,
    reached: bool,
    backoff: Backoff,
}

impl Attachment {
    /// The next thing to report. Meanwhile what was put goes out. May be dropped and called again without losing
    /// anything.
    ///
    /// # Errors
    /// For good: [`Error::Refused`] when the server refuses the connection and not just for now, [`Error::Network`]
    /// when it was never reached, [`Error::Unreadable`] when there is no WebSocket.
    pub async fn next(&mut self) -> Result<Signal> {
        match &mut self.state {
            State::Due(when) => {
                tokio::time::sleep_until(*when).await;
                match Socket::open(&self.client, &self.path).await {
                    Ok(socket) => {
                        self.reached = true;
                        self.state = State::Open(Box::new(socket), Instant::now());
                        Ok(Signal::Attached)
                    }
                    Err(error) if self.tries_again_after(&error) => {
                        Ok(self.lost(error.to_string(), error.retry_after().unwrap_or_default()))
                    }
                    Err(error) => Err(error),
                }
            }
            State::Open(socket, since) => match socket.next().await {
                Ok(SocketItem::Sent) => Ok(Signal::Sent),
                Ok(SocketItem::Frame(frame)) => {
                    self.backoff.reset();
                    Ok(Signal::Frame(frame))
                }
                Err(ConnectionEnd { reason, is_let_go: true }) => {
                    self.state = State::Due(Instant::now());
                    Ok(Signal::LetGo { reason })
                }
                Err(ConnectionEnd { reason, is_let_go: false }) => {
                    if since.elapsed() > LONGEST_WAIT {
                        self.backoff.reset();
                    }
                    Ok(self.lost(reason, Duration::ZERO))
                }
            },
        }
    }

    /// Whether the connection stands and takes a frame now.
    #[must_use]
    pub fn has_room(&self) -> bool {
        matches!(&self.state, State::Open(socket, _) if socket.has_room())
    }

    /// Puts a frame, to be sent while [`Attachment::next`] or [`Attachment::close`] is awaited. Where there is no room
    /// for it, it is lost.
    pub fn put(&mut self, frame: String) {
        if let State::Open(socket, _) = &mut self.state {
            socket.put(frame);
        }
    }

    /// Sends what was put, says good-bye and waits a moment for the answer.
    pub async fn close(self) {
        if let State::Open(socket, _) = self.state {
            socket.close().await;
        }
    }

    fn tries_again_after(&self, error: &Error) -> bool {
        match error {
            Error::Refused(refused) => {
                refused.status >= 500 && refused.status != 501 || refused.status == 429
            }
            Error::Network(_) => error.is_transient() && (self.reached || self.wait_for_server),
            Error::Unreadable(_) | Error::Invalid(_) => false,
        }
    }

    fn lost(&mut self, reason: String, at_least: Duration) -> Signal {
        let retry_in = self.backoff.next_wait().max(at_least.min(LONGEST_WAIT));
        self.state = State::Due(Instant::now() + retry_in);
        Signal::Lost { reason, retry_in }
    }
}

impl Client {
    /// Attaches as an instance of an agent, with the token of the agent itself, over every break of the connection.
    /// Connects when first awaited.
    #[must_use]
    pub fn attach(&self, agent: &AgentHandle, options: &AttachOptions) -> Attachment {
        Attachment {
            client: self.clone(),
            path: path(agent, options),
            wait_for_server: options.wait_for_server,
            state: State::Due(Instant::now()),
            reached: false,
            backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT),
        }
    }
}

fn path(agent: &AgentHandle, options: &AttachOptions) -> String {
    let mut path = format!("/agent/{}/attach", segment(agent.as_str().trim_start_matches('@')));
    let purpose = options.purpose.iter().map(|purpose| ("purpose", purpose));
    let told = purpose.chain(options.tools.iter().map(|tool| ("tool", tool)));
    for (nth, (name, value)) in told.enumerate() {
        path.push(if nth == 0 { '?' } else { '&' });
        path.push_str(&format!("{name}={}", segment(value)));
    }
    path
}
