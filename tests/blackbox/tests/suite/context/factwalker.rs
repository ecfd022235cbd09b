//! One client of the random walk: it asserts, retracts and asks on a connection of its own, over subjects of its own,
//! and holds every answer against its model. Must not know: the other clients.

use blackbox::{Agent, Connection, PATIENCE, Response};
use serde_json::{Value, json};

use super::factmodel::{Dice, Key, Model, Question, micros, now, plain, time};
use super::speak::{enc, facts_of, list};

/// The two projects of a walk; equal names in both never meet (AP-4).
pub(super) const PROJECTS: [&str; 2] = ["proj_walk", "Projekt é/😀"];
/// AP-104: nothing is reserved, and names compare code point by code point.
const SUBJECTS: [&str; 5] = ["plain", "é", "e\u{301}", "a/b?c=d&e", " "];
const PREDICATES: [&str; 4] = ["status", "Status", "valid_to", "日本 %2F+\u{1f600}"];
const TAGS: [&str; 3] = ["a", "ä b", "a,b"];
/// Where sent times begin: 2026-01-01.
const FIRST_US: i64 = 1_767_225_600_000_000;
/// How far ahead of its clock a server that gives two facts one moment may be.
const BUMPS_US: i64 = 100_000;

/// A client, what it knows, and how it chooses.
pub(super) struct Walker {
    name: String,
    agent: Agent,
    wire: Connection,
    dice: Dice,
    pub(super) model: Model,
}

impl Walker {
    pub(super) async fn new(agent: &Agent, number: usize, dice: Dice) -> Self {
        let wire = Connection::open(agent.address().place()).await.expect("the server takes connections");
        Self { name: format!("w{number}"), agent: agent.clone(), wire, dice, model: Model::default() }
    }

    /// One request on the open connection.
    pub(super) async fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> Response {
        let text = body.map(Value::to_string);
        let request = self.agent.request(method, path, &[], text.as_deref().map(str::as_bytes));
        let answer = tokio::time::timeout(PATIENCE, self.wire.round_trip(&request)).await;
        let mut answer = answer.expect("an answer in time").expect("an answer");
        answer.request_line = format!("{} {}", answer.request_line, text.unwrap_or_default());
        answer
    }

    /// One random step.
    pub(super) async fn step(&mut self) {
        let key = self.key();
        match self.dice.below(100) {
            0..35 => self.assert_now(&key).await,
            35..55 => self.assert_at(&key).await,
            55..65 => self.retract(&key).await,
            65..75 => self.current(&key).await,
            _ => self.question(&key).await,
        }
    }

    fn key(&mut self) -> Key {
        let subject = format!("{}{}", self.name, self.dice.pick(&SUBJECTS));
        (self.dice.pick(&PROJECTS).to_owned(), subject, self.dice.pick(&PREDICATES).to_owned())
    }

    fn fact(&mut self, (project, subject, predicate): &Key) -> Value {
        let value = ["97.0", "", "é", "x".repeat(300).as_str()][self.dice.below(4)].to_owned();
        let mut body = json!({"subject": subject, "predicate": predicate, "value": value});
        if self.dice.percent(50) {
            body["confidence"] = json!([0.0, 0.25, 0.5, 1.0][self.dice.below(4)]);
        }
        if self.dice.percent(50) {
            let count = self.dice.below(TAGS.len() + 1);
            body["tags"] = json!(TAGS[..count]);
        }
        if self.dice.percent(20) {
            body["project_id"] = json!(project);
        }
        body
    }

    /// What comes back is what was sent, with its defaults (AP-44), and current (AP-47).
    fn check_made(&mut self, key: &Key, sent: &Value, made: &Value) {
        for (member, default) in [
            ("project_id", json!(key.0)),
            ("subject", json!(key.1)),
            ("predicate", json!(key.2)),
            ("tags", json!([])),
            ("confidence", json!(1.0)),
            ("value", json!(null)),
        ] {
            let wanted = sent.get(member).unwrap_or(&default);
            let same = made[member] == *wanted || made[member].as_f64() == wanted.as_f64().or(Some(f64::NAN));
            assert!(same, "{member} of {made}, sent {sent}");
        }
        assert!(made["valid_to"].is_null(), "{made}");
        self.model.add(key, made.clone());
    }

    async fn assert_now(&mut self, key: &Key) {
        let body = self.fact(key);
        let bound = self.model.bound(key);
        let before = now();
        let made = self.ask("POST", &facts_of(&key.0), Some(&body)).await.ok(201);
        let from = micros(&made["valid_from"]);
        assert!(bound.is_none_or(|bound| bound <= from), "no overlap: {made}");
        let least = before.max(bound.unwrap_or(before)) - 1_000;
        assert!((least..=now().max(least) + BUMPS_US).contains(&from), "it begins now: {made}");
        self.check_made(key, &body, &made);
    }

    /// AP-75, D.7: not in the future, not before the end of the last, not before or at the current one's beginning.
    async fn assert_at(&mut self, key: &Key) {
        let bound = self.model.bound(key);
        let present = now();
        let room = bound.unwrap_or(FIRST_US);
        let t = match self.dice.below(6) {
            0 => present + self.dice.between(60_000_000, 86_400_000_000),
            1 => room,
            2 => room - 1,
            3 => self.dice.between(FIRST_US, room),
            // Small steps, so that there is room for many.
            4 => room + self.dice.between(0, 3_600_000_000).min((present - room).max(0)),
            _ => self.dice.between(room, present.max(room)),
        };
        // Between the present here and that of the server either answer is right.
        if (present..present + 1_000_000).contains(&t) {
            return;
        }
        let mut body = self.fact(key);
        let text = time(t);
        let spelt = if self.dice.percent(30) { text.replace('Z', "+00:00") } else { text };
        body["valid_from"] = json!(spelt);
        let answer = self.ask("POST", &facts_of(&key.0), Some(&body)).await;
        if t <= present && bound.is_none_or(|bound| bound <= t) {
            let made = answer.ok(201);
            assert_eq!(micros(&made["valid_from"]), t, "{made}");
            self.check_made(key, &body, &made);
        } else {
            answer.assert_refused(400, "invalid_valid_from");
            assert_eq!(answer.json()["error"]["field"], "valid_from", "{answer}");
        }
    }

    /// AP-52, AP-66, AP-67.
    async fn retract(&mut self, key: &Key) {
        let (project, subject, predicate) = key;
        let current = self.model.current(key).cloned();
        let object = match self.dice.below(3) {
            0 => None,
            1 => Some("no such value".to_owned()),
            _ => current.as_ref().and_then(|fact| fact["value"].as_str()).map(str::to_owned),
        };
        let mut path = format!("{}?subject={}&predicate={}", facts_of(project), enc(subject), enc(predicate));
        path.extend(object.as_ref().map(|object| format!("&object={}", enc(object))));
        let before = now();
        let answer = self.ask("DELETE", &path, None).await;
        if answer.status == 404 && !self.model.lines.keys().any(|(known, _, _)| known == project) {
            return answer.assert_refused(404, "project_not_found");
        }
        let hit = current.filter(|fact| object.is_none_or(|object| fact["value"] == object));
        assert_eq!(answer.ok(200), json!({"invalidated": u8::from(hit.is_some())}), "{answer}");
        let Some(fact) = hit else { return };
        let ended = Question { include_ended: true, ..self.of_pair(key) };
        let history = self.asked(&ended).await;
        let last = history.last().expect("history is kept");
        assert_eq!(last["fact_id"], fact["fact_id"], "nothing was put in its place");
        let end = last["valid_to"].as_i64().unwrap_or_else(|| panic!("it ended: {last}"));
        let from = micros(&fact["valid_from"]);
        let least = (before - 1_000).max(from + 1);
        assert!((least..=now().max(least) + BUMPS_US).contains(&end), "it ended now: {last}");
        self.model.end(key, end);
        assert_eq!(history, self.model.answer(&ended));
    }

    fn of_pair(&self, (project, subject, predicate): &Key) -> Question {
        Question {
            project: project.clone(),
            subject: Some(subject.clone()),
            predicate: Some(predicate.clone()),
            ..Question::default()
        }
    }

    async fn current(&mut self, key: &Key) {
        let question = self.of_pair(key);
        let found = self.check(&question).await;
        assert!(found <= 1, "at most one is current (AP-47)");
    }

    /// A question about one pair or one subject: a moment, filters, the history.
    async fn question(&mut self, key: &Key) {
        let mut question = self.of_pair(key);
        if self.dice.percent(40) {
            question.predicate = None;
        }
        match self.dice.below(4) {
            0 => question.include_ended = true,
            1 => {}
            _ => question.as_of = Some(self.moment(key)),
        }
        if self.dice.percent(20) {
            question.min_confidence = Some([0.0, 0.25, 0.3, 1.0][self.dice.below(4)]);
        }
        if self.dice.percent(20) {
            question.tag = Some(self.dice.pick(&TAGS).to_owned());
        }
        self.check(&question).await;
    }

    /// A moment at, right before or right after a seam of this pair, or any.
    fn moment(&mut self, key: &Key) -> i64 {
        let line = self.model.lines.get(key).map(Vec::as_slice).unwrap_or_default();
        if line.is_empty() || self.dice.percent(20) {
            return self.dice.between(FIRST_US - 1_000_000, now() + 1_000_000);
        }
        let fact = &line[self.dice.below(line.len())];
        let seam = match fact["valid_to"].as_i64() {
            Some(end) if self.dice.percent(50) => end,
            _ => micros(&fact["valid_from"]),
        };
        seam + self.dice.between(-1, 1)
    }

    async fn check(&mut self, question: &Question) -> usize {
        if !self.model.lines.keys().any(|(project, _, _)| *project == question.project) {
            return 0;
        }
        let (found, wanted) = (self.asked(question).await, self.model.answer(question));
        assert_eq!(found, wanted, "{question:?}");
        found.len()
    }

    /// The whole answer over all its pages, in the model's form and order.
    pub(super) async fn asked(&mut self, question: &Question) -> Vec<Value> {
        let path = format!("{}?{}", facts_of(&question.project), question.query());
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.ask("GET", &format!("{path}{cursor}"), None).await.ok(200);
            found.extend(list(&page, "facts").into_iter().map(plain));
            let Some(next) = page["next_cursor"].as_str() else { break };
            assert!(found.len() >= 1_000, "a page before the last is full");
            cursor = format!("&cursor={}", enc(next));
        }
        let order = |fact: &Value| {
            let text = |name: &str| fact[name].as_str().expect("text").to_owned();
            (text("subject"), text("predicate"), micros(&fact["valid_from"]))
        };
        found.sort_by_key(order);
        found
    }
}
