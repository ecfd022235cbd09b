//! Two processes on one PostgreSQL are one substrate: CH-4, CH-11, CH-24, CH-26, CH-27, CH-28 across both. What one
//! acknowledged, the very next request at the other sees.
//! Must not know: how they tell each other.

mod load;
mod steps;

use blackbox::{Caller, Database, Server, TestDependency};
use serde_json::Value;

use super::{events, id};

pub(super) struct Pair {
    pub(super) a: Server,
    pub(super) b: Server,
    database: Database,
}

/// Two servers, or nothing when the run has no PostgreSQL.
pub(super) async fn two(config: &str) -> Option<Pair> {
    let TestDependency::Available(url) = TestDependency::postgres() else { return None };
    let database = Database::create(&url).await;
    let start = || Server::builder().database(database.url()).config(config).start();
    let (a, b) = tokio::join!(start(), start());
    Some(Pair { a, b, database })
}

impl Pair {
    pub(super) async fn remove(self) {
        drop((self.a, self.b));
        self.database.remove().await;
    }
}

/// All events, oldest first.
pub(super) async fn log(who: &Caller, channel: &str, query: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().map_or(0, id);
        let mut page = events(who, channel, &format!("?limit=500&after_id={after}{query}")).await;
        if page.is_empty() {
            return all;
        }
        page.reverse();
        all.append(&mut page);
    }
}

/// The ids of the channels that are listed.
pub(super) async fn listed(who: &Caller, query: &str) -> Vec<String> {
    let list = who.get(&format!("/agent-channel{query}")).await.ok(200);
    let list = list.as_array().expect("a bare array");
    list.iter().map(|one| one["id"].as_str().expect("an id").to_owned()).collect()
}

#[track_caller]
pub(super) fn assert_rising(log: &[Value]) {
    assert!(log.windows(2).all(|pair| id(&pair[0]) < id(&pair[1])), "ids rise");
}
