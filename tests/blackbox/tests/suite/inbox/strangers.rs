//! Invitations by strangers: they come last, there may be so many, and an inbox does not wait for them, nor for anything
//! else that an agent takes part in.

use blackbox::{Agent, Server, eventually};
use serde_json::{Value, json};

use super::{ack, cursor, inbox, texts};

async fn invite(from: &Agent, whom: &str) -> blackbox::Response {
    from.post("/sessions", json!({"invite": [whom], "topic": from.handle})).await
}

fn senders(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("items is a list");
    items.iter().map(|item| item["from"].as_str().expect("a sender")).collect()
}

#[tokio::test]
async fn what_a_known_sender_says_comes_before_everything_that_strangers_offer() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let mallory = server.agent("@mallory.bot").await;
    for _ in 0..30 {
        invite(&mallory, "@bob.bot").await.ok(201);
    }
    alice.say(&id, "behind thirty strangers").await;
    for restart in [false, true] {
        if restart {
            server.crash().await;
        }
        let page = inbox(&bob, "?limit=3").await;
        assert_eq!(senders(&page), ["@alice.bot", "@mallory.bot", "@mallory.bot"], "{page}");
        assert_eq!((&page["unread"], &page["from_strangers"]), (&json!(31), &json!(30)));
        assert_eq!((&page["more"], &page["items"][1]["kind"]), (&json!(true), &json!("session.invited")));
        let next = inbox(&bob, &format!("?limit=100&after={}", cursor(&page))).await;
        assert_eq!((senders(&next).len(), &next["more"]), (28, &json!(false)));
    }
    // An acknowledgement goes as far as what was given: nothing of a stranger is settled unseen.
    let first = inbox(&bob, "?limit=1").await;
    assert_eq!(senders(&first), ["@alice.bot"]);
    assert_eq!(ack(&bob, &first).await["unread"], 30);
    let two = inbox(&bob, "?limit=2&kinds=session.invited").await;
    assert_eq!(ack(&bob, &two).await["unread"], 28);
    alice.say(&id, "and again").await;
    let page = inbox(&bob, "?limit=2").await;
    assert_eq!(senders(&page), ["@alice.bot", "@mallory.bot"]);
    assert_eq!(ack(&bob, &inbox(&bob, "?limit=100").await).await["unread"], 0);
}

#[tokio::test]
async fn an_offer_that_is_answered_is_a_session_like_any_other() {
    let (_server, [bob, mallory]) = Server::with(["@bob.bot", "@mallory.bot"]).await;
    let id = invite(&mallory, "@bob.bot").await.ok(201)["session_id"].as_str().expect("an id").to_owned();
    mallory.say(&id, "hello").await;
    let sessions = async || bob.get("/sessions").await.ok(200)["sessions"].clone();
    assert_eq!(sessions().await[0]["id"], id.as_str(), "an offer is listed too");
    assert_eq!(inbox(&bob, "").await["from_strangers"], 1);
    bob.join(&id).await;
    let page = inbox(&bob, "").await;
    assert_eq!((texts(&page), page.get("from_strangers")), (vec!["hello".to_owned()], None));
    assert_eq!(sessions().await.as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn asp_20_an_owner_has_so_many_unanswered_invitations_at_an_agent_that_does_not_list_it() {
    let server = Server::builder().config("[quota]\ninvitations_unanswered_max = 5\n").start().await;
    let bob = server.agent("@bob.bot").await;
    let (one, two) = (server.agent("@mallory.one").await, server.agent("@mallory.two").await);
    let other = server.agent("@carol.bot").await;
    let mut ids = Vec::new();
    for nth in 0..5 {
        let from = if nth % 2 == 0 { &one } else { &two };
        let made = invite(from, "@bob.bot").await.ok(201);
        ids.push(made["session_id"].as_str().expect("an id").to_owned());
    }
    for from in [&one, &two] {
        invite(from, "@bob.bot").await.assert_refused(429, "too_many_invitations");
        let id = from.create(&[]).await;
        let body = json!({"invite": ["@bob.bot"]});
        from.post(&format!("/sessions/{id}/invite"), body).await.assert_refused(429, "too_many_invitations");
    }
    invite(&other, "@bob.bot").await.ok(201);
    invite(&one, "@carol.bot").await.ok(201);
    // An answer makes room for one.
    bob.join(&ids[0]).await;
    invite(&two, "@bob.bot").await.ok(201);
    invite(&two, "@bob.bot").await.assert_refused(429, "too_many_invitations");
    // Whom it lists is no stranger.
    let entries = json!({"entries": ["@mallory.*"]});
    server.operator().post("/_admin/agents/@bob.bot/allowlist", entries).await.ok(200);
    for _ in 0..3 {
        invite(&one, "@bob.bot").await.ok(201);
    }
}

/// The first answer after a start looks at a part of what there is and says so; the rest follows by itself.
#[tokio::test]
async fn a_first_answer_does_not_wait_for_every_session() {
    const SESSIONS: u64 = 300;
    let mut server = Server::start().await;
    let alice = server.agent_as(json!({"handle": "@alice.bot", "policy": "open"})).await;
    let bob = server.agent_as(json!({"handle": "@alice.two", "policy": "open"})).await;
    for nth in 0..SESSIONS {
        alice.open(json!({"invite": ["@alice.two"], "topic": format!("t{nth}")})).await;
    }
    server.crash().await;
    let first = inbox(&bob, "?limit=20").await;
    let subjects: Vec<_> =
        first["items"].as_array().expect("a list").iter().map(|i| i["subject"].clone()).collect();
    assert_eq!(subjects, (0..20).map(|nth| json!(format!("t{nth}"))).collect::<Vec<_>>(), "the oldest first");
    let counted = first["unread"].as_u64().expect("a number");
    assert!(counted < SESSIONS && first["unread_at_least"] == true && first["more"] == true, "{counted}");
    let whole = eventually("everything is counted", || async {
        let page = inbox(&bob, "?limit=1").await;
        page.get("unread_at_least").is_none().then_some(page)
    })
    .await;
    assert_eq!(whole["unread"], SESSIONS);
    let (mut after, mut seen) = (String::new(), 0);
    loop {
        let page = inbox(&bob, &format!("?limit=100{after}")).await;
        seen += page["items"].as_array().map_or(0, Vec::len);
        if page["more"] == false {
            break;
        }
        after = format!("&after={}", cursor(&page));
    }
    assert_eq!(seen as u64, SESSIONS);
}
