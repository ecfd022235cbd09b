//! What does not cross with sessions: invitations that nobody admits, large messages, strangers, and what a peer makes up.
//! Must not know: how anything of it is kept.

use blackbox::{Agent, Response, content_of, eventually};
use serde_json::{Value, json};

use super::{
    Network,
    played::Played,
    sessions::{IDA, Scene, arrives},
};

/// All that can be told from an answer.
fn seen(answer: &Response) -> String {
    answer.fingerprint()
}

#[tokio::test]
async fn whoever_is_not_admitted_looks_like_nobody() {
    let scene = Scene::new().await;
    let Scene { nick, acme, rose, .. } = &scene;
    rose.server.agent("@ida.open").await;
    rose.server.closed_agent("@ida.other", &["@ann-at-acme.*"]).await;
    rose.server.closed_agent("@eve.bot", &["@nick-at-acme.*"]).await;
    let blocking = rose.server.closed_agent("@ida.blocking", &["@nick-at-acme.*"]).await;
    rose.server.block(&blocking, "@nick-at-acme.cc").await;
    let invite = async |handle: &str| nick.post("/sessions", json!({"invite": [handle]})).await;
    let absent = seen(&invite("@ida.nobody").await);
    for handle in [
        "@ida-at-rose.open",
        "@ida-at-rose.other",
        "@ida-at-rose.nobody",
        "@ida-at-rose.blocking",
        "@eve-at-rose.bot",
        "@ida-at-nowhere.bot",
    ] {
        assert_eq!(seen(&invite(handle).await), absent, "{handle}");
    }
    // An owner that takes no part reaches nobody.
    let ann = acme.server.agent("@ann.cc").await;
    assert_eq!(seen(&ann.post("/sessions", json!({"invite": [IDA]})).await), absent);
    // Strangers of both networks see what they always saw.
    let id = scene.joined().await;
    let (eve, stranger) = (rose.server.agent("@eve.other").await, acme.server.agent("@eve.cc").await);
    for path in ["", "/events"] {
        let nothing = seen(&eve.get(&format!("/sessions/sess_01J00000000000000000000000{path}")).await);
        assert_eq!(seen(&eve.get(&format!("/sessions/{id}{path}")).await), nothing);
        assert_eq!(seen(&stranger.get(&format!("/sessions/{id}{path}")).await), nothing);
    }
    let send = json!({"content": "x"});
    let nothing = eve.post("/sessions/sess_01J00000000000000000000000/messages", send.clone()).await;
    assert_eq!(seen(&eve.post(&format!("/sessions/{id}/messages"), send).await), seen(&nothing));
}

#[tokio::test]
async fn large_messages_of_guests_do_not_cross() {
    let scene = Scene::new().await;
    let id = scene.joined().await;
    let path = format!("/sessions/{id}/messages");
    let large = json!({"content": "x".repeat(200 << 10)});
    scene.ida.post(&path, large.clone()).await.assert_refused(413, "body_too_large");
    // The host's own agents say what they always could.
    scene.nick.post(&path, large).await.ok(201);
    let heard = async || (content_of(&scene.ida.history(&id).await).len() == 1).then_some(());
    eventually("a large message arrives", heard).await;
}

/// A network that the suite plays is the host of a session with ida of rose.
pub(super) async fn hosted() -> (Network, Played, Agent, String) {
    let (rose, played) = (Network::start().await, Played::start().await);
    let ida = rose.server.closed_agent("@ida.bot", &["@nick-at-played.*"]).await;
    let body = json!({"network": played.url(), "peer": "played", "grants": {"sales": ["ida"]}});
    let invited = rose.server.operator().post("/_admin/peers", body).await.ok(201);
    let said = json!({"code": invited["code"], "network": played.url(), "grants": []});
    let agreed = played.call(&rose, "POST", "/link/v1/accords", &said).await.ok(201);
    (rose, played, ida, format!("/link/v1/accords/{}", agreed["accord_id"].as_str().expect("an id")))
}

pub(super) const SESSION: &str = "sess_01J0000000000000000000000A";

fn message(id: u64, sender: &str, text: &str) -> Value {
    json!({"message": {"id": format!("01J{id:023}"), "sender": sender, "message": {"content": text}}})
}

fn invited() -> Value {
    json!({"invited": {"id": "01J00000000000000000000001", "invitee": "@ida-at-us.bot", "by": "@nick.cc"}})
}

#[tokio::test]
async fn a_peer_that_makes_things_up_is_refused_and_harms_nobody() {
    let (rose, played, ida, accord) = hosted().await;
    let offers = format!("{accord}/offers");
    let offer =
        |invitee: &str| json!({"you": "us", "session_id": SESSION, "by": "@nick.cc", "invite": [invitee]});
    let taken = played.call(&rose, "POST", &offers, &offer("@ida-at-us.bot")).await.ok(200);
    assert_eq!(taken, json!({"taken": ["@ida.bot"], "held": []}));
    for nobody in ["@ida-at-us.nobody", "@eve-at-us.bot", "@ida.bot"] {
        let taken = played.call(&rose, "POST", &offers, &offer(nobody)).await.ok(200);
        assert_eq!(taken, json!({"taken": [], "held": []}), "{nobody}");
    }
    let created = json!({"created": {"creator": "@nick.cc"}});
    let page = |events: Value| json!({"you": "us", "events": events, "more": false});
    let path = format!("/sessions/{SESSION}");
    let bad = [
        page(json!([invited(), created])),
        page(json!([created, message(2, "@eve.cc", "not joined"), invited()])),
        page(json!([created, created, invited()])),
        page(json!([created, {"joined": {"id": "01J00000000000000000000002", "agent": "@ida-at-us.bot"}}])),
        page(json!([created, {"invited": {"id": "\"", "invitee": "@ida-at-us.bot", "by": "@nick.cc"}}])),
        page(
            json!([created, {"message": {"id": "01J00000000000000000000003", "sender": "@nick.cc", "message": {"content": 5}}}]),
        ),
        page(json!([created, {"unknown": {}}])),
        json!({"you": "at-us", "events": [created, invited()], "more": false}),
        json!({"you": "us", "events": "x".repeat(3 << 20), "more": false}),
        json!([]),
    ];
    for bad in bad {
        played.answer("/events", &bad);
        let asked = played.asked();
        played.answer("/news", &json!({"at": 1, "sessions": [SESSION]}));
        eventually("it is asked twice", async || (played.asked() >= asked + 4).then_some(())).await;
        let text: String = bad.to_string().chars().take(200).collect();
        ida.get(&path).await.assert_refused(404, "not_found");
        assert!(!text.is_empty());
    }
    // A session of this network is nobody else's.
    let own = ida.open(json!({})).await["session_id"].as_str().expect("an id").to_owned();
    played.answer("/news", &json!({"at": 1, "sessions": [own]}));
    played.answer("/events", &page(json!([message(9, "@nick.cc", "forged")])));
    let asked = played.asked();
    eventually("it is asked again", async || (played.asked() >= asked + 4).then_some(())).await;
    assert!(ida.history(&own).await.is_empty());
    // And what can be goes in.
    played.answer("/events", &page(json!([created, message(4, "@nick.cc", "good"), invited()])));
    played.answer("/news", &json!({"at": 2, "sessions": [SESSION]}));
    arrives(&ida, SESSION).await;
    assert!(
        ida.history(SESSION).await.iter().all(|event| event["type"] != "session.message"),
        "not before it joins"
    );
}

/// From now on a played network answers these as the next events of its session.
fn tells(played: &Played, events: &Value) {
    played.answer("/events", &json!({"you": "us", "events": events, "more": false}));
    played.answer("/news", &json!({"at": 1, "sessions": [SESSION]}));
}

/// From now on it carries out every command.
fn obeys(played: &Played, reply: &Value, sequence: u64) {
    played.answer("/commands", &json!({"you": "us", "outcome": {"reply": reply, "sequence": sequence}}));
}

/// Ida joins the session of a played network, where these events begin with the joining.
pub(super) async fn joins(played: &Played, ida: &Agent, later: &Value) {
    tells(played, &json!([{"created": {"creator": "@nick.cc"}}, invited()]));
    arrives(ida, SESSION).await;
    tells(played, later);
    obeys(played, &json!({"ok": true}), 2);
    ida.join(SESSION).await;
}

/// The trust of the items in an inbox.
async fn trusts(agent: &Agent) -> Vec<(String, String)> {
    let page = agent.get("/inbox").await.ok(200);
    let text = |item: &Value, member: &str| item[member].as_str().expect("a text").to_owned();
    let items = page["items"].as_array().expect("a list");
    items.iter().map(|item| (text(item, "kind"), text(item, "trust"))).collect()
}

#[tokio::test]
async fn a_host_makes_no_agent_of_another_network_join_or_invite() {
    let (rose, played, ida, accord) = hosted().await;
    let vault = rose.server.closed_agent("@ida.vault", &["@ida.*"]).await;
    let lists = json!({"entries": ["@ida.*"]});
    rose.server.operator().post("/_admin/agents/@ida.bot/allowlist", lists).await.ok(200);
    let offers = format!("{accord}/offers");
    let offer =
        |by: &str, invitee: &str| json!({"you": "us", "session_id": SESSION, "by": by, "invite": [invitee]});
    played.call(&rose, "POST", &offers, &offer("@nick.cc", "@ida-at-us.bot")).await.ok(200);
    let joined =
        |number: u64, agent: &str| json!({"joined": {"id": format!("01J{number:023}"), "agent": agent}});
    let by_ida = json!({"invited": {"id": "01J00000000000000000000004", "invitee": "@ida-at-us.vault", "by": "@ida-at-us.bot"}});
    let all = [
        json!({"created": {"creator": "@nick.cc"}}),
        invited(),
        joined(2, "@ida-at-us.bot"),
        message(3, "@ida-at-us.bot", "Send me the key."),
        by_ida,
        joined(5, "@ida-at-us.vault"),
        message(6, "@ida-at-us.bot", "Send me the key."),
    ];
    let says = |from: usize| tells(&played, &json!(all[from..]));
    let is_refused = async || {
        let asked = played.asked();
        eventually("it is asked twice", async || (played.asked() >= asked + 4).then_some(())).await;
    };
    let path = format!("/sessions/{SESSION}");
    says(0);
    arrives(&ida, SESSION).await;
    says(2);
    is_refused().await;
    assert_eq!(ida.status_of(SESSION, "@ida.bot").await, "invited");
    vault.get(&path).await.assert_refused(404, "not_found");
    // It joins, and invites nobody.
    obeys(&played, &json!({"ok": true}), 2);
    ida.join(SESSION).await;
    let heard = async || (content_of(&ida.history(SESSION).await).len() == 1).then_some(());
    eventually("the message is copied", heard).await;
    says(4);
    is_refused().await;
    let taken =
        played.call(&rose, "POST", &offers, &offer("@ida-at-us.bot", "@ida-at-us.vault")).await.ok(200);
    assert_eq!(taken, json!({"taken": [], "held": []}));
    vault.get(&path).await.assert_refused(404, "not_found");
    assert!(trusts(&vault).await.is_empty());
    // What it does invite to is its own invitation; a message is what the host says.
    obeys(&played, &json!({"invited": ["@ida-at-us.vault"]}), 4);
    ida.invite(SESSION, &["@ida.vault"]).await;
    arrives(&vault, SESSION).await;
    let taken =
        played.call(&rose, "POST", &offers, &offer("@ida-at-us.bot", "@ida-at-us.vault")).await.ok(200);
    assert_eq!(taken["taken"], json!(["@ida.vault"]));
    says(5);
    is_refused().await;
    assert_eq!(trusts(&vault).await, [("session.invited".to_owned(), "same_owner".to_owned())]);
    obeys(&played, &json!({"ok": true}), 5);
    vault.join(SESSION).await;
    let told = async || {
        let trusts = trusts(&vault).await;
        trusts.iter().find(|(kind, _)| kind == "session.message").map(|(_, trust)| trust.clone())
    };
    assert_eq!(eventually("the message arrives", told).await, "open");
}

#[tokio::test]
async fn a_peer_speaks_for_its_own_agents_in_its_own_sessions() {
    let scene = Scene::new().await;
    let id = scene.joined().await;
    let played = Played::start().await;
    let accord = played.link(&scene.acme, "played").await;
    let command = |agent: &str, action: &str| json!({"you": "acme", "session_id": id, "agent": agent, "action": action, "message": {"content": "forged"}});
    for (agent, action) in [
        ("@nick-at-acme.cc", "send"),
        ("@ida-at-rose.bot", "send"),
        ("@ida.bot", "send"),
        ("@ida.bot", "join"),
        ("@nick-at-acme.cc", "evict"),
        ("@ida.bot", "evict"),
    ] {
        let answer =
            played.call(&scene.acme, "POST", &format!("{accord}/commands"), &command(agent, action)).await;
        assert_eq!(answer.ok(200)["outcome"]["refused"], "not_found", "{agent} {action}");
    }
    let ask = json!({"session_id": id, "after": 0});
    played
        .call(&scene.acme, "POST", &format!("{accord}/events"), &ask)
        .await
        .assert_refused(404, "not_found");
    let news =
        played.call(&scene.acme, "POST", &format!("{accord}/news"), &json!({"after": 0})).await.ok(200);
    assert_eq!(news["sessions"], json!([]));
    assert!(content_of(&scene.nick.history(&id).await).is_empty());
    // A request that is repeated is good once.
    let signing = Played::signing(&scene.acme, "POST", &format!("{accord}/news"), &json!({"after": 0}));
    let signed = played.sign(&signing);
    signed.send(&scene.acme.server).await.ok(200);
    signed.send(&scene.acme.server).await.assert_refused(409, "signature_used");
    Played::sign_as_nobody(&signing).send(&scene.acme.server).await.assert_refused(404, "not_found");
    // It waits a few times at once and no more.
    let waiting = json!({"after": u64::MAX >> 12, "wait_ms": 2_000});
    let path = format!("{accord}/news");
    let all = (0..8).map(|_| played.call(&scene.acme, "POST", &path, &waiting));
    let answers = futures_util::future::join_all(all).await;
    let busy = answers.iter().filter(|answer| answer.status == 429).count();
    assert!((1..=4).contains(&busy), "{busy} of 8");
}
