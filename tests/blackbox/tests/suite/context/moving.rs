//! Projects from one server to another: AP-3, AP-76, AP-77, AP-80, D.7.
//! Must not know: how an export is made.

use std::collections::BTreeMap;

use blackbox::{Caller, Connection, Database, PATIENCE, Response, Server, TestDependency, render};
use serde_json::{Value, json};

use super::canonical::hash_of;
use super::speak::{
    PROJECT, assert_fact, deposited, facts, package, package_at, package_with, packages_of, pull, with,
};

/// The lines of an export.
#[track_caller]
fn lines(response: &Response) -> Vec<String> {
    assert_eq!(response.status, 200, "{response}");
    assert_eq!(response.header("content-type"), Some("application/x-ndjson"), "{response}");
    let text = response.text();
    assert!(text.ends_with('\n'), "the last line is whole");
    text.lines().map(str::to_owned).collect()
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

async fn exported(caller: &Caller) -> Vec<String> {
    lines(&caller.get_large("/v1/export").await)
}

/// The hash of each package of an export, each computed from the data as it came.
fn hashes(lines: &[String]) -> BTreeMap<String, String> {
    let mut hashes = BTreeMap::new();
    for line in lines {
        let record = value(line);
        if record["record"] == "package" {
            let id = record["data"]["package_id"].as_str().expect("an id").to_owned();
            let start = line.find("\"data\":").expect("data") + 7;
            let mut whole = serde_json::Deserializer::from_str(&line[start..]).into_iter::<Value>();
            whole.next().expect("a package").expect("JSON");
            let text = &line[start..start + whole.byte_offset()];
            let hash = hash_of(text);
            assert_eq!(record["content_hash"], json!(hash), "AP-77: {line}");
            hashes.insert(id, hash);
        }
    }
    hashes
}

async fn import(caller: &Caller, query: &str, text: &str) -> Value {
    caller.post_raw(&format!("/v1/import{query}"), text.as_bytes()).await.ok(200)
}

#[track_caller]
fn assert_counts(report: &Value, expected: [u64; 6]) {
    let names = ["imported", "skipped", "conflicts", "overwritten", "renamed", "refused_count"];
    let found = names.map(|name| report[name].as_u64().unwrap_or_else(|| panic!("{name}: {report}")));
    assert_eq!(found, expected, "{names:?}: {report}");
}

/// A project with everything in it that a project has.
async fn furnish(server: &Server) {
    let nick = server.agent("@nick.cc-laptop").await;
    for (number, members) in [
        json!({"x-trust": 1.50, "deliverables": [{"path": "a", "type": "md", "x-a": [null, 1e2]}]}),
        json!({"parent_package_id": "p0", "topic": null, "tags": ["é", "\u{2028}", "/"]}),
        json!({"status": "draft", "open_questions": ["why?"], "package_type": "x-model-eval"}),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("p{number}");
        let at = json!({"created_at": format!("2026-04-18T20:00:0{number}Z")});
        deposited(&nick, &with(package_with(&nick.handle, &id, members), at)).await;
    }
    nick.post("/v1/packages/p2/flag", json!({"review_type": "human", "note": "look"})).await.ok(200);
    nick.post("/v1/packages/p2/review", json!({"status": "revision_requested"})).await.ok(200);
    for (subject, text) in [("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")] {
        assert_fact(
            &nick,
            json!({"subject": subject, "predicate": "p", "value": text, "source_package_id": "p0"}),
        )
        .await;
    }
    nick.delete(&format!("/v1/projects/{PROJECT}/facts?subject=b&predicate=p")).await.ok(200);
    let session = nick.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await.ok(201);
    let id = session["session_id"].as_str().expect("an id").to_owned();
    deposited(
        &nick,
        &package_with("", "p3", json!({"created_by": {"id": "nick", "type": "agent", "session_id": id}})),
    )
    .await;
}

/// What a reader sees of it.
async fn seen(server: &Server) -> Vec<Value> {
    let operator = server.operator();
    let mut seen = Vec::new();
    for path in [
        format!("/v1/projects/{PROJECT}"),
        format!("{}?limit=100", packages_of(PROJECT)),
        format!("/v1/projects/{PROJECT}/reviews"),
        package_at("p2"),
        format!("{}/reviews", package_at("p2")),
        format!("/v1/projects/{PROJECT}/facts?include_ended=true"),
        format!("/v1/projects/{PROJECT}/facts"),
        format!("/v1/projects/{PROJECT}/sessions"),
    ] {
        seen.push(operator.get(&path).await.ok(200));
    }
    seen
}

async fn moves(from: &Server, to: &Server) {
    furnish(from).await;
    let first = exported(&from.operator()).await;
    let kinds: Vec<_> =
        first.iter().map(|line| value(line)["record"].as_str().expect("text").to_owned()).collect();
    let expected = [
        "project", "package", "package", "package", "package", "fact", "fact", "fact", "fact", "session",
        "end",
    ];
    assert_eq!(kinds, expected);
    let end = value(&first[10]);
    assert_eq!(end["data"]["counts"]["facts"], 4);
    let text = first.join("\n");
    let dry = import(&to.operator(), "?dry_run=true", &text).await;
    assert_counts(&dry, [10, 0, 0, 0, 0, 0]);
    // A misspelled parameter is no import.
    to.operator()
        .post_raw("/v1/import?dryrun=true", text.as_bytes())
        .await
        .assert_refused(400, "invalid_parameter");
    assert_eq!(exported(&to.operator()).await.len(), 1, "a dry run changes nothing");
    let report = import(&to.operator(), "", &text).await;
    assert_counts(&report, [10, 0, 0, 0, 0, 0]);
    assert_eq!(report["complete"], true);
    assert_eq!(seen(to).await, seen(from).await);
    let second = exported(&to.operator()).await;
    assert_eq!(hashes(&second), hashes(&first));
    assert_eq!(hashes(&first).len(), 4);
    let again = import(&to.operator(), "", &text).await;
    assert_counts(&again, [0, 10, 0, 0, 0, 0]);
}

/// AP-3, AP-76, AP-77: what one server exports, another one shows the same, to every hash.
#[tokio::test]
async fn ap_76_ap_77_a_project_moves_whole() {
    let (from, to) = (Server::start().await, Server::start().await);
    moves(&from, &to).await;
}

/// AP-80: into another store.
#[tokio::test]
async fn ap_80_a_project_moves_to_postgres() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let (from, to) = (Server::start().await, Server::builder().database(database.url()).start().await);
    moves(&from, &to).await;
    drop(to);
    database.remove().await;
}

/// AP-76: an export that was cut lacks its end, and importing it says so.
#[tokio::test]
async fn ap_76_a_cut_export_is_noticed() {
    let (from, to) = (Server::start().await, Server::start().await);
    furnish(&from).await;
    let whole = exported(&from.operator()).await;
    let cut = import(&to.operator(), "", &whole[..7].join("\n")).await;
    assert_counts(&cut, [7, 0, 0, 0, 0, 0]);
    assert_eq!(cut["complete"], false);
    let holed = import(&to.operator(), "", &[&whole[..3], &whole[4..]].concat().join("\n")).await;
    assert_eq!(holed["complete"], false, "its counts are not those of its lines");
    let cursor = value(&whole[6])["cursor"].as_str().expect("a cursor").to_owned();
    let rest = lines(&from.operator().get(&format!("/v1/export?after={}", super::speak::enc(&cursor))).await);
    assert_eq!(rest[..rest.len() - 1], whole[7..whole.len() - 1], "it goes on where it was cut");
    import(&to.operator(), "", &whole.join("\n")).await;
    assert_eq!(seen(&to).await, seen(&from).await);
}

/// D.4: the operator brings others' records; an owner its own, into its own projects; an agent none.
#[tokio::test]
async fn ap_57_who_may_import() {
    let server = Server::start().await;
    let (owner, other) = (server.owner("nick").await, server.owner("eve").await);
    let nick = server.agent("@nick.cc-laptop").await;
    let line = |by: &str, id: &str| format!("{}\n", json!({"record": "package", "data": package(by, id)}));
    nick.post_raw("/v1/import", line("nick", "a").as_bytes()).await.assert_refused(403, "unauthorized");
    server.stranger().post_raw("/v1/import", b"").await.refusal_code(401);
    let report = import(&owner, "", &[line("nick", "a"), line("jordan", "b")].concat()).await;
    assert_counts(&report, [1, 0, 0, 0, 0, 1]);
    assert_eq!(report["refused"][0]["code"], "unauthorized");
    let report = import(&other, "", &line("eve", "c")).await;
    assert_counts(&report, [1, 0, 0, 0, 0, 0]);
    let report = import(&server.operator(), "", &line("jordan", "b")).await;
    assert_eq!(report["refused"][0]["code"], "ambiguous_project_id", "{report}");
    let named =
        json!({"record": "package", "project": format!("nick:{PROJECT}"), "data": package("jordan", "b")});
    let report = import(&server.operator(), "", &format!("{named}\n")).await;
    assert_counts(&report, [1, 0, 0, 0, 0, 0]);
    let report = import(&other, "", &format!("{named}\n")).await;
    assert_eq!(report["refused"][0]["code"], "unauthorized", "AP-101: {report}");
    assert_eq!(exported(&other).await.len(), 3, "AP-101: its own project, package and end");
    // What is there already needs no author.
    let whole = exported(&owner).await.join("\n");
    assert!(whole.contains("jordan"), "{whole}");
    let again = import(&owner, "", &whole).await;
    assert_eq!((&again["imported"], &again["refused_count"]), (&json!(0), &json!(0)), "{again}");
    other.get(&format!("/v1/projects/nick:{PROJECT}/export")).await.assert_refused(404, "project_not_found");
}

/// AP-80: an owner restores what its own agents wrote, and nobody else's records.
#[tokio::test]
async fn ap_80_an_owner_restores_its_export_with_the_records_of_its_agents() {
    let (from, to) = (Server::start().await, Server::start().await);
    let owner = from.owner("nick").await;
    let agent = from.agent("@nick.cc-laptop").await;
    deposited(&agent, &package("@nick.cc-laptop", "a")).await;
    deposited(&owner, &package("nick", "b")).await;
    agent.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await.ok(201);
    agent
        .post(
            &format!("/v1/projects/{PROJECT}/facts"),
            json!({"subject": "s", "predicate": "is", "value": "up"}),
        )
        .await
        .ok(201);
    let whole = exported(&owner).await;
    let restorer = to.owner("nick").await;
    let report = import(&restorer, "?dry_run=true", &whole.join("\n")).await;
    assert_eq!(report["refused_count"], 3, "its agent is not here: {report}");
    to.agent("@nick.cc-laptop").await;
    let report = import(&restorer, "", &whole.join("\n")).await;
    assert_eq!((&report["refused_count"], &report["complete"]), (&json!(0), &json!(true)), "{report}");
    assert_eq!(hashes(&exported(&restorer).await), hashes(&whole));
    let line = |by: &str, id: &str| format!("{}\n", json!({"record": "package", "data": package(by, id)}));
    to.owner("eve").await;
    to.agent("@eve.bot").await;
    // A bare name may be that of another owner.
    let foreign =
        [line("@eve.bot", "c"), line("@nick.gone", "d"), line("eve", "e"), line("cc-laptop", "f")].concat();
    let report = import(&restorer, "", &foreign).await;
    assert_counts(&report, [0, 0, 0, 0, 0, 4]);
    let report = import(&restorer, "", &line("nick.cc-laptop", "g")).await;
    assert_counts(&report, [1, 0, 0, 0, 0, 0]);
}

/// An import into the namespace of an owner that does not exist says so; an owner learns nothing of others.
#[tokio::test]
async fn an_import_into_an_absent_owners_project_names_the_owner() {
    let server = Server::start().await;
    let (operator, owner) = (server.operator(), server.owner("nick").await);
    let refused = operator.post_raw("/v1/import?into=newo:emp", b"").await;
    refused.assert_refused(404, "owner_not_found");
    assert!(refused.text().contains("newo"), "{refused}");
    owner.post_raw("/v1/import?into=newo:emp", b"").await.assert_refused(403, "unauthorized");
    operator.post("/_admin/owners", json!({"owner": "newo"})).await.ok(201);
    operator.post_raw("/v1/import?into=newo:emp", b"").await.ok(200);
}

/// AP-80: the published implementation's backup, its names mapped.
#[tokio::test]
async fn ap_80_a_foreign_backup_is_restored() {
    let server = Server::start().await;
    let operator = server.operator();
    let foreign = |id: &str, status: &str, kind: &str| {
        json!({"package_id": id, "project_id": PROJECT, "title": "t", "status": status, "package_type": kind,
            "created_at": "2026-04-18 20:00:00+00", "created_by": {"id": "jordan", "type": "human"}})
    };
    let text = [
        json!({"id": PROJECT, "name": "Relay", "created_at": "2026-01-01T00:00:00Z", "archived_at": null, "owner_id": "usr_1"}),
        foreign("a", "approved", "standard"),
        foreign("b", "pending_review", "human_review"),
        foreign("c", "rejected", "lattice_node"),
        foreign("d", "in_progress", "x-own"),
        json!({"fact_id": "f1", "project_id": PROJECT, "subject": "s", "relation": "status", "object": "up",
            "valid_from": "2026-04-10T12:00:00Z", "ended_at": "2026-04-11T12:00:00Z", "created_at": "2026-04-10T12:00:00Z"}),
        json!({"fact_id": "f2", "project_id": PROJECT, "subject": "s", "relation": "status", "object": "down",
            "valid_from": "2026-04-11T12:00:00Z", "ended_at": null, "created_at": "2026-04-11T12:00:00Z"}),
        json!({"session_id": "sess_1", "project_id": PROJECT, "actor_id": "jordan", "actor_type": "human",
            "callsign": "coral-heron", "started_at": "2026-04-10T12:00:00Z", "ended_at": null, "packages_deposited": []}),
    ]
    .map(|line| line.to_string())
    .join("\n");
    let report = import(&operator, "", &text).await;
    assert_counts(&report, [8, 0, 0, 0, 0, 0]);
    assert_eq!(report["complete"], Value::Null);
    for (id, status, kind) in [
        ("a", "complete", "standard"),
        ("b", "awaiting_review", "x-human_review"),
        ("c", "revision_requested", "x-lattice_node"),
        ("d", "draft", "x-own"),
    ] {
        let found = pull(&operator, id).await;
        assert_eq!((&found["status"], &found["package_type"]), (&json!(status), &json!(kind)), "{found}");
    }
    let found = facts(&operator, "include_ended=true").await;
    let told: Vec<_> =
        found.iter().map(|fact| (&fact["predicate"], &fact["value"], &fact["valid_to"])).collect();
    let status = json!("status");
    assert_eq!(told[0], (&status, &json!("up"), &json!("2026-04-11T12:00:00Z")));
    assert_eq!(told[1], (&status, &json!("down"), &Value::Null));
    let named = operator.get(&format!("/v1/projects/{PROJECT}/sessions?callsign=coral-heron")).await.ok(200);
    assert_eq!(named["sessions"][0]["session_id"], "sess_1");
    assert_counts(&import(&operator, "", &text).await, [0, 8, 0, 0, 0, 0]);
}

fn many(count: usize) -> String {
    (0..count).map(|number| line(number, &"x".repeat(1000))).collect()
}

/// A line of an import: the package of this number.
fn line(number: usize, content: &str) -> String {
    let at = format!("2026-04-18T20:{:02}:{:02}Z", number / 60 % 60, number % 60);
    let id = format!("pkg_{number:05}");
    let data = package_with("jordan", &id, json!({"created_at": at, "content_md": content}));
    format!("{}\n", json!({"record": "package", "data": data}))
}

/// Ten thousand packages go in and out.
#[tokio::test]
async fn ap_76_ten_thousand_packages_move() {
    let (from, to) = (Server::start().await, Server::start().await);
    assert_counts(&import(&from.operator(), "", &many(10_000)).await, [10_000, 0, 0, 0, 0, 0]);
    let whole = exported(&from.operator()).await;
    assert_eq!(value(&whole[10_001])["data"]["counts"]["packages"], 10_000);
    assert_counts(&import(&to.operator(), "", &whole.join("\n")).await, [10_001, 0, 0, 0, 0, 0]);
    assert_eq!(hashes(&exported(&to.operator()).await), hashes(&whole));
}

/// Caches and buffers fill up to their bounds, some 200 MiB together, and memory does not follow the contents.
#[tokio::test]
async fn ap_76_packages_cost_little_memory() {
    let server = Server::start().await;
    let before = server.resident_kib();
    for round in 0..4 {
        let text: String = (0..1_000)
            .map(|nth| round * 1_000 + nth)
            .map(|number| line(number, &format!("word{number} ").repeat(3_500)))
            .collect();
        assert_counts(&import(&server.operator(), "", &text).await, [1_000, 0, 0, 0, 0, 0]);
    }
    assert_eq!(exported(&server.operator()).await.len(), 4_002);
    let grown = server.resident_kib().saturating_sub(before);
    assert!(grown < 288 << 10, "{grown} KiB; kept contents would be some 120 MiB more");
}

/// A server that dies during an import keeps what it has, and the import is repeated.
#[tokio::test]
async fn ap_80_an_import_survives_a_crash() {
    let mut server = Server::start().await;
    let text = many(3_000);
    let operator = server.operator();
    let authorization = format!("Bearer {}", operator.token());
    let head = render(
        "POST",
        "/v1/import",
        &[("Authorization", &authorization), ("Content-Length", &text.len().to_string())],
        None,
    );
    let mut connection = Connection::open(server.address().place()).await.expect("it connects");
    connection.send(&head).await.expect("it is sent");
    connection.send(&text.as_bytes()[..text.len() / 2]).await.expect("it is sent");
    let some = async {
        while operator.get(&package_at("pkg_00500")).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, some).await.expect("half of it is taken in");
    let mut seen = Vec::new();
    for nth in 0..=500 {
        let id = format!("pkg_{nth:05}");
        if operator.get(&package_at(&id)).await.status == 200 {
            seen.push(id);
        }
    }
    server.crash().await;
    let operator = server.operator();
    for id in &seen {
        assert_eq!(operator.get(&package_at(id)).await.status, 200, "{id}");
    }
    let report = import(&operator, "", &text).await;
    let counted = |name: &str| report[name].as_u64().expect("a number");
    assert_eq!((counted("imported") + counted("skipped"), counted("refused_count")), (3_000, 0), "{report}");
    assert!(counted("skipped") >= seen.len() as u64, "{report}");
    assert_counts(&import(&operator, "", &text).await, [0, 3_000, 0, 0, 0, 0]);
}

/// Past the limit of a line the line is refused, and the next one is taken.
#[tokio::test]
async fn a_line_past_its_limit_is_refused_alone() {
    let server = Server::start().await;
    let text =
        format!("{{\"record\":\"package\",\"data\":{{\"x\":\"{}\"}}}}\n{}", "x".repeat(4 << 20), many(1));
    let report = import(&server.operator(), "", &text).await;
    assert_counts(&report, [1, 0, 0, 0, 0, 1]);
    let refused = &report["refused"][0];
    assert_eq!((&refused["line"], &refused["code"]), (&json!(1), &json!("line_too_long")));
}
