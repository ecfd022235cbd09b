//! Export and import between two rooms.

use serde_json::{Value, json};

use crate::house::{House, OPERATOR, package};

/// The lines of an export.
async fn exported(house: &House, path: &str) -> Vec<Value> {
    let answer = house.get(OPERATOR, path).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.headers["content-type"], "application/x-ndjson");
    answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn imported(house: &House, query: &str, text: String) -> Value {
    house.send(OPERATOR, "POST", &format!("/v1/import{query}"), text).await.ok(200)
}

/// What a report counts: imported, skipped, conflicts, overwritten, renamed, refused.
fn counts(report: &Value) -> [u64; 6] {
    ["imported", "skipped", "conflicts", "overwritten", "renamed", "refused_count"]
        .map(|name| report[name].as_u64().unwrap())
}

async fn text_of(house: &House, path: &str) -> String {
    house.get(OPERATOR, path).await.body
}

/// A project with a reviewed package, facts with history, and a session.
async fn furnished() -> House {
    let house = House::new().await;
    let spaced = "{ \"package_id\":\"pkg/1 é\",\n\"project_id\":\"p\",\r\n \"relay_version\":\"0.1\",\"title\":\"caf\\u00e9\",\
        \"status\":\"complete\",\"package_type\":\"x-model-eval\",\"review_type\":\"none\",\"created_at\":\"2026-04-18T19:00:00Z\",\
        \"created_by\":{\"id\":\"nick\",\"type\":\"agent\",\"session_id\":null},\"x-a\":{\"b\":[1.50,null]}}";
    house.send(&house.nick, "POST", "/v1/projects/p/packages", spaced).await.ok(201);
    house
        .deposit(&package("b", 1, &json!({"status": "draft", "parent_package_id": "pkg/1 é"})))
        .await
        .ok(201);
    house
        .post(&house.nick, "/v1/packages/b/flag", &json!({"review_type": "human", "note": "look"}))
        .await
        .ok(200);
    house.post(&house.nick, "/v1/packages/b/review", &json!({"status": "complete"})).await.ok(200);
    for (value, since) in
        [("1", "2026-04-10T12:00:00Z"), ("2", "2026-04-11T12:00:00.5+00:00"), ("3", "2026-04-12T12:00:00Z")]
    {
        let fact = json!({"subject": "s/1", "predicate": "p", "value": value, "valid_from": since, "source_package_id": "b", "x-a": 1});
        house.post(&house.nick, "/v1/projects/p/facts", &fact).await.ok(201);
    }
    let ended = json!({"subject": "a", "predicate": "p", "value": "1", "valid_from": "2026-04-10T12:00:00Z"});
    house.post(&house.nick, "/v1/projects/p/facts", &ended).await.ok(201);
    house.send(&house.nick, "DELETE", "/v1/projects/p/facts?subject=a&predicate=p", "").await.ok(200);
    let session = house.post(&house.nick, "/v1/projects/p/sessions", &json!({})).await.ok(201);
    let path = format!("/v1/projects/p/sessions/{}", session["session_id"].as_str().unwrap());
    house.send(&house.nick, "PATCH", &path, "{}").await.ok(200);
    house.post(&house.owner, "/v1/projects/p/archive", &json!({})).await.ok(200);
    house
}

/// Everything that a project shows, for comparison.
async fn shown(house: &House) -> Vec<String> {
    let mut all = Vec::new();
    for path in [
        "/v1/projects/p",
        "/v1/projects/p/packages?limit=100",
        "/v1/packages/pkg%2F1%20%C3%A9",
        "/v1/packages/b",
        "/v1/packages/b/reviews",
        "/v1/projects/p/facts?include_ended=true",
        "/v1/projects/p/facts?as_of=2026-04-11",
        "/v1/projects/p/sessions",
    ] {
        all.push(text_of(house, path).await.replace(['\n', '\r'], " "));
    }
    all
}

#[tokio::test]
async fn ap_76_an_export_goes_on_behind_any_record() {
    let house = furnished().await;
    let lines = exported(&house, "/v1/export").await;
    for (nth, line) in lines[..8].iter().enumerate() {
        let cursor = line["cursor"].as_str().unwrap().replace('%', "%25").replace('/', "%2F");
        let rest = exported(&house, &format!("/v1/export?after={cursor}")).await;
        assert_eq!(rest[..rest.len() - 1], lines[nth + 1..8], "{cursor}");
        assert_eq!(rest[rest.len() - 1]["data"]["since"], lines[8]["data"]["since"]);
    }
    for query in ["after=x", "after=1.all.fact", "since=x", "since=999-", "since=1-0011223344556677"] {
        let answer = house.get(OPERATOR, &format!("/v1/export?{query}")).await;
        answer.refused(400, "invalid_cursor", query.split('=').next().unwrap());
    }
}

#[tokio::test]
async fn ap_80_what_is_new_is_exported_and_taken_in() {
    let from = furnished().await;
    from.post(&from.owner, "/v1/projects/p/unarchive", &json!({})).await.ok(200);
    let whole = text_of(&from, "/v1/export").await;
    let to = House::new().await;
    imported(&to, "", whole.clone()).await;
    let end: Value = serde_json::from_str(whole.lines().last().unwrap()).unwrap();
    let since = end["data"]["since"].as_str().unwrap().to_owned();
    assert_eq!(exported(&from, &format!("/v1/export?since={since}")).await.len(), 1);

    from.deposit(&package("c", 5, &json!({"status": "draft"}))).await.ok(201);
    let fact = json!({"subject": "s/1", "predicate": "p", "value": "4"});
    from.post(&from.nick, "/v1/projects/p/facts", &fact).await.ok(201);
    let news = text_of(&from, &format!("/v1/export?since={since}")).await;
    assert_eq!(news.lines().count(), 4, "{news}");
    let report = imported(&to, "?conflict=overwrite", news.clone()).await;
    assert_eq!(counts(&report), [2, 0, 0, 1, 0, 0], "the fact that ended is continued: {report}");
    from.post(&from.nick, "/v1/packages/c/flag", &json!({"review_type": "agent"})).await.ok(200);
    let news = text_of(&from, &format!("/v1/export?since={since}")).await;
    let skipped = imported(&to, "", news.clone()).await;
    assert_eq!(counts(&skipped), [0, 3, 1, 0, 0, 0], "{skipped}");
    let report = imported(&to, "?conflict=overwrite", news).await;
    assert_eq!(counts(&report), [0, 2, 0, 1, 0, 0], "the flag is taken after: {report}");
    assert_eq!(shown(&to).await, shown(&from).await);
    let older = imported(&to, "?conflict=overwrite", whole).await;
    assert_eq!(counts(&older), [0, 8, 0, 0, 0, 0], "what is further on here stays: {older}");
}

fn line(record: &str, data: &Value) -> String {
    format!("{}\n", json!({"record": record, "data": data}))
}

#[tokio::test]
async fn ap_40_every_mode_leaves_what_is_there() {
    let house = House::new().await;
    house.deposit(&package("a", 0, &json!({}))).await.ok(201);
    house.deposit(&package("d", 0, &json!({"status": "draft"}))).await.ok(201);
    let before = text_of(&house, "/v1/packages/a").await;
    let text = [
        line("package", &package("a", 0, &json!({"topic": "x"}))),
        line("package", &package("d", 0, &json!({"status": "complete"}))),
        line("package", &package("b", 1, &json!({"parent_package_id": "a"}))),
        line("fact", &json!({"fact_id": "f", "project_id": "p", "subject": "s", "predicate": "p", "value": "1",
            "valid_from": "2026-01-01T00:00:00Z", "created_at": "2026-01-01T00:00:00Z", "source_package_id": "a"})),
    ]
    .concat();
    let skipped = imported(&house, "?dry_run=true", text.clone()).await;
    assert_eq!(counts(&skipped), [2, 2, 2, 0, 0, 0], "{skipped}");
    let overwritten = imported(&house, "?conflict=overwrite&dry_run=true", text.clone()).await;
    assert_eq!(counts(&overwritten), [2, 0, 0, 1, 0, 1], "{overwritten}");
    assert_eq!(overwritten["refused"][0]["code"], "duplicate_package_id");
    assert_eq!(
        (&overwritten["refused"][0]["line"], &overwritten["refused"][0]["id"]),
        (&json!(1), &json!("a"))
    );
    let renamed = imported(&house, "?conflict=rename", text.clone()).await;
    assert_eq!(counts(&renamed), [2, 0, 0, 0, 2, 0], "{renamed}");
    let fresh = renamed["renames"][0]["renamed_to"].as_str().unwrap();
    let child = house.get(OPERATOR, "/v1/packages/b").await.ok(200);
    assert_eq!(child["parent_package_id"], fresh);
    assert_eq!(house.get(OPERATOR, &format!("/v1/packages/{fresh}")).await.ok(200)["topic"], "x");
    let facts = house.get(OPERATOR, "/v1/projects/p/facts").await.ok(200);
    assert_eq!(
        (&facts["facts"][0]["source_package_id"], &facts["facts"][0]["fact_id"]),
        (&json!(fresh), &json!("f"))
    );
    let again = imported(&house, "?conflict=rename", text.clone()).await;
    assert_eq!(counts(&again), [0, 4, 0, 0, 0, 0], "{again}");
    imported(&house, "?conflict=overwrite", text).await;
    assert_eq!(house.get(OPERATOR, "/v1/packages/d").await.ok(200)["status"], "complete");
    assert_eq!(text_of(&house, "/v1/packages/a").await, before);
}

#[tokio::test]
async fn ap_77_what_is_wrong_is_refused_by_its_line_and_the_rest_is_taken() {
    let from = furnished().await;
    let mut lines: Vec<String> = text_of(&from, "/v1/export").await.lines().map(str::to_owned).collect();
    lines[1] = lines[1].replace("\"x-a\":{\"b\":[1.50,", "\"x-a\":{\"b\":[1.51,");
    lines[3] = lines[3].replace("\"value\":\"1\"", "\"value\":1");
    lines.insert(4, "{".to_owned());
    lines.insert(5, String::new());
    lines.insert(6, line("embedding", &json!({"a": 1})).trim().to_owned());
    lines.pop();
    let to = House::new().await;
    let report = imported(&to, "", lines.join("\n")).await;
    let refused: Vec<_> = report["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|refused| (refused["line"].as_u64().unwrap(), refused["code"].as_str().unwrap()))
        .collect();
    assert_eq!(refused, [(2, "hash_mismatch"), (4, "invalid_schema"), (5, "invalid_json")], "{report}");
    assert_eq!((&report["complete"], &report["ignored"]), (&json!(false), &json!(1)), "it was cut");
    to.get(OPERATOR, "/v1/packages/pkg%2F1%20%C3%A9").await.refused(404, "package_not_found", "-");
    to.get(OPERATOR, "/v1/packages/b").await.ok(200);
}

#[tokio::test]
async fn ap_75_intervals_that_overlap_become_one_history() {
    let house = House::new().await;
    let fact = |id: &str, from: &str, to: Value| {
        line(
            "fact",
            &json!({"fact_id": id, "project_id": "p", "subject": "s",
        "predicate": "p", "value": id, "valid_from": format!("2026-01-{from}T00:00:00Z"), "valid_to": to,
        "created_at": "2026-01-01T00:00:00Z", "asserted_by": {"id": "ann", "type": "human"}}),
        )
    };
    let day = |day: &str| json!(format!("2026-01-{day}T00:00:00Z"));
    let text = [
        fact("one", "02", day("05")),
        fact("within", "03", day("04")),
        fact("before", "01", day("02")),
        fact("two", "05", Value::Null),
        fact("behind", "07", Value::Null),
        fact("empty", "09", day("09")),
        fact("twice", "02", day("05")),
    ]
    .concat();
    for (mode, counts) in [("", [7, 0]), ("?conflict=overwrite", [0, 7])] {
        let report = imported(&house, mode, text.clone()).await;
        assert_eq!([&report["imported"], &report["skipped"]], counts, "{report}");
    }
    let facts = house.get(OPERATOR, "/v1/projects/p/facts?include_ended=true").await.ok(200);
    let moment = |fact: &Value, name: &str| fact[name].as_str().map_or("", |text| &text[8..10]).to_owned();
    let mut history: Vec<_> = (facts["facts"].as_array().unwrap().iter())
        .map(|fact| {
            let id = fact["fact_id"].as_str().unwrap();
            format!("{}-{} {id}", moment(fact, "valid_from"), moment(fact, "valid_to"))
        })
        .collect();
    history.sort();
    // Of the two that begin on the second, the greater id holds.
    let expected = [
        "01-02 before",
        "02-02 one",
        "02-03 twice",
        "03-04 within",
        "05-07 two",
        "07-09 behind",
        "09-09 empty",
    ];
    assert_eq!(history, expected);
    assert_eq!(facts["facts"][0]["asserted_by"], json!({"id": "ann", "type": "human"}));
}
