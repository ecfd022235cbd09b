//! An agent that attaches itself: its WebSocket at `/agent/{owner}.{name}/attach`, which is reopened after each
//! failure.
//! Must not know: the content of frames, or their effects.

mod socket;
#[cfg(test)]
mod tests;

use std::time::Duration;

use plenary_kernel::AgentHandle;
use tokio::time::Instant;

use crate::{
    Client, Result,
    client::segment,
    query::Query,
    retry::{LONGEST_WAIT, Reconnecting},
};
use socket::{ConnectionEnd, Socket, SocketItem};

/// An item returned by [`Attachment::next`].
#[derive(Debug)]
pub enum Signal {
    /// The connection is open, and requests arrive on it.
    Attached,
    /// A text frame.
    Frame(String),
    /// The queued frame was sent: there is room for the next.
    Sent,
    /// The server dismissed the agent and closed the connection for good. Another `next` would connect again.
    Dismissed {
        /// The server's reason.
        reason: String,
    },
    /// The connection is lost, together with a queued frame that was not sent; it is reopened automatically.
    Lost {
        /// The reason, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// How to attach, and the agent's description.
#[derive(Debug, Clone, Default)]
pub struct AttachOptions {
    /// The agent's purpose, in one line.
    pub purpose: Option<String>,
    /// Its tools, shown for information.
    pub tools: Vec<String>,
    /// Keep retrying even if the server was never reached; by default the first failure is returned.
    pub wait_for_server: bool,
}

enum State {
    Due(Instant),
    Open(Box<Socket>, Instant),
}

/// An agent's attachment. There is no background task: it works only while [`Attachment::next`] is awaited.
pub struct Attachment {
    client: Client,
    path: String,
    state: State,
    reconnecting: Reconnecting,
}

impl Attachment {
    /// Waits for the next signal, and sends the queued frame meanwhile. May be dropped and called again without losing
    /// anything.
    ///
    /// # Errors
    /// Fatal errors only: [`crate::Error::Refused`] when the server refuses the connection permanently, [`Error::Network`]
    /// when it was never reached, [`crate::Error::Unreadable`] when the endpoint is not a WebSocket.
    pub async fn next(&mut self) -> Result<Signal> {
        match &mut self.state {
            State::Due(when) => {
                tokio::time::sleep_until(*when).await;
                match Socket::open(&self.client, &self.path).await {
                    Ok(socket) => {
                        self.reconnecting.note_open();
                        self.state = State::Open(Box::new(socket), Instant::now());
                        Ok(Signal::Attached)
                    }
                    Err(error) => match self.reconnecting.pause_after(&error) {
                        Some(pause) => Ok(self.lost(error.to_string(), pause)),
                        None => Err(error),
                    },
                }
            }
            State::Open(socket, since) => match socket.next().await {
                Ok(SocketItem::Sent) => Ok(Signal::Sent),
                Ok(SocketItem::Frame(frame)) => {
                    self.reconnecting.reset();
                    Ok(Signal::Frame(frame))
                }
                Err(ConnectionEnd { reason, is_dismissed: true }) => {
                    self.state = State::Due(Instant::now());
                    Ok(Signal::Dismissed { reason })
                }
                Err(ConnectionEnd { reason, is_dismissed: false }) => {
                    if since.elapsed() > LONGEST_WAIT {
                        self.reconnecting.reset();
                    }
                    let pause = self.reconnecting.pause();
                    Ok(self.lost(reason, pause))
                }
            },
        }
    }

    /// Whether the connection is open and accepts a frame now.
    pub fn has_room(&self) -> bool {
        matches!(&self.state, State::Open(socket, _) if socket.has_room())
    }

    /// Queues a frame, which is sent while [`Attachment::next`] or [`Attachment::close`] is awaited. Without room,
    /// the frame is lost.
    pub fn put(&mut self, frame: String) {
        if let State::Open(socket, _) = &mut self.state {
            socket.put(frame);
        }
    }

    /// Sends the queued frame, closes the connection, and waits briefly for the server's close.
    pub async fn close(self) {
        if let State::Open(socket, _) = self.state {
            socket.close().await;
        }
    }

    fn lost(&mut self, reason: String, retry_in: Duration) -> Signal {
        self.state = State::Due(Instant::now() + retry_in);
        Signal::Lost { reason, retry_in }
    }
}

impl Client {
    /// Attaches as an instance of an agent, with the agent's own token, and reconnects after every failure.
    /// Connects when first awaited.
    pub fn attach(&self, agent: &AgentHandle, options: &AttachOptions) -> Attachment {
        Attachment {
            client: self.clone(),
            path: path(agent, options),
            state: State::Due(Instant::now()),
            // An instance that is refused for now has time.
            reconnecting: Reconnecting::patient(options.wait_for_server),
        }
    }
}

fn path(agent: &AgentHandle, options: &AttachOptions) -> String {
    let path = format!("/agent/{}/attach", segment(agent.as_str().trim_start_matches('@')));
    let query = Query::of(path).with("purpose", options.purpose.as_ref());
    options.tools.iter().fold(query, |query, tool| query.with("tool", Some(tool))).path()
}
