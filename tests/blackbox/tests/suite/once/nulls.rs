//! The description says that a member of a request may be null exactly where null is taken: for every operation that writes,
//! with every member that its request may have.
//! Must not know: what an operation does.

use blackbox::{Server, room};
use serde_json::{Map, Value, json};

use super::rows::{EachTime, Row, Scene};

/// The schemas that are part of a schema and fit a value: of the forms of an enum with a tag, its own.
fn forms<'a>(described: &'a Value, schema: &'a Value, value: &Value) -> Vec<&'a Value> {
    let (mut found, mut pending) = (Vec::new(), vec![schema]);
    while let Some(schema) = pending.pop() {
        let named = schema["$ref"].as_str().and_then(|name| described.pointer(name.trim_start_matches('#')));
        pending.extend(named);
        for keyword in ["allOf", "anyOf", "oneOf"] {
            pending.extend(schema[keyword].as_array().into_iter().flatten());
        }
        let properties = schema["properties"].as_object();
        let differs =
            |(name, member): (&String, &Value)| member.get("const").is_some_and(|tag| *tag != value[name]);
        if !properties.is_some_and(|properties| properties.iter().any(differs)) {
            found.push(schema);
        }
    }
    found
}

fn admits_null(described: &Value, schema: &Value) -> bool {
    let has_null = |schema: &&Value| {
        let kind = &schema["type"];
        kind == "null" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("null")))
    };
    forms(described, schema, &Value::Null).iter().any(has_null)
}

/// The members of a value that may be null by the description, each as a path of names and positions.
fn nullable(described: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    for form in forms(described, schema, value) {
        for (name, member) in form["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}/{name}");
            if admits_null(described, member) && value.is_object() {
                found.push(path.clone());
            }
            if let Some(value) = value.get(name) {
                nullable(described, member, value, &path, found);
            }
        }
        for (nth, item) in value.as_array().into_iter().flatten().enumerate() {
            nullable(described, &form["items"], item, &format!("{path}/{nth}"), found);
        }
    }
}

/// The body with another value of a member, or without it.
fn changed(body: &Value, path: &str, to: Option<Value>) -> Value {
    let mut body = body.clone();
    let (within, name) = path.rsplit_once('/').expect("a path");
    let empty = &mut Map::new();
    let members = body.pointer_mut(within).and_then(Value::as_object_mut).unwrap_or(empty);
    match to {
        Some(value) => drop(members.insert(name.to_owned(), value)),
        None => drop(members.remove(name)),
    }
    body
}

async fn is_malformed(row: &Row, body: &Value) -> bool {
    matches!(row.by.call(row.method, &row.path, &[], Some(body)).await.status, 400 | 422)
}

#[tokio::test]
async fn null_is_described_where_it_is_taken() {
    let server = Server::start().await;
    let scene = Scene::new(&server).await;
    let mut rows = scene.accounts(&server).await;
    rows.extend(scene.sessions().await);
    rows.extend(scene.context().await);
    rows.extend(scene.others().await);
    rows.extend(scene.requests().await);
    rows.extend(scene.notifications().await);
    let session = room(&[&scene.nick]).await;
    let parts = json!({"content": [
        {"type": "text", "text": "t"}, {"type": "data", "data": {}},
        {"type": "image", "url": "https://a.example/i"}, {"type": "file", "url": "https://a.example/f"},
    ]});
    let nick = &scene.nick;
    let path = format!("/sessions/{session}/messages");
    rows.push(super::rows::row(
        "session.send",
        EachTime("parts"),
        nick,
        ("POST", path),
        (parts, Value::Null),
    ));
    let described = server.operator().get("/openapi.json").await.ok(200);
    let operations = described["paths"].as_object().expect("paths").values();
    let operations: Vec<&Value> =
        operations.flat_map(|methods| methods.as_object().expect("methods").values()).collect();
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for row in &rows {
        let operation = operations.iter().find(|operation| operation["operationId"] == row.id);
        let schema = operation.map_or(&Value::Null, |operation| {
            &operation["requestBody"]["content"]["application/json"]["schema"]
        });
        let body = row.body.clone().unwrap_or_else(|| json!({}));
        let mut members = Vec::new();
        nullable(&described, schema, &body, "", &mut members);
        for member in members {
            asked += 1;
            // A body may also need the member, or refuse it beside another.
            if is_malformed(row, &changed(&body, &member, Some(Value::Null))).await
                && !is_malformed(row, &changed(&body, &member, None)).await
            {
                wrong.push(format!("{} {member}", row.id));
            }
        }
    }
    assert!(asked > 100, "{asked} members");
    assert!(wrong.is_empty(), "described as nullable, and refused: {wrong:?}");
}
