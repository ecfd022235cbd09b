//! Who uses the nodes while they break: agents that write, one that reads on, and one that is blocked; and what must hold of
//! what they were told.
//! Must not know: what breaks.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use blackbox::{Connection, Response, assert_gapless, eventually_within, render, strike_after};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    faults::Fault,
    machines::{BACK_MAX, Machines, OPERATOR, Program},
    place::COUNT,
};

/// Agents that write.
const WRITERS: usize = 6;
/// One try takes at most this long; then the agent goes to the next node.
const TRY_MAX: Duration = Duration::from_secs(4);
/// So many messages of each writer are acknowledged before something breaks, and again when it is mended.
const BETWEEN: usize = 8;
/// Events of a page.
const PAGE: usize = 200;

/// What a round came to.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) acknowledged: usize,
    /// Tries that got no answer, or 503.
    pub(super) unanswered: usize,
    /// The longest time in which no agent got an acknowledgement.
    pub(super) longest_pause: Duration,
    pub(super) blocks: usize,
    pub(super) events: usize,
}

/// Somebody with a token, at a node, and at the next if that one does not answer.
#[derive(Debug, Clone)]
struct Client {
    nodes: Vec<SocketAddr>,
    at: usize,
    token: String,
    handle: String,
}

impl Client {
    fn headers(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// One try; `None` if there was no answer, or 503 or 507.
    async fn tried(&mut self, method: &str, path: &str, body: Option<&Value>) -> Option<Response> {
        let bearer = self.headers();
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let body = body.map(ToString::to_string);
        let asked = render(method, path, &headers, body.as_ref().map(String::as_bytes));
        let asking = async {
            let mut connection = Connection::open(self.nodes[self.at]).await?;
            connection.round_trip(&asked).await
        };
        match timeout(TRY_MAX, asking).await {
            // Not now, or no room here.
            Ok(Ok(answer)) if !matches!(answer.status, 503 | 507) => Some(answer),
            Ok(Ok(_) | Err(_)) | Err(_) => {
                self.at = (self.at + 1) % self.nodes.len();
                None
            }
        }
    }

    /// Until there is an answer.
    async fn asked(&mut self, method: &str, path: &str, body: Option<&Value>) -> Response {
        let begun = Instant::now();
        loop {
            if let Some(answer) = self.tried(method, path, body).await {
                return answer;
            }
            assert!(begun.elapsed() < BACK_MAX, "nobody answers {method} {path}");
            strike_after(Duration::from_millis(30)).await;
        }
    }
}

/// A message that was acknowledged.
#[derive(Debug)]
struct Acked {
    content: String,
    id: Value,
    sequence: i64,
}

/// What the agents of a round share.
#[derive(Debug)]
struct Shared {
    session: String,
    stop: AtomicBool,
    acknowledged: Vec<AtomicUsize>,
    unanswered: AtomicUsize,
}

/// The agents.
#[derive(Debug)]
pub(super) struct Scene {
    nodes: Vec<SocketAddr>,
    writers: Vec<Client>,
    operator: Client,
}

impl Scene {
    pub(super) async fn set(machines: &Machines) -> Self {
        let nodes: Vec<_> = (0..COUNT).map(|nth| machines.socket(nth)).collect();
        let (token, handle) = (OPERATOR.to_owned(), String::new());
        let operator = Client { nodes: nodes.clone(), at: 0, token, handle };
        let mut scene = Self { nodes, writers: Vec::new(), operator };
        for nth in 0..WRITERS {
            let writer = scene.agent(&format!("@writer.n{nth}"), nth).await;
            scene.writers.push(writer);
        }
        scene
    }

    async fn agent(&mut self, handle: &str, at: usize) -> Client {
        let body = json!({ "handle": handle, "policy": "open" });
        let made = self.operator.asked("POST", "/_admin/agents", Some(&body)).await.ok(201);
        let token = made["token"].as_str().expect("an agent gets a token").to_owned();
        Client { nodes: self.nodes.clone(), at: at % COUNT, token, handle: handle.to_owned() }
    }

    /// A round: agents use the nodes, something breaks and is mended, they go on, and it is looked at what is there.
    pub(super) async fn round(&mut self, machines: &mut Machines, round: usize, fault: Fault) -> Figures {
        let session = self.session().await;
        let shared = Arc::new(Shared {
            session,
            stop: AtomicBool::new(false),
            acknowledged: (0..WRITERS).map(|_| AtomicUsize::new(0)).collect(),
            unanswered: AtomicUsize::new(0),
        });
        let write = |(nth, writer): (usize, &Client)| {
            tokio::spawn(writes(writer.clone(), nth, round, Arc::clone(&shared)))
        };
        let writers: Vec<_> = self.writers.iter().enumerate().map(write).collect();
        let follower = Client { at: round % COUNT, ..self.writers[0].clone() };
        let follower = tokio::spawn(follows(follower, Arc::clone(&shared)));
        self.goes_on(&shared).await;
        let blocking = tokio::spawn(self.blocking(round).await.run());
        fault.strike(machines, round).await;
        self.goes_on(&shared).await;
        let blocks = blocking.await.expect("no block is outrun");
        shared.stop.store(true, Ordering::SeqCst);
        let mut acked = Vec::new();
        let mut times = Vec::new();
        for writer in writers {
            let (own, at) = writer.await.expect("a writer ends well");
            acked.push(own);
            times.extend(at);
        }
        follower.await.expect("the follower sees no hole");
        let events = self.check(machines, &shared, &acked).await;
        times.sort();
        let pauses = times.windows(2).map(|pair| pair[1] - pair[0]);
        Figures {
            acknowledged: acked.iter().map(Vec::len).sum(),
            unanswered: shared.unanswered.load(Ordering::SeqCst),
            longest_pause: pauses.max().unwrap_or_default(),
            blocks,
            events,
        }
    }

    async fn is_damaged(&self, nth: usize, session: &str) -> bool {
        let mut reader = Client { nodes: vec![self.nodes[nth]], at: 0, ..self.writers[0].clone() };
        let mut after = 0;
        loop {
            let path = format!("/sessions/{session}/events?after_sequence={after}&limit={PAGE}");
            let Some(answer) = reader.tried("GET", &path, None).await else { return false };
            if answer.status >= 500 {
                return true;
            }
            let read = answer.ok(200)["events"].as_array().map_or(0, Vec::len);
            if read == 0 {
                return false;
            }
            after += read;
        }
    }

    async fn session(&mut self) -> String {
        let others: Vec<_> = self.writers[1..].iter().map(|writer| json!(writer.handle)).collect();
        let opened =
            self.writers[0].asked("POST", "/sessions", Some(&json!({ "invite": others }))).await.ok(201);
        let id = opened["session_id"].as_str().expect("a session has an id").to_owned();
        for writer in &mut self.writers[1..] {
            let joined = writer.asked("POST", &format!("/sessions/{id}/join"), Some(&json!({}))).await;
            assert!(joined.status == 200 || joined.status == 409, "{joined}");
        }
        id
    }

    /// Waits until every writer has some more acknowledged.
    async fn goes_on(&self, shared: &Shared) {
        let so_far = |at: &AtomicUsize| at.load(Ordering::SeqCst);
        let before: Vec<usize> = shared.acknowledged.iter().map(so_far).collect();
        eventually_within(BACK_MAX, "every writer goes on", async || {
            let mut both = shared.acknowledged.iter().zip(&before);
            both.all(|(now, before)| so_far(now) >= before + BETWEEN).then_some(())
        })
        .await;
    }

    async fn blocking(&mut self, round: usize) -> Blocking {
        let alice = self.agent(&format!("@alice.r{round}"), round).await;
        let bob = self.agent(&format!("@bob.r{round}"), round + 1).await;
        Blocking { alice: alice.handle, bob, operator: Client { at: round % COUNT, ..self.operator.clone() } }
    }

    /// What was acknowledged is there once and in order, on every node the same, and each replica is the journal.
    async fn check(&self, machines: &mut Machines, shared: &Shared, acked: &[Vec<Acked>]) -> usize {
        let mut first: Option<Vec<Value>> = None;
        for nth in 0..COUNT {
            // A node that finds its file damaged says so once, and its next start builds the file again.
            if self.is_damaged(nth, &shared.session).await {
                machines.kill(Program::Node, nth);
                machines.run(Program::Node, nth);
                machines.serves(nth).await;
            }
            let log = eventually_within(BACK_MAX, &format!("node {nth} reads the session"), async || {
                let mut reader = Client { nodes: vec![self.nodes[nth]], at: 0, ..self.writers[0].clone() };
                history(&mut reader, &shared.session).await
            })
            .await;
            match &first {
                None => check_log(&log, acked),
                Some(first) => assert_eq!(&log, first, "node {nth} has what node 0 has"),
            }
            first.get_or_insert(log);
        }
        for nth in 0..COUNT {
            let data = machines.data(nth).display().to_string();
            eventually_within(BACK_MAX, &format!("replica {nth} is the journal"), async || {
                let (code, out, err) = machines.asked(&["verify", "--data", &data, "--json"]);
                assert!(code != 1, "node {nth}: {out}{err}");
                let verified: Value = serde_json::from_str(&out).ok()?;
                (code == 0 && verified["records"] == verified["replicated"]).then_some(())
            })
            .await;
        }
        first.map_or(0, |log| log.len())
    }
}

/// Writes until it is told to stop: what was acknowledged, and when.
async fn writes(
    mut client: Client,
    nth: usize,
    round: usize,
    shared: Arc<Shared>,
) -> (Vec<Acked>, Vec<Instant>) {
    let (mut acked, mut times) = (Vec::new(), Vec::new());
    let path = format!("/sessions/{}/messages", shared.session);
    while !shared.stop.load(Ordering::SeqCst) {
        let content = format!("r{round}-w{nth}-{}", acked.len());
        let body = json!({ "content": content, "idempotency_key": content });
        let begun = Instant::now();
        let answer = loop {
            if let Some(answer) = client.tried("POST", &path, Some(&body)).await {
                break answer.ok(201);
            }
            shared.unanswered.fetch_add(1, Ordering::SeqCst);
            assert!(begun.elapsed() < BACK_MAX, "{content} is never acknowledged");
            strike_after(Duration::from_millis(30)).await;
        };
        let sequence = answer["sequence"].as_i64().expect("a sequence");
        acked.push(Acked { content, id: answer["message_id"].clone(), sequence });
        times.push(Instant::now());
        shared.acknowledged[nth].fetch_add(1, Ordering::SeqCst);
        strike_after(Duration::from_millis(15)).await;
    }
    (acked, times)
}

/// Reads on, at whichever node answers: each page goes on where the one before it ended.
async fn follows(mut client: Client, shared: Arc<Shared>) {
    let mut last = 0;
    while !shared.stop.load(Ordering::SeqCst) {
        let path = format!("/sessions/{}/events?after_sequence={last}&limit={PAGE}", shared.session);
        if let Some(answer) = client.tried("GET", &path, None).await {
            let page = answer.ok(200);
            let events = page["events"].as_array().expect("events");
            assert_gapless(events, last + 1);
            last += i64::try_from(events.len()).expect("few");
        }
        strike_after(Duration::from_millis(40)).await;
    }
}

/// A whole session as one node reads it.
async fn history(client: &mut Client, session: &str) -> Option<Vec<Value>> {
    let mut log: Vec<Value> = Vec::new();
    loop {
        let path = format!("/sessions/{session}/events?after_sequence={}&limit={PAGE}", log.len());
        let page = client.tried("GET", &path, None).await?.ok(200);
        let events = page["events"].as_array().expect("events");
        if events.is_empty() {
            return Some(log);
        }
        log.extend(events.iter().cloned());
    }
}

fn check_log(log: &[Value], acked: &[Vec<Acked>]) {
    assert_gapless(log, 1);
    let mut found: HashMap<&str, Vec<&Value>> = HashMap::new();
    for event in log.iter().filter(|event| event["type"] == "session.message") {
        found.entry(event["payload"]["content"].as_str().expect("text")).or_default().push(event);
    }
    for own in acked {
        let mut before = 0;
        for Acked { content, id, sequence } in own {
            let events = found.remove(content.as_str()).unwrap_or_default();
            assert_eq!(events.len(), 1, "{content} was acknowledged and stands once in the log");
            assert_eq!((&events[0]["sequence"], &events[0]["payload"]["id"]), (&json!(sequence), id));
            assert!(*sequence > before, "one writer's messages stay in order: {content}");
            before = *sequence;
        }
    }
    assert!(found.is_empty(), "messages that nobody was told of: {:?}", found.keys());
}

/// Somebody who is blocked while he invites.
#[derive(Debug)]
struct Blocking {
    alice: String,
    bob: Client,
    operator: Client,
}

impl Blocking {
    /// Blocks bob while nodes break: an invitation that begins after the acknowledgement is refused, wherever. How many
    /// were.
    async fn run(self) -> usize {
        let Self { alice, bob, mut operator } = self;
        let is_blocked = Arc::new(AtomicBool::new(false));
        let inviters = (0..COUNT).map(|nth| {
            let (is_blocked, alice) = (Arc::clone(&is_blocked), alice.clone());
            let mut bob = Client { at: nth, ..bob.clone() };
            tokio::spawn(async move {
                let (mut refused, begun) = (0, Instant::now());
                while refused < BETWEEN {
                    assert!(begun.elapsed() < BACK_MAX, "nobody refuses him");
                    let must_refuse = is_blocked.load(Ordering::SeqCst);
                    let body = json!({ "invite": [alice] });
                    if let Some(answer) = bob.tried("POST", "/sessions", Some(&body)).await {
                        assert!(answer.status == 404 || !must_refuse, "a block is outrun: {answer}");
                        refused += usize::from(must_refuse);
                    }
                    strike_after(Duration::from_millis(60)).await;
                }
                refused
            })
        });
        let inviters: Vec<_> = inviters.collect();
        strike_after(Duration::from_millis(2_500)).await;
        let path = format!("/_admin/agents/{alice}/blocks");
        let blocked = operator.asked("POST", &path, Some(&json!({ "handle": bob.handle }))).await;
        assert!(blocked.status == 201 || blocked.status == 200, "{blocked}");
        is_blocked.store(true, Ordering::SeqCst);
        let mut refused = 0;
        for inviter in inviters {
            refused += inviter.await.expect("no block is outrun");
        }
        refused
    }
}
