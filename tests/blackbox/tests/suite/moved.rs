//! A server moves from SQLite to PostgreSQL and back: everything reads the same, a copy that was killed is no store, and
//! nothing acknowledged is missing after a move under load.

use std::{path::Path, process::Stdio};

use blackbox::{
    Agent, Builder, Cli, Database, NatsServers, Response, Sender, Server, TempDir, TestDependency, check_log,
    content_of, eventually, in_time, pair, room,
};
use futures_util::future::join_all;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_postgres::NoTls;

const PARROT: &str = "[agents.parrot]\nkind = \"echo\"\nowner = \"acme\"\npolicy = \"open\"\n";

/// A server with an agent of its own and contents that stay where they are.
fn server(contents: &Path) -> Builder {
    Server::builder().config(PARROT).arg("--blobs").arg(&format!("file://{}", contents.display()))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

async fn copied(from: &str, to: &str) -> Value {
    let ran = Cli::new(&[]).run(&["log", "copy", "--from", from, "--to", to, "--json"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.out).expect("one line of JSON")
}

async fn assert_sound(store: [&str; 2], contents: &Path) {
    let blobs = format!("file://{}", contents.display());
    let ran = Cli::new(&[]).run(&["fsck", store[0], store[1], "--blobs", &blobs, "--json"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// What was made in every room.
struct Made {
    alice: Agent,
    bob: Agent,
    session: String,
    channel: String,
    run: String,
    /// The answer to a message with a key.
    sent: Response,
}

async fn say_once(who: &Agent, session: &str, key: &str) -> Response {
    let body = json!({"content": "once", "idempotency_key": key});
    who.post(&format!("/sessions/{session}/messages"), body).await
}

async fn made(server: &Server) -> Made {
    let (alice, bob, session) = pair(server).await;
    for n in 0..30 {
        alice.say(&session, format!("to confirm {n}")).await;
    }
    let mut hearing = bob.connect().await;
    hearing.until_text("to confirm 29").await;
    hearing.wait_until_confirmed().await;
    hearing.close().await;
    let sent = say_once(&alice, &session, "key").await;
    sent.ok(201);
    let package = json!({
        "package_id": "one", "project_id": "atlas", "relay_version": "0.1", "title": "Shipped", "status": "complete",
        "package_type": "standard", "review_type": "none", "created_at": "2026-01-01T00:00:00Z",
        "created_by": {"id": alice.handle, "type": "agent"}, "content_md": "relevant words",
    });
    alice.post("/v1/projects/atlas/packages", package).await.ok(201);
    let fact = json!({"subject": "s", "predicate": "p", "value": "v"});
    alice.post("/v1/projects/atlas/facts", fact).await.ok(201);
    let channel = alice.post("/agent-channel", json!({"title": "t"})).await.ok(200);
    let channel = channel["id"].as_str().expect("an id").to_owned();
    let note = json!({"kind": "note", "payload": {"text": "noted"}});
    alice.post(&format!("/agent-channel/{channel}/event"), note).await.ok(200);
    let run = alice.post("/agent/parrot/run", json!({"input": "hi"})).await;
    let run = run.header("x-run-id").expect("a run").to_owned();
    eventually("the run ends", async || {
        let run = alice.get(&format!("/agent/parrot/runs/{run}")).await.json();
        (run["status"] == "completed").then_some(())
    })
    .await;
    server.block(&bob, "@carol.bot").await;
    Made { alice, bob, session, channel, run, sent }
}

impl Made {
    fn at(&self, server: &Server) -> Self {
        let Self { session, channel, run, sent, .. } = self;
        Self {
            alice: self.alice.at(server),
            bob: self.bob.at(server),
            session: session.clone(),
            channel: channel.clone(),
            run: run.clone(),
            sent: sent.clone(),
        }
    }

    /// Everything that the two read, byte by byte.
    async fn picture(&self) -> Vec<String> {
        let mut seen = Vec::new();
        for path in [
            "/sessions".to_owned(),
            format!("/sessions/{}", self.session),
            format!("/sessions/{}/events?after_sequence=0", self.session),
            "/v1/packages/one".to_owned(),
            "/v1/projects/atlas/facts?include_ended=true".to_owned(),
            "/agents/me".to_owned(),
            "/usage".to_owned(),
        ] {
            for who in [&self.alice, &self.bob] {
                seen.push(format!("{path} {}", who.get(&path).await.fingerprint()));
            }
        }
        for who in [&self.alice, &self.bob] {
            let mut inbox = who.get("/inbox").await.ok(200);
            for item in inbox["items"].as_array_mut().expect("a list") {
                item.as_object_mut().expect("an item").remove("age_s");
            }
            seen.push(inbox.to_string());
        }
        for path in [
            format!("/agent-channel/{}/events", self.channel),
            format!("/agent/parrot/runs/{}", self.run),
            "/v1/projects/atlas/packages?mode=latest".to_owned(),
        ] {
            seen.push(format!("{path} {}", self.alice.get(&path).await.fingerprint()));
        }
        seen
    }

    #[track_caller]
    fn assert_same(before: &[String], after: &[String]) {
        for (before, after) in before.iter().zip(after) {
            assert_eq!(before, after);
        }
    }

    /// The key is known, the cursor is where it was, and the index is made again.
    async fn assert_lives(&self) {
        let again = say_once(&self.alice, &self.session, "key").await;
        assert_eq!((again.status, &again.body, again.is_replayed()), (201, &self.sent.body, true), "{again}");
        let found = format!("/sessions/{}/messages", self.session);
        let other = json!({"content": "another", "idempotency_key": "key"});
        self.alice.post(&found, other).await.assert_refused(409, "idempotency_key_reused");
        eventually("the message is found", async || {
            let page = self.alice.get("/search/messages?q=once").await.ok(200);
            page["messages"].as_array().is_some_and(|found| !found.is_empty()).then_some(())
        })
        .await;
    }

    /// Bob hears from where he was, and no more than once.
    async fn assert_hears(&self, text: &str) {
        let mut hearing = self.bob.connect().await;
        // What he hears last is that he is back.
        let heard = hearing.until(|event| event["type"] == "session.reconnected").await;
        assert_eq!(content_of(&heard), [text], "from the confirmed one on");
        hearing.wait_until_confirmed().await;
        hearing.close().await;
        // Else he would be back before he was gone, which is no event.
        eventually("the server knows that he is gone", async || {
            let history = self.alice.history(&self.session).await;
            let is_presence = |event: &&Value| {
                matches!(event["type"].as_str(), Some("session.disconnected" | "session.reconnected"))
            };
            let last = history.iter().rev().find(is_presence)?;
            (last["type"] == "session.disconnected").then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_moves_to_postgres_and_back_and_nothing_changes() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let (database, kept) = (Database::create(&admin).await, TempDir::new());
    let contents = kept.path().join("contents");
    let mut first = server(&contents).data(&kept.path().join("first")).start().await;
    let on_first = made(&first).await;
    let before = on_first.picture().await;
    first.stop().await;
    let report = copied(&text(first.data()), database.url()).await;
    assert!(report["ok"] == true && report["head"].as_u64() > Some(30), "{report}");
    assert_sound(["--database", database.url()], &contents).await;

    let mut second = server(&contents).database(database.url()).start().await;
    let on_second = on_first.at(&second);
    Made::assert_same(&before, &on_second.picture().await);
    on_second.assert_lives().await;
    on_second.assert_hears("once").await;
    on_second.alice.say(&on_second.session, "on postgres").await;
    on_second.assert_hears("on postgres").await;
    let before = on_second.picture().await;
    second.stop().await;

    let back = kept.path().join("back");
    copied(database.url(), &text(&back)).await;
    assert_sound(["--data", &text(&back)], &contents).await;
    let mut third = server(&contents).data(&back).start().await;
    let on_third = on_second.at(&third);
    Made::assert_same(&before, &on_third.picture().await);
    on_third.assert_lives().await;
    for said in ["back", "and again"] {
        on_third.alice.say(&on_third.session, said).await;
        on_third.assert_hears(said).await;
    }
    third.stop().await;
    assert_sound(["--data", &text(&back)], &contents).await;
    database.remove().await;
}

/// A server on PostgreSQL becomes a cluster, and a node of it a server on PostgreSQL again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_moves_from_postgres_to_a_cluster_and_back_and_nothing_changes() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let Some(nats) = NatsServers::one().await else { return };
    let (database, kept) = (Database::create(&admin).await, TempDir::new());
    let (contents, start) = (kept.path().join("contents"), kept.path().join("start"));
    // Nobody is away for too long, however long this takes.
    let server = |contents: &Path| server(contents).grace("1h");
    let mut first = server(&contents).database(database.url()).start().await;
    let on_first = made(&first).await;
    let file = on_first.alice.upload_file("q3.pdf", b"the content").await;
    let naming = json!([{"type": "file", "file_id": file}]);
    on_first.alice.say(&on_first.session, naming).await;
    let before = on_first.picture().await;
    first.stop().await;

    copied(database.url(), &text(&start)).await;
    assert_sound(["--data", &text(&start)], &contents).await;
    let cli = Cli::new(&[("PLENARY_CLUSTER", &nats.urls()), ("PLENARY_CLUSTER_DEV", "true")]);
    let begun = cli.run(&["cluster", "begin", "--data", &text(&start)]).await;
    assert_eq!(begun.code, 0, "{begun:?}");
    let node = || server(&contents).arg("--cluster").arg(&nats.urls()).arg("--cluster-dev");
    // One node has the directory that was copied, and one has nothing.
    let (old, mut new) = tokio::join!(node().data(&start).start(), node().start());
    for server in [&old, &new] {
        let on_node = on_first.at(server);
        Made::assert_same(&before, &on_node.picture().await);
        on_node.assert_lives().await;
        let got = on_node.bob.get(&format!("/files/{file}")).await;
        assert_eq!((got.status, &*got.body), (200, &b"the content"[..]));
    }
    let on_new = on_first.at(&new);
    on_new.alice.say(&on_new.session, "in the cluster").await;
    assert_eq!(content_of(&on_new.bob.history(&on_new.session).await).last(), Some(&"in the cluster"));
    let before = on_new.picture().await;
    drop(old);
    new.stop().await;

    let left = cli.run(&["cluster", "leave", "--data", &text(new.data())]).await;
    assert_eq!(left.code, 0, "{left:?}");
    let back = Database::create(&admin).await;
    let report = copied(&text(new.data()), back.url()).await;
    assert!(report["ok"] == true, "{report}");
    assert_sound(["--database", back.url()], &contents).await;
    let last = server(&contents).database(back.url()).start().await;
    let on_last = on_new.at(&last);
    Made::assert_same(&before, &on_last.picture().await);
    on_last.assert_lives().await;
    on_last.alice.say(&on_last.session, "back").await;
    assert_eq!(content_of(&on_last.bob.history(&on_last.session).await).last(), Some(&"back"));
    assert_eq!(on_last.bob.get(&format!("/files/{file}")).await.body, b"the content"[..]);
    drop(last);
    database.remove().await;
    back.remove().await;
}

/// Where there is a store already, nothing is copied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_with_a_store_is_refused_and_stays_as_it_is() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let (database, kept) = (Database::create(&admin).await, TempDir::new());
    let (one, other) = (Server::start().await, Server::builder().database(database.url()).start().await);
    let (alice, bob, session) = pair(&other).await;
    alice.say(&session, "stays").await;
    pair(&one).await;
    let refused = async |from: &str, to: &str, words: &str| {
        let ran = Cli::new(&[]).run(&["log", "copy", "--from", from, "--to", to]).await;
        assert!(ran.code == 1 && ran.err.contains(words), "{ran:?}");
    };
    let data = text(one.data());
    refused(&data, database.url(), "is not empty").await;
    refused(database.url(), &data, "has").await;
    refused(database.url(), database.url(), "is not empty").await;
    refused(&text(&kept.path().join("nothing")), database.url(), "opening the store").await;
    std::fs::create_dir_all(kept.path().join("index/search/of")).expect("a directory can be made");
    refused(database.url(), &text(&kept.path().join("index")), "search index of another store").await;
    let misused = Cli::new(&[]).run(&["log", "copy", "--from", &data, "--to", "nats://127.0.0.1:1"]).await;
    assert!(misused.code == 2 && misused.err.contains("cluster begin"), "{misused:?}");
    assert_eq!(content_of(&bob.history(&session).await), ["stays"]);
    drop(other);
    database.remove().await;
}

/// The URL has the password.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_password_is_printed_or_shown() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let (database, kept) = (Database::create(&admin).await, TempDir::new());
    let secret = "s3cret-of-the-database";
    let (scheme, rest) = database.url().split_once("://").expect("a scheme");
    let (user, place) = rest.split_once('@').expect("a user");
    let user = user.split_once(':').map_or(user, |(user, _)| user);
    let url = format!("{scheme}://{user}:{secret}@{place}");
    let one = Server::builder().data(&kept.path().join("one")).start().await;
    pair(&one).await;
    let cli = Cli::new(&[]);
    let mut following = cli.start(&["log", "copy", "--from", &text(one.data()), "--to", &url, "--follow"]);
    let note = following.note_with("follows").await;
    let (words, environment) = following.proc_texts();
    assert!(words.contains("copy") && !words.contains(secret) && !environment.contains(secret), "{words}");
    let busy = cli.run(&["log", "copy", "--from", &text(one.data()), "--to", &url]).await;
    assert!(busy.code == 1 && busy.err.contains("another copy"), "{busy:?}");
    following.signal(Signal::KILL);
    let killed = following.end().await;
    let unreachable = format!("postgres://{user}:{secret}@127.0.0.1:1/x");
    let away = cli.run(&["log", "copy", "--from", &unreachable, "--to", "there", "--json"]).await;
    assert_eq!(away.code, 3, "{away:?}");
    let done = cli.run(&["log", "copy", "--from", &text(one.data()), "--to", &url]).await;
    assert_eq!(done.code, 0, "{done:?}");
    let again = cli.run(&["log", "copy", "--from", &url, "--to", &url]).await;
    assert_eq!(again.code, 1, "{again:?}");
    for said in [format!("{note}{killed:?}"), format!("{busy:?}{away:?}"), format!("{done:?}{again:?}")] {
        assert!(!said.contains(secret), "{said}");
    }
    database.remove().await;
}

/// A large store, of which a copy is killed in the middle.
async fn large() -> (Server, Agent, String) {
    let (mut server, alice, bob, session) = Server::with_pair().await;
    let body = "x".repeat(100_000);
    for n in 0..6 {
        join_all((0..20).map(|nth| alice.say(&session, format!("{n}.{nth} {body}")))).await;
    }
    server.stop().await;
    (server, bob, session)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_copy_is_no_store_and_the_next_one_finishes_it() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let (database, kept) = (Database::create(&admin).await, TempDir::new());
    let (mut first, bob, session) = large().await;
    let cli = Cli::new(&[]);
    let data = text(first.data());
    let copy = |from: &str, to: &str| {
        cli.spawn(&["log", "copy", "--from", from, "--to", to], Stdio::null(), Stdio::null())
    };

    let (client, connection) =
        tokio_postgres::connect(database.url(), NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    let mut copying = copy(&data, database.url());
    eventually("some of it is there", async || {
        let rows = client.query_one("SELECT last FROM plenary.head WHERE last > 10", &[]).await;
        rows.ok().map(|row| row.get::<_, i64>(0))
    })
    .await;
    copying.kill().await.expect("it is killed");
    let serving = cli.run(&["serve", "--listen", "127.0.0.1:0", "--database", database.url()]).await;
    assert!(serving.code == 1 && serving.err.contains("unfinished copy"), "{serving:?}");
    let looking = cli.run(&["fsck", "--database", database.url()]).await;
    assert!(looking.code == 2 && looking.err.contains("unfinished copy"), "{looking:?}");
    copied(&data, database.url()).await;
    drop(client);

    let back = kept.path().join("back");
    let mut copying = copy(database.url(), &text(&back));
    eventually("some of it is there", async || {
        let log = std::fs::metadata(back.join("plenary.db.unfinished-wal")).ok()?;
        (log.len() > 2 << 20).then_some(())
    })
    .await;
    copying.kill().await.expect("it is killed");
    let serving = cli.run(&["serve", "--listen", "127.0.0.1:0", "--data", &text(&back)]).await;
    assert!(serving.code == 1 && serving.err.contains("unfinished copy"), "{serving:?}");
    let looking = cli.run(&["fsck", "--data", &text(&back)]).await;
    assert!(looking.code == 2 && looking.err.contains("unfinished copy"), "{looking:?}");
    copied(database.url(), &text(&back)).await;
    // Of a file that stays in one place, too.
    copied(&text(&back), &text(&kept.path().join("third"))).await;

    first.restart().await;
    let before = bob.history(&session).await;
    for builder in [
        Server::builder().database(database.url()),
        Server::builder().data(&back),
        Server::builder().data(&kept.path().join("third")),
    ] {
        let server = builder.start().await;
        assert_eq!(bob.at(&server).history(&session).await, before);
    }
    assert_sound(["--database", database.url()], kept.path()).await;
    assert_sound(["--data", &text(&back)], kept.path()).await;
    database.remove().await;
}

/// Agents that send all the time, and go on on the new server.
async fn under_load(mut old: Server, from: &str, to: &str, new: Builder, is_killed: bool) {
    let mut members = Vec::new();
    for number in 0..3 {
        members.push(old.agent(&format!("@sender.n{number}")).await);
    }
    let everyone: Vec<_> = members.iter().collect();
    let session = room(&everyone).await;
    let (stop, stopped) = watch::channel(false);
    let senders: Vec<_> = members
        .iter()
        .enumerate()
        .map(|(nth, member)| {
            tokio::spawn(Sender::new(member, &session, &format!("s{nth}")).run(stopped.clone()))
        })
        .collect();
    let sent = async |least: usize, at: &Agent| {
        eventually("there is load", async || (at.history(&session).await.len() > least).then_some(())).await;
    };
    sent(30, &members[0]).await;
    let cli = Cli::new(&[]);
    let mut following = cli.start(&["log", "copy", "--from", from, "--to", to, "--follow"]);
    following.note_with("follows").await;
    let there = members[0].history(&session).await.len();
    sent(there + 60, &members[0]).await;
    if is_killed {
        old.kill().await
    } else {
        old.stop().await
    }
    let ran = in_time("the copy ends with the server", following.end()).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let server = new.start().await;
    let there = members[0].at(&server).history(&session).await.len();
    // The agents find the new server where the old one was.
    old.address().set_port(server.address().get().port());
    sent(there + 30, &members[0].at(&server)).await;
    stop.send(true).expect("the senders listen");
    let senders: Vec<_> =
        join_all(senders).await.into_iter().map(|sender| sender.expect("no panic")).collect();
    check_log(&members[0].at(&server).history(&session).await, &senders);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_under_load_loses_nothing_that_was_acknowledged() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let (database, kept) = (Database::create(&admin).await, TempDir::new());
    let old = Server::start().await;
    let data = text(old.data());
    under_load(old, &data, database.url(), Server::builder().database(database.url()), false).await;
    assert_sound(["--database", database.url()], kept.path()).await;
    let other = Database::create(&admin).await;
    let old = Server::builder().database(other.url()).start().await;
    let back = kept.path().join("back");
    under_load(old, other.url(), &text(&back), Server::builder().data(&back), true).await;
    assert_sound(["--data", &text(&back)], kept.path()).await;
    database.remove().await;
    other.remove().await;
}
