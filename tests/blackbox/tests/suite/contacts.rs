//! The optional handshake that fills two allowlists (ASP-3, ASP-18, ASP-102, ASP-103).

use std::cell::Cell;

use blackbox::{Agent, Server, assert_keys, eventually, room};
use futures_util::future::join_all;
use serde_json::{Value, json};

async fn closed(server: &Server, handle: &str, self_service: bool) -> Agent {
    server.agent_as(json!({"handle": handle, "policy": "allowlist", "self_service": self_service})).await
}

async fn ask(from: &Agent, to: &str) -> String {
    let asked = from.post("/contacts", json!({"to": to, "message": "may I?"})).await.ok(200);
    let id = asked["request_id"].as_str().expect("a request id").to_owned();
    assert!(id.starts_with("req_"), "{id}");
    id
}

#[track_caller]
fn assert_contact_event(event: &Value, kind: &str, id: &str) {
    assert_eq!(event["type"], kind, "{event}");
    assert_eq!(event["request_id"], id);
    assert!(event["event_id"].as_str().is_some_and(|id| id.starts_with("evt_")), "{event}");
    assert!(event["created_at"].is_i64(), "{event}");
    assert!(event.get("session_id").is_none(), "a contact event belongs to no session: {event}");
}

/// Request, event, acceptance, event; then the two reach each other both ways.
#[tokio::test]
async fn accepting_writes_both_allowlists() {
    let server = Server::start().await;
    let alice = closed(&server, "@alice.bot", false).await;
    let bob = closed(&server, "@bob.bot", true).await;
    let mut to_alice = alice.connect().await;
    let mut to_bob = bob.connect().await;
    let id = ask(&alice, "@bob.bot").await;
    let asked = to_bob.event().await;
    assert_contact_event(&asked, "contact.requested", &id);
    assert_keys(&asked["payload"], &["from", "to", "message"], &[]);
    assert_eq!(asked["payload"], json!({"from": "@alice.bot", "to": "@bob.bot", "message": "may I?"}));
    alice.post("/sessions", json!({"invite": ["@bob.bot"]})).await.assert_refused(404, "not_found");
    assert_eq!(bob.post_empty(&format!("/contacts/{id}/accept")).await.ok(200), json!({"ok": true}));
    let accepted = to_alice.event().await;
    assert_contact_event(&accepted, "contact.accepted", &id);
    assert_eq!(accepted["payload"], json!({"by": "@bob.bot"}));
    for (agent, other) in [(&alice, "@bob.bot"), (&bob, "@alice.bot")] {
        assert_eq!(agent.get("/agents/me/allowlist").await.ok(200)["entries"], json!([other]));
    }
    room(&[&alice, &bob]).await;
    room(&[&bob, &alice]).await;
}

#[tokio::test]
async fn declining_changes_nothing() {
    let server = Server::start().await;
    let alice = closed(&server, "@alice.bot", false).await;
    let bob = closed(&server, "@bob.bot", true).await;
    let mut to_alice = alice.connect().await;
    let id = ask(&alice, "@bob.bot").await;
    assert_eq!(bob.post_empty(&format!("/contacts/{id}/decline")).await.ok(200), json!({"ok": true}));
    let declined = to_alice.event().await;
    assert_contact_event(&declined, "contact.declined", &id);
    assert_eq!(declined["payload"], json!({"by": "@bob.bot"}));
    for agent in [&alice, &bob] {
        assert_eq!(agent.get("/agents/me/allowlist").await.ok(200)["entries"], json!([]));
    }
}

/// ASP-3: an agent without leave cannot accept; its owner can.
#[tokio::test]
async fn accepting_needs_the_owner() {
    let server = Server::start().await;
    let owner = server.owner("bob").await;
    let alice = closed(&server, "@alice.bot", false).await;
    let bob = closed(&server, "@bob.bot", false).await;
    let id = ask(&alice, "@bob.bot").await;
    let path = format!("/contacts/{id}/accept");
    bob.post_empty(&path).await.assert_refused(403, "forbidden");
    assert_eq!(bob.get("/agents/me/allowlist").await.ok(200)["entries"], json!([]));
    assert_eq!(owner.post_empty(&path).await.ok(200), json!({"ok": true}));
    room(&[&alice, &bob]).await;
}

/// ASP-102: nobody else's call may touch the lists: the requester, strangers and other owners find nothing.
#[tokio::test]
async fn only_the_one_asked_may_answer() {
    let server = Server::start().await;
    let alice = closed(&server, "@alice.bot", true).await;
    closed(&server, "@bob.bot", true).await;
    let carol = closed(&server, "@carol.bot", true).await;
    let other_owner = server.owner("carol2").await;
    let id = ask(&alice, "@bob.bot").await;
    for verb in ["accept", "decline"] {
        let path = format!("/contacts/{id}/{verb}");
        let absent = format!("/contacts/req_01HW7AB12CDEFGHJKMNPQRSTVW/{verb}");
        for caller in [&*alice, &*carol, &other_owner] {
            let found = caller.post_empty(&path).await;
            found.assert_refused(404, "not_found");
            assert_eq!(found.fingerprint(), caller.post_empty(&absent).await.fingerprint());
        }
    }
    assert_eq!(server.operator().get("/_admin/agents/@bob.bot").await.ok(200)["allowlist"], json!([]));
}

/// ASP-18: asking tells nothing: unknown, blocked and known handles get the same kind of answer.
#[tokio::test]
async fn asking_is_no_oracle() {
    let server = Server::start().await;
    let alice = closed(&server, "@alice.bot", false).await;
    let bob = closed(&server, "@bob.bot", true).await;
    let blocker = closed(&server, "@blocker.bot", true).await;
    server.block(&blocker, "@alice.bot").await;
    let mut to_blocker = blocker.connect().await;
    let mut answers = Vec::new();
    for to in ["@bob.bot", "@nobody.bot", "@blocker.bot"] {
        let response = alice.post("/contacts", json!({ "to": to })).await;
        let id = response.ok(200)["request_id"].as_str().expect("a request id").to_owned();
        answers.push(response.fingerprint().replace(&id, "ID"));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
    // Fence: the next thing that reaches the blocker is another's request.
    let id = ask(&bob, "@blocker.bot").await;
    assert_contact_event(&to_blocker.event().await, "contact.requested", &id);
    for body in [json!({}), json!({"to": 1}), json!({"to": "bob"}), json!({"to": "@bob.*"})] {
        alice.post("/contacts", body).await.refusal_code(400);
    }
}

/// A request waits for an agent that is offline, and outlives a crash.
#[tokio::test]
async fn requests_wait_for_the_one_asked() {
    let mut server = Server::start().await;
    let alice = closed(&server, "@alice.bot", false).await;
    let bob = closed(&server, "@bob.bot", true).await;
    let id = ask(&alice, "@bob.bot").await;
    server.crash().await;
    assert_contact_event(&bob.connect().await.event().await, "contact.requested", &id);
    bob.post_empty(&format!("/contacts/{id}/accept")).await.ok(200);
    assert_contact_event(&alice.connect().await.event().await, "contact.accepted", &id);
}

/// What waits for an answer can be listed at any time, by both sides and by the asked agent's owner.
#[tokio::test]
async fn a_request_that_waits_is_listed() {
    let mut server = Server::start().await;
    let alice = closed(&server, "@alice.bot", true).await;
    let owner = server.owner("bob").await;
    let bob = closed(&server, "@bob.bot", true).await;
    let mut asked = Vec::new();
    for nth in 0..3 {
        let from = closed(&server, &format!("@asking.n{nth}"), true).await;
        asked.push(ask(&from, "@bob.bot").await);
    }
    asked.push(ask(&alice, "@bob.bot").await);
    ask(&alice, "@nobody.bot").await;
    let ids = |page: &Value| -> Vec<String> {
        let contacts = page["contacts"].as_array().expect("a list").iter();
        contacts.map(|contact| contact["request_id"].as_str().expect("an id").to_owned()).collect()
    };
    server.crash().await;
    let all = bob.get("/contacts").await.ok(200);
    assert_eq!((ids(&all), all.get("next_cursor")), (asked.clone(), None));
    assert_keys(&all["contacts"][0], &["request_id", "from", "to", "message", "created_at"], &[]);
    let first = bob.get("/contacts?limit=2").await.ok(200);
    let next = first["next_cursor"].as_str().expect("there are more");
    let rest = bob.get(&format!("/contacts?limit=2&cursor={next}")).await.ok(200);
    assert_eq!([ids(&first), ids(&rest)].concat(), asked);
    assert_eq!(ids(&owner.get("/contacts?agent=@bob.bot").await.ok(200)), asked);
    owner.get("/contacts").await.assert_refused(400, "invalid_agent");
    owner.get("/contacts?agent=@alice.bot").await.assert_refused(404, "not_found");
    bob.get("/contacts?agent=@alice.bot").await.assert_refused(404, "not_found");
    bob.get("/contacts?direction=both").await.assert_refused(400, "invalid_direction");
    // Whether there is anybody to ask is not told.
    let outgoing = alice.get("/contacts?direction=outgoing").await.ok(200);
    let to: Vec<_> =
        outgoing["contacts"].as_array().expect("a list").iter().map(|asked| &asked["to"]).collect();
    assert_eq!(to, ["@bob.bot", "@nobody.bot"]);
    bob.post_empty(&format!("/contacts/{}/accept", asked[3])).await.ok(200);
    bob.post_empty(&format!("/contacts/{}/decline", asked[0])).await.ok(200);
    assert_eq!(ids(&bob.get("/contacts").await.ok(200)), asked[1..3]);
    assert_eq!(
        alice.get("/contacts?direction=outgoing").await.ok(200)["contacts"].as_array().map(Vec::len),
        Some(1)
    );
}

/// At most 100 requests of the agents of one owner wait at the same agent, also of those that are made at once.
#[tokio::test]
async fn requests_that_are_made_at_once_pass_no_limit() {
    let server = Server::start().await;
    closed(&server, "@ida.private", false).await;
    let mut asking = Vec::new();
    for nth in 0..106 {
        asking.push(server.agent(&format!("@eve.a{nth}")).await);
    }
    let body = json!({"to": "@ida.private"});
    let answers = join_all(asking.iter().map(|agent| agent.post("/contacts", body.clone()))).await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!((made.len(), refused.len()), (100, 6), "{refused:?}");
    refused.iter().for_each(|answer| answer.assert_refused(429, "too_many_contacts"));
}

/// The ids of a channel's events count the events of the whole log.
#[tokio::test]
async fn a_request_writes_as_many_events_whoever_is_asked() {
    let (server, [asker]) = Server::with(["@eve.bot"]).await;
    closed(&server, "@ida.private", false).await;
    closed(&server, "@ida.free", true).await;
    let blocking = closed(&server, "@ida.blocking", true).await;
    blocking.post("/agents/me/blocks", json!({"handle": "@eve.bot"})).await.ok(201);
    let channel = asker.post("/agent-channel", json!({"title": "count"})).await.ok(200);
    let events = format!("/agent-channel/{}/event", channel["id"].as_str().expect("an id"));
    let count = async || {
        let event = asker.post(&events, json!({"kind": "note", "payload": {}})).await.ok(200);
        event["id"].as_i64().expect("an event id")
    };
    for to in ["@ida.private", "@ida.free", "@ida.blocking", "@ida.nobody", "@ghost.nobody"] {
        let before = count().await;
        ask(&asker, to).await;
        let looks = Cell::new(0);
        let look = async || {
            looks.set(looks.get() + 1);
            Some(count().await - before - looks.get()).filter(|written| *written >= 3)
        };
        let written = eventually("the background work is done", look).await;
        assert_eq!(written, 3, "{to}");
    }
}
