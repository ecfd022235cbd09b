//! `mode=relevant`: what is found, who finds it, and what a stop, a kill or a lost index does to it (AP-60, D.7).
//! Must not know: what the index is.

use blackbox::{Agent, Caller, Database, Server, TestDependency, eventually};
use serde_json::{Value, json};

use super::speak::{PROJECT, ago, deposited, desk, enc, list, package_with, packages_of, pull, refused};

fn path(project: &str, query: &str) -> String {
    format!("{}?mode=relevant&limit=50&query={}", packages_of(project), enc(query))
}

/// What is found, the nearest first: `{package, score}`, scores above 0 that fall.
async fn hits(caller: &Caller, query: &str) -> Vec<Value> {
    let body = caller.get(&path(PROJECT, query)).await.ok(200);
    let hits = list(&body, "packages");
    let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().expect("a score")).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| *score > 0.0), "{body}");
    assert!(hits.iter().all(|hit| hit.as_object().is_some_and(|hit| hit.len() == 2)), "{body}");
    hits
}

async fn ids(caller: &Caller, query: &str) -> Vec<String> {
    let id = |hit: &Value| hit["package"]["package_id"].as_str().expect("an id").to_owned();
    hits(caller, query).await.iter().map(id).collect()
}

/// Waits until exactly these are found, in this order.
async fn finds(caller: &Caller, query: &str, expected: &[&str]) {
    let what = format!("{query:?} finds {expected:?}");
    eventually(&what, || async { (ids(caller, query).await == expected).then_some(()) }).await;
}

async fn put(nick: &Agent, id: &str, members: Value) {
    let members = super::speak::with(json!({"title": "t", "created_at": ago(60_000)}), members);
    deposited(nick, &package_with(&nick.handle, id, members)).await;
}

/// AP-60: ranked, whole packages as they stand now, and nothing else.
#[tokio::test]
async fn ap_60_what_is_nearer_comes_first() {
    let (_server, nick) = desk().await;
    let body = "some words about other things that were done";
    put(&nick, "in-body", json!({"content_md": format!("login {body}")})).await;
    put(&nick, "in-note", json!({"handoff_note": "login", "content_md": body})).await;
    put(&nick, "in-question", json!({"open_questions": ["login?"], "description": body})).await;
    put(&nick, "in-decision", json!({"decisions_made": ["login"], "content_md": body})).await;
    put(&nick, "in-title", json!({"title": "login", "content_md": body})).await;
    put(&nick, "nowhere", json!({"tags": ["login"], "x-note": "login", "content_md": body})).await;
    eventually("all are found", || async { (ids(&nick, "login").await.len() == 5).then_some(()) }).await;
    let found = ids(&nick, "logins").await;
    assert_eq!(found[..2], ["in-title", "in-decision"]);
    assert_eq!(found[4], "in-body", "{found:?}");
    assert_eq!(hits(&nick, "login").await[0]["package"], pull(&nick, "in-title").await, "a bare package");
    let one = nick.get(&format!("{}?mode=relevant&query=login&limit=1", packages_of(PROJECT))).await.ok(200);
    assert_eq!(list(&one, "packages").len(), 1);
}

/// D.7: words are alternatives, by their stems, without accents, in any script, identifiers by their parts.
#[tokio::test]
async fn ap_60_any_word_in_any_form_is_found() {
    let (_server, nick) = desk().await;
    put(&nick, "forms", json!({"description": "We migrated the Café's database"})).await;
    put(&nick, "code", json!({"content_md": "`src/main.rs` calls fix_login and renderFooter"})).await;
    put(&nick, "han", json!({"title": "数据库迁移"})).await;
    finds(&nick, "migrations", &["forms"]).await;
    finds(&nick, "main", &["code"]).await;
    finds(&nick, "迁移", &["han"]).await;
    for (query, id) in [
        ("cafe", "forms"),
        ("login unknownword", "code"),
        ("footer", "code"),
        ("login AND nothing", "code"),
        ("\"login", "code"),
        ("title:login*", "code"),
        ("login & !login | (", "code"),
        ("'; DROP TABLE login; --", "code"),
    ] {
        assert_eq!(ids(&nick, query).await, [id], "{query}");
    }
    for query in ["nothing-of-it", "the of and", "???", "\u{0}"] {
        assert!(ids(&nick, query).await.is_empty(), "{query:?}");
    }
}

/// AP-60, D.7: an empty query and values out of bounds are 400; an unknown project is 404.
#[tokio::test]
async fn ap_60_what_is_no_query_is_refused() {
    let (_server, nick) = desk().await;
    put(&nick, "a", json!({})).await;
    let base = format!("{}?mode=relevant", packages_of(PROJECT));
    for query in ["", "&query=", "&query=%20%09"] {
        refused(&nick.get(&format!("{base}{query}")).await, 400, "invalid_parameter", "query");
    }
    let long = "x".repeat(4_097);
    refused(&nick.get(&format!("{base}&query={long}")).await, 400, "invalid_parameter", "query");
    nick.get(&format!("{base}&query={}", &long[1..])).await.ok(200);
    for limit in ["0", "1001", "x", ""] {
        let response = nick.get(&format!("{base}&query=a&limit={limit}")).await;
        refused(&response, 400, "invalid_parameter", "limit");
    }
    nick.get(&path("unknown", "login")).await.assert_refused(404, "project_not_found");
}

/// AP-101: nobody finds what they may not read; drafts are listed as in `latest`.
#[tokio::test]
async fn ap_101_only_what_may_be_read_is_found() {
    let (server, nick) = desk().await;
    let other = server.agent("@acme.bot").await;
    put(&nick, "shown", json!({"title": "login"})).await;
    put(&nick, "elsewhere", json!({"title": "login", "project_id": "other"})).await;
    finds(&nick, "login", &["shown"]).await;
    other.get(&path(PROJECT, "login")).await.assert_refused(404, "project_not_found");
    put(&nick, "draft", json!({"title": "login draft", "status": "draft"})).await;
    finds(&nick, "draft", &["draft"]).await;
    let status = format!("{}&status=complete", path(PROJECT, "login"));
    let complete = list(&nick.get(&status).await.ok(200), "packages");
    assert_eq!(complete.len(), 1);
    assert_eq!(complete[0]["package"]["package_id"], "shown");
    nick.post("/v1/packages/draft/review", json!({"status": "complete"})).await.ok(200);
    assert_eq!(hits(&nick, "draft").await[0]["package"]["status"], "complete", "as it stands now");
}

/// The index goes on where it stood, after a stop and after a kill; one that is lost or damaged is made again.
#[tokio::test]
async fn ap_60_a_restart_finds_everything() {
    let (mut server, nick) = desk().await;
    for number in 0..5 {
        put(&nick, &format!("p{number}"), json!({"title": format!("login number{number}")})).await;
    }
    finds(&nick, "number3", &["p3"]).await;
    server.stop().await;
    server.restart().await;
    finds(&nick, "number3", &["p3"]).await;
    put(&nick, "late", json!({"title": "login late"})).await;
    server.crash().await;
    finds(&nick, "late", &["late"]).await;
    finds(&nick, "number4", &["p4"]).await;
    assert_eq!(ids(&nick, "login").await.len(), 6);

    server.stop().await;
    let index = server.data().join("search");
    std::fs::remove_dir_all(&index).expect("the index is a directory");
    server.restart().await;
    finds(&nick, "number2", &["p2"]).await;

    server.stop().await;
    for file in std::fs::read_dir(&index).expect("a directory").flatten() {
        std::fs::write(file.path(), b"nothing of use").expect("the file can be written");
    }
    server.restart().await;
    finds(&nick, "number1", &["p1"]).await;
    assert_eq!(ids(&nick, "login").await.len(), 6);
    server.wait_for_log("rebuilt").await;
}

/// Two processes on one PostgreSQL share one index; when the one that writes it is gone, the other goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_60_two_processes_find_the_same() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let start = || Server::builder().database(database.url()).start();
    let (mut a, mut b) = tokio::join!(start(), start());
    let nick = a.agent("@nick.cc-laptop").await;
    let nick_b = nick.at(&b);
    put(&nick, "one", json!({"title": "login one"})).await;
    put(&nick_b, "two", json!({"title": "login two", "content_md": "more words"})).await;
    for caller in [&nick, &nick_b] {
        finds(caller, "login", &["one", "two"]).await;
    }
    a.kill().await;
    put(&nick_b, "three", json!({"title": "kestrel"})).await;
    finds(&nick_b, "kestrel", &["three"]).await;
    a.restart().await;
    b.kill().await;
    let nick = nick.at(&a);
    put(&nick, "four", json!({"title": "heron"})).await;
    finds(&nick, "heron", &["four"]).await;
    assert_eq!(ids(&nick, "login").await, ["one", "two"]);
    drop((a, b));
    database.remove().await;
}

/// AP-62: snippets are of what was deposited just now, too.
#[tokio::test]
async fn ap_62_a_focus_finds_parts_of_packages() {
    let (_server, nick) = desk().await;
    put(
        &nick,
        "a",
        json!({"decisions_made": ["Keep the login page", "other"], "handoff_note": "see logins"}),
    )
    .await;
    put(&nick, "old", json!({"title": "login", "created_at": ago(super::speak::days(400))})).await;
    put(&nick, "draft", json!({"title": "login", "status": "draft"})).await;
    let path = format!("/v1/orchestrate?project={PROJECT}&focus=login+pages&snippets=5");
    let at_once = list(&nick.get(&path).await.ok(200), "snippets");
    let seen: Vec<_> = at_once.iter().map(|snippet| snippet["content_type"].as_str()).collect();
    assert_eq!(seen, [Some("decision"), Some("handoff")], "{at_once:?}");
    finds(&nick, "see", &["a"]).await;
    assert_eq!(list(&nick.get(&path).await.ok(200), "snippets"), at_once, "indexed or not");
    let everywhere = list(&nick.get("/v1/orchestrate?focus=login+pages").await.ok(200), "snippets");
    assert_eq!(everywhere, at_once);
}

/// D.7: an answer that a limit cuts says so.
#[tokio::test]
async fn an_answer_that_is_cut_says_so() {
    let (_server, nick) = desk().await;
    let body = "giraffe ".repeat(25_000);
    for n in 0..13 {
        put(&nick, &format!("large-{n}"), json!({"title": "giraffe", "content_md": body})).await;
    }
    let query = |limit: usize| format!("{}?mode=relevant&query=giraffe&limit={limit}", packages_of(PROJECT));
    let found = eventually("all are indexed", || async {
        let found = nick.get(&query(13)).await.ok(200);
        (list(&found, "packages").len() >= 10 && found["x-truncated"] == json!(["packages"])).then_some(found)
    })
    .await;
    assert!(list(&found, "packages").len() < 13, "2 MiB");
    let whole = nick.get(&query(5)).await.ok(200);
    assert_eq!((list(&whole, "packages").len(), whole.as_object().map(serde_json::Map::len)), (5, Some(1)));
}
