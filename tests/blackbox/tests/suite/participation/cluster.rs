//! Two processes on one database run the same agents: each message has one answer, and whoever is left goes on.

use blackbox::{Database, Server, TestDependency};
use serde_json::json;

use super::speak::{ECHO, config, contents, joined, opened, said_by, says};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_answer_once_and_one_goes_on() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let serve = || Server::builder().database(database.url()).config(&config()).start();
    // Both make the accounts at once.
    let (mut one, two) = tokio::join!(serve(), serve());
    let nick = one.agent("@nick.ann").await;
    let there = nick.at(&two);
    let id = opened(&nick, &[ECHO], None).await;
    joined(&nick, &id, ECHO).await;
    for n in 0..10 {
        let who = if n % 2 == 0 { &nick } else { &there };
        who.say(&id, format!("{n}")).await;
    }
    let said = says(&there, &id, ECHO, 10).await;
    let mut answers = contents(&said);
    answers.sort_unstable();
    assert_eq!(answers, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    // Whichever reacted: the one that is left sees to what is said now.
    one.kill().await;
    there.say(&id, "alone").await;
    let said = says(&there, &id, ECHO, 11).await;
    assert!(contents(&said).contains(&"alone"), "{said:?}");
    assert_eq!(said_by(&there, &id, ECHO).await.len(), 11);
    let listed = two.operator().get("/_admin/agents").await.ok(200);
    assert_eq!(listed["agents"].as_array().map(Vec::len), Some(3), "{}", json!(listed));
    drop((one, two));
    database.remove().await;
}
