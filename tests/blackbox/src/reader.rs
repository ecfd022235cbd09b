//! A reader that goes on through crashes: it reconnects, drops repeats, and demands that the numbers never jump.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::{Agent, Frame, Pongs, Socket};

/// One try to connect at most takes this long.
const TRY_MAX: Duration = Duration::from_secs(10);

/// Reads one session from its first event on.
#[derive(Debug)]
pub struct Reader {
    agent: Agent,
    session: String,
    /// The session's events so far, each number once.
    pub events: Vec<Value>,
    /// How often it had to connect.
    pub connections: usize,
}

impl Reader {
    /// A reader for a joined participant that has not connected before.
    pub fn new(agent: &Agent, session: &str) -> Self {
        Self { agent: agent.clone(), session: session.to_owned(), events: Vec::new(), connections: 0 }
    }

    /// Reads until a message with this text has come.
    pub async fn run_until(mut self, text: String) -> Self {
        loop {
            let Some(mut socket) = self.connect().await else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            self.connections += 1;
            let mut last_here = 0;
            loop {
                match socket.frame().await {
                    Frame::Event(event) if event["session_id"] == self.session.as_str() => {
                        let number = event["sequence"].as_i64().expect("a sequence");
                        assert!(number > last_here, "on one connection numbers rise: {last_here}, {event}");
                        last_here = number;
                        if self.take(event, number, &text) {
                            return self;
                        }
                    }
                    Frame::Close(_) | Frame::Gone(_) => break,
                    Frame::Event(_) | Frame::AppPong | Frame::Ping | Frame::Pong(_) | Frame::Other(_) => {}
                }
            }
        }
    }

    async fn connect(&self) -> Option<Socket> {
        let bearer = format!("Bearer {}", self.agent.token());
        let headers = [("Authorization", bearer.as_str())];
        let opened = Socket::open(self.agent.address().place(), "/connect", &headers, Pongs::Answer);
        timeout(TRY_MAX, opened).await.ok()?.ok()?.ok()
    }

    /// Whether this was the last event that is waited for.
    fn take(&mut self, event: Value, number: i64, text: &str) -> bool {
        let known = i64::try_from(self.events.len()).expect("few enough");
        if number <= known {
            let index = usize::try_from(number - 1).expect("numbers start at 1");
            assert_eq!(event, self.events[index], "a repeat is the same event");
            return false;
        }
        assert_eq!(number, known + 1, "no number is skipped, not even over a crash: {event}");
        let last = event["type"] == "session.message" && event["payload"]["content"] == text;
        self.events.push(event);
        last
    }
}
