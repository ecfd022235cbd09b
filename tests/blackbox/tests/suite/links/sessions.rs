//! Sessions across two networks: an agent of one is invited into a session of the other, and everything is at home for it as
//! always: inbox, history, WebSocket, commands.
//! Must not know: how anything of it is kept.

use std::time::Duration;

use blackbox::{Agent, Cli, content_of, eventually, eventually_within, kinds, sequences};
use serde_json::{Value, json};

use super::Network;

/// Two networks with an accord: `nick` of acme and `ida` of rose take part.
pub(super) struct Scene {
    pub(super) acme: Network,
    pub(super) rose: Network,
    pub(super) nick: Agent,
    pub(super) ida: Agent,
}

pub(super) const IDA: &str = "@ida-at-rose.bot";
pub(super) const NICK: &str = "@nick-at-acme.cc";

impl Scene {
    pub(super) async fn new() -> Self {
        let (acme, rose) = (Network::start().await, Network::start().await);
        let nick = acme.server.agent("@nick.cc").await;
        let ida = rose.server.closed_agent("@ida.bot", &["@nick-at-acme.*", "@ida.*"]).await;
        let scene = Self { acme, rose, nick, ida };
        scene.link().await;
        scene
    }

    pub(super) async fn link(&self) {
        let (acme, rose) = (&self.acme, &self.rose);
        let body = json!({"network": rose.url(), "peer": "rose", "grants": {"team": ["nick"]}});
        let invited = acme.server.operator().post("/_admin/peers", body).await.ok(201);
        let body = json!({"network": acme.url(), "peer": "acme", "code": invited["code"], "grants": {"sales": ["ida"]}});
        rose.server.operator().post("/_admin/peers/accept", body).await.ok(201);
    }

    /// A session of acme, to which ida is invited.
    pub(super) async fn opened(&self) -> String {
        let opened = self.nick.open(json!({"invite": [IDA], "topic": "The price list"})).await;
        opened["session_id"].as_str().expect("an id").to_owned()
    }

    /// The same, and ida has joined.
    pub(super) async fn joined(&self) -> String {
        let id = self.opened().await;
        arrives(&self.ida, &id).await;
        self.ida.join(&id).await;
        id
    }
}

/// Waits until an agent knows of a session.
pub(super) async fn arrives(agent: &Agent, id: &str) {
    let path = format!("/sessions/{id}");
    eventually("the session arrives", async || (agent.get(&path).await.status == 200).then_some(())).await;
}

/// Waits until an agent sees so many events; these.
pub(super) async fn sees(agent: &Agent, id: &str, count: usize) -> Vec<Value> {
    let look = async || Some(agent.history(id).await).filter(|events| events.len() >= count);
    eventually("the events arrive", look).await
}

fn senders(events: &[Value]) -> Vec<&str> {
    let messages = events.iter().filter(|event| event["type"] == "session.message");
    messages.map(|event| event["payload"]["sender"].as_str().expect("a sender")).collect()
}

#[tokio::test]
async fn two_agents_of_two_networks_talk_and_each_is_at_home() {
    let scene = Scene::new().await;
    let Scene { nick, ida, .. } = &scene;
    let id = scene.opened().await;
    arrives(ida, &id).await;
    let inbox = ida.get("/inbox").await.ok(200).to_string();
    assert!(inbox.contains(NICK) && inbox.contains("The price list"), "{inbox}");
    assert_eq!(kinds(&ida.history(&id).await), ["invited"]);
    let mut socket = ida.connect().await;
    ida.join(&id).await;
    let said = nick.say(&id, "Is it out?").await;
    let heard = socket.until_text("Is it out?").await;
    let last = heard.last().expect("a message");
    assert_eq!((&last["payload"]["sender"], &last["sequence"]), (&json!(NICK), &json!(said)));
    socket.wait_until_confirmed().await;
    let parts = json!([{"type": "text", "text": "Since "}, {"type": "data", "data": {"day": 1}}]);
    assert_eq!(ida.say(&id, parts.clone()).await, said + 1);
    let here = nick.history(&id).await;
    let there = sees(ida, &id, here.len()).await;
    assert_eq!((sequences(&here), kinds(&here)), (sequences(&there), kinds(&there)));
    assert_eq!(here.last().expect("a message")["payload"]["content"], parts);
    assert_eq!(here.last().expect("a message")["payload"]["sender"], IDA);
    assert_eq!(senders(&here), ["@nick.cc", IDA]);
    assert_eq!(senders(&there), [NICK, "@ida.bot"]);
    let list = ida.get("/sessions").await.ok(200).to_string();
    assert!(list.contains(&id), "{list}");
    socket.close().await;
    nick.say(&id, "while away").await;
    let mut socket = ida.connect().await;
    socket.until_text("while away").await;
    // The creator's owner pays for the whole copy.
    for network in [&scene.acme, &scene.rose] {
        let data = network.server.data().display().to_string();
        let checked = Cli::new(&[]).run(&["fsck", "--data", &data]).await;
        assert_eq!(checked.code, 0, "{checked:?}");
    }
}

/// The state of a message for its one recipient.
async fn state_of(agent: &Agent, id: &str, sequence: i64) -> String {
    let status = agent.get(&format!("/sessions/{id}/messages/{sequence}/status")).await.ok(200);
    let [recipient] = &status["recipients"].as_array().expect("recipients")[..] else { panic!("{status}") };
    recipient["state"].as_str().expect("a state").to_owned()
}

#[tokio::test]
async fn a_sender_learns_what_became_of_a_message_in_the_other_network() {
    let scene = Scene::new().await;
    let Scene { nick, ida, rose, .. } = &scene;
    let id = scene.joined().await;
    let said = nick.say(&id, "Is it out?").await;
    assert_eq!(state_of(nick, &id, said).await, "accepted");
    let mut socket = ida.connect().await;
    socket.until_text("Is it out?").await;
    socket.wait_until_confirmed().await;
    let delivered = async || (state_of(nick, &id, said).await == "delivered").then_some(());
    eventually("it is delivered", delivered).await;
    rose.relay.cut();
    assert_eq!(state_of(nick, &id, said).await, "accepted", "while nobody says more");
    let status = nick.get(&format!("/sessions/{id}/messages/{said}/status")).await.ok(200);
    assert_eq!(status["recipients"][0]["waiting"]["reason"], "peer_unreachable");
    rose.relay.point_at(&rose.server);
    let answer = ida.say(&id, "Since yesterday").await;
    assert_eq!(state_of(nick, &id, said).await, "answered");
    let mut socket = nick.connect().await;
    socket.until_text("Since yesterday").await;
    socket.wait_until_confirmed().await;
    let delivered = async || (state_of(ida, &id, answer).await == "delivered").then_some(());
    eventually("it is delivered to the host's agent", delivered).await;
}

#[tokio::test]
async fn a_guest_answers_what_was_sent_and_ended() {
    let scene = Scene::new().await;
    let Scene { nick, ida, acme, .. } = &scene;
    let lists = json!({"entries": ["@ida-at-rose.*"]});
    acme.server.operator().post("/_admin/agents/@nick.cc/allowlist", lists).await.ok(200);
    let body = json!({"invite": [IDA], "initial_message": {"content": "FYI"}, "end_after_send": true});
    let id = nick.open(body).await["session_id"].as_str().expect("an id").to_owned();
    arrives(ida, &id).await;
    let page = eventually("the message arrives", async || {
        Some(ida.get("/inbox").await.ok(200)).filter(|page| page["items"][0]["text"] == "FYI")
    })
    .await;
    assert_eq!(state_of(nick, &id, 1).await, "accepted");
    ida.post("/inbox/ack", json!({"cursor": page["cursor"]})).await.ok(200);
    assert_eq!(state_of(nick, &id, 1).await, "acknowledged");
    ida.reopen(&id, json!({"initial_message": {"content": "thanks"}})).await;
    nick.join(&id).await;
    assert_eq!(content_of(&nick.history(&id).await), ["FYI", "thanks"]);
    let both = async || (content_of(&ida.history(&id).await) == ["FYI", "thanks"]).then_some(());
    eventually("the answer is in the copy", both).await;
}

#[tokio::test]
async fn an_invitation_into_a_network_that_is_down_says_so_only_to_owners_of_the_accord() {
    let scene = Scene::new().await;
    let Scene { acme, rose, nick, .. } = &scene;
    let stranger = acme.server.agent("@pia.cc").await;
    rose.relay.cut();
    let body = json!({"invite": [IDA]});
    nick.post("/sessions", body.clone()).await.assert_refused(503, "peer_unreachable");
    stranger.post("/sessions", body.clone()).await.assert_refused(404, "not_found");
    let own = nick.open(json!({})).await;
    let path = format!("/sessions/{}/invite", own["session_id"].as_str().expect("an id"));
    nick.post(&path, body.clone()).await.assert_refused(503, "peer_unreachable");
    rose.relay.point_at(&rose.server);
    nick.post(&path, body).await.ok(200);
}

#[tokio::test]
async fn a_message_to_a_network_that_is_linked_no_more_says_why_it_waits() {
    let scene = Scene::new().await;
    let Scene { acme, nick, rose, .. } = &scene;
    let id = scene.joined().await;
    rose.relay.cut();
    let said = nick.say(&id, "Is it out?").await;
    acme.revoke("rose").await;
    let status = nick.get(&format!("/sessions/{id}/messages/{said}/status")).await.ok(200);
    assert_eq!(status["recipients"][0]["waiting"]["reason"], "peer_unreachable", "{status}");
}

#[tokio::test]
async fn a_retry_across_networks_is_one_message() {
    let scene = Scene::new().await;
    let id = scene.joined().await;
    let path = format!("/sessions/{id}/messages");
    let body = json!({"content": "once", "idempotency_key": "k"});
    let first = scene.ida.post(&path, body.clone()).await;
    let again = scene.ida.post(&path, body).await;
    assert_eq!((first.ok(201), again.is_replayed()), (again.ok(201), true));
    let other = json!({"content": "twice", "idempotency_key": "k"});
    scene.ida.post(&path, other).await.assert_refused(409, "idempotency_key_reused");
    assert_eq!(content_of(&scene.nick.history(&id).await), ["once"]);
}

#[tokio::test]
async fn whoever_leaves_or_is_blocked_hears_no_more() {
    let scene = Scene::new().await;
    let Scene { nick, ida, acme, rose } = &scene;
    let id = scene.joined().await;
    ida.leave(&id).await;
    assert_eq!(nick.status_of(&id, IDA).await, "left");
    ida.post(&format!("/sessions/{id}/messages"), json!({"content": "x"}))
        .await
        .assert_refused(409, "not_joined");
    // Its home gets no events after its leaving. A session in which nobody is joined has ended there too (ASP-23).
    let last = scene.joined().await;
    nick.leave(&last).await;
    ida.leave(&last).await;
    for agent in [nick, ida] {
        let has_ended = async || {
            let shown = agent.show(&last).await;
            let parts = shown["participants"].as_array()?.clone();
            let is_over = shown["state"] == "ended" && shown["ended_at"].is_u64();
            (is_over && parts.iter().all(|part| part["status"] == "left")).then_some(())
        };
        eventually("both networks show the end", has_ended).await;
    }
    let ended = scene.joined().await;
    nick.say(&ended, "before").await;
    sees(ida, &ended, 3).await;
    acme.server.block(nick, IDA).await;
    let left = async || (ida.status_of(&ended, "@ida.bot").await == "left").then_some(());
    eventually("it has left at home too", left).await;
    nick.post("/sessions", json!({"invite": [IDA]})).await.assert_refused(404, "not_found");
    // The other side blocks as well.
    let other = acme.server.agent("@nick.second").await;
    let third = other.open(json!({"invite": [IDA]})).await["session_id"].as_str().expect("an id").to_owned();
    arrives(ida, &third).await;
    ida.join(&third).await;
    rose.server.block(ida, "@nick-at-acme.second").await;
    let left = async || (other.status_of(&third, "@nick.second").await == "left").then_some(());
    eventually("the blocked has left", left).await;
}

#[tokio::test]
async fn a_guest_invites_reopens_and_ends_like_everybody() {
    let scene = Scene::new().await;
    let Scene { nick, ida, acme, rose } = &scene;
    let id = scene.joined().await;
    acme.server.closed_agent("@nick.second", &["@ida-at-rose.*"]).await;
    rose.server.closed_agent("@ida.second", &["@ida.*"]).await;
    let invited = ida.invite(&id, &["@nick-at-acme.second", "@ida.second"]).await;
    assert_eq!(invited, ["@nick-at-acme.second", "@ida.second"]);
    assert_eq!(nick.status_of(&id, "@ida-at-rose.second").await, "invited");
    ida.end(&id).await;
    assert_eq!(nick.show(&id).await["state"], "ended");
    ida.post(&format!("/sessions/{id}/messages"), json!({"content": "x"}))
        .await
        .assert_refused(409, "session_ended");
    nick.reopen(&id, json!({"initial_message": {"content": "again"}})).await;
    let back = async || (ida.status_of(&id, "@ida.bot").await == "invited").then_some(());
    eventually("ida is invited again", back).await;
    ida.join(&id).await;
    assert_eq!(content_of(&ida.history(&id).await), ["again"]);
}

#[tokio::test]
async fn an_accord_that_is_revoked_ends_what_it_carried_on_both_sides_within_a_second() {
    let scene = Scene::new().await;
    let Scene { nick, ida, acme, rose } = &scene;
    // Also under the second accord, and those after it.
    for own_side in [true, false, true, false] {
        let id = scene.joined().await;
        nick.say(&id, "before").await;
        sees(ida, &id, 3).await;
        if own_side {
            acme.revoke("rose").await;
        } else {
            rose.revoke("acme").await;
        }
        let soon = Duration::from_secs(1);
        let gone = async || (nick.status_of(&id, IDA).await == "left").then_some(());
        eventually_within(soon, "the guest has left", gone).await;
        let gone = async || (ida.status_of(&id, "@ida.bot").await == "left").then_some(());
        eventually_within(soon, "it has left at home", gone).await;
        for agent in [nick, ida] {
            let events = agent.history(&id).await;
            let last = events.iter().rfind(|event| event["type"] == "session.left").expect("a leaving");
            assert_eq!(last["payload"]["reason"], "accord_revoked", "{last}");
            assert_eq!(content_of(&events), ["before"], "history stays");
        }
        ida.post(&format!("/sessions/{id}/messages"), json!({"content": "x"}))
            .await
            .assert_refused(409, "not_joined");
        nick.post(&format!("/sessions/{id}/invite"), json!({"invite": [IDA]}))
            .await
            .assert_refused(404, "not_found");
        // Another accord carries other sessions.
        scene.link().await;
        let next = scene.joined().await;
        nick.say(&next, "anew").await;
        sees(ida, &next, 3).await;
        nick.end(&next).await;
    }
}
