//! How well packages are found: the conversations of `tests/conversations`, a session a package, through the real
//! server. `--nocapture` shows the table. Must not know: how anything is ranked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use blackbox::{Asked, Server};
use serde_json::json;

use super::meaning::{caught_up, found};
use super::speak::{deposited, package_with};

/// The part of the questions for which one of the first five is right; below it something broke.
const HYBRID_ANY_MIN: f64 = 0.93;
const RANKINGS: [&str; 3] = ["lexical", "semantic", "hybrid"];

struct Question {
    kind: String,
    sessions: Vec<String>,
    text: String,
}

#[derive(Default, Clone, Copy)]
struct Score {
    count: f64,
    any: f64,
    all: f64,
    reciprocal: f64,
}

impl Score {
    fn add(&mut self, wanted: &[String], found: &[String]) {
        let hits = wanted.iter().filter(|id| found.contains(id)).count();
        let first = (1..=5_u32).zip(found).find(|(_, id)| wanted.contains(id));
        self.count += 1.0;
        self.any += f64::from(u8::from(hits > 0));
        self.all += f64::from(u8::from(hits == wanted.len().min(5)));
        self.reciprocal += first.map_or(0.0, |(nth, _)| 1.0 / f64::from(nth));
    }
    fn any(&self) -> f64 {
        self.any / self.count
    }
}

fn read(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../conversations").join(name);
    std::fs::read_to_string(path).expect("the set stands in the repository")
}

fn sessions() -> Vec<(String, String, String)> {
    let mut sessions = Vec::<(String, String, String)>::new();
    for nth in 1..=3 {
        let text = read(&format!("sessions-{nth}.txt"));
        for line in text.lines() {
            match (line.strip_prefix("= ").and_then(|head| head.split_once(' ')), sessions.last_mut()) {
                (Some((id, date)), _) => sessions.push((id.to_owned(), date.to_owned(), String::new())),
                (None, Some((_, _, turns))) => turns.extend([line, "\n\n"]),
                (None, None) => panic!("a turn without a session: {line}"),
            }
        }
    }
    sessions
}

fn questions() -> Vec<Question> {
    let text = read("questions.tsv");
    let question = |line: &str| {
        let [kind, sessions, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let sessions = sessions.split(',').map(str::to_owned).collect();
        Question { kind: kind.to_owned(), sessions, text: text.to_owned() }
    };
    text.lines().map(question).collect()
}

/// AP-60: what both rankings together find is more than what words find.
#[tokio::test]
async fn ap_60_conversations_are_found() {
    let Asked::Yes(model) = Asked::model() else { return };
    let server = Server::builder().arg("--embeddings").arg(&format!("local:{model}")).start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    for (id, date, turns) in sessions() {
        let members = json!({"title": format!("Session of {date}"), "content_md": turns,
            "created_at": format!("{date}T10:00:00Z")});
        deposited(&nick, &package_with(&nick.handle, &id, members)).await;
    }
    caught_up(&nick, Duration::from_secs(180)).await;
    let mut scores = BTreeMap::<(String, &str), Score>::new();
    for question in questions() {
        for ranking in RANKINGS {
            let ids = found(&nick, &question.text, &format!("&ranking={ranking}")).await;
            for kind in ["all", &question.kind] {
                scores.entry((kind.to_owned(), ranking)).or_default().add(&question.sessions, &ids);
            }
            if ranking == "hybrid" && !ids.iter().any(|id| question.sessions.contains(id)) {
                println!("missed: {:?} {} -> {ids:?}", question.sessions, question.text);
            }
        }
    }
    println!("{:<12} {:<9} {:>5} {:>7} {:>7} {:>7}", "kind", "ranking", "n", "any@5", "all@5", "MRR@5");
    for ((kind, ranking), score) in &scores {
        let Score { count, any, all, reciprocal } = score;
        println!(
            "{kind:<12} {ranking:<9} {count:>5} {:>7.3} {:>7.3} {:>7.3}",
            any / count,
            all / count,
            reciprocal / count
        );
    }
    let any = |ranking| scores[&("all".to_owned(), ranking)].any();
    assert!(any("hybrid") > any("lexical"), "both together find more than words");
    assert!(any("hybrid") >= HYBRID_ANY_MIN, "{}", any("hybrid"));
}
