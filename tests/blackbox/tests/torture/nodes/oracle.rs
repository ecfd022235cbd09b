//! What must hold of what the agents were told, at the end of a round and of all rounds.
//! Must not know: what broke.

use std::collections::{BTreeSet, HashMap};

use blackbox::{assert_gapless, eventually_within};
use serde_json::{Value, json};

use super::{
    chance::Chance,
    machines::{BACK_MAX, Machines, Program},
    place::COUNT,
    scene::{Acked, Blocked, Client, PAGE, Scene},
};

/// So many earlier sessions are looked at again in each round.
const AGAIN: usize = 3;
/// An id that names nothing.
const ABSENT: &str = "sess_01HW7AB12CDEFGHJKMNPQRSTVW";

impl Scene {
    /// What was acknowledged is there once and in order, on every node the same.
    pub(super) async fn check(
        &mut self,
        machines: &mut Machines,
        session: &str,
        acked: &[Vec<Acked>],
        chance: &mut Chance,
    ) -> usize {
        let mut first: Option<Vec<Value>> = None;
        for nth in 0..COUNT {
            let log = self.read(machines, nth, session).await;
            match &first {
                None => check_log(&log, acked),
                Some(first) => assert_eq!(&log, first, "node {nth} has what node 0 has"),
            }
            first.get_or_insert(log);
        }
        for _ in 0..AGAIN.min(self.past.len()) {
            let (session, log) = chance.pick(&self.past).clone();
            self.check_past(machines, &session, &log).await;
        }
        let log = first.unwrap_or_default();
        let events = log.len();
        self.past.push((session.to_owned(), log));
        if let Some(last) = acked.iter().filter_map(|own| own.last()).next() {
            self.is_found(&last.content).await;
        }
        events
    }

    /// Every session of every round is on every node as it was.
    pub(super) async fn check_all(&self, machines: &mut Machines) {
        for (session, log) in &self.past {
            self.check_past(machines, session, log).await;
        }
    }

    async fn check_past(&self, machines: &mut Machines, session: &str, log: &[Value]) {
        for nth in 0..COUNT {
            let now = self.read(machines, nth, session).await;
            // A participant may have lost its grace since.
            assert_eq!(&now[..log.len().min(now.len())], log, "node {nth} still has {session}");
        }
    }

    /// A session as one node has it. A node that finds its file damaged says so, and its next start builds the file again.
    async fn read(&self, machines: &mut Machines, nth: usize, session: &str) -> Vec<Value> {
        let mut reader = self.writers[0].only_at(nth);
        for _ in 0..2 {
            machines.comes_back(nth).await;
            let before = reader.damaged_so_far();
            if let Some(log) = history(&mut reader, session).await {
                return log;
            }
            if reader.damaged_so_far() > before {
                machines.kill(Program::Node, nth);
                machines.run(Program::Node, nth);
            }
        }
        eventually_within(BACK_MAX, &format!("node {nth} reads {session}"), async || {
            history(&mut reader.clone(), session).await
        })
        .await
    }

    /// Foreign and absent, blocked and absent are the same, on every node.
    pub(super) async fn assert_silent(&self, session: &str, blocked: &Blocked) {
        let (mut reads, mut invitations) = (BTreeSet::new(), BTreeSet::new());
        for nth in 0..COUNT {
            let mut stranger = self.stranger.only_at(nth);
            for id in [session, ABSENT] {
                for tail in ["", "/events"] {
                    let answer = stranger.asked("GET", &format!("/sessions/{id}{tail}"), None).await;
                    answer.assert_refused(404, "not_found");
                    reads.insert(answer.fingerprint());
                }
            }
            let mut bob = blocked.bob.only_at(nth);
            for handle in [&blocked.alice, "@nobody.bot"] {
                let body = json!({ "invite": [handle] });
                let answer = bob.asked("POST", "/sessions", Some(&body)).await;
                answer.assert_refused(404, "not_found");
                invitations.insert(answer.fingerprint());
            }
        }
        assert_eq!((reads.len(), invitations.len()), (1, 1), "{reads:?} {invitations:?}");
    }

    /// Each node's own index has a message.
    async fn is_found(&self, content: &str) {
        for nth in 0..COUNT {
            let reader = self.writers[0].only_at(nth);
            eventually_within(BACK_MAX, &format!("node {nth} finds {content}"), async || {
                let answer =
                    reader.clone().tried("GET", &format!("/search?q={content}"), None).await?.ok(200);
                answer["hits"].to_string().contains(content).then_some(())
            })
            .await;
        }
    }

    /// The nodes date what they write by clocks that differ as the test set them.
    pub(super) async fn assert_clocks(&self, machines: &Machines) {
        for nth in 0..COUNT {
            let mut writer = self.writers[0].only_at(nth);
            let opened = writer.asked("POST", "/sessions", Some(&json!({}))).await.ok(201);
            let id = opened["session_id"].as_str().expect("a session has an id").to_owned();
            let (path, body) = (format!("/sessions/{id}/messages"), json!({ "content": "what time is it" }));
            writer.asked("POST", &path, Some(&body)).await.ok(201);
            let log = history(&mut writer, &id).await.expect("it is there");
            let at = log[0]["created_at"].as_i64().expect("a time in milliseconds");
            let off_s = (at - blackbox::epoch_ms()) / 1_000 - machines.ahead_s[nth];
            assert!(off_s.abs() < 60, "the clock of node {nth} is {off_s} s off what was set");
        }
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
