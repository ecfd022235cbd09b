//! Ids are free text, in paths percent-encoded, and unique within a project: AP-1, AP-20, AP-59.

use serde_json::{Value, json};

use super::speak::{
    PROJECT, assert_package, deposit, deposited, desk, enc, list, package, package_at, package_with,
    packages_of, pull, pull_at,
};

const ODD: &[&str] = &[
    "x",
    "pkg_7593a5b03fcc4706b181ea855e958e06",
    "a/b/c",
    "/",
    "..",
    ".",
    "../../healthz",
    "a b",
    " ",
    "a?b=c&d",
    "#1",
    "%2F",
    "%",
    "+",
    "é",
    "e\u{301}",
    "日本語 😀",
    "a\"b\\c",
    "a\nb",
    "flag",
    "x/flag",
    "reviews",
    "A",
    "a",
    "'; DROP TABLE packages; --",
];

/// AP-20: any text is an id; no two of them are confused.
#[tokio::test]
async fn ap_20_any_text_is_an_id() {
    let (mut server, nick) = desk().await;
    for (number, id) in ODD.iter().enumerate() {
        deposited(&nick, &package_with(&nick.handle, id, json!({"x-number": number}))).await;
    }
    server.crash().await;
    for (number, id) in ODD.iter().enumerate() {
        let found = pull(&nick, id).await;
        assert_eq!((&found["package_id"], &found["x-number"]), (&json!(id), &json!(number)));
    }
}

/// The same ids as those of projects, and flags under such ids.
#[tokio::test]
async fn ap_1_any_text_is_a_project() {
    let (_server, nick) = desk().await;
    for id in ODD {
        let package = package_with(&nick.handle, id, json!({"project_id": id, "status": "draft"}));
        let response = nick.post(&packages_of(id), package.clone()).await;
        assert_package(&response, 201, &package);
        let listed = nick.get(&format!("{}?mode=latest", packages_of(id))).await.ok(200);
        assert_eq!(list(&listed, "packages"), [package]);
        let path = format!("{}/flag", package_at(id));
        let flagged = nick.post(&path, json!({"review_type": "human"})).await.ok(200);
        assert_eq!((&flagged["package_id"], &flagged["status"]), (&json!(id), &json!("awaiting_review")));
        let shown = nick.get(&format!("/v1/projects/{}", enc(id))).await.ok(200);
        assert_eq!(shown["project_id"], json!(id));
    }
}

/// AP-20, D.7: one id in two projects is two packages, and the reader says which.
#[tokio::test]
async fn ap_20_an_id_is_unique_within_its_project() {
    let (server, nick) = desk().await;
    let stranger = server.agent("@mallory.bot").await;
    let in_project =
        |project: &str| package_with(&nick.handle, "same", json!({"project_id": project, "title": project}));
    let (one, two) = (in_project("one"), in_project("two"));
    let theirs = package_with(&stranger.handle, "same", json!({"project_id": "three"}));
    deposited(&nick, &one).await;
    deposited(&stranger, &theirs).await;
    // What stands in somebody else's project makes nothing ambiguous.
    assert_eq!(pull(&nick, "same").await, one);
    assert_eq!(pull(&stranger, "same").await, theirs);
    deposited(&nick, &two).await;
    nick.get(&package_at("same")).await.assert_refused(409, "ambiguous_package_id");
    assert_eq!(pull(&stranger, "same").await, theirs);
    assert_eq!(pull_at(&nick, "/v1/packages/same?project=one").await, one);
    assert_eq!(pull_at(&nick, "/v1/packages/same?project=two").await, two);
    nick.get("/v1/packages/same?project=three").await.refusal_code(404);
    nick.get("/v1/packages/same?project=four").await.refusal_code(404);
    nick.get("/v1/packages/other?project=one").await.assert_refused(404, "package_not_found");
}

/// AP-64: a flag under an ambiguous id says so too, and changes neither.
#[tokio::test]
async fn ap_20_an_ambiguous_flag_changes_nothing() {
    let (_server, nick) = desk().await;
    let draft =
        |project: &str| package_with(&nick.handle, "same", json!({"project_id": project, "status": "draft"}));
    for project in ["one", "two"] {
        deposited(&nick, &draft(project)).await;
    }
    let flag = json!({"review_type": "human"});
    nick.post("/v1/packages/same/flag", flag.clone()).await.assert_refused(409, "ambiguous_package_id");
    let review = json!({"status": "complete"});
    nick.post("/v1/packages/same/review", review).await.assert_refused(409, "ambiguous_package_id");
    let flagged = nick.post("/v1/packages/same/flag?project=two", flag).await.ok(200);
    assert_eq!((&flagged["project_id"], &flagged["status"]), (&json!("two"), &json!("awaiting_review")));
    assert_eq!(pull_at(&nick, "/v1/packages/same?project=one").await, draft("one"));
}

/// AP-59: what was never deposited is not found.
#[tokio::test]
async fn ap_59_an_unknown_package_is_not_found() {
    let (_server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "Known")).await;
    for id in ["known", "Known ", "Know", "Known/", "%4Bnown"] {
        nick.get(&package_at(id)).await.assert_refused(404, "package_not_found");
    }
    let found: Value = nick.get("/v1/packages/%4b%6Eown").await.ok(200);
    assert_eq!(found["package_id"], "Known", "a byte may be encoded without need");
    assert_eq!(deposit(&nick, &package(&nick.handle, "Known")).await.status, 200);
    assert_eq!(found["project_id"], PROJECT);
}
