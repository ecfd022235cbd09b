//! Assertions at the same time: AP-47 to AP-49, AP-65, AP-75.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use blackbox::{Agent, rounds};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::speak::{PROJECT, desk, facts, facts_of, instant, texts};

/// Intervals touch or leave gaps, and at most one is open.
#[track_caller]
pub(super) fn assert_line(history: &mut [Value]) {
    history.sort_by_key(|fact| instant(&fact["valid_from"]));
    for (fact, next) in history.iter().zip(&history[1..]) {
        assert!(!fact["valid_to"].is_null(), "only the last is current: {history:#?}");
        assert!(instant(&fact["valid_from"]) < instant(&fact["valid_to"]), "not empty: {fact}");
        assert!(instant(&fact["valid_to"]) <= instant(&next["valid_from"]), "overlap: {fact} {next}");
    }
}

/// Many assert the same pair and some retract it; the ids of what was acknowledged.
async fn storm(who: &[&Agent], round: usize, retracting: bool) -> Vec<String> {
    let path = format!("{}?subject=s{round}&predicate=p", facts_of(PROJECT));
    let answers = join_all((0..24).map(|number| {
        let agent = who[number % who.len()];
        let body = json!({"subject": format!("s{round}"), "predicate": "p", "value": number.to_string()});
        let path = &path;
        async move {
            if retracting && number % 6 == 5 {
                let gone = agent.delete(path).await.ok(200);
                assert!(gone["invalidated"].as_i64().is_some_and(|count| (0..=1).contains(&count)), "{gone}");
                None
            } else {
                Some(agent.post(&facts_of(PROJECT), body).await.ok(201))
            }
        }
    }))
    .await;
    let made: Vec<Value> = answers.into_iter().flatten().collect();
    texts(&made, "fact_id")
}

/// The story on any servers: nothing is lost, nothing overlaps.
pub(super) async fn race(who: &[&Agent]) {
    let first = json!({"subject": "first", "predicate": "p", "value": "1"});
    who[0].post(&facts_of(PROJECT), first).await.ok(201);
    for round in 0..rounds(20, 5) {
        let retracting = round % 2 == 1;
        let made = storm(who, round, retracting).await;
        for reader in who {
            let mut history =
                facts(reader, &format!("subject=s{round}&predicate=p&include_ended=true")).await;
            assert_line(&mut history);
            let found: HashSet<_> = texts(&history, "fact_id").into_iter().collect();
            assert_eq!(found.len(), history.len());
            assert_eq!(found, made.iter().cloned().collect::<HashSet<_>>(), "what was acknowledged is there");
            let current = facts(reader, &format!("subject=s{round}&predicate=p")).await;
            if !retracting {
                assert_eq!(current, history[history.len() - 1..]);
                for (fact, next) in history.iter().zip(&history[1..]) {
                    assert_eq!(instant(&fact["valid_to"]), instant(&next["valid_from"]), "no gap either");
                }
            }
            for fact in &history {
                let from = fact["valid_from"].as_str().expect("a time");
                let path = format!("subject=s{round}&predicate=p&as_of={}", super::speak::enc(from));
                assert_eq!(
                    texts(&facts(reader, &path).await, "fact_id"),
                    [fact["fact_id"].as_str().unwrap_or("?")]
                );
            }
        }
    }
}

/// AP-65: on one process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_65_racing_assertions_never_overlap() {
    let (_server, nick) = desk().await;
    race(&[&nick]).await;
}

/// AP-65: of several that claim the same instant, one has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_65_an_instant_belongs_to_one() {
    let (_server, nick) = desk().await;
    for round in 0..rounds(10, 3) {
        let body = |number: usize| {
            json!({
                "subject": format!("s{round}"), "predicate": "p", "value": number.to_string(),
                "valid_from": "2026-04-10T12:00:00Z",
            })
        };
        let path = facts_of(PROJECT);
        let answers = join_all((0..8).map(|number| nick.post(&path, body(number)))).await;
        let made: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(made.len(), 1, "round {round}");
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            answer.assert_refused(400, "invalid_valid_from");
        }
        assert_eq!(facts(&nick, &format!("subject=s{round}&include_ended=true")).await, [made[0].json()]);
    }
}

/// AP-49: whoever reads meanwhile sees one current fact, never none and never two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_49_readers_never_see_the_middle() {
    let (_server, nick) = desk().await;
    let body = |number: usize| json!({"subject": "s", "predicate": "p", "value": number.to_string()});
    let path = facts_of(PROJECT);
    nick.post(&path, body(0)).await.ok(201);
    let done = AtomicBool::new(false);
    let writing = async {
        for number in 1..rounds(200, 60) {
            nick.post(&path, body(number)).await.ok(201);
        }
        done.store(true, Ordering::SeqCst);
    };
    let reading = async || {
        while !done.load(Ordering::SeqCst) {
            let mut history = facts(&nick, "subject=s&predicate=p&include_ended=true").await;
            assert_line(&mut history);
            assert!(
                history.last().is_some_and(|fact| fact["valid_to"].is_null()),
                "one is current: {history:#?}"
            );
            assert_eq!(facts(&nick, "subject=s&predicate=p").await.len(), 1);
            let later = facts(&nick, "subject=s&predicate=p&as_of=2999-01-01T00:00:00Z").await;
            assert_eq!(later.len(), 1, "one is current at every moment: {later:#?}");
        }
    };
    tokio::join!(writing, reading(), reading(), reading());
}
