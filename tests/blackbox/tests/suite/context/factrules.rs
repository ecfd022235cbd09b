//! What is refused of facts, with its field, and leaves the state as it was: AP-42, AP-44, AP-75, 0.4 #11, D.7.

use blackbox::Agent;
use serde_json::{Value, json};

use super::speak::{
    PROJECT, ago, assert_fact, assert_field, days, desk, enc, facts, facts_of, present, with,
};

async fn refuse(nick: &Agent, members: Value, field: &str) {
    let body = with(json!({"subject": "s", "predicate": "p", "value": "1"}), members);
    let response = nick.post(&facts_of(PROJECT), body).await;
    response.refused(400, "invalid_schema");
    assert_field(&response, field);
}

/// AP-42, AP-44: every wrong kind, by name.
#[tokio::test]
async fn ap_42_wrong_facts_are_refused() {
    let (_server, nick) = desk().await;
    for name in ["subject", "predicate", "value"] {
        for bad in [json!(null), json!(97.0), json!(1), json!(true), json!([]), json!({}), json!(["x"])] {
            refuse(&nick, json!({ name: bad }), name).await;
        }
        let mut body = json!({"subject": "s", "predicate": "p", "value": "1"});
        body.as_object_mut().expect("an object").remove(name);
        let response = nick.post(&facts_of(PROJECT), body).await;
        response.refused(400, "invalid_schema");
        assert_field(&response, name);
    }
    for bad in [json!(-0.1), json!(1.1), json!(2), json!("1.0"), json!(null), json!([1]), json!(true)] {
        refuse(&nick, json!({ "confidence": bad }), "confidence").await;
    }
    for bad in [json!(7), json!([]), json!({}), json!(true)] {
        refuse(&nick, json!({ "source_package_id": bad }), "source_package_id").await;
    }
    for (bad, field) in [
        (json!(null), "tags"),
        (json!("x"), "tags"),
        (json!({}), "tags"),
        (json!([1]), "tags[0]"),
        (json!(["x", null]), "tags[1]"),
    ] {
        refuse(&nick, json!({ "tags": bad }), field).await;
    }
    for (bad, field) in [
        (json!("nick"), "asserted_by"),
        (json!([]), "asserted_by"),
        (json!({"type": "agent"}), "asserted_by.id"),
        (json!({"id": 7, "type": "agent"}), "asserted_by.id"),
        (json!({"id": nick.handle}), "asserted_by.type"),
        (json!({"id": nick.handle, "type": "robot"}), "asserted_by.type"),
        (json!({"id": nick.handle, "type": "agent", "session_id": 7}), "asserted_by.session_id"),
    ] {
        refuse(&nick, json!({ "asserted_by": bad }), field).await;
    }
    for body in [json!([]), json!("x"), json!(null), json!(7)] {
        nick.post(&facts_of(PROJECT), body).await.refused(400, "invalid_schema");
    }
    nick.get(&facts_of(PROJECT)).await.refused(404, "project_not_found");
}

/// AP-44: the bounds of confidence are good.
#[tokio::test]
async fn ap_44_confidence_is_between_0_and_1() {
    let (_server, nick) = desk().await;
    for good in [json!(0), json!(0.0), json!(0.5), json!(1), json!(1.0), json!(1e-9)] {
        let made =
            assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "1", "confidence": good}))
                .await;
        assert_eq!(made["confidence"].as_f64(), good.as_f64());
    }
}

/// AP-70: a time of a fact is one.
#[tokio::test]
async fn ap_70_valid_from_is_a_time() {
    let (_server, nick) = desk().await;
    for bad in [
        json!(""),
        json!("2026-04-10"),
        json!("2026-04-10T12:00:00"),
        json!("2026-04-10T12:00:00+02:00"),
        json!("2026-02-30T12:00:00Z"),
        json!(1_776_542_400),
        json!(true),
        json!([]),
    ] {
        let body = json!({"subject": "s", "predicate": "p", "value": "1", "valid_from": bad});
        let response = nick.post(&facts_of(PROJECT), body).await;
        response.refused_any(400, &["invalid_schema", "invalid_valid_from"]);
        assert_field(&response, "valid_from");
    }
    nick.get(&facts_of(PROJECT)).await.refused(404, "project_not_found");
}

/// 0.4 #11, D.7: no interval is inverted, empty, or overlaps one that ended, and none begins in the future.
#[tokio::test]
async fn ap_75_intervals_never_overlap() {
    let (_server, nick) = desk().await;
    let at = |from: &str| json!({"subject": "s", "predicate": "p", "value": from, "valid_from": from});
    let refuse = async |from: &str| {
        let response = nick.post(&facts_of(PROJECT), at(from)).await;
        response.refused(400, "invalid_valid_from");
        assert_field(&response, "valid_from");
    };
    refuse(&ago(-60_000)).await;
    refuse("2999-01-01T00:00:00Z").await;
    nick.get(&facts_of(PROJECT)).await.refused(404, "project_not_found");
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

/// D.7: octets that are no UTF-8 are no name, and never that of the replacement character.
#[tokio::test]
async fn ap_104_octets_that_are_no_text_name_nothing() {
    let (_server, nick) = desk().await;
    let named = json!({"subject": "\u{fffd}", "predicate": "\u{fffd}", "value": "\u{fffd}"});
    let made = assert_fact(&nick, named).await;
    let good = "subject=%EF%BF%BD&predicate=%EF%BF%BD&object=%EF%BF%BD";
    for (bad, field) in [
        (good.replacen("%EF%BF%BD", "%ff", 1), "subject"),
        (good.replacen("predicate=%EF%BF%BD", "predicate=%C3", 1), "predicate"),
        (good.replacen("object=%EF%BF%BD", "object=%ED%A0%80", 1), "object"),
    ] {
        let path = format!("{}?{bad}", facts_of(PROJECT));
        let response = nick.delete(&path).await;
        response.refused_as(400);
        assert_field(&response, field);
        if field != "object" {
            let response = nick.get(&path).await;
            response.refused_as(400);
            assert_field(&response, field);
        }
    }
    assert_eq!(facts(&nick, "").await, [made]);
    let gone = nick.delete(&format!("{}?{good}", facts_of(PROJECT))).await.ok(200);
    assert_eq!(gone, json!({"invalidated": 1}));
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
        response.refused_as(400);
    }
    let other = json!({"subject": "s", "predicate": "p", "value": "1", "project_id": "another"});
    let response = nick.post(&facts_of("one"), other).await;
    assert!(response.status == 400 || response.json()["project_id"] == "one", "one project each: {response}");
}
