//! The contact handshake (ASP-103, wire.md 2.5 row 19, D.1, D.9).

use plenary_accounts::{
    INBOX,
    limits::{CONTACTS_PENDING_MAX, CONTACTS_PENDING_TO_MAX},
    may_contact, notice,
};
use plenary_kernel::{AgentHandle, Version};
use plenary_log::StreamName;
use serde_json::{Value, json};

use crate::house::{Answer, House, OPERATOR};

async fn inbox(house: &House, handle: &str) -> Vec<Value> {
    let stream = StreamName::new(INBOX, handle);
    let events = house.log.read_stream(&stream, Version::ZERO, 100).await.unwrap();
    events.iter().map(|event| serde_json::from_slice(&notice(event).unwrap()).unwrap()).collect()
}

async fn ask(house: &House, token: &str, to: &str) -> String {
    let request =
        house.post(token, "/contacts", &json!({"to": to, "message": "hi"}).to_string()).await.ok(200);
    assert_eq!(request.as_object().unwrap().len(), 1);
    request["request_id"].as_str().unwrap().to_owned()
}

async fn answer(house: &House, token: &str, id: &str, verb: &str) -> Answer {
    house.post(token, &format!("/contacts/{id}/{verb}"), "").await
}

async fn may(house: &House, a: &str, b: &str) -> bool {
    let known = async |text: &str| house.accounts.agent(&text.parse::<AgentHandle>().unwrap()).await.unwrap();
    may_contact(&known(a).await, &known(b).await)
}

#[tokio::test]
async fn declining_changes_nothing_and_asking_again_is_a_new_request() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    let bob = house.agent("@bob.bot", "").await;
    let id = ask(&house, &alice, "@bob.bot").await;
    answer(&house, &bob, &id, "decline").await.ok(200);
    assert_eq!(inbox(&house, "@alice.bot").await[0]["type"], "contact.declined");
    assert!(!may(&house, "@alice.bot", "@bob.bot").await);
    answer(&house, OPERATOR, &id, "accept").await.refused(409, "contact_answered");
    let again = ask(&house, &alice, "@bob.bot").await;
    assert_ne!(again, id);
    assert_eq!(inbox(&house, "@bob.bot").await.len(), 2);
}

#[tokio::test]
async fn asp_19_asking_tells_nothing_of_who_is_there() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    for handle in ["@bob.bot", "@blocker.bot", "@gone.bot"] {
        house.agent(handle, "").await;
    }
    house.post(OPERATOR, "/_admin/agents/@blocker.bot/blocks", r#"{"handle":"@alice.bot"}"#).await.ok(201);
    house.call(OPERATOR, "DELETE", "/_admin/agents/@gone.bot", "").await.ok(204);
    let before = house.log.head().await.unwrap().0;
    let mut written = Vec::new();
    let mut head = before;
    let mut headers = Vec::new();
    for handle in ["@bob.bot", "@blocker.bot", "@gone.bot", "@no.body"] {
        let body = json!({ "to": handle }).to_string();
        let reply = house.post(&alice, "/contacts", &body).await;
        let id = reply.ok(200)["request_id"].as_str().unwrap().to_owned();
        assert_eq!(
            id,
            house.post(&alice, "/contacts", &body).await.ok(200)["request_id"],
            "the same request"
        );
        headers.push((reply.headers.clone(), reply.body.len()));
        let now = house.log.head().await.unwrap().0;
        written.push(now - head);
        head = now;
        let notices = inbox(&house, handle).await.len();
        assert_eq!(notices, usize::from(handle == "@bob.bot"), "{handle}");
    }
    assert_eq!(written, [2; 4], "the same work, whoever is there");
    assert!(headers.iter().all(|answer| *answer == headers[0]));
}

#[tokio::test]
async fn a_request_to_nobody_reaches_its_bearer_when_it_is_repeated() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    let id = ask(&house, &alice, "@bob.bot").await;
    let bob = house.agent("@bob.bot", r#""self_service":true"#).await;
    assert_eq!(inbox(&house, "@bob.bot").await.len(), 0);
    answer(&house, &bob, &id, "accept").await.refused(404, "not_found");
    assert_eq!(ask(&house, &alice, "@bob.bot").await, id);
    assert_eq!(inbox(&house, "@bob.bot").await.len(), 1);
    answer(&house, &bob, &id, "accept").await.ok(200);
}

#[tokio::test]
async fn asp_15_after_a_block_an_answer_does_not_reach_the_blocker() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    let bob = house.agent("@bob.bot", r#""self_service":true"#).await;
    let id = ask(&house, &alice, "@bob.bot").await;
    house.post(OPERATOR, "/_admin/agents/@alice.bot/blocks", r#"{"handle":"@bob.bot"}"#).await.ok(201);
    answer(&house, &bob, &id, "accept").await.ok(200);
    assert_eq!(inbox(&house, "@alice.bot").await.len(), 0);
    assert_eq!(house.get(&alice, "/agents/me/allowlist").await.ok(200), json!({"entries": []}));
}

#[tokio::test]
async fn wrong_requests_have_their_codes() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    let long = json!({"to": "@bob.bot", "message": "x".repeat(4_097)}).to_string();
    for (body, code) in [
        ("{", "invalid_json"),
        ("{}", "invalid_handle"),
        (r#"{"to":"bob"}"#, "invalid_handle"),
        (r#"{"to":"@alice.bot"}"#, "invalid_handle"),
        (r#"{"to":"@bob.bot","message":7}"#, "invalid_message"),
        (r#"{"to":"@bob.bot","message":""}"#, "invalid_message"),
        (&long, "invalid_message"),
    ] {
        house.post(&alice, "/contacts", body).await.refused(400, code);
    }
}

#[tokio::test]
async fn past_its_limit_an_agent_asks_nobody_further() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    for n in 0..CONTACTS_PENDING_MAX {
        ask(&house, &alice, &format!("@x.n{n}")).await;
    }
    let further = house.post(&alice, "/contacts", r#"{"to":"@bob.bot"}"#).await;
    further.refused(429, "too_many_contacts");
    ask(&house, &alice, "@x.n0").await;
}

#[tokio::test]
async fn past_their_limit_the_agents_of_one_owner_ask_the_same_agent_no_further() {
    let house = House::new();
    let bob = house.agent("@bob.bot", "").await;
    let (more, eve) = (house.agent("@alice.more", "").await, house.agent("@eve.bot", "").await);
    let mut asked = Vec::new();
    for n in 0..CONTACTS_PENDING_TO_MAX {
        let alice = house.agent(&format!("@alice.n{n}"), "").await;
        asked.push(ask(&house, &alice, "@bob.bot").await);
        ask(&house, &alice, "@nobody.bot").await;
    }
    for to in ["@bob.bot", "@nobody.bot"] {
        let further = house.post(&more, "/contacts", &json!({ "to": to }).to_string()).await;
        further.refused(429, "too_many_contacts");
        ask(&house, &eve, to).await;
    }
    ask(&house, &more, "@eve.bot").await;
    answer(&house, &bob, &asked[0], "decline").await.ok(200);
    ask(&house, &more, "@bob.bot").await;
}

#[tokio::test]
async fn parallel_equal_requests_are_one_request() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    house.agent("@bob.bot", "").await;
    let asking = (0..10).map(|_| ask(&house, &alice, "@bob.bot"));
    let ids = futures_util::future::join_all(asking).await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(inbox(&house, "@bob.bot").await.len(), 1);
}

#[tokio::test]
async fn asp_19_an_answer_after_a_block_looks_like_none() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    let bob = house.agent("@bob.bot", r#""self_service":true"#).await;
    let id = ask(&house, &alice, "@bob.bot").await;
    house.post(&bob, "/agents/me/blocks", r#"{"handle":"@alice.bot"}"#).await.ok(201);
    answer(&house, &bob, &id, "decline").await.ok(200);
    assert_eq!(ask(&house, &alice, "@bob.bot").await, id, "as of an agent that does not exist");
    let sent = house.get(&alice, "/contacts?direction=outgoing").await.ok(200);
    assert_eq!(sent["contacts"][0]["request_id"], id, "{sent}");
    house.call(&bob, "DELETE", "/agents/me/blocks/@alice.bot", "").await.ok(200);
    assert_eq!(ask(&house, &alice, "@bob.bot").await, id);
    answer(&house, &bob, &id, "accept").await.ok(200);
    assert!(may(&house, "@alice.bot", "@bob.bot").await);
}
