//! The way to the operations: paths and methods of §9.1, TLS, content types, versions, and the two lower levels:
//! AP-50, AP-68, AP-69, AP-70, AP-73, AP-81, AP-82, AP-92, AP-100, AP-105.

use blackbox::{Server, assert_keys};
use serde_json::{Value, json};

use super::canonical::hash_of;
use super::speak::{
    PROJECT, assert_fact, assert_package, deposited, desk, enc, facts, facts_of, package, package_with,
    packages_of, texts,
};

/// The nine rows of §9.1 as they are written there, one after the other.
async fn tour(server: &Server) {
    let nick = server.agent("@nick.cc-laptop").await;
    let of = |rest: &str| format!("/v1/projects/{PROJECT}/{rest}");
    let sent = package_with(&nick.handle, "pkg_1", json!({"status": "draft"}));
    assert_package(&nick.post(&of("packages"), sent.clone()).await, 201, &sent);
    let latest = nick.get(&of("packages?mode=latest&limit=5")).await.ok(200);
    assert_eq!(latest["packages"], json!([sent]));
    assert_package(&nick.get("/v1/packages/pkg_1").await, 200, &sent);
    let relevant = nick.get(&of("packages?mode=relevant&query=archive")).await.ok(200);
    assert!(relevant["packages"].is_array(), "{relevant}");
    let bundle = nick.get(&of("orient?window_days=14")).await.ok(200);
    assert_eq!(bundle["window_days"], 14);
    nick.get(&format!("/v1/orchestrate?project={PROJECT}&focus=archive")).await.ok(200);
    let flagged = nick.post("/v1/packages/pkg_1/flag", json!({"review_type": "human"})).await.ok(200);
    assert_eq!(flagged["status"], "awaiting_review");
    let fact = json!({"subject": "s", "predicate": "p", "value": "97.0"});
    nick.post(&of("facts"), fact).await.ok(201);
    let gone = nick.delete(&of("facts?subject=s&predicate=p")).await.ok(200);
    assert_eq!(gone, json!({"invalidated": 1}));
}

/// AP-68, AP-69: the recommended mapping, word for word.
#[tokio::test]
async fn ap_68_81_the_paths_are_those_of_the_document() {
    tour(&Server::start().await).await;
}

/// AP-73: the same over TLS, and nothing of it without.
#[tokio::test]
async fn ap_73_everything_goes_over_tls() {
    let server = Server::builder().tls().start().await;
    tour(&server).await;
    let plain = blackbox::Connection::open(server.address().get()).await;
    let request = server.operator().request("GET", "/v1/projects", &[], None);
    let answer = match plain {
        Ok(mut plain) => plain.round_trip(&request).await,
        Err(error) => Err(error),
    };
    assert!(answer.is_err(), "no answer in clear text: {answer:?}");
}

/// AP-82: level 1 is a deposit with its hash, which whoever reads can verify without trusting the server.
#[tokio::test]
async fn ap_82_a_reader_verifies_what_was_deposited() {
    let (server, nick) = desk().await;
    let reader = server.agent("@nick.reader").await;
    for number in 0..20 {
        let more = json!({"x-number": number, "tags": [format!("é{number}")]});
        deposited(&nick, &package_with(&nick.handle, &format!("p{number}"), more)).await;
    }
    let listed = reader.get(&format!("{}?limit=20", packages_of(PROJECT))).await.ok(200);
    let listed = super::speak::list(&listed, "packages");
    assert_eq!(listed.len(), 20);
    for package in listed {
        let id = package["package_id"].as_str().expect("an id");
        let single = reader.get(&format!("/v1/packages/{id}")).await;
        assert_eq!(single.header("x-content-hash"), Some(hash_of(&package.to_string()).as_str()));
        assert_eq!(package["relay_version"], "0.1", "AP-92");
    }
}

/// AP-50: only a store without transactions refuses updates. This one takes them, and is never seen without one of
/// the two halves, whichever way the update is asked for.
#[tokio::test]
async fn ap_50_updates_are_taken_whole() {
    let (mut server, nick) = desk().await;
    let body = |value: &str| json!({"subject": "s", "predicate": "p", "value": value});
    let first = assert_fact(&nick, body("1")).await;
    let refused = super::speak::with(body("2"), json!({"valid_from": first["valid_from"]}));
    nick.post(&facts_of(PROJECT), refused).await.assert_refused(400, "invalid_valid_from");
    assert_eq!(
        facts(&nick, "include_ended=true").await,
        std::slice::from_ref(&first),
        "the old one is not ended"
    );
    let second = assert_fact(&nick, body("3")).await;
    server.crash().await;
    let history = facts(&nick, "include_ended=true").await;
    assert_eq!(texts(&history, "value"), ["1", "3"]);
    assert_eq!(history[0]["valid_to"], second["valid_from"]);
    assert_eq!(history[1], second);
}

/// AP-100: that a subject is stable is the writer's duty; the server keeps it as it was written, to the code point.
#[tokio::test]
async fn ap_100_a_subject_stays_as_it_was_written() {
    let (mut server, nick) = desk().await;
    let long = "é".repeat(400);
    let subjects = ["longmemeval_s", " a  b\t", "e\u{301}", "é", "\u{feff}x", "a\u{200b}b", "İ", "ß", &long];
    for value in ["1", "2"] {
        for subject in subjects {
            let made =
                assert_fact(&nick, json!({"subject": subject, "predicate": "p", "value": value})).await;
            assert_eq!(made["subject"], subject);
        }
        server.crash().await;
    }
    let mut found = texts(&facts(&nick, "").await, "subject");
    let mut wanted = subjects.map(str::to_owned);
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    for subject in subjects {
        let history = facts(&nick, &format!("subject={}&include_ended=true", enc(subject))).await;
        assert_eq!(texts(&history, "subject"), [subject, subject]);
    }
}

/// Every text of an answer that looks like a time is one in UTC.
fn times(value: &Value, found: &mut usize) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            if (name.ends_with("_at") || name.starts_with("valid_")) && value.is_string() {
                super::speak::instant(value);
                *found += 1;
            }
            times(value, found);
        }),
        Value::Array(items) => items.iter().for_each(|value| times(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// AP-69, AP-70: JSON and times in UTC in every answer, whatever the request says it would rather have.
#[tokio::test]
async fn ap_70_every_answer_speaks_json_and_utc() {
    let (_server, nick) = desk().await;
    let made =
        json!({"status": "awaiting_review", "created_at": super::speak::ago(1_000), "open_questions": ["?"]});
    deposited(&nick, &package_with(&nick.handle, "one", made)).await;
    assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
    assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "2"})).await;
    nick.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await.ok(201);
    let of = |rest: &str| format!("/v1/projects/{PROJECT}{rest}");
    let mut found = 0;
    for path in [
        "/v1/projects".to_owned(),
        "/v1/orchestrate".to_owned(),
        "/v1/packages/one".to_owned(),
        "/v1/packages/one/reviews".to_owned(),
        "/v1/conformance".to_owned(),
        of(""),
        of("/packages"),
        of("/reviews"),
        of("/facts?include_ended=true"),
        of("/orient"),
        of("/sessions"),
    ] {
        for accept in ["application/json", "text/html", "*/*", "application/xml;q=1"] {
            let answer = nick.call("GET", &path, &[("Accept", accept)], None).await;
            times(&answer.ok(200), &mut found);
            assert_eq!(answer.header("content-type"), Some("application/json"), "{answer}");
        }
    }
    assert!(found > 40, "there were times: {found}");
}

/// AP-88, AP-105: the descriptor is for anybody, reading needs no write, and the digest is offered.
#[tokio::test]
async fn ap_105_a_reader_needs_no_write() {
    let (server, nick) = desk().await;
    let owner = server.owner("nick").await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let reader = server.agent("@reader.bot").await;
    let share = format!("/v1/projects/{PROJECT}/members/@reader.bot");
    owner.put(&share, json!({"role": "reader"})).await.ok(200);
    reader.get(&format!("/v1/orchestrate?project={PROJECT}")).await.ok(200);
    reader.get(&format!("/v1/projects/{PROJECT}/orient")).await.ok(200);
    for who in [&*reader, &server.stranger()] {
        let found = who.get("/v1/conformance").await.ok(200);
        let keys = ["protocol_version", "conformance_level", "capabilities", "implementation"];
        assert_keys(&found, &keys, &["x-search"]);
    }
}
