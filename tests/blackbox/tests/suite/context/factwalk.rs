//! Ten thousand random steps of several clients at once against the real server, each answer held against a model:
//! AP-4, AP-44, AP-46 to AP-48, AP-51, AP-52, AP-65 to AP-67, AP-75, AP-104. `PLENARY_TEST_SEED` repeats a walk.
//! Must not know: what a single step does.

use std::collections::HashSet;

use blackbox::{Server, rounds};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::factmodel::{Dice, Key, Model, Question, Seed};
use super::factwalker::{PROJECTS, Walker};
use super::speak::{enc, facts_of};

const WALKERS: usize = 8;
const BATCHES: usize = 5;

/// A pair that all assert and retract at once.
fn contended(project: &str) -> Key {
    (project.to_owned(), "shared 😀".to_owned(), "p".to_owned())
}

/// All clients claim the same pair at the same time; the ids of what was acknowledged.
async fn contend(walkers: &mut [Walker], project: &str) -> HashSet<String> {
    let (_, subject, predicate) = contended(project);
    let claim = async |number: usize, walker: &mut Walker| {
        let mut made = Vec::new();
        for turn in 0..6 {
            if number % 4 == 3 && turn % 3 == 2 {
                let path =
                    format!("{}?subject={}&predicate={}", facts_of(project), enc(&subject), enc(&predicate));
                walker.ask("DELETE", &path, None).await.ok(200);
            } else {
                let body =
                    json!({"subject": subject, "predicate": predicate, "value": format!("{number} {turn}")});
                let fact = walker.ask("POST", &facts_of(project), Some(&body)).await.ok(201);
                made.push(fact["fact_id"].as_str().expect("an id").to_owned());
            }
        }
        made
    };
    let claims = walkers.iter_mut().enumerate().map(|(number, walker)| claim(number, walker));
    join_all(claims).await.into_iter().flatten().collect()
}

/// AP-47, AP-48, AP-75, from what the server shows alone: per pair the intervals touch or leave gaps, none is empty,
/// only the last may be open.
fn assert_lines(history: &[Value]) {
    let pair = |fact: &Value| (fact["subject"].clone(), fact["predicate"].clone());
    let ids: HashSet<_> = history.iter().map(|fact| fact["fact_id"].to_string()).collect();
    assert_eq!(ids.len(), history.len(), "each fact has an id of its own");
    for (fact, next) in history.iter().zip(history.iter().skip(1)).filter(|(a, b)| pair(a) == pair(b)) {
        let end = fact["valid_to"].as_i64().unwrap_or_else(|| panic!("two are current: {fact} {next}"));
        let from = |fact: &Value| super::factmodel::micros(&fact["valid_from"]);
        assert!(from(fact) < end, "not empty: {fact}");
        assert!(end <= from(next), "no overlap: {fact} {next}");
    }
}

/// What all of them know is what each project has, ever and now.
async fn compare(walkers: &mut [Walker], shared: &Model) {
    let mut all = shared.clone();
    for walker in walkers.iter() {
        all.lines.extend(walker.model.lines.clone());
    }
    for project in PROJECTS {
        for include_ended in [true, false] {
            let question = Question { project: project.to_owned(), include_ended, ..Question::default() };
            let found = walkers[0].asked(&question).await;
            assert_lines(&found);
            let wanted = all.answer(&question);
            assert_eq!(found.len(), wanted.len(), "{question:?}");
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_eq!(found, wanted, "{question:?}");
            }
        }
    }
}

/// AP-49, AP-65, AP-75: nothing that was acknowledged is lost, invented, changed or overlapped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_75_a_long_walk_agrees_with_a_model() {
    let seed = Seed::choose();
    let (mut server, [nick]) = Server::with(["@nick.cc-laptop"]).await;
    let mut dice = Dice::new(seed.0);
    for project in PROJECTS {
        nick.post("/v1/projects", json!({"project_id": project})).await.ok(201);
    }
    let steps = rounds(10_400, 1_200) / WALKERS / BATCHES;
    let mut walkers = Vec::new();
    for number in 0..WALKERS {
        let own = Dice::new(seed.0 ^ u64::try_from(dice.below(usize::MAX)).expect("fits"));
        walkers.push(Walker::new(&nick, number, own).await);
    }
    let mut shared = Model::default();
    let mut claimed = HashSet::new();
    for batch in 0..BATCHES {
        join_all(walkers.iter_mut().map(async |walker| {
            for _ in 0..steps {
                walker.step().await;
            }
        }))
        .await;
        let project = PROJECTS[batch % 2];
        claimed.extend(contend(&mut walkers, project).await);
        let (_, subject, _) = contended(project);
        let question = Question {
            project: project.to_owned(),
            subject: Some(subject),
            include_ended: true,
            ..Question::default()
        };
        let history = walkers[0].asked(&question).await;
        shared.lines.insert(contended(project), history);
        let kept = shared.lines.values().flatten();
        let kept: HashSet<_> = kept.map(|fact| fact["fact_id"].as_str().expect("an id").to_owned()).collect();
        assert_eq!(kept, claimed, "every claim is there, and nothing else");
        compare(&mut walkers, &shared).await;
    }
    // And after a crash, on new connections.
    server.crash().await;
    let mut reader = vec![Walker::new(&nick, 0, dice).await];
    for walker in walkers {
        shared.lines.extend(walker.model.lines);
    }
    compare(&mut reader, &shared).await;
}
