//! `/agents/me` (wire.md D.1, D.9).

use serde_json::json;

use crate::house::House;

#[tokio::test]
async fn its_leave_is_not_its_own_to_give() {
    let house = House::new();
    let alice = house.agent("@alice.bot", r#""self_service":true"#).await;
    let body = r#"{"policy":"open","self_service":false}"#;
    let me = house.call(&alice, "PATCH", "/agents/me", body).await.ok(200);
    assert_eq!((&me["policy"], &me["self_service"]), (&json!("open"), &json!(true)));
    house
        .call(&alice, "PATCH", "/agents/me", r#"{"self_service":false}"#)
        .await
        .refused(400, "invalid_policy");
}

#[tokio::test]
async fn wrong_writes_have_their_codes() {
    let house = House::new();
    let alice = house.agent("@alice.bot", r#""self_service":true"#).await;
    for (method, path, body, code) in [
        ("PATCH", "/agents/me", "{", "invalid_json"),
        ("PATCH", "/agents/me", r#"{"policy":"ajar"}"#, "invalid_policy"),
        ("POST", "/agents/me/allowlist", r#"{"entries":[]}"#, "invalid_allowlist_entry"),
        ("DELETE", "/agents/me/allowlist/b.c", "", "invalid_allowlist_entry"),
        ("POST", "/agents/me/blocks", r#"{"handle":"eve"}"#, "invalid_handle"),
        ("POST", "/agents/me/blocks", r#"{"handle":"@alice.bot"}"#, "invalid_block_target"),
        ("DELETE", "/agents/me/blocks/eve", "", "invalid_handle"),
        ("GET", "/agents/me/blocks?limit=101", "", "invalid_limit"),
        ("GET", "/agents/me/blocks?cursor=eve", "", "invalid_cursor"),
    ] {
        house.call(&alice, method, path, body).await.refused(400, code);
    }
}

#[tokio::test]
async fn blocks_come_in_pages_and_end_with_null() {
    let house = House::new();
    let alice = house.agent("@alice.bot", r#""self_service":true"#).await;
    for n in 0..5 {
        let body = format!("{{\"handle\":\"@eve.n{n}\"}}");
        house.post(&alice, "/agents/me/blocks", &body).await.ok(201);
    }
    let first = house.get(&alice, "/agents/me/blocks?limit=3").await.ok(200);
    assert_eq!((first["blocks"].as_array().unwrap().len(), &first["next_cursor"]), (3, &json!("@eve.n2")));
    let rest = house.get(&alice, "/agents/me/blocks?limit=3&cursor=@eve.n2").await.ok(200);
    assert_eq!((rest["blocks"].as_array().unwrap().len(), &rest["next_cursor"]), (2, &json!(null)));
    assert!(rest["blocks"][1]["created_at"].as_u64().unwrap() > 0);
}
