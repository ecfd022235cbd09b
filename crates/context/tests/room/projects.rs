//! Projects: members of implementations, and long lists.

use serde_json::{Value, json};

use crate::house::{House, OPERATOR};

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
