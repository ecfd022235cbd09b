//! Orientation and digest.

use plenary_kernel::{TimestampMs, rfc3339::Utc};
use serde_json::{Value, json};

use crate::house::{House, OPERATOR, package};

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

fn ids(packages: &Value) -> Vec<&str> {
    packages.as_array().unwrap().iter().map(|package| package["package_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn ap_61_orient_has_six_keys_and_a_window() {
    let house = House::new().await;
    let asks = |question: &str| json!({"open_questions": [question]});
    house.deposit(&old("new", 1, &asks("why?"))).await.ok(201);
    house.deposit(&old("older", 13, &asks("how?"))).await.ok(201);
    house.deposit(&old("oldest", 15, &asks("what?"))).await.ok(201);
    let draft =
        json!({"status": "draft", "open_questions": ["mine?"], "created_by": {"id": "a", "type": "agent"}});
    house.deposit(&old("draft", 2, &draft)).await.ok(201);
    let fact = json!({"subject": "s", "predicate": "p", "value": "v"});
    house.post(&house.nick, "/v1/projects/p/facts", &fact).await.ok(201);
    let bundle = house.get(&house.nick, "/v1/projects/p/orient").await.ok(200);
    let keys: Vec<_> = bundle.as_object().unwrap().keys().map(String::as_str).collect();
    let six = ["active_facts", "generated_at", "open_questions", "project", "recent_packages", "window_days"];
    assert_eq!((keys, &bundle["window_days"]), (six.to_vec(), &json!(14)));
    assert_eq!(bundle["project"]["project_id"], "p");
    assert_eq!(ids(&bundle["recent_packages"]), ["new", "draft", "older"]);
    assert_eq!(bundle["active_facts"][0]["value"], "v");
    let questions: Vec<_> =
        bundle["open_questions"].as_array().unwrap().iter().map(|open| &open["question"]).collect();
    assert_eq!(questions, ["why?", "mine?", "how?"]);
    let wide = house.get(&house.nick, "/v1/projects/p/orient?window_days=20").await.ok(200);
    assert_eq!(wide["recent_packages"].as_array().unwrap().len(), 4);
    // AP-8: a draft is its creator's.
    let other = house.get(OPERATOR, "/v1/projects/p/orient").await.ok(200);
    assert_eq!(ids(&other["recent_packages"]), ["new", "older"]);
    assert_eq!(other["open_questions"].as_array().unwrap().len(), 2);
    house.get(&house.nick, "/v1/projects/p/orient?window_days=0").await.refused(
        400,
        "invalid_parameter",
        "window_days",
    );
    house.get(&house.nick, "/v1/projects/none/orient").await.refused(404, "project_not_found", "-");
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
