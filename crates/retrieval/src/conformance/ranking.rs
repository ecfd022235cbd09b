//! Better matches come first.
//! Must not know: any backend.

use super::{Storage, body, document, found, put};
use crate::{HITS_MAX, Kind, Query, Scope};

/// The weight of a word depends on its section.
pub async fn titles_come_before_decisions_questions_and_bodies<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let filler = "alpha beta gamma delta epsilon";
    let login_in = |id, kind| {
        document(id, &[(kind, "login"), (Kind::Body, filler), (Kind::Title, "zeta"), (Kind::Decision, "eta")])
    };
    put(
        &*index,
        [
            login_in("body", Kind::Body),
            login_in("handoff", Kind::Handoff),
            login_in("title", Kind::Title),
            login_in("decision", Kind::Decision),
            body("other", filler),
        ],
    )
    .await;
    assert_eq!(found(&*index, "login").await, ["title", "decision", "handoff", "body"]);
}

/// A document need not have all words, but each matching word raises its score.
pub async fn what_has_more_of_the_words_comes_first<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(
        &*index,
        [
            body("one", "token alpha beta gamma"),
            body("three", "login token expiry gamma"),
            body("two", "login token beta gamma"),
            body("none", "alpha beta gamma delta"),
        ],
    )
    .await;
    assert_eq!(found(&*index, "login token expiry").await, ["three", "two", "one"]);
}

/// A rare word weighs more than a common one.
pub async fn a_rare_word_counts_more<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let common = (0..30).map(|nth| body(&format!("c{nth}"), "project status alpha beta"));
    put(&*index, common.chain([body("rare", "kestrel notes alpha beta")])).await;
    assert_eq!(found(&*index, "project kestrel").await[0], "rare");
}

/// With equal matches, a short document ranks above a long one.
pub async fn a_short_text_comes_before_a_long_one<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let long: Vec<String> = (0..300).map(|nth| format!("filler{nth}")).collect();
    put(
        &*index,
        [body("long", &format!("login {}", long.join(" "))), body("short", "login page"), body("x", "none")],
    )
    .await;
    assert_eq!(found(&*index, "login").await, ["short", "long"]);
}

/// Documents with equal scores are ordered by time.
pub async fn of_two_as_near_the_newer_comes_first<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let created_at = |id, at| super::Document { created_at_ms: at, ..body(id, "login page") };
    put(&*index, [created_at("old", 1_000), created_at("new", 3_000), created_at("middle", 2_000)]).await;
    assert_eq!(found(&*index, "login").await, ["new", "middle", "old"]);
}

/// A limit cuts off the worst hits, and no search returns more than the index's own limit.
pub async fn the_limit_keeps_the_nearest<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let far = (0..HITS_MAX + 20).map(|nth| body(&format!("far{nth}"), "login alpha beta gamma delta"));
    put(&*index, far.chain([document("near", &[(Kind::Title, "login")])])).await;
    let query = Query::read("login").expect("it is a query");
    let hits = index.search(&query, &Scope::project("p"), 1).await.expect("it answers");
    assert_eq!(hits.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(), ["near"]);
    let hits = index.search(&query, &Scope::project("p"), usize::MAX).await.expect("it answers");
    assert_eq!(hits.len(), HITS_MAX);
    assert!(index.search(&query, &Scope::project("p"), 0).await.expect("it answers").is_empty());
}

/// Scores are positive and descending.
pub async fn scores_fall<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, (1..20).map(|nth| body(&format!("d{nth}"), &"login alpha ".repeat(nth)))).await;
    let query = Query::read("login alpha").expect("it is a query");
    let hits = index.search(&query, &Scope::project("p"), 100).await.expect("it answers");
    assert_eq!(hits.len(), 19);
    assert!(hits.is_sorted_by(|a, b| a.score >= b.score) && hits.iter().all(|hit| hit.score > 0.0));
}
