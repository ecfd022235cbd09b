//! Facts: supersession, time, invalidation.

use serde_json::{Value, json};

use crate::house::{House, package};

const PATH: &str = "/v1/projects/p/facts";

fn fact(value: &str, further: &Value) -> Value {
    let mut fact = json!({"subject": "dash/board", "predicate": "status", "value": value});
    for (name, value) in further.as_object().unwrap() {
        fact[name] = value.clone();
    }
    fact
}

async fn facts(house: &House, query: &str) -> Vec<Value> {
    let list = house.get(&house.nick, &format!("{PATH}?{query}")).await.ok(200);
    list["facts"].as_array().unwrap().clone()
}

async fn values(house: &House, query: &str) -> Vec<String> {
    let facts = facts(house, query).await;
    facts.iter().map(|fact| fact["value"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn ap_47_ap_48_ap_51_ap_85_now_and_then() {
    let house = House::new().await;
    for (value, since) in [("one", "2026-04-01T00:00:00Z"), ("two", "2026-04-10T00:00:00Z")] {
        let asserted =
            house.post(&house.nick, PATH, &fact(value, &json!({"valid_from": since}))).await.ok(201);
        assert_eq!((&asserted["valid_to"], &asserted["value"]), (&Value::Null, &json!(value)));
        assert_eq!(asserted["valid_from"], since, "as it was sent");
    }
    house
        .post(&house.nick, PATH, &json!({"subject": "dash", "predicate": "status2", "value": "x"}))
        .await
        .ok(201);
    let of = "subject=dash%2Fboard&predicate=status";
    assert_eq!(values(&house, of).await, ["two"]);
    assert_eq!(values(&house, "predicate=status").await, ["two"]);
    assert_eq!(values(&house, "").await.len(), 2);
    assert_eq!(values(&house, &format!("{of}&include_ended=true")).await, ["one", "two"]);
    for (at, expected) in [
        ("2026-03-31T23:59:59Z", vec![]),
        ("2026-04-01", vec!["one"]),
        ("2026-04-09T23:59:59.999999Z", vec!["one"]),
        ("2026-04-10T00:00:00%2B00:00", vec!["two"]),
        ("2026-04-11", vec!["two"]),
    ] {
        assert_eq!(values(&house, &format!("{of}&as_of={at}")).await, expected, "{at}");
    }
    let early = fact("x", &json!({"valid_from": "2026-04-10T00:00:00Z"}));
    house.post(&house.nick, PATH, &early).await.refused(400, "invalid_valid_from", "valid_from");
    house.get(&house.nick, &format!("{PATH}?as_of=soon")).await.refused(400, "invalid_parameter", "as_of");
}

#[tokio::test]
async fn ap_51_the_fact_of_a_moment_is_found_in_a_history_of_any_length() {
    let house = House::new().await;
    let of = "subject=dash%2Fboard&predicate=status";
    // Two rows for each ended version: more than one read of a list examines.
    for nth in 0..5_100 {
        house.post(&house.nick, PATH, &fact(&nth.to_string(), &json!({}))).await.ok(201);
    }
    let page = house.get(&house.nick, &format!("{PATH}?{of}&as_of=2999-01-01")).await.ok(200);
    assert_eq!(page["facts"].as_array().unwrap().len(), 1);
    assert_eq!(page["facts"][0]["value"], json!("5099"));
    assert!(page["next_cursor"].is_null());
}

#[tokio::test]
async fn ap_52_ap_66_ap_67_invalidation_keeps_history() {
    let house = House::new().await;
    let of = "subject=dash%2Fboard&predicate=status";
    let end = |object: &str| format!("{PATH}?{of}{object}");
    house.post(&house.nick, PATH, &fact("up", &json!({}))).await.ok(201);
    let ended = async |object: &str| house.send(&house.nick, "DELETE", &end(object), "").await.ok(200);
    assert_eq!(ended("&object=down").await, json!({"invalidated": 0}));
    assert_eq!(ended("&object=up").await, json!({"invalidated": 1}));
    assert_eq!(ended("").await, json!({"invalidated": 0}));
    assert!(facts(&house, of).await.is_empty());
    let kept = facts(&house, &format!("{of}&include_ended=1")).await;
    assert!(kept.len() == 1 && kept[0]["valid_to"].is_string());
    let half = house.send(&house.nick, "DELETE", &format!("{PATH}?subject=a"), "").await;
    half.refused(400, "invalid_parameter", "predicate");
    house.send(&house.nick, "DELETE", "/v1/projects/q/facts?subject=a&predicate=b", "").await.refused(
        404,
        "project_not_found",
        "-",
    );
}

#[tokio::test]
async fn ap_49_ap_65_ap_75_assertions_at_once_never_overlap() {
    let house = House::new().await;
    let names: Vec<String> = (0..64).map(|nth| format!("v{nth}")).collect();
    let assertions = names.iter().map(|name| {
        let house = &house;
        async move { house.post(&house.nick, PATH, &fact(name, &json!({}))).await.ok(201) }
    });
    futures_util::future::join_all(assertions).await;
    assert_eq!(facts(&house, "").await.len(), 1);
    let all = facts(&house, "include_ended=true").await;
    assert_eq!(all.len(), 64);
    for pair in all.windows(2) {
        assert_eq!(pair[0]["valid_to"], pair[1]["valid_from"]);
        assert!(pair[0]["valid_from"].as_str() < pair[1]["valid_from"].as_str());
    }
    assert_eq!(all[63]["valid_to"], Value::Null);
}

#[tokio::test]
async fn ap_49_readers_never_see_the_middle_of_a_supersession() {
    let house = House::new().await;
    house.post(&house.nick, PATH, &fact("v", &json!({}))).await.ok(201);
    let writes = async {
        for nth in 0..200 {
            house.post(&house.nick, PATH, &fact(&nth.to_string(), &json!({}))).await.ok(201);
        }
    };
    let reads = async {
        for _ in 0..200 {
            for query in ["", "include_ended=true", "as_of=2999-01-01"] {
                let facts = facts(&house, query).await;
                let current = facts.iter().filter(|fact| fact["valid_to"].is_null()).count();
                assert_eq!(current, 1, "{query}");
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(writes, reads);
}

#[tokio::test]
async fn a_list_of_large_facts_goes_on_before_it_is_too_large() {
    let house = House::new().await;
    let value = "x".repeat(64 << 10);
    for nth in 0..300 {
        let fact = json!({"subject": format!("s{nth:03}"), "predicate": "p", "value": value});
        house.post(&house.nick, PATH, &fact).await.ok(201);
    }
    let (mut path, mut count) = (PATH.to_owned(), 0);
    loop {
        let list = house.get(&house.nick, &path).await;
        let page = list.ok(200);
        assert!(list.body.len() < 17 << 20, "{}", list.body.len());
        count += page["facts"].as_array().unwrap().len();
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("{PATH}?cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(count, 300);
    assert_ne!(path, PATH, "one page is not all");
}

#[tokio::test]
async fn ap_45_ap_46_ap_57_source_confidence_tags() {
    let house = House::new().await;
    house
        .deposit(&package(
            "a",
            0,
            &json!({"created_by": {"id": "nick", "type": "human", "session_id": null, "x-a": 1}}),
        ))
        .await
        .ok(201);
    let sourced =
        fact("1", &json!({"source_package_id": "a", "confidence": 0.5, "tags": ["t"], "x-k": [1.50]}));
    let asserted = house.post(&house.nick, PATH, &sourced).await;
    let by = json!({"id": "nick", "type": "human", "session_id": null, "x-a": 1});
    assert_eq!(asserted.ok(201)["asserted_by"], by);
    assert!(asserted.body.contains("\"x-k\":[1.5]"), "{asserted:?}");
    let other = json!({"subject": "s", "predicate": "p", "value": "2"});
    let own = house.post(&house.nick, PATH, &other).await.ok(201);
    assert_eq!((&own["asserted_by"]["id"], &own["confidence"]), (&json!("@nick.a"), &json!(1.0)));
    assert_eq!(values(&house, "min_confidence=0.6").await, ["2"]);
    assert_eq!(values(&house, "tag=t").await, ["1"]);
    let unknown = fact("1", &json!({"source_package_id": "nothing"}));
    house.post(&house.nick, PATH, &unknown).await.refused(400, "invalid_schema", "source_package_id");
    let forged = fact("1", &json!({"asserted_by": {"id": "ann", "type": "human"}}));
    house.post(&house.nick, PATH, &forged).await.refused(403, "unauthorized", "asserted_by.id");
    house.post(&house.nick, PATH, &fact("", &json!({"value": 97.0}))).await.refused(
        400,
        "invalid_schema",
        "value",
    );
}

#[tokio::test]
async fn a_long_list_of_facts_goes_on_at_its_cursor() {
    let house = House::new().await;
    for nth in 0..12 {
        let fact = json!({"subject": format!("s{nth:02}"), "predicate": "p", "value": nth.to_string()});
        house.post(&house.nick, PATH, &fact).await.ok(201);
    }
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let list = house.get(&house.nick, &format!("{PATH}?limit=5{cursor}")).await.ok(200);
        all.extend(list["facts"].as_array().unwrap().iter().map(|fact| fact["subject"].clone()));
        let Some(next) = list["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={}", next.replace('%', "%25"));
    }
    assert_eq!(all.len(), 12);
    assert!(all.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()));
    let whole = house.get(&house.nick, &format!("{PATH}?limit=12")).await.ok(200);
    assert_eq!(whole.get("next_cursor"), None);
}

#[tokio::test]
async fn ap_48_an_assertion_does_not_end_itself() {
    let house = House::new().await;
    let facts = "/v1/projects/p/facts";
    let ended = json!({"subject": "s", "predicate": "p", "value": "v", "valid_from": "2026-01-01T00:00:00Z",
        "valid_to": "2026-02-01T00:00:00Z"});
    house.post(&house.nick, facts, &ended).await.refused(400, "invalid_schema", "valid_to");
    let open = json!({"subject": "s", "predicate": "p", "value": "v", "valid_to": null});
    house.post(&house.nick, facts, &open).await.ok(201);
}

#[tokio::test]
async fn ap_67_an_invalidation_ends_no_more_than_it_was_asked_to() {
    let house = House::new().await;
    let facts = "/v1/projects/p/facts";
    let fact = json!({"subject": "s", "predicate": "p", "value": "v"});
    house.post(&house.nick, facts, &fact).await.ok(201);
    let unknown = format!("{facts}?subject=s&predicate=p&value=w");
    house.send(&house.nick, "DELETE", &unknown, "").await.refused(400, "invalid_parameter", "value");
    let current = house.get(&house.nick, facts).await.ok(200);
    assert_eq!(current["facts"].as_array().unwrap().len(), 1);
}
