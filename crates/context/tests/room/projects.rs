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

/// No number loses a digit, wherever a project or a session is shown, and on the way to another server.
#[tokio::test]
async fn ap_89_extension_members_keep_their_bytes() {
    const NUMBERS: &str = r#""x-a":{"b": [0.1234567890123456789,1.50]},"x-c":1e2"#;
    let (from, to) = (House::new().await, House::new().await);
    let project = format!(r#"{{"project_id":"p",{NUMBERS}}}"#);
    let made = from.send(&from.nick, "POST", "/v1/projects", project).await;
    let session = from.send(&from.nick, "POST", "/v1/projects/p/sessions", format!("{{{NUMBERS}}}")).await;
    let id = session.ok(201)["session_id"].as_str().unwrap().to_owned();
    let changed = from.send(&from.nick, "PATCH", "/v1/projects/p", r#"{"x-d":2.00}"#).await;
    assert!(changed.body.contains(r#""x-d":2.00"#), "{changed:?}");
    let export = from.get(OPERATOR, "/v1/export").await;
    to.send(OPERATOR, "POST", "/v1/import", export.body.clone()).await.ok(200);
    let path = format!("/v1/projects/p/sessions/{id}");
    let (project, session_there) = (to.get(&to.nick, "/v1/projects/p").await, to.get(&to.nick, &path).await);
    let lists =
        (from.get(&from.nick, "/v1/projects").await, from.get(&from.nick, "/v1/projects/p/sessions").await);
    for answer in [&made, &session, &changed, &export, &project, &session_there, &lists.0, &lists.1] {
        assert!(answer.body.contains(NUMBERS), "{answer:?}");
    }
    assert_eq!(export.body.matches(NUMBERS).count(), 2, "{export:?}");
    let events = from.begins(&from.nick, "/v1/projects/p/events?after=0").await;
    assert_eq!(events.matches(NUMBERS).count(), 2, "{events}");
    assert!(events.contains(r#""changed":{"x-d":2.00}"#), "{events}");
    let again = to.send(OPERATOR, "POST", "/v1/import?conflict=overwrite", export.body).await.ok(200);
    assert_eq!((&again["skipped"], &again["overwritten"]), (&json!(2), &json!(0)), "{again}");
}

/// A list that is too large for one answer has further pages.
#[tokio::test]
async fn a_list_of_projects_continues() {
    let house = House::new().await;
    for nth in 0..270 {
        let project = json!({"project_id": format!("p{nth:03}"), "description": "d".repeat(16_000)});
        house.post(&house.nick, "/v1/projects", &project).await.ok(201);
    }
    let ids = |page: &Value| -> Vec<String> {
        let projects = page["projects"].as_array().unwrap().iter();
        projects.map(|project| project["project_id"].as_str().unwrap().to_owned()).collect()
    };
    let first = house.get(&house.nick, "/v1/projects").await.ok(200);
    assert_eq!(first["x-truncated"], json!(["projects"]));
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = house.get(&house.nick, &format!("/v1/projects?cursor={cursor}")).await.ok(200);
    let expected: Vec<String> = (0..270).map(|nth| format!("p{nth:03}")).collect();
    assert_eq!([ids(&first), ids(&rest)].concat(), expected);
    assert_eq!((&rest["next_cursor"], &rest["x-truncated"]), (&Value::Null, &Value::Null));
    let wrong = house.get(&house.nick, "/v1/projects?cursor=a/b").await;
    wrong.refused(400, "invalid_cursor", "cursor");
}
