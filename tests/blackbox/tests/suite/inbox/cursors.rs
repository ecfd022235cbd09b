//! Cursors and marks: what is refused, what is kept, and that marks only rise.

use blackbox::Server;
use serde_json::json;

use super::{ack, cursor, inbox, texts};

#[tokio::test]
async fn only_agents_have_an_inbox() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    for path in ["/inbox", "/inbox/wait?timeout_s=0", "/sessions/ses_01/messages/1/status"] {
        owner.get(path).await.assert_refused(401, "invalid_authorization");
        server.operator().get(path).await.assert_refused(401, "invalid_authorization");
        server.stranger().get(path).await.assert_refused(401, "missing_authorization");
    }
    owner.post("/inbox/ack", json!({"cursor": "x"})).await.assert_refused(401, "invalid_authorization");
}

#[tokio::test]
async fn a_cursor_that_was_never_given_is_refused() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "hello").await;
    let given = cursor(&inbox(&bob, "").await);
    for never in ["x", "", "7f.1.0.0", "18446744073709551616", &given[1..], &format!("{given}0")] {
        bob.post("/inbox/ack", json!({"cursor": never})).await.assert_refused(400, "invalid_cursor");
        bob.get(&format!("/inbox?after={never}")).await.assert_refused(400, "invalid_cursor");
        bob.get(&format!("/inbox/wait?timeout_s=0&after={never}"))
            .await
            .assert_refused(400, "invalid_cursor");
    }
    alice.post("/inbox/ack", json!({"cursor": given})).await.assert_refused(400, "invalid_cursor");
    assert_eq!(inbox(&bob, "").await["unread"], 1, "nothing was acknowledged by them");
}

#[tokio::test]
async fn what_can_not_be_is_refused() {
    let (_server, [bob]) = Server::with(["@bob.bot"]).await;
    for limit in ["0", "101", "-1", "x", ""] {
        bob.get(&format!("/inbox?limit={limit}")).await.assert_refused(400, "invalid_limit");
    }
    for seconds in ["61", "-1", "x"] {
        bob.get(&format!("/inbox/wait?timeout_s={seconds}")).await.assert_refused(400, "invalid_timeout");
    }
    bob.post("/inbox/ack", json!({})).await.assert_refused(400, "invalid_body");
    bob.post("/inbox/ack", json!({"cursor": "x", "state": "read"})).await.assert_refused(400, "invalid_body");
    bob.post_raw("/inbox/ack", b"{").await.assert_refused(400, "invalid_json");
}

#[tokio::test]
async fn marks_only_rise_and_an_old_page_can_be_read_again() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    for text in ["one", "two", "three"] {
        alice.say(&id, text).await;
    }
    let one = inbox(&bob, "?limit=1").await;
    let two = inbox(&bob, &format!("?limit=1&after={}", cursor(&one))).await;
    let acked = ack(&bob, &two).await;
    assert_eq!(acked["unread"], 1);
    assert_eq!(ack(&bob, &one).await, acked, "a cursor behind the mark changes nothing");
    let again = inbox(&bob, &format!("?after={}", cursor(&one))).await;
    assert_eq!(texts(&again), ["two", "three"]);
    assert_eq!(again["unread"], 1);
    let from_mark = acked["seen"].as_str().expect("a cursor");
    assert_eq!(texts(&inbox(&bob, &format!("?after={from_mark}")).await), ["three"]);
}

#[tokio::test]
async fn nothing_is_lost_by_a_kill() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    for text in ["one", "two", "three"] {
        alice.say(&id, text).await;
    }
    let first = inbox(&bob, "?limit=1").await;
    let acked = ack(&bob, &first).await;
    server.crash().await;
    let page = inbox(&bob, "").await;
    assert_eq!(
        (texts(&page), page["unread"].as_u64()),
        (vec!["two".to_owned(), "three".to_owned()], Some(2))
    );
    assert_eq!(ack(&bob, &first).await["acknowledged"], acked["acknowledged"]);
    assert_eq!(super::state(&alice, &id, 3).await, "acknowledged");
    assert_eq!(super::state(&alice, &id, 5).await, "accepted");
}
