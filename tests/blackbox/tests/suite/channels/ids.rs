//! Channels, their ids and lists (CH-4, CH-7, CH-8, CH-28, CH-29, CH-30, CH-37).

use std::collections::BTreeSet;

use blackbox::{Server, assert_keys};
use serde_json::{Value, json};

use super::{append, channel, configured, events, refused};

const ALPHABET: &str = "ABCDEFGHJKMPQRSTUVWXYZ456789";

/// CH-7: four characters of the dictatable alphabet. CH-8: the URL. CH-37: no two alike.
#[tokio::test]
async fn ch_7_8_37_a_channel_has_an_id_of_four_and_a_url() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let mut ids = BTreeSet::new();
    for _ in 0..100 {
        let made = ann
            .post("/agent-channel", json!({"title": "Port it", "created_by": "claude-linux-a-1a2b"}))
            .await;
        let made = made.ok(200);
        assert_keys(&made, &["id", "title", "created_by", "created_at", "closed_at", "url"], &[]);
        let id = made["id"].as_str().expect("an id");
        assert!(id.len() == 4 && id.chars().all(|c| ALPHABET.contains(c)), "{id}");
        let (url, _) =
            made["url"].as_str().and_then(|url| url.split_once("?key=")).expect("a link with a key");
        assert_eq!(url, format!("http://{}/agent-channel/{id}", ann.address().get()));
        assert_eq!((&made["title"], &made["created_by"]), (&json!("Port it"), &json!("claude-linux-a-1a2b")));
        assert_eq!(made["closed_at"], Value::Null);
        assert!(ids.insert(id.to_owned()), "{id} stands for two channels");
    }
}

/// CH-21, D.6: both members may be left out; the creator is then the handle.
#[tokio::test]
async fn what_is_left_out_is_empty_or_the_handle() {
    let server = Server::start().await;
    let (ann, owner) = (server.agent("@nick.ann").await, server.owner("acme").await);
    for body in
        [json!({}), json!({"title": "", "created_by": ""}), json!({"title": null, "created_by": null})]
    {
        let made = ann.post("/agent-channel", body).await.ok(200);
        assert_eq!((&made["title"], &made["created_by"]), (&json!(""), &json!("@nick.ann")));
    }
    let made = ann.post_empty("/agent-channel").await.ok(200);
    assert_eq!(made["created_by"], "@nick.ann");
    let by = owner.post("/agent-channel", json!({"id": "ZZZZ", "url": "x", "closed_at": "y"})).await.ok(200);
    assert_eq!(
        (&by["created_by"], &by["closed_at"]),
        (&json!("~acme"), &Value::Null),
        "unknown members are ignored"
    );
    let long = json!({"title": "é".repeat(200), "created_by": "é".repeat(128)});
    assert_eq!(ann.post("/agent-channel", long.clone()).await.ok(200)["title"], long["title"]);
    for (body, code) in [
        (json!({"title": "é".repeat(201)}), "invalid_title"),
        (json!({"title": 5}), "invalid_title"),
        (json!({"created_by": "é".repeat(129)}), "invalid_created_by"),
        (json!({"created_by": ["x"]}), "invalid_created_by"),
        (json!(["t", "c"]), "invalid_body"),
        (json!("t"), "invalid_body"),
    ] {
        refused(&ann.post("/agent-channel", body).await, 422, code);
    }
    refused(&ann.post_raw("/agent-channel", br#"{"title":"a","title":"b"}"#).await, 400, "invalid_json");
}

/// CH-29: case and white space around an id do not matter.
#[tokio::test]
async fn ch_29_an_id_is_read_as_people_write_it() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let id = channel(&ann).await;
    append(&ann, &id, "log", json!({})).await;
    for written in [id.to_lowercase(), format!("%20{id}%20"), format!("%09{}", id.to_lowercase())] {
        assert_eq!(ann.get(&format!("/agent-channel/{written}")).await.ok(200)["channel"]["id"], id.as_str());
        assert!(!events(&ann, &written, "").await.is_empty());
        let made = append(&ann, &written, "log", json!({})).await;
        assert_eq!(made["channel_id"], id.as_str());
        ann.post_empty(&format!("/agent-channel/{written}/close")).await.ok(200);
    }
    assert_eq!(events(&ann, &id, "").await.len(), 4);
}

/// CH-30: an unknown id and one that can't be one answer alike, on every path.
#[tokio::test]
async fn ch_30_no_such_channel() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    for id in ["ZZZZ", "ILNO", "VHG", "VHGCVHGCV", "A%2FB", "%C3%A9%C3%A9%C3%A9%C3%A9"] {
        for rest in ["", "/spec", "/state", "/events", "/presence", "/events/stream"] {
            let response = ann.get(&format!("/agent-channel/{id}{rest}")).await;
            assert_eq!(refused(&response, 404, "no_such_channel"), "no such channel");
        }
        let event = json!({"kind": "log", "payload": {}});
        refused(&ann.post(&format!("/agent-channel/{id}/event"), event).await, 404, "no_such_channel");
        refused(&ann.post_empty(&format!("/agent-channel/{id}/close")).await, 404, "no_such_channel");
    }
}

/// CH-28: newest first, clamped, closed ones on request; one's owner's alone (D.6).
#[tokio::test]
async fn ch_28_lists_are_newest_first() {
    let (server, [ann, bob]) = Server::with(["@nick.ann", "@acme.bob"]).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(0, channel(&ann).await);
    }
    let list = |query: &'static str| {
        let ann = &ann;
        async move {
            let listed = ann.get(&format!("/agent-channel{query}")).await.ok(200);
            let listed = listed.as_array().expect("a bare array").clone();
            listed.iter().map(|channel| channel["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
        }
    };
    assert_eq!(list("").await, ids);
    assert_eq!(list("?limit=1").await, ids[..1]);
    assert_eq!(list("?limit=-3").await, ids[..1]);
    assert_eq!(list("?limit=100000").await, ids);
    ann.post_empty(&format!("/agent-channel/{}/close", ids[1])).await.ok(200);
    assert_eq!(list("").await, ids);
    assert_eq!(list("?include_closed=false").await, [ids[0].clone(), ids[2].clone()]);
    refused(&ann.get("/agent-channel?limit=ten").await, 422, "invalid_limit");
    refused(&ann.get("/agent-channel?include_closed=maybe").await, 422, "invalid_include_closed");
    let sibling = server.agent("@nick.other").await;
    assert_eq!(sibling.get("/agent-channel?limit=1").await.ok(200)[0]["id"], ids[0].as_str(), "by owner");

    assert_eq!(bob.get("/agent-channel").await.ok(200), json!([]));
    append(&bob, &ids[2], "log", json!({})).await;
    assert_eq!(bob.get("/agent-channel").await.ok(200)[0]["id"], ids[2].as_str());
    assert_eq!(server.operator().get("/agent-channel").await.ok(200).as_array().map(Vec::len), Some(3));
}

/// CH-4: what was answered is there after a crash, under the same ids and in the same order.
#[tokio::test]
async fn ch_4_a_channel_survives_a_crash() {
    let (mut server, [ann]) = Server::with(["@nick.ann"]).await;
    let id = channel(&ann).await;
    let payload = json!({"protocol_version": 2, "handoff": {"holder": "a", "expected_action": "b"}});
    append(&ann, &id, "state", payload.clone()).await;
    for n in 0..30 {
        append(&ann, &id, "comms", json!({ "n": n })).await;
    }
    let before = events(&ann, &id, "?limit=500").await;
    server.crash().await;
    assert_eq!(events(&ann, &id, "?limit=500").await, before);
    assert_eq!(ann.get(&format!("/agent-channel/{id}/state")).await.ok(200), payload);
    let after = append(&ann, &id, "comms", json!({})).await;
    assert!(super::id(&after) > super::id(&before[0]), "ids go on rising");
}

/// CH-8: behind a proxy the URL is the one that clients use; strangers are not believed.
#[tokio::test]
async fn ch_8_the_url_follows_the_deployment() {
    let (server, _directory) = configured("trusted_proxies = [\"127.0.0.0/8\"]").await;
    let ann = server.agent("@nick.ann").await;
    let id = channel(&ann).await;
    let url = |headers: &'static [(&'static str, &'static str)]| {
        let (ann, path) = (&ann, format!("/agent-channel/{id}"));
        async move {
            let view = ann.call("GET", &path, headers, None).await.ok(200);
            let link = view["channel"]["url"].as_str().expect("a link");
            json!(link.split_once("?key=").expect("its key").0)
        }
    };
    let own = json!(format!("http://{}/agent-channel/{id}", ann.address().get()));
    let expected = |base: &str| json!(format!("{base}/agent-channel/{id}"));
    assert_eq!(url(&[]).await, own);
    assert_eq!(
        url(&[("Forwarded", "for=1.2.3.4;host=a.example;proto=https")]).await,
        expected("https://a.example")
    );
    let told =
        &[("X-Forwarded-Host", "api:8080"), ("X-Forwarded-Proto", "http"), ("X-Forwarded-Prefix", "/net/")];
    assert_eq!(url(told).await, expected("http://api:8080/net"));
    assert_eq!(url(&[("X-Forwarded-Host", "a.example/$(id)")]).await, own);

    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let id = channel(&ann).await;
    let told = [("Forwarded", "host=evil.example"), ("X-Forwarded-Host", "evil.example")];
    let view = ann.call("GET", &format!("/agent-channel/{id}"), &told, None).await;
    assert!(!view.text().contains("evil.example"), "{view}");
}

/// D.6: a text that is no cursor of the list is refused.
#[tokio::test]
async fn a_cursor_of_the_list_is_checked() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    for _ in 0..3 {
        channel(&ann).await;
    }
    for cursor in ["x", "%00", "1/", "1/!", "/VHGC", "-1/VHGC"] {
        let response = ann.get(&format!("/agent-channel?cursor={cursor}")).await;
        refused(&response, 422, "invalid_cursor");
    }
    let first = ann.get("/agent-channel?limit=2").await;
    let link = first.header("link").expect("there is more").to_owned();
    let path = link
        .split(['<', '>'])
        .nth(1)
        .expect("a link")
        .split_once("/agent-channel")
        .expect("a path")
        .1
        .to_owned();
    let rest = ann.get(&format!("/agent-channel{path}")).await.ok(200);
    assert_eq!(rest.as_array().map(Vec::len), Some(1), "{rest}");
}
