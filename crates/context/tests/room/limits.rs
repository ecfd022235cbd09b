//! What happens past each limit of the room: the answer is cut and says so, or the request is refused.

use bytes::Bytes;
use plenary_context::limits::{
    DIGEST_PACKAGES_MAX, DIGEST_PROJECTS_MAX, FACT_BYTES_MAX, LIST_BYTES_MAX, LIST_MAX, NOTE_BYTES_MAX,
    QUESTIONS_MAX, SCAN_ROWS_MAX,
};
use plenary_kernel::{TimestampMs, rfc3339::Utc};
use plenary_log::{Batch, IndexOp};
use serde_json::{Value, json};

use crate::house::{House, OPERATOR, package};

/// Index rows of one write.
const ROWS: usize = 1_000;

/// Now, so many seconds ago.
fn ago(seconds: usize) -> String {
    use plenary_engine::SystemClock;
    use plenary_kernel::Clock as _;
    Utc(TimestampMs(SystemClock.now().0 - seconds as u64 * 1_000)).to_string()
}

fn recent(id: &str, seconds: usize, further: &Value) -> Value {
    let mut package = package(id, 0, further);
    package["created_at"] = json!(ago(seconds));
    package
}

async fn assert_fact(house: &House, fact: &Value) {
    house.post(&house.nick, "/v1/projects/p/facts", fact).await.ok(201);
}

/// Puts rows into an index as a project of that many things would have them.
async fn put(house: &House, name: &'static str, rows: impl Iterator<Item = (String, String)>) {
    let rows: Vec<_> = rows.collect();
    for rows in rows.chunks(ROWS) {
        let op = |(key, value): &(String, String)| {
            let value = Bytes::from(value.clone());
            IndexOp::Put { name, key: key.clone(), value }
        };
        let batch = Batch { index: rows.iter().map(op).collect(), ..Batch::default() };
        house.log.append(batch).await.unwrap();
    }
}

/// Rows of packages, the newest first by their numbers.
fn rows(value: &'static str, count: usize) -> impl Iterator<Item = (String, String)> {
    let day = ago(0)[..10].to_owned();
    (0..count).map(move |nth| (format!("p:nick/{day}T00:00:00.{nth:09}/row{nth}"), value.to_owned()))
}

fn texts(list: &Value, name: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[name].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn ap_61_an_orientation_says_which_lists_are_cut() {
    let house = House::new().await;
    let questions: Vec<String> = (0..=QUESTIONS_MAX).map(|nth| format!("why {nth}?")).collect();
    house.deposit(&recent("a", 60, &json!({"open_questions": &questions[1..]}))).await.ok(201);
    let orient = "/v1/projects/p/orient";
    let whole = house.get(&house.nick, orient).await.ok(200);
    assert_eq!(whole["open_questions"].as_array().unwrap().len(), QUESTIONS_MAX);
    assert_eq!(whole.as_object().unwrap().len(), 6, "nothing is cut, and there are six keys: {whole}");
    let digest = house.get(&house.nick, "/v1/orchestrate?project=p").await.ok(200);
    assert_eq!(digest["summary"]["truncated"], false);

    house.deposit(&recent("b", 30, &json!({"open_questions": &questions[..1]}))).await.ok(201);
    let cut = house.get(&house.nick, orient).await.ok(200);
    assert_eq!(texts(&cut["open_questions"], "question"), questions[..QUESTIONS_MAX]);
    assert_eq!(cut["x-truncated"], json!(["open_questions"]));
    // AP-62: a digest of the one project says so too.
    let digest = house.get(&house.nick, "/v1/orchestrate?project=p").await.ok(200);
    assert_eq!(digest["open_questions"].as_array().unwrap().len(), QUESTIONS_MAX);
    assert_eq!(digest["summary"]["truncated"], true);
}

#[tokio::test]
async fn ap_61_ap_85_past_a_thousand_facts_lists_go_on_and_bundles_say_so() {
    let house = House::new().await;
    for nth in 0..LIST_MAX {
        let fact = json!({"subject": format!("s{nth:04}"), "predicate": "p", "value": "v"});
        assert_fact(&house, &fact).await;
    }
    let orient = "/v1/projects/p/orient";
    let whole = house.get(&house.nick, orient).await.ok(200);
    assert_eq!((whole["active_facts"].as_array().unwrap().len(), whole.get("x-truncated")), (LIST_MAX, None));
    let list = house.get(&house.nick, "/v1/projects/p/facts").await.ok(200);
    assert_eq!(list.get("next_cursor"), None);

    assert_fact(&house, &json!({"subject": "t", "predicate": "p", "value": "last"})).await;
    let cut = house.get(&house.nick, orient).await.ok(200);
    assert_eq!(cut["active_facts"].as_array().unwrap().len(), LIST_MAX);
    assert_eq!(cut["x-truncated"], json!(["active_facts"]));
    let digest = house.get(&house.nick, "/v1/orchestrate?project=p").await.ok(200);
    assert_eq!(digest["summary"]["truncated"], true);
    let list = house.get(&house.nick, "/v1/projects/p/facts").await.ok(200);
    let path = format!("/v1/projects/p/facts?cursor={}", list["next_cursor"].as_str().unwrap());
    let rest = house.get(&house.nick, &path).await.ok(200);
    assert_eq!((texts(&rest["facts"], "value"), rest.get("next_cursor")), (vec!["last".to_owned()], None));
}

#[tokio::test]
async fn ap_62_a_digest_counts_so_many_packages_and_says_that_there_are_more() {
    let house = House::new().await;
    house.deposit(&recent("newest", 0, &json!({}))).await.ok(201);
    let until = "/v1/orchestrate?project=p&window_days=2";
    put(&house, "context.packages", rows("complete standard", DIGEST_PACKAGES_MAX - 1)).await;
    let whole = house.get(&house.nick, until).await.ok(200);
    let counted = |digest: &Value| {
        (digest["summary"]["package_count"].as_u64().unwrap(), digest["summary"]["truncated"].clone())
    };
    assert_eq!(counted(&whole), (DIGEST_PACKAGES_MAX as u64, json!(false)), "as many as may be");
    house.deposit(&recent("one-more", 1, &json!({}))).await.ok(201);
    let cut = house.get(&house.nick, until).await.ok(200);
    assert_eq!(counted(&cut), (DIGEST_PACKAGES_MAX as u64, json!(true)));
}

#[tokio::test]
async fn ap_62_a_digest_over_all_looks_at_so_many_projects_and_says_that_there_are_more() {
    let house = House::new().await;
    let make = async |nth: usize| {
        let project = json!({"project_id": format!("p{nth:03}")});
        house.post(&house.nick, "/v1/projects", &project).await.ok(201);
    };
    for nth in 0..DIGEST_PROJECTS_MAX {
        make(nth).await;
    }
    let looked_at = async || {
        let digest = house.get(&house.nick, "/v1/orchestrate").await.ok(200);
        (digest["projects"].as_array().unwrap().len(), digest["summary"]["truncated"].clone())
    };
    assert_eq!(looked_at().await, (DIGEST_PROJECTS_MAX, json!(false)));
    make(DIGEST_PROJECTS_MAX).await;
    assert_eq!(looked_at().await, (DIGEST_PROJECTS_MAX, json!(true)));
}

#[tokio::test]
async fn ap_62_questions_of_several_projects_stand_by_time_and_not_by_text() {
    let house = House::new().await;
    let day = &ago(86_400)[..19];
    for (project, second, question) in
        [("p", "", "first?"), ("q", ".5", "second?"), ("r", ".50001", "third?")]
    {
        let mut asking = package(project, 0, &json!({"project_id": project, "open_questions": [question]}));
        asking["created_at"] = json!(format!("{day}{second}Z"));
        house.deposit(&asking).await.ok(201);
    }
    let digest = house.get(&house.nick, "/v1/orchestrate").await.ok(200);
    assert_eq!(texts(&digest["open_questions"], "question"), ["third?", "second?", "first?"]);
}

#[tokio::test]
async fn ap_58_a_list_looks_through_so_many_rows_and_goes_on_behind_them() {
    let house = House::new().await;
    house.deposit(&recent("wanted", 3 * 86_400, &json!({"package_type": "x-rare"}))).await.ok(201);
    put(&house, "context.packages", rows("draft standard", SCAN_ROWS_MAX + 1)).await;
    let path = "/v1/projects/p/packages?status=complete";
    let first = house.get(&house.nick, path).await.ok(200);
    assert_eq!(first["packages"], json!([]), "a short page");
    let cursor = first["next_cursor"].as_str().expect("it goes on").replace('/', "%2F");
    assert_eq!(house.ids(&house.nick, &format!("{path}&cursor={cursor}")).await, ["wanted"]);
}

#[tokio::test]
async fn ap_46_a_list_of_facts_looks_through_so_many_rows_and_goes_on_behind_them() {
    let house = House::new().await;
    assert_fact(&house, &json!({"subject": "t", "predicate": "p", "value": "v", "tags": ["rare"]})).await;
    let fact = json!({"subject": "s", "predicate": "p", "value": "v", "tags": []}).to_string();
    let row = |nth: usize| (format!("p:nick/s{nth:05}/p"), fact.clone());
    put(&house, "context.current", (0..=SCAN_ROWS_MAX).map(row)).await;
    let path = "/v1/projects/p/facts?tag=rare";
    let first = house.get(&house.nick, path).await.ok(200);
    assert_eq!(first["facts"], json!([]), "a short page");
    let cursor = first["next_cursor"].as_str().expect("it goes on");
    let rest = house.get(&house.nick, &format!("{path}&cursor={cursor}")).await.ok(200);
    assert_eq!(texts(&rest["facts"], "subject"), ["t"]);
}

#[tokio::test]
async fn ap_58_a_page_has_so_many_bytes_and_the_list_goes_on() {
    let house = House::new().await;
    let body = "x".repeat(1_000_000);
    let count = LIST_BYTES_MAX / body.len() + 2;
    for nth in 0..count {
        house
            .deposit(&recent(&format!("a{nth:02}"), nth * 3_600, &json!({"content_md": body})))
            .await
            .ok(201);
    }
    let path = "/v1/projects/p/packages?limit=1000";
    let first = house.get(&house.nick, path).await.ok(200);
    let cursor = first["next_cursor"].as_str().expect("it goes on").replace('/', "%2F");
    let shown = first["packages"].as_array().unwrap().len();
    assert!(shown < count && (shown + 1) * body.len() >= LIST_BYTES_MAX, "{shown} of {count}");
    let rest = house.ids(&house.nick, &format!("{path}&cursor={cursor}")).await;
    assert_eq!((shown + rest.len(), rest.last()), (count, Some(&format!("a{:02}", count - 1))));
    // AP-61: an orientation that has room for fewer than it shows otherwise says so.
    let bundle = house.get(&house.nick, "/v1/projects/p/orient").await.ok(200);
    assert_eq!(bundle["recent_packages"].as_array().unwrap().len(), shown);
    assert_eq!(bundle["x-truncated"], json!(["recent_packages"]));
}

#[tokio::test]
async fn ap_85_a_page_of_facts_has_so_many_bytes_and_the_list_goes_on() {
    let house = House::new().await;
    let text = "x".repeat(FACT_BYTES_MAX - 1_000);
    let count = LIST_BYTES_MAX / text.len() + 3;
    for nth in 0..count {
        let fact = json!({"subject": format!("s{nth:03}"), "predicate": "p", "value": "v", "x-a": text});
        assert_fact(&house, &fact).await;
    }
    let path = "/v1/projects/p/facts";
    let first = house.get(&house.nick, path).await.ok(200);
    let shown = texts(&first["facts"], "subject").len();
    assert!(shown < count && shown * FACT_BYTES_MAX >= LIST_BYTES_MAX, "{shown} of {count}");
    let cursor = first["next_cursor"].as_str().expect("it goes on");
    let rest = house.get(&house.nick, &format!("{path}?cursor={cursor}")).await.ok(200);
    assert_eq!((shown + texts(&rest["facts"], "subject").len(), rest.get("next_cursor")), (count, None));
    let bundle = house.get(&house.nick, "/v1/projects/p/orient").await.ok(200);
    assert_eq!(bundle["x-truncated"], json!(["active_facts"]));
}

#[tokio::test]
async fn ap_41_a_fact_is_as_large_as_it_may_be_and_no_larger() {
    let house = House::new().await;
    let with =
        |bytes: usize| json!({"subject": "s", "predicate": "p", "value": "v", "x-a": "x".repeat(bytes)});
    let rest = with(0).to_string().len();
    assert_fact(&house, &with(FACT_BYTES_MAX - rest)).await;
    let over = with(FACT_BYTES_MAX - rest + 1);
    house.post(&house.nick, "/v1/projects/p/facts", &over).await.refused(400, "invalid_schema", "-");
    let kept = house.get(&house.nick, "/v1/projects/p/facts").await.ok(200);
    assert_eq!(kept["facts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn ap_63_a_note_is_as_long_as_it_may_be_and_no_longer() {
    let house = House::new().await;
    house.deposit(&package("a", 0, &json!({"status": "draft"}))).await.ok(201);
    let note = |bytes: usize| "n".repeat(bytes);
    let flag = |bytes: usize| json!({"review_type": "human", "note": note(bytes)});
    let review = |bytes: usize| json!({"status": "complete", "note": note(bytes)});
    let (flags, reviews) = ("/v1/packages/a/flag", "/v1/packages/a/review");
    house.post(&house.nick, flags, &flag(NOTE_BYTES_MAX + 1)).await.refused(400, "invalid_schema", "note");
    house.post(&house.nick, flags, &flag(NOTE_BYTES_MAX)).await.ok(200);
    house.post(&house.nick, reviews, &review(NOTE_BYTES_MAX + 1)).await.refused(
        400,
        "invalid_schema",
        "note",
    );
    house.post(&house.nick, reviews, &review(NOTE_BYTES_MAX)).await.ok(200);
    let log = house.get(OPERATOR, "/v1/packages/a/reviews").await.ok(200);
    assert_eq!(log["reviews"][2]["note"], note(NOTE_BYTES_MAX));
}

#[tokio::test]
async fn ap_15_a_session_lists_a_thousand_packages_and_says_that_there_are_more() {
    let house = House::new().await;
    house.post(&house.owner, "/v1/projects", &json!({"project_id": "p"})).await.ok(201);
    let session = house.post(&house.nick, "/v1/projects/p/sessions", &json!({})).await.ok(201);
    let id = session["session_id"].as_str().unwrap();
    let row = |nth: usize| (format!("p:nick/{id}/2026-04-18T20:00:00.{nth:09}/a{nth}"), format!("a{nth}"));
    let read = async || {
        let session = house.get(&house.nick, &format!("/v1/projects/p/sessions/{id}")).await.ok(200);
        let listed = session["packages_deposited"].as_array().unwrap().len();
        (listed, session.get("packages_truncated").cloned())
    };
    put(&house, "context.of_session", (0..LIST_MAX).map(row)).await;
    assert_eq!(read().await, (LIST_MAX, None));
    put(&house, "context.of_session", (LIST_MAX..=LIST_MAX).map(row)).await;
    assert_eq!(read().await, (LIST_MAX, Some(json!(true))));
}
