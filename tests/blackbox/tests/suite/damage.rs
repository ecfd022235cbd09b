//! A disk that flips a bit of what was stored: what is damaged is answered 500 `corrupt`, everything else as ever, and
//! `plenary fsck` names the place.

use std::path::Path;

use blackbox::{Agent, Behaviour, Cli, Collector, Database, Server, TestDependency, eventually, pair};
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::sse::Stream;

/// A text that stands nowhere else in a store.
const MARK: &str = "the mark of what is to be damaged";

/// Changes one byte of the file wherever the mark stands; how often that is.
fn flip(file: &Path) -> usize {
    let mut bytes = std::fs::read(file).expect("the file is there");
    let places: Vec<_> =
        bytes.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK.as_bytes()).collect();
    let places: Vec<usize> = places.into_iter().map(|(at, _)| at).collect();
    for at in &places {
        bytes[*at] ^= 1;
    }
    std::fs::write(file, bytes).expect("the file can be changed");
    places.len()
}

/// What `fsck` says, and its exit code.
async fn fsck(args: &[&str]) -> (i32, Value) {
    let ran = Cli::new(&[]).run(&[&["fsck", "--json"], args].concat()).await;
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}")))
}

/// The one place that it names.
fn place(report: &Value) -> i64 {
    let findings = report["findings"].as_array().expect("findings are listed");
    assert_eq!(findings.len(), 1, "{report}");
    assert_eq!(findings[0]["kind"], "damaged", "{report}");
    findings[0]["position"].as_i64().unwrap_or_else(|| panic!("{report}"))
}

/// A session with a message that is to be damaged, and one that is not.
async fn two_sessions(server: &Server) -> (Agent, Agent, String, String) {
    let (alice, bob, id) = pair(server).await;
    let sound = alice.create(&[&bob]).await;
    alice.say(&id, "before").await;
    alice.say(&id, MARK).await;
    alice.say(&sound, "elsewhere").await;
    (alice, bob, id, sound)
}

/// The damaged session is refused, and the other one goes on.
async fn assert_apart(server: &Server, (alice, bob, id, sound): (&Agent, &Agent, &str, &str)) {
    for path in [format!("/sessions/{id}/events"), format!("/sessions/{id}")] {
        let answer = bob.get(&path).await;
        answer.assert_refused(500, "corrupt");
        assert!(!answer.text().contains("the mark"), "{answer}");
    }
    let listed = bob.get("/sessions").await.ok(200);
    let listed: Vec<_> =
        listed["sessions"].as_array().expect("a list").iter().map(|one| one["id"].clone()).collect();
    assert_eq!(listed, [json!(sound)], "a list goes on without what is damaged");
    bob.get("/inbox").await.ok(200);
    let more = alice.post(&format!("/sessions/{id}/messages"), json!({"content": "more"})).await;
    more.assert_refused(500, "corrupt");
    let mut live = bob.connect().await;
    bob.join(sound).await;
    alice.say(sound, "live").await;
    live.until_text("live").await;
    let history = bob.history(sound).await;
    assert!(history.iter().any(|event| event["payload"]["content"] == "elsewhere"), "{history:?}");
    server.wait_for_log("is damaged").await;
}

#[tokio::test]
async fn a_flipped_bit_is_not_served_and_others_are() {
    let mut server = Server::start().await;
    let (alice, bob, id, sound) = two_sessions(&server).await;
    let data = server.data().display().to_string();
    let (code, report) = fsck(&["--data", &data]).await;
    assert_eq!((code, &report["ok"], &report["unchecked"]), (0, &json!(true), &json!(0)), "{report}");
    server.stop().await;
    assert!(flip(&server.data().join("plenary.db")) > 0, "the message stands in the file");

    // Started again with a grace window of a participant in the damaged session to be taken up.
    server.restart().await;
    let (alice, bob) = (alice.at(&server), bob.at(&server));
    assert_apart(&server, (&alice, &bob, &id, &sound)).await;
    let (code, report) = fsck(&["--data", &data]).await;
    assert_eq!((code, &report["ok"]), (1, &json!(false)), "{report}");
    server.wait_for_log(&format!("position {} ", place(&report))).await;
}

/// What is damaged is refused by itself, and is in no list and no search; an export names a damaged package or session.
#[tokio::test]
async fn damaged_packages_projects_sessions_and_channels_are_left_out_of_lists() {
    let (mut server, [nick]) = Server::with(["@nick.a"]).await;
    for (id, title) in [("one", "zebra one"), ("two", MARK), ("three", "zebra three")] {
        let package = json!({
            "package_id": id, "project_id": "p", "relay_version": "0.1", "title": title,
            "status": "complete", "package_type": "milestone", "review_type": "none",
            "created_at": "2026-04-18T20:00:00Z", "created_by": {"id": "@nick.a", "type": "agent"},
        });
        let made = nick.post("/v1/projects/p/packages", package).await;
        assert_eq!(made.status, 201, "{made}");
    }
    for (id, name) in [("q", MARK), ("r", "sound")] {
        let made = nick.post("/v1/projects", json!({"project_id": id, "name": name})).await;
        assert_eq!(made.status, 201, "{made}");
    }
    for note in [MARK, "sound"] {
        let made = nick.post("/v1/projects/p/sessions", json!({"x-note": note})).await;
        assert_eq!(made.status, 201, "{made}");
    }
    let channel = |title: &str| nick.post("/agent-channel", json!({"title": title}));
    let (sound, damaged) = (channel("sound").await.ok(200), channel(MARK).await.ok(200));
    server.stop().await;
    assert!(flip(&server.data().join("plenary.db")) > 1, "they stand in the file");
    server.restart().await;
    let nick = nick.at(&server);
    for path in ["/v1/projects/p/packages", "/v1/projects/p/packages?mode=relevant&query=zebra"] {
        let id = |one: &Value| {
            let id = one["package_id"].as_str().or(one["package"]["package_id"].as_str());
            id.map(str::to_owned)
        };
        // The index of words may still read the log.
        eventually(path, || async {
            let listed = nick.get(path).await.ok(200);
            let mut ids: Vec<_> =
                listed["packages"].as_array().expect("a list").iter().filter_map(id).collect();
            ids.sort();
            (ids == ["one", "three"]).then_some(())
        })
        .await;
    }
    for path in ["/v1/projects/p/orient", "/v1/orchestrate?focus=zebra"] {
        assert_eq!(nick.get(path).await.status, 200, "{path}");
    }
    let answer = nick.get("/v1/packages/two").await;
    assert!(answer.status == 500 && answer.text().contains("content_damaged"), "{answer}");
    let export = nick.get("/v1/projects/p/export").await;
    assert_eq!(export.status, 200, "{export}");
    let text = export.text();
    assert!(text.contains("zebra one") && text.contains("zebra three"), "{text}");
    let named = text.lines().filter(|line| line.contains("\"damaged\"") && line.contains("\"two\""));
    assert_eq!(named.count(), 1, "{text}");
    let sessions =
        text.lines().filter(|line| line.contains("\"damaged\"") && line.contains("\"session_id\""));
    assert_eq!(sessions.count(), 1, "{text}");
    let projects = nick.get("/v1/projects").await.ok(200);
    let ids: Vec<_> =
        projects["projects"].as_array().expect("a list").iter().map(|one| &one["project_id"]).collect();
    assert_eq!(ids, ["p", "r"], "{projects}");
    assert_eq!(nick.get("/v1/projects/q").await.status, 500);
    let sessions = nick.get("/v1/projects/p/sessions").await.ok(200);
    let notes: Vec<_> =
        sessions["sessions"].as_array().expect("a list").iter().map(|one| &one["x-note"]).collect();
    assert_eq!(notes, ["sound"], "{sessions}");
    let listed = nick.get("/agent-channel").await.ok(200);
    let ids: Vec<_> = listed.as_array().expect("a list").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&sound["id"]], "not {}", damaged["id"]);
}

/// A package of the project `p` that asks a question.
fn package(id: &str, title: &str) -> Value {
    json!({
        "package_id": id, "project_id": "p", "relay_version": "0.1", "title": title,
        "open_questions": [format!("why {id}?")],
        "status": "complete", "package_type": "milestone", "review_type": "none",
        "created_at": "2026-04-18T20:00:00Z", "created_by": {"id": "@nick.a", "type": "agent"},
    })
}

/// A damaged package ends no live stream and asks no question; the events around it come.
#[tokio::test]
async fn a_damaged_package_stops_no_stream_and_asks_nothing() {
    let (mut server, [nick]) = Server::with(["@nick.a"]).await;
    for (id, title) in [("one", "sound"), ("two", MARK), ("three", "sound")] {
        let body = package(id, title);
        nick.post("/v1/projects/p/packages", body).await.ok(201);
    }
    server.stop().await;
    assert!(flip(&server.data().join("plenary.db")) > 0, "it stands in the file");
    server.restart().await;
    let nick = nick.at(&server);
    let mut events = Stream::open(&nick, "/v1/projects/p/events?after=0", &[]).await;
    let mut told = Vec::new();
    for _ in 0..3 {
        let data = events.event().await;
        told.push(data["package"]["package_id"].as_str().unwrap_or("the project").to_owned());
    }
    assert_eq!(told, ["the project", "one", "three"]);
    let asked = |body: &Value| -> Vec<String> {
        let open = body["open_questions"].as_array().expect("questions");
        open.iter().map(|one| one["question"].as_str().expect("a question").to_owned()).collect()
    };
    for path in [
        "/v1/projects/p/orient?window_days=36500",
        "/v1/orchestrate?project=p&window_days=36500",
        "/v1/orchestrate?window_days=36500",
    ] {
        let mut asked = asked(&nick.get(path).await.ok(200));
        asked.sort();
        assert_eq!(asked, ["why one?", "why three?"], "{path}");
    }
}

/// A damaged project is named in every export, and a backup without it does not pass for complete.
#[tokio::test]
async fn an_export_names_a_damaged_project() {
    let (mut server, [nick]) = Server::with(["@nick.a"]).await;
    for (id, name) in [("p", "sound"), ("q", MARK)] {
        nick.post("/v1/projects", json!({"project_id": id, "name": name})).await.ok(201);
    }
    server.stop().await;
    assert!(flip(&server.data().join("plenary.db")) > 0, "it stands in the file");
    server.restart().await;
    for caller in [&server.operator(), &*nick.at(&server)] {
        let export = caller.get("/v1/export").await;
        assert_eq!(export.status, 200, "{export}");
        let records: Vec<Value> =
            export.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let end = records.last().expect("an end");
        assert_eq!(
            (&end["data"]["counts"]["projects"], &end["data"]["counts"]["damaged"]),
            (&json!(1), &json!(1))
        );
        let damaged: Vec<_> = records.iter().filter(|record| record["record"] == "damaged").collect();
        assert_eq!(damaged.len(), 1, "{records:?}");
        assert_eq!(
            (&damaged[0]["project"], &damaged[0]["data"]),
            (&json!("nick:q"), &json!({"project_id": "q"}))
        );
        // Whoever continues behind it gets the rest.
        let cursor = damaged[0]["cursor"].as_str().expect("a cursor");
        let rest = caller.get(&format!("/v1/export?after={cursor}")).await;
        assert_eq!(rest.text().lines().count(), records.len() - 1, "{rest}");
    }
    let directory = blackbox::TempDir::new();
    let (token, url) = (server.operator().token().to_owned(), server.url());
    let backup = directory.path().join("backup").display().to_string();
    let export = ["context", "export", "--all", "--format", "backup", &backup];
    let ran = Cli::new(&[]).run(&[&["--url", &url, "--token", &token][..], &export].concat()).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("1 damaged record could not be exported"), "{ran:?}");
    let manifest = std::fs::read(directory.path().join("backup/manifest.json")).expect("the backup is there");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    assert_eq!((&manifest["project_ids"], &manifest["counts"]["damaged"]), (&json!(["p"]), &json!(1)));
}

/// A damaged thread is left out of the lists of threads, and does not cut them short.
#[tokio::test]
async fn a_damaged_thread_is_left_out_of_lists() {
    let config = "[agents.parrot]\nowner = \"nick\"\npolicy = \"open\"\nkind = \"echo\"\n";
    let mut server = Server::builder().config(config).start().await;
    let nick = server.agent("@nick.a").await;
    let mut threads = Vec::new();
    for input in ["one", MARK, "three"] {
        let answer = nick.post("/agent/parrot/run?wait=result", json!({"input": input})).await;
        answer.ok(200);
        threads.push(answer.header("x-thread-id").expect("a thread").to_owned());
    }
    server.stop().await;
    assert!(flip(&server.data().join("plenary.db")) > 0, "it stands in the file");
    server.restart().await;
    let nick = nick.at(&server);
    for caller in [&server.operator(), &*nick] {
        let listed = caller.get("/agent/parrot/threads").await.ok(200);
        let ids: Vec<_> = listed.as_array().expect("a list").iter().map(|one| one["id"].clone()).collect();
        assert_eq!(ids, [json!(threads[2]), json!(threads[0])]);
        let mut page = caller.get("/agent/parrot/threads?limit=1").await;
        let mut paged = vec![page.json()[0]["id"].clone()];
        while let Some(link) = page.header("link").map(str::to_owned) {
            let next = link.split(['<', '>']).nth(1).expect("a link").to_owned();
            page = caller.get(&next).await;
            paged.extend(page.ok(200).as_array().expect("a list").iter().map(|one| one["id"].clone()));
        }
        assert_eq!(paged, ids);
    }
    let found = nick.post("/langgraph/threads/search", json!({})).await.ok(200);
    assert_eq!(found.as_array().map(Vec::len), Some(2), "{found}");
}

/// A damaged row of a list of facts is left out of it, and of what contains the list.
#[tokio::test]
async fn a_damaged_fact_is_left_out_of_lists() {
    let (mut server, [nick]) = Server::with(["@nick.a"]).await;
    for (subject, value) in [("a", "sound"), ("b", MARK), ("c", "sound")] {
        let fact = json!({"subject": subject, "predicate": "is", "value": value});
        nick.post("/v1/projects/p/facts", fact).await.ok(201);
    }
    server.stop().await;
    assert!(flip(&server.data().join("plenary.db")) > 0, "it stands in the file");
    server.restart().await;
    let nick = nick.at(&server);
    let subjects = |body: &Value, name: &str| -> Vec<String> {
        let facts = body[name].as_array().expect("facts");
        facts.iter().map(|one| one["subject"].as_str().expect("a subject").to_owned()).collect()
    };
    for query in ["", "?include_ended=true"] {
        let listed = nick.get(&format!("/v1/projects/p/facts{query}")).await.ok(200);
        assert_eq!(subjects(&listed, "facts"), ["a", "c"], "{query}");
    }
    for path in ["/v1/projects/p/orient", "/v1/orchestrate?project=p", "/v1/orchestrate"] {
        assert_eq!(subjects(&nick.get(path).await.ok(200), "active_facts"), ["a", "c"], "{path}");
    }
    server.wait_for_log("a damaged row of an index is left out of a list").await;
}

#[tokio::test]
async fn a_flipped_bit_in_postgres_is_not_served_and_others_are() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let mut server = Server::builder().database(database.url()).start().await;
    let (alice, bob, id, sound) = two_sessions(&server).await;
    assert_eq!(fsck(&["--database", database.url()]).await.0, 0);
    server.stop().await;
    let (client, connection) =
        tokio_postgres::connect(database.url(), NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    // As a disk does it: past every trigger.
    client.batch_execute("SET session_replication_role = replica").await.expect("a superuser");
    let flip = "UPDATE plenary.events SET payload = set_byte(payload, position($1 in payload) + 3, \
        get_byte(payload, position($1 in payload) + 3) # 1) WHERE position($1 in payload) > 0 RETURNING position";
    let flipped = client.query(flip, &[&MARK.as_bytes()]).await.expect("the row is changed");
    assert_eq!(flipped.len(), 1);
    let position: i64 = flipped[0].get(0);

    server.restart().await;
    let (alice, bob) = (alice.at(&server), bob.at(&server));
    assert_apart(&server, (&alice, &bob, &id, &sound)).await;
    let (code, report) = fsck(&["--database", database.url()]).await;
    assert_eq!((code, place(&report)), (1, position), "{report}");
    server.stop().await;
    drop(client);
    database.remove().await;
}

/// Damaged requests and notifications hold up no others: no deadline, no list, no notification, no start.
#[tokio::test]
async fn a_damaged_request_and_its_notification_hold_up_no_others() {
    let config = "[notify]\nprivate_addresses = true\nretry_first = \"50ms\"\nretry_for = \"1h\"";
    let mut server = Server::builder().config(config).start().await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.cc").await);
    let receiver = Collector::start().await;
    receiver.behave(Behaviour::Answer(503));
    let hook = json!({"target": {"kind": "webhook", "url": format!("{}/hook", receiver.url())}});
    owner.post("/notifications", hook).await.ok(201);
    let soon = blackbox::epoch_ms() + 4_000;
    let ask = |title: &'static str| {
        let body = json!({"kind": "question", "title": title, "deadline_at": soon});
        let agent = agent.clone();
        async move {
            let made = agent.post("/requests", body).await.ok(201);
            made["request_id"].as_str().expect("an id").to_owned()
        }
    };
    // More of them than are sent at a time.
    for _ in 0..4 {
        ask(MARK).await;
    }
    let sound = ask("sound").await;
    eventually("attempts", || async { (receiver.exports().len() >= 5).then_some(()) }).await;
    server.stop().await;
    assert!(flip(&server.data().join("plenary.db")) > 0, "the requests stand in the file");
    receiver.behave(Behaviour::Take);
    eventually("the deadline", || async { (blackbox::epoch_ms() > soon).then_some(()) }).await;

    server.restart().await;
    let over = agent.get(&format!("/requests/{sound}?wait=60")).await.ok(200);
    assert_eq!(over["state"], "expired");
    let body = json!({"kind": "question", "title": "after it"});
    agent.post("/requests", body).await.ok(201);
    eventually("what was asked after it", || async {
        let calls = receiver.exports();
        let mut said =
            calls.iter().filter(|call| call.accepted).map(|call| String::from_utf8_lossy(&call.bytes));
        said.any(|body| body.contains("after it")).then_some(())
    })
    .await;
    for caller in [&owner, &server.operator()] {
        let page = caller.get("/requests").await.ok(200);
        assert_eq!(page["requests"].as_array().map(Vec::len), Some(1), "{page}");
    }
    owner.get("/notifications/dead").await.ok(200);
    server.wait_for_log("damaged").await;
}

/// What is older than checksums is served, counted, and given checksums when that is asked for.
#[tokio::test]
async fn what_has_no_checksum_is_counted_and_gets_one() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let mut server = Server::builder().database(database.url()).start().await;
    let (_, bob, id, _) = two_sessions(&server).await;
    server.stop().await;
    let (client, connection) =
        tokio_postgres::connect(database.url(), NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    let forget = "UPDATE plenary.events SET sum = NULL; UPDATE plenary.idx SET sum = NULL; \
        UPDATE plenary.rows SET sum = NULL; UPDATE plenary.keys SET sum = NULL";
    client.batch_execute(forget).await.expect("checksums can be taken away");
    server.restart().await;
    bob.at(&server).get(&format!("/sessions/{id}")).await.ok(200);
    server.stop().await;
    let (code, report) = fsck(&["--database", database.url()]).await;
    let unchecked = report["unchecked"].as_i64().unwrap_or_default();
    assert!(code == 0 && unchecked > report["events"].as_i64().unwrap_or_default(), "{report}");
    let (code, report) = fsck(&["--database", database.url(), "--add-digests"]).await;
    assert_eq!((code, report["added"].as_i64()), (0, Some(unchecked)), "{report}");
    let (code, report) = fsck(&["--database", database.url()]).await;
    assert_eq!((code, &report["unchecked"]), (0, &json!(0)), "{report}");
    drop(client);
    database.remove().await;
}

/// A content of a deliverable is looked at as well, and a store that is not there is no sound one.
#[tokio::test]
async fn contents_are_looked_at_and_what_is_not_there_is_said() {
    let server = Server::start().await;
    server.agent("@nick.bot").await;
    let data = server.data().display().to_string();
    let shelf = server.data().join("blobs/sha256/ab");
    std::fs::create_dir_all(&shelf).expect("a directory can be made");
    std::fs::write(shelf.join("c".repeat(62)), "not what its name says").expect("a file can be written");
    let (code, report) = fsck(&["--data", &data]).await;
    assert_eq!((code, report["blobs"]["damaged"].as_array().map(Vec::len)), (1, Some(1)), "{report}");
    std::fs::remove_dir_all(&shelf).expect("it can be removed");

    // The files of messages too: one that is changed, and one that a message names and that is gone.
    let nick = server.agent("@nick.two").await;
    let (changed, gone) = (nick.upload_file("a", b"content").await, nick.upload_file("b", b"content").await);
    let id = nick.create(&[]).await;
    nick.say(&id, json!([{"type": "file", "file_id": gone}])).await;
    assert_eq!(fsck(&["--data", &data]).await.0, 0);
    let place = |file: &str| server.data().join("blobs/files").join(&file[file.len() - 2..]).join(file);
    std::fs::write(place(&changed), "contend").expect("the file is there");
    std::fs::remove_file(place(&gone)).expect("the file is there");
    let (code, report) = fsck(&["--data", &data]).await;
    let damaged = report["blobs"]["damaged"].to_string();
    assert!(code == 1 && damaged.contains(&changed) && damaged.contains(&gone), "{report}");
    for file in [&changed, &gone] {
        nick.get(&format!("/files/{file}")).await.assert_refused(500, "content_damaged");
    }
    server.wait_for_log(&gone).await;
    let none = Cli::new(&[]).run(&["fsck", "--data", "/nowhere/at/all"]).await;
    assert_eq!(none.code, 2, "{none:?}");
    assert!(!none.err.is_empty(), "{none:?}");
}
