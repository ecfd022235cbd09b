//! The digest.

use plenary_kernel::{TimestampMs, rfc3339::Utc};
use serde_json::{Value, json};

use crate::house::{House, package};

/// A moment so many days ago.
fn days_ago(days: u64) -> String {
    use plenary_engine::SystemClock;
    use plenary_kernel::Clock as _;
    Utc(TimestampMs(SystemClock.now().0 - days * 86_400_000)).to_string()
}

fn old(id: &str, days: u64, further: &Value) -> Value {
    let mut package = package(id, 0, further);
    package["created_at"] = json!(days_ago(days));
    package
}

#[tokio::test]
async fn ap_8_ap_62_ap_105_a_digest_of_one_project_and_of_all() {
    let house = House::new().await;
    let about = json!({"package_type": "decision", "decisions_made": ["Keep the login page"], "open_questions": ["why?"]});
    house.deposit(&old("a", 1, &about)).await.ok(201);
    house.deposit(&old("b", 2, &json!({"project_id": "q"}))).await.ok(201);
    house.deposit(&old("c", 3, &json!({"status": "draft", "open_questions": ["hidden?"]}))).await.ok(201);
    let one = house.get(&house.nick, "/v1/orchestrate?project=p&focus=login").await.ok(200);
    let summary = &one["summary"];
    assert_eq!((&summary["package_count"], &summary["by_type"]), (&json!(1), &json!({"decision": 1})));
    assert_eq!((&summary["by_status"], &summary["truncated"]), (&json!({"complete": 1}), &json!(false)));
    assert_eq!((&one["project"]["id"], one.get("projects")), (&json!("p"), None));
    assert_eq!(one["snippets"][0]["content_type"], "decision");
    assert_eq!(one["open_questions"].as_array().unwrap().len(), 1);
    let all = house.get(&house.nick, "/v1/orchestrate").await.ok(200);
    assert_eq!((&all["project"], &all["focus"]), (&Value::Null, &Value::Null));
    assert_eq!((&all["summary"]["package_count"], &all["snippets"]), (&json!(2), &json!([])));
    let count = |id: &str, packages: u64, questions: u64| json!({"project_id": id, "packages": packages, "facts": 0, "open_questions": questions});
    assert_eq!(all["projects"], json!([count("p", 1, 1), count("q", 1, 0)]));
    house.post(&house.owner, "/v1/projects/q/archive", &json!({})).await.ok(200);
    let open = house.get(&house.nick, "/v1/orchestrate").await.ok(200);
    assert_eq!(open["projects"], json!([count("p", 1, 1)]));
    let both = house.get(&house.nick, "/v1/orchestrate?include_archived=true").await.ok(200);
    assert_eq!(both["projects"], all["projects"]);
    let foreign = house.get(&house.acme, "/v1/orchestrate").await.ok(200);
    assert_eq!((&foreign["summary"]["package_count"], &foreign["projects"]), (&json!(0), &json!([])));
    house.get(&house.acme, "/v1/orchestrate?project=p").await.refused(404, "project_not_found", "-");
}
