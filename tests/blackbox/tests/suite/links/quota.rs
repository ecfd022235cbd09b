//! What a network stores here for the agents of another one: all of them share one quota, whatever room they write in, and no
//! owner of this network pays for them.
//! Must not know: how anything of it is kept.

use blackbox::{Agent, Cli, Response, eventually};
use serde_json::{Value, json};

use super::{
    CONFIG, Network,
    files::naming,
    sessions::{Scene, arrives, sees},
};
use crate::channels::channel;

const HELPER: &str = "[agents.helper]\nowner = \"nick\"\nkind = \"echo\"\n";

/// The networks, with this quota of peers at acme and at rose.
async fn scene(at_acme: &str, at_rose: &str) -> Scene {
    let config = |quota: &str| format!("{CONFIG}[quota]\n{quota}\n");
    let acme = Network::with(&format!("{}{HELPER}", config(at_acme))).await;
    let rose = Network::with(&config(at_rose)).await;
    let nick = acme.server.agent("@nick.cc").await;
    let ida = rose.server.closed_agent("@ida.bot", &["@nick-at-acme.*", "@ida.*"]).await;
    let scene = Scene { acme, rose, nick, ida };
    scene.link().await;
    scene
}

/// The bytes and events that a network stores for a peer.
async fn stored(network: &Network, peer: &str) -> (u64, u64) {
    let peer = network.peer(peer).await;
    let number = |member: &str| peer[member].as_u64().expect("a number");
    (number("stored_bytes"), number("stored_events"))
}

async fn used(agent: &Agent) -> u64 {
    agent.get("/usage").await.ok(200)["stored_bytes"].as_u64().expect("a number")
}

async fn assert_sound(network: &Network) {
    let data = network.server.data().display().to_string();
    let checked = Cli::new(&[]).run(&["fsck", "--data", &data]).await;
    assert_eq!(checked.code, 0, "{checked:?}");
}

fn package(by: &str, id: &str, text: &str) -> Value {
    json!({
        "package_id": id, "project_id": "prices", "relay_version": "0.1", "title": "The price list", "status": "complete",
        "package_type": "decision", "review_type": "none", "created_at": "2026-10-01T10:00:00Z",
        "created_by": {"id": by, "type": "agent"}, "content_md": text,
    })
}

/// One writing of a guest in each room: a channel, a package, a fact, a run.
async fn writings(guest: &Agent, channel: &str, nth: usize, text: &str) -> Vec<Response> {
    let by = guest.handle.replace(".", "-at-rose.");
    let fact = json!({"subject": "price", "predicate": format!("p{nth}"), "value": text});
    let note = json!({"kind": "comms", "payload": {"text": text}});
    let project = "/peers/acme/v1/projects/nick%3Aprices";
    vec![
        guest.post(&format!("/peers/acme/agent-channel/{channel}/event"), note).await,
        guest.post(&format!("{project}/packages"), package(&by, &format!("pkg_{nth}"), text)).await,
        guest.post(&format!("{project}/facts"), fact).await,
        guest.post("/peers/acme/agent/helper/run", json!({"input": text})).await,
    ]
}

#[tokio::test]
async fn a_peer_has_one_quota_for_all_its_agents_and_rooms() {
    const MAX: u64 = 60_000;
    let scene = scene(&format!("peer_stored_bytes_max = {MAX}"), "").await;
    let Scene { nick, ida, acme, rose } = &scene;
    for agent in ["@nick.cc", "@nick.helper"] {
        let path = format!("/_admin/agents/{agent}/allowlist");
        acme.server.operator().post(&path, json!({"entries": ["@ida-at-rose.*"]})).await.ok(200);
    }
    let second = rose.server.closed_agent("@ida.second", &["@nick-at-acme.*"]).await;
    nick.post("/v1/projects/prices/packages", package(&nick.handle, "pkg_0", "Two euros")).await.ok(201);
    let member = "/v1/projects/nick:prices/members/@ida-at-rose.*";
    acme.server.operator().put(member, json!({"role": "writer"})).await.ok(200);
    let (channel, id) = (channel(nick).await, scene.joined().await);
    let before = used(nick).await;
    let (_, events) = stored(acme, "rose").await;
    for response in writings(ida, &channel, 1, "Two euros").await {
        assert!((200..300).contains(&response.status), "{response}");
    }
    assert!(stored(acme, "rose").await.1 >= events + 4, "each counts");
    // A message fills what is left.
    let left = MAX - stored(acme, "rose").await.0;
    ida.say(&id, "x".repeat(usize::try_from(left).expect("it fits") - 1_000)).await;
    assert_eq!(used(nick).await, before, "no owner here pays");
    let filled = stored(acme, "rose").await;
    assert!((MAX - 1_000..=MAX).contains(&filled.0), "{filled:?}");
    let large = "x".repeat(2_000);
    for (nth, guest) in [(2, ida), (3, &second)] {
        for response in writings(guest, &channel, nth, &large).await {
            assert!(!(200..300).contains(&response.status), "{response}");
            assert!(response.status == 403 && response.text().contains("quota_exceeded"), "{response}");
            assert!(response.text().contains("peer_stored_bytes_max"), "{response}");
        }
    }
    let path = format!("/sessions/{id}/messages");
    ida.post(&path, json!({"content": large})).await.assert_refused(403, "quota_exceeded");
    assert_eq!(stored(acme, "rose").await.0, filled.0);
    let file = ida.upload_file("a.txt", large.as_bytes()).await;
    ida.post(&path, json!({"content": naming(&file)})).await.assert_refused(403, "quota_exceeded");
    // The host's own agents write on, the guest reads, leaves and hears.
    nick.say(&id, "still here").await;
    let seen = ida.get(&format!("/peers/acme/agent-channel/{channel}/events")).await;
    assert_eq!(seen.status, 200, "{seen}");
    ida.leave(&id).await;
    assert_sound(acme).await;
    assert_sound(rose).await;
}

/// A copy that has no room waits, and goes on once there is room; nothing is missing then.
#[tokio::test]
async fn the_copy_of_a_peers_session_counts_towards_the_peer() {
    const MAX: u64 = 20_000;
    let mut scene = scene("", &format!("peer_stored_bytes_max = {MAX}")).await;
    let id = scene.joined().await;
    let before = used(&scene.ida).await;
    scene.nick.say(&id, "x".repeat(10_000)).await;
    let known = sees(&scene.ida, &id, 3).await.len();
    scene.nick.say(&id, "y".repeat(5_000)).await;
    sees(&scene.ida, &id, known + 1).await;
    let waits = scene.nick.say(&id, "z".repeat(9_000)).await;
    let path = format!("/sessions/{id}/messages/{waits}/status");
    eventually("the sender learns why it waits", async || {
        let status = scene.nick.get(&path).await.ok(200);
        (status["recipients"][0]["waiting"]["reason"] == "peer_full").then_some(())
    })
    .await;
    scene.rose.server.wait_for_log("a peer stores as much here as it may").await;
    // Another network has room of its own.
    let blue = Network::start().await;
    let zoe = blue.server.agent("@zoe.bot").await;
    let body = json!({"network": blue.url(), "peer": "blue", "grants": {"team": ["ida"]}});
    let made = scene.rose.server.operator().post("/_admin/peers", body).await.ok(201);
    let body = json!({"network": scene.rose.url(), "peer": "rose", "code": made["code"], "grants": {"all": ["zoe"]}});
    blue.server.operator().post("/_admin/peers/accept", body).await.ok(201);
    let allowlist = "/_admin/agents/@ida.bot/allowlist";
    scene.rose.server.operator().post(allowlist, json!({"entries": ["@zoe-at-blue.*"]})).await.ok(200);
    let other: Value = zoe.open(json!({"invite": ["@ida-at-rose.bot"]})).await;
    arrives(&scene.ida, other["session_id"].as_str().expect("an id")).await;
    let (bytes, _) = stored(&scene.rose, "acme").await;
    assert!((15_000..=MAX).contains(&bytes), "{bytes}");
    assert_eq!(scene.rose.peer("acme").await["stored_bytes_max"], MAX);
    let operator = scene.rose.server.operator();
    let cli = Cli::new(&[
        ("PLENARY_URL", &scene.rose.server.url()),
        ("PLENARY_OPERATOR_TOKEN", operator.token()),
        ("COLUMNS", "300"),
    ]);
    let listed = cli.run_ok(&["peer", "list"]).await;
    assert!(listed.contains("KiB of 19 KiB"), "{listed}");
    // However often the copy is tried again.
    let said = scene.rose.server.log_text().matches("a peer stores as much here as it may").count();
    assert_eq!(said, 1);
    assert_eq!(scene.ida.history(&id).await.len(), known + 1);
    assert_eq!(used(&scene.ida).await, before, "no owner here pays");
    assert_sound(&scene.rose).await;

    scene.rose.server.stop().await;
    let data = scene.rose.server.data().to_owned();
    let server = blackbox::Server::builder()
        .config(CONFIG)
        .arg("--public-url")
        .arg(&scene.rose.url())
        .data(&data)
        .start()
        .await;
    scene.rose.relay.point_at(&server);
    let ida = scene.ida.at(&server);
    assert_eq!(sees(&ida, &id, known + 2).await.len(), known + 2);
    let status = scene.nick.get(&path).await.ok(200);
    assert_ne!(status["recipients"][0]["waiting"]["reason"], "peer_full", "{status}");
}
