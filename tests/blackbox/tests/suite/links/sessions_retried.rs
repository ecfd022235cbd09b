//! What crosses with sessions although a request of the home was lost or its answer was not usable, and what a long name or a
//! third network does to it.
//! Must not know: how anything of it is kept.

use blackbox::{Agent, content_of, eventually};
use serde_json::{Value, json};

use super::{
    Network,
    played::Played,
    sessions::{IDA, Scene, arrives, sees},
    sessions_refused::{SESSION, hosted, joins},
};

/// From now on a played network has no news, and these as the next events of its session.
fn tells_when_asked(played: &Played, events: &Value) {
    played.answer("/news", &json!({"at": 2, "sessions": []}));
    played.answer("/events", &json!({"you": "us", "events": events, "more": false}));
}

async fn behind(network: &Network, peer: &str, count: u64) {
    let is_so = async || (network.peer(peer).await["sessions_behind"] == count).then_some(());
    eventually(&format!("{count} sessions are behind"), is_so).await;
}

/// A played host in whose session ida of rose is joined, and which is up to date.
async fn joined() -> (Network, Played, Agent) {
    let (rose, played, ida, accord) = hosted().await;
    let offer = json!({"you": "us", "session_id": SESSION, "by": "@nick.cc", "invite": ["@ida-at-us.bot"]});
    played.call(&rose, "POST", &format!("{accord}/offers"), &offer).await.ok(200);
    let joined = json!([{"joined": {"id": "01J00000000000000000000002", "agent": "@ida-at-us.bot"}}]);
    joins(&played, &ida, &joined).await;
    tells_when_asked(&played, &json!([]));
    behind(&rose, "played", 0).await;
    (rose, played, ida)
}

#[tokio::test]
async fn a_session_whose_events_were_not_usable_once_catches_up_without_further_news() {
    let (rose, played, ida) = joined().await;
    played.answer("/events", &json!({"you": "us"}));
    played.answer("/news", &json!({"at": 3, "sessions": [SESSION]}));
    behind(&rose, "played", 1).await;
    let late =
        json!({"id": "01J00000000000000000000003", "sender": "@nick.cc", "message": {"content": "late"}});
    tells_when_asked(&played, &json!([{"message": late}]));
    let heard = async || (content_of(&ida.history(SESSION).await) == ["late"]).then_some(());
    eventually("the message is copied", heard).await;
    behind(&rose, "played", 0).await;
}

#[tokio::test]
async fn a_block_is_carried_out_although_the_request_to_the_host_was_lost() {
    let (rose, played, ida) = joined().await;
    played.answer("/commands", &json!(null));
    rose.server.block(&ida, "@nick-at-played.cc").await;
    let asked = async || (played.heard("commands")?["action"] == "evict").then_some(());
    eventually("the host is asked", asked).await;
    behind(&rose, "played", 1).await;
    tells_when_asked(
        &played,
        &json!([{"left": {"id": "01J00000000000000000000003", "agent": "@nick.cc", "reason": "left"}}]),
    );
    played.answer("/commands", &json!({"you": "us", "outcome": {"reply": {"ok": true}, "sequence": 3}}));
    let left = async || (ida.status_of(SESSION, "@nick-at-played.cc").await == "left").then_some(());
    eventually("the blocked agent has left", left).await;
}

#[tokio::test]
async fn a_peer_that_names_sessions_that_it_never_offered_is_not_asked_for_them() {
    let (rose, played, ida) = joined().await;
    let lies: Vec<_> = (0..500).map(|nth| format!("sess_01J{nth:023}")).collect();
    played.answer("/news", &json!({"at": 3, "sessions": lies}));
    let asked = played.asked();
    eventually("it is asked for news", async || (played.asked() >= asked + 3).then_some(())).await;
    assert_eq!(played.heard("events").expect("events were asked for")["session_id"], SESSION);
    assert_eq!(rose.peer("played").await["sessions_behind"], 0);
    assert_eq!(ida.get("/sessions").await.ok(200)["sessions"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_person_declines_an_invitation_while_its_host_is_away_and_the_agent_leaves_when_it_is_back() {
    let scene = Scene::new().await;
    let operator = scene.rose.server.operator();
    operator.patch("/_admin/agents/@ida.bot", json!({"hold_invitations": true})).await.ok(200);
    let rotated = operator.post_empty("/_admin/owners/ida/rotate-token").await.ok(200);
    let owner = scene.rose.server.bearer(rotated["token"].as_str().expect("a token"));
    let id = scene.opened().await;
    let request = eventually("the request is open", async || {
        let page = owner.get("/requests").await.ok(200);
        page["requests"].as_array()?.iter().find(|request| request["kind"] == "hold").cloned()
    })
    .await;
    scene.acme.relay.cut();
    let path = format!("/requests/{}/answer", request["request_id"].as_str().expect("an id"));
    owner.post(&path, json!({"type": "ignore", "version": request["version"]})).await.ok(200);
    scene.rose.server.wait_for_log("a command was not taken by the peer whose session it is").await;
    scene.acme.relay.point_at(&scene.acme.server);
    let left = async || (scene.nick.status_of(&id, IDA).await == "left").then_some(());
    eventually("it has left", left).await;
}

/// The name of nick's owner fits at acme, and `OWNER-at-acme` would be too long at rose.
#[tokio::test]
async fn a_participant_whose_name_is_too_long_in_the_other_network_has_a_stand_in_there() {
    let scene = Scene::new().await;
    let id = scene.joined().await;
    let long = scene.acme.server.agent(&format!("@{}.cc", "x".repeat(64))).await;
    scene.nick.invite(&id, &[long.handle.as_str()]).await;
    long.join(&id).await;
    long.say(&id, "hello").await;
    scene.ida.say(&id, "who is it?").await;
    let all = scene.nick.history(&id).await;
    let copied = sees(&scene.ida, &id, all.len()).await;
    assert_eq!(content_of(&copied), ["hello", "who is it?"]);
    let message = copied.iter().find(|event| event["payload"]["content"] == "hello").expect("a message");
    let stand_in = message["payload"]["sender"].as_str().expect("a sender").to_owned();
    assert!(stand_in.starts_with("@long-") && stand_in.ends_with("-at-acme.cc"), "{stand_in}");
    scene.rose.server.block(&scene.ida, &stand_in).await;
    let left = async || (scene.nick.status_of(&id, long.handle.as_str()).await == "left").then_some(());
    eventually("who is blocked by its stand-in has left", left).await;
}

#[tokio::test]
async fn a_guest_blocks_a_guest_of_a_third_network() {
    let scene = Scene::new().await;
    let blue = Network::start().await;
    let zoe = blue.server.closed_agent("@zoe.bot", &["@nick-at-acme.*"]).await;
    let body = json!({"network": blue.url(), "peer": "blue", "grants": {"team": ["nick"]}});
    let invited = scene.acme.server.operator().post("/_admin/peers", body).await.ok(201);
    let body = json!({"network": scene.acme.url(), "peer": "acme", "code": invited["code"], "grants": {"sales": ["zoe"]}});
    blue.server.operator().post("/_admin/peers/accept", body).await.ok(201);
    let opened = scene.nick.open(json!({"invite": [IDA, "@zoe-at-blue.bot"]})).await;
    let id = opened["session_id"].as_str().expect("an id");
    for guest in [&scene.ida, &zoe] {
        arrives(guest, id).await;
        guest.join(id).await;
    }
    zoe.say(id, "hello").await;
    let heard = async || (content_of(&scene.ida.history(id).await) == ["hello"]).then_some(());
    eventually("the message is copied", heard).await;
    scene.rose.server.block(&scene.ida, "@zoe-at-blue-at-acme.bot").await;
    let left = async || (scene.nick.status_of(id, "@zoe-at-blue.bot").await == "left").then_some(());
    eventually("the blocked guest has left", left).await;
}
