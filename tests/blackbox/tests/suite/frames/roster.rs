//! FO-86, FO-93: who is subscribed, and who may know. Must not know: what a frame is.

use blackbox::{Server, Stream, assert_keys};
use serde_json::Value;

use super::speak::{Field, refused, stream_path, subscribe, subscribe_as, subscribe_with};

#[track_caller]
fn rows(body: &Value) -> &Vec<Value> {
    assert_keys(body, &["handle", "roster"], &[]);
    let rows = body["roster"].as_array().expect("a list");
    for row in rows {
        assert_keys(row, &["handle", "agent", "instrument", "tool", "session_id", "started_at"], &[]);
        assert_eq!(row["handle"], body["handle"]);
        let started = row["started_at"].as_str().expect("a time");
        assert!(started.len() >= 20 && started.ends_with('Z'), "RFC 3339 in UTC: {row}");
        let session = row["session_id"].as_str().expect("an id");
        assert!((1..=128).contains(&session.len()), "{row}");
    }
    rows
}

/// FO-93: each open stream is a row, with what it said of itself and what was made up for it.
#[tokio::test]
async fn fo_93_rows() {
    let (_server, [laptop, phone]) = Server::with(["@nick.cc-laptop", "@nick.phone"]).await;
    let body = laptop.get("/handles/~nick/roster").await.ok(200);
    assert_eq!(body["handle"], "~nick");
    assert!(rows(&body).is_empty());
    let streams: Vec<Stream> = vec![
        subscribe(&laptop).await,
        subscribe_as(&phone, "cursor-2", "s1").await,
        subscribe_with(&phone, "tool=codex&session_id=s2").await,
        subscribe_with(&phone, "filter=kind:agent_query&instrument=cursor-2&session_id=s1").await,
    ];
    let body = phone.get("/handles/~nick/roster").await.ok(200);
    let mut found: Vec<_> = rows(&body)
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap_or_default();
            let session = if text("agent") == "@nick.cc-laptop" { "made up" } else { text("session_id") };
            (text("agent"), text("instrument"), text("tool"), session)
        })
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("@nick.cc-laptop", "cc-laptop", "cc", "made up"),
            ("@nick.phone", "cursor-2", "cursor", "s1"),
            ("@nick.phone", "cursor-2", "cursor", "s1"),
            ("@nick.phone", "phone", "codex", "s2"),
        ]
    );
    for stream in streams {
        stream.cut().await;
    }
    blackbox::eventually("closed streams leave the roster", || async {
        rows(&laptop.get("/handles/~nick/roster").await.ok(200)).is_empty().then_some(())
    })
    .await;
}

/// Sessions that were not named get names of their own.
#[tokio::test]
async fn fo_93_made_up_session_ids_differ() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(subscribe(&alice).await);
    }
    let body = alice.get("/handles/~alice/roster").await.ok(200);
    let ids: std::collections::BTreeSet<_> =
        rows(&body).iter().map(|row| row["session_id"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(ids.len(), 10);
    for id in ids {
        let clean = id.bytes().all(|byte| byte.is_ascii_graphic() && !b"/*@".contains(&byte));
        assert!(clean, "an id that a scope can name: {id}");
    }
    drop(streams);
}

/// FO-47, FO-86: roster and stream of somebody else, and of nobody, answer with the same bytes.
#[tokio::test]
async fn fo_86_foreign_and_unknown_are_one_answer() {
    let server = Server::start().await;
    let bob_owner = server.owner("bob").await;
    let alice = server.agent("@alice.bot").await;
    let bob = server.agent("@bob.bot").await;
    server.owner("empty").await;
    let stream = subscribe(&alice).await;
    for (caller, surface) in [
        (&*bob, "roster"),
        (&*bob, "stream"),
        (&*bob, "stream?filter=kind:agent_query"),
        (&bob_owner, "roster"),
    ] {
        let mut answers = Vec::new();
        for handle in ["~alice", "~empty", "~nobody"] {
            let answer = caller.get(&format!("/handles/{handle}/{surface}")).await;
            refused(&answer, 403, "scope-unauthorised", Field::Any);
            answers.push(answer.fingerprint());
        }
        assert_eq!(answers[0], answers[1], "{surface}");
        assert_eq!(answers[0], answers[2], "{surface}");
    }
    let last = [("Last-Event-ID", "1")];
    let answer = bob.try_stream(&stream_path(&alice, ""), &last).await.expect_err("not bob's");
    refused(&answer, 403, "scope-unauthorised", Field::Any);
    drop(stream);
}
