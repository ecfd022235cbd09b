//! What one owner has under way at a time, what an import may not bring, and whose state a review's answer has.

use blackbox::{Response, Server, rounds};
use serde_json::{Value, json};

use super::speak::{PROJECT, deposited, desk, facts, package, package_with, packages_of, texts};

/// The rule that refuses is named.
#[track_caller]
fn over(response: &Response, code: &str, rule: &str) {
    response.assert_refused(429, code);
    assert!(response.text().contains(rule), "{response}");
    assert!(response.header("retry-after").is_some(), "{response}");
}

/// Searches and exports have their settings, and nothing else is refused by them.
#[tokio::test]
async fn ap_60_searches_and_exports_of_an_owner_have_a_limit() {
    let quota = "[quota]\nsearches_per_owner_max = 0\nexports_per_owner_max = 0\n";
    let server = Server::builder().config(quota).start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let search = nick.get(&format!("{}?mode=relevant&query=a", packages_of(PROJECT))).await;
    over(&search, "too_many_searches", "searches_per_owner_max");
    over(&nick.get("/v1/orchestrate?focus=a").await, "too_many_searches", "searches_per_owner_max");
    nick.get("/v1/orchestrate").await.ok(200);
    for path in [format!("/v1/projects/{PROJECT}/export"), "/v1/export".to_owned()] {
        over(&nick.get(&path).await, "too_many_exports", "exports_per_owner_max");
    }
    nick.get(&packages_of(PROJECT)).await.ok(200);
}

fn fact(id: &str, subject: &str, from: &str) -> Value {
    json!({
        "fact_id": id, "project_id": PROJECT, "subject": subject, "predicate": "p", "value": "v",
        "valid_from": from, "created_at": "2026-04-18T20:00:00Z", "valid_to": null,
    })
}

async fn imported(server: &Server, query: &str, facts: &[Value]) -> Value {
    let lines: Vec<String> = facts.iter().map(ToString::to_string).collect();
    let body = lines.join("\n");
    server.operator().post_raw(&format!("/v1/import{query}"), body.as_bytes()).await.ok(200)
}

/// AP-41: an id is one fact's, in one import and over several, whatever the clock.
#[tokio::test]
async fn ap_41_an_import_has_one_fact_for_an_id() {
    let (server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let past = "2026-04-18T20:00:00Z";
    let two = [fact("fact_1", "a", past), fact("fact_1", "b", past)];
    for query in ["?dry_run=true", ""] {
        let report = imported(&server, query, &two).await;
        assert_eq!((&report["imported"], &report["refused_count"]), (&json!(1), &json!(1)), "{report}");
        assert_eq!(report["refused"][0]["code"], "duplicate_fact_id");
    }
    let report = imported(&server, "", &[fact("fact_1", "c", past)]).await;
    assert_eq!(report["refused"][0]["code"], "duplicate_fact_id", "{report}");
    let again = facts(&nick, "").await;
    assert_eq!(again.len(), 1);
    let report = imported(&server, "", &again).await;
    assert_eq!(report["skipped"], 1, "the same fact again is no other: {report}");
    // An id that was made here is taken too.
    let path = format!("/v1/projects/{PROJECT}/facts");
    let own = nick.post(&path, json!({"subject": "d", "predicate": "p", "value": "v"})).await.ok(201);
    let id = own["fact_id"].as_str().expect("an id");
    let report = imported(&server, "", &[fact(id, "e", past)]).await;
    assert_eq!(report["refused"][0]["code"], "duplicate_fact_id", "{report}");
}

/// AP-51: no import begins or ends a fact in the future, so that the next assertion is of today.
#[tokio::test]
async fn ap_51_an_import_pushes_nothing_into_the_future() {
    let (server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let mut ends = fact("fact_2", "b", "2026-04-18T20:00:00Z");
    ends["valid_to"] = json!("2999-01-01T00:00:00Z");
    let report = imported(&server, "", &[fact("fact_1", "a", "2999-01-01T00:00:00Z"), ends]).await;
    assert_eq!(report["refused_count"], 2, "{report}");
    assert_eq!(report["refused"][0]["code"], "invalid_valid_from");
    for subject in ["a", "b"] {
        let body = json!({"subject": subject, "predicate": "p", "value": "now"});
        let made = nick.post(&format!("/v1/projects/{PROJECT}/facts"), body).await.ok(201);
        assert!(!made["valid_from"].as_str().expect("a time").starts_with("2999"), "{made}");
    }
    assert_eq!(texts(&facts(&nick, "").await, "value"), ["now", "now"]);
}

/// AP-63, AP-86: two reviews at once, and each is told of the state that it brought about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_86_a_review_is_answered_with_its_own_state() {
    let (_server, nick) = desk().await;
    for round in 0..rounds(60, 10) {
        let id = format!("p{round}");
        let awaits = json!({"status": "awaiting_review", "review_type": "human"});
        deposited(&nick, &package_with(&nick.handle, &id, awaits)).await;
        let path = format!("/v1/packages/{id}/review");
        let review = |status: &str| nick.post(&path, json!({"status": status}));
        let (asked, done) = tokio::join!(review("revision_requested"), review("complete"));
        for (answer, status) in [(asked, "revision_requested"), (done, "complete")] {
            if answer.status == 200 {
                assert_eq!(answer.json()["status"], status, "{answer}");
            }
        }
    }
}
