//! What clients rely on beside the single operations: tags that save a transfer, cursors, members of implementations.

use blackbox::{Caller, Server};
use serde_json::{Value, json};

use super::speak::{
    PROJECT, assert_fact, assert_field, assert_hash_headers, deposited, desk, enc, facts_of, package,
    package_at, packages_of, with,
};
use crate::sse::Stream;

/// RFC 9110, 13.1.2: who names the tag that a package has gets no body.
#[tokio::test]
async fn ap_53_a_package_that_is_known_is_not_sent_again() {
    let (_server, nick) = desk().await;
    let made = package(&nick.handle, "p1");
    deposited(&nick, &made).await;
    let path = package_at("p1");
    let whole = nick.get(&path).await;
    let tag = whole.header("etag").expect("a tag").to_owned();
    for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
        let request = nick.request("GET", &path, &[("If-None-Match", &known)], None);
        let response = nick.bytes(&request).await;
        assert_eq!((response.status, response.body.len()), (304, 0), "{known}: {response}");
        assert_hash_headers(&response, tag.trim_matches('"'));
    }
    for other in ["\"sha256:00\"", tag.trim_matches('"')] {
        let request = nick.request("GET", &path, &[("If-None-Match", other)], None);
        assert_eq!(nick.bytes(&request).await.ok(200), whole.json(), "{other}");
    }
}

/// A cursor that no page of the list ended with is refused, and not taken for the end or the beginning of the list.
#[tokio::test]
async fn ap_58_ap_85_a_cursor_of_something_else_is_refused() {
    let (_server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "p1")).await;
    assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "v"})).await;
    let of_packages = "2026-04-18T20:00:00.000000000/p1";
    let lists = [
        (packages_of(PROJECT), "s/p"),
        (format!("/v1/projects/{PROJECT}/reviews"), "s/p"),
        (format!("/v1/projects/{PROJECT}/sessions"), "s/p"),
        (facts_of(PROJECT), of_packages.split_once('/').expect("two parts").0),
        (format!("{}?include_ended=true", facts_of(PROJECT)), "s/p"),
    ];
    for (list, foreign) in &lists {
        let glue = if list.contains('?') { '&' } else { '?' };
        for cursor in ["", "zzz", "a b/c", *foreign] {
            let response = nick.get(&format!("{list}{glue}cursor={}", enc(cursor))).await;
            response.assert_refused(400, "invalid_cursor");
            assert_field(&response, "cursor");
        }
    }
    let packages = nick.get(&format!("{}?cursor={}", packages_of(PROJECT), enc(of_packages))).await.ok(200);
    assert_eq!(packages["packages"], json!([]));
}

/// AP-67: a restriction that the server does not know ends nothing.
#[tokio::test]
async fn ap_67_a_restriction_that_is_not_known_is_refused() {
    let (_server, nick) = desk().await;
    let fact = assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "v"})).await;
    let path = format!("{}?subject=s&predicate=p", facts_of(PROJECT));
    let response = nick.delete(&format!("{path}&value=w")).await;
    response.assert_refused(400, "invalid_parameter");
    assert_field(&response, "value");
    assert_eq!(nick.get(&facts_of(PROJECT)).await.ok(200)["facts"], json!([fact]));
    assert_eq!(nick.delete(&format!("{path}&object=v")).await.ok(200), json!({"invalidated": 1}));
}

fn extended(members: Value) -> Value {
    with(
        json!({"x-trust-score": 0.5, "x-nested": {"a": [null, {"é": "/"}], "x-b": null}, "x-null": null}),
        members,
    )
}

#[track_caller]
fn assert_extended(found: &Value) {
    let expected = extended(json!({}));
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(found.get(name), Some(value), "{name}: {found}");
    }
}

async fn sessions(caller: &Caller) -> Value {
    caller.get(&format!("/v1/projects/{PROJECT}/sessions")).await.ok(200)["sessions"][0].clone()
}

/// AP-89: members of implementations on projects and sessions come back, and travel with them.
#[tokio::test]
async fn ap_89_projects_and_sessions_keep_the_members_of_implementations() {
    let (server, nick) = desk().await;
    let project = format!("/v1/projects/{PROJECT}");
    assert_extended(&nick.post("/v1/projects", extended(json!({"project_id": PROJECT}))).await.ok(201));
    let session = nick.post(&format!("{project}/sessions"), extended(json!({}))).await.ok(201);
    assert_extended(&session);
    let changed = nick.patch(&project, json!({"x-later": 1, "name": "N", "ignored": 2})).await.ok(200);
    assert_eq!((&changed["x-later"], changed.get("ignored")), (&json!(1), None));
    let one = format!("{project}/sessions/{}", session["session_id"].as_str().expect("an id"));
    let ended = nick.patch(&one, json!({"x-later": 2})).await.ok(200);
    assert_eq!(ended["x-later"], 2);
    assert_extended(&nick.get(&project).await.ok(200));
    assert_extended(&nick.get(&one).await.ok(200));
    assert_extended(&sessions(&nick).await);
    assert_extended(&nick.get(&format!("{project}/orient")).await.ok(200)["project"]);
    let events = format!("{project}/events?after=0");
    let mut told = Stream::open(&nick, &events, &[]).await;
    let created = told.event().await;
    assert_extended(&created["project"]);

    let export = nick.get("/v1/export").await.text();
    let there = Server::start().await;
    let operator = there.operator();
    for imported in [2, 0] {
        let report = operator.post_raw("/v1/import", export.as_bytes()).await.ok(200);
        assert_eq!((&report["imported"], &report["conflicts"]), (&json!(imported), &json!(0)), "{report}");
    }
    assert_eq!(operator.get(&project).await.ok(200), nick.get(&project).await.ok(200), "AP-80");
    assert_eq!(sessions(&operator).await, sessions(&nick).await, "AP-80");
    drop(server);
}

/// AP-89: together they are bounded, and what is over the bound changes nothing.
#[tokio::test]
async fn ap_89_members_of_implementations_are_bounded() {
    let (_server, nick) = desk().await;
    let large = json!({"x-a": "x".repeat(16 << 10)});
    let response = nick.post("/v1/projects", with(large.clone(), json!({"project_id": PROJECT}))).await;
    response.assert_refused(400, "invalid_schema");
    let project = nick.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    let path = format!("/v1/projects/{PROJECT}");
    let half = |name: &str| json!({name: "x".repeat(9 << 10)});
    nick.patch(&path, half("x-a")).await.ok(200);
    nick.patch(&path, half("x-b")).await.assert_refused(400, "invalid_schema");
    nick.patch(&path, half("x-a")).await.ok(200);
    assert_eq!(nick.get(&path).await.ok(200), with(project, half("x-a")));
    nick.post(&format!("{path}/sessions"), large).await.assert_refused(400, "invalid_schema");
}

/// AP-48: an assertion holds from now on; an end that it brings along would not come true, and is refused.
#[tokio::test]
async fn ap_48_an_assertion_brings_no_end() {
    let (_server, nick) = desk().await;
    let fact = json!({"subject": "s", "predicate": "p", "value": "v", "valid_from": "2026-01-01T00:00:00Z"});
    let ended = with(fact.clone(), json!({"valid_to": "2026-02-01T00:00:00Z"}));
    let response = nick.post(&facts_of(PROJECT), ended).await;
    response.assert_refused(400, "invalid_schema");
    assert_field(&response, "valid_to");
    assert_fact(&nick, with(fact, json!({"valid_to": null}))).await;
}
