//! Projects: made, described, archived; and what is not there.

use plenary_context::{Config, attribution::Attribution};
use serde_json::{Value, json};

use crate::house::{House, OPERATOR, package};

#[tokio::test]
async fn a_project_is_made_by_hand_or_by_its_first_package() {
    let house = House::new().await;
    let made =
        house.post(&house.owner, "/v1/projects", &json!({"project_id": "p", "name": "P"})).await.ok(201);
    for (name, value) in [
        ("project_id", json!("p")),
        ("id", json!("p")),
        ("name", json!("P")),
        ("description", json!("")),
        ("owner_id", json!("nick")),
        ("settings", json!({})),
        ("archived_at", Value::Null),
    ] {
        assert_eq!(made[name], value, "{name}");
    }
    let taken = house.post(&house.nick, "/v1/projects", &json!({"project_id": "p"})).await;
    taken.refused(409, "project_exists", "-");
    house.post(&house.owner, "/v1/projects", &json!({})).await.refused(400, "invalid_schema", "project_id");
    house.deposit(&package("a", 0, &json!({"project_id": "q"}))).await.ok(201);
    let fact = json!({"subject": "s", "predicate": "p", "value": "v"});
    house.post(&house.nick, "/v1/projects/r/facts", &fact).await.ok(201);
    let list = house.get(&house.nick, "/v1/projects").await.ok(200);
    let ids: Vec<_> = list["projects"].as_array().unwrap().iter().map(|project| &project["id"]).collect();
    assert_eq!(ids, ["p", "q", "r"]);
    assert_eq!(house.get(&house.acme, "/v1/projects").await.ok(200), json!({"projects": []}));
    let named = house.send(&house.nick, "PATCH", "/v1/projects/q", "{\"name\":\"Q\"}").await.ok(200);
    assert_eq!(named["name"], "Q");
}

#[tokio::test]
async fn the_switches_hold() {
    let house = House::with(Config {
        auto_create_projects: false,
        attribution: Attribution::Open,
        ..Config::default()
    })
    .await;
    house.deposit(&package("a", 0, &json!({}))).await.refused(404, "project_not_found", "-");
    house.post(&house.owner, "/v1/projects", &json!({"project_id": "p"})).await.ok(201);
    let by = json!({"created_by": {"id": "somebody", "type": "human"}});
    house.deposit(&package("a", 0, &by)).await.ok(201);
    let house = House::new().await;
    house.deposit(&package("a", 0, &by)).await.refused(403, "unauthorized", "created_by.id");
    house.post(OPERATOR, "/v1/projects/p/packages", &package("a", 0, &by)).await.ok(201);
}

#[tokio::test]
async fn ap_2_ap_56_an_archived_project_is_read_and_not_written() {
    let house = House::new().await;
    let draft = package("a", 0, &json!({"status": "draft"}));
    house.deposit(&draft).await.ok(201);
    let switch = async |token: &str, what: &str| {
        house.post(token, &format!("/v1/projects/p/{what}"), &json!({})).await
    };
    switch(&house.nick, "archive").await.refused(403, "unauthorized", "-");
    assert!(switch(&house.owner, "archive").await.ok(200)["archived_at"].is_string());
    house.deposit(&package("b", 0, &json!({}))).await.refused(403, "project_archived", "-");
    let fact = json!({"subject": "s", "predicate": "p", "value": "v"});
    house.post(&house.nick, "/v1/projects/p/facts", &fact).await.refused(403, "project_archived", "-");
    let flag = json!({"review_type": "human"});
    house.post(&house.nick, "/v1/packages/a/flag", &flag).await.refused(403, "project_archived", "-");
    house.get(&house.nick, "/v1/packages/a").await.ok(200);
    house.deposit(&draft).await.ok(200);
    assert_eq!(switch(&house.owner, "unarchive").await.ok(200)["archived_at"], Value::Null);
    house.deposit(&package("b", 0, &json!({}))).await.ok(201);
}

#[tokio::test]
async fn ap_78_ap_79_ap_88_the_descriptor_is_true() {
    let house = House::new().await;
    let descriptor = house.get("", "/v1/conformance").await.ok(200);
    assert_eq!(
        (&descriptor["protocol_version"], &descriptor["conformance_level"]),
        (&json!("0.1"), &json!("L3"))
    );
    house.deposit(&package("a", 0, &json!({}))).await.ok(201);
    assert_eq!(descriptor["capabilities"]["keyword_search"], true);
    let found = house.get(&house.nick, "/v1/projects/p/packages?mode=relevant&query=x").await.ok(200);
    assert!(found["packages"].is_array(), "{found}");
    let empty = house.get(&house.nick, "/v1/projects/p/packages?mode=relevant").await;
    empty.refused(400, "invalid_parameter", "query");
}
