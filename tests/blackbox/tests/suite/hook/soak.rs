//! Coding agents with every fault that is known of them, against a model of what each has in its context: nothing is lost,
//! nothing is shown twice, the server says of no message that it was shown or seen when it was not, nor of one that was cut that a
//! model has all of it, and nobody is disturbed who does not want to be.
//!
//! `cargo xtask soak` makes it long.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use blackbox::{Caller, Cli, rounds};
use serde_json::{Value, json};

use super::{
    Coding,
    context::Program,
    delivery::{said, two},
};
use crate::context::factmodel::{Dice, Seed};

/// How a session of a coding agent goes wrong, by name.
const FAULTS: [&str; 7] = ["none", "closed", "killed", "idle", "compacting", "full", "misnamed"];
/// Sessions of the agent at a time.
const SESSIONS: usize = 3;
/// Messages that come at once, at most.
const BURST: usize = 9;
/// The same for one burst in four of a long soak: more than an answer holds.
const BACKLOG: usize = 80;
/// With more messages in no context yet, a soak sends no more: it would end with a backlog that nobody can take up.
const UNREAD_MAX: u64 = 2_000;
/// A soak that is told how many messages it sends tells its figures this often.
const FIGURES_EVERY: u64 = 10_000;
/// How long whoever was killed may be missed: the server finds out within a minute.
const WITHIN: Duration = Duration::from_secs(100);

/// A session of a stand-in, and what a real one would have before its model.
struct Session {
    name: String,
    fault: &'static str,
    program: Program,
    /// What it was handed and did not take up yet, and whether at its start.
    window: Vec<(u64, bool)>,
    events: u64,
    /// Whether it does not want to be disturbed.
    closed: bool,
}

/// What is known of every message.
#[derive(Default)]
struct Known {
    sent: u64,
    /// Where each message was sent: the session, and its sequence there.
    sent_at: Vec<(String, u64)>,
    printed: BTreeSet<u64>,
    in_context: BTreeMap<u64, u64>,
    hooks: u64,
    checked: u64,
    false_shown: Vec<String>,
    twice: Vec<String>,
    faults: BTreeMap<&'static str, u64>,
    /// Those of which no more than the beginning was printed, and those of them of which the rest was read.
    cut: BTreeSet<u64>,
    read: BTreeSet<u64>,
    disturbed: Vec<String>,
    closings: u64,
}

impl Known {
    fn takes_up(&mut self, number: u64, session: &str) {
        let times = self.in_context.entry(number).or_default();
        *times += 1;
        if *times > 1 {
            self.twice.push(format!("{number} in {session}"));
        }
    }
}

/// The numbers of the messages in a text, and which of them are cut.
fn numbers(text: &str) -> Vec<(u64, bool)> {
    let parts = text.split("message no. ").skip(1);
    let number = |part: &str| part.split('!').next()?.parse().ok();
    parts.filter_map(|part| Some((number(part)?, part.contains("cut off after")))).collect()
}

struct Soak {
    home: Cli,
    coding: Coding,
    sender: Caller,
    /// The agent itself, outside its hooks.
    agent: Caller,
    /// Whether the agent does not want to be disturbed.
    closed: bool,
    talk: String,
    /// Sessions of the network for one coding session alone, by its name.
    apart: BTreeMap<String, String>,
    dice: Dice,
    known: Known,
    open: Vec<Session>,
    begun: u64,
}

/// A session's name as the server keeps it.
fn kept(name: &str) -> String {
    name.chars().take(128).collect()
}

impl Soak {
    /// Whether the message is longer than an answer. In a long soak few are: the server knows of 512 how much was shown.
    fn is_long(&self) -> bool {
        self.known.sent.is_multiple_of(if self.known.sent < 900 { 9 } else { 300 })
    }

    async fn send(&mut self) {
        self.known.sent += 1;
        let filler = "x ".repeat(if self.is_long() { 6_000 } else { 3 });
        let body = json!({"content": format!("message no. {}! {filler}", self.known.sent)});
        let place = self.place().await;
        let sent = self.sender.post(&format!("/sessions/{place}/messages"), body).await.ok(201);
        self.known.sent_at.push((place, sent["sequence"].as_u64().expect("a sequence")));
    }

    /// Where the next message is sent: to any of the agent's sessions, or now and then to one by its name.
    async fn place(&mut self) -> String {
        if self.open.is_empty() || !self.dice.percent(15) {
            return self.talk.clone();
        }
        let name = kept(&self.open[self.dice.below(self.open.len())].name);
        let id = match self.apart.get(&name) {
            Some(id) => id.clone(),
            None => {
                let body = json!({"invite": [self.coding.handle], "topic": format!("coding session {name}")});
                let made = self.sender.post("/sessions", body).await.ok(201);
                let id = made["session_id"].as_str().expect("a session").to_owned();
                self.apart.insert(name.clone(), id.clone());
                id
            }
        };
        let body = json!({"agent": self.coding.handle, "coding_session": name, "session_id": id});
        let addressed = self.sender.post("/inbox/address", body).await;
        // One that was silent for long is not live.
        if addressed.status != 200 {
            assert_eq!(addressed.status, 409);
            return self.talk.clone();
        }
        id
    }

    /// One event of a session: what it was handed before is taken up or gone, and what is printed is handed to it.
    async fn event(&mut self, at: usize, event: &str) {
        let session = &mut self.open[at];
        session.events += 1;
        for (number, at_start) in std::mem::take(&mut session.window) {
            let is_taken_up = match event {
                "UserPromptSubmit" | "PostToolUse" | "Stop" => true,
                "SessionEnd" => !at_start,
                _ => false,
            };
            if is_taken_up {
                self.known.takes_up(number, &session.name);
            }
        }
        let mut input =
            json!({"session_id": session.name, "cwd": self.coding.directory, "hook_event_name": event});
        if session.fault == "misnamed" {
            let odd = [json!(event.to_lowercase()), json!("NoSuchEvent"), Value::Null, json!(7)];
            input["hook_event_name"] = odd[usize::try_from(session.events % 4).expect("small")].clone();
        }
        let line = format!("PLENARY_AGENT_PID={} {}", session.program.id(), self.coding.line(event));
        let ran = self.home.shell(&self.coding.directory, &line, &input.to_string()).await;
        assert!(ran.code == 0 && ran.err.is_empty(), "{event}: {ran:?}");
        self.known.hooks += 1;
        for (number, is_cut) in numbers(&ran.out) {
            if self.closed || session.closed {
                self.known.disturbed.push(format!("{number} printed for {} at {event}", session.name));
            }
            if is_cut {
                self.known.cut.insert(number);
            }
            let is_known = session.window.iter().any(|(known, _)| *known == number);
            if is_known || self.known.in_context.contains_key(&number) {
                self.known.twice.push(format!("{number} printed for {} at {event}", session.name));
            }
            session.window.push((number, event == "SessionStart"));
            self.known.printed.insert(number);
        }
    }

    async fn begin(&mut self, fault: &'static str) {
        self.begun += 1;
        *self.known.faults.entry(fault).or_default() += 1;
        let long = if fault == "misnamed" { "-".repeat(300) } else { String::new() };
        let name = format!("{}-{fault}{long}", self.begun);
        let (program, window) = (Program::begin(), Vec::new());
        self.open.push(Session { name, fault, program, window, events: 0, closed: false });
        self.event(self.open.len() - 1, "SessionStart").await;
    }

    /// What a session with this fault does next; whether it is over.
    async fn goes_on(&mut self, at: usize) -> bool {
        let work = ["UserPromptSubmit", "PostToolUse", "PostToolUse", "Stop"];
        let work = work[self.dice.below(4)];
        let strikes = self.dice.below(4) == 0;
        // Every session ends one day, or three that never do would be all that is left of a long soak.
        if strikes && self.open[at].events > 24 {
            self.event(at, "SessionEnd").await;
            return true;
        }
        match self.open[at].fault {
            "closed" => {
                self.event(at, "SessionEnd").await;
                return true;
            }
            "killed" if strikes => return true,
            "idle" => {}
            "compacting" if strikes => {
                self.event(at, "PreCompact").await;
                self.event(at, "SessionStart").await;
            }
            // The prompt no longer fits: it is summarised before a model has what the hook printed.
            "full" if strikes => {
                self.event(at, "UserPromptSubmit").await;
                self.event(at, "PreCompact").await;
                self.event(at, "SessionStart").await;
            }
            _ if strikes && self.open[at].events > 6 => {
                self.event(at, "SessionEnd").await;
                return true;
            }
            _ => self.event(at, work).await,
        }
        false
    }

    /// The agent, or one of its sessions, does not want to be disturbed any more, or again.
    async fn attend(&mut self) {
        let level = |closed: bool| if closed { "dnd" } else { "open" };
        self.known.closings += 1;
        if self.open.is_empty() || self.dice.percent(50) {
            self.closed = !self.closed;
            let body = json!({"attention": level(self.closed)});
            self.agent.patch("/agents/me", body).await.ok(200);
            return;
        }
        let at = self.dice.below(self.open.len());
        let session = &mut self.open[at];
        let body = json!({"session": kept(&session.name), "attention": level(!session.closed)});
        let set = self.agent.put("/inbox/session/attention", body).await;
        // One that was silent for long is not live.
        if set.status == 200 {
            session.closed = !session.closed;
        } else {
            assert_eq!(set.status, 409);
        }
    }

    /// The agent reads the rest of a message that was cut.
    async fn read_on(&mut self) {
        let seen = |number: &&u64| self.known.in_context.contains_key(*number);
        let unread: Vec<u64> = self.known.cut.difference(&self.known.read).filter(seen).copied().collect();
        if unread.is_empty() {
            return;
        }
        let number = unread[self.dice.below(unread.len())];
        let (place, sequence) = &self.known.sent_at[usize::try_from(number).expect("small") - 1];
        let body = json!({"session_id": place, "after_sequence": sequence - 1, "sequence": sequence});
        self.agent.post("/inbox/ack", body).await.ok(200);
        self.known.read.insert(number);
    }

    /// One step of everybody.
    async fn step(&mut self, length: &Length) {
        if self.dice.percent(4) {
            self.attend().await;
        }
        if self.dice.percent(5) {
            self.read_on().await;
        }
        let unread = self.known.sent - self.known.in_context.len() as u64;
        if unread < UNREAD_MAX && self.dice.percent(50) {
            // Some come alone, and some while others are still unread.
            for _ in 0..length.burst(&mut self.dice) {
                self.send().await;
            }
        }
        if self.open.len() < SESSIONS {
            let fault = FAULTS[usize::try_from(self.begun).expect("small") % FAULTS.len()];
            self.begin(fault).await;
        } else {
            let at = self.dice.below(SESSIONS);
            // One that idles makes room in the end.
            let is_over = self.goes_on(at).await || self.open[at].fault == "idle" && self.dice.percent(10);
            if is_over {
                self.open.swap_remove(at);
            }
        }
        if self.known.sent > 0 {
            let number = 1 + self.dice.next() % self.known.sent;
            self.check(number).await;
        }
    }

    /// What the server says of one message is true.
    async fn check(&mut self, number: u64) {
        let (place, sequence) = &self.known.sent_at[usize::try_from(number).expect("small") - 1];
        let path = format!("/sessions/{place}/messages/{sequence}/status");
        let told = self.sender.get(&path).await.ok(200);
        let state = told["recipients"][0]["state"].as_str().expect("a state").to_owned();
        self.known.checked += 1;
        let was_printed = self.known.printed.contains(&number);
        let was_seen = self.known.in_context.contains_key(&number);
        let is_whole = !self.known.cut.contains(&number) || self.known.read.contains(&number);
        let reason = &told["recipients"][0]["waiting"]["reason"];
        let (is_held, is_invited) = (reason == "dnd", reason == "not_joined");
        let is_true = match state.as_str() {
            "accepted" => !was_printed && (is_held || is_invited || !self.closed),
            // A page that went to one session left it for another.
            "delivered" => !was_printed,
            "shown" => was_printed && !is_held && !(was_seen && is_whole),
            "in_context" => was_seen && is_whole,
            _ => false,
        };
        if !is_true {
            self.known
                .false_shown
                .push(format!("{number} is {state}; printed {was_printed}, seen {was_seen}"));
        }
    }
}

impl Soak {
    /// The first of the messages that are in no context, with what the server says of each.
    async fn missing(&self) -> Vec<(u64, Value)> {
        let mut missing = Vec::new();
        for number in
            (1..=self.known.sent).filter(|number| !self.known.in_context.contains_key(number)).take(9)
        {
            let (place, sequence) = &self.known.sent_at[usize::try_from(number).expect("small") - 1];
            let path = format!("/sessions/{place}/messages/{sequence}/status");
            missing.push((number, self.sender.get(&path).await.ok(200)["recipients"].clone()));
        }
        missing
    }

    /// Prints what happened.
    #[expect(clippy::print_stderr, reason = "the figures of the soak")]
    fn tell(&self, when: &str, missing: &str) {
        let known = &self.known;
        eprintln!(
            "soak, {when}: {} messages, {} of them cut, {} hooks, {} sessions {:?}, {} changes of attention, {} states checked: \
             {} false, {} {missing}, {} twice, {} disturbed",
            known.sent,
            known.cut.len(),
            known.hooks,
            self.begun,
            known.faults,
            known.closings,
            known.checked,
            known.false_shown.len(),
            known.sent - known.in_context.len() as u64,
            known.twice.len(),
            known.disturbed.len(),
        );
    }

    /// Prints what happened, and panics where anything was lost, doubled or false.
    fn report(&self) {
        self.tell("at the end", "lost");
        let known = &self.known;
        let lost = known.sent - known.in_context.len() as u64;
        assert!(!known.cut.is_empty() || known.sent < 9, "some messages are longer than an answer");
        assert_eq!((&known.false_shown, lost, &known.twice), (&Vec::new(), 0, &Vec::new()));
        assert_eq!(known.disturbed, Vec::<String>::new());
    }
}

/// How long it goes on.
enum Length {
    Steps(usize),
    Sends(u64),
}

impl Length {
    fn choose() -> Self {
        let told = |name: &str| std::env::var(name).ok().map(|told| told.parse().expect("a number"));
        match told("PLENARY_TEST_SOAK_SENDS") {
            Some(sends) => Self::Sends(sends),
            None => Self::Steps(rounds(120, 40)),
        }
    }

    /// How many messages come at once.
    fn burst(&self, dice: &mut Dice) -> usize {
        let most = if matches!(self, Self::Sends(_)) && dice.percent(25) { BACKLOG } else { BURST };
        1 + dice.below(most)
    }

    fn is_over(&self, step: usize, sent: u64) -> bool {
        match self {
            Self::Steps(steps) => step == *steps,
            Self::Sends(sends) => sent >= *sends,
        }
    }
}

#[tokio::test]
async fn with_every_fault_nothing_is_lost_nothing_comes_twice_and_no_state_is_false() {
    let (server, home, coding, from) = two().await;
    let talk = said(&home, &from, &coding, "Soak").await;
    let join = home.run_in(&coding.directory, &["session", "join", &talk, "--as", &coding.handle]).await;
    assert_eq!(join.code, 0, "{join:?}");
    let sender = Caller::new(server.address().clone(), Some(&from.token(&home)));
    let seed = Seed::choose();
    let (known, open) = (Known::default(), Vec::new());
    let agent = Caller::new(server.address().clone(), Some(&coding.token(&home)));
    let (dice, closed) = (Dice::new(seed.0), false);
    let apart = BTreeMap::new();
    let mut soak = Soak { home, coding, sender, agent, closed, talk, apart, dice, known, open, begun: 0 };
    let length = Length::choose();
    let mut told = 0;
    for step in 0.. {
        if length.is_over(step, soak.known.sent) {
            break;
        }
        soak.step(&length).await;
        if soak.known.sent / FIGURES_EVERY > told {
            told = soak.known.sent / FIGURES_EVERY;
            soak.tell("so far", "not in a context yet");
        }
    }
    // Whoever is still there is killed, and one that works has the rest.
    soak.open.clear();
    if soak.closed {
        soak.closed = false;
        soak.agent.patch("/agents/me", json!({"attention": "open"})).await.ok(200);
    }
    soak.begin("none").await;
    soak.tell("when one session is left", "not in a context yet");
    let (mut seen, mut last) = (soak.known.in_context.len(), Instant::now());
    while (seen as u64) < soak.known.sent {
        soak.event(0, "PostToolUse").await;
        if soak.known.in_context.len() > seen {
            (seen, last) = (soak.known.in_context.len(), Instant::now());
        }
        assert!(last.elapsed() < WITHIN, "nobody takes these up: {:?}", soak.missing().await);
    }
    for number in 1..=soak.known.sent {
        soak.check(number).await;
    }
    soak.report();
}
