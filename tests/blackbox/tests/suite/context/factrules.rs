//! What is refused of facts, with its field, and leaves the state as it was: AP-42, AP-44, AP-75, 0.4 #11, D.7.

use blackbox::Agent;
use serde_json::{Value, json};

use super::speak::{
    PROJECT, ago, assert_fact, assert_field, days, desk, enc, facts, facts_of, present, with,
};

async fn refuse(nick: &Agent, members: Value, field: &str) {
    let body = with(json!({"subject": "s", "predicate": "p", "value": "1"}), members);
    let response = nick.post(&facts_of(PROJECT), body).await;
    response.assert_refused(400, "invalid_schema");
    assert_field(&response, field);
}

/// AP-42, AP-44: every wrong kind, by name.
#[tokio::test]
async fn ap_42_wrong_facts_are_refused() {
    let (_server, nick) = desk().await;
    for (members, field) in [
        (json!({"subject": null}), "subject"),
        (json!({"predicate": ["x"]}), "predicate"),
        (json!({"value": 97.0}), "value"),
        (json!({"confidence": 1.1}), "confidence"),
        (json!({"source_package_id": 7}), "source_package_id"),
        (json!({"tags": ["x", null]}), "tags[1]"),
        (json!({"asserted_by": {"id": nick.handle, "type": "robot"}}), "asserted_by.type"),
    ] {
        refuse(&nick, members, field).await;
    }
    let bare = nick.post(&facts_of(PROJECT), json!({"subject": "s", "predicate": "p"})).await;
    bare.assert_refused(400, "invalid_schema");
    assert_field(&bare, "value");
    // A time finer than a nanosecond could not be compared with the others.
    for from in ["2026-04-10", "2026-04-10T12:00:00.0000000005Z"] {
        let fact = json!({"subject": "s", "predicate": "p", "value": "1", "valid_from": from});
        let refused = nick.post(&facts_of(PROJECT), fact).await;
        refused.assert_refused(400, "invalid_schema");
        assert_field(&refused, "valid_from");
    }
    for body in [json!([]), json!(null)] {
        nick.post(&facts_of(PROJECT), body).await.assert_refused(400, "invalid_schema");
    }
    nick.get(&facts_of(PROJECT)).await.assert_refused(404, "project_not_found");
}

/// 0.4 #11, D.7: no interval is inverted, empty, or overlaps one that ended, and none begins in the future.
#[tokio::test]
async fn ap_75_intervals_never_overlap() {
    let (_server, nick) = desk().await;
    let at = |from: &str| json!({"subject": "s", "predicate": "p", "value": from, "valid_from": from});
    let refuse = async |from: &str| {
        let response = nick.post(&facts_of(PROJECT), at(from)).await;
        response.assert_refused(400, "invalid_valid_from");
        assert_field(&response, "valid_from");
    };
    refuse(&ago(-60_000)).await;
    refuse("2999-01-01T00:00:00Z").await;
    nick.get(&facts_of(PROJECT)).await.assert_refused(404, "project_not_found");
    assert_fact(&nick, at("2026-04-10T12:00:00Z")).await;
    for from in [
        "2026-04-10T12:00:00Z",
        "2026-04-10T12:00:00.000+00:00",
        "2026-04-10T11:59:59.999Z",
        "2020-01-01T00:00:00Z",
    ] {
        refuse(from).await;
    }
    assert_fact(&nick, at("2026-04-10T12:00:00.001Z")).await;
    let retract = format!("{}?subject=s&predicate=p", facts_of(PROJECT));
    nick.delete(&retract).await.ok(200);
    let history = facts(&nick, "include_ended=true&subject=s").await;
    let ended = history.iter().find(|fact| fact["value"] == "2026-04-10T12:00:00.001Z").expect("the second");
    let end = ended["valid_to"].as_str().expect("it ended").to_owned();
    for from in ["2026-04-10T12:00:00.001Z", "2026-04-10T12:00:00.002Z", "2026-05-01T00:00:00Z"] {
        refuse(from).await;
    }
    refuse(&ago(days(1))).await;
    // Exactly at the end of the last one is where the next may begin.
    assert_fact(&nick, at(&end)).await;
    assert_eq!(facts(&nick, "include_ended=true").await.len(), 3);
    // Another subject has its own time.
    let other = json!({"subject": "t", "predicate": "p", "value": "x", "valid_from": "2020-01-01T00:00:00Z"});
    assert_fact(&nick, other).await;
    let as_of = format!("subject=s&predicate=p&as_of={}", enc(&end));
    assert_eq!(facts(&nick, &as_of).await.len(), 1);
}

/// D.7: what a client on the same clock calls now is not the future, however fine its clock.
#[tokio::test]
async fn ap_75_now_is_not_the_future() {
    let (_server, nick) = desk().await;
    for number in 0..100 {
        let now = present();
        let body = json!({"subject": format!("s{number}"), "predicate": "p", "value": "1", "valid_from": now.clone()});
        let made = assert_fact(&nick, body).await;
        assert_eq!(super::speak::instant(&made["valid_from"]), super::speak::instant(&json!(now)));
    }
}

/// AP-89: members that nobody knows are kept when they begin with `x-`.
#[tokio::test]
async fn ap_89_extensions_of_a_fact_are_kept() {
    let (_server, nick) = desk().await;
    let body = json!({"subject": "s", "predicate": "p", "value": "1", "x-trust-score": {"n": [1.5, null]}});
    let made = assert_fact(&nick, body.clone()).await;
    assert_eq!(made["x-trust-score"], body["x-trust-score"]);
    assert_eq!(facts(&nick, "").await, [made]);
}

/// The members that the server makes are the server's.
#[tokio::test]
async fn ap_41_the_server_makes_ids_and_times() {
    let (_server, nick) = desk().await;
    let body = json!({
        "subject": "s", "predicate": "p", "value": "1", "project_id": PROJECT,
        "fact_id": "fact_00000000000000000000000000000000", "created_at": "2020-01-01T00:00:00Z",
        "valid_to": "2020-01-02T00:00:00Z",
    });
    let response = nick.post(&facts_of(PROJECT), body).await;
    if response.status == 201 {
        let made = response.json();
        assert_eq!(made["valid_to"], json!(null), "what is asserted is current");
        assert!(super::speak::instant(&made["created_at"]).as_str() > "2026", "recorded now: {made}");
    } else {
        response.refusal_code(400);
    }
    let other = json!({"subject": "s", "predicate": "p", "value": "1", "project_id": "another"});
    let response = nick.post(&facts_of("one"), other).await;
    assert!(response.status == 400 || response.json()["project_id"] == "one", "one project each: {response}");
}
