//! Random steps over many packages, each held against the table of §5.3: AP-6, AP-7, AP-40, AP-63, AP-64, AP-74,
//! AP-83, AP-84, AP-86, AP-87. `PLENARY_TEST_SEED` repeats a walk.

use blackbox::{Agent, Response, rounds};
use serde_json::{Value, json};

use super::canonical::hash_of;
use super::factmodel::{Dice, Seed};
use super::speak::{
    assert_package, deposit, deposited, desk, latest, list, package_at, package_with, pull, texts, with,
};

const STATUSES: [&str; 4] = ["draft", "awaiting_review", "revision_requested", "complete"];
const REVIEWERS: [&str; 3] = ["none", "human", "agent"];
const PACKAGES: usize = 24;

/// A package as it was deposited, as it must be now, and the hashes of what it was before.
struct Story {
    id: String,
    first: Value,
    now: Value,
    earlier: Vec<String>,
    /// Once complete it was read by a second actor, which nothing may undo (AP-74).
    frozen: Option<String>,
}

/// The table of §5.3.
fn leads(from: &str, to: &str) -> bool {
    match from {
        "draft" | "revision_requested" => ["complete", "awaiting_review"].contains(&to),
        "awaiting_review" => ["complete", "revision_requested"].contains(&to),
        _ => false,
    }
}

impl Story {
    async fn begin(nick: &Agent, dice: &mut Dice, number: usize) -> Self {
        let id = format!("story/{number}");
        let members = json!({
            "status": dice.pick(&STATUSES), "review_type": dice.pick(&REVIEWERS), "x-number": number,
            "x-inner": {"status": "draft", "review_type": null},
        });
        let first = package_with(&nick.handle, &id, members);
        deposited(nick, &first).await;
        Self { id, now: first.clone(), first, earlier: Vec::new(), frozen: None }
    }

    fn status(&self) -> &str {
        self.now["status"].as_str().expect("a status")
    }

    /// The answer to a change that is allowed or not.
    fn went(&mut self, response: &Response, allowed: bool, change: Value) {
        if !allowed {
            return response.assert_refused(400, "invalid_transition");
        }
        self.earlier.push(hash_of(&self.now.to_string()));
        self.now = with(self.now.clone(), change);
        assert_package(response, 200, &self.now);
    }

    async fn flag(&mut self, nick: &Agent, kind: &str) {
        let path = format!("{}/flag", package_at(&self.id));
        let response = nick.post(&path, json!({"review_type": kind, "note": "n"})).await;
        let allowed = self.status() != "complete";
        self.went(&response, allowed, json!({"status": "awaiting_review", "review_type": kind}));
    }

    async fn review(&mut self, nick: &Agent, to: &str) {
        let path = format!("{}/review", package_at(&self.id));
        let response = nick.post(&path, json!({ "status": to })).await;
        if to == "draft" {
            response.assert_refused_any(400, &["invalid_transition", "invalid_schema"]);
            return;
        }
        let allowed = leads(self.status(), to);
        self.went(&response, allowed, json!({ "status": to }));
    }

    /// D.7: compared with what was first deposited; answered with the present state.
    async fn again(&self, nick: &Agent) {
        assert_package(&deposit(nick, &self.first).await, 200, &self.now);
        if self.now != self.first {
            deposit(nick, &self.now).await.assert_refused(409, "duplicate_package_id");
        }
    }

    async fn check(&mut self, nick: &Agent, second: &Agent) {
        let read = second.get(&package_at(&self.id)).await;
        assert_package(&read, 200, &self.now);
        assert_eq!(pull(nick, &self.id).await, self.now);
        if self.status() == "complete" {
            let frozen = self.frozen.get_or_insert_with(|| read.text());
            assert_eq!(*frozen, read.text(), "AP-74: not a byte changes");
        }
    }
}

/// Every step from every state, however it was reached.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_6_a_long_walk_keeps_to_the_table() {
    let seed = Seed::choose();
    let mut dice = Dice::new(seed.0);
    let (mut server, nick) = desk().await;
    let second = server.agent("@nick.second").await;
    let mut stories = Vec::new();
    for number in 0..PACKAGES {
        stories.push(Story::begin(&nick, &mut dice, number).await);
    }
    for _ in 0..rounds(600, 150) {
        let story = &mut stories[dice.below(PACKAGES)];
        match dice.below(10) {
            0..3 => story.flag(&nick, dice.pick(&REVIEWERS[1..])).await,
            3..8 => story.review(&second, dice.pick(&STATUSES)).await,
            _ => story.again(&nick).await,
        }
        story.check(&nick, &second).await;
    }
    server.crash().await;
    for story in &mut stories {
        story.check(&nick, &second).await;
        let log = nick.get(&format!("{}/reviews", package_at(&story.id))).await.ok(200).to_string();
        for hash in &story.earlier {
            assert!(log.contains(hash), "every earlier version's hash is in the log: {log}");
        }
    }
    for status in STATUSES {
        let mut found = texts(&latest(&nick, &format!("&status={status}&limit=100")).await, "package_id");
        found.sort();
        let mut wanted: Vec<_> =
            stories.iter().filter(|story| story.status() == status).map(|story| story.id.clone()).collect();
        wanted.sort();
        assert_eq!(found, wanted, "{status} (AP-87)");
    }
    let all = nick.get("/v1/projects/proj_dev_relay/packages?limit=100").await.ok(200);
    assert_eq!(list(&all, "packages").len(), PACKAGES);
}
