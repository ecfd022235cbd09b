//! Opening a stream, and how it ends (FO-53, FO-57, FO-65, FO-66, FO-71).

use std::time::Duration;

use serde_json::json;

use crate::house::{House, OPERATOR, frame};

#[tokio::test]
async fn fo_57_a_stream_says_that_it_is_alive() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    tokio::time::pause();
    let mut stream = house.open(&token, "~nick/stream").await;
    // FO-96: no media type of its own.
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    assert_eq!(stream.headers["cache-control"], "no-store");
    let started_at = tokio::time::Instant::now();
    for nth in 1..=3 {
        // Events in between do not delay it.
        house.submit(&token, "", &frame("~nick", "~nick", "x")).await.ok(200);
        assert_eq!(stream.tag().await, "x");
        tokio::time::advance(Duration::from_secs(8)).await;
        assert_eq!(stream.block().await.as_deref(), Some(": keepalive"));
        assert_eq!(started_at.elapsed().as_secs(), nth * 15);
    }
}

#[tokio::test]
async fn fo_53_65_66_71_91_what_can_not_be_opened_is_refused() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    let alice = house.agent("@alice.a", "open").await;
    let open = async |token: &str, path: &str| house.get(token, &format!("/handles/{path}")).await;
    open("", "~nick/stream").await.refused(401, "unauthenticated", "-");
    for (token, path) in [
        (&*alice, "~nick/stream"),
        (&alice, "~nobody/stream"),
        (OPERATOR, "~nick/stream"),
        (OPERATOR, "~nobody/stream"),
    ] {
        open(token, path).await.refused(403, "scope-unauthorised", "-");
    }
    for (query, code, field) in [
        ("filter=kid:x", "filter-axis-unknown", "filter"),
        ("filter=kind", "filter-axis-unknown", "filter"),
        ("filter=kind:x", "filter-value-invalid", "filter"),
        ("filter=sender:nick", "filter-value-invalid", "filter"),
        ("filter=tool:a&filter=tool:b", "field-invalid", "filter"),
        ("instrument=A", "field-invalid", "instrument"),
        ("tool=", "field-invalid", "tool"),
        ("session_id=a%2Fb", "field-invalid", "session_id"),
    ] {
        open(&token, &format!("~nick/stream?{query}")).await.refused(400, code, field);
    }
    open(&token, "nick/stream").await.refused(400, "field-invalid", "handle");
    assert!(house.rostered(&token, "~nick").await.is_empty());
}

#[tokio::test]
async fn fo_60_61_a_reader_that_stalls_is_dropped_and_goes_on_where_it_was() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    tokio::time::pause();
    let mut stalled = house.open(&token, "~nick/stream?session_id=s1").await;
    let mut quick = house.open(&token, "~nick/stream?session_id=s2").await;
    let first = house.submit(&token, "", &frame("~nick", "~nick", "first")).await;
    assert_eq!(stalled.tag().await, "first");
    for tag in ["second", "third"] {
        assert_eq!(house.submit(&token, "", &frame("~nick", "~nick", tag)).await.count(), 2);
    }
    for tag in ["first", "second", "third"] {
        assert_eq!(quick.tag().await, tag);
    }
    tokio::time::advance(Duration::from_secs(25)).await;
    house.until_rostered("~nick", 1).await;
    assert_eq!(house.submit(&token, "", &frame("~nick", "~nick", "fourth")).await.count(), 1);
    assert_eq!(stalled.block().await, None);
    let after = first.event_id().to_string();
    let mut resumed = house.open_with(&token, "~nick/stream", &[("Last-Event-ID", &after)]).await;
    assert_eq!(
        [resumed.tag().await, resumed.tag().await, resumed.tag().await],
        ["second", "third", "fourth"]
    );
}

#[tokio::test]
async fn a_ticket_opens_one_stream() {
    let house = House::new();
    let token = house.agent("@nick.a", "open").await;
    let ticket = house.post(&token, "/auth/ticket", &json!({})).await.ok(200);
    let path = format!("%7Enick/stream?ticket={}", ticket["ticket"].as_str().unwrap());
    let mut stream = house.open("", &path).await;
    assert_eq!(house.submit(&token, "", &frame("~nick", "~nick", "x")).await.count(), 1);
    assert_eq!(stream.tag().await, "x");
    house.get("", &format!("/handles/{path}")).await.refused(401, "unauthenticated", "-");
    house.get("", &format!("/handles/~nick/stream?token={token}")).await.refused(401, "unauthenticated", "-");
    house
        .send(House::request(OPERATOR, "POST", "/_admin/agents/@nick.a/rotate-token", &[], ""))
        .await
        .ok(200);
    assert_eq!(stream.block().await, None, "it ends with the token it was traded for");
}

#[tokio::test]
async fn a_stream_ends_with_its_token_its_agent_and_the_server() {
    let house = House::new();
    let (a, b, c) = (
        house.agent("@nick.a", "open").await,
        house.agent("@nick.b", "open").await,
        house.agent("@nick.c", "open").await,
    );
    let mut of_a = house.open(&a, "~nick/stream").await;
    let mut of_b = house.open(&b, "~nick/stream").await;
    let mut of_c = house.open(&c, "~nick/stream").await;
    house
        .send(House::request(OPERATOR, "POST", "/_admin/agents/@nick.a/rotate-token", &[], ""))
        .await
        .ok(200);
    assert_eq!(of_a.block().await, None);
    house.send(House::request(OPERATOR, "DELETE", "/_admin/agents/@nick.b", &[], "")).await.ok(204);
    assert_eq!(of_b.block().await, None);
    house.until_rostered("~nick", 1).await;
    assert_eq!(house.submit(&c, "", &frame("~nick", "~nick", "x")).await.count(), 1);
    assert_eq!(of_c.tag().await, "x");
    house.frames.close();
    assert_eq!(of_c.block().await, None);
    house.get(&c, "/handles/~nick/stream").await.refused(503, "unavailable", "-");
}

#[tokio::test]
async fn many_frames_that_wait_come_in_few_pieces_and_in_order() {
    let house = House::with(plenary_frames::Config {
        rate: plenary_frames::Rate { per_s: 0, burst: 0 },
        ..Default::default()
    });
    let token = house.agent("@nick.a", "open").await;
    let mut stream = house.open(&token, "~nick/stream").await;
    for nth in 0..1_000 {
        assert_eq!(house.submit(&token, "", &frame("~nick", "~nick", &nth.to_string())).await.count(), 1);
    }
    let mut last = 0;
    for nth in 0..1_000 {
        let event = stream.event().await;
        assert!(event.id > last);
        last = event.id;
        assert!(event.data.contains(&format!("\"provenance_basis\":\"{nth}\"")));
    }
    house.log.close().await;
}
