//! Senders that go on through crashes: each message has a key and is sent again until it is acknowledged.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::{Agent, Connection, check::assert_gapless};

/// One try at most takes this long; then it is "unknown" and the same key is used again.
const TRY_MAX: Duration = Duration::from_secs(10);

/// A message that the server has acknowledged.
#[derive(Debug, Clone)]
pub struct AckedMessage {
    /// The text, unique in the run.
    pub content: String,
    /// The id of the answer.
    pub message_id: String,
    /// The sequence of the answer.
    pub sequence: i64,
}

/// Sends numbered messages into one session, one after the other.
#[derive(Debug)]
pub struct Sender {
    agent: Agent,
    session: String,
    name: String,
    connection: Option<Connection>,
    next: usize,
    /// Everything acknowledged so far, in the order of sending.
    pub acked: Vec<AckedMessage>,
    /// How many sends needed more than one try.
    pub retried: usize,
}

impl Sender {
    /// A sender whose messages read `name-0`, `name-1`, …
    pub fn new(agent: &Agent, session: &str, name: &str) -> Self {
        Self {
            agent: agent.clone(),
            session: session.to_owned(),
            name: name.to_owned(),
            connection: None,
            next: 0,
            acked: Vec::new(),
            retried: 0,
        }
    }

    /// Sends until `stop` turns true; what is under way then is still brought to its acknowledgement.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) -> Self {
        while !*stop.borrow_and_update() {
            self.send_one().await;
        }
        self
    }

    /// Sends so many messages.
    pub async fn run_count(mut self, count: usize) -> Self {
        for _ in 0..count {
            self.send_one().await;
        }
        self
    }

    async fn send_one(&mut self) {
        let content = format!("{}-{}", self.name, self.next);
        self.next += 1;
        let body = json!({ "content": content, "idempotency_key": format!("key-{content}") });
        let path = format!("/sessions/{}/messages", self.session);
        let request = self.agent.request("POST", &path, &[], Some(body.to_string().as_bytes()));
        let mut tries = 0;
        loop {
            tries += 1;
            if let Ok(Ok(answer)) = timeout(TRY_MAX, self.attempt(&request)).await {
                self.retried += usize::from(tries > 1);
                self.acked.push(acked(content, &answer));
                return;
            }
            self.connection = None;
            // The server is down or going down: let it come back without spinning.
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(tries < 6_000, "{content} is never acknowledged");
        }
    }

    async fn attempt(&mut self, request: &[u8]) -> std::io::Result<Value> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.agent.address().place()).await?,
        };
        let response = connection.round_trip(request).await?;
        match response.status {
            201 => {
                if response.header("connection") != Some("close") {
                    self.connection = Some(connection);
                }
                Ok(response.json())
            }
            // "Not now" and "unknown" are answers of a server that is stopping.
            503 => Err(std::io::Error::other("not now")),
            _ => panic!("an unexpected refusal: {response}"),
        }
    }
}

fn acked(content: String, answer: &Value) -> AckedMessage {
    let message_id = answer["message_id"].as_str().expect("the answer has message_id").to_owned();
    AckedMessage {
        content,
        message_id,
        sequence: answer["sequence"].as_i64().expect("the answer has sequence"),
    }
}

/// Durable, gapless, ordered, idempotent: every acknowledged message stands in the log exactly once, under the
/// sequence and id of its answer, each sender's in its own order, and the log has no gap and no unknown text.
pub fn check_log(log: &[Value], senders: &[Sender]) {
    assert_gapless(log, 1);
    let mut found: HashMap<&str, Vec<&Value>> = HashMap::new();
    for event in log.iter().filter(|event| event["type"] == "session.message") {
        found.entry(event["payload"]["content"].as_str().expect("text")).or_default().push(event);
    }
    for sender in senders {
        let mut before = 0;
        for acked in &sender.acked {
            let events = found.remove(acked.content.as_str()).unwrap_or_default();
            assert_eq!(events.len(), 1, "{} was acknowledged and stands once in the log", acked.content);
            assert_eq!(events[0]["sequence"], acked.sequence, "{acked:?}");
            assert_eq!(events[0]["payload"]["id"], acked.message_id.as_str(), "{acked:?}");
            assert!(acked.sequence > before, "one sender's messages stay in order: {acked:?}");
            before = acked.sequence;
        }
    }
    found.retain(|content, _| senders.iter().any(|sender| content.starts_with(&format!("{}-", sender.name))));
    assert!(found.is_empty(), "messages that nobody was told of: {:?}", found.keys());
}
