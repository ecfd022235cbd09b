//! The server as a service: health, readiness, metrics, its own description, and its limits at start (D.1, D.2).

use blackbox::{Cli, Database, Server, TempDir, TestDependency, assert_keys, eventually, in_time, pair};
use serde_json::json;
use tokio_postgres::NoTls;

/// Both names answer the union that the published clients expect.
#[tokio::test]
async fn health_answers_on_both_names() {
    let server = Server::start().await;
    for path in ["/healthz", "/health"] {
        let health = server.stranger().get(path).await.ok(200);
        for member in ["ok", "status", "network", "version", "uptime_ms"] {
            assert!(health.get(member).is_some(), "{member} is missing: {health}");
        }
        assert_eq!(health["ok"], true);
        assert_eq!(health["status"], "ok");
        assert!(health["network"].is_string() && health["version"].is_string(), "{health}");
        assert!(health["uptime_ms"].as_i64().is_some_and(|uptime| uptime >= 0), "{health}");
    }
    ready(&server).await;
}

/// A supervisor learns when the server listens.
#[tokio::test]
async fn a_supervisor_is_told_that_the_server_is_ready() {
    let dir = TempDir::new();
    let path = dir.path().join("notify");
    let supervisor = tokio::net::UnixDatagram::bind(&path).expect("the socket is free");
    let _server = Server::builder().env("NOTIFY_SOCKET", &path.display().to_string()).start().await;
    let mut report = [0; 64];
    let bytes = in_time("the server reports", supervisor.recv(&mut report)).await.expect("received");
    assert_eq!(&report[..bytes], b"READY=1");
}

/// Waits until the server is ready: a store that answers late is silent for that time.
async fn ready(server: &Server) {
    eventually("the server is ready", || async {
        (server.stranger().get("/readyz").await.status == 200).then_some(())
    })
    .await;
}

/// Who can read and can't write is not ready, says so while the store is silent, and is ready by itself once it writes.
#[tokio::test]
async fn a_server_that_cannot_write_is_not_ready() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let server = Server::builder().database(database.url()).start().await;
    server.agent("@nick.bot").await;
    let (holder, connection) =
        tokio_postgres::connect(database.url(), NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    holder
        .batch_execute("BEGIN; SELECT last FROM plenary.head FOR UPDATE")
        .await
        .expect("the head can be held");
    let silent = server.stranger().get("/readyz").await;
    assert_eq!(silent.status, 503, "{silent}");
    let status = silent.json()["status"].clone();
    assert!(status == "store_silent" || status == "store_overloaded", "{silent}");
    holder.batch_execute("ROLLBACK").await.expect("the head is let go");
    ready(&server).await;
    drop((server, holder));
    database.remove().await;
}

/// A store that does not tell whether a token is valid is no proof that it is not: a client that got such an answer would take
/// this server for another program.
#[tokio::test]
async fn a_challenge_that_the_store_does_not_answer_is_not_answered_in_the_negative() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let server = Server::builder().database(database.url()).start().await;
    let address = server.url().trim_start_matches("http://").to_owned();
    let path = format!("/healthz?challenge={}&key={}&address={address}", "a".repeat(64), "b".repeat(16));
    let unknown = server.stranger().get(&path).await;
    assert!(unknown.status == 200 && unknown.json()["proof"].is_null(), "{unknown}");
    let (holder, connection) =
        tokio_postgres::connect(database.url(), NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    holder
        .batch_execute("BEGIN; LOCK TABLE plenary.idx IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("the table can be held");
    let silent = server.stranger().get(&path).await;
    assert!(silent.status == 503 && silent.json()["proof"].is_null(), "{silent}");
    assert_eq!(
        server.stranger().get("/healthz").await.status,
        200,
        "without a challenge the store is not asked"
    );
    holder.batch_execute("ROLLBACK").await.expect("the table is let go");
    assert_eq!(server.stranger().get(&path).await.status, 200);
    drop((server, holder));
    database.remove().await;
}

/// A full store refuses what would be written and nothing else, is not ready, and is ready by itself once there is room.
#[tokio::test]
async fn a_full_store_refuses_writes_and_recovers() {
    let TestDependency::Available(admin) = TestDependency::postgres() else { return };
    let database = Database::create(&admin).await;
    let server = Server::builder().database(database.url()).start().await;
    let (nick, _ann, id) = pair(&server).await;
    nick.say(&id, "before").await;
    let (disk, connection) =
        tokio_postgres::connect(database.url(), NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    // What PostgreSQL reports where its disk is full.
    let fill = "CREATE FUNCTION plenary.disk_full() RETURNS trigger LANGUAGE plpgsql AS \
                $$ BEGIN RAISE 'no space left on device' USING ERRCODE = 'disk_full'; END $$; \
                CREATE TRIGGER full_events BEFORE INSERT ON plenary.events EXECUTE FUNCTION plenary.disk_full(); \
                CREATE TRIGGER full_rows BEFORE INSERT OR UPDATE ON plenary.rows EXECUTE FUNCTION plenary.disk_full()";
    disk.batch_execute(fill).await.expect("the disk is full");
    let body = json!({"content": "lost", "idempotency_key": "k"});
    let refused = nick.post(&format!("/sessions/{id}/messages"), body.clone()).await;
    assert_eq!(refused.status, 507, "{refused}");
    eventually("the server says that its store is full", || async {
        let answer = server.stranger().get("/readyz").await;
        assert_eq!(answer.status, 503, "{answer}");
        (answer.json()["status"] == "store_full").then_some(())
    })
    .await;
    let cli = Cli::of(&server, &nick, &id);
    assert!(cli.run_ok(&["status"]).await.contains("up, but accepts no writes now"));
    let lost = cli.run(&["session", "send", &id, "lost"]).await;
    assert!(lost.err.contains("507 storage_full") && lost.err.contains("makes room"), "{lost:?}");
    let events = nick.get(&format!("/sessions/{id}/events")).await.ok(200);
    assert!(events.to_string().contains("before"), "what is there is read: {events}");
    let room = "DROP TRIGGER full_events ON plenary.events; DROP TRIGGER full_rows ON plenary.rows";
    disk.batch_execute(room).await.expect("there is room again");
    nick.post(&format!("/sessions/{id}/messages"), body).await.ok(201);
    ready(&server).await;
    drop((server, disk));
    database.remove().await;
}

/// The id is of what is on the log, so an address and a start are no matter to it, and another server has another one.
#[tokio::test]
async fn a_server_is_known_by_what_it_serves() {
    let (mut server, other) = (Server::start().await, Server::start().await);
    assert!(server.stranger().get("/healthz").await.ok(200).get("server_id").is_none(), "nothing is on it");
    server.agent("@nick.bot").await;
    other.agent("@nick.bot").await;
    let id = server.stranger().get("/healthz").await.ok(200)["server_id"].clone();
    assert!(id.as_str().is_some_and(|id| id.len() == 32), "{id}");
    assert_ne!(other.stranger().get("/healthz").await.ok(200)["server_id"], id);
    let before = server.url();
    server.crash().await;
    server.agent("@nick.later").await;
    assert_ne!(server.url(), before);
    assert_eq!(server.stranger().get("/healthz").await.ok(200)["server_id"], id);
}

/// Prometheus text: comment lines and samples.
#[tokio::test]
async fn metrics_are_prometheus_text() {
    let server = Server::start().await;
    let metrics = server.stranger().get("/metrics").await;
    assert_eq!(metrics.status, 200, "{metrics}");
    let kind = metrics.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("text/plain") || kind.starts_with("application/openmetrics-text"), "{metrics}");
    let text = metrics.text();
    let samples: Vec<_> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(!samples.is_empty(), "{metrics}");
    for sample in samples {
        let value = sample.rsplit(' ').next().unwrap_or_default();
        assert!(value.parse::<f64>().is_ok() || value == "+Inf", "{sample}");
    }
    // The page for operators lists exactly these families.
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let page = include_str!("../../../../docs/operations.md");
    let listed = page.lines().filter_map(|line| line.strip_prefix("| `plenary_")?.split('`').next());
    let mut listed: Vec<_> = listed.map(|name| format!("plenary_{name}")).collect();
    let mut families: Vec<_> = families.collect();
    families.sort_unstable();
    listed.sort_unstable();
    assert_eq!(families, listed);
}

/// D.1, D.2: every path of the Agent Session Protocol and its surroundings is described, under its methods.
#[tokio::test]
async fn the_description_is_complete() {
    let server = Server::start().await;
    let document = server.stranger().get("/openapi.json").await.ok(200);
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.")), "{document}");
    let paths = document["paths"].as_object().expect("paths");
    // Names of parameters are free.
    let bare = |path: &str| {
        path.split('/')
            .map(|part| if part.starts_with('{') { "{}" } else { part })
            .collect::<Vec<_>>()
            .join("/")
    };
    let described: std::collections::BTreeMap<_, _> =
        paths.iter().map(|(path, item)| (bare(path), item)).collect();
    for (path, methods) in [
        ("/sessions", "get post"),
        ("/sessions/{}", "get"),
        ("/sessions/{}/join", "post"),
        ("/sessions/{}/invite", "post"),
        ("/sessions/{}/messages", "post"),
        ("/sessions/{}/leave", "post"),
        ("/sessions/{}/end", "post"),
        ("/sessions/{}/reopen", "post"),
        ("/sessions/{}/events", "get"),
        ("/connect", "get"),
        ("/contacts", "post"),
        ("/contacts/{}/accept", "post"),
        ("/contacts/{}/decline", "post"),
        ("/agents/me", "get patch"),
        ("/agents/{}/{}", "get"),
        ("/agents/{}/{}/card", "get"),
        ("/search", "get"),
        ("/search/agents", "get"),
        ("/search/messages", "get"),
        ("/agents/me/allowlist", "get post"),
        ("/agents/me/allowlist/{}", "delete"),
        ("/agents/me/blocks", "get post"),
        ("/agents/me/blocks/{}", "delete"),
        ("/auth/ticket", "post"),
        ("/_admin/owners", "get post"),
        ("/_admin/agents", "get post"),
        ("/_admin/agents/{}", "get patch delete"),
        ("/_admin/agents/{}/rotate-token", "post"),
        ("/_admin/agents/{}/allowlist", "post"),
        ("/_admin/agents/{}/allowlist/{}", "delete"),
        ("/_admin/agents/{}/blocks", "post"),
        ("/_admin/agents/{}/blocks/{}", "delete"),
        ("/_admin/orgs/{}", "put"),
        ("/_admin/orgs/{}/members/{}", "put delete"),
        ("/healthz", "get"),
        ("/health", "get"),
        ("/readyz", "get"),
        ("/metrics", "get"),
        ("/openapi.json", "get"),
    ] {
        let item = described.get(path).unwrap_or_else(|| panic!("{path} is not described"));
        for method in methods.split(' ') {
            let operation = &item[method];
            assert!(operation["responses"].is_object(), "{method} {path} is not described: {item}");
        }
    }
}

/// Members that may be left out are not required, every success has its status, and no answer is a matter of course.
#[tokio::test]
async fn the_description_says_what_is_true() {
    let server = Server::start().await;
    let document = server.stranger().get("/openapi.json").await.ok(200);
    assert_eq!(document["servers"][0]["url"], server.url());
    let schemas = &document["components"]["schemas"];
    for (name, member) in
        [("InboxPage", "unread_at_least"), ("Projects", "x-truncated"), ("Orientation", "x-truncated")]
    {
        let required = schemas[name]["required"].as_array().unwrap_or_else(|| panic!("{name} is described"));
        assert!(!required.iter().any(|one| one == member), "{name}: {required:?}");
    }
    let rooms = document["tags"].as_array().expect("rooms");
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for operation in methods.as_object().expect("methods").values() {
            let responses = &operation["responses"];
            assert!(rooms.iter().any(|room| room["name"] == operation["tags"][0]), "{path} is in a room");
            assert!(responses["default"].is_null(), "{path}: each answer is described by itself");
            let wants_token = operation["security"] != serde_json::json!([]);
            assert!(!wants_token || responses["401"].is_object(), "{path} says 401");
        }
    }
    let put = &document["paths"]["/_admin/orgs/{org}"]["put"]["responses"];
    assert!(put["200"].is_object() && put["201"].is_object(), "{put}");
    let appended = &document["paths"]["/agent-channel/{id}/event"]["post"]["responses"]["200"];
    let named = appended["content"]["application/json"]["schema"]["$ref"].as_str().unwrap_or_default();
    let forms = &schemas[named.rsplit('/').next().unwrap_or_default()]["anyOf"];
    assert_eq!(forms.as_array().map(Vec::len), Some(2), "an event, or a verdict: {appended}");
    let content = |path: &str| document["paths"][path]["get"]["responses"]["200"]["content"].clone();
    assert!(content("/artifacts/{artifact_id}")["*/*"].is_object(), "an artifact has its own type");
    for kind in ["application/octet-stream", "image/png", "image/webp"] {
        assert!(content("/files/{id}")[kind].is_object(), "{kind}");
    }
}

/// Two types of one name are told apart by a number, which tells nobody what they are.
#[tokio::test]
async fn schemas_have_telling_names() {
    let server = Server::start().await;
    let document = server.stranger().get("/openapi.json").await.ok(200);
    let names: Vec<_> = document["components"]["schemas"].as_object().expect("schemas").keys().collect();
    let numbered: Vec<_> = names
        .iter()
        .filter(|name| name.trim_end_matches("Sent").ends_with(|last: char| last.is_ascii_digit()))
        .collect();
    assert!(numbered.is_empty(), "{numbered:?}");
    for name in ["Session", "ProjectSession", "ProjectRole", "RunEventRole"] {
        assert!(names.iter().any(|known| *known == name), "{name}");
    }
}

/// Scenario 8: a second process on the same data directory refuses to start, and the first goes on.
#[tokio::test]
async fn a_second_process_is_refused() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let (status, stderr) = server.start_twin().await;
    assert!(!status.success(), "the second process must not run");
    assert!(!stderr.trim().is_empty(), "it says why");
    assert!(!stderr.contains("panicked"), "{stderr}");
    alice.get("/sessions").await.ok(200);
}

/// Answers do not show what they are made with.
#[tokio::test]
async fn answers_are_plain() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let response = alice.get("/sessions").await;
    assert_keys(&response.ok(200), &["sessions"], &["next_cursor"]);
    assert!(response.header("x-powered-by").is_none());
    assert!(response.header("server").is_none_or(|name| !name.contains('/')), "{response}");
}

/// The headers of files and cookies are described where they are sent.
#[tokio::test]
async fn headers_of_files_and_cookies_are_described() {
    let server = Server::start().await;
    let described = server.stranger().get("/openapi.json").await.ok(200);
    for (method, path, status, header) in [
        ("get", "/files/{id}", "200", "Content-Disposition"),
        ("get", "/v1/projects/{project_id}/blobs/{sha256}", "200", "Content-Disposition"),
        ("get", "/artifacts/{artifact_id}", "200", "Content-Disposition"),
        ("post", "/console/sessions", "201", "Set-Cookie"),
        ("delete", "/console/sessions/{id}", "204", "Set-Cookie"),
        ("get", "/console/signed-in/{issuer}", "303", "Set-Cookie"),
        ("post", "/oauth/sign-in", "303", "Set-Cookie"),
    ] {
        let headers = &described["paths"][path][method]["responses"][status]["headers"];
        assert!(headers[header].is_object(), "{header} of {method} {path}: {headers}");
    }
}
