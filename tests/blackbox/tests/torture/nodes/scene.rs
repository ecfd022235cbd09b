//! Who uses the nodes while they break: agents that write, one that reads on, and one that is blocked.
//! Must not know: what breaks.

use std::{
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
    chance::Chance,
    faults::Fault,
    machines::{BACK_MAX, Machines, OPERATOR},
    place::COUNT,
};

/// Agents that write.
const WRITERS: usize = 6;
/// One try takes at most this long; then the agent goes to the next node.
const TRY_MAX: Duration = Duration::from_secs(4);
/// So many messages of each writer are acknowledged before something breaks, and again when it is mended.
const BETWEEN: usize = 8;
/// Events of a page.
pub(super) const PAGE: usize = 200;

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
    /// Answers of nodes that found their file damaged.
    pub(super) damaged: usize,
    /// What chance hit, and what the operator replaced.
    pub(super) hit: Vec<String>,
    pub(super) replaced: Vec<String>,
}

/// Somebody with a token, at a node, and at the next if that one does not answer.
#[derive(Debug, Clone)]
pub(super) struct Client {
    nodes: Vec<SocketAddr>,
    at: usize,
    token: String,
    pub(super) handle: String,
    /// How often a node answered that its file is damaged.
    damaged: Arc<AtomicUsize>,
}

impl Client {
    fn headers(&self) -> String {
        format!("Bearer {}", self.token)
    }

    pub(super) fn damaged_so_far(&self) -> usize {
        self.damaged.load(Ordering::SeqCst)
    }

    /// The same at one node alone.
    pub(super) fn only_at(&self, nth: usize) -> Self {
        Self { nodes: vec![self.nodes[nth]], at: 0, ..self.clone() }
    }

    /// One try; `None` if there was no answer, or 503 or 507; or the node found its file damaged, which the round must
    /// expect.
    pub(super) async fn tried(&mut self, method: &str, path: &str, body: Option<&Value>) -> Option<Response> {
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
            Ok(Ok(answer)) if !matches!(answer.status, 500 | 503 | 507) => Some(answer),
            answer => {
                if let Ok(Ok(answer)) = answer
                    && answer.status == 500
                {
                    answer.assert_refused(500, "corrupt");
                    self.damaged.fetch_add(1, Ordering::SeqCst);
                }
                self.at = (self.at + 1) % self.nodes.len();
                None
            }
        }
    }

    /// Until there is an answer.
    pub(super) async fn asked(&mut self, method: &str, path: &str, body: Option<&Value>) -> Response {
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
pub(super) struct Acked {
    pub(super) content: String,
    pub(super) id: Value,
    pub(super) sequence: i64,
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
    pub(super) writers: Vec<Client>,
    /// In no session.
    pub(super) stranger: Client,
    operator: Client,
    /// The sessions of all rounds, each as it was at the end of its round.
    pub(super) past: Vec<(String, Vec<Value>)>,
}

impl Scene {
    pub(super) async fn set(machines: &Machines) -> Self {
        let nodes: Vec<_> = (0..COUNT).map(|nth| machines.socket(nth)).collect();
        let (token, handle) = (OPERATOR.to_owned(), String::new());
        let operator = Client { nodes: nodes.clone(), at: 0, token, handle, damaged: Arc::default() };
        let (stranger, past) = (operator.clone(), Vec::new());
        let mut scene = Self { nodes, writers: Vec::new(), stranger, operator, past };
        scene.stranger = scene.agent("@stranger.bot", 0).await;
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
        let damaged = Arc::clone(&self.operator.damaged);
        Client { nodes: self.nodes.clone(), at: at % COUNT, token, handle: handle.to_owned(), damaged }
    }

    /// A round: agents use the nodes, something breaks and is mended, they go on, and it is looked at what is there.
    pub(super) async fn round(
        &mut self,
        machines: &mut Machines,
        (round, fault): (usize, Fault),
        mut chance: Chance,
    ) -> Figures {
        self.operator.damaged.store(0, Ordering::SeqCst);
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
        let hit = fault.strike(machines, &mut chance).await;
        self.goes_on(&shared).await;
        let blocked = blocking.await.expect("no block is outrun");
        shared.stop.store(true, Ordering::SeqCst);
        let mut acked = Vec::new();
        let mut times = Vec::new();
        for writer in writers {
            let (own, at) = writer.await.expect("a writer ends well");
            acked.push(own);
            times.extend(at);
        }
        follower.await.expect("the follower sees no hole");
        let events = self.check(machines, &shared.session, &acked, &mut chance).await;
        self.assert_silent(&shared.session, &blocked).await;
        let damaged = self.operator.damaged.load(Ordering::SeqCst);
        assert!(damaged == 0 || fault.damages_nodes(), "a file is damaged that nobody touched");
        let replaced = if fault.damages() { machines.replaces_damaged().await } else { Vec::new() };
        for nth in 0..COUNT {
            machines.is_the_journal(nth).await;
        }
        times.sort();
        let pauses = times.windows(2).map(|pair| pair[1] - pair[0]);
        Figures {
            acknowledged: acked.iter().map(Vec::len).sum(),
            unanswered: shared.unanswered.load(Ordering::SeqCst),
            longest_pause: pauses.max().unwrap_or_default(),
            blocks: blocked.refused,
            events,
            damaged,
            hit,
            replaced,
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
        let content = format!("r{round}w{nth}n{}", acked.len());
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

/// Somebody who was blocked.
#[derive(Debug)]
pub(super) struct Blocked {
    pub(super) alice: String,
    pub(super) bob: Client,
    /// How many of his invitations were refused.
    refused: usize,
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
    async fn run(self) -> Blocked {
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
        Blocked { alice, bob, refused }
    }
}
