//! What an owner may store: past its bound it is refused by the name of the rule, in every room; everybody else goes on,
//! and so do reading, leaving, ending and deleting. What is counted survives a crash, and two processes agree on it.

use std::path::Path;

use blackbox::{Agent, Caller, Cli, Database, Response, Server, TempDir, TestDependency, eventually, pair};
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::context::canonical::sha256;

const PARROT: &str = "[agents.parrot]\nkind = \"echo\"\nowner = \"acme\"\npolicy = \"open\"\n";

async fn limited(rules: &str) -> Server {
    Server::builder().config(&format!("[quota]\n{rules}\n{PARROT}")).start().await
}

/// Refused by this rule; the text names what is used and what is allowed.
#[track_caller]
fn over(response: &Response, rule: &str, max: u64) {
    assert_eq!(response.status, 403, "{response}");
    let body = response.json();
    let code = if body["code"].is_null() { &body["error"]["code"] } else { &body["code"] };
    assert_eq!(code, "quota_exceeded", "{response}");
    let text = response.text();
    assert!(text.contains(rule) && text.contains(&max.to_string()), "{response}");
}

async fn usage(who: &Caller) -> (u64, u64) {
    let usage = who.get("/usage").await.ok(200);
    let number = |name: &str| usage[name].as_u64().unwrap_or_else(|| panic!("{name} in {usage}"));
    (number("stored_bytes"), number("stored_events"))
}

/// A run of the parrot from its beginning to its end, which is stored and counted too.
async fn parroted(who: &Agent) {
    let run = who.post("/agent/parrot/run", json!({"input": "hi"})).await;
    assert_eq!(run.status, 202, "{run}");
    let run = run.header("x-run-id").expect("a run").to_owned();
    eventually("the run ends", async || {
        let run = who.get(&format!("/agent/parrot/runs/{run}")).await.json();
        (run["status"] == "completed").then_some(())
    })
    .await;
}

/// Sends until it is refused, which it is before so many events are stored.
async fn sent_until_refused(who: &Agent, session: &str, max: u64) -> Response {
    for _ in 0..=max {
        let answer = send(who, session, "more").await;
        if answer.status >= 300 {
            return answer;
        }
    }
    panic!("{} messages were taken, and no more than {max} events may be stored", max + 1);
}

async fn send(who: &Agent, session: &str, text: &str) -> Response {
    who.post(&format!("/sessions/{session}/messages"), json!({"content": text})).await
}

fn package(by: &Agent, id: &str, text: &str) -> Value {
    json!({
        "package_id": id, "project_id": "atlas", "relay_version": "0.1", "title": "Shipped", "status": "complete",
        "package_type": "standard", "review_type": "none", "created_at": "2026-01-01T00:00:00Z",
        "created_by": {"id": by.handle, "type": "agent"}, "content_md": text,
    })
}

async fn deposit(by: &Agent, id: &str, text: &str) -> Response {
    by.post("/v1/projects/atlas/packages", package(by, id, text)).await
}

async fn post(who: &Agent, channel: &str, text: &str) -> Response {
    let body = json!({"kind": "note", "payload": {"text": text}});
    who.post(&format!("/agent-channel/{channel}/event"), body).await
}

async fn channel(who: &Agent) -> String {
    let made = who.post("/agent-channel", json!({"title": "t"})).await.ok(200);
    made["id"].as_str().expect("an id").to_owned()
}

async fn put(who: &Caller, content: &[u8]) -> Response {
    let path = format!("/v1/projects/atlas/blobs/{}", sha256(content));
    let kind = [("Content-Type", "application/octet-stream")];
    who.bytes(&who.request("PUT", &path, &kind, Some(content))).await
}

/// How many files there are below a directory.
fn files(below: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(below) else { return 0 };
    entries.flatten().map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

/// Everything that stores is refused once the events are used up, in the form of each room.
#[tokio::test]
async fn past_its_events_an_owner_is_refused_in_every_room_and_others_are_not() {
    const MAX: u64 = 30;
    let server = limited(&format!("stored_events_max = {MAX}")).await;
    let (alice, bob, session) = pair(&server).await;
    let second = server.agent("@alice.second").await;
    let (open, held) = (channel(&alice).await, channel(&second).await);
    deposit(&alice, "one", "x").await.ok(201);
    parroted(&alice).await;
    over(&sent_until_refused(&alice, &session, MAX).await, "stored_events_max", MAX);
    // Both of its agents, in all rooms.
    over(&post(&alice, &open, "more").await, "stored_events_max", MAX);
    over(&alice.post("/agent-channel", json!({"title": "t"})).await, "stored_events_max", MAX);
    over(&deposit(&second, "two", "x").await, "stored_events_max", MAX);
    over(&second.post("/v1/projects", json!({"project_id": "other"})).await, "stored_events_max", MAX);
    let fact = json!({"subject": "s", "predicate": "p", "value": "v"});
    over(&alice.post("/v1/projects/atlas/facts", fact).await, "stored_events_max", MAX);
    over(&second.post("/agent/parrot/run", json!({"input": "hi"})).await, "stored_events_max", MAX);
    over(&second.post("/sessions", json!({"invite": []})).await, "stored_events_max", MAX);
    over(&put(&alice, b"content").await, "stored_events_max", MAX);

    // The other owner has its own, in the same session too.
    bob.say(&session, "still here").await;
    let others = channel(&bob).await;
    assert_eq!(post(&bob, &others, "x").await.status, 200);

    // What reads, ends, leaves and takes away goes on.
    assert!(alice.history(&session).await.len() > 3);
    alice.get("/v1/packages/one").await.ok(200);
    alice.get("/inbox").await.ok(200);
    alice.post(&format!("/agent-channel/{open}/key"), json!({})).await.ok(200);
    alice.post(&format!("/agent-channel/{open}/close"), json!({})).await.ok(200);
    second.post(&format!("/agent-channel/{held}/close"), json!({})).await.ok(200);
    alice.leave(&session).await;
    let owner = server.owner("alice").await;
    owner.post_empty("/v1/projects/atlas/archive").await.ok(200);
    let gone = owner.delete("/_admin/agents/@alice.second").await;
    assert!(gone.status < 300, "{gone}");
    server.block(&alice, "@bob.bot").await;

    let (_, events) = usage(&alice).await;
    assert!((MAX..MAX + 10).contains(&events), "what ends is counted and not refused: {events}");
    assert_eq!(usage(&owner).await, usage(&alice).await, "the owner sees the same");
    let shown = owner.get("/usage").await.ok(200);
    assert_eq!((&shown["owner"], &shown["stored_events_max"]), (&json!("alice"), &json!(MAX)));
    assert_eq!(shown["stored_bytes_max"], json!(10_u64 << 30), "the default of the other rule");
    server.operator().get("/usage").await.assert_refused(404, "not_found");
    let listed = server.operator().get("/_admin/owners").await.ok(200);
    let alices = listed["owners"].as_array().expect("a list").iter().find(|one| one["owner"] == "alice");
    assert_eq!(alices.expect("alice is listed")["stored_events"], json!(events));
    let said = Cli::of(&server, &alice, &session).run_ok(&["status"]).await;
    assert!(said.contains("of 10.0 GiB") && said.contains(&format!("{events} of {MAX} events")), "{said}");
    let said = Cli::of(&server, &alice, &session).run_ok(&["status", "--json"]).await;
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said["usage"]["stored_events"], json!(events));
}

/// Bytes of messages, packages, channels and contents count together, and a content that does not fit is not kept.
#[tokio::test]
async fn past_its_bytes_an_owner_stores_nothing_large_and_what_it_has_stays() {
    const MAX: u64 = 100_000;
    let server = limited(&format!("stored_bytes_max = {MAX}")).await;
    let (alice, bob, session) = pair(&server).await;
    deposit(&alice, "one", &"x".repeat(20_000)).await.ok(201);
    alice.say(&session, "y".repeat(20_000)).await;
    let open = channel(&alice).await;
    assert_eq!(post(&alice, &open, &"z".repeat(20_000)).await.status, 200);
    let (before, _) = usage(&alice).await;
    assert!(before > 60_000 && before < 70_000, "{before}");
    let first = vec![1; 20_000];
    put(&alice, &first).await.ok(201);
    let (bytes, _) = usage(&alice).await;
    assert!(bytes > before + 20_000 && bytes < before + 21_000, "{bytes}");

    let kept = files(&server.data().join("blobs"));
    for number in 2..6 {
        over(&put(&alice, &vec![number; 30_000]).await, "stored_bytes_max", MAX);
    }
    assert_eq!(files(&server.data().join("blobs")), kept, "nothing is kept of what was refused");
    put(&alice, &first).await.ok(200);
    over(&deposit(&alice, "two", &"x".repeat(20_000)).await, "stored_bytes_max", MAX);
    over(&send(&alice, &session, &"x".repeat(20_000)).await, "stored_bytes_max", MAX);
    over(&post(&alice, &open, &"x".repeat(20_000)).await, "stored_bytes_max", MAX);
    alice.say(&session, "what is small still fits").await;

    bob.say(&session, "x".repeat(50_000)).await;
    alice.get("/v1/packages/one").await.ok(200);
    assert_eq!(alice.get(&format!("/v1/projects/atlas/blobs/{}", sha256(&first))).await.body, first);
    let (bytes, _) = usage(&alice).await;
    assert!(bytes <= MAX, "{bytes}");
}

/// Where the server cannot say what is stored, `plenary status` shows everything else.
#[tokio::test]
async fn what_is_stored_may_be_unknown() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let server = Server::builder().database(database.url()).start().await;
    let alice = server.agent("@alice.bot").await;
    let (client, connection) =
        tokio_postgres::connect(database.url(), NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    client.batch_execute("ALTER TABLE plenary.usage RENAME TO gone").await.expect("the counters go");
    eventually("it is not said", async || (alice.get("/usage").await.status >= 500).then_some(())).await;
    let cli = Cli::of(&server, &alice, "s-1");
    let said = cli.run_ok(&["status"]).await;
    assert!(said.contains("accepted as @alice.bot") && said.contains("stored  unknown"), "{said}");
    let said: Value = serde_json::from_str(&cli.run_ok(&["status", "--json"]).await).expect("JSON");
    assert_eq!((&said["accepted_as"], &said["usage"]), (&json!("@alice.bot"), &Value::Null));
    drop((client, server));
    database.remove().await;
}

/// A request that was carried out is answered again, though nothing more fits.
#[tokio::test]
async fn a_repeated_request_is_answered_past_the_bound() {
    let server = limited("stored_events_max = 3").await;
    let (alice, _bob, session) = pair(&server).await;
    let body = json!({"content": "once", "idempotency_key": "k"});
    let path = format!("/sessions/{session}/messages");
    let first = alice.post(&path, body.clone()).await;
    sent_until_refused(&alice, &session, 3).await;
    let again = alice.post(&path, body).await;
    assert_eq!((again.status, &again.body, again.is_replayed()), (first.status, &first.body, true));
    over(&send(&alice, &session, "more").await, "stored_events_max", 3);
}

/// An invitation is one event, whether or not the invitee knows the inviter, and none goes out past the bound.
#[tokio::test]
async fn an_invitation_counts_and_is_refused_past_the_bound() {
    const MAX: u64 = 4;
    let server = limited(&format!("stored_events_max = {MAX}")).await;
    let alice = server.agent("@alice.bot").await;
    server.agent("@bob.open").await;
    server.closed_agent("@bob.knows", &["@alice.*"]).await;
    let opened = alice.post("/sessions", json!({"invite": ["@bob.open"]})).await.ok(201);
    let (before, events) = usage(&alice).await;
    assert_eq!(events, 2);
    let path = format!("/sessions/{}/invite", opened["session_id"].as_str().expect("an id"));
    assert!(alice.post(&path, json!({"invite": ["@bob.knows"]})).await.status < 300);
    let (after, events) = usage(&alice).await;
    assert_eq!(events, 3);
    // The same for a stranger, whose invitation is stored in a longer form.
    server.agent("@bob.third").await;
    assert!(alice.post(&path, json!({"invite": ["@bob.third"]})).await.status < 300);
    assert_eq!(usage(&alice).await, (after + (after - before), MAX));
    server.agent("@bob.fourth").await;
    over(&alice.post(&path, json!({"invite": ["@bob.fourth"]})).await, "stored_events_max", MAX);
}

/// What an agent says of itself counts, and so does what is kept of answers; what takes away reach is never refused.
#[tokio::test]
async fn profiles_lists_contacts_and_kept_answers_count() {
    const MAX: u64 = 60_000;
    let server = limited(&format!("stored_bytes_max = {MAX}")).await;
    let body = json!({"handle": "@alice.bot", "policy": "open", "self_service": true});
    let alice = server.agent_as(body).await;
    server.agent("@bob.bot").await;
    let card = |letter: &str| json!({"card_body": letter.repeat(16_000)});
    for letter in ["a", "b", "c"] {
        alice.patch("/agents/me", card(letter)).await.ok(200);
    }
    let (used, events) = usage(&alice).await;
    assert!(used > 48_000 && events == 3, "{used} bytes of {events} events");
    over(&alice.patch("/agents/me", card("d")).await, "stored_bytes_max", MAX);

    // An entry of an allowlist counts when it is added, and what removes it is never refused.
    let (before, events) = usage(&alice).await;
    alice.post("/agents/me/allowlist", json!({"entries": ["@bob.*"]})).await.ok(200);
    let (used, more) = usage(&alice).await;
    assert!(used > before && more == events + 1, "{used} bytes of {more} events");
    alice.delete("/agents/me/allowlist/@bob.*").await.ok(200);
    assert_eq!(usage(&alice).await, (used, more));

    // A request to nobody costs what one costs that arrives.
    let asked = async |to: &str| {
        let (before, _) = usage(&alice).await;
        let answer = alice.post("/contacts", json!({"to": to, "message": "hello"})).await;
        assert!(answer.status < 300, "{answer}");
        usage(&alice).await.0 - before
    };
    assert_eq!(asked("@bob.bot").await, asked("@nobody.bot").await);

    let (before, events) = usage(&alice).await;
    let key = [("Idempotency-Key", "k")];
    let body = json!({"policy": "open"});
    assert!(alice.call("PATCH", "/agents/me", &key, Some(&body)).await.status < 300);
    let (used, _) = usage(&alice).await;
    assert!(used > before, "the answer is kept, and counts");
    alice.call("PATCH", "/agents/me", &key, Some(&body)).await.ok(200);
    assert_eq!(usage(&alice).await, (used, events), "a repeat costs nothing");

    for number in 0..500 {
        let answer = alice.patch("/agents/me", json!({"display_name": format!("{number:060}")})).await;
        if answer.status >= 300 {
            over(&answer, "stored_bytes_max", MAX);
            break;
        }
    }
    let entries: Vec<String> = (0..20).map(|number| format!("@b{number}.bot")).collect();
    over(&alice.post("/agents/me/allowlist", json!({"entries": entries})).await, "stored_bytes_max", MAX);
    server.block(&alice, "@bob.bot").await;
}

/// A content that fits to the byte has no room for what says that it is there, and is not kept.
#[tokio::test]
async fn a_content_without_room_for_its_event_is_not_kept() {
    const MAX: u64 = 50_000;
    let server = limited(&format!("stored_bytes_max = {MAX}")).await;
    let alice = server.agent("@alice.bot").await;
    deposit(&alice, "one", "x").await.ok(201);
    let kept = files(&server.data().join("blobs"));
    let (used, _) = usage(&alice).await;
    let size = usize::try_from(MAX - used).expect("it fits");
    for number in 0..3 {
        over(&put(&alice, &vec![number; size]).await, "stored_bytes_max", MAX);
    }
    assert_eq!(files(&server.data().join("blobs")), kept, "nothing is kept of what was refused");
    assert_eq!(usage(&alice).await.0, used);
    put(&alice, &vec![9; size - 1_000]).await.ok(201);
    let (used, _) = usage(&alice).await;
    assert!(used > MAX - 1_000 && used <= MAX, "{used}");
}

/// The same where the bytes are there and the events are used up.
#[tokio::test]
async fn a_content_of_whoever_has_used_up_its_events_is_not_kept() {
    const MAX: u64 = 4;
    let server = limited(&format!("stored_events_max = {MAX}")).await;
    let alice = server.agent("@alice.bot").await;
    deposit(&alice, "one", "x").await.ok(201);
    for number in 0..MAX {
        let answer = deposit(&alice, &format!("more{number}"), "x").await;
        if answer.status != 201 {
            over(&answer, "stored_events_max", MAX);
        }
    }
    let kept = files(&server.data().join("blobs"));
    over(&put(&alice, b"content").await, "stored_events_max", MAX);
    assert_eq!(files(&server.data().join("blobs")), kept, "nothing is kept of what was refused");
}

/// Something of everything that is counted.
async fn filled(server: &Server) -> (Agent, Agent, String) {
    let (alice, bob, session) = pair(server).await;
    for number in 0..5 {
        alice.say(&session, format!("message {number}")).await;
        deposit(&bob, &format!("p{number}"), "text").await.ok(201);
    }
    put(&bob, b"some content").await.ok(201);
    let open = channel(&alice).await;
    assert_eq!(post(&alice, &open, "x").await.status, 200);
    parroted(&alice).await;
    (alice, bob, session)
}

#[tokio::test]
async fn a_crash_changes_nothing_of_what_is_counted() {
    let mut server = limited("stored_events_max = 1000").await;
    let (alice, bob, session) = filled(&server).await;
    let mut counted = (usage(&alice).await, usage(&bob).await);
    assert!(counted.0.1 > 5 && counted.1.1 > 5, "{counted:?}");
    for _ in 0..3 {
        server.crash().await;
        let (alice, bob) = (alice.at(&server), bob.at(&server));
        assert_eq!((usage(&alice).await, usage(&bob).await), counted);
        alice.say(&session, "one more").await;
        let (bytes, events) = usage(&alice).await;
        assert_eq!(events, counted.0.1 + 1);
        counted.0 = (bytes, events);
    }
}

/// The store is what an older release left: nothing is counted, and the next start counts it, once.
#[tokio::test]
async fn a_store_from_before_is_counted_at_its_next_start() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let kept = TempDir::new();
    let place = format!("file://{}", kept.path().display());
    let builder = Server::builder().database(database.url()).config(PARROT).arg("--blobs").arg(&place);
    let mut server = builder.start().await;
    let (alice, bob, _) = filled(&server).await;
    let counted = (usage(&alice).await, usage(&bob).await);
    server.stop().await;
    let (client, connection) =
        tokio_postgres::connect(database.url(), NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    client
        .batch_execute("TRUNCATE plenary.usage; DELETE FROM plenary.rows WHERE name = 'usage/counted'")
        .await
        .expect("the counters go");
    for _ in 0..2 {
        server.restart().await;
        let (alice, bob) = (alice.at(&server), bob.at(&server));
        assert_eq!((usage(&alice).await, usage(&bob).await), counted);
        server.stop().await;
    }
    drop((client, server));
    database.remove().await;
}

/// Either process counts what the other has stored, and refuses past the same bound.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_agree_on_what_is_stored() {
    const MAX: u64 = 30;
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let config = format!("[quota]\nstored_events_max = {MAX}\n");
    let start = || Server::builder().database(database.url()).config(&config).start();
    let (a, b) = tokio::join!(start(), start());
    let (alice, bob, session) = pair(&a).await;
    let alice_b = alice.at(&b);
    for number in 0..10 {
        let who = if number % 2 == 0 { &alice } else { &alice_b };
        who.say(&session, "x").await;
    }
    assert_eq!(usage(&alice).await, usage(&alice_b).await);
    for who in [&alice, &alice_b] {
        let refused = eventually("it is refused", async || {
            let answer = send(who, &session, "x").await;
            (answer.status == 403).then_some(answer)
        })
        .await;
        over(&refused, "stored_events_max", MAX);
    }
    let (bytes, events) = usage(&alice).await;
    assert_eq!((bytes, events), usage(&alice_b).await);
    assert!(events >= MAX, "{events}");
    bob.at(&b).say(&session, "others go on").await;
    drop((a, b));
    database.remove().await;
}

/// What `fsck` says of counters, and its exit code.
async fn fsck(args: &[&str]) -> (i32, Value) {
    let ran = Cli::new(&[]).run(&[&["fsck", "--json"], args].concat()).await;
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}")))
}

/// Files, and one whose time is over among them, beside everything else that is counted.
async fn filled_with_files(server: &Server) -> (Agent, Agent) {
    let (alice, bob, session) = filled(server).await;
    let file = alice.upload_file("a", &[7; 10_000]).await;
    let parts = json!([{"type": "file", "file_id": file}]);
    alice.say(&session, parts).await;
    let gone = server.agent("@alice.gone").await;
    let open = server.owner("alice").await;
    open.post("/_admin/agents/@alice.bot/allowlist", json!({"entries": ["@bob.bot"]})).await.ok(200);
    let lost = gone.upload_file("b", &[7; 5_000]).await;
    let (before, _) = usage(&alice).await;
    open.delete("/_admin/agents/@alice.gone").await;
    eventually("what is removed does not count", async || (usage(&alice).await.0 < before).then_some(()))
        .await;
    open.get(&format!("/files/{lost}")).await.assert_refused(404, "not_found");
    (alice, bob)
}

/// A counter that says something else than the log is named with both numbers, and set right when that is asked for.
#[tokio::test]
async fn a_counter_that_is_wrong_is_named_and_set_right() {
    let mut server = limited("stored_events_max = 1000").await;
    let (alice, _bob) = filled_with_files(&server).await;
    let counted = usage(&alice).await;
    let data = server.data().display().to_string();
    let (code, report) = fsck(&["--data", &data]).await;
    assert_eq!((code, &report["miscounts"]), (0, &json!([])), "while the server runs: {report}");
    assert_eq!(report["unchecked_files"], 0, "{report}");
    // A copy of the store has no contents, and a check of it says so.
    let copy = TempDir::new();
    let to = copy.path().join("copy").display().to_string();
    let copied = Cli::new(&[]).run(&["log", "copy", "--from", &data, "--to", &to]).await;
    assert_eq!(copied.code, 0, "{copied:?}");
    let (code, report) = fsck(&["--data", &to]).await;
    assert!(code == 0 && report["unchecked_files"].as_u64().is_some_and(|files| files > 0), "{report}");
    let said = Cli::new(&[]).run(&["fsck", "--data", &to]).await;
    assert!(
        said.out.contains("not checked: 1 file") && said.out.contains("no damage was found in the log"),
        "{said:?}"
    );
    server.stop().await;
    let database = rusqlite::Connection::open(server.data().join("plenary.db")).expect("the file is there");
    let damage = "UPDATE usage SET bytes = bytes + 5, events = events - 1 WHERE account = 'alice'; \
        DELETE FROM usage WHERE account = 'bob'";
    database.execute_batch(damage).expect("the counters are changed");
    drop(database);
    let (code, report) = fsck(&["--data", &data]).await;
    assert_eq!((code, &report["ok"], &report["findings"]), (1, &json!(false), &json!([])), "{report}");
    let miscounts = report["miscounts"].as_array().expect("a list");
    let owners: Vec<_> = miscounts.iter().map(|one| one["owner"].clone()).collect();
    assert_eq!(owners, ["alice", "bob"], "{report}");
    let (bytes, events) = counted;
    assert_eq!(miscounts[0]["counted"], json!({"bytes": bytes + 5, "events": events - 1}));
    assert_eq!(miscounts[0]["stored"], json!({"bytes": bytes, "events": events}));
    assert_eq!(miscounts[1]["counted"], json!({"bytes": 0, "events": 0}));
    let said = Cli::new(&[]).run(&["fsck", "--data", &data]).await;
    assert!(
        said.code == 1 && said.out.contains("miscounted: alice") && said.out.contains("--recount"),
        "{said:?}"
    );
    let (code, report) = fsck(&["--data", &data, "--recount"]).await;
    assert_eq!((code, &report["recounted"]), (0, &json!(true)), "{report}");
    let (code, report) = fsck(&["--data", &data]).await;
    assert_eq!((code, &report["miscounts"]), (0, &json!([])), "{report}");
    server.restart().await;
    assert_eq!(usage(&alice.at(&server)).await, counted);
}

#[tokio::test]
async fn a_counter_in_postgres_that_is_wrong_is_named_and_set_right() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let kept = TempDir::new();
    let place = format!("file://{}", kept.path().display());
    let builder = Server::builder().database(database.url()).config(PARROT).arg("--blobs").arg(&place);
    let server = builder.start().await;
    let (alice, _bob) = filled_with_files(&server).await;
    let counted = usage(&alice).await;
    let look = ["--database", database.url()];
    let (code, report) = fsck(&look).await;
    assert_eq!((code, &report["miscounts"]), (0, &json!([])), "{report}");
    let (client, connection) =
        tokio_postgres::connect(database.url(), NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    let damage = "UPDATE plenary.usage SET bytes = bytes - 5 WHERE account = 'alice'";
    client.batch_execute(damage).await.expect("the counter is changed");
    let (code, report) = fsck(&look).await;
    assert_eq!(code, 1, "{report}");
    assert_eq!(report["miscounts"][0]["owner"], "alice", "{report}");
    let (code, report) = fsck(&[&look[..], &["--recount"]].concat()).await;
    assert_eq!((code, &report["recounted"]), (0, &json!(true)), "{report}");
    assert_eq!(usage(&alice).await, counted, "while the server runs");
    drop((client, server));
    database.remove().await;
}
