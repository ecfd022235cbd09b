//! Facts: long histories and lists.

use serde_json::json;

use crate::house::House;

const PATH: &str = "/v1/projects/p/facts";

#[tokio::test]
async fn ap_51_the_fact_of_a_moment_is_found_in_a_history_of_any_length() {
    let house = House::new().await;
    let of = "subject=dash%2Fboard&predicate=status";
    // Two rows for each ended version: more than one read of a list examines.
    for nth in 0..5_100 {
        let fact = json!({"subject": "dash/board", "predicate": "status", "value": nth.to_string()});
        house.post(&house.nick, PATH, &fact).await.ok(201);
    }
    let page = house.get(&house.nick, &format!("{PATH}?{of}&as_of=2999-01-01")).await.ok(200);
    assert_eq!(page["facts"].as_array().unwrap().len(), 1);
    assert_eq!(page["facts"][0]["value"], json!("5099"));
    assert!(page["next_cursor"].is_null());
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
