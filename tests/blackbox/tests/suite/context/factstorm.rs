//! Many clients on one subject and predicate, and a kill in the middle: AP-47, AP-49, AP-65, AP-75.

use std::time::Duration;

use blackbox::{Agent, Connection, Database, Server, Tally, TestDependency, rounds, strike_after};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::factmodel::micros;
use super::factraces::assert_line;
use super::speak::{PROJECT, enc, facts, facts_of, texts};

const CLIENTS: usize = 12;

/// Asserts the pair until the server is gone; what was acknowledged.
async fn claim(nick: &Agent, name: &str, load: &Tally) -> Vec<Value> {
    let mut acked = Vec::new();
    let Ok(mut connection) = Connection::open(nick.address().place()).await else { return acked };
    for number in 0.. {
        let body = json!({"subject": "s", "predicate": "p", "value": format!("{name} {number}")}).to_string();
        let request = nick.request("POST", &facts_of(PROJECT), &[], Some(body.as_bytes()));
        match connection.round_trip(&request).await {
            Ok(response) => acked.push(response.ok(201)),
            Err(_) => break,
        }
        load.count();
    }
    acked
}

/// All pages of the pair's history.
async fn history(nick: &Agent) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("{}?subject=s&predicate=p&include_ended=true{cursor}", facts_of(PROJECT));
        let page = nick.get(&path).await.ok(200);
        found.extend(super::speak::list(&page, "facts"));
        let Some(next) = page["next_cursor"].as_str() else { return found };
        cursor = format!("&cursor={}", enc(next));
    }
}

/// AP-49: what was acknowledged stands in the line as it was told, the seams fit, one is current, and beyond it there
/// is at most one fact of each client, which was under way.
async fn assert_whole(nick: &Agent, acked: &[Value], cut: usize) {
    let mut line = history(nick).await;
    assert_line(&mut line);
    for (fact, next) in line.iter().zip(&line[1..]) {
        assert_eq!(micros(&fact["valid_to"]), micros(&next["valid_from"]), "both happen or neither");
    }
    assert!(line.last().is_some_and(|fact| fact["valid_to"].is_null()), "one is current");
    assert_eq!(facts(nick, "subject=s&predicate=p").await, line[line.len() - 1..]);
    for fact in acked {
        let kept = line.iter().find(|kept| kept["fact_id"] == fact["fact_id"]);
        let mut kept = kept.unwrap_or_else(|| panic!("acknowledged and lost: {fact}")).clone();
        kept["valid_to"] = json!(null);
        assert_eq!(kept, *fact, "as it was told");
    }
    assert!(line.len() <= acked.len() + cut, "{} are there, {} were acknowledged", line.len(), acked.len());
    let mut values = texts(&line, "value");
    values.sort();
    values.dedup();
    assert_eq!(values.len(), line.len(), "none was written twice");
}

async fn storm(mut server: Server) {
    let nick = server.agent("@nick.cc-laptop").await;
    nick.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    let mut acked = Vec::new();
    for round in 0..rounds(5, 2) {
        let names: Vec<_> = (0..CLIENTS).map(|client| format!("{round}.{client}")).collect();
        let pause = Duration::from_millis(250 + 170 * u64::try_from(round).expect("few"));
        let load = Tally::default();
        let (claims, ()) =
            tokio::join!(join_all(names.iter().map(|name| claim(&nick, name, &load))), async {
                load.reaches(CLIENTS).await;
                strike_after(pause).await;
                server.kill().await;
            });
        acked.extend(claims.into_iter().flatten());
        server.restart().await;
        assert_whole(&nick, &acked, CLIENTS * (round + 1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_49_a_storm_on_one_pair_survives_kills() {
    storm(Server::start().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_49_a_storm_on_one_pair_survives_kills_on_postgres() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    storm(Server::builder().database(database.url()).start().await).await;
    database.remove().await;
}
