//! How well packages are found: the conversations of `tests/conversations`, a session a package, through the real
//! server. `--nocapture` shows the table. Must not know: how anything is ranked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use blackbox::{Agent, Server, TestDependency};
use serde_json::json;

use super::meaning::{caught_up, found_in};
use super::speak::{deposited, package_with};

const RANKINGS: [&str; 3] = ["lexical", "hybrid", "semantic"];
/// Of sets that were measured by meaning alone elsewhere, and whose test has to end soon.
const COMPARED: usize = 2;
/// The halves of the questions: shares and neighbours are in the middle of what does well on both.
const HALVES: [&str; 2] = ["first half", "second half"];
/// The part of the questions for which one of the first five is right, of each set; below it something broke.
const ANY_MIN: [(&str, f64); 8] = [
    ("notes", 0.95),
    ("chats", 0.965),
    ("named", 0.96),
    ("talk", 0.97),
    ("diffs", 0.97),
    ("handovers", 0.97),
    ("tickets", 0.97),
    ("facts", 0.95),
];
/// How long a model on a slow machine may take for all sessions.
const EMBEDDING: Duration = Duration::from_secs(600);
/// A model for the same measurement: `PLENARY_MEASURE_EMBEDDINGS`, `static:DIR` for instance; and a reranker:
/// `PLENARY_MEASURE_RERANK`. What they find is printed and not compared.
const OTHER_MODEL: &str = "PLENARY_MEASURE_EMBEDDINGS";
const RERANKER: &str = "PLENARY_MEASURE_RERANK";

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
    title: String,
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
            let title = format!("Session of {date}");
            sessions.push(Session { id: id.to_owned(), date: date.to_owned(), title, turns: String::new() });
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

/// Texts of a file as they stand there, each below a line `= id date`, with ` | title` where it has one.
fn titled(name: &str) -> Vec<Session> {
    let mut found = Vec::<Session>::new();
    for line in read(name).lines() {
        if let Some((id, rest)) = line.strip_prefix("= ").and_then(|head| head.split_once(' ')) {
            let (date, title) = rest.split_once(" | ").unwrap_or((rest, ""));
            let title = if title.is_empty() { format!("Session of {date}") } else { title.to_owned() };
            found.push(Session { id: id.to_owned(), date: date.to_owned(), title, turns: String::new() });
        } else {
            found.last_mut().expect("a text begins the file").turns.extend([line, "\n"]);
        }
    }
    found
}

/// Facts of a file, each as a package of one line.
fn facts(name: &str) -> Vec<Session> {
    let fact = |line: &str| {
        let [id, date, subject, predicate, value] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let title = format!("{subject} {predicate}");
        let turns = format!("{title}: {value}\n");
        Session { id: id.to_owned(), date: date.to_owned(), title, turns }
    };
    read(name).lines().map(fact).collect()
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
    for Session { id, date, title, turns } in sessions {
        let members = json!({"project_id": project, "title": title,
            "content_md": turns, "created_at": format!("{date}T10:00:00Z")});
        deposited(nick, &package_with(&nick.handle, &id, members)).await;
    }
}

/// Scores by kind and ranking.
#[derive(Default)]
struct Scores(BTreeMap<(String, String), Score>);

#[expect(clippy::print_stdout, reason = "the table is for whoever asks for it")]
impl Scores {
    async fn ask(&mut self, nick: &Agent, project: &str, rankings: &[&str], questions: &[Question]) {
        for (nth, question) in questions.iter().enumerate() {
            for ranking in rankings {
                let ids = found_in(nick, project, &question.text, &format!("&ranking={ranking}")).await;
                for kind in ["all", HALVES[nth % 2], &question.kind] {
                    let of = (kind.to_owned(), (*ranking).to_owned());
                    self.0.entry(of).or_default().add(&question.sessions, &ids);
                }
                if *ranking == "hybrid" && !ids.iter().any(|id| question.sessions.contains(id)) {
                    println!("missed: {:?} {} -> {ids:?}", question.sessions, question.text);
                }
            }
        }
    }

    fn of(&self, ranking: &str) -> Option<Score> {
        self.0.get(&("all".to_owned(), ranking.to_owned())).copied()
    }

    fn print(&self, set: &str) {
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
    }

    /// Both together find more than words, and as much as meaning.
    fn check(&self, set: &str) {
        let any_min = ANY_MIN.iter().find(|(name, _)| *name == set).expect("every set has one").1;
        let (hybrid, lexical) = (self.of("hybrid").expect("asked"), self.of("lexical").expect("asked"));
        let sum = |score: Score| (score.any + score.all + score.reciprocal) / score.count;
        assert!(sum(hybrid) > sum(lexical), "{set}: both together find less than words");
        assert!(hybrid.any() >= any_min, "{set}: {}", hybrid.any());
        if let Some(semantic) = self.of("semantic") {
            assert!(
                hybrid.any >= semantic.any && hybrid.all >= semantic.all,
                "{set}: meaning alone finds more"
            );
        }
    }
}

/// The server, with every set deposited and embedded.
async fn measured(model: &str, reranker: Option<&str>) -> (Server, Agent) {
    let builder = Server::builder().arg("--embeddings").arg(model);
    let builder = match reranker {
        Some(reranker) => builder.arg("--rerank").arg(reranker),
        None => builder,
    };
    let server = builder.start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    for nth in 1..=3 {
        deposit(&nick, "notes", sessions(&format!("sessions-{nth}.txt"), Notation::Lines)).await;
    }
    deposit(&nick, "chats-a", sessions("chats-a.txt", Notation::Lines)).await;
    deposit(&nick, "chats-b", sessions("chats-b.txt", Notation::Headings)).await;
    let mut named = sessions("chats-a.txt", Notation::Names);
    named.iter_mut().for_each(|session| session.id = named_id(&session.id));
    deposit(&nick, "named", named).await;
    for name in ["talk-p", "talk-m", "diffs", "handovers", "tickets"] {
        deposit(&nick, name, titled(&format!("{name}.txt"))).await;
    }
    deposit(&nick, "facts", facts("facts.tsv")).await;
    caught_up(&nick, EMBEDDING).await;
    (server, nick)
}

/// The questions of a file about the sessions whose ids begin so.
fn questions_of(name: &str, whose: char) -> Vec<Question> {
    let mut questions = questions(name);
    questions.retain(|question| question.sessions.iter().all(|id| id.starts_with(whose)));
    questions
}

/// The questions about a project.
type ProjectQuestions = (&'static str, Vec<Question>);

/// Every set with the number of rankings that are compared, and its projects with their questions.
fn sets() -> Vec<(&'static str, usize, Vec<ProjectQuestions>)> {
    let alone = |name: &'static str, file: &str| (name, RANKINGS.len(), vec![(name, questions(file))]);
    let chats = ['a', 'b'].map(|whose| questions_of("chats.tsv", whose));
    let talk = ['p', 'm'].map(|whose| questions_of("talk.tsv", whose));
    vec![
        alone("notes", "questions.tsv"),
        ("chats", COMPARED, ["chats-a", "chats-b"].into_iter().zip(chats).collect()),
        ("named", COMPARED, vec![("named", named_questions())]),
        ("talk", RANKINGS.len(), ["talk-p", "talk-m"].into_iter().zip(talk).collect()),
        alone("diffs", "diffs.tsv"),
        alone("handovers", "handovers.tsv"),
        alone("tickets", "tickets.tsv"),
        alone("facts", "facts-questions.tsv"),
    ]
}

/// AP-60: what both rankings together find is more than what words find and no less than what meaning finds, in sets of every
/// kind.
#[tokio::test]
async fn ap_60_conversations_are_found() {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (other, reranker) = (variable(OTHER_MODEL), variable(RERANKER));
    let Some(model) = other.clone().or_else(|| match TestDependency::model() {
        TestDependency::Available(model) => Some(format!("local:{model}")),
        TestDependency::Missing => None,
    }) else {
        return;
    };
    let (_server, nick) = measured(&model, reranker.as_deref()).await;
    for (set, rankings, projects) in sets() {
        let mut rankings = RANKINGS[..rankings].to_vec();
        rankings.extend(reranker.is_some().then_some("reranked"));
        let mut scores = Scores::default();
        for (project, questions) in projects {
            scores.ask(&nick, project, &rankings, &questions).await;
        }
        scores.print(set);
        if other.is_none() {
            scores.check(set);
        }
    }
}
