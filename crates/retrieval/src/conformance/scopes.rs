//! A search stays within its scope.
//! Must not know: any backend.

use std::collections::{BTreeMap, BTreeSet};

use plenary_kernel::Position;

use super::{Storage, body, found, found_in, put};
use crate::{Change, Document, Index, Query, Scope};

fn of_project(id: &str, project: &str) -> Document {
    Document { project: project.to_owned(), ..body(id, "login page") }
}

fn scope(projects: &[&str]) -> Scope {
    Scope { projects: projects.iter().map(|name| (*name).to_owned()).collect(), ..Scope::default() }
}

/// A document of another project is never found, even if it matches best.
pub async fn other_projects_are_not_searched<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [of_project("a", "p"), of_project("b", "q")]).await;
    assert_eq!(found(&*index, "login").await, ["a"]);
    assert!(found_in(&*index, "login", &scope(&["r"])).await.is_empty());
    assert!(
        found_in(&*index, "login", &Scope { projects: BTreeSet::new(), ..Scope::default() }).await.is_empty()
    );
}

/// A score reveals nothing about the documents of other projects.
pub async fn other_projects_do_not_change_a_score<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [of_project("a", "p"), body("b", "a long text about something else altogether")]).await;
    let query = Query::read("login").expect("it is a query");
    let score = async || {
        let hits = index.search(&query, &Scope::project("p"), 9).await.expect("it answers");
        hits.into_iter().map(|hit| hit.score).collect::<Vec<_>>()
    };
    let before = score().await;
    let text = "words ".repeat(300);
    put(&*index, (0..20).map(|nth| Document { project: "q".to_owned(), ..body(&format!("q{nth}"), &text) }))
        .await;
    assert_eq!((before.len(), score().await), (1, before));
}

/// A scope may have many projects, and all are searched.
pub async fn several_projects_are_searched_at_once<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, (0..40).map(|nth| of_project(&format!("d{nth}"), &format!("p{nth}")))).await;
    let names: Vec<String> = (10..30).map(|nth| format!("p{nth}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(found_in(&*index, "login", &scope(&names)).await.len(), 20);
}

/// The start of a window is inclusive, its end exclusive.
pub async fn a_window_and_drafts_are_left_out<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let at = |id, created_at_ms| Document { created_at_ms, ..body(id, "login") };
    let draft = Document { is_draft: true, ..at("draft", 9_000) };
    put(&*index, [at("old", 999), at("edge", 1_000), at("new", 2_000), at("ancient", -5), draft]).await;
    assert_eq!(found(&*index, "login").await, ["draft", "new", "edge", "old", "ancient"]);
    let window = Scope { since_ms: Some(1_000), ..Scope::project("p") };
    assert_eq!(found_in(&*index, "login", &window).await, ["draft", "new", "edge"]);
    let before = Scope { until_ms: Some(2_000), ..window.clone() };
    assert_eq!(found_in(&*index, "login", &before).await, ["edge"]);
    let finished = Scope { without_drafts: true, ..window };
    assert_eq!(found_in(&*index, "login", &finished).await, ["new", "edge"]);
    put(&*index, [at("draft", 9_000)]).await;
    assert_eq!(found_in(&*index, "login", &finished).await, ["draft", "new", "edge"]);
}

/// Project names are compared exactly.
pub async fn odd_names_stay_apart<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let names = ["p", "P", "p p", "p'q", "p%2Fq", "p:*", "pé", "p|q", "~p", "{p}", "\"p\"", "p\\"];
    put(&*index, names.iter().map(|name| of_project(&format!("{name}/a"), name))).await;
    for name in names {
        assert_eq!(found_in(&*index, "login", &scope(&[name])).await, [format!("{name}/a")], "{name}");
    }
}

/// Adds the documents of a project with these numbers, as a room adds the events of a stream.
async fn add(index: &dyn Index, project: &str, numbers: impl IntoIterator<Item = u64>, text: &str) {
    let document = |nr| Document { project: project.to_owned(), ..body(&format!("{project}/{nr}"), text) };
    let changes: Vec<_> = numbers.into_iter().map(|nr| Change::Add(document(nr))).collect();
    let from = index.extent().await.expect("it answers").cursor;
    index.put(changes, from, Position(from.0 + 1)).await.expect("it is written");
}

/// Of a project of which only a beginning is searched, the rest changes neither the hits nor their scores.
pub async fn what_follows_a_beginning_changes_no_answer<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    add(&*index, "p/s", [2, 9, 10], "a login page").await;
    add(&*index, "p/t", 2..9, "a door and a login").await;
    let beginnings = BTreeMap::from([("p/s".to_owned(), 10), ("p/u".to_owned(), 4)]);
    let scope = Scope { beginnings, ..scope(&["p/s", "p/t", "p/u"]) };
    let answer = async || {
        let query = Query::read("login door").expect("it is a query");
        let hits = index.search(&query, &scope, 100).await.expect("it answers");
        hits.into_iter().map(|hit| (hit.id, hit.score)).collect::<Vec<_>>()
    };
    let before = answer().await;
    assert_eq!(before.len(), 10);
    for first in [11, 100] {
        add(&*index, "p/s", (first..).step_by(2).take(40), "a login, a door and many other words").await;
        add(&*index, "p/u", first..first + 40, "door door").await;
        assert_eq!(answer().await, before);
    }
    add(&*index, "p/t", [9], "a door").await;
    assert_eq!(answer().await.len(), 11);
    let whole = Scope { beginnings: BTreeMap::new(), ..scope.clone() };
    assert_eq!(found_in(&*index, "page", &whole).await.len(), 3);
    let earlier = Scope { beginnings: BTreeMap::from([("p/s".to_owned(), 9)]), ..whole };
    assert_eq!(found_in(&*index, "page", &earlier).await, ["p/s/2", "p/s/9"]);
}
