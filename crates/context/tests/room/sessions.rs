//! Sessions and callsigns.

use serde_json::{Value, json};

use crate::house::{House, package};

#[tokio::test]
async fn ap_13_ap_14_ap_15_a_session_knows_its_packages_and_is_found_by_its_callsign() {
    let house = House::new().await;
    let path = "/v1/projects/p/sessions";
    house.post(&house.nick, path, &json!({})).await.refused(404, "project_not_found", "-");
    house.post(&house.owner, "/v1/projects", &json!({"project_id": "p"})).await.ok(201);
    let session = house.post(&house.nick, path, &json!({"actor_id": "nick"})).await.ok(201);
    let members: Vec<_> = session.as_object().unwrap().keys().map(String::as_str).collect();
    let eight = [
        "actor_id",
        "actor_type",
        "callsign",
        "ended_at",
        "packages_deposited",
        "project_id",
        "session_id",
        "started_at",
    ];
    assert_eq!(members, eight);
    assert_eq!((&session["actor_id"], &session["ended_at"]), (&json!("nick"), &Value::Null));
    let (id, callsign) = (session["session_id"].as_str().unwrap(), session["callsign"].as_str().unwrap());
    assert_eq!(id.strip_prefix("sess_").map(str::len), Some(32));
    for (nth, name) in ["b", "a"].iter().enumerate() {
        let by = json!({"created_by": {"id": "a", "type": "agent", "session_id": id}});
        house.deposit(&package(name, nth, &by)).await.ok(201);
    }
    let found = house.get(&house.nick, &format!("{path}?callsign={callsign}")).await.ok(200);
    assert_eq!(found["sessions"][0]["packages_deposited"], json!(["b", "a"]));
    assert_eq!(
        house.get(&house.nick, &format!("{path}?callsign=no-one")).await.ok(200),
        json!({"sessions": []})
    );

    let one = format!("{path}/{id}");
    let patch = async |token: &str, body: &str| house.send(token, "PATCH", &one, body.to_owned()).await;
    patch(&house.nick, "{\"ended_at\":null}").await.refused(400, "invalid_schema", "ended_at");
    patch(&house.nick, "{\"ended_at\":\"2001-01-01T00:00:00Z\"}").await.refused(
        400,
        "invalid_schema",
        "ended_at",
    );
    patch(&house.acme, "{}").await.refused(404, "project_not_found", "-");
    let ended = patch(&house.nick, "{\"ended_at\":\"2999-01-01T00:00:00Z\"}").await.ok(200);
    assert_eq!(ended["ended_at"], "2999-01-01T00:00:00Z");
    patch(&house.nick, "{}").await.ok(200);
    patch(&house.nick, "{\"ended_at\":\"2999-01-02T00:00:00Z\"}").await.refused(409, "session_ended", "-");
    assert_eq!(house.get(&house.nick, &one).await.ok(200)["ended_at"], "2999-01-01T00:00:00Z");
    house.get(&house.nick, &format!("{path}/sess_none")).await.refused(404, "session_not_found", "-");
    let forged = json!({"actor_id": "ann"});
    house.post(&house.nick, path, &forged).await.refused(403, "unauthorized", "actor_id");
}
