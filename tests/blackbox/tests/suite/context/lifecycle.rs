//! Statuses and the ways between them: AP-6, AP-7, AP-40, AP-63, AP-64, AP-74, AP-86.

use blackbox::{Agent, Response, rounds};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::speak::{assert_field, assert_package, deposited, desk, package_at, package_with, pull, with};

const STATUSES: [&str; 4] = ["draft", "awaiting_review", "revision_requested", "complete"];

async fn in_status(nick: &Agent, id: &str, status: &str) -> Value {
    let package = package_with(&nick.handle, id, json!({"status": status, "x-kept": {"n": [1, null]}}));
    deposited(nick, &package).await;
    package
}

async fn review(nick: &Agent, id: &str, body: Value) -> Response {
    nick.post(&format!("{}/review", package_at(id)), body).await
}

async fn flag(nick: &Agent, id: &str, body: Value) -> Response {
    nick.post(&format!("{}/flag", package_at(id)), body).await
}

/// AP-6, AP-7, AP-86: every way from each status to each; what is refused changes nothing.
#[tokio::test]
async fn ap_6_reviews_go_the_ways_of_the_table() {
    let (_server, nick) = desk().await;
    for from in STATUSES {
        for to in ["awaiting_review", "revision_requested", "complete"] {
            let id = format!("{from} {to}");
            let before = in_status(&nick, &id, from).await;
            let response = review(&nick, &id, json!({"status": to})).await;
            let allowed = matches!(
                (from, to),
                ("draft" | "revision_requested", "complete" | "awaiting_review")
                    | ("awaiting_review", "complete" | "revision_requested")
            );
            if allowed {
                let after = with(before, json!({"status": to}));
                assert_package(&response, 200, &after);
                assert_eq!(pull(&nick, &id).await, after);
            } else {
                response.assert_refused(400, "invalid_transition");
                assert_eq!(pull(&nick, &id).await, before, "{id}");
            }
        }
    }
}

/// AP-63: a flag sets both; on what awaits review already it changes the reviewer only (D.7).
#[tokio::test]
async fn ap_63_a_flag_asks_for_review() {
    let (_server, nick) = desk().await;
    for from in ["draft", "awaiting_review", "revision_requested"] {
        let mut package = in_status(&nick, from, from).await;
        for kind in ["human", "agent", "agent", "human"] {
            let response = flag(&nick, from, json!({"review_type": kind, "note": "look at step 3 é"})).await;
            package = with(package, json!({"status": "awaiting_review", "review_type": kind}));
            assert_package(&response, 200, &package);
            assert_eq!(pull(&nick, from).await, package);
        }
    }
}

/// AP-7, AP-64: what is complete is not flagged, and what is unknown is not found.
#[tokio::test]
async fn ap_64_a_flag_may_be_refused() {
    let (_server, nick) = desk().await;
    let package = in_status(&nick, "done", "complete").await;
    for kind in ["human", "agent"] {
        flag(&nick, "done", json!({"review_type": kind})).await.assert_refused(400, "invalid_transition");
    }
    flag(&nick, "unknown", json!({"review_type": "human"})).await.assert_refused(404, "package_not_found");
    review(&nick, "unknown", json!({"status": "complete"})).await.assert_refused(404, "package_not_found");
    assert_eq!(pull(&nick, "done").await, package);
    let package = in_status(&nick, "draft", "draft").await;
    for (body, field) in [
        (json!({}), "review_type"),
        (json!({"review_type": "none"}), "review_type"),
        (json!({"review_type": "human", "note": ["x"]}), "note"),
    ] {
        let response = flag(&nick, "draft", body).await;
        response.assert_refused(400, "invalid_schema");
        assert_field(&response, field);
    }
    let response = review(&nick, "draft", json!({"status": "approved"})).await;
    response.assert_refused(400, "invalid_schema");
    assert_field(&response, "status");
    assert_eq!(pull(&nick, "draft").await, package);
}

/// AP-86: a whole round of review.
#[tokio::test]
async fn ap_86_a_review_goes_round() {
    let (mut server, nick) = desk().await;
    let mut package = in_status(&nick, "one", "draft").await;
    let steps = [
        (true, "human", "awaiting_review"),
        (false, "human", "revision_requested"),
        (true, "agent", "awaiting_review"),
        (false, "agent", "revision_requested"),
        (false, "agent", "awaiting_review"),
        (false, "agent", "complete"),
    ];
    for (flagging, kind, status) in steps {
        let response = if flagging {
            flag(&nick, "one", json!({"review_type": kind})).await
        } else {
            review(&nick, "one", json!({"status": status, "note": "so it is"})).await
        };
        package = with(package, json!({"status": status, "review_type": kind}));
        assert_package(&response, 200, &package);
        server.crash().await;
        assert_eq!(pull(&nick, "one").await, package);
    }
    for status in ["awaiting_review", "revision_requested", "complete"] {
        review(&nick, "one", json!({"status": status})).await.assert_refused(400, "invalid_transition");
    }
    assert_eq!(pull(&nick, "one").await, package);
}

/// AP-74: there is no way to write a committed package.
#[tokio::test]
async fn ap_74_a_package_is_not_written_again() {
    let (_server, nick) = desk().await;
    let package = in_status(&nick, "done", "complete").await;
    for method in ["PUT", "PATCH", "DELETE", "POST"] {
        let response = nick.call(method, &package_at("done"), &[], Some(&json!({"title": "changed"}))).await;
        assert!((400..500).contains(&response.status), "{response}");
    }
    assert_eq!(pull(&nick, "done").await, package);
}

/// AP-6 at the same time: of two reviewers who decide differently, one decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_6_racing_reviews_decide_once() {
    let (_server, nick) = desk().await;
    for round in 0..rounds(20, 5) {
        let id = format!("race{round}");
        let package = in_status(&nick, &id, "awaiting_review").await;
        let answers = join_all((0..8).map(|_| review(&nick, &id, json!({"status": "complete"})))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            answer.assert_refused(400, "invalid_transition");
        }
        assert_eq!(pull(&nick, &id).await, with(package, json!({"status": "complete"})));
    }
}
