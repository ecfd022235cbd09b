//! Frames under an accord: from an agent of one network to sessions of another, for owners that both sides named and agents that list
//! the sender; and nothing else.

use std::time::{Duration, Instant};

use blackbox::{Agent, Response, eventually};
use serde_json::{Value, json};

use super::{Network, played::Played};
use crate::frames::speak::{Field, advisory, before_fence, id_of, refused, submit_to, subscribe, tell};

const SCOPE: &str = "accord:rose/grant:sales";

/// Two networks with an accord: `@nick.cc` of acme takes part, and so does the owner `ida` of rose, under `sales`.
struct Scene {
    acme: Network,
    rose: Network,
    nick: Agent,
}

impl Scene {
    async fn new() -> Self {
        let (acme, rose) = (Network::start().await, Network::start().await);
        let nick = acme.server.agent("@nick.cc").await;
        acme.server.agent("@other.cc").await;
        rose.server.agent("@ida.open").await;
        let body = json!({"network": rose.url(), "peer": "rose", "grants": {"team": ["nick"]}});
        let invited = acme.server.operator().post("/_admin/peers", body).await.ok(201);
        let body = json!({"network": acme.url(), "peer": "acme", "code": invited["code"], "grants": {"sales": ["ida"]}});
        rose.server.operator().post("/_admin/peers/accept", body).await.ok(201);
        Self { acme, rose, nick }
    }

    async fn send(&self, text: &str) -> Response {
        submit_to(&self.nick, SCOPE, &advisory(&self.nick, "~rose", text)).await
    }
}

fn unauthorised(answer: &Response) {
    refused(answer, 403, "scope-unauthorised", Field::Any);
}

#[tokio::test]
async fn fo_50_a_frame_crosses_for_agents_that_list_its_sender() {
    let scene = Scene::new().await;
    let rose = &scene.rose.server;
    let listing = rose.closed_agent("@ida.listing", &["@nick-at-acme.cc"]).await;
    let of_owner = rose.closed_agent("@ida.glob", &["@nick-at-acme.*"]).await;
    let open = rose.agent("@ida.second").await;
    let blocking = rose.closed_agent("@ida.blocking", &["@nick-at-acme.*"]).await;
    rose.block(&blocking, "@nick-at-acme.cc").await;
    let elsewhere = rose.closed_agent("@eve.bot", &["@nick-at-acme.*"]).await;
    let (mut first, mut second) = (subscribe(&listing).await, subscribe(&of_owner).await);
    let mut others = Vec::new();
    for agent in [&open, &blocking, &elsewhere] {
        others.push((agent, subscribe(agent).await));
    }
    assert_eq!(tell(&scene.nick, "~rose", SCOPE, "across").await, 2);
    for stream in [&mut first, &mut second] {
        let frame = stream.event().await.frame;
        assert_eq!(frame["payload"], json!({"advisory_text": "across"}));
        for (member, name) in
            [("sender_handle", "~nick-at-acme"), ("acted_by", "~nick-at-acme"), ("recipient_handle", "~ida")]
        {
            assert_eq!(frame[member], name, "{frame}");
        }
    }
    for (agent, mut stream) in others {
        // The fences of the others are for all agents of the owner.
        let came = before_fence(agent, agent, &mut stream).await;
        assert!(came.iter().all(|text| text == "fence"), "{}: {came:?}", agent.handle);
    }
    let inbox = listing.get("/inbox").await.ok(200).to_string();
    assert!(inbox.contains("@nick-at-acme.cc"), "{inbox}");
}

#[tokio::test]
async fn fo_51_without_accord_grant_or_leave_nothing_crosses_and_nobody_can_tell_why() {
    let scene = Scene::new().await;
    let (acme, rose) = (&scene.acme.server, &scene.rose.server);
    unauthorised(&scene.send("nobody lists it").await);
    let ida = rose.closed_agent("@ida.bot", &["@nick-at-acme.*", "@other-at-acme.*"]).await;
    let mut stream = subscribe(&ida).await;
    let other = acme.agent("@other.second").await;
    let no_grant = submit_to(&other, SCOPE, &advisory(&other, "~rose", "its owner takes no part")).await;
    unauthorised(&no_grant);
    for scope in ["accord:rose/grant:other", "accord:rose/grant:a.b", "accord:nobody/grant:sales"] {
        let peer = scope.split([':', '/']).nth(1).expect("a peer");
        let frame = advisory(&scene.nick, &format!("~{peer}"), "no such grant");
        let answer = submit_to(&scene.nick, scope, &frame).await;
        assert_eq!((answer.status, answer.text()), (no_grant.status, no_grant.text()));
    }
    let astray = advisory(&scene.nick, "~ida", "to somebody else");
    unauthorised(&submit_to(&scene.nick, SCOPE, &astray).await);
    assert_eq!(scene.send("heard").await.ok(200)["delivered_count"], 1);
    assert_eq!(stream.event().await.frame["payload"]["advisory_text"], "heard");
}

#[tokio::test]
async fn a_frame_crosses_no_more_when_either_side_revokes() {
    for own_side in [true, false] {
        let scene = Scene::new().await;
        let ida = scene.rose.server.closed_agent("@ida.bot", &["@nick-at-acme.*"]).await;
        let mut stream = subscribe(&ida).await;
        scene.send("before").await.ok(200);
        assert_eq!(stream.event().await.frame["payload"]["advisory_text"], "before");
        if own_side {
            scene.acme.revoke("rose").await;
        } else {
            scene.rose.revoke("acme").await;
        }
        unauthorised(&scene.send("after").await);
        assert!(before_fence(&ida, &ida, &mut stream).await.is_empty());
    }
}

#[tokio::test]
async fn a_peer_that_is_away_is_said_to_be_and_the_frame_does_not_come_later() {
    let mut scene = Scene::new().await;
    let ida = scene.rose.server.closed_agent("@ida.bot", &["@nick-at-acme.*"]).await;
    scene.rose.relay.cut();
    refused(&scene.send("lost").await, 503, "unavailable", Field::Any);
    scene.rose.crash().await;
    let ida = ida.at(&scene.rose.server);
    let mut stream = subscribe(&ida).await;
    let sent = async || (scene.send("heard").await.status == 200).then_some(());
    eventually("the peer is back", sent).await;
    assert_eq!(stream.event().await.frame["payload"]["advisory_text"], "heard");
}

/// A network that the suite plays, as the peer of acme, where an agent of each of these owners takes part; the path of the accord.
async fn with_played(acme: &Network, played: &Played, owners: &[&str]) -> (Vec<Agent>, String) {
    let agents = owners.iter().map(async |owner| acme.server.agent(&format!("@{owner}.cc")).await);
    let agents = futures_util::future::join_all(agents).await;
    let body = json!({"network": played.url(), "peer": "played", "grants": {"team": owners}});
    let invited = acme.server.operator().post("/_admin/peers", body).await.ok(201);
    let said = json!({"code": invited["code"], "network": played.url(), "grants": ["sales"]});
    let agreed = played.call(acme, "POST", "/link/v1/accords", &said).await.ok(201);
    (agents, format!("/link/v1/accords/{}", agreed["accord_id"].as_str().expect("an id")))
}

#[tokio::test]
async fn a_frame_under_way_ends_with_the_accord_whichever_side_revokes() {
    for own_side in [true, false] {
        let (acme, played) = (Network::start().await, Played::start().await);
        let (agents, accord) = with_played(&acme, &played, &["nick"]).await;
        let nick = &agents[0];
        played.stall();
        let asked = played.asked();
        let frame = advisory(nick, "~played", "under way");
        let sent = submit_to(nick, "accord:played/grant:sales", &frame);
        let revoked = async {
            let under_way = async || (played.asked() > asked).then_some(());
            eventually("the frame is under way", under_way).await;
            if own_side {
                acme.revoke("played").await;
            } else {
                played.call(&acme, "POST", &format!("{accord}/revoke"), &Value::Null).await.ok(204);
            }
            Instant::now()
        };
        let (answer, at) = tokio::join!(async { (sent.await, Instant::now()) }, revoked);
        unauthorised(&answer.0);
        assert!(
            answer.1.saturating_duration_since(at) < Duration::from_secs(1),
            "long before it would time out"
        );
    }
}

#[tokio::test]
async fn a_peer_that_says_nothing_takes_a_share_and_holds_up_no_other() {
    let (acme, slow, rose) = (Network::start().await, Played::start().await, Network::start().await);
    let (agents, _) = with_played(&acme, &slow, &["o1", "o2", "o3", "o4", "o5"]).await;
    rose.server.closed_agent("@ida.bot", &["@ann-at-acme.*"]).await;
    let ann = acme.server.agent("@ann.cc").await;
    let body = json!({"network": rose.url(), "peer": "rose", "grants": {"team": ["ann"]}});
    let invited = acme.server.operator().post("/_admin/peers", body).await.ok(201);
    let body =
        json!({"network": acme.url(), "peer": "acme", "code": invited["code"], "grants": {"sales": ["ida"]}});
    rose.server.operator().post("/_admin/peers/accept", body).await.ok(201);
    slow.stall();
    let before = slow.asked();
    let submit = async |agent: &Agent| {
        submit_to(agent, "accord:played/grant:sales", &advisory(agent, "~played", "lost")).await
    };
    // 16 of one owner, then 64 to one peer.
    let first = (0..20).map(|_| submit(&agents[0]));
    let under_way = async |count: usize| {
        let asked = async || (slow.asked() >= before + count).then_some(());
        eventually("the share is under way", asked).await;
    };
    let rest = async {
        under_way(16).await;
        let others = agents[1..].iter().flat_map(|agent| std::iter::repeat_n(agent, 13));
        futures_util::future::join_all(others.map(&submit)).await
    };
    let others = async {
        under_way(64).await;
        let begun = Instant::now();
        submit_to(&ann, SCOPE, &advisory(&ann, "~rose", "across")).await.ok(200);
        assert!(begun.elapsed() < Duration::from_secs(2), "it did not wait for the slow one");
    };
    let (first, rest, ()) = tokio::join!(futures_util::future::join_all(first), rest, others);
    let with = |answers: &[Response], status| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((with(&first, 503), with(&first, 429)), (16, 4), "{first:?}");
    assert_eq!((with(&rest, 503), with(&rest, 429)), (48, 4), "{rest:?}");
}

#[tokio::test]
async fn a_network_speaks_for_its_own_agents_alone() {
    let (acme, played) = (Network::start().await, Played::start().await);
    let ida = acme.server.closed_agent("@ida.bot", &["@nick-at-played.*"]).await;
    let body = json!({"network": played.url(), "peer": "played", "grants": {"sales": ["ida"]}});
    let invited = acme.server.operator().post("/_admin/peers", body).await.ok(201);
    let said = json!({"code": invited["code"], "network": played.url(), "grants": []});
    let agreed = played.call(&acme, "POST", "/link/v1/accords", &said).await.ok(201);
    assert_eq!(agreed["grants"], json!(["sales"]));
    let path = format!("/link/v1/accords/{}/frames", agreed["accord_id"].as_str().expect("an id"));
    let mut stream = subscribe(&ida).await;
    let nick = Agent::new("@nick.cc", acme.server.address().clone(), "pla_none");
    let frame = advisory(&nick, "~acme", "hello");
    let good = json!({"grant": "sales", "agent": "@nick.cc", "tool": "cc", "frame": frame});
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    let framed = |name: &str, value: Value| {
        let mut changed = frame.clone();
        changed[name] = value;
        with("frame", changed)
    };
    for (body, status, code) in [
        (with("agent", json!("@ida.bot")), 400, "invalid_frame"),
        (with("agent", json!("@nick-at-rose.cc")), 400, "invalid_frame"),
        (framed("sender_handle", json!("~ida")), 400, "invalid_frame"),
        (framed("acted_by", json!("~ida")), 400, "invalid_frame"),
        (framed("kind", json!("agent_memo")), 400, "invalid_frame"),
        (framed("x", json!(1)), 400, "invalid_frame"),
        (with("frame", json!([])), 400, "invalid_frame"),
        (with("tool", json!("No Tool")), 400, "invalid_frame"),
        (with("agent", json!("nobody")), 400, "invalid_body"),
        (with("grant", json!("other")), 403, "not_granted"),
        (with("grant", json!("No Grant")), 403, "not_granted"),
    ] {
        played.call(&acme, "POST", &path, &body).await.assert_refused(status, code);
    }
    let other = advisory(&Agent::new("@eve.cc", acme.server.address().clone(), "pla_none"), "~acme", "hello");
    let unlisted = json!({"grant": "sales", "agent": "@eve.cc", "tool": "cc", "frame": other});
    played.call(&acme, "POST", &path, &unlisted).await.assert_refused(403, "not_granted");
    // Nobody here can take the name of somebody there.
    for (path, body) in [
        ("/_admin/owners", json!({"owner": "nick-at-played"})),
        ("/_admin/agents", json!({"handle": "@nick-at-played.cc"})),
    ] {
        acme.server.operator().post(path, body).await.assert_refused(400, "invalid_owner");
    }
    acme.server
        .operator()
        .put("/_admin/orgs/nick-at-played", json!({}))
        .await
        .assert_refused(400, "invalid_owner");
    assert_eq!(played.call(&acme, "POST", &path, &good).await.ok(200), json!({"count": 1}));
    let heard = stream.event().await;
    assert_eq!(heard.frame_id(), id_of(&frame));
    assert_eq!(heard.frame["sender_handle"], "~nick-at-played");
}
