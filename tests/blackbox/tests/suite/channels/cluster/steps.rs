//! Step by step: each at one process, and read at the other with the very next request.
//! Must not know: how the processes tell each other.

use blackbox::{Agent, in_time, rounds};
use serde_json::{Value, json};

use super::{
    super::{append, channel, events, refused},
    listed, two,
};
use crate::sse::Stream;

/// CH-4, CH-11, CH-16, CH-17, CH-18, CH-27, CH-28: each step at one, and read at the other with the very next request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ch_4_what_one_acknowledged_the_other_shows() {
    let Some(servers) = two("").await else { return };
    let ann = servers.a.agent("@nick.ann").await;
    let bob = servers.a.agent("@acme.bob").await;
    for round in 0..rounds(20, 5) {
        let (here, there) = if round % 2 == 0 { (&servers.a, &servers.b) } else { (&servers.b, &servers.a) };
        let (ann, bob) = (ann.at(here), bob.at(there));
        let made = ann.post("/agent-channel", json!({"title": "both"})).await.ok(200);
        let channel = made["id"].as_str().expect("an id").to_owned();
        let path = format!("/agent-channel/{channel}");
        assert_eq!(bob.get(&path).await.ok(200)["channel"]["created_at"], made["created_at"]);
        assert!(listed(&ann.at(there), "").await.contains(&channel), "its owner's list, elsewhere");
        assert!(!listed(&bob, "").await.contains(&channel));
        for n in 0..3 {
            let charter = append(&ann, &channel, "spec", json!({"mission": n})).await;
            let view = bob.get(&path).await.ok(200);
            assert_eq!((&view["spec"], &view["recent_events"][0]), (&charter["payload"], &charter));
            let state = append(&bob, &channel, "state", json!({"n": n})).await;
            assert_eq!(ann.get(&format!("{path}/state")).await.ok(200), state["payload"]);
            let status = append(&ann, &channel, "status", json!({"n": n})).await;
            let presence = bob.get(&format!("{path}/presence")).await.ok(200);
            assert_eq!(presence["agents"][0]["last_status_at"], status["created_at"]);
            assert_eq!(presence["agents"].as_array().map(Vec::len), Some(1));
            assert_eq!(events(&bob, &channel, "?limit=3").await, [status, state, charter]);
        }
        assert!(listed(&bob.at(here), "").await.contains(&channel), "who appended takes part");
        let closed = bob.post_empty(&format!("{path}/close")).await.ok(200);
        assert_eq!(ann.get(&path).await.ok(200)["channel"]["closed_at"], closed["closed_at"]);
        assert!(!listed(&ann, "?include_closed=false").await.contains(&channel));
        assert!(listed(&ann, "?include_closed=true").await.contains(&channel));
        let late = append(&ann, &channel, "log", json!({})).await;
        assert_eq!(events(&bob, &channel, "?limit=1").await, [late], "closed, and takes events all the same");
    }
    servers.remove().await;
}

/// CH-27: closed at one, the other takes no more, where that is configured.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ch_27_a_closing_holds_at_the_other_at_once() {
    let Some(servers) = two("[channels]\nreject_after_close = true\n").await else { return };
    let ann = servers.a.agent("@nick.ann").await;
    let ann_b = ann.at(&servers.b);
    for _ in 0..rounds(10, 3) {
        let channel = channel(&ann).await;
        append(&ann_b, &channel, "log", json!({})).await;
        ann.post_empty(&format!("/agent-channel/{channel}/close")).await.ok(200);
        let body = json!({"kind": "log", "payload": {}});
        let answer = ann_b.post(&format!("/agent-channel/{channel}/event"), body).await;
        refused(&answer, 409, "channel_closed");
    }
    servers.remove().await;
}

/// A key used at one is answered again at the other, also when both are asked at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_one_over_both() {
    let Some(servers) = two("").await else { return };
    let ann = servers.a.agent("@nick.ann").await;
    let ann_b = ann.at(&servers.b);
    let post = async |who: &Agent, path: &str, key: &str, body: Value| {
        who.call("POST", path, &[("Idempotency-Key", key)], Some(&body)).await
    };
    let both = async |path: &str, key: &str, body: Value| {
        let (one, other) =
            tokio::join!(post(&ann, path, key, body.clone()), post(&ann_b, path, key, body.clone()));
        assert_eq!(one.ok(200), other.ok(200));
        assert!(one.is_replayed() != other.is_replayed(), "one wrote, one repeated: {one} {other}");
        one.ok(200)
    };
    let count = rounds(30, 8);
    for n in 0..count {
        let key = format!("k{n}");
        let body = json!({"title": key});
        let made = post(&ann, "/agent-channel", &key, body.clone()).await.ok(200);
        let again = post(&ann_b, "/agent-channel", &key, body).await;
        // The URL says by which process it was asked for.
        assert_eq!((&again.ok(200)["id"], again.is_replayed()), (&made["id"], true));
        refused(&post(&ann_b, "/agent-channel", &key, json!({})).await, 409, "idempotency_key_reused");

        let path = format!("/agent-channel/{}", made["id"].as_str().expect("an id"));
        let event = format!("{path}/event");
        let body = json!({"kind": "log", "payload": {"n": n}});
        let first = post(&ann, &event, &key, body.clone()).await.ok(200);
        let again = post(&ann_b, &event, &key, body).await;
        assert_eq!((again.ok(200), again.is_replayed()), (first.clone(), true));
        let raced = both(&event, "raced", json!({"kind": "log", "payload": {}})).await;
        let channel = made["id"].as_str().expect("an id");
        assert_eq!(events(&ann_b, channel, "").await, [raced, first]);

        let closed = post(&ann, &format!("{path}/close"), &key, json!({})).await.ok(200);
        let again = post(&ann_b, &format!("{path}/close"), &key, json!({})).await;
        assert_eq!((&again.ok(200)["closed_at"], again.is_replayed()), (&closed["closed_at"], true));
    }
    assert_eq!(listed(&ann, "?limit=500").await.len(), count, "no channel twice");
    servers.remove().await;
}

/// D.1: a token rotated at one is dead at the other: for the very next request, and for streams within a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_token_ends_its_streams_at_the_other() {
    let Some(servers) = two("").await else { return };
    let (ann, bob) = (servers.a.agent("@nick.ann").await, servers.a.agent("@acme.bob").await);
    let owner = servers.b.owner("nick").await;
    let (ann_b, bob_b) = (ann.at(&servers.b), bob.at(&servers.b));
    let channel = channel(&ann).await;
    let path = format!("/agent-channel/{channel}/events/stream");
    let (mut anns, mut bobs) =
        (Stream::open(&ann_b, &path, &[]).await, Stream::open(&bob_b, &path, &[]).await);
    let mut owners = Stream::open(&owner, &path, &[]).await;
    let before = append(&ann, &channel, "log", json!({})).await;
    for stream in [&mut anns, &mut bobs, &mut owners] {
        assert_eq!(stream.event().await, before);
    }
    servers.a.operator().post_empty("/_admin/agents/@nick.ann/rotate-token").await.ok(200);
    let body = json!({"kind": "log", "payload": {}});
    let answer = ann_b.post(&format!("/agent-channel/{channel}/event"), body).await;
    refused(&answer, 401, "invalid_authorization");
    assert!(in_time("the agent's stream ends", anns.ending()).await.is_empty());
    servers.a.operator().post("/_admin/owners/nick/rotate-token", json!({})).await.ok(200);
    assert!(in_time("the owner's stream ends", owners.ending()).await.is_empty());
    let after = append(&bob, &channel, "log", json!({})).await;
    assert_eq!(bobs.event().await, after, "others go on, and nothing was appended by the dead token");
    servers.remove().await;
}

/// D.1: a ticket that one gave opens a stream at the other, once over both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_opens_a_stream_at_the_other() {
    let Some(servers) = two("").await else { return };
    let ann = servers.a.agent("@nick.ann").await;
    let channel = channel(&ann).await;
    let ticket = ann.post_empty("/auth/ticket").await.ok(200);
    let ticket = ticket["ticket"].as_str().expect("a ticket");
    let path = format!("/agent-channel/{channel}/events/stream?ticket={ticket}");
    let mut stream = Stream::open(&servers.b.stranger(), &path, &[]).await;
    for server in [&servers.a, &servers.b] {
        refused(&server.stranger().get(&path).await, 401, "invalid_authorization");
    }
    let made = append(&ann, &channel, "log", json!({})).await;
    assert_eq!(stream.event().await, made);
    servers.remove().await;
}
