//! A network that is restored from a backup does not know what it told its peers since. Nothing is mixed then, nothing is lost
//! without a word, and both sides see it.
//! Must not know: how the difference is found.

use std::{path::Path, process::Command};

use blackbox::{Agent, Cli, Server, content_of, eventually};
use serde_json::{Value, json};

use super::{
    CONFIG, Network,
    sessions::{IDA, Scene, arrives, sees},
};

/// Runs a command of the system that must succeed.
fn system(words: &[&str]) {
    let status = Command::new(words[0]).args(&words[1..]).status().expect("the command starts");
    assert!(status.success(), "{words:?}");
}

/// A backup of a network while it runs, as docs/operations.md says.
async fn backed_up(network: &Network) -> String {
    let data = network.server.data().display().to_string();
    let backup = format!("{data}.backup");
    Cli::new(&[]).run_ok(&["log", "copy", "--from", &data, "--to", &backup]).await;
    backup
}

/// Restores it. The network is back, and cannot be reached by its peer yet.
async fn restored(network: &mut Network, backup: &str) {
    let data = network.server.data().display().to_string();
    network.relay.cut();
    network.server.stop().await;
    system(&["mv", &data, &format!("{data}.old")]);
    system(&["mv", backup, &data]);
    assert!(Path::new(&data).exists());
    network.server.restart().await;
}

/// The reason with which an agent left, as another sees it.
async fn left(agent: &Agent, id: &str, who: &str) -> Value {
    eventually("the agent leaves", async || {
        let events = agent.history(id).await;
        let leaving = events.iter().rfind(|event| event["type"] == "session.left")?;
        (leaving["payload"]["agent"] == who).then(|| leaving["payload"]["reason"].clone())
    })
    .await
}

async fn assert_counted(network: &Network, peer: &str) {
    assert_eq!(network.peer(peer).await["diverged_sessions"], 1);
    let operator = network.server.operator();
    let cli = Cli::new(&[
        ("PLENARY_URL", &network.server.url()),
        ("PLENARY_OPERATOR_TOKEN", operator.token()),
        ("COLUMNS", "300"),
    ]);
    let listed = cli.run_ok(&["peer", "list"]).await;
    assert!(listed.contains("sessions that differ after a restore: 1"), "{listed}");
}

#[tokio::test]
async fn a_restored_host_and_the_copy_do_not_mix_their_histories() {
    let mut scene = Scene::new().await;
    let id = scene.joined().await;
    let quiet = scene.joined().await;
    scene.nick.say(&id, "before").await;
    let backup = backed_up(&scene.acme).await;
    for text in ["lost0", "lost1", "lost2"] {
        scene.nick.say(&id, text).await;
    }
    let known = scene.nick.history(&id).await.len();
    sees(&scene.ida, &id, known).await;
    let page = scene.ida.get("/inbox?limit=100").await.ok(200);
    scene.ida.post("/inbox/ack", json!({"cursor": page["cursor"]})).await.ok(200);
    restored(&mut scene.acme, &backup).await;
    let first = scene.nick.say(&id, "new0").await;
    for text in ["new1", "new2", "new3", "new4"] {
        scene.nick.say(&id, text).await;
    }
    // The log grows beyond the place up to which the peer has read it.
    for _ in 0..20 {
        scene.nick.open(json!({})).await;
    }
    let status = format!("/sessions/{id}/messages/{first}/status");
    scene.acme.relay.point_at(&scene.acme.server);
    let state = scene.nick.get(&status).await.ok(200)["recipients"][0]["state"].clone();
    assert_eq!(state, "accepted", "the peer has another message under this number");

    assert_eq!(left(&scene.nick, &id, IDA).await, "host_restored");
    assert_eq!(left(&scene.ida, &id, "@ida.bot").await, "host_restored");
    let here = scene.nick.history(&id).await;
    assert_eq!(content_of(&here), ["before", "new0", "new1", "new2", "new3", "new4"]);
    assert_eq!(content_of(&scene.ida.history(&id).await), ["before", "lost0", "lost1", "lost2"]);
    let recipient = scene.nick.get(&status).await.ok(200)["recipients"][0].clone();
    assert_eq!((&recipient["state"], &recipient["waiting"]["reason"]), (&json!("accepted"), &json!("left")));
    let refused = scene.ida.post(&format!("/sessions/{id}/messages"), json!({"content": "x"})).await;
    refused.assert_refused(409, "not_joined");
    assert!(refused.text().contains("begin another session"), "{refused}");
    scene.acme.server.wait_for_log("a peer has events of a session that this network does not have").await;
    scene.rose.server.wait_for_log("has events that its host does not have").await;
    assert_counted(&scene.acme, "rose").await;
    assert_counted(&scene.rose, "acme").await;

    // What both have in common goes on, and a new session begins.
    let said = scene.nick.say(&quiet, "still here").await;
    eventually("it arrives", async || {
        content_of(&scene.ida.history(&quiet).await).contains(&"still here").then_some(())
    })
    .await;
    assert_eq!(scene.ida.say(&quiet, "me too").await, said + 1);
    scene.joined().await;
}

#[tokio::test]
async fn a_restored_host_takes_no_command_of_a_guest_who_knows_more() {
    let mut scene = Scene::new().await;
    let id = scene.joined().await;
    let backup = backed_up(&scene.acme).await;
    scene.nick.say(&id, "lost").await;
    let answer = json!({"content": "answer", "idempotency_key": "k1"});
    let path = format!("/sessions/{id}/messages");
    scene.ida.post(&path, answer.clone()).await.ok(201);
    restored(&mut scene.acme, &backup).await;
    scene.acme.relay.point_at(&scene.acme.server);
    // The home may be about to hear of it, or the host may refuse it.
    let again = async || {
        let again = scene.ida.post(&path, answer.clone()).await;
        (again.status != 503).then_some(again)
    };
    eventually("the host answers", again).await.assert_refused(409, "not_joined");
    assert_eq!(left(&scene.nick, &id, IDA).await, "host_restored");
    assert_eq!(left(&scene.ida, &id, "@ida.bot").await, "host_restored");
    assert!(content_of(&scene.nick.history(&id).await).is_empty());
    assert_eq!(content_of(&scene.ida.history(&id).await), ["lost", "answer"]);
}

/// A session that began after the backup is unknown to its host.
#[tokio::test]
async fn a_session_that_its_host_has_lost_ends_for_its_guests() {
    let mut scene = Scene::new().await;
    let kept = scene.joined().await;
    let backup = backed_up(&scene.acme).await;
    let lost = scene.joined().await;
    scene.nick.say(&lost, "hello").await;
    let known = scene.nick.history(&lost).await.len();
    sees(&scene.ida, &lost, known).await;
    restored(&mut scene.acme, &backup).await;
    scene.acme.relay.point_at(&scene.acme.server);
    let refused = async || {
        let path = format!("/sessions/{lost}/messages");
        let answer = scene.ida.post(&path, json!({"content": "x"})).await;
        (answer.status != 503).then_some(answer)
    };
    eventually("the host answers", refused).await.assert_refused(409, "not_joined");
    assert_eq!(left(&scene.ida, &lost, "@ida.bot").await, "host_restored");
    assert_eq!(content_of(&scene.ida.history(&lost).await), ["hello"]);
    assert_counted(&scene.rose, "acme").await;
    scene.ida.say(&kept, "here I am").await;
}

#[tokio::test]
async fn a_restored_home_catches_up() {
    let mut scene = Scene::new().await;
    let id = scene.joined().await;
    let backup = backed_up(&scene.rose).await;
    scene.nick.say(&id, "one").await;
    scene.ida.say(&id, "two").await;
    restored(&mut scene.rose, &backup).await;
    scene.rose.relay.point_at(&scene.rose.server);
    let both = async || (content_of(&scene.ida.history(&id).await) == ["one", "two"]).then_some(());
    eventually("the copy is whole again", both).await;
    scene.ida.say(&id, "three").await;
    assert_eq!(content_of(&scene.nick.history(&id).await), ["one", "two", "three"]);
}

#[tokio::test]
async fn a_restored_home_gets_a_session_again_into_which_it_was_invited_after_the_backup() {
    let mut scene = Scene::new().await;
    scene.joined().await;
    let backup = backed_up(&scene.rose).await;
    let id = scene.joined().await;
    scene.nick.say(&id, "one").await;
    scene.ida.say(&id, "two").await;
    restored(&mut scene.rose, &backup).await;
    scene.rose.relay.point_at(&scene.rose.server);
    arrives(&scene.ida, &id).await;
    assert_eq!(scene.ida.status_of(&id, "@ida.bot").await, "invited");
    scene.ida.join(&id).await;
    let both = async || (content_of(&scene.ida.history(&id).await) == ["one", "two"]).then_some(());
    eventually("the copy is whole again", both).await;
    scene.ida.say(&id, "three").await;
    assert_eq!(content_of(&scene.nick.history(&id).await), ["one", "two", "three"]);
}

/// The peer's own reason reaches the operator, and an invitation does not look like one of nobody.
#[tokio::test]
async fn a_peer_with_another_clock_is_named_as_such() {
    let mut scene = Scene::new().await;
    scene.joined().await;
    scene.rose.server.stop().await;
    let data = scene.rose.server.data().to_owned();
    let (url, ahead) = (scene.rose.url(), ["--test-clock-ahead", "90"]);
    let builder = Server::builder().config(CONFIG).arg("--public-url").arg(&url).data(&data);
    let rose = builder.arg(ahead[0]).arg(ahead[1]).start().await;
    scene.rose.relay.point_at(&rose);
    let body = json!({"invite": [IDA]});
    scene.nick.post("/sessions", body).await.assert_refused(503, "peer_unreachable");
    let checked = scene.acme.server.operator().post_empty("/_admin/peers/rose/check").await.ok(200);
    let error = checked["error"].as_str().expect("an error");
    assert!(error.contains("signature_expired") && error.contains("clock"), "{error}");
    eventually("the list says that there is no news", async || {
        let list = rose.operator().get("/_admin/peers").await.ok(200);
        let why = list["peers"][0]["no_news_because"].as_str()?.to_owned();
        (why.contains("clock") && list["peers"][0]["no_news_since"].is_u64()).then_some(())
    })
    .await;
    rose.wait_for_log("a peer tells no news of sessions").await;
}
