//! Packages by relevance, which the server must declare as `keyword_search`: AP-60, AP-78, D.7.

use std::time::Duration;

use blackbox::{Agent, Server, assert_keys, eventually_within};
use serde_json::{Value, json};

use super::descriptor::declares;
use super::speak::{PROJECT, assert_field, deposited, desk, enc, list, package_with, packages_of, with};

/// D.7: searchable within 5 s.
const SEARCHABLE_MAX: Duration = Duration::from_secs(30);

/// A server that searches.
async fn searching() -> (Server, Agent) {
    let (server, nick) = desk().await;
    assert!(declares(&nick, "keyword_search").await, "AP-78");
    (server, nick)
}

fn path(project: &str, query: &str, more: &str) -> String {
    format!("{}?mode=relevant&query={}{more}", packages_of(project), enc(query))
}

/// The elements of an answer, checked: `{package, score}`, best first.
async fn found(nick: &Agent, query: &str, more: &str) -> Vec<Value> {
    let answer = nick.get(&path(PROJECT, query, more)).await.ok(200);
    assert_keys(&answer, &["packages"], &["next_cursor"]);
    let found = list(&answer, "packages");
    let scores: Vec<f64> = found.iter().map(|one| one["score"].as_f64().expect("a score")).collect();
    assert!(scores.iter().zip(scores.iter().skip(1)).all(|(a, b)| a >= b), "best first: {scores:?}");
    assert!(scores.iter().all(|score| score.is_finite() && *score >= 0.0), "{scores:?}");
    for one in &found {
        assert_keys(one, &["package", "score"], &[]);
        assert!(one["package"].get("content_hash").is_none(), "bare: {one}");
    }
    found
}

fn ids(found: &[Value]) -> Vec<&str> {
    found.iter().map(|one| one["package"]["package_id"].as_str().expect("an id")).collect()
}

async fn found_ids(nick: &Agent, query: &str) -> Vec<String> {
    ids(&found(nick, query, "&limit=50").await).into_iter().map(str::to_owned).collect()
}

/// Deposits, each with these members and a dull title; waits until the last can be found.
async fn shelve(nick: &Agent, packages: &[(&str, Value)]) {
    for (id, members) in packages {
        let dull = json!({"title": format!("zzz {id}"), "created_at": "2026-04-18T20:00:00Z"});
        deposited(nick, &package_with(&nick.handle, id, with(dull, members.clone()))).await;
    }
    let fence = json!({"title": "quuxfence"});
    let id = format!("fence of {}", packages.first().map_or("none", |(id, _)| id));
    deposited(nick, &package_with(&nick.handle, &id, fence)).await;
    let all = async || found_ids(nick, "quuxfence").await.contains(&id).then_some(());
    eventually_within(SEARCHABLE_MAX, "a deposit can be found", all).await;
}

/// D.7: six members are searched.
#[tokio::test]
async fn ap_60_six_members_are_searched() {
    let (_server, nick) = searching().await;
    let members = [
        ("t", json!({"title": "walrus"})),
        ("d", json!({"description": "about a walrus, mostly"})),
        ("c", json!({"content_md": "# Animals\n\n* the **walrus**\n"})),
        ("m", json!({"decisions_made": ["no seals", "one walrus"]})),
        ("q", json!({"open_questions": ["how heavy is a walrus?"]})),
        ("h", json!({"handoff_note": "feed the walrus."})),
        ("none", json!({"description": "about seals", "x-note": "walrus"})),
    ];
    shelve(&nick, &members).await;
    let mut seen = found_ids(&nick, "walrus").await;
    seen.sort();
    assert_eq!(seen, ["c", "d", "h", "m", "q", "t"]);
    for one in found(&nick, "walrus", "&limit=50").await {
        let id = one["package"]["package_id"].as_str().expect("an id");
        let read = super::speak::pull(&nick, id).await;
        assert_eq!(one["package"], read, "the package as it is");
    }
}

/// A title says more than a body; two words say more than one; many say no less.
#[tokio::test]
async fn ap_60_the_best_comes_first() {
    let (_server, nick) = searching().await;
    let rest = "and then some more of it to read";
    shelve(
        &nick,
        &[
            ("body", json!({"content_md": format!("walrus {rest}")})),
            ("title", json!({"title": "walrus"})),
            ("both", json!({"title": "walrus umbrella", "content_md": "umbrella walrus"})),
            ("other", json!({"content_md": format!("umbrella {rest}")})),
            ("neither", json!({"content_md": rest})),
        ],
    )
    .await;
    let seen = found_ids(&nick, "walrus").await;
    let place =
        |id: &str| seen.iter().position(|found| found == id).unwrap_or_else(|| panic!("{id}: {seen:?}"));
    assert!(place("title") < place("body"), "{seen:?}");
    assert_eq!(seen.len(), 3, "{seen:?}");
    let seen = found_ids(&nick, "walrus umbrella").await;
    assert_eq!(seen.first().map(String::as_str), Some("both"), "{seen:?}");
    assert_eq!(seen.len(), 4, "words are joined by or: {seen:?}");
    let twice = found(&nick, "walrus", "&limit=50").await;
    assert_eq!(ids(&twice), ids(&found(&nick, "walrus", "&limit=50").await), "the same again");
}

/// D.7: words by their stems, whatever their case; words that say nothing do not count.
#[tokio::test]
async fn ap_60_words_are_stemmed() {
    let (_server, nick) = searching().await;
    shelve(
        &nick,
        &[
            ("archive", json!({"description": "Archiving of projects was shipped"})),
            ("café", json!({"description": "Café öffnet um ACHT"})),
            ("plain", json!({"description": "the and of with"})),
        ],
    )
    .await;
    for query in
        ["archive", "archives", "ARCHIVED", "project", "shipping", "the archiving of the projects", "ship?"]
    {
        assert_eq!(found_ids(&nick, query).await, ["archive"], "{query}");
    }
    for query in ["café", "CAFÉ", "öffnet", "acht", "Café, öffnet!"] {
        assert_eq!(found_ids(&nick, query).await, ["café"], "{query}");
    }
    assert_eq!(found_ids(&nick, "xylophone").await, Vec::<String>::new());
}

/// What other engines take for syntax; each has a word that one package has.
const SIGNS: &[&str] = &[
    "walrus AND xylophone",
    "walrus xylophone",
    "+xylophone walrus",
    "-walrus",
    "NOT walrus",
    "!walrus",
    "\"walrus",
    "\"walrus xylophone\"",
    "(walrus",
    "walrus)",
    "walrus^5",
    "walrus~2",
    "title:walrus",
    "description:walrus",
    "no_field:walrus",
    "[walrus TO xylophone]",
    "{walrus}",
    "walrus OR",
    "AND walrus",
    "walrus && ||",
    "walrus:*",
    "'walrus",
    "walrus'; DROP TABLE packages; --",
    "walrus\\",
    "walrus & !",
    "<-> walrus",
    "%walrus%",
    "walrus\t\n",
    "/walrus/",
    "walrus 😀",
    "walrus\u{202e}",
    "IN [walrus]",
    "boost:walrus^1e9",
    "{\"match\":\"walrus\"}",
];

/// What users write is never syntax: signs are no operators, and nothing of it is an error.
#[tokio::test]
async fn ap_60_a_query_is_no_syntax() {
    let (_server, nick) = searching().await;
    shelve(
        &nick,
        &[
            ("walrus", json!({"description": "a walrus"})),
            ("umbrella", json!({"description": "an umbrella"})),
        ],
    )
    .await;
    for query in SIGNS {
        let seen = found_ids(&nick, query).await;
        assert_eq!(seen, ["walrus"], "{query}");
    }
    for query in [
        "wal*",
        "w?lrus",
        "*",
        "*:*",
        "_exists_:title",
        "alru",
        "w",
        "/.*/",
        "[* TO *]",
        "walrus-free-umbrellaless-x",
    ] {
        let answer = nick.get(&path(PROJECT, query, "")).await;
        assert!([200, 400].contains(&answer.status), "{query}: {answer}");
        if answer.status == 200 && !query.contains('-') {
            assert_eq!(answer.json()["packages"], json!([]), "no pattern: {query}");
        }
    }
    for query in ["(", ")", "\"", "\\", "AND", "OR NOT", "~", "^", ":", "&|!", "\u{1}", "'"] {
        let answer = nick.get(&path(PROJECT, query, "")).await;
        assert!([200, 400].contains(&answer.status), "{query}: {answer}");
    }
    for long in ["walrus ".repeat(150), "x".repeat(900), "wort ".repeat(150) + "umbrella"] {
        let answer = nick.get(&path(PROJECT, &long, "")).await;
        assert!([200, 400, 414].contains(&answer.status), "{answer}");
    }
}

/// D.7: an empty query is refused; so is a wrong limit; so many are given and no more.
#[tokio::test]
async fn ap_60_parameters_are_checked() {
    let (_server, nick) = searching().await;
    let many: Vec<_> = (0..12).map(|number| format!("p{number}")).collect();
    let many: Vec<_> = many.iter().map(|id| (id.as_str(), json!({"description": "walrus"}))).collect();
    shelve(&nick, &many).await;
    for query in ["", "%20", "%09%0a", "%E3%80%80"] {
        let answer = nick.get(&format!("{}?mode=relevant&query={query}", packages_of(PROJECT))).await;
        answer.refused_as(400);
        assert_field(&answer, "query");
    }
    let answer = nick.get(&format!("{}?mode=relevant", packages_of(PROJECT))).await;
    answer.refused_as(400);
    assert_field(&answer, "query");
    for limit in ["0", "-1", "x", "1.5", ""] {
        let answer = nick.get(&path(PROJECT, "walrus", &format!("&limit={limit}"))).await;
        answer.refused_as(400);
        assert_field(&answer, "limit");
    }
    for limit in [1, 2, 7, 12, 50] {
        let seen = found(&nick, "walrus", &format!("&limit={limit}")).await;
        assert_eq!(seen.len(), limit.min(12), "limit {limit}");
    }
    assert!((5..=12).contains(&found(&nick, "walrus", "").await.len()));
}

/// AP-101: a search shows what the searcher may read, of the project that was named, and says no more of others.
#[tokio::test]
async fn ap_101_a_search_stays_in_its_project() {
    let (server, nick) = searching().await;
    let owner = server.owner("eve").await;
    let mallory = server.agent("@mallory.bot").await;
    let unknown = mallory.get(&path(PROJECT, "walrus", "")).await.fingerprint();
    shelve(&nick, &[("mine", json!({"description": "walrus"}))]).await;
    let elsewhere = json!({"project_id": "elsewhere", "description": "walrus walrus walrus"});
    deposited(&nick, &package_with(&nick.handle, "other", elsewhere)).await;
    assert_eq!(mallory.get(&path(PROJECT, "walrus", "")).await.fingerprint(), unknown);
    owner.get(&path(PROJECT, "walrus", "")).await.refused(404, "project_not_found");
    mallory.get(&path(PROJECT, "", "")).await.refused_as(404);
    eventually_within(SEARCHABLE_MAX, "the other is found", async || {
        let answer = nick.get(&path("elsewhere", "walrus", "")).await.ok(200);
        (ids(&list(&answer, "packages")) == ["other"]).then_some(())
    })
    .await;
    assert_eq!(found_ids(&nick, "walrus").await, ["mine"]);
}

/// The package found is the package as it now is; what was acknowledged before a kill is found after it.
#[tokio::test]
async fn ap_60_the_present_state_is_found() {
    let (mut server, nick) = searching().await;
    shelve(&nick, &[("one", json!({"status": "awaiting_review", "description": "walrus"}))]).await;
    nick.post("/v1/packages/one/review", json!({"status": "complete"})).await.ok(200);
    let seen = found(&nick, "walrus", "").await;
    assert_eq!(seen[0]["package"]["status"], "complete", "not what it was when it was indexed");
    for round in 0..3 {
        let word = format!("walrus{round}x");
        let id = format!("late{round}");
        deposited(&nick, &package_with(&nick.handle, &id, json!({"description": word}))).await;
        server.crash().await;
        let probe = async || (found_ids(&nick, &word).await == [id.clone()]).then_some(());
        eventually_within(SEARCHABLE_MAX, "found after a kill", probe).await;
    }
    assert_eq!(found_ids(&nick, "walrus").await, ["one"], "once, and the old still is");
}
