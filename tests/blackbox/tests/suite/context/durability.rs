//! What was acknowledged is there after a stop and after a kill: AP-35, AP-40, AP-49, AP-53.

use std::time::Duration;

use blackbox::{Agent, Connection, Database, Server, Tally, TestDependency, rounds, strike_after};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::speak::{
    PROJECT, ago, assert_fact, assert_package, deposited, facts, facts_of, instant, latest, package_with,
    packages_of, pull, texts,
};

/// Everything that can be read of the project, to compare.
async fn picture(nick: &Agent) -> Vec<String> {
    let project = format!("/v1/projects/{PROJECT}");
    let mut seen = Vec::new();
    for path in [
        project.clone(),
        format!("{project}/packages?mode=latest&limit=100"),
        format!("{project}/reviews"),
        format!("{project}/facts?include_ended=true"),
        format!("{project}/sessions"),
        "/v1/packages/p0".to_owned(),
        "/v1/packages/p1".to_owned(),
        "/v1/packages/p1/reviews".to_owned(),
        "/v1/projects".to_owned(),
    ] {
        let response = nick.get(&path).await;
        response.ok(200);
        seen.push(response.fingerprint());
    }
    seen
}

/// AP-53: a stop and a kill change nothing of what is read.
#[tokio::test]
async fn ap_53_a_restart_keeps_all() {
    let (mut server, [nick]) = Server::with(["@nick.cc-laptop"]).await;
    nick.post("/v1/projects", json!({"project_id": PROJECT, "name": "n", "description": "d"})).await.ok(201);
    let session = nick.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await.ok(201);
    for number in 0..8 {
        let by = json!({"id": nick.handle, "type": "agent", "session_id": session["session_id"]});
        let members = json!({"status": "draft", "created_by": by, "created_at": ago(1_000 * number)});
        deposited(&nick, &package_with("", &format!("p{number}"), members)).await;
        assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": number.to_string()})).await;
    }
    nick.post("/v1/packages/p1/flag", json!({"review_type": "human", "note": "look"})).await.ok(200);
    nick.post("/v1/packages/p2/review", json!({"status": "complete"})).await.ok(200);
    nick.delete(&format!("{}?subject=s&predicate=p", facts_of(PROJECT))).await.ok(200);
    let before = picture(&nick).await;
    server.stop().await;
    server.restart().await;
    assert_eq!(picture(&nick).await, before);
    server.crash().await;
    assert_eq!(picture(&nick).await, before);
}

/// AP-38, AP-39: where the disk has changed a package, the change is not passed on as the package.
#[tokio::test]
async fn ap_38_a_changed_package_is_reported() {
    let (mut server, nick) = super::speak::desk().await;
    let members = |id: &str| json!({"description": format!("the {id} words"), "x-pad": "p".repeat(200)});
    for id in ["first", "second"] {
        deposited(&nick, &package_with(&nick.handle, id, members(id))).await;
    }
    server.stop().await;
    let mut changed = 0;
    for entry in std::fs::read_dir(server.data()).expect("a directory").flatten() {
        let Ok(mut bytes) = std::fs::read(entry.path()) else { continue };
        let (was, now) = (b"the first words", b"the worst words");
        let places: Vec<_> =
            (0..bytes.len().saturating_sub(was.len())).filter(|at| bytes[*at..].starts_with(was)).collect();
        for at in &places {
            bytes[*at..at + was.len()].copy_from_slice(now);
        }
        if !places.is_empty() {
            changed += 1;
            std::fs::write(entry.path(), bytes).expect("the file can be written");
        }
    }
    assert!(changed > 0, "the words are on the disk");
    server.restart().await;
    for path in ["/v1/packages/first".to_owned(), packages_of(PROJECT)] {
        let response = nick.get(&path).await;
        assert!(!response.text().contains("worst words"), "{response}");
    }
    let response = nick.get("/v1/packages/first").await;
    assert!(response.status >= 500, "it is reported: {response}");
    assert_eq!(pull(&nick, "second").await, package_with(&nick.handle, "second", members("second")));
}

/// Writes until the server is gone; what was acknowledged, and what was under way at the end.
async fn write(nick: &Agent, name: &str, load: &Tally) -> (Vec<Value>, Value) {
    let mut acked = Vec::new();
    let Ok(mut connection) = Connection::open(nick.address().place()).await else {
        return (acked, json!(null));
    };
    for number in 0.. {
        let more = json!({"description": "x".repeat(number % 7 * 100), "x-number": number});
        let package = package_with(&nick.handle, &format!("{name}-{number}"), more);
        let body = package.to_string();
        let request = nick.request("POST", &packages_of(PROJECT), &[], Some(body.as_bytes()));
        match connection.round_trip(&request).await {
            Ok(response) => assert_package(&response, 201, &package),
            Err(_) => return (acked, package),
        }
        acked.push(package);
        load.count();
    }
    (acked, json!(null))
}

/// Asserts one pair until the server is gone; the ids that were acknowledged.
async fn claim(nick: &Agent, subject: &str) -> Vec<String> {
    let mut acked = Vec::new();
    let Ok(mut connection) = Connection::open(nick.address().place()).await else { return acked };
    for number in 0.. {
        let body = json!({"subject": subject, "predicate": "p", "value": number.to_string()}).to_string();
        let request = nick.request("POST", &facts_of(PROJECT), &[], Some(body.as_bytes()));
        match connection.round_trip(&request).await {
            Ok(response) => acked.push(response.ok(201)["fact_id"].as_str().expect("an id").to_owned()),
            Err(_) => break,
        }
    }
    acked
}

/// AP-49: the line of a pair is whole: one current fact, no gap, no overlap, nothing acknowledged missing.
async fn assert_claims(nick: &Agent, subject: &str, acked: &[String]) {
    let mut history = facts(nick, &format!("subject={subject}&predicate=p&include_ended=true")).await;
    history.sort_by_key(|fact| instant(&fact["valid_from"]));
    let found = texts(&history, "fact_id");
    assert!(found.starts_with(acked), "{subject}: {} acknowledged, {} there", acked.len(), found.len());
    assert!(found.len() <= acked.len() + 1, "one at most was under way");
    for (fact, next) in history.iter().zip(&history[1..]) {
        assert_eq!(instant(&fact["valid_to"]), instant(&next["valid_from"]), "both happen or neither");
    }
    assert!(history.last().is_none_or(|fact| fact["valid_to"].is_null()), "the last is current");
}

async fn survive(mut server: Server) {
    let nick = server.agent("@nick.cc-laptop").await;
    nick.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    for round in 0..rounds(6, 2) {
        let names: Vec<_> = (0..4).map(|writer| format!("r{round}w{writer}")).collect();
        let pause = Duration::from_millis(150 + 130 * u64::try_from(round).expect("few"));
        let load = Tally::default();
        let (writers, claims, ()) = tokio::join!(
            join_all(names.iter().map(|name| write(&nick, name, &load))),
            join_all(names.iter().map(|name| claim(&nick, name))),
            async {
                load.reaches(10).await;
                strike_after(pause).await;
                server.kill().await;
            }
        );
        server.restart().await;
        for (acked, last) in &writers {
            for package in acked {
                assert_eq!(pull(&nick, package["package_id"].as_str().expect("an id")).await, *package);
            }
            if let Some(id) = last["package_id"].as_str() {
                // Whether it was stored is unknown; a retry makes it so, once.
                let again = super::speak::deposit(&nick, last).await;
                assert!([200, 201].contains(&again.status), "{again}");
                assert_eq!(pull(&nick, id).await, *last);
            }
        }
        for (name, acked) in names.iter().zip(&claims) {
            assert_claims(&nick, name, acked).await;
        }
    }
    assert!(!latest(&nick, "").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_53_acknowledged_deposits_survive_kills() {
    survive(Server::start().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_53_acknowledged_deposits_survive_kills_on_postgres() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    survive(Server::builder().database(database.url()).start().await).await;
    database.remove().await;
}
