//! What may disturb an agent, or one of its coding sessions: what may not waits unread, and its sender is told why.

use blackbox::{Agent, Server, room};
use serde_json::{Value, json};

use super::{inbox, texts};

/// An event of one of the agent's coding sessions.
async fn moment(agent: &Agent, session: &str, event: &str) {
    let body = json!({"session": session, "client": "claude", "event": event});
    agent.post("/inbox/session", body).await.ok(200);
}

/// What is for a coding session.
async fn of(agent: &Agent, session: &str) -> Value {
    inbox(agent, &format!("?coding_session={session}&kinds=session.message")).await
}

/// What the sender of a message is told of one recipient.
async fn waiting(sender: &Agent, id: &str, sequence: i64, of: &str) -> Value {
    let told = sender.get(&format!("/sessions/{id}/messages/{sequence}/status")).await.ok(200);
    let recipients = told["recipients"].as_array().expect("a list").clone();
    let found = recipients.into_iter().find(|recipient| recipient["agent"] == of);
    found.expect("the recipient")["waiting"].clone()
}

#[tokio::test]
async fn focus_lets_through_its_own_people_urgent_messages_and_replies() {
    let (_server, [nick, own, bob]) = Server::with(["@nick.cc", "@nick.web", "@bob.cc"]).await;
    let id = room(&[&nick, &own, &bob]).await;
    moment(&nick, "s-1", "prompt").await;
    // It has no leave to configure itself, and needs none for this.
    let set = nick.patch("/agents/me", json!({"attention": "focus"})).await.ok(200);
    assert_eq!(set["attention"]["level"], "focus");
    let plain = bob.say(&id, "plain").await;
    own.say(&id, "of its own").await;
    let urgent = json!({"content": "it burns", "metadata": {"urgency": "urgent"}});
    bob.post(&format!("/sessions/{id}/messages"), urgent).await.ok(201);
    let normal = json!({"content": "it does not", "metadata": {"urgency": "normal"}});
    bob.post(&format!("/sessions/{id}/messages"), normal).await.ok(201);
    let page = of(&nick, "s-1").await;
    assert_eq!(texts(&page), ["of its own", "it burns"]);
    assert_eq!(page["attention"]["level"], "focus");
    assert_eq!(page["attention"]["waited"], 2);
    assert_eq!(page["unread"], 2, "what waits is not announced");
    assert_eq!(page["attention"]["from"], json!([{"agent": "@bob.cc", "items": 2}]));
    assert_eq!(texts(&inbox(&nick, "?kinds=session.message").await).len(), 4, "nothing is lost");
    let why = waiting(&bob, &id, plain, "@nick.cc").await;
    assert_eq!((&why["reason"], why.get("until")), (&json!("focus"), None), "{why}");
    // What passes over the others leaves them unread.
    let ids: Vec<&Value> = page["items"].as_array().expect("items").iter().map(|item| &item["id"]).collect();
    let shown = json!({"session": "s-1", "client": "claude", "event": "prompt", "items": ids,
        "cursor": page["cursor"], "held": page["held"]});
    nick.post("/inbox/shown", shown).await.ok(200);
    moment(&nick, "s-1", "tool").await;
    assert_eq!(texts(&of(&nick, "s-1").await), Vec::<String>::new());
    assert_eq!(texts(&inbox(&nick, "?kinds=session.message").await), ["plain", "it does not"]);
    nick.patch("/agents/me", json!({"attention": "open"})).await.ok(200);
    let page = of(&nick, "s-1").await;
    assert_eq!(texts(&page), ["plain", "it does not"]);
    let told = &page["attention"];
    assert_eq!((&told["level"], &told["was"], &told["waited"]), (&json!("open"), &json!("focus"), &json!(2)));
    assert!(waiting(&bob, &id, plain, "@nick.cc").await["reason"] != "focus");
    // A reply is the first that somebody says after the agent spoke.
    nick.patch("/agents/me", json!({"attention": "focus"})).await.ok(200);
    nick.say(&id, "which port?").await;
    let reply = bob.say(&id, "7420").await;
    let more = bob.say(&id, "and another thing").await;
    assert_eq!(texts(&of(&nick, "s-1").await), ["7420"]);
    assert_ne!(waiting(&bob, &id, reply, "@nick.cc").await["reason"], "focus");
    assert_eq!(waiting(&bob, &id, more, "@nick.cc").await["reason"], "focus");
}

#[tokio::test]
async fn of_two_sessions_the_one_that_is_not_to_be_disturbed_leaves_news_to_the_other() {
    let (_server, [nick, bob]) = Server::with(["@nick.cc", "@bob.cc"]).await;
    let id = room(&[&nick, &bob]).await;
    moment(&nick, "s-1", "prompt").await;
    moment(&nick, "s-2", "prompt").await;
    let dnd = |session: &str| json!({"session": session, "attention": "dnd"});
    let set = nick.put("/inbox/session/attention", dnd("s-2")).await.ok(200);
    assert_eq!(set, json!({"session": "s-2", "attention": "dnd"}));
    let first = bob.say(&id, "hello").await;
    assert_eq!(texts(&of(&nick, "s-2").await), Vec::<String>::new());
    assert_eq!(texts(&of(&nick, "s-1").await), ["hello"]);
    assert_ne!(waiting(&bob, &id, first, "@nick.cc").await["reason"], "dnd");
    nick.put("/inbox/session/attention", dnd("s-1")).await.ok(200);
    assert_eq!(texts(&of(&nick, "s-1").await), Vec::<String>::new());
    assert_eq!(waiting(&bob, &id, first, "@nick.cc").await["reason"], "dnd");
    let sessions = nick.get("/inbox/sessions").await.ok(200);
    assert!(
        sessions["sessions"].as_array().expect("a list").iter().all(|coding| coding["attention"] == "dnd")
    );
    let open = json!({"session": "s-1", "attention": "open"});
    nick.put("/inbox/session/attention", open).await.ok(200);
    assert_eq!(texts(&of(&nick, "s-1").await), ["hello"]);
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused() {
    let (server, [nick]) = Server::with(["@nick.cc"]).await;
    for body in [
        json!({"attention": "loud"}),
        json!({"attention": 1}),
        json!({"attention_until": 1}),
        json!({"attention": "dnd", "attention_until": 1}),
        json!({"attention": "dnd", "attention_until": "tomorrow"}),
        json!({"attention": "dnd", "attention_until": 9_000_000_000_000_000_u64}),
        json!({"attention": "open", "attention_until": 9_000_000_000_000_u64}),
    ] {
        // It needs no leave of the owner.
        nick.patch("/agents/me", body).await.assert_refused(400, "invalid_attention");
    }
    for body in [
        json!({"attention": "dnd", "policy": "allowlist"}),
        json!({"attention": "loud", "policy": "allowlist"}),
        json!({"attention": "dnd", "description": null}),
    ] {
        nick.patch("/agents/me", body).await.assert_refused(403, "forbidden");
    }
    let late = json!({"attention": "dnd", "attention_until": 1});
    nick.patch("/agents/me", late).await.assert_refused(400, "invalid_attention");
    let operator = server.operator();
    let of_nick = "/_admin/agents/@nick.cc";
    operator.patch(of_nick, json!({"attention": "loud"})).await.assert_refused(400, "invalid_attention");
    let set = operator.patch(of_nick, json!({"attention": "dnd"})).await.ok(200);
    assert_eq!(set["attention"]["level"], "dnd");
    let unknown = json!({"session": "s-9", "attention": "dnd"});
    nick.put("/inbox/session/attention", unknown).await.assert_refused(409, "session_not_live");
    moment(&nick, "s-1", "start").await;
    for body in [
        json!({"session": "s-1"}),
        json!({"session": "s-1", "attention": "loud"}),
        json!({"session": "s-1", "attention": "dnd", "attention_until": 1}),
    ] {
        nick.put("/inbox/session/attention", body).await.assert_refused(400, "invalid_body");
    }
}

#[tokio::test]
async fn an_urgent_message_passes_although_the_invitation_before_it_waits() {
    let server = Server::start().await;
    let nick = server.closed_agent("@nick.cc", &["@bob.*"]).await;
    let bob = server.agent("@bob.cc").await;
    moment(&nick, "s-1", "prompt").await;
    nick.patch("/agents/me", json!({"attention": "focus"})).await.ok(200);
    let of = async || inbox(&nick, "?coding_session=s-1").await;
    let body = json!({"invite": ["@nick.cc"], "initial_message": {"content": "calm"}});
    let opened = bob.post("/sessions", body).await.ok(201);
    let id = opened["session_id"].as_str().expect("a session").to_owned();
    let page = of().await;
    assert_eq!((page["items"].as_array().map(Vec::len), &page["unread"]), (Some(0), &json!(0)), "{page}");
    assert_eq!(page["attention"]["waited"], 1, "{page}");
    let plain = bob.say(&id, "calm too").await;
    assert_eq!(of().await["items"], json!([]));
    assert_eq!(waiting(&bob, &id, plain, "@nick.cc").await["reason"], "focus");
    let urgent = json!({"content": "it burns", "metadata": {"urgency": "urgent"}});
    let sent = bob.post(&format!("/sessions/{id}/messages"), urgent).await.ok(201);
    let page = of().await;
    let items = page["items"].as_array().expect("a list");
    assert_eq!((items.len(), &items[0]["kind"]), (1, &json!("session.invited")), "{page}");
    assert_eq!((&page["unread"], &page["attention"]["waited"]), (&json!(1), &json!(1)), "{page}");
    let number = sent["sequence"].as_i64().expect("a number");
    assert_eq!(waiting(&bob, &id, number, "@nick.cc").await["reason"], "not_joined");
    // Once it is shown, only what waits is left, and it comes when the attention is open.
    let shown = json!({"session": "s-1", "client": "claude", "event": "prompt", "items": [items[0]["id"]],
        "cursor": page["cursor"], "held": page["held"]});
    nick.post("/inbox/shown", shown).await.ok(200);
    moment(&nick, "s-1", "tool").await;
    assert_eq!(of().await["items"], json!([]));
    nick.patch("/agents/me", json!({"attention": "open"})).await.ok(200);
    let page = of().await;
    assert_eq!((page["items"].as_array().map(Vec::len), &page["unread"]), (Some(1), &json!(1)), "{page}");
}

#[tokio::test]
async fn the_sender_of_an_urgent_message_that_waits_is_told_so() {
    let (_server, [nick, bob]) = Server::with(["@nick.cc", "@bob.cc"]).await;
    moment(&nick, "s-1", "prompt").await;
    nick.patch("/agents/me", json!({"attention": "focus"})).await.ok(200);
    let first = json!({"content": "it burns", "metadata": {"urgency": "urgent"}});
    let body = json!({"invite": ["@nick.cc"], "initial_message": first});
    let opened = bob.post("/sessions", body).await.ok(201);
    let id = opened["session_id"].as_str().expect("a session").to_owned();
    // A stranger's invitation never disturbs.
    assert_eq!(inbox(&nick, "?coding_session=s-1").await["items"], json!([]));
    let number = opened["sequence"].as_i64().unwrap_or(1);
    assert_eq!(waiting(&bob, &id, number, "@nick.cc").await["reason"], "focus");
}
