//! Several nodes with three NATS servers are one network: what one acknowledged, all have, whatever is killed.
//! Must not know: how they agree.

use std::time::Duration;

use blackbox::{
    Agent, Cli, Database, NatsServers, Sender, Server, TempDir, TestDependency, check_log, eventually_within,
    in_time, room, strike_after,
};
use serde_json::{Value, json};
use tokio::sync::watch;

/// NATS elects a new leader within ten seconds, and a busy machine has as much again, and again.
const ELECTED: Duration = Duration::from_secs(40);

/// A node on these NATS servers.
async fn node(nats: &NatsServers) -> Server {
    Server::builder().arg("--cluster").arg(&nats.urls()).start().await
}

/// Runs the command line of an operator; `None` while the journal elects a leader.
async fn asked(nats: &NatsServers, args: &[&str]) -> Option<(i32, String)> {
    let ran = Cli::new(&[("PLENARY_CLUSTER", &nats.urls())]).run(args).await;
    if ran.code == 2 && ran.err.contains("the journal is unavailable") {
        return None;
    }
    assert!(ran.code < 2, "{ran:?}");
    Some((ran.code, ran.out))
}

/// The name of the NATS server that leads the journal of the log.
async fn leader(nats: &NatsServers) -> String {
    eventually_within(ELECTED, "the journal has a leader", async || {
        let ran = Cli::new(&[("PLENARY_CLUSTER", &nats.urls())]).run(&["cluster", "status", "--json"]).await;
        let line: Value = serde_json::from_str(ran.out.lines().next()?).ok()?;
        Some(line["leader"].as_str()?.to_owned())
    })
    .await
}

/// What a node's replica and the journal have in common: all, or it is said what not.
async fn assert_verified(nats: &NatsServers, server: &Server) {
    let data = server.data().display().to_string();
    let verified = eventually_within(ELECTED, "the replica has what the journal has", async || {
        let (code, out) = asked(nats, &["cluster", "verify", "--data", &data, "--json"]).await?;
        let verified: Value = serde_json::from_str(&out).expect("it answers in JSON");
        assert_eq!(code, 0, "{verified}");
        (verified["records"] == verified["replicated"]).then_some(verified)
    })
    .await;
    assert!(verified["records"].as_u64() > Some(5), "{verified}");
    assert_eq!(verified["findings"], json!([]));
}

async fn inbox(agent: &Agent) -> Vec<String> {
    let page = agent.get("/inbox?limit=100").await.ok(200);
    let items = page["items"].as_array().expect("items").iter();
    items.filter_map(|item| item["text"].as_str().map(ToOwned::to_owned)).collect()
}

/// A message, a wait, a stream and a trust list mean the same wherever they are asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_are_one_network() {
    let Some(nats) = NatsServers::three().await else { return };
    let (a, b, c) = tokio::join!(node(&nats), node(&nats), node(&nats));
    let (alice, bob) = (a.agent("@alice.bot").await, b.agent("@bob.bot").await);
    let carol = c.agent("@carol.bot").await;
    // Whoever was made on one node is known on all.
    let id = room(&[&alice.at(&b), &bob.at(&c), &carol.at(&a)]).await;
    let (bob_b, carol_c) = (bob.at(&b), carol.at(&c));

    let mut socket = carol_c.connect().await;
    socket.wait_until_served().await;
    let page = bob_b.get("/inbox").await.ok(200);
    let after = page["cursor"].as_str().expect("a cursor").to_owned();
    let wait = {
        let bob = bob_b.clone();
        tokio::spawn(async move { bob.get(&format!("/inbox/wait?timeout_s=30&after={after}")).await })
    };
    alice.say(&id, "hello").await;
    let woken = in_time("a wait at another node is woken", wait).await.expect("a wait").ok(200);
    assert!(woken.to_string().contains("hello"), "{woken}");
    socket.until_text("hello").await;

    // What was acknowledged on one node is read on the next, at once.
    for n in 0..12 {
        let text = format!("n-{n}");
        let [sender, reader] = if n % 2 == 0 { [&alice, &bob_b] } else { [&carol_c, &alice] };
        sender.say(&id, text.clone()).await;
        let log = reader.history(&id).await;
        assert_eq!(log.last().map(|event| &event["payload"]["content"]), Some(&json!(text)));
    }
    assert_eq!(alice.history(&id).await, carol_c.history(&id).await);
    assert_eq!(inbox(&bob_b).await, inbox(&bob.at(&a)).await);

    // A block that one node acknowledged holds on the others, at once.
    b.block(&bob, "@alice.bot").await;
    for server in [&a, &c, &b] {
        let body = json!({ "invite": ["@bob.bot"] });
        alice.at(server).post("/sessions", body).await.assert_refused(404, "not_found");
    }

    // Foreign and absent are one 404, on every node the same.
    let stranger = b.agent("@stranger.bot").await;
    let mut seen = Vec::new();
    for server in [&a, &b, &c] {
        for session in [id.as_str(), "sess_01HW7AB12CDEFGHJKMNPQRSTVW"] {
            for tail in ["", "/events"] {
                let answer = stranger.at(server).get(&format!("/sessions/{session}{tail}")).await;
                answer.assert_refused(404, "not_found");
                seen.push(answer.fingerprint());
            }
        }
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");

    for server in [&a, &b, &c] {
        assert_verified(&nats, server).await;
    }
    let status = eventually_within(ELECTED, "all replicas follow", async || {
        let (code, status) = asked(&nats, &["cluster", "status"]).await?;
        (code == 0).then_some(status)
    })
    .await;
    assert_eq!(status.lines().count(), 2, "{status}");
    assert_eq!(status.matches("has the pen").count(), 1, "{status}");
    assert_eq!(status.matches("; node ").count(), 3, "{status}");
    assert!(status.contains("n0") && status.contains("n1") && status.contains("n2"), "{status}");
}

/// A node that is killed, and the NATS server that leads: what was acknowledged is there once, in order, on every node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_of_nodes_and_of_the_leader_lose_nothing() {
    let Some(mut nats) = NatsServers::three().await else { return };
    let (mut a, b) = tokio::join!(node(&nats), node(&nats));
    let (alice, bob) = (a.agent("@alice.bot").await, b.agent("@bob.bot").await);
    let id = room(&[&alice, &bob]).await;
    let (stop, stopped) = watch::channel(false);
    let at_a = tokio::spawn(Sender::new(&alice, &id, "a").run(stopped.clone()));
    let at_b = tokio::spawn(Sender::new(&bob.at(&b), &id, "b").run(stopped));
    let grown = async |reader: &Agent, by: usize| {
        let before = reader.history(&id).await.len();
        eventually_within(ELECTED, "it goes on", async || {
            (reader.history(&id).await.len() >= before + by).then_some(())
        })
        .await;
    };
    let bob_b = bob.at(&b);
    grown(&bob_b, 20).await;
    for _ in 0..2 {
        a.crash().await;
        grown(&bob_b, 20).await;
    }
    let killed = leader(&nats).await;
    let nth = nats.kill(&killed);
    grown(&bob_b, 20).await;
    nats.restart(nth).await;
    grown(&bob_b, 20).await;
    stop.send_replace(true);
    let senders = [at_a.await.expect("a sender ends"), at_b.await.expect("a sender ends")];
    let log = bob_b.history(&id).await;
    check_log(&log, &senders);
    assert_eq!(alice.history(&id).await, log, "both nodes have the same");
    for server in [&a, &b] {
        assert_verified(&nats, server).await;
    }
}

/// Nodes that do nothing say that they are alive, but not in the journal of the log, which is never trimmed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_cluster_writes_nothing() {
    let Some(nats) = NatsServers::one().await else { return };
    let start = || Server::builder().arg("--cluster").arg(&nats.urls()).arg("--cluster-dev").start();
    let (_a, _b) = tokio::join!(start(), start());
    let records = async || {
        eventually_within(ELECTED, "the journal answers", async || {
            let (_, out) = asked(&nats, &["cluster", "status", "--json"]).await?;
            let status: Value = serde_json::from_str(out.lines().next()?).ok()?;
            status["last"].as_u64()
        })
        .await
    };
    // What they write at the start may still be on its way.
    eventually_within(ELECTED, "six seconds pass without a record", async || {
        let before = records().await;
        strike_after(Duration::from_secs(6)).await;
        (records().await == before).then_some(())
    })
    .await;
}

/// A replica that is gone, or whose last record is another, is built again; one that the journal has lost is left alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_replica_is_built_again() {
    let Some(nats) = NatsServers::one().await else { return };
    let start = || Server::builder().arg("--cluster").arg(&nats.urls()).arg("--cluster-dev").start();
    let (mut a, b) = tokio::join!(start(), start());
    let (alice, bob) = (a.agent("@alice.bot").await, b.agent("@bob.bot").await);
    let id = room(&[&alice, &bob]).await;
    for n in 0..5 {
        alice.say(&id, n.to_string()).await;
    }
    let damages = [
        "UPDATE journal SET hash = zeroblob(32) WHERE sequence = (SELECT max(sequence) FROM journal)",
        "DELETE FROM journal WHERE sequence = 3",
        "DELETE FROM events WHERE position = (SELECT max(position) FROM events)",
    ];
    for (nth, damage) in damages.iter().enumerate() {
        a.stop().await;
        let database = rusqlite::Connection::open(a.data().join("plenary.db")).expect("the file opens");
        assert_eq!(database.execute(damage, []).expect("the file can be changed"), 1);
        drop(database);
        bob.at(&b).say(&id, format!("meanwhile-{nth}")).await;
        a.restart().await;
        assert!(a.log_text().contains("built again from the journal"));
        assert_eq!(alice.history(&id).await, bob.at(&b).history(&id).await);
        assert_verified(&nats, &a).await;
        assert!(a.data().join(format!("plenary.db.aside-{}", nth + 1)).exists());
    }
    a.stop().await;
    std::fs::remove_file(a.data().join("plenary.db")).expect("the file is there");
    a.restart().await;
    assert_eq!(alice.history(&id).await, bob.at(&b).history(&id).await);
}

/// What would part a replica from the others, or lose what was acknowledged, does not start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_safe_is_refused() {
    let Some(nats) = NatsServers::one().await else { return };
    let mut node = Server::builder().arg("--cluster").arg(&nats.urls()).arg("--cluster-dev").start().await;
    node.agent("@alice.bot").await;
    node.stop().await;
    let serve = async |args: &[&str]| {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        let ran = Cli::new(&[]).run(&[&listen[..], args].concat()).await;
        assert_ne!(ran.code, 0, "{args:?}: {ran:?}");
        ran.err
    };
    let data = node.data().display().to_string();
    let alone = serve(&["--data", &data]).await;
    assert!(alone.contains("is a replica of a cluster's log"), "{alone}");
    let urls = nats.urls();
    let few = serve(&["--data", &data, "--cluster", &urls]).await;
    assert!(few.contains("replicas") && few.contains("--cluster-dev"), "{few}");
    let nowhere = serve(&["--data", ":memory:", "--cluster", &urls]).await;
    assert!(nowhere.contains("--data DIR"), "{nowhere}");
    let both = serve(&["--data", &data, "--cluster", &urls, "--database", "postgres://x"]).await;
    assert!(both.contains("--database"), "{both}");
    let mut single = Server::start().await;
    single.agent("@alice.bot").await;
    single.stop().await;
    let own = single.data().display().to_string();
    let owned = serve(&["--data", &own, "--cluster", &urls, "--cluster-dev"]).await;
    assert!(owned.contains("can't become a replica"), "{owned}");
}

/// The operator's commands must not depend on the node that a load balancer chooses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_another_operators_token_does_not_start() {
    let Some(nats) = NatsServers::one().await else { return };
    let mut node = Server::builder().arg("--cluster").arg(&nats.urls()).arg("--cluster-dev").start().await;
    node.agent("@alice.bot").await;
    let place = TempDir::new();
    let data = place.path().join("other").display().to_string();
    let refused = async |env: &[(&str, &str)]| {
        let args = ["serve", "--listen", "127.0.0.1:0", "--data", &data, "--cluster-dev", "--cluster"];
        let ran = Cli::new(env).run(&[&args[..], &[&nats.urls()]].concat()).await;
        assert_ne!(ran.code, 0, "{ran:?}");
        ran.err
    };
    let without = refused(&[]).await;
    assert!(without.contains("PLENARY_OPERATOR_TOKEN"), "{without}");
    assert!(!std::path::Path::new(&format!("{data}/operator-token")).exists(), "no token is left behind");
    let other = "another-token-of-an-operator-0123456789";
    let with_other = refused(&[("PLENARY_OPERATOR_TOKEN", other)]).await;
    assert!(with_other.contains("another operator's token"), "{with_other}");
    // The token of the network changes while no node runs.
    node.stop().await;
    node.set_env("PLENARY_OPERATOR_TOKEN", other);
    node.restart().await;
    node.wait_for_log("is from now on that of the network").await;
    node.bearer(other).get("/_admin/agents").await.ok(200);
}

/// The same holds for processes on one PostgreSQL. One alone may come with another token, also if it made that itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_on_the_same_database_with_another_operators_token_does_not_start() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    if !database.url().starts_with("postgres") {
        return;
    }
    let mut first = Server::builder().database(database.url()).start().await;
    let place = TempDir::new();
    let data = place.path().join("other").display().to_string();
    let refused = async |env: &[(&str, &str)]| {
        let args = ["serve", "--listen", "127.0.0.1:0", "--data", &data, "--database", database.url()];
        let ran = Cli::new(env).run(&args).await;
        assert_ne!(ran.code, 0, "{ran:?}");
        ran.err
    };
    let without = refused(&[]).await;
    assert!(without.contains("this node has none: set PLENARY_OPERATOR_TOKEN"), "{without}");
    assert!(!std::path::Path::new(&format!("{data}/operator-token")).exists(), "no token is left behind");
    let other = "another-token-of-an-operator-0123456789";
    let with_other = refused(&[("PLENARY_OPERATOR_TOKEN", other)]).await;
    assert!(with_other.contains("another operator's token"), "{with_other}");
    let second = Server::builder().database(database.url()).start().await;
    drop(second);
    first.stop().await;
    let alone = Server::builder().database(database.url()).own_operator_token().start().await;
    alone.wait_for_log("is from now on that of the network").await;
    drop((first, alone));
    database.remove().await;
}

/// A node whose appends wait for another one answers reads, also if it has just started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_waits_for_another_one_starts_and_is_read() {
    let Some(nats) = NatsServers::one().await else { return };
    let start = || {
        let builder = Server::builder().arg("--cluster").arg(&nats.urls()).arg("--cluster-dev");
        builder.arg("--cluster-keepers").arg("two-always").start()
    };
    let (mut a, mut b) = tokio::join!(start(), start());
    let alice = a.agent("@alice.bot").await;
    let id = room(&[&alice]).await;
    alice.say(&id, "hello").await;
    let before = alice.history(&id).await;
    tokio::join!(a.stop(), b.stop());
    let (code, _) = eventually_within(ELECTED, "the journal answers", async || {
        asked(&nats, &["cluster", "status"]).await
    })
    .await;
    assert_eq!(code, 1, "no node runs");
    a.restart().await;
    assert_eq!(alice.at(&a).history(&id).await, before);
    let path = format!("/sessions/{id}/messages");
    alice.at(&a).post(&path, json!({"content": "x"})).await.assert_refused_any(503, &["outcome_unknown"]);
    b.restart().await;
    let said = async || (alice.at(&a).post(&path, json!({"content": "y"})).await.status == 201).then_some(());
    eventually_within(ELECTED, "both keep it", said).await;
}

/// The nodes of a cluster as `plenary cluster status` tells of them, once one has the pen.
async fn nodes(nats: &NatsServers, is_there: impl Fn(&[Value]) -> bool) -> (i32, Vec<Value>) {
    eventually_within(ELECTED, "the nodes say who they are", async || {
        let (code, out) = asked(nats, &["cluster", "status", "--json"]).await?;
        let status: Value = serde_json::from_str(out.lines().next()?).ok()?;
        let nodes = status["nodes"].as_array()?.clone();
        let has_pen = nodes.iter().any(|node| node["pen"] == true);
        (has_pen && is_there(&nodes)).then_some((code, nodes))
    })
    .await
}

/// A node that is alone acknowledges and says so; a node that stops hands the pen on, and one that is killed loses it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pen_goes_from_node_to_node() {
    let Some(nats) = NatsServers::one().await else { return };
    let start = |name: &str| {
        let builder = Server::builder().arg("--cluster").arg(&nats.urls()).arg("--cluster-dev");
        builder.arg("--cluster-node").arg(name).start()
    };
    let mut a = start("a").await;
    let alice = a.agent("@alice.bot").await;
    let (code, alone) = nodes(&nats, |nodes| nodes.iter().any(|node| node["alone"] == true)).await;
    assert_eq!((code, &alone[0]["node"], alone.len()), (1, &json!("a"), 1));
    let mut b = start("b").await;
    let bob = b.agent("@bob.bot").await;
    let id = room(&[&alice, &bob]).await;
    let bob_b = bob.at(&b);
    for n in 0..6 {
        if n % 2 == 0 { &alice } else { &bob_b }.say(&id, n.to_string()).await;
    }
    let (code, both) = nodes(&nats, |nodes| nodes.len() == 2).await;
    assert_eq!(code, 0, "{both:?}");
    let holders: Vec<_> = both.iter().filter(|node| node["pen"] == true).collect();
    assert_eq!((holders.len(), &holders[0]["node"]), (1, &json!("a")), "{both:?}");
    let drained = eventually_within(ELECTED, "b takes the pen", async || {
        asked(&nats, &["cluster", "drain", "--node", "a", "--json"]).await
    })
    .await;
    assert!(drained.1.contains(r#""pen":"b""#), "{drained:?}");
    a.stop().await;
    bob_b.say(&id, "a has stopped").await;
    a.restart().await;
    alice.at(&a).say(&id, "a is back").await;
    b.kill().await;
    alice.at(&a).say(&id, "b is dead").await;
    b.restart().await;
    let log = bob.at(&b).history(&id).await;
    assert_eq!(alice.at(&a).history(&id).await, log);
    assert_eq!(blackbox::content_of(&log)[6..], ["a has stopped", "a is back", "b is dead"]);
    for server in [&a, &b] {
        assert_verified(&nats, server).await;
    }
}

/// A store becomes the beginning of a cluster's log, and a replica a store again; nothing in it changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_becomes_a_cluster_and_a_store_again() {
    let Some(nats) = NatsServers::one().await else { return };
    let mut single = Server::start().await;
    let (alice, bob) = (single.agent("@alice.bot").await, single.agent("@bob.bot").await);
    let id = room(&[&alice, &bob]).await;
    for n in 0..20 {
        alice.say(&id, n.to_string()).await;
    }
    single.block(&bob, "@alice.bot").await;
    let before = bob.history(&id).await;

    // A copy of a store that a server has open.
    let data = single.data().display().to_string();
    let copied = single.data().parent().expect("it lies in a directory").join("copied");
    let cli = Cli::new(&[("PLENARY_CLUSTER", &nats.urls()), ("PLENARY_CLUSTER_DEV", "true")]);
    let copied = copied.display().to_string();
    let ran = cli.run(&["log", "copy", "--from", &data, "--to", &copied]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_ne!(cli.run(&["log", "copy", "--from", &data, "--to", &copied]).await.code, 0, "it is there");
    let foreign = cli.run(&["cluster", "verify", "--data", &copied]).await;
    assert!(foreign.code == 2 && foreign.err.contains("is no replica of a cluster's log"), "{foreign:?}");
    assert_ne!(cli.run(&["cluster", "begin", "--data", &data]).await.code, 0, "a server runs on it");

    single.stop().await;
    let ran = cli.run(&["cluster", "begin", "--data", &data]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let node = || Server::builder().arg("--cluster").arg(&nats.urls()).arg("--cluster-dev").start();
    let (a, mut b) = tokio::join!(node(), node());
    for server in [&a, &b] {
        assert_eq!(bob.at(server).history(&id).await, before);
        assert_verified(&nats, server).await;
    }
    alice.at(&b).post("/sessions", json!({ "invite": ["@bob.bot"] })).await.assert_refused(404, "not_found");
    let carol = a.agent("@carol.bot").await;
    bob.at(&b).create(&[&carol]).await;
    let again = cli.run(&["cluster", "begin", "--data", &copied]).await;
    assert!(again.code != 0 && again.err.contains("records already"), "{again:?}");

    let replica = b.data().display().to_string();
    assert_ne!(cli.run(&["cluster", "leave", "--data", &replica]).await.code, 0, "a node runs on it");
    b.stop().await;
    let ran = cli.run(&["cluster", "leave", "--data", &replica]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_ne!(cli.run(&["cluster", "leave", "--data", &replica]).await.code, 0, "it is no replica any more");
    let ran = cli.run(&["fsck", "--data", &replica, "--json"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let alone = Server::on(&replica).await;
    assert_eq!(bob.at(&alone).history(&id).await, before);
    // The one that the block ended, and the new one.
    assert_eq!(bob.at(&alone).get("/sessions").await.ok(200)["sessions"].as_array().map(Vec::len), Some(2));
}

/// Servers that acknowledge before they flush are refused, where they say so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_do_not_flush_are_refused() {
    let Some(nats) = NatsServers::one_without_flush().await else { return };
    let urls = nats.urls();
    let args = ["serve", "--listen", "127.0.0.1:0", "--cluster-dev", "--cluster", &urls];
    let more = ["--cluster-monitor", &nats.monitor(), "--data", "data"];
    let ran = Cli::new(&[]).run(&[&args[..], &more[..]].concat()).await;
    assert!(ran.code != 0 && ran.err.contains("sync_interval"), "{ran:?}");
}

/// The user and password of a URL are those of the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_want_a_password_get_it() {
    let Some(nats) = NatsServers::one_with_password().await else { return };
    let server = Server::builder().arg("--cluster").arg(&nats.urls()).arg("--cluster-dev").start().await;
    server.agent("@alice.bot").await.get("/sessions").await.ok(200);
    let other = nats.urls().replace("ple:", "eve:");
    let cli = Cli::new(&[("PLENARY_CLUSTER", &other), ("PLENARY_CLUSTER_DEV", "true")]);
    let ran = cli.run(&["cluster", "status"]).await;
    assert!(ran.code != 0 && ran.err.contains("authorization"), "{ran:?}");
}
