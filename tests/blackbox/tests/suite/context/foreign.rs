//! What belongs to somebody else looks like what does not exist: AP-101, D.4, D.7.

use blackbox::Agent;
use serde_json::json;

use super::speak::{PROJECT, assert_fact, deposit, deposited, desk, package_with};

async fn furnish(nick: &Agent) {
    deposited(nick, &package_with(&nick.handle, "draft", json!({"status": "draft"}))).await;
    deposited(nick, &package_with(&nick.handle, "waiting", json!({"status": "awaiting_review"}))).await;
    assert_fact(nick, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
}

/// A foreigner does not write either, and learns nothing of ids in the project.
#[tokio::test]
async fn ap_101_foreigners_do_not_write() {
    let (server, nick) = desk().await;
    let mallory = server.agent("@mallory.bot").await;
    furnish(&nick).await;
    let theirs = format!("nick:{PROJECT}");
    let into = json!({"project_id": theirs});
    let fresh = deposit(&mallory, &package_with(&mallory.handle, "fresh", into.clone())).await;
    fresh.assert_refused(404, "project_not_found");
    let taken = deposit(&mallory, &package_with(&mallory.handle, "draft", into)).await;
    taken.assert_refused(404, "project_not_found");
    assert_eq!(fresh.fingerprint(), taken.fingerprint());
    let fact = json!({"subject": "s", "predicate": "p", "value": "2"});
    mallory
        .post(&format!("/v1/projects/{theirs}/facts"), fact)
        .await
        .assert_refused(404, "project_not_found");
    let session = mallory.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await;
    session.assert_refused(404, "project_not_found");
    let facts = nick.get(&format!("/v1/projects/{PROJECT}/facts?include_ended=true")).await.ok(200);
    assert_eq!(facts["facts"].as_array().map(Vec::len), Some(1));
    nick.get("/v1/packages/fresh").await.assert_refused(404, "package_not_found");
}

/// The global digest and the list of projects show what is one's own.
#[tokio::test]
async fn ap_62_a_global_digest_is_ones_own() {
    let (server, nick) = desk().await;
    let mallory = server.agent("@mallory.bot").await;
    furnish(&nick).await;
    let theirs = package_with(&mallory.handle, "theirs", json!({"project_id": "theirs"}));
    deposited(&mallory, &theirs).await;
    for path in ["/v1/orchestrate", "/v1/projects"] {
        let text = mallory.get(path).await.ok(200).to_string();
        assert!(text.contains("theirs") && !text.contains(PROJECT), "{path}: {text}");
        let text = nick.get(path).await.ok(200).to_string();
        assert!(!text.contains("theirs") && text.contains(PROJECT), "{path}: {text}");
        let text = server.operator().get(path).await.ok(200).to_string();
        assert!(text.contains("theirs") && text.contains(PROJECT), "{path}: {text}");
    }
}
