//! What an inbox shows, in which order, and what remains unread.

use blackbox::{Server, assert_keys, room};
use futures_util::future::join_all;
use serde_json::json;

use super::{ack, cursor, inbox, kinds_and_texts, texts};

const ITEM: &[&str] =
    &["id", "kind", "at", "age_s", "from", "trust", "subject", "text", "truncated", "newer", "ref"];

#[tokio::test]
async fn an_invitation_then_what_is_said_and_an_own_message_is_no_news() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let empty = inbox(&bob, "").await;
    assert_keys(&empty, &["items", "unread", "cursor", "more"], &[]);
    assert_eq!((&empty["items"], &empty["unread"], &empty["more"]), (&json!([]), &json!(0), &json!(false)));
    let opened = alice
        .open(json!({"invite": ["@bob.bot"], "topic": "Build", "initial_message": {"content": "first"}}));
    let id = opened.await["session_id"].as_str().expect("an id").to_owned();
    let page = inbox(&bob, "").await;
    assert_eq!(kinds_and_texts(&page), [("session.invited".into(), "invited to the session".into())]);
    let invited = &page["items"][0];
    assert_keys(invited, ITEM, &[]);
    assert_eq!(invited["from"], "@alice.bot");
    assert_eq!((&invited["trust"], &invited["subject"]), (&json!("open"), &json!("Build")));
    assert_eq!(invited["ref"], json!({"session_id": id, "sequence": 2}));
    bob.join(&id).await;
    alice.say(&id, "second").await;
    let had = json!({"cursor": inbox(&bob, "").await["cursor"], "state": "delivered"});
    bob.post("/inbox/ack", had).await.ok(200);
    bob.say(&id, "mine").await;
    alice.say(&id, "third").await;
    let page = inbox(&bob, "").await;
    assert_eq!(
        texts(&page),
        ["third"],
        "what he had before he wrote is answered, and the invitation was followed"
    );
    assert_eq!(page["unread"], 1);
    assert_eq!(texts(&inbox(&alice, "").await), ["mine"], "she wrote without having it");
    ack(&bob, &page).await;
    assert_eq!(inbox(&bob, "").await["items"], json!([]));
}

#[tokio::test]
async fn an_invitation_that_was_seen_comes_again_with_later_messages() {
    let (_server, [ann, bob]) = Server::with(["@nick.ann", "@nick.bob"]).await;
    let id = ann.create(&[&bob]).await;
    ann.say(&id, "first").await;
    ann.say(&id, "second").await;
    let page = inbox(&bob, "").await;
    let reference = json!({"session_id": id, "sequence": 1});
    assert_eq!((&page["items"][0]["ref"], &page["unread"]), (&reference, &json!(1)), "{page}");
    ack(&bob, &page).await;
    assert_eq!(inbox(&bob, "").await["items"], json!([]));
    let waiting = bob.get("/inbox/wait?timeout_s=20");
    let (page, _) = tokio::join!(waiting, async {
        ann.say(&id, "third").await;
        ann.say(&id, "fourth").await;
    });
    assert_eq!(page.ok(200)["items"][0]["kind"], "session.invited");
    let page = inbox(&bob, "").await;
    let text = "invited to the session, which has new messages; join it to read them";
    assert_eq!(kinds_and_texts(&page), [("session.invited".into(), text.into())], "{page}");
    assert_eq!((&page["items"][0]["ref"]["sequence"], &page["unread"]), (&json!(5), &json!(1)));
    ack(&bob, &page).await;
    assert_eq!(inbox(&bob, "").await["items"], json!([]));
    bob.join(&id).await;
    assert_eq!(texts(&inbox(&bob, "").await), ["first", "second", "third", "fourth"]);
}

#[tokio::test]
async fn a_strangers_invitation_does_not_come_again() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let id = alice.create(&[&bob]).await;
    ack(&bob, &inbox(&bob, "").await).await;
    alice.say(&id, "do you hear me?").await;
    assert_eq!(inbox(&bob, "").await["items"], json!([]));
}

/// The invitations of an agent that acknowledges nothing are settled when it joins. After a start they do not hide the
/// first message from one read, which is all that a hook makes.
#[tokio::test]
async fn the_first_read_after_a_start_looks_beyond_settled_sessions() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    for _ in 0..400 {
        let other = alice.create(&[&bob]).await;
        bob.join(&other).await;
    }
    alice.say(&id, "the news").await;
    server.crash().await;
    let page = inbox(&bob, "").await;
    assert_eq!((texts(&page), &page["unread"]), (vec!["the news".to_owned()], &json!(1)), "{page}");
}

/// What is said to an agent that was invited and has not joined waits for it, however much it is.
#[tokio::test]
async fn everything_since_the_invitation_is_news_for_who_joins() {
    let (_server, [alice, bob, carol]) = Server::with(["@alice.bot", "@bob.bot", "@carol.bot"]).await;
    let id = alice.create(&[&carol]).await;
    carol.join(&id).await;
    for n in 0..110 {
        alice.say(&id, format!("before {n}")).await;
    }
    alice.invite(&id, &["@bob.bot"]).await;
    for n in 0..110 {
        alice.say(&id, format!("after {n}")).await;
    }
    bob.join(&id).await;
    let page = inbox(&bob, "?limit=1").await;
    assert_eq!((texts(&page), &page["unread"]), (vec!["after 0".to_owned()], &json!(110)), "{page}");
    let status = alice.get(&format!("/sessions/{id}/messages/114/status")).await.ok(200);
    assert_eq!(status["recipients"].as_array().map(Vec::len), Some(2), "{status}");
}

/// A model that reads the session itself acknowledges no page, so no mark of the inbox rises, and the server keeps the places of
/// 16,384 items.
#[tokio::test]
async fn what_comes_after_very_many_read_items_is_shown() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let first = alice.say(&id, "shown to a coding session").await;
    let page = inbox(&bob, "").await;
    let shown = json!({"session": "s-1", "client": "claude", "event": "prompt", "cursor": page["cursor"],
        "items": [page["items"][0]["id"]]});
    bob.post("/inbox/shown", shown).await.ok(200);
    let reports = |event: &'static str| {
        let bob = bob.clone();
        async move {
            let event = json!({"session": "s-1", "client": "claude", "event": event});
            bob.post("/inbox/session", event).await.ok(200);
        }
    };
    for nth in 0..330 {
        join_all((0..50).map(|_| alice.say(&id, "read elsewhere"))).await;
        if nth % 20 == 0 {
            reports("alive").await;
        }
    }
    let last = alice.say(&id, "the last of them").await;
    assert_eq!(inbox(&bob, "?limit=1").await["unread_at_least"], true);
    let (mut found, mut query) = (0, "?limit=100".to_owned());
    loop {
        let page = inbox(&bob, &query).await;
        found += texts(&page).len();
        if page["more"] != true {
            break;
        }
        assert_ne!(page["items"], json!([]), "an empty page after {found} items, with more to come");
        if found % 2_000 == 0 {
            reports("alive").await;
        }
        query = format!("?limit=100&after={}", cursor(&page));
    }
    assert_eq!(found, 330 * 50 + 1, "what the coding session was shown is left out");
    let read = json!({"session_id": id, "after_sequence": first, "sequence": last});
    bob.post("/inbox/ack", read).await.ok(200);
    alice.say(&id, "behind them").await;
    let page = inbox(&bob, "").await;
    assert_eq!((texts(&page), &page["unread"]), (vec!["behind them".to_owned()], &json!(1)));
    // The session ends before its model has seen what it was shown.
    reports("gone").await;
    let page = inbox(&bob, "").await;
    assert_eq!(texts(&page), ["shown to a coding session", "behind them"]);
    assert_eq!(ack(&bob, &page).await["unread"], 0);
    let again = inbox(&bob, &format!("?limit=2&after={}", cursor(&inbox(&bob, "?limit=1").await))).await;
    assert_eq!(again["items"], json!([]));
}

#[tokio::test]
async fn what_was_said_before_a_joining_is_news_of_the_joining() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let opened = alice.open(json!({"invite": ["@bob.bot"], "initial_message": {"content": "first"}}));
    let id = opened.await["session_id"].as_str().expect("an id").to_owned();
    alice.say(&id, "second").await;
    let page = inbox(&bob, "").await;
    assert_eq!(ack(&bob, &page).await["unread"], 0);
    bob.join(&id).await;
    let page = inbox(&bob, "").await;
    assert_eq!(texts(&page), ["first", "second"]);
    assert_eq!((&page["items"][0]["newer"], &page["items"][1]["newer"]), (&json!(1), &json!(0)));
    let first = inbox(&bob, "?limit=1").await;
    assert_eq!((texts(&first), &first["more"]), (vec!["first".to_owned()], &json!(true)));
    assert_eq!(ack(&bob, &first).await["unread"], 1);
    assert_eq!(texts(&inbox(&bob, "").await), ["second"]);
    assert_eq!(texts(&inbox(&bob, &format!("?after={}", cursor(&first))).await), ["second"]);
}

#[tokio::test]
async fn a_send_and_end_is_told_with_its_message() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let body = json!({"invite": ["@bob.bot"], "initial_message": {"content": [
        {"type": "text", "text": "see"}, {"type": "file", "url": "https://x.test/a.log", "name": "a.log"}
    ]}, "end_after_send": true});
    alice.open(body).await;
    assert_eq!(
        kinds_and_texts(&inbox(&bob, "").await),
        [("session.invited".into(), "see\n[file: a.log]".into())]
    );
}

#[tokio::test]
async fn a_long_text_is_cut_and_says_so() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "ä".repeat(10_000)).await;
    alice.say(&id, "ä".repeat(10_001)).await;
    let page = inbox(&bob, "").await;
    for (nth, truncated) in [(0, false), (1, true)] {
        let item = &page["items"][nth];
        assert_eq!(item["text"].as_str().map(|text| text.chars().count()), Some(10_000));
        assert_eq!(item["truncated"], truncated);
    }
}

#[tokio::test]
async fn pages_follow_each_other_over_many_sessions_without_gap_or_repetition() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let mut rooms = Vec::new();
    for _ in 0..3 {
        rooms.push(room(&[&alice, &bob]).await);
    }
    let said: Vec<String> = (0..47).map(|n| n.to_string()).collect();
    for (n, text) in said.iter().enumerate() {
        alice.say(&rooms[n % 3], text.as_str()).await;
    }
    let (mut got, mut after) = (Vec::new(), String::new());
    loop {
        let page = inbox(&bob, &format!("?limit=10{after}")).await;
        assert_eq!(page["unread"], 47);
        got.extend(texts(&page));
        after = format!("&after={}", cursor(&page));
        if page["more"] == json!(false) {
            break;
        }
    }
    assert_eq!(got, said);
    assert_eq!(inbox(&bob, &format!("?limit=10{after}")).await["items"], json!([]));
}

#[tokio::test]
async fn only_the_kinds_that_are_asked_for_are_passed() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "said").await;
    alice.create(&[&bob]).await;
    let invitations = inbox(&bob, "?kinds=session.invited,frame").await;
    assert_eq!((invitations["unread"].as_i64(), texts(&invitations).len()), (Some(1), 1));
    assert_eq!(ack(&bob, &invitations).await["unread"], 1);
    assert_eq!(
        texts(&inbox(&bob, "").await),
        ["said"],
        "an acknowledgement goes over what was asked for alone"
    );
    bob.get("/inbox?kinds=mail").await.assert_refused(400, "invalid_kinds");
}

#[tokio::test]
async fn ten_thousand_unread_are_counted_and_paged() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let path = format!("/sessions/{id}/messages");
    for round in 0..100 {
        let sends = (0..100).map(|n| {
            let (alice, path) = (alice.clone(), path.clone());
            async move { alice.post(&path, json!({"content": format!("{round}.{n}")})).await.ok(201) }
        });
        join_all(sends).await;
    }
    let page = inbox(&bob, "?limit=100").await;
    assert_eq!((page["unread"].as_u64(), page["items"][0]["newer"].as_u64()), (Some(10_000), Some(9_999)));
    let mut after = cursor(&page);
    for _ in 0..20 {
        after = cursor(&inbox(&bob, &format!("?limit=100&after={after}")).await);
    }
    assert_eq!(ack(&bob, &json!({"cursor": after})).await["unread"], 7_900);
}
