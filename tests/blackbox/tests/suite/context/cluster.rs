//! Two processes on one PostgreSQL are one memory: AP-49, AP-65, AP-84, AP-101 across both.
//! Must not know: how they tell each other.

use blackbox::{Database, Server, TestDependency, rounds};
use serde_json::json;

use super::factraces::race;
use super::speak::{
    PROJECT, assert_fact, assert_package, deposit, deposited, facts, latest, package, package_with, pull,
};

struct Pair {
    a: Server,
    b: Server,
    database: Database,
}

/// Two servers, or nothing when the run has no PostgreSQL.
async fn two() -> Option<Pair> {
    let TestDependency::Available(url) = TestDependency::postgres() else { return None };
    let database = Database::create(&url).await;
    let start = || Server::builder().database(database.url()).start();
    let (a, b) = tokio::join!(start(), start());
    Some(Pair { a, b, database })
}

impl Pair {
    async fn remove(self) {
        drop((self.a, self.b));
        self.database.remove().await;
    }
}

/// AP-65: on two processes over one PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_65_two_processes_never_overlap() {
    let Some(pair) = two().await else { return };
    let nick = pair.a.agent("@nick.cc-laptop").await;
    let nick_b = nick.at(&pair.b);
    race(&[&nick, &nick_b]).await;
    pair.remove().await;
}

/// AP-84: one id, two contents, two processes: one is stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_84_two_processes_store_one() {
    let Some(pair) = two().await else { return };
    let nick = pair.a.agent("@nick.cc-laptop").await;
    let nick_b = nick.at(&pair.b);
    for round in 0..rounds(20, 5) {
        let id = format!("race{round}");
        let variant = |number: usize| package_with(&nick.handle, &id, json!({"title": format!("v{number}")}));
        let (one, two) = (variant(1), variant(2));
        let (on_a, on_b) = tokio::join!(deposit(&nick, &one), deposit(&nick_b, &two));
        let (made, lost, winner) = if on_a.status == 201 { (on_a, on_b, one) } else { (on_b, on_a, two) };
        assert_package(&made, 201, &winner);
        lost.assert_refused(409, "duplicate_package_id");
        for reader in [&nick, &nick_b] {
            assert_eq!(pull(reader, &id).await, winner);
        }
    }
    pair.remove().await;
}

/// AP-53, AP-63, AP-101: what one was told, the other knows at once: packages, states, facts, shares, archives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_53_what_one_keeps_the_other_shows() {
    let Some(pair) = two().await else { return };
    let owner = pair.a.owner("nick").await;
    let nick = pair.a.agent("@nick.cc-laptop").await;
    let nick_b = nick.at(&pair.b);
    let guest = pair.a.agent("@guest.bot").await.at(&pair.b);
    guest.get(&format!("/v1/projects/{PROJECT}")).await.assert_refused(404, "project_not_found");
    for round in 0..rounds(20, 5) {
        let id = format!("p{round}");
        let package = package_with(&nick.handle, &id, json!({"status": "draft"}));
        deposited(&nick, &package).await;
        assert_eq!(pull(&nick_b, &id).await, package);
        assert!(latest(&nick_b, "&limit=100").await.contains(&package));
        let path = format!("/v1/packages/{id}/flag");
        let flagged = nick_b.post(&path, json!({"review_type": "human"})).await.ok(200);
        assert_eq!(pull(&nick, &id).await["status"], flagged["status"]);
        let path = format!("/v1/packages/{id}/review");
        nick.post(&path, json!({"status": "complete"})).await.ok(200);
        nick_b.post(&path, json!({"status": "complete"})).await.assert_refused(400, "invalid_transition");
        let fact = json!({"subject": "s", "predicate": "p", "value": id});
        let made = assert_fact(if round % 2 == 0 { &nick } else { &nick_b }, fact).await;
        for reader in [&nick, &nick_b] {
            assert_eq!(facts(reader, "subject=s&predicate=p").await, std::slice::from_ref(&made));
        }
    }
    let share = format!("/v1/projects/{PROJECT}/members/@guest.bot");
    for (role, status) in [("reader", 403), ("writer", 201), ("reviewer", 403), ("writer", 201)] {
        owner.put(&share, json!({ "role": role })).await.ok(200);
        let mine = package(&guest.handle, &format!("guest-{role}-{status}"));
        let response = deposit(&guest, &mine).await;
        assert!(response.status == status || response.status == 200, "as {role}: {response}");
    }
    owner.post_empty(&format!("/v1/projects/{PROJECT}/archive")).await.ok(200);
    deposit(&nick_b, &package(&nick.handle, "late")).await.assert_refused(403, "project_archived");
    pair.remove().await;
}
