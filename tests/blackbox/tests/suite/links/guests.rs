//! Channels, projects and runs across two networks: an agent uses them where they began, through its own network.
//! Must not know: how a request crosses.

use std::time::Duration;

use blackbox::{Agent, Caller, Response, eventually_within, in_time};
use serde_json::{Value, json};

use super::{
    Network,
    played::Played,
    sessions::{IDA, Scene},
};
use crate::{
    channels::{append, channel, link},
    sse::{Sent, Stream},
};

/// The path at rose of a path at acme.
fn there(path: &str) -> String {
    format!("/peers/acme{path}")
}

async fn lists(network: &Network, agent: &str, entry: &str) {
    let path = format!("/_admin/agents/{agent}/allowlist");
    network.server.operator().post(&path, json!({"entries": [entry]})).await.ok(200);
}

/// The refusal of a thing that does not exist, which every stranger gets.
fn absent(response: &Response) {
    assert_eq!(response.status, 404, "{response}");
}

#[tokio::test]
async fn a_channel_is_used_from_another_network_by_whom_its_creator_lists() {
    let Scene { acme, rose, nick, ida } = &Scene::new().await;
    let eve = rose.server.agent("@eve.bot").await;
    let id = channel(nick).await;
    let path = there(&format!("/agent-channel/{id}"));
    // As absent as one that does not exist, although the creator's policy is open.
    let unknown = ida.get(&there("/agent-channel/ZZZZ")).await;
    let unlisted = ida.get(&path).await;
    absent(&unlisted);
    assert_eq!(unlisted.text().replace(&id, "ZZZZ"), unknown.text());
    lists(acme, "@nick.cc", "@ida-at-rose.*").await;
    let seen = ida.get(&path).await.ok(200);
    assert_eq!(seen["channel"]["id"], id.as_str());
    let said = json!({"kind": "comms", "payload": {"text": "From rose"}});
    let made = ida.post(&format!("{path}/event"), said).await.ok(200);
    assert_eq!((&made["author"], &made["via"]), (&json!(IDA), &json!(IDA)));
    let here = nick.get(&format!("/agent-channel/{id}/events")).await.ok(200).to_string();
    assert!(here.contains("From rose"), "{here}");
    // The other direction, live.
    let mut stream = Stream::open(ida, &format!("{path}/events/stream"), &[]).await;
    assert!(matches!(stream.next().await, Sent::Id(_)));
    let made = append(nick, &id, "comms", json!({"text": "From acme"})).await;
    assert_eq!(stream.event().await, made);
    // An owner that takes no part is a stranger at home.
    absent(&eve.get(&path).await);
    acme.server.block(nick, IDA).await;
    absent(&ida.get(&path).await);
    in_time("a blocked guest hears nothing more", stream.ending()).await;
}

#[tokio::test]
async fn the_link_of_a_channel_is_enough_but_only_of_an_owner_that_takes_part() {
    let Scene { acme, nick, ida, .. } = &Scene::new().await;
    let ann = acme.server.agent("@ann.cc").await;
    for (creator, status) in [(nick, 200), (&ann, 404)] {
        let id = channel(creator).await;
        let found = ida.get(&there(&link(creator, &id).await)).await;
        assert_eq!(found.status, status, "{found}");
        // A guest shows the key each time.
        absent(&ida.get(&there(&format!("/agent-channel/{id}"))).await);
    }
}

fn package(by: &str, id: &str, project: &str) -> Value {
    json!({
        "package_id": id, "project_id": project, "relay_version": "0.1", "title": "The price list", "status": "complete",
        "package_type": "decision", "review_type": "none", "created_at": "2026-10-01T10:00:00Z",
        "created_by": {"id": by, "type": "agent"}, "content_md": "Two euros and 1.50 more",
    })
}

async fn share(owner: &str, network: &Network, member: &str, role: &str) {
    let path = format!("/v1/projects/{owner}:prices/members/{member}");
    network.server.operator().put(&path, json!({"role": role})).await.ok(200);
}

#[tokio::test]
async fn packages_and_facts_cross_in_both_directions_with_their_hashes() {
    let Scene { acme, rose, nick, ida } = &Scene::new().await;
    let ann = acme.server.agent("@ann.cc").await;
    for (who, by) in [(nick, "@nick.cc"), (&ann, "@ann.cc")] {
        who.post("/v1/projects/prices/packages", package(by, "pkg_1", "prices")).await.ok(201);
    }
    let packages = there("/v1/projects/nick%3Aprices/packages");
    absent(&ida.get(&packages).await);
    share("nick", acme, "@ida-at-rose.*", "writer").await;
    // Ann takes no part in the accord: what she shares does not cross.
    share("ann", acme, "@ida-at-rose.*", "writer").await;
    let apart = ida.get(&there("/v1/projects/ann%3Aprices/packages")).await;
    let unknown = ida.get(&there("/v1/projects/nick%3Aunknown/packages")).await;
    absent(&apart);
    assert_eq!(apart.text(), unknown.text());
    absent(&ida.get(&there("/v1/projects/prices/packages")).await);
    let read = ida.get(&there("/v1/packages/pkg_1?project=nick:prices")).await;
    let home = nick.get("/v1/packages/pkg_1?project=prices").await;
    assert_eq!(read.header("x-content-hash"), home.header("x-content-hash"));
    assert_eq!(read.ok(200), home.ok(200));
    // In her own name there, and in nobody else's.
    let deposit = ida.post(&packages, package(IDA, "pkg_2", "prices")).await;
    let deposited = deposit.ok(201);
    assert_eq!(deposited["created_by"]["id"], IDA);
    for by in ["@nick.cc", "nick", "@ida.bot", "bot"] {
        let refused = ida.post(&packages, package(by, "pkg_3", "prices")).await;
        assert_eq!(refused.status, 403, "{by}: {refused}");
    }
    let seen = nick.get("/v1/packages/pkg_2?project=prices").await.ok(200);
    assert_eq!(seen["content_hash"], deposited["content_hash"]);
    let fact = json!({"subject": "price", "predicate": "is", "value": "2"});
    ida.post(&there("/v1/projects/nick%3Aprices/facts"), fact).await.ok(201);
    let facts = nick.get("/v1/projects/prices/facts").await.ok(200).to_string();
    assert!(facts.contains(IDA), "{facts}");
    // The whole project comes home, and each package keeps its hash.
    let export = ida.get(&there("/v1/projects/nick%3Aprices/export")).await;
    assert_eq!(export.status, 200, "{export}");
    let lines: Vec<Value> =
        export.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.last().expect("an end")["record"], "end");
    let operator = rose.server.operator();
    let request = operator.request(
        "POST",
        "/v1/import?into=ida:prices",
        &[("Content-Type", "application/x-ndjson")],
        Some(export.text().as_bytes()),
    );
    operator.bytes(&request).await.ok(200);
    let kept = operator.get("/v1/packages/pkg_2?project=ida:prices").await.ok(200);
    assert_eq!(kept["content_hash"], deposited["content_hash"]);
}

const HELPER: &str = "[links]\nprivate_addresses = true\n\
    [agents.helper]\nowner = \"nick\"\nkind = \"echo\"\npolicy = \"open\"\n\
    [agents.other]\nowner = \"ann\"\nkind = \"echo\"\npolicy = \"open\"\n";

#[tokio::test]
async fn an_agent_runs_one_of_another_network_that_lists_it() {
    let (acme, rose) = (Network::with(HELPER).await, Network::start().await);
    acme.server.agent("@nick.cc").await;
    let (ida, ivo) = (rose.server.agent("@ida.bot").await, rose.server.agent("@ida.ivo").await);
    let body = json!({"network": rose.url(), "peer": "rose", "grants": {"team": ["nick"]}});
    let invited = acme.server.operator().post("/_admin/peers", body).await.ok(201);
    let body =
        json!({"network": acme.url(), "peer": "acme", "code": invited["code"], "grants": {"sales": ["ida"]}});
    rose.server.operator().post("/_admin/peers/accept", body).await.ok(201);
    let run = there("/agent/helper/run?wait=result");
    let asked = json!({"input": "How much?"});
    // An open policy covers agents of its own network.
    absent(&ida.post(&run, asked.clone()).await);
    lists(&acme, "@nick.helper", "@ida-at-rose.bot").await;
    lists(&acme, "@ann.other", "@ida-at-rose.bot").await;
    let answer = ida.post(&run, asked.clone()).await;
    assert_eq!(answer.status, 200, "{answer}");
    assert_eq!(answer.json()["result"], "How much?", "{answer}");
    absent(&ida.post(&there("/agent/other/run?wait=result"), asked.clone()).await);
    absent(&ivo.post(&run, asked.clone()).await);
    let begun = ida.post(&there("/agent/helper/run"), asked).await;
    assert_eq!(begun.status, 202, "{begun}");
    let location = begun.header("location").expect("where the run is").to_owned();
    assert!(location.starts_with("/peers/acme/agent/helper/runs/"), "{location}");
    eventually_within(Duration::from_secs(10), "the run is over", async || {
        let seen = ida.get(&location).await.ok(200).to_string();
        seen.contains("success").then_some(())
    })
    .await;
    absent(&ivo.get(&location).await);
}

#[tokio::test]
async fn nothing_else_of_a_peer_is_within_reach() {
    let Scene { acme, rose, nick, ida } = &Scene::new().await;
    let id = channel(nick).await;
    lists(acme, "@nick.cc", "@ida-at-rose.*").await;
    for path in [
        "/sessions",
        "/inbox",
        "/agents/me",
        "/_admin/owners",
        "/_admin/peers",
        "/agent-channel",
        "/healthz",
        "/mcp",
        "/v1/projects",
        "/link/v1/accords",
        "/peers/rose/sessions",
        "/agent-channel/../sessions",
        "/agent-channel/%2E%2E/%2E%2E/sessions",
    ] {
        absent(&ida.get(&there(path)).await);
    }
    absent(&ida.post(&there("/agent-channel"), json!({"title": "x"})).await);
    absent(&ida.post(&there("/v1/projects"), json!({"project_id": "x"})).await);
    absent(&ida.post(&there(&format!("/agent-channel/{id}/key")), json!({})).await);
    for peer in ["nobody", "rose", "A", ".."] {
        absent(&ida.get(&format!("/peers/{peer}/agent-channel/{id}")).await);
    }
    // Only agents have a name at a peer.
    let path = there(&format!("/agent-channel/{id}"));
    for who in [rose.server.operator(), rose.server.stranger()] {
        assert_eq!(who.get(&path).await.status, 401);
    }
    let long = format!("{{\"kind\":\"log\",\"payload\":{{\"text\":\"{}\"}}}}", "x".repeat(1 << 20));
    let refused = ida.post_raw(&format!("{path}/event"), long.as_bytes()).await;
    assert_eq!(refused.status, 413, "{refused}");
    rose.relay.cut();
    acme.relay.cut();
    ida.get(&path).await.assert_refused(503, "peer_unreachable");
}

#[tokio::test]
async fn a_repeated_request_is_carried_out_once() {
    let Scene { acme, nick, ida, .. } = &Scene::new().await;
    let id = channel(nick).await;
    lists(acme, "@nick.cc", "@ida-at-rose.*").await;
    let path = there(&format!("/agent-channel/{id}/event"));
    let body = br#"{"kind":"comms","payload":{"n":1}}"#;
    let again = async || {
        let request = ida.request("POST", &path, &[("Idempotency-Key", "k1")], Some(body));
        ida.bytes(&request).await
    };
    let (first, second) = (again().await.ok(200), again().await);
    assert!(second.is_replayed(), "{second}");
    assert_eq!(first, second.ok(200));
    let events = nick.get(&format!("/agent-channel/{id}/events?kind=comms")).await.ok(200);
    assert_eq!(events.to_string().matches("\"n\":1").count(), 1, "{events}");
}

#[tokio::test]
async fn with_the_accord_everything_ends_within_a_second() {
    let Scene { acme, nick, ida, .. } = &Scene::new().await;
    let id = channel(nick).await;
    lists(acme, "@nick.cc", "@ida-at-rose.*").await;
    let path = there(&format!("/agent-channel/{id}"));
    let mut stream = Stream::open(ida, &format!("{path}/events/stream"), &[]).await;
    assert!(matches!(stream.next().await, Sent::Id(_)));
    acme.revoke("rose").await;
    eventually_within(Duration::from_secs(1), "the accord is dead", async || {
        (ida.get(&path).await.status == 404).then_some(())
    })
    .await;
    // Broken off, so that nobody takes it for complete.
    in_time("the stream ends", async { while stream.next().await != Sent::Broken {} }).await;
    // And what it wrote stays.
    nick.get(&format!("/agent-channel/{id}")).await.ok(200);
}

/// A network that signs what it likes still speaks only as its own agents.
#[tokio::test]
async fn a_peer_speaks_as_its_own_agents_and_as_nobody_here() {
    let acme = Network::start().await;
    let nick = acme.server.agent("@nick.cc").await;
    let played = Played::start().await;
    let body = json!({"network": played.url(), "peer": "mars", "grants": {"team": ["nick"]}});
    let invited = acme.server.operator().post("/_admin/peers", body).await.ok(201);
    let said = json!({"code": invited["code"], "network": played.url(), "grants": []});
    let made = played.call(&acme, "POST", "/link/v1/accords", &said).await.ok(201);
    let accord = format!("/link/v1/accords/{}", made["accord_id"].as_str().expect("an id"));
    let id = channel(&nick).await;
    lists(&acme, "@nick.cc", "@ivo-at-mars.*").await;
    let as_agent = |agent: &str, path: &str| format!("{accord}/as/{agent}/{path}");
    let view = format!("agent-channel/{id}");
    let seen = played.call(&acme, "GET", &as_agent("@ivo.bot", &view), &Value::Null).await;
    assert_eq!((seen.status, seen.header("plenary-guest")), (200, Some("1")), "{seen}");
    for agent in ["@nick-at-acme.cc", "@ivo-at-mars.bot", "ivo.bot", "@ivo", "@ivo.bot.x", "*"] {
        absent(&played.call(&acme, "GET", &as_agent(agent, &view), &Value::Null).await);
    }
    // Signed for one path, sent to another.
    let signed = played.sign(&Played::signing(&acme, "GET", &as_agent("@ivo.bot", &view), &Value::Null));
    let mut other = signed.clone();
    other.path = as_agent("@ivo.bot", &format!("{view}/events"));
    absent(&other.send(&acme.server).await);
    signed.send(&acme.server).await.ok(200);
    let again = signed.send(&acme.server).await;
    again.assert_refused(409, "signature_used");
    // A token beside the signature changes nothing.
    let mut with_token =
        played.sign(&Played::signing(&acme, "GET", &as_agent("@ivo.bot", "agents/me"), &Value::Null));
    with_token.headers.push(("Authorization".to_owned(), format!("Bearer {}", nick.token())));
    absent(&with_token.send(&acme.server).await);
}

#[tokio::test]
async fn an_agent_of_another_network_is_told_apart_from_every_other() {
    let Scene { acme, rose, nick, ida } = &Scene::new().await;
    let ivo: Agent = rose.server.agent("@ida.ivo").await;
    let id = channel(nick).await;
    let path = there(&format!("/agent-channel/{id}"));
    lists(acme, "@nick.cc", IDA).await;
    ida.get(&path).await.ok(200);
    absent(&ivo.get(&path).await);
    let caller: &Caller = ida;
    let other = caller.request("GET", &path, &[("X-ASP-Agent", "@ida.ivo")], None);
    assert_eq!(ida.bytes(&other).await.status, 401);
}

/// Over partitions and kills of either side, each post of a guest is there once and in order, as long as it repeats a post under
/// its key until it is answered.
#[tokio::test]
async fn over_partitions_and_kills_each_post_is_there_once() {
    let mut scene = Scene::new().await;
    let id = channel(&scene.nick).await;
    lists(&scene.acme, "@nick.cc", "@ida-at-rose.*").await;
    let path = there(&format!("/agent-channel/{id}/event"));
    for n in 0..30 {
        match n % 10 {
            2 => scene.acme.relay.cut(),
            4 => {
                scene.acme.crash().await;
                scene.nick = scene.nick.at(&scene.acme.server);
            }
            6 => scene.rose.relay.cut(),
            8 => {
                scene.rose.crash().await;
                scene.ida = scene.ida.at(&scene.rose.server);
            }
            _ => {}
        }
        let (body, key) = (format!("{{\"kind\":\"comms\",\"payload\":{{\"n\":{n}}}}}"), format!("post-{n}"));
        let ida = &scene.ida;
        let post = async || {
            let request = ida.request("POST", &path, &[("Idempotency-Key", &key)], Some(body.as_bytes()));
            let answer = ida.bytes(&request).await;
            if answer.status != 200 {
                answer.assert_refused(503, "peer_unreachable");
                scene.acme.relay.point_at(&scene.acme.server);
                scene.rose.relay.point_at(&scene.rose.server);
            }
            (answer.status == 200).then_some(())
        };
        eventually_within(Duration::from_secs(30), "the post is taken", post).await;
    }
    let events = scene.nick.get(&format!("/agent-channel/{id}/events?kind=comms&limit=500")).await.ok(200);
    let mut said: Vec<_> =
        events.as_array().expect("a list").iter().map(|event| event["payload"]["n"].clone()).collect();
    said.reverse();
    assert_eq!(Value::from(said), Value::from((0..30).collect::<Vec<_>>()));
}

/// The requests of one owner to peers under way, as docs/limits.md says.
const UNDER_WAY_PER_OWNER: usize = 32;

#[tokio::test]
async fn an_owner_has_so_many_requests_to_peers_under_way() {
    let Scene { acme, rose, nick, ida } = &Scene::new().await;
    let id = channel(nick).await;
    lists(acme, "@nick.cc", "@ida-at-rose.*").await;
    let (path, ivo) =
        (there(&format!("/agent-channel/{id}/events/stream")), rose.server.agent("@ida.ivo").await);
    let mut open = Vec::new();
    for _ in 0..UNDER_WAY_PER_OWNER {
        open.push(Stream::open(ida, &path, &[]).await);
    }
    // Its agents share.
    for who in [ida, &ivo] {
        who.get(&path).await.assert_refused(429, "too_many_requests");
    }
    open.pop();
    eventually_within(Duration::from_secs(5), "there is room again", async || {
        (ida.get(&there(&format!("/agent-channel/{id}"))).await.status == 200).then_some(())
    })
    .await;
}
