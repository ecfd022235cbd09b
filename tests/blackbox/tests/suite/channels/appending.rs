//! Appending and reading events (CH-9 to CH-12, CH-14 to CH-20, CH-23 to CH-26, CH-34).

use blackbox::{Server, assert_keys, epoch_ms};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{append, channel, events, id, link, refused};

/// CH-10, CH-21: the members of an event, and who wrote it.
#[tokio::test]
async fn ch_9_10_21_an_event_has_its_members() {
    let server = Server::start().await;
    let (ann, owner) = (server.agent("@nick.ann").await, server.owner("acme").await);
    let channel = channel(&ann).await;
    let made = append(&ann, &channel, "comms", json!({"text": "hello"})).await;
    assert_keys(&made, &["id", "channel_id", "kind", "author", "via", "payload", "created_at"], &[]);
    assert_eq!((&made["author"], &made["via"]), (&json!("@nick.ann"), &json!("@nick.ann")));
    assert_eq!((&made["channel_id"], &made["kind"]), (&json!(channel), &json!("comms")));
    let at = made["created_at"].as_str().expect("a time");
    assert!(at.len() == 24 && at.ends_with('Z') && at.as_bytes()[10] == b'T', "RFC 3339 in UTC: {at}");
    assert!(id(&made) < 1 << 53 && epoch_ms() > 0);
    let path = format!("/agent-channel/{channel}/event");
    let named = json!({
        "kind": "log", "author": "claude-linux-a-1a2b", "payload": {},
        "id": 1, "created_at": "1970", "channel_id": "ZZZZ", "via": "@some.body", "more": true,
    });
    let made = ann.post(&path, named).await.ok(200);
    assert_eq!((&made["author"], &made["via"]), (&json!("claude-linux-a-1a2b"), &json!("@nick.ann")));
    assert!(id(&made) > 1 && made["created_at"] != "1970" && made["channel_id"] == channel.as_str());
    assert!(made.get("more").is_none(), "unknown members are ignored");
    let made = ann.post(&path, json!({"kind": "log", "author": "", "payload": {}})).await.ok(200);
    assert_eq!(made["author"], "@nick.ann", "an empty author is as good as none");
    owner.get(&link(&ann, &channel).await).await.ok(200);
    assert_eq!(append(&owner, &channel, "log", json!({})).await["via"], "~acme");
    assert_eq!(append(&server.operator(), &channel, "log", json!({})).await["via"], "operator");
}

/// CH-11, CH-12, CH-26, CH-34: rising ids, newest first, and nothing ever changes.
#[tokio::test]
async fn ch_11_12_26_34_the_log_only_grows() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let (one, other) = (channel(&ann).await, channel(&ann).await);
    let mut made = Vec::new();
    for n in 0..10 {
        made.insert(0, append(&ann, &one, "comms", json!({ "n": n })).await);
        append(&ann, &other, "comms", json!({ "n": n })).await;
        assert_eq!(events(&ann, &one, "").await, made, "what was there stays as it was");
    }
    assert!(made.windows(2).all(|pair| id(&pair[0]) > id(&pair[1])), "ids rise: {made:?}");
    let times: Vec<_> = made.iter().map(|event| event["created_at"].as_str().expect("a time")).collect();
    assert!(times.is_sorted_by(|a, b| a >= b));
    let methods = ["PUT", "PATCH", "DELETE"];
    for method in methods {
        let path = format!("/agent-channel/{one}/events");
        assert_eq!(ann.call(method, &path, &[], Some(&json!({}))).await.status, 405);
        assert_eq!(
            ann.call(method, &format!("/agent-channel/{one}"), &[], Some(&json!({}))).await.status,
            405
        );
    }
}

/// CH-26: many at once: each append is there once, ids differ, each author's own order is kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ch_26_appends_at_once_are_one_order() {
    const EACH: u64 = 25;
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let posts = (0..6).map(|author| {
        let (ann, channel) = (&ann, &channel);
        async move {
            let mut ids = Vec::new();
            for n in 0..EACH {
                ids.push(id(&append(ann, channel, "log", json!({"author": author, "n": n})).await));
            }
            assert!(ids.is_sorted(), "{ids:?}");
            ids
        }
    });
    let mut all: Vec<u64> = join_all(posts).await.into_iter().flatten().collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    let listed = events(&ann, &channel, "?limit=500").await;
    assert_eq!(listed.iter().map(id).collect::<Vec<_>>(), all);
    assert_eq!(all.len() as u64, 6 * EACH);
}

/// CH-14, CH-15, CH-19, CH-20: any kind goes; the five that mean something are kinds like any other.
#[tokio::test]
async fn ch_14_15_18_19_20_kinds_are_free() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let long = "é".repeat(64);
    let kinds = ["spec", "state", "status", "comms", "log", "a/b", "a%2Fb", "x y", "SPEC", "-", &long];
    for kind in kinds {
        let made = append(&ann, &channel, kind, json!({"k": kind})).await;
        assert_eq!(made["kind"], kind);
    }
    for (query, kind) in
        [("a%2Fb", "a/b"), ("a%252Fb", "a%2Fb"), ("x%20y", "x y"), ("SPEC", "SPEC"), ("log", "log")]
    {
        let found = events(&ann, &channel, &format!("?kind={query}")).await;
        assert_eq!(found.iter().map(|event| &event["kind"]).collect::<Vec<_>>(), [kind]);
    }
    assert!(events(&ann, &channel, "?kind=nothing").await.is_empty());
}

/// CH-16, CH-17, CH-23: the newest payload alone, or 404 while there is none.
#[tokio::test]
async fn ch_16_17_23_the_newest_charter_and_state_win() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    for kind in ["spec", "state"] {
        let path = format!("/agent-channel/{channel}/{kind}");
        let detail = refused(&ann.get(&path).await, 404, "no_event_yet");
        assert_eq!(detail, format!("channel has no {kind} event yet"));
        for n in 0..3 {
            append(&ann, &channel, kind, json!({ "n": n })).await;
            append(&ann, &channel, "comms", json!({})).await;
            assert_eq!(ann.get(&path).await.ok(200), json!({ "n": n }));
        }
    }
    // As it was sent, to the byte.
    let payload = r#"{ "z" : 1.0,"a":[ ] ,"caf\u00e9":1e2 }"#;
    let body = format!(r#"{{"payload":{payload} , "kind":"spec"}}"#);
    ann.post_raw(&format!("/agent-channel/{channel}/event"), body.as_bytes()).await.ok(200);
    assert_eq!(ann.get(&format!("/agent-channel/{channel}/spec")).await.text(), payload);
    assert!(ann.get(&format!("/agent-channel/{channel}/events?limit=1")).await.text().contains(payload));
}

/// CH-24: by kind, by limit, and on from an id.
#[tokio::test]
async fn ch_24_events_are_filtered_and_paged() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let mut ids = Vec::new();
    for n in 0..130 {
        let kind = if n % 10 == 0 { "rare" } else { "log" };
        ids.insert(0, id(&append(&ann, &channel, kind, json!({ "n": n })).await));
    }
    let found = |query: String| {
        let (ann, channel) = (&ann, &channel);
        async move { events(ann, channel, &query).await.iter().map(id).collect::<Vec<_>>() }
    };
    assert_eq!(found(String::new()).await, ids[..50], "50 unless it is said");
    assert_eq!(found("?limit=7".into()).await, ids[..7]);
    assert_eq!(found("?limit=0".into()).await, ids[..1]);
    assert_eq!(found(format!("?before_id={}&limit=5", ids[9])).await, ids[10..15]);
    assert_eq!(
        found(format!("?after_id={}&limit=5", ids[9])).await,
        ids[4..9],
        "the ones that follow it directly"
    );
    let rare: Vec<u64> = ids.iter().rev().step_by(10).rev().copied().collect();
    assert_eq!(found("?kind=rare".into()).await, rare);
    assert_eq!(found(format!("?kind=rare&limit=2&before_id={}", rare[3])).await, rare[4..6]);
    for query in ["limit=x", "before_id=x"] {
        let response = ann.get(&format!("/agent-channel/{channel}/events?{query}")).await;
        assert_eq!(response.status, 422, "{response}");
        assert!(response.json()["detail"].is_string(), "{response}");
    }
}

/// CH-25: what an event must be; wrong shapes are 422, what is no JSON is 400, and nothing is stored.
#[tokio::test]
async fn ch_25_an_event_has_a_kind_and_an_object() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/event");
    for (body, code) in [
        (json!({}), "invalid_kind"),
        (json!({"kind": "", "payload": {}}), "invalid_kind"),
        (json!({"kind": "é".repeat(65), "payload": {}}), "invalid_kind"),
        (json!({"kind": "log"}), "invalid_payload"),
        (json!({"kind": "log", "payload": null}), "invalid_payload"),
        (json!({"kind": "log", "payload": []}), "invalid_payload"),
        (json!({"kind": "log", "payload": {}, "author": 1}), "invalid_author"),
        (json!({"kind": "log", "payload": {}, "author": "é".repeat(129)}), "invalid_author"),
        (json!([]), "invalid_body"),
        (json!(null), "invalid_body"),
    ] {
        refused(&ann.post(&path, body).await, 422, code);
    }
    // The reason names what is wrong.
    for (body, reason) in [
        (json!({"kind": "a\u{7}", "payload": {}}), "U+0007"),
        (json!({"kind": "log", "payload": {}, "author": "a\u{202e}"}), "U+202E"),
        (json!({"kind": "é".repeat(65), "payload": {}}), "1 to 64 characters"),
    ] {
        let answer = ann.post(&path, body).await;
        assert!(answer.status == 422 && answer.text().contains(reason), "{answer}");
    }
    refused(&ann.post_empty(&path).await, 422, "invalid_kind");
    for body in [&b"{"[..], br#"{"kind":"log","payload":{"a":1,"a":2}}"#] {
        refused(&ann.post_raw(&path, body).await, 400, "invalid_json");
    }
    let deep = format!(r#"{{"kind":"log","payload":{}1{}}}"#, "{\"a\":".repeat(64), "}".repeat(64));
    refused(&ann.post_raw(&path, deep.as_bytes()).await, 400, "invalid_json");
    let frame = r#"{"kind":"log","payload":{"x":""}}"#.len();
    let sized =
        |bytes: usize| format!(r#"{{"kind":"log","payload":{{"x":"{}"}}}}"#, "y".repeat(bytes - frame));
    refused(&ann.post_raw(&path, sized((1 << 20) + 1).as_bytes()).await, 413, "body_too_large");
    assert!(events(&ann, &channel, "").await.is_empty());
    let made = ann.post_raw(&path, sized(1 << 20).as_bytes()).await.ok(200);
    assert_eq!(made["payload"]["x"].as_str().map(str::len), Some((1 << 20) - frame));
    assert_eq!(events(&ann, &channel, "").await, [made]);
    let author = json!({"kind": "k", "payload": {}, "author": "é".repeat(128)});
    let author: Value = ann.post(&path, author).await.ok(200);
    assert_eq!(author["author"].as_str().map(|author| author.chars().count()), Some(128));
}
