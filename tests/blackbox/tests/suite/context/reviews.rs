//! What is kept of reviews, and who waits for one: AP-7, AP-87, 0.4 #2 and #18.

use blackbox::Caller;
use serde_json::{Value, json};

use super::canonical::hash_of;
use super::speak::{
    PROJECT, deposited, desk, latest, list, package_at, package_with, packages_of, pull, texts, with,
};

async fn log(caller: &Caller, id: &str) -> Value {
    caller.get(&format!("{}/reviews", package_at(id))).await.ok(200)
}

/// 0.4 #2, #18: notes and every earlier version's hash stand in the log, not in the package.
#[tokio::test]
async fn ap_40_the_log_keeps_notes_and_hashes() {
    let (mut server, nick) = desk().await;
    let first = package_with(&nick.handle, "one", json!({"status": "draft"}));
    deposited(&nick, &first).await;
    let flag = json!({"review_type": "human", "note": "is step 3 \"right\"? é"});
    nick.post("/v1/packages/one/flag", flag).await.ok(200);
    let second = with(first.clone(), json!({"status": "awaiting_review", "review_type": "human"}));
    let verdict = json!({"status": "revision_requested", "note": "no, look again"});
    nick.post("/v1/packages/one/review", verdict).await.ok(200);
    nick.post("/v1/packages/one/review", json!({"status": "draft"})).await.refusal_code(400);
    nick.post("/v1/packages/one/review", json!({"status": "complete"})).await.ok(200);
    for _ in 0..2 {
        let body = log(&nick, "one").await;
        let entries = list(&body, "reviews");
        let notes: Vec<_> = entries.iter().filter_map(|entry| entry["note"].as_str()).collect();
        assert_eq!(notes, ["is step 3 \"right\"? é", "no, look again"], "oldest first: {body}");
        let text = body.to_string();
        for version in [&first, &second, &with(second.clone(), json!({"status": "revision_requested"}))] {
            assert!(text.contains(&hash_of(&version.to_string())), "the hash of each version: {body}");
        }
        for entry in &entries {
            assert!(entry.to_string().contains(&nick.handle), "who did it: {entry}");
        }
        assert!(pull(&nick, "one").await.get("note").is_none());
        server.crash().await;
    }
    nick.get("/v1/packages/two/reviews").await.assert_refused(404, "package_not_found");
}

/// AP-87: those that await review, by either path, newest first.
#[tokio::test]
async fn ap_87_what_awaits_review_is_listed() {
    let (_server, nick) = desk().await;
    for (number, status) in
        ["draft", "awaiting_review", "complete", "awaiting_review", "revision_requested"].iter().enumerate()
    {
        let members = json!({"status": status, "created_at": format!("2026-04-1{number}T00:00:00Z")});
        deposited(&nick, &package_with(&nick.handle, &format!("p{number}"), members)).await;
    }
    nick.post("/v1/packages/p0/flag", json!({"review_type": "human"})).await.ok(200);
    let waiting = latest(&nick, "&status=awaiting_review").await;
    assert_eq!(texts(&waiting, "package_id"), ["p3", "p1", "p0"]);
    let alias = nick.get(&format!("/v1/projects/{PROJECT}/reviews")).await.ok(200);
    assert_eq!(list(&alias, "packages"), waiting);
    assert_eq!(latest(&nick, "&status=awaiting_review&limit=1").await, waiting[..1]);
    nick.post("/v1/packages/p1/review", json!({"status": "complete"})).await.ok(200);
    assert_eq!(texts(&latest(&nick, "&status=awaiting_review").await, "package_id"), ["p3", "p0"]);
    assert_eq!(texts(&latest(&nick, "&status=complete").await, "package_id"), ["p2", "p1"]);
    let path = format!("{}?mode=latest&status=pending", packages_of(PROJECT));
    nick.get(&path).await.refusal_code(400);
}
