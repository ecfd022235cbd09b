//! Whom an agent may contact at an owner, as every change of trust leaves it at once (ASP-6 to ASP-13).

use std::{sync::Arc, time::Duration};

use plenary_accounts::{Accounts, TokenDigest, limits::OBSERVATION_WAIT};
use plenary_engine::SystemClock;
use plenary_hub::{Observer, Presence, dispatch};
use plenary_log::{Fault, rigged::Store};
use tokio::time::Instant;

use crate::house::{House, OPERATOR};

async fn reach(house: &House, from: &str, owner: &str) -> Vec<String> {
    let agents = house.accounts.reachable(&from.parse().unwrap(), &owner.parse().unwrap()).await.unwrap();
    agents.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn every_change_of_trust_shows_in_the_next_answer() {
    let house = House::new();
    house.agent("@alice.bot", r#""policy":"open""#).await;
    house.agent("@bob.open", r#""policy":"open""#).await;
    house.agent("@bob.shut", "").await;
    house.agent("@bobby.open", r#""policy":"open""#).await;
    let of_bob = async || reach(&house, "@alice.bot", "bob").await;
    assert_eq!(of_bob().await, ["@bob.open"]);
    assert_eq!(of_bob().await, ["@bob.open"], "remembered");
    assert!(reach(&house, "@alice.bot", "nobody").await.is_empty());
    assert!(reach(&house, "@nobody.bot", "bob").await.is_empty());

    let allow = "/_admin/agents/@bob.shut/allowlist";
    house.post(OPERATOR, allow, r#"{"entries":["@alice.*"]}"#).await.ok(200);
    assert_eq!(of_bob().await, ["@bob.open", "@bob.shut"]);
    house.agent("@bob.a", r#""policy":"open""#).await;
    assert_eq!(of_bob().await, ["@bob.a", "@bob.open", "@bob.shut"]);
    house.post(OPERATOR, "/_admin/agents/@alice.bot/blocks", r#"{"handle":"@bob.open"}"#).await.ok(201);
    assert_eq!(of_bob().await, ["@bob.a", "@bob.shut"]);
    house.post(OPERATOR, "/_admin/agents/@bob.a/blocks", r#"{"handle":"@alice.bot"}"#).await.ok(201);
    assert_eq!(of_bob().await, ["@bob.shut"]);
    house.call(OPERATOR, "DELETE", "/_admin/agents/@bob.shut", "").await.ok(204);
    assert!(of_bob().await.is_empty());
}

#[tokio::test]
async fn what_another_process_changes_shows_when_its_event_arrives() {
    let house = House::new();
    let neighbour = house.neighbour();
    neighbour.agent("@alice.bot", r#""policy":"open""#).await;
    neighbour.agent("@bob.open", r#""policy":"open""#).await;
    let deadline = Instant::now() + Duration::from_secs(5);
    while reach(&house, "@alice.bot", "bob").await != ["@bob.open"] {
        assert!(Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    neighbour.post(OPERATOR, "/_admin/agents/@bob.open/blocks", r#"{"handle":"@alice.bot"}"#).await.ok(201);
    while !reach(&house, "@alice.bot", "bob").await.is_empty() {
        assert!(Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
}

/// What others committed is waited for, and no older trust is acted upon: it arrives, or there is no answer.
#[tokio::test(start_paused = true)]
async fn what_another_process_committed_is_waited_for() {
    let store = Store::new();
    let (one, other) = (store.process(true), store.process(true));
    let here = Accounts::new(one.log.clone(), Arc::new(SystemClock), TokenDigest::of(OPERATOR));
    here.begin().await.unwrap();
    here.observe_others().await.unwrap();
    assert!(here.reachable(&"@a.b".parse().unwrap(), &"c".parse().unwrap()).await.unwrap().is_empty());

    let there = House::on_log(other.log);
    there.agent("@alice.bot", r#""policy":"open""#).await;
    there.agent("@bob.open", r#""policy":"open""#).await;
    let started_at = Instant::now();
    assert!(matches!(here.observe_others().await, Err(Fault::Unavailable(_))), "nothing is heard yet");
    assert_eq!(started_at.elapsed(), OBSERVATION_WAIT);

    let waiting = here.observe_others();
    let delivering = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(here.clone())];
        tokio::spawn(dispatch(one.feed, Arc::new(Presence::default()), observers));
    };
    let (observed, ()) = tokio::join!(waiting, delivering);
    observed.expect("it has come");
    let reached = here.reachable(&"@alice.bot".parse().unwrap(), &"bob".parse().unwrap()).await.unwrap();
    assert_eq!(reached.len(), 1);
}

fn handles(page: &serde_json::Value) -> Vec<String> {
    let agents = page["agents"].as_array().unwrap();
    agents.iter().map(|agent| agent["handle"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_agent_lists_whom_it_can_reach_and_nobody_else() {
    let house = House::new();
    let alice = house.agent("@alice.bot", r#""policy":"open""#).await;
    house.agent("@alice.other", r#""policy":"open""#).await;
    house.agent("@bob.open", r#""policy":"open""#).await;
    house.agent("@bob.shut", "").await;
    house.agent("@carol.lists", r#""allowlist":["@alice.*"]"#).await;
    let all = house.call(&alice, "GET", "/agents", "").await.ok(200);
    assert_eq!(
        all["agents"],
        serde_json::json!([
            {"handle": "@alice.other", "trust": "same_owner"},
            {"handle": "@bob.open", "trust": "open"},
            {"handle": "@carol.lists", "trust": "allowlisted"},
        ])
    );
    assert_eq!(all.get("next_cursor"), None);
    for (query, found) in [
        ("owner=bob", vec!["@bob.open"]),
        ("owner=~bob", vec!["@bob.open"]),
        ("owner=nobody", vec![]),
        ("query=OPEN", vec!["@bob.open"]),
        ("query=shut", vec![]),
    ] {
        let page = house.call(&alice, "GET", &format!("/agents?{query}"), "").await.ok(200);
        assert_eq!(handles(&page), found, "{query}");
    }
    house.post(OPERATOR, "/_admin/agents/@bob.open/blocks", r#"{"handle":"@alice.bot"}"#).await.ok(201);
    assert_eq!(handles(&house.call(&alice, "GET", "/agents?owner=bob", "").await.ok(200)), [""; 0]);
}

#[tokio::test]
async fn pages_of_reachable_agents_name_nobody_else_in_their_cursors() {
    let house = House::new();
    let alice = house.agent("@alice.bot", r#""policy":"open""#).await;
    let other = house.agent("@dave.bot", "").await;
    for nth in 0..6 {
        let policy = if nth % 2 == 0 { r#""policy":"open""# } else { "" };
        house.agent(&format!("@bob.a{nth}"), policy).await;
    }
    let (mut found, mut path) = (Vec::new(), "/agents?limit=1".to_owned());
    loop {
        let page = house.call(&alice, "GET", &path, "").await.ok(200);
        found.extend(handles(&page));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/agents?limit=1&cursor={cursor}");
        house.call(&other, "GET", &path, "").await.refused(400, "invalid_cursor");
    }
    assert_eq!(found, ["@bob.a0", "@bob.a2", "@bob.a4"]);
    for (query, code) in [
        ("limit=0", "invalid_limit"),
        ("limit=101", "invalid_limit"),
        ("cursor=x", "invalid_cursor"),
        ("cursor=@bob.a0", "invalid_cursor"),
        ("owner=-", "invalid_owner"),
    ] {
        house.call(&alice, "GET", &format!("/agents?{query}"), "").await.refused(400, code);
    }
    house.call(OPERATOR, "GET", "/agents", "").await.refused(401, "invalid_authorization");
}

#[tokio::test]
async fn past_its_limit_a_page_ends_where_it_stopped_looking() {
    let house = House::new();
    let alice = house.agent("@alice.bot", r#""policy":"open""#).await;
    for nth in 0..plenary_accounts::limits::AGENTS_READ_MAX {
        house.agent(&format!("@bob.a{nth:04}"), "").await;
    }
    house.agent("@carol.open", r#""policy":"open""#).await;
    let page = house.call(&alice, "GET", "/agents", "").await.ok(200);
    assert_eq!(handles(&page), [""; 0]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let page = house.call(&alice, "GET", &format!("/agents?cursor={cursor}"), "").await.ok(200);
    assert_eq!(handles(&page), ["@carol.open"]);
}
