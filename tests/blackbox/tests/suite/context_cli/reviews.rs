//! Reviews from the command line: asked for, sent back, approved, and kept.

use blackbox::Server;
use serde_json::json;

use super::{desk, json_of, owner, package};

#[tokio::test]
async fn ap_63_ap_86_ap_87_a_review_goes_back_and_forth_and_ends_for_good() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let nick = owner(&server, "nick").await;
    assert!(ann.run(&["context", "review", "list"]).await.err.contains("no package awaits review"));
    let asked = ann.run(&["context", "deposit", "--title", "Drop it?", "--review", "human"]).await;
    assert!(asked.err.contains("awaits review by human"), "{asked:?}");
    let id = asked.out.trim();
    let waiting = nick.run_ok(&["context", "review", "list"]).await;
    assert!(waiting.contains(id) && waiting.contains("Drop it?"), "{waiting}");
    assert!(
        ann.run_ok(&["context", "orient"]).await.contains("do not build on it before a human approves"),
        "P5"
    );
    assert!(ann.run_ok(&["context", "daily"]).await.contains("## Waits for review"));
    let back = nick.run_ok(&["context", "review", "revise", id, "--note", "one release longer"]).await;
    assert_eq!(back, format!("{id} sent back for changes: Drop it?"));
    ann.run_ok(&["context", "review", "resubmit", id]).await;
    let approved = json_of(&nick.run_ok(&["context", "review", "approve", id, "-n", "fine", "--json"]).await);
    assert_eq!((&approved["package_id"], &approved["status"]), (&json!(id), &json!("complete")));
    let again = nick.run(&["context", "review", "revise", id]).await;
    assert!(again.code == 1 && again.err.contains("--parent ID"), "AP-7: {again:?}");
    let log = ann.run_ok(&["context", "review", "log", id]).await;
    let steps: Vec<&str> = log.lines().collect();
    assert!(steps.len() == 4 && steps[0].contains("@nick.ann deposit → awaiting_review by human"), "{log}");
    assert!(steps[1].ends_with("review → revision_requested: one release longer"), "{log}");
    assert!(steps[3].contains("~nick review → complete: fine"), "{log}");
}

#[tokio::test]
async fn ap_64_a_review_is_asked_for_of_what_is_not_complete() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let draft = ann.run_ok(&["context", "deposit", "--title", "Half", "--status", "draft"]).await;
    let asked =
        ann.run_ok(&["context", "review", "request", &draft, "--by", "agent", "--note", "look"]).await;
    assert_eq!(asked, format!("{draft} awaits review by agent: Half"));
    assert_eq!(package(&ann, &draft).await["review_type"], "agent");
    let done = ann.run_ok(&["context", "deposit", "--title", "Done"]).await;
    assert_eq!(ann.run(&["context", "review", "request", &done]).await.code, 1);
    let absent = ann.run(&["context", "review", "approve", "pkg_none"]).await;
    assert!(absent.code == 1 && absent.err.contains("404 package_not_found"), "{absent:?}");
}

#[tokio::test]
async fn ap_72_the_actor_follows_the_token() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let nick = owner(&server, "nick").await;
    let id = nick.run(&["context", "deposit", "--title", "By a person"]).await.out.trim().to_owned();
    let by = package(&ann, &id).await["created_by"].clone();
    assert_eq!((&by["id"], &by["type"]), (&json!("nick"), &json!("human")));
}
