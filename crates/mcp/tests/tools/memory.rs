//! What `recall` finds, and what `note_fact` answers.

use std::{sync::atomic::Ordering, time::Duration};

use futures_util::future::join_all;
use plenary_accounts::{TokenOwner, limits::SEARCHES_PER_OWNER_MAX};
use serde_json::{Value, json};

use crate::house::House;

fn subjects(found: &Value) -> Vec<&str> {
    found["facts"].as_array().unwrap().iter().map(|fact| fact["subject"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn facts_are_found_by_their_words_in_any_form() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    for nth in 0..12 {
        let fact = json!({"subject": format!("item{nth:02}"), "predicate": "is the state", "value": "fine"});
        alice.call("note_fact", fact).await;
    }
    alice.call("note_fact", json!({"subject": "okapi", "predicate": "diet", "value": "leaves"})).await;
    alice.call("deposit", json!({"title": "Unrelated", "content_md": "This is the state of it"})).await;
    for query in ["what is the diet of the okapi", "diets", "diét"] {
        for project in [None, Some("nick")] {
            let found = alice.call("recall", json!({"query": query, "project_id": project})).await;
            assert_eq!(subjects(&found), ["okapi"], "{query}: {found}");
            assert_eq!(found["packages"], json!([]), "{query}");
        }
    }
}

#[tokio::test]
async fn a_fact_beyond_the_first_page_is_found() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    for nth in 0..=1_000 {
        let subject = if nth == 0 { "zulu".to_owned() } else { format!("a{nth:04}") };
        let fact = json!({"project_id": "nick", "subject": subject, "predicate": "is", "value": "fine"});
        alice.call("context_assert_fact", fact).await;
    }
    let found = alice.call("recall", json!({"query": "zulu", "project_id": "nick"})).await;
    assert_eq!(subjects(&found), ["zulu"]);
}

#[tokio::test]
async fn recall_refuses_what_it_would_ignore() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    let kept = alice.call("deposit", json!({"title": "Okapi"})).await;
    let id = &kept["package_id"];
    for arguments in [
        json!({"package_id": id, "query": "zebra"}),
        json!({"package_id": id, "who": "@nick.alice"}),
        json!({"query": "🚀🔥"}),
        json!({"query": "??", "project_id": "nick"}),
    ] {
        assert_eq!(alice.refused("recall", arguments.clone()).await, "invalid_arguments", "{arguments}");
    }
    let blank = alice.call("recall", json!({"package_id": "", "query": " "})).await;
    assert_eq!(blank["packages"][0]["package_id"], *id, "a blank argument is none");
}

#[tokio::test(start_paused = true)]
async fn recall_waits_for_its_turn_to_search() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    let other = TokenOwner::Agent("@nick.other".parse().unwrap());
    let share = |_| house.accounts.search_share(&other).unwrap();
    let shares: Vec<_> = (0..SEARCHES_PER_OWNER_MAX).map(share).collect();
    let before = house.requests.load(Ordering::SeqCst);
    let ending = async {
        while house.requests.load(Ordering::SeqCst) < before + 2 {
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        drop(shares);
    };
    let (found, ()) = tokio::join!(alice.call("recall", json!({"query": "okapi"})), ending);
    assert_eq!(found["said"], json!([]));
}

#[tokio::test]
async fn every_value_is_named_to_whoever_replaced_it() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    alice.call("deposit", json!({"title": "The gate"})).await;
    let note = |nth: usize| {
        alice.call("note_fact", json!({"subject": "gate", "predicate": "is", "value": nth.to_string()}))
    };
    let noted = join_all((0..8).map(note)).await;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut values: Vec<_> = noted.iter().filter_map(|noted| text(&noted["replaced"]["value"])).collect();
    let current = alice.call("recall", json!({"query": "gate", "project_id": "nick"})).await;
    values.extend(text(&current["facts"][0]["value"]));
    values.sort();
    assert_eq!(values, ["0", "1", "2", "3", "4", "5", "6", "7"], "{noted:?}");
}

#[tokio::test]
async fn a_proposal_needs_a_source_that_exists() {
    let house = House::new().await;
    let alice = house.agent("@nick.alice").await;
    let mut fact = json!({"subject": "gate", "predicate": "is", "value": "open", "propose": true});
    fact["source_package_id"] = json!("pkg_none");
    assert_eq!(alice.refused("note_fact", fact.clone()).await, "invalid_arguments", "there is no project");
    let kept = alice.call("deposit", json!({"title": "The gate"})).await;
    assert_eq!(alice.refused("note_fact", fact.clone()).await, "invalid_arguments");
    fact["source_package_id"] = kept["package_id"].clone();
    assert!(alice.call("note_fact", fact).await["package_id"].is_string());
}
