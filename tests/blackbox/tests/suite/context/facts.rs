//! Facts: their shape, supersession, points in time, invalidation, filters: AP-41 to AP-48, AP-51, AP-52, AP-66, AP-67.

use blackbox::{Agent, assert_keys};
use serde_json::{Value, json};

use super::speak::{
    PROJECT, assert_fact, deposited, desk, enc, facts, facts_of, instant, package_with, texts,
};

const NEEDED: [&str; 7] =
    ["fact_id", "project_id", "subject", "predicate", "value", "valid_from", "created_at"];
const OPTIONAL: [&str; 5] = ["valid_to", "source_package_id", "confidence", "asserted_by", "tags"];

fn at(subject: &str, value: &str, from: &str) -> Value {
    json!({"subject": subject, "predicate": "status", "value": value, "valid_from": from})
}

async fn retract(nick: &Agent, query: &str) -> Value {
    nick.delete(&format!("{}?{query}", facts_of(PROJECT))).await.ok(200)
}

/// AP-41, AP-43, AP-44: what comes out, with its defaults.
#[tokio::test]
async fn ap_41_43_44_a_fact_has_its_shape() {
    let (mut server, nick) = desk().await;
    let made =
        assert_fact(&nick, json!({"subject": "dashboard", "predicate": "status", "value": "97.0"})).await;
    assert_keys(&made, &NEEDED, &OPTIONAL);
    let id = made["fact_id"].as_str().expect("an id").strip_prefix("fact_").expect("fact_ + 32 hex");
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{made}");
    assert_eq!(made["project_id"], PROJECT);
    assert_eq!((&made["subject"], &made["predicate"]), (&json!("dashboard"), &json!("status")));
    assert_eq!(made["value"], "97.0");
    assert_eq!((&made["valid_to"], &made["source_package_id"]), (&json!(null), &json!(null)));
    assert_eq!((made["confidence"].as_f64(), &made["tags"]), (Some(1.0), &json!([])));
    assert!(instant(&made["valid_from"]) <= instant(&json!(super::speak::ago(-1_000))), "{made}");
    instant(&made["created_at"]);
    let whole = json!({
        "subject": "s é", "predicate": "p", "value": "", "confidence": 0.25, "tags": ["a", "b", "a"],
        "asserted_by": {"id": nick.handle, "type": "script", "session_id": null, "x-more": [1.5]},
        "valid_from": "2026-04-10T12:00:00Z", "source_package_id": null,
    });
    let rich = assert_fact(&nick, whole.clone()).await;
    for member in ["subject", "predicate", "value", "confidence", "tags", "asserted_by", "source_package_id"]
    {
        assert_eq!(rich[member], whole[member], "{member}");
    }
    assert_eq!(instant(&rich["valid_from"]), instant(&whole["valid_from"]));
    server.crash().await;
    let mut all = facts(&nick, "").await;
    all.sort_by_key(|fact| fact["subject"].to_string());
    assert_eq!(all, [made, rich], "kept as told");
}

/// AP-45: without `asserted_by` it is the source package's maker, whole.
#[tokio::test]
async fn ap_45_the_source_speaks_for_a_fact() {
    let (server, nick) = desk().await;
    let by = json!({"id": "jordan", "type": "human", "session_id": "s1", "x-more": {"n": 1}});
    let operator = server.operator();
    nick.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    deposited(&operator, &package_with("", "source", json!({ "created_by": by }))).await;
    let fact = json!({"subject": "s", "predicate": "p", "value": "1", "source_package_id": "source"});
    let made = assert_fact(&nick, fact.clone()).await;
    assert_eq!((&made["asserted_by"], &made["source_package_id"]), (&by, &json!("source")));
    let own = super::speak::with(fact, json!({"asserted_by": {"id": nick.handle, "type": "agent"}}));
    assert_eq!(assert_fact(&nick, own).await["asserted_by"]["id"], json!(nick.handle));
}

/// AP-47, AP-48: the old one ends where the new one begins; also when it says the same (0.4 #10).
#[tokio::test]
async fn ap_48_a_new_fact_ends_the_old_one() {
    let (mut server, nick) = desk().await;
    let mut made = Vec::new();
    for value in ["1", "2", "2", "1", "1"] {
        made.push(assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": value})).await);
    }
    server.crash().await;
    let current = facts(&nick, "subject=s&predicate=p").await;
    assert_eq!(current, made[4..], "one is current");
    let mut history = facts(&nick, "subject=s&predicate=p&include_ended=true").await;
    history.sort_by_key(|fact| instant(&fact["valid_from"]));
    assert_eq!(texts(&history, "fact_id"), texts(&made, "fact_id"));
    for (fact, next) in history.iter().zip(&history[1..]) {
        assert_eq!(instant(&fact["valid_to"]), instant(&next["valid_from"]), "AP-48");
        assert!(instant(&fact["valid_from"]) < instant(&fact["valid_to"]), "no empty interval: {fact}");
    }
    assert_eq!(history[4]["valid_to"], json!(null));
    for (before, after) in made.iter().zip(&history) {
        for member in ["value", "valid_from", "created_at", "asserted_by", "confidence", "tags"] {
            assert_eq!(before[member], after[member], "{member} of an ended fact is as it was");
        }
    }
}

/// AP-51: `valid_from ≤ t < valid_to`.
#[tokio::test]
async fn ap_51_the_past_can_be_asked_for() {
    let (_server, nick) = desk().await;
    for (value, from) in
        [("a", "2026-04-10T12:00:00Z"), ("b", "2026-04-11T12:00:00.5Z"), ("c", "2026-04-12T12:00:00+00:00")]
    {
        assert_fact(&nick, at("s", value, from)).await;
    }
    for (t, wanted) in [
        ("2026-04-10T11:59:59.999999Z", &[][..]),
        ("2026-04-10T12:00:00Z", &["a"]),
        ("2026-04-10T12:00:00.000000Z", &["a"]),
        ("2026-04-11T12:00:00Z", &["a"]),
        ("2026-04-11T12:00:00.499999Z", &["a"]),
        ("2026-04-11T12:00:00.5Z", &["b"]),
        ("2026-04-11T12:00:00.500Z", &["b"]),
        ("2026-04-12T11:59:59.999Z", &["b"]),
        ("2026-04-12T12:00:00Z", &["c"]),
        ("2026-04-12T12:00:00+00:00", &["c"]),
        ("2999-01-01T00:00:00Z", &["c"]),
    ] {
        let found = facts(&nick, &format!("subject=s&predicate=status&as_of={}", enc(t))).await;
        assert_eq!(texts(&found, "value"), wanted, "as of {t}");
    }
    for bad in [
        "",
        "yesterday",
        "2026-04-10T12:00:00+02:00",
        "2026-04-10T12:00:00",
        "2026-04-10T12:00:00.0000000005Z",
    ] {
        let path = format!("{}?as_of={}", facts_of(PROJECT), enc(bad));
        let response = nick.get(&path).await;
        response.refusal_code(400);
        super::speak::assert_field(&response, "as_of");
    }
}

/// AP-52, AP-66: retracted is not current, but was.
#[tokio::test]
async fn ap_52_a_retracted_fact_was_true() {
    let (mut server, nick) = desk().await;
    assert_fact(&nick, at("s", "a", "2026-04-10T12:00:00Z")).await;
    assert_fact(&nick, at("s", "b", "2026-04-11T12:00:00Z")).await;
    let before = super::speak::ago(1);
    assert_eq!(retract(&nick, "subject=s&predicate=status").await, json!({"invalidated": 1}));
    assert_eq!(retract(&nick, "subject=s&predicate=status").await, json!({"invalidated": 0}));
    assert_eq!(retract(&nick, "subject=unknown&predicate=status").await, json!({"invalidated": 0}));
    server.crash().await;
    assert_eq!(facts(&nick, "subject=s&predicate=status").await, Vec::<Value>::new());
    let mut history = facts(&nick, "subject=s&include_ended=true").await;
    history.sort_by_key(|fact| instant(&fact["valid_from"]));
    assert_eq!(texts(&history, "value"), ["a", "b"]);
    assert!(instant(&history[1]["valid_to"]) >= instant(&json!(before)), "it ended now: {history:?}");
    for (t, wanted) in [
        ("2026-04-10T13:00:00Z", vec!["a"]),
        ("2026-05-01T00:00:00Z", vec!["b"]),
        ("2999-01-01T00:00:00Z", vec![]),
    ] {
        let found = facts(&nick, &format!("subject=s&predicate=status&as_of={t}")).await;
        assert_eq!(texts(&found, "value"), wanted, "as of {t}");
    }
    // What is asserted afterwards begins anew, with a gap between.
    let again = assert_fact(&nick, json!({"subject": "s", "predicate": "status", "value": "c"})).await;
    assert!(instant(&again["valid_from"]) >= instant(&history[1]["valid_to"]), "{again}");
    assert_eq!(facts(&nick, "subject=s&predicate=status").await, [again]);
}

/// AP-67: `object` retracts only what has that value.
#[tokio::test]
async fn ap_67_only_that_value_is_retracted() {
    let (_server, nick) = desk().await;
    assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "a&b c"})).await;
    for other in ["x", "", "a", "A%26b%20c"] {
        let query = format!("subject=s&predicate=p&object={other}");
        assert_eq!(retract(&nick, &query).await, json!({"invalidated": 0}), "{other}");
    }
    assert_eq!(facts(&nick, "").await.len(), 1);
    for (subject, predicate) in [("s", "q"), ("t", "p")] {
        assert_fact(&nick, json!({"subject": subject, "predicate": predicate, "value": "a&b c"})).await;
    }
    let query = "subject=s&predicate=p&object=a%26b%20c";
    assert_eq!(retract(&nick, query).await, json!({"invalidated": 1}));
    assert_eq!(facts(&nick, "").await.len(), 2, "the others stay");
    assert_eq!(facts(&nick, "subject=s&predicate=p").await.len(), 0);
    for (query, field) in [("subject=s", "predicate"), ("predicate=p", "subject"), ("", "subject")] {
        let response = nick.delete(&format!("{}?{query}", facts_of(PROJECT))).await;
        response.refusal_code(400);
        super::speak::assert_field(&response, field);
    }
}

/// AP-47, D.7: subjects and predicates compare code point by code point; AP-104: no word is reserved.
#[tokio::test]
async fn ap_104_names_are_compared_by_code_points() {
    let (_server, nick) = desk().await;
    let names =
        ["é", "e\u{301}", "É", "s", "S", " s", "s ", "x-s", "valid_to", "null", "a/b?c=d&e", "%", "😀", "*"];
    for name in names {
        for predicate in ["p", "P", name] {
            assert_fact(&nick, json!({"subject": name, "predicate": predicate, "value": name})).await;
        }
    }
    assert_eq!(facts(&nick, "").await.len(), names.len() * 3, "none superseded another");
    for name in names {
        let found = facts(&nick, &format!("subject={}&predicate={}", enc(name), enc(name))).await;
        assert_eq!(texts(&found, "value"), [name]);
        assert_eq!(facts(&nick, &format!("subject={}", enc(name))).await.len(), 3);
        assert_eq!(facts(&nick, &format!("predicate={}", enc(name))).await.len(), 1);
    }
    assert_eq!(facts(&nick, "predicate=p").await.len(), names.len());
}
