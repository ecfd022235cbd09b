//! Content hashes against a second computation: AP-12, AP-35 to AP-37, AP-93 to AP-98.

use blackbox::{Agent, Response};
use serde_json::json;

use super::canonical::hash_of;
use super::speak::{PROJECT, assert_hash_headers, desk, package_at, packages_of};

/// A minimal package as text, with further members written as they stand.
fn text(by: &str, id: &str, more: &str) -> String {
    format!(
        r#"{{"package_id":"{id}","project_id":"{PROJECT}","relay_version":"0.1","title":"t","status":"complete","package_type":"standard","review_type":"none","created_at":"2026-04-18T20:00:00Z","created_by":{{"id":"{by}","type":"agent"}}{more}}}"#
    )
}

#[track_caller]
fn assert_hash(response: &Response, status: u16, hash: &str, what: &str) {
    assert_eq!(response.ok(status)["content_hash"], json!(hash), "{what}: {response}");
    assert_hash_headers(response, hash);
}

/// Deposits a package with these members and demands the hash of a second computation, then and on read.
async fn check(nick: &Agent, id: &str, more: &str) -> String {
    let text = text(&nick.handle, id, more);
    let hash = hash_of(&text);
    assert_hash(&nick.post_raw(&packages_of(PROJECT), text.as_bytes()).await, 201, &hash, more);
    assert_hash(&nick.get(&package_at(id)).await, 200, &hash, more);
    hash
}

/// The document's own example, its hash worked out by other means.
#[tokio::test]
async fn ap_36_the_documents_example_has_its_hash() {
    let (server, _) = desk().await;
    let example = br#"{
  "package_id": "pkg_1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d",
  "project_id": "proj_dev_relay",
  "relay_version": "0.1",
  "title": "Shipped archive/de-archive",
  "status": "complete",
  "package_type": "milestone",
  "review_type": "none",
  "created_at": "2026-04-18T20:00:00Z",
  "created_by": { "id": "jordan", "type": "human", "session_id": null },
  "tags": ["archive", "cli"],
  "decisions_made": ["Soft archive via archived_at timestamp"],
  "open_questions": [],
  "handoff_note": "Migration 009 applied, dashboard filter works."
}"#;
    let hash = "sha256:0efe5d06aaaaf2dc735b3f9ce7cfc1a0f7cd715491ab61d991f57be1d4c0db33";
    let operator = server.operator();
    assert_hash(&operator.post_raw(&packages_of(PROJECT), example).await, 201, hash, "deposit");
    let path = package_at("pkg_1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d");
    assert_hash(&operator.get(&path).await, 200, hash, "read");
}

/// AP-97: numbers as RFC 8785 prints them, however they were written.
#[tokio::test]
async fn ap_97_numbers_hash_as_doubles() {
    let (_server, nick) = desk().await;
    for (number, literal) in [
        "-0.0e5",
        "1.0",
        "4.50",
        "0.0000001",
        "1e21",
        "-9007199254740991",
        "5e-324",
        "1.7976931348623157e308",
        "333333333.33333329",
        "0.1000000000000000055511151231257827021181583404541015625",
    ]
    .iter()
    .enumerate()
    {
        check(&nick, &format!("n{number}"), &format!(r#","x-number":[{literal},{{"n":{literal}}}]"#)).await;
    }
}

/// AP-98: few characters are escaped, and an escape is the character.
#[tokio::test]
async fn ap_98_texts_hash_as_characters() {
    let (_server, nick) = desk().await;
    let all: String = (1..0x20).map(|code| format!("\\u{code:04x}")).collect();
    for (number, literal) in [
        r#""\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/""#,
        r#""/\/\u002f""#,
        r#""\b\t\n\f\r\u0008\u0009\u000a\u000C\u000D""#,
        "\"\u{7f}\u{80}\u{9f}\u{ad}\u{2028}\u{2029}\u{feff}\u{fffd}\u{ffff}\"",
        r#""\ud83d\ude00 😀 \uD83D\uDE00""#,
        "\"é e\u{301} <>&'\"",
        &format!("\"{all}\""),
    ]
    .iter()
    .enumerate()
    {
        check(&nick, &format!("s{number}"), &format!(r#","description":{literal},"x-list":[{literal}]"#))
            .await;
    }
}

/// AP-93, AP-94, AP-96: names in the order of their bytes, lists in theirs, no spaces.
#[tokio::test]
async fn ap_93_members_are_sorted_by_bytes() {
    let (_server, nick) = desk().await;
    let names = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7,"":8,"aa":9,"a":10,"A":11,"a\u0001":12,"\\":13,"\"":14}"#;
    check(&nick, "order", &format!(r#","x-names":[{names},[{names}]]"#)).await;
    check(&nick, "top", r#","\ufb33":1,"\ud83d\ude00":2,"Z":3,"z":4,"_":5"#).await;
    let one = check(&nick, "list", r#","tags":["b","a"]"#).await;
    let other = text(&nick.handle, "list", r#","tags":["a","b"]"#);
    assert_ne!(one, hash_of(&other), "the order of a list counts");
}

/// AP-95, 0.4 #12: null members are left out at every level, null elements are not, and empty is not absent.
#[tokio::test]
async fn ap_95_null_members_do_not_count() {
    let (_server, nick) = desk().await;
    for (number, more) in [
        r#","topic":null,"parent_package_id":null,"x-gone":null"#,
        r#","x-deep":{"a":null,"b":{"c":null,"d":[null,{"e":null,"f":[{"g":null}]}]}}"#,
        r#","x-list":[null,null]"#,
        r#","tags":[],"description":"","significance":5"#,
        r#","deliverables":[{"path":"a","type":"b","x-hash":null}]"#,
    ]
    .iter()
    .enumerate()
    {
        check(&nick, &format!("z{number}"), more).await;
    }
    // No default is part of it (0.4 #17): the same package with its defaults written out is another.
    let written = text(&nick.handle, "z3", r#","tags":[],"description":"","significance":5"#);
    assert_ne!(hash_of(&written), hash_of(&text(&nick.handle, "z3", "")));
}

/// AP-12: attribution is part of the hash.
#[tokio::test]
async fn ap_12_attribution_is_hashed() {
    let (server, nick) = desk().await;
    let operator = server.operator();
    let mut seen = Vec::new();
    for (number, by) in [
        r#"{"id":"jordan","type":"human"}"#,
        r#"{"id":"jordan","type":"agent"}"#,
        r#"{"id":"jordan","type":"human","session_id":"s"}"#,
        r#"{"id":"jordan","type":"human","git_commit":"c"}"#,
        r#"{"id":"nick","type":"human"}"#,
    ]
    .iter()
    .enumerate()
    {
        // One id in a project each, so that nothing but attribution and project differ.
        let project = format!("p{number}");
        let own = format!(r#"{{"id":"{}","type":"agent"}}"#, nick.handle);
        let text = text(&nick.handle, "same", "").replace(&own, by);
        let sent = text.replace(PROJECT, &project);
        let response = operator.post_raw(&packages_of(&project), sent.as_bytes()).await;
        assert_hash(&response, 201, &hash_of(&sent), by);
        seen.push(hash_of(&text));
    }
    let mut distinct = seen.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), seen.len(), "{seen:?}");
}
