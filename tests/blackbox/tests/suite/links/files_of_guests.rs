//! Files of guests: an agent sends a file of its own network into a session that another network hosts, and whoever may read
//! the message there reads the file.
//! Must not know: how anything of it is kept.

use blackbox::{Agent, Cli, Server, eventually};
use serde_json::{Value, json};

use super::{
    CONFIG, Network,
    files::{get, naming},
    played::Played,
    sessions::{IDA, Scene, arrives, sees},
    sessions_refused::{SESSION, hosted, joins},
};

const CONTENT: &[u8] = b"content";

fn messages(id: &str) -> String {
    format!("/sessions/{id}/messages")
}

/// The ids of the files that the messages of a session name, as an agent sees them.
async fn named(agent: &Agent, id: &str) -> Vec<String> {
    let events = agent.history(id).await;
    let parts = events.iter().filter_map(|event| event["payload"]["content"].as_array()).flatten();
    parts.filter_map(|part| Some(part["file_id"].as_str()?.to_owned())).collect()
}

/// Sends a file of the agent; its id in the session.
async fn sent(agent: &Agent, id: &str, file: &str) -> String {
    agent.say(id, naming(file)).await;
    named(agent, id).await.pop().expect("the message is in the copy")
}

async fn assert_sound(server: &Server) {
    let data = server.data().display().to_string();
    let checked = Cli::new(&[]).run(&["fsck", "--data", &data]).await;
    assert_eq!(checked.code, 0, "{checked:?}");
}

/// The bytes that a network stores for the agents of another one.
async fn stored_for(network: &Network, peer: &str) -> u64 {
    network.peer(peer).await["stored_bytes"].as_u64().expect("a number")
}

#[tokio::test]
async fn a_guest_sends_a_file_and_the_host_keeps_it() {
    let scene = Scene::new().await;
    let Scene { nick, ida, acme, rose } = &scene;
    let id = scene.joined().await;
    let content: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[(n % 4) as usize]).collect();
    let own = ida.upload_file("q3.pdf", &content).await;
    let body = json!({"content": naming(&own), "idempotency_key": "once"});
    let first = ida.post(&messages(&id), body.clone()).await;
    first.ok(201);
    // A repeated message is the same one, although its file has a new id at the host.
    let again = ida.post(&messages(&id), body).await;
    assert!(again.status == 201 && again.is_replayed() && again.body == first.body, "{again}");
    let other = json!({"content": "other", "idempotency_key": "once"});
    ida.post(&messages(&id), other).await.assert_refused(409, "idempotency_key_reused");

    let there = named(nick, &id).await;
    assert!(there.len() == 1 && there[0] != own, "{there:?}");
    assert_eq!(named(ida, &id).await, there, "both networks have the same message");
    let file = &there[0];
    for agent in [nick, ida] {
        let got = get(agent, file, &[]).await;
        assert!(got.status == 200 && *got.body == content[..], "{}: {} bytes", agent.handle, got.body.len());
        assert!(got.header("content-disposition").is_some_and(|name| name.contains("q3.pdf")), "{got}");
    }
    assert_eq!(get(nick, file, &[("Range", "bytes=2-4")]).await.body[..], content[2..5]);
    for stranger in [&acme.server.agent("@nick.other").await, &rose.server.agent("@ida.other").await] {
        for id in [file, &own] {
            get(stranger, id, &[]).await.assert_refused(404, "not_found");
        }
    }
    get(nick, &own, &[]).await.assert_refused(404, "not_found");
    assert!(stored_for(acme, "rose").await > 3_000_000);
    // A participant passes it on like any file that it may read, also the guest.
    assert_eq!(sent(ida, &id, file).await, *file);
    assert_eq!(sent(nick, &id, file).await, *file);
    assert_sound(&acme.server).await;
    assert_sound(&rose.server).await;

    // It stays with the session: without the network of the guest, and after the accord.
    rose.relay.cut();
    assert_eq!(get(nick, file, &[]).await.body, content);
    acme.revoke("rose").await;
    assert_eq!(get(nick, file, &[]).await.body, content);
    get(ida, file, &[]).await.assert_refused(404, "not_found");
    assert_eq!(get(ida, &own, &[]).await.body, content, "its own stays its own");
    let late = ida.post(&messages(&id), json!({"content": naming(&own)})).await;
    assert!(late.status >= 400, "{late}");
}

/// A guest of a third network reads the file from the host, under the accord of the host with that network.
#[tokio::test]
async fn guests_of_two_networks_share_files_through_the_host() {
    let scene = Scene::new().await;
    let Scene { nick, ida, acme, rose } = &scene;
    let blue = Network::start().await;
    let zoe = blue.server.closed_agent("@zoe.bot", &["@nick-at-acme.*"]).await;
    let body = json!({"network": blue.url(), "peer": "blue", "grants": {"team": ["nick"]}});
    let invited = acme.server.operator().post("/_admin/peers", body).await.ok(201);
    let body =
        json!({"network": acme.url(), "peer": "acme", "code": invited["code"], "grants": {"all": ["zoe"]}});
    blue.server.operator().post("/_admin/peers/accept", body).await.ok(201);

    let opened = nick.open(json!({"invite": [IDA, "@zoe-at-blue.bot"]})).await;
    let id = opened["session_id"].as_str().expect("an id").to_owned();
    for guest in [ida, &zoe] {
        arrives(guest, &id).await;
        guest.join(&id).await;
    }
    let file = sent(ida, &id, &ida.upload_file("a.txt", CONTENT).await).await;
    let heard = async || (named(&zoe, &id).await.last() == Some(&file)).then_some(());
    eventually("the message arrives", heard).await;
    rose.relay.cut();
    for agent in [nick, &zoe] {
        assert_eq!(get(agent, &file, &[]).await.body, CONTENT, "{}", agent.handle);
    }
    let answer = sent(&zoe, &id, &zoe.upload_file("b.txt", b"answer").await).await;
    assert_eq!(get(nick, &answer, &[]).await.body, b"answer"[..]);
    get(&blue.server.agent("@zoe.other").await, &file, &[]).await.assert_refused(404, "not_found");
    for network in [acme, &blue] {
        assert_sound(&network.server).await;
    }
}

#[tokio::test]
async fn files_cross_with_a_message_that_begins_or_reopens_a_session() {
    let scene = Scene::new().await;
    let Scene { nick, ida, .. } = &scene;
    let prices = nick.upload_file("list.txt", b"the list").await;
    let first = json!({"content": naming(&prices)});
    let opened = nick.open(json!({"invite": [IDA], "initial_message": first, "end_after_send": true})).await;
    let id = opened["session_id"].as_str().expect("an id").to_owned();
    arrives(ida, &id).await;
    let read = async || (get(ida, &prices, &[]).await.status == 200).then_some(());
    eventually("the file of the message is there", read).await;
    let own = ida.upload_file("own.txt", CONTENT).await;
    let list = "/_admin/agents/@nick.cc/allowlist";
    scene.acme.server.operator().post(list, json!({"entries": ["@ida-at-rose.*"]})).await.ok(200);
    ida.reopen(&id, json!({"initial_message": {"content": naming(&own)}})).await;
    nick.join(&id).await;
    let there = named(nick, &id).await.pop().expect("a file");
    assert!(there != own && there != prices);
    assert_eq!(get(nick, &there, &[]).await.body, CONTENT);
    // A session of the guest's own network, to which the other side is the guest.
    scene.acme.server.closed_agent("@nick.second", &["@ida-at-rose.*"]).await;
    let first = json!({"content": naming(&own)});
    let opened = ida.open(json!({"invite": ["@nick-at-acme.second"], "initial_message": first})).await;
    let other = opened["session_id"].as_str().expect("an id").to_owned();
    assert_eq!(named(ida, &other).await, [own], "the host names its own files as they are");
}

#[tokio::test]
async fn the_command_line_attaches_files_for_another_network() {
    let scene = Scene::new().await;
    let id = scene.joined().await;
    let here = Cli::of(&scene.rose.server, &scene.ida, "s-1");
    std::fs::write(here.dir().join("a.txt"), CONTENT).expect("a file");
    here.run_ok(&["session", "send", &id, "See this.", "--attach", "a.txt"]).await;
    let file = named(&scene.nick, &id).await.pop().expect("a file");
    let there = Cli::of(&scene.acme.server, &scene.nick, "s-1");
    there.run_ok(&["session", "file", &file, "-o", "got.txt"]).await;
    assert_eq!(std::fs::read(there.dir().join("got.txt")).expect("the file"), CONTENT);
}

#[tokio::test]
async fn what_does_not_cross_leaves_nothing() {
    let config = format!("{CONFIG}[files]\nbytes_max = 1000\n[quota]\npeer_stored_bytes_max = 20000\n");
    let (acme, rose) = (Network::with(&config).await, Network::start().await);
    let nick = acme.server.agent("@nick.cc").await;
    let ida = rose.server.closed_agent("@ida.bot", &["@nick-at-acme.*", "@ida.*"]).await;
    let scene = Scene { acme, rose, nick, ida };
    scene.link().await;
    let Scene { nick, ida, acme, rose } = &scene;
    let id = scene.joined().await;
    let send = async |named: &[&str]| {
        let parts: Vec<Value> = named.iter().map(|file| naming(file)[0].clone()).collect();
        ida.post(&messages(&id), json!({ "content": parts })).await
    };
    let own = ida.upload_file("own.txt", CONTENT).await;
    let (before, events) = (stored_for(acme, "rose").await, nick.history(&id).await.len());
    // Nobody sends what it may not read, here or there.
    let secret = rose.server.agent("@eve.bot").await.upload_file("secret.txt", b"secret").await;
    let theirs = acme.server.agent("@ann.cc").await.upload_file("theirs.txt", b"secret").await;
    for file in [&secret, &theirs, &"file_01J00000000000000000000000".to_owned()] {
        send(&[file]).await.assert_refused(400, "unknown_file");
        send(&[&own, file]).await.assert_refused(400, "unknown_file");
    }
    let large = ida.upload_file("large.txt", &[b'x'; 1_001]).await;
    send(&[&own, &large]).await.assert_refused(413, "body_too_large");
    // A host that does not reach the network of the sender.
    rose.relay.cut();
    send(&[&own]).await.assert_refused(503, "peer_unreachable");
    rose.relay.point_at(&rose.server);
    acme.relay.cut();
    send(&[&own]).await.assert_refused(503, "peer_unreachable");
    acme.relay.point_at(&acme.server);
    assert_eq!(nick.history(&id).await.len(), events);
    // What was begun and given up counts with its events alone, and a file that goes through counts once.
    let given_up = stored_for(acme, "rose").await - before;
    let taken = async || (send(&[&own, &own]).await.status == 201).then_some(());
    eventually("the peers are there again", taken).await;
    let there = named(nick, &id).await;
    assert!(there.len() == 2 && there[0] == there[1], "one file, named twice: {there:?}");
    assert!(given_up < 3_000, "{given_up}");
    // Somebody who has not joined sends nothing.
    ida.leave(&id).await;
    let stored = stored_for(acme, "rose").await;
    send(&[&own]).await.assert_refused(409, "not_joined");
    assert_eq!(stored_for(acme, "rose").await, stored);
    assert_sound(&acme.server).await;
}

/// A session of a played network, which an agent has joined: its network, the played one, the agent and the accord's path.
async fn joined_there() -> (Network, Played, Agent, String) {
    let (rose, played, ida, accord) = hosted().await;
    let offer = json!({"you": "us", "session_id": SESSION, "by": "@nick.cc", "invite": ["@ida-at-us.bot"]});
    played.call(&rose, "POST", &format!("{accord}/offers"), &offer).await.ok(200);
    let joined = json!({"joined": {"id": "01J00000000000000000000002", "agent": "@ida-at-us.bot"}});
    joins(&played, &ida, &json!([joined])).await;
    sees(&ida, SESSION, 2).await;
    (rose, played, ida, accord)
}

/// Messages with files count towards the uploads of their owner until the host answers, however slow it is.
#[tokio::test]
async fn an_owner_has_few_files_on_their_way_to_a_slow_host() {
    let (_rose, played, ida, _accord) = joined_there().await;
    let own = ida.upload_file("own.txt", CONTENT).await;
    played.stall();
    let path = messages(SESSION);
    let send = || Box::pin(ida.post(&path, json!({"content": naming(&own)})));
    let (first, _, waiting) = futures_util::future::select_all((0..5).map(|_| send())).await;
    first.assert_refused(429, "too_many_uploads");
    // An abandoned transfer goes on, and still counts.
    drop(waiting);
    send().await.assert_refused(429, "too_many_uploads");
}

/// The tickets of a message are good for its host alone, and only for the files that the message names.
#[tokio::test]
async fn a_host_gets_the_files_of_the_message_and_no_others() {
    let (rose, played, ida, accord) = joined_there().await;
    let (own, other) =
        (ida.upload_file("own.txt", CONTENT).await, ida.upload_file("other.txt", b"other").await);
    played.answer("/commands", &json!({"you": "us", "outcome": {"refused": "session_full"}}));
    let body = json!({"content": naming(&own)});
    ida.post(&messages(SESSION), body).await.assert_refused(409, "session_full");
    let command = played.heard("commands").expect("a command");
    let files = command["files"].as_array().expect("files");
    assert_eq!(files.len(), 1, "{command}");
    assert_eq!((&files[0]["file_id"], &files[0]["bytes"]), (&json!(own), &json!(CONTENT.len())));
    let ticket = files[0]["ticket"].as_str().expect("a ticket").to_owned();
    let ask = async |by: &Played, accord: &str, body: Value| {
        by.call(&rose, "POST", &format!("{accord}/files"), &body).await
    };
    let got = ask(&played, &accord, json!({ "ticket": ticket })).await;
    assert_eq!((got.status, &*got.body), (200, CONTENT));
    // Another network, a changed ticket, no ticket.
    let third = Played::start().await;
    let others = third.link(&rose, "third").await;
    ask(&third, &others, json!({ "ticket": ticket })).await.assert_refused(404, "not_found");
    ask(&third, &accord, json!({ "ticket": ticket })).await.assert_refused(404, "not_found");
    let (content, signature) = ticket.split_once('.').expect("two parts");
    for bad in [content.to_owned(), format!("{content}."), format!("{}.{signature}", &content[1..]), other] {
        ask(&played, &accord, json!({ "ticket": bad })).await.assert_refused(404, "not_found");
    }
    rose.revoke("played").await;
    ask(&played, &accord, json!({ "ticket": ticket })).await.assert_refused(404, "not_found");
}

/// A network that declares one thing and sends another, or claims a file of the host, gets nothing in.
#[tokio::test]
async fn a_network_of_guests_cannot_make_files_up() {
    let (acme, played) = (Network::start().await, Played::start().await);
    let nick = acme.server.agent("@nick.cc").await;
    let body = json!({"network": played.url(), "peer": "played", "grants": {"team": ["nick"]}});
    let made = acme.server.operator().post("/_admin/peers", body).await.ok(201);
    let said = json!({"code": made["code"], "network": played.url(), "grants": ["all"]});
    let agreed = played.call(&acme, "POST", "/link/v1/accords", &said).await.ok(201);
    let accord = format!("/link/v1/accords/{}", agreed["accord_id"].as_str().expect("an id"));
    played.answer("/offers", &json!({"taken": ["@eve.bot"], "held": []}));
    let opened = nick.open(json!({"invite": ["@eve-at-played.bot"]})).await;
    let id = opened["session_id"].as_str().expect("an id").to_owned();
    let command = async |more: Value| {
        let mut body = json!({"you": "acme", "session_id": id, "agent": "@eve.bot", "action": "send"});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let answer = played.call(&acme, "POST", &format!("{accord}/commands"), &body).await.ok(200);
        answer["outcome"]["refused"].as_str().unwrap_or("taken").to_owned()
    };
    assert_eq!(command(json!({"action": "join"})).await, "taken");
    let secret = acme.server.agent("@ann.cc").await.upload_file("secret.txt", b"secret").await;
    // What it sends is this JSON text, of 4 bytes.
    played.answer("/files", &json!("ab"));
    let hash = "fc1d8c0b1a7a5a9b2a7d5a4f8f2b1e7f0c7f6e1d4b5a39281706f5e4d3c2b1a0";
    let declared = |file: &str, bytes: u64, sha256: &str| {
        let file = json!({"file_id": file, "name": "a.txt", "media_type": "text/plain", "bytes": bytes,
            "sha256": sha256, "ticket": "t"});
        json!({"message": {"content": naming("file_01CLAIMED")}, "files": [file]})
    };
    for (bytes, sha256, refused) in [
        (4, hash, "peer_unreachable"),
        (4, "no hash", "peer_unreachable"),
        (3, AB, "peer_unreachable"),
        (5, AB, "peer_unreachable"),
        (1 << 50, AB, "body_too_large"),
    ] {
        assert_eq!(command(declared("file_01CLAIMED", bytes, sha256)).await, refused, "{bytes} {sha256}");
    }
    let mut bad = declared("file_01CLAIMED", 4, AB);
    bad["files"][0]["name"] = json!("../a");
    assert_eq!(command(bad).await, "invalid_filename");
    // It claims the id of a file of the host: what it sends gets an id of its own, and the file stays closed to it.
    let claim = json!({"message": {"content": naming(&secret)}});
    assert_eq!(command(claim.clone()).await, "unknown_file");
    assert!(named(&nick, &id).await.is_empty());
    let mut claim = claim;
    claim["files"] = declared(&secret, 4, AB)["files"].clone();
    assert_eq!(command(claim).await, "taken");
    let there = named(&nick, &id).await.pop().expect("a file");
    assert_ne!(there, secret);
    assert_eq!(get(&nick, &there, &[]).await.body, b"\"ab\""[..]);
    get(&nick, &secret, &[]).await.assert_refused(404, "not_found");
    let as_guest = format!("{accord}/as/@eve.bot/files/{secret}");
    played.call(&acme, "GET", &as_guest, &Value::Null).await.assert_refused(404, "not_found");
    assert_sound(&acme.server).await;
}

/// The SHA-256 of `"ab"`, with its quotation marks.
const AB: &str = "782beb2948d61c6b50ae083a2c63328c5c4d6f41c746c2fc6061d3dac370bc92";
