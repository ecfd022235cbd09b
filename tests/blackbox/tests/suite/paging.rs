//! `after_sequence`, `limit` and `next_cursor` (ASP-71, ASP-88).

use blackbox::{Server, content_of, sequences};
use serde_json::Value;

/// Pages are cut where asked, and `next_cursor` walks through without gap or repeat.
#[tokio::test]
async fn pages_walk_the_log() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    for number in 0..23 {
        alice.say(&id, format!("{number}")).await;
    }
    let whole = bob.history(&id).await;
    assert_eq!(whole.len(), 25);
    for limit in [1, 2, 7, 24, 25, 26, 1000] {
        let mut events: Vec<Value> = Vec::new();
        let mut after = "0".to_owned();
        loop {
            let page =
                bob.get(&format!("/sessions/{id}/events?after_sequence={after}&limit={limit}")).await.ok(200);
            let found = page["events"].as_array().expect("events");
            assert!(found.len() <= limit);
            events.extend_from_slice(found);
            let Some(next) = page.get("next_cursor") else { break };
            after = next.as_str().expect("next_cursor is a string").to_owned();
            assert_eq!(after, events.last().expect("an event")["sequence"].to_string(), "2.5 #21");
        }
        assert_eq!(events, whole, "limit {limit}");
    }
}

/// ASP-71: strictly greater than N; past the end is empty and not an error.
#[tokio::test]
async fn asp_71_after_sequence_is_exclusive() {
    let (_server, alice, _, id) = Server::with_pair().await;
    for number in 3..=6 {
        assert_eq!(alice.say(&id, "x").await, number);
    }
    for (after, wanted) in [(0, 1..=6), (1, 2..=6), (5, 6..=6)] {
        let page = alice.get(&format!("/sessions/{id}/events?after_sequence={after}")).await.ok(200);
        assert_eq!(sequences(page["events"].as_array().expect("events")), wanted.collect::<Vec<_>>());
        assert!(page.get("next_cursor").is_none(), "{page}");
    }
    for after in ["6", "7", "1000000", "9007199254740991"] {
        let page = alice.get(&format!("/sessions/{id}/events?after_sequence={after}")).await.ok(200);
        assert_eq!(page["events"].as_array().map(Vec::len), Some(0));
        assert!(page.get("next_cursor").is_none(), "{page}");
    }
}

/// D.9: `next_cursor` means more that the caller may see, not more in the log.
#[tokio::test]
async fn next_cursor_means_more_to_see() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    bob.leave(&id).await;
    for _ in 0..5 {
        alice.say(&id, "hidden").await;
    }
    let page = carol.get(&format!("/sessions/{id}/events?limit=1")).await.ok(200);
    assert_eq!(sequences(page["events"].as_array().expect("events")), [3]);
    assert!(page.get("next_cursor").is_none(), "{page}");
    let page = bob.get(&format!("/sessions/{id}/events?limit=4")).await.ok(200);
    assert_eq!(sequences(page["events"].as_array().expect("events")).last(), Some(&4));
    assert!(page.get("next_cursor").is_none(), "{page}");
    alice.end(&id).await;
    let page = carol.get(&format!("/sessions/{id}/events?limit=1")).await.ok(200);
    assert_eq!(page["next_cursor"], "3", "the end is visible to the invitee");
    let page = carol.get(&format!("/sessions/{id}/events?limit=1&after_sequence=3")).await.ok(200);
    assert_eq!(page["events"][0]["type"], "session.ended");
    assert!(page.get("next_cursor").is_none(), "{page}");
}

/// The default page holds a thousand.
#[tokio::test]
async fn a_page_holds_a_thousand() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let mut connection = blackbox::Connection::open(server.address().get()).await.expect("a connection");
    for number in 0..1_010 {
        let body = format!(r#"{{"content":"{number}"}}"#);
        let request = alice.request("POST", &format!("/sessions/{id}/messages"), &[], Some(body.as_bytes()));
        connection.round_trip(&request).await.expect("an answer").ok(201);
    }
    let page = bob.get(&format!("/sessions/{id}/events")).await.ok(200);
    assert_eq!(page["events"].as_array().map(Vec::len), Some(1_000));
    assert_eq!(page["next_cursor"], "1000");
    let all = bob.history(&id).await;
    assert_eq!(all.len(), 1_012);
    assert_eq!(content_of(&all).len(), 1_010);
}

#[tokio::test]
async fn wrong_pages_are_refused() {
    let (server, alice, _, id) = Server::with_pair().await;
    let stranger = server.agent("@stranger.bot").await;
    for (query, code) in [
        ("limit=0", "invalid_limit"),
        ("limit=-1", "invalid_limit"),
        ("limit=1001", "invalid_limit"),
        ("limit=ten", "invalid_limit"),
        ("limit=", "invalid_limit"),
        ("limit=1.5", "invalid_limit"),
        ("limit=99999999999999999999999", "invalid_limit"),
        ("after_sequence=-1", "invalid_after_sequence"),
        ("after_sequence=x", "invalid_after_sequence"),
        ("after_sequence=", "invalid_after_sequence"),
        ("after_sequence=1e3", "invalid_after_sequence"),
        ("after_sequence=99999999999999999999999", "invalid_after_sequence"),
    ] {
        let path = format!("/sessions/{id}/events?{query}");
        alice.get(&path).await.assert_refused(400, code);
        stranger.get(&path).await.assert_refused(404, "not_found");
    }
    for query in ["limit=1", "limit=1000", "after_sequence=0", "limit=5&after_sequence=1&unknown=x"] {
        alice.get(&format!("/sessions/{id}/events?{query}")).await.ok(200);
    }
}

/// A parameter that stands twice is refused: which of the two is meant is anybody's guess.
#[tokio::test]
async fn a_repeated_parameter_is_refused() {
    let (server, alice, _, id) = Server::with_pair().await;
    for path in ["/sessions?limit=1&limit=2".to_owned(), format!("/sessions/{id}/events?limit=1&limit=2")] {
        alice.get(&path).await.assert_refused(400, "invalid_query");
    }
    let stranger = server.agent("@stranger.bot").await;
    stranger.get(&format!("/sessions/{id}/events?limit=1&limit=2")).await.assert_refused(404, "not_found");
}

/// The cursor of a list of sessions is `before`, and also `cursor`, as in the other lists.
#[tokio::test]
async fn the_cursor_of_sessions_has_the_name_of_other_lists_too() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let owner = server.owner("alice").await;
    let older = alice.create(&[]).await;
    alice.create(&[]).await;
    let of_agent = format!("/_admin/agents/{}/sessions", alice.handle);
    for (who, path) in [(&*alice, "/sessions"), (&owner, of_agent.as_str()), (&owner, "/_admin/sessions")] {
        let first = who.get(&format!("{path}?limit=1")).await.ok(200);
        let next = first["next_cursor"].as_str().expect("there are more");
        for name in ["before", "cursor"] {
            let page = who.get(&format!("{path}?limit=1&{name}={next}")).await.ok(200);
            assert_eq!(page["sessions"][0]["id"], *older, "{path} {name}: {page}");
        }
        who.get(&format!("{path}?cursor=zz")).await.assert_refused(400, "invalid_cursor");
        let both = who.get(&format!("{path}?cursor={next}&before={next}")).await;
        both.assert_refused(400, "invalid_query");
    }
}

/// A cursor of a list of sessions is a `next_cursor`; anything else is an error and not the first page again.
#[tokio::test]
async fn a_cursor_of_sessions_that_is_none_is_refused() {
    let (server, alice, _, id) = Server::with_pair().await;
    let owner = server.owner("alice").await;
    for cursor in ["", "x", "zzz", "SESS", "sess_"] {
        alice.get(&format!("/sessions?before={cursor}")).await.assert_refused(400, "invalid_cursor");
        let listed = owner.get(&format!("/_admin/agents/{}/sessions?before={cursor}", alice.handle)).await;
        listed.assert_refused(400, "invalid_cursor");
        owner.get(&format!("/_admin/sessions?before={cursor}")).await.assert_refused(400, "invalid_cursor");
        owner
            .get(&format!("/accounts/me/sessions?cursor={cursor}"))
            .await
            .assert_refused(400, "invalid_cursor");
    }
    let older = alice.get(&format!("/sessions?before={id}")).await.ok(200);
    assert_eq!(older["sessions"], serde_json::json!([]), "{older}");
}
