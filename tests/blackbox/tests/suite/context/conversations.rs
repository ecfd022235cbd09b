//! How well packages are found: the conversations of `tests/conversations`, a session a package, through the real
//! server. `--nocapture` shows the table. Must not know: how anything is ranked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use blackbox::{Agent, Asked, Server};
use serde_json::json;

use super::meaning::{caught_up, found_in};
use super::speak::{deposited, package_with};

/// The part of the questions for which one of the first five is right; below it something broke.
const NOTES_ANY_MIN: f64 = 0.93;
const CHATS_ANY_MIN: f64 = 0.97;
const NAMED_ANY_MIN: f64 = 0.95;
const RANKINGS: [&str; 3] = ["lexical", "hybrid", "semantic"];
/// Of the chats, whose test has to end soon.
const COMPARED: usize = 2;
/// How long a model on a slow machine may take for all sessions.
const EMBEDDING: Duration = Duration::from_secs(600);

/// How the turns of a session are marked in its package.
#[derive(Clone, Copy)]
enum Notation {
    Lines,
    Headings,
    /// By the names of the two who speak, which every session then has.
    Names,
}

struct Session {
    id: String,
    date: String,
    turns: String,
}

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

/// The sessions of a file. A line that names no speaker goes on with what the one before it says.
fn sessions(name: &str, notation: Notation) -> Vec<Session> {
    let mut sessions = Vec::<Session>::new();
    for line in read(name).lines() {
        if let Some((id, date)) = line.strip_prefix("= ").and_then(|head| head.split_once(' ')) {
            sessions.push(Session { id: id.to_owned(), date: date.to_owned(), turns: String::new() });
            continue;
        }
        let turns = &mut sessions.last_mut().expect("a session begins the file").turns;
        let speaker = ["user", "assistant"].into_iter().find(|who| line.starts_with(&format!("{who}: ")));
        match (speaker, notation) {
            (None, _) => turns.extend([line, "\n"]),
            (Some(_), Notation::Lines) => turns.extend(["\n", line, "\n"]),
            (Some(who), Notation::Names) => {
                turns.extend(["\n", name_of(who), &line[who.len()..], "\n"]);
            }
            (Some(who), Notation::Headings) => {
                turns.extend(["\n### ", who, "\n\n", &line[who.len() + 2..], "\n"]);
            }
        }
    }
    sessions
}

fn name_of(who: &str) -> &'static str {
    if who == "user" { "Caroline" } else { "Melanie" }
}

fn questions(name: &str) -> Vec<Question> {
    let text = read(name);
    let question = |line: &str| {
        let [kind, sessions, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let sessions = sessions.split(',').map(str::to_owned).collect();
        Question { kind: kind.to_owned(), sessions, text: text.to_owned() }
    };
    text.lines().map(question).collect()
}

fn named_id(id: &str) -> String {
    format!("named-{id}")
}

/// The questions about the first chats, with the names of both in each.
fn named_questions() -> Vec<Question> {
    let mut questions = questions("chats.tsv");
    questions.retain(|question| question.sessions.iter().all(|id| id.starts_with('a')));
    for question in &mut questions {
        question.sessions.iter_mut().for_each(|id| *id = named_id(id));
        question.text =
            format!("What did Caroline tell Melanie? {}", question.text.replace(" I ", " Caroline "));
    }
    questions
}

async fn deposit(nick: &Agent, project: &str, sessions: Vec<Session>) {
    for Session { id, date, turns } in sessions {
        let members = json!({"project_id": project, "title": format!("Session of {date}"),
            "content_md": turns, "created_at": format!("{date}T10:00:00Z")});
        deposited(nick, &package_with(&nick.handle, &id, members)).await;
    }
}

/// Scores by kind and ranking.
#[derive(Default)]
struct Scores(BTreeMap<(String, &'static str), Score>);

#[expect(clippy::print_stdout, reason = "the table is for whoever asks for it")]
impl Scores {
    async fn ask(&mut self, nick: &Agent, project: &str, rankings: &[&'static str], questions: &[Question]) {
        for question in questions {
            for &ranking in rankings {
                let ids = found_in(nick, project, &question.text, &format!("&ranking={ranking}")).await;
                for kind in ["all", &question.kind] {
                    self.0.entry((kind.to_owned(), ranking)).or_default().add(&question.sessions, &ids);
                }
                if ranking == "hybrid" && !ids.iter().any(|id| question.sessions.contains(id)) {
                    println!("missed: {:?} {} -> {ids:?}", question.sessions, question.text);
                }
            }
        }
    }

    fn any(&self, ranking: &'static str) -> f64 {
        self.0[&("all".to_owned(), ranking)].any()
    }

    /// Prints them, and compares the rankings.
    fn check(&self, set: &str, any_min: f64) {
        println!(
            "{set}: {:<12} {:<9} {:>5} {:>7} {:>7} {:>7}",
            "kind", "ranking", "n", "any@5", "all@5", "MRR@5"
        );
        for ((kind, ranking), score) in &self.0 {
            let Score { count, any, all, reciprocal } = score;
            println!(
                "{set}: {kind:<12} {ranking:<9} {count:>5} {:>7.3} {:>7.3} {:>7.3}",
                any / count,
                all / count,
                reciprocal / count
            );
        }
        let (hybrid, lexical) = (self.any("hybrid"), self.any("lexical"));
        assert!(hybrid > lexical, "{set}: both together find {hybrid}, words {lexical}");
        assert!(hybrid >= any_min, "{set}: {hybrid}");
    }
}

/// AP-60: what both rankings together find is more than what words find, in short notes whose questions avoid their words
/// and in long chats of which two people ask in theirs.
#[tokio::test]
async fn ap_60_conversations_are_found() {
    let Asked::Yes(model) = Asked::model() else { return };
    let server = Server::builder().arg("--embeddings").arg(&format!("local:{model}")).start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    for nth in 1..=3 {
        deposit(&nick, "notes", sessions(&format!("sessions-{nth}.txt"), Notation::Lines)).await;
    }
    deposit(&nick, "chats-a", sessions("chats-a.txt", Notation::Lines)).await;
    deposit(&nick, "chats-b", sessions("chats-b.txt", Notation::Headings)).await;
    let mut named = sessions("chats-a.txt", Notation::Names);
    named.iter_mut().for_each(|session| session.id = named_id(&session.id));
    deposit(&nick, "named", named).await;
    caught_up(&nick, EMBEDDING).await;
    let mut notes = Scores::default();
    notes.ask(&nick, "notes", &RANKINGS, &questions("questions.tsv")).await;
    notes.check("notes", NOTES_ANY_MIN);
    let mut chats = Scores::default();
    for (project, whose) in [("chats-a", 'a'), ("chats-b", 'b')] {
        let mut questions = questions("chats.tsv");
        questions.retain(|question| question.sessions.iter().all(|id| id.starts_with(whose)));
        chats.ask(&nick, project, &RANKINGS[..COMPARED], &questions).await;
    }
    chats.check("chats", CHATS_ANY_MIN);
    let mut named = Scores::default();
    named.ask(&nick, "named", &RANKINGS[..COMPARED], &named_questions()).await;
    named.check("named", NAMED_ANY_MIN);
}
