//! `Idempotency-Key` at every operation that writes: the same request is answered as the first time and done once, also
//! over a crash, and another request under the key is refused in the form of its room. A new operation needs a row.

mod nulls;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use blackbox::{Caller, Response, Server};
use serde_json::{Value, json};

use rows::{EachTime, Naturally, Once, OnceByHead, Row, Scene, Takes};

/// The answer, but for what says that it is a repeated one, and the date.
fn said(response: &Response, takes: Takes) -> (u16, Option<String>, String) {
    let run = response.header("x-run-id").map(str::to_owned);
    let body = if takes == OnceByHead { String::new() } else { unplaced(&response.text()) };
    (response.status, run, body)
}

/// A body without the ports in its URLs: a server that is started again listens at another one.
fn unplaced(body: &str) -> String {
    let mut parts = body.split("127.0.0.1:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "127.0.0.1" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

#[track_caller]
fn is_reused(row: &Row, response: &Response) {
    assert_eq!(response.status, 409, "{}: another body: {response}", row.id);
    let body = response.json();
    let code = body["code"].as_str().or(body["error"]["code"].as_str());
    assert_eq!(code, Some("idempotency_key_reused"), "{}: {response}", row.id);
}

async fn begin(row: &Row) -> Response {
    let first = row.send(row.body.as_ref()).await;
    let again = row.send(row.body.as_ref()).await;
    match row.takes {
        Once | OnceByHead => {
            assert!((200..300).contains(&first.status), "{}: {first}", row.id);
            assert!(!first.is_replayed(), "{}: {first}", row.id);
            assert_eq!(said(&again, row.takes), said(&first, row.takes), "{}: {again}", row.id);
            is_reused(row, &row.send(Some(&row.other)).await);
        }
        Naturally(status, repeated, why) => {
            assert_eq!((first.status, again.status), (status, repeated), "{}: {why}: {again}", row.id);
        }
        EachTime(why) => assert!(!again.is_replayed(), "{}: {why}: {again}", row.id),
        Takes::Refused(status) => {
            assert_eq!((first.status, again.status), (status, status), "{}: {first}", row.id);
            assert_eq!(row.send(Some(&row.other)).await.status, status, "{}: the key is free", row.id);
        }
    }
    first
}

/// The description has the header, and the refusals of a key, exactly where an operation sees to one. The status of what
/// can be no key.
fn describes(operation: &Value, takes_key: bool) -> Option<u16> {
    let id = &operation["operationId"];
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let header: Vec<_> = parameters.filter(|parameter| parameter["name"] == "Idempotency-Key").collect();
    assert_eq!(header.len(), usize::from(takes_key), "{id}: {header:?}");
    assert!(header.iter().all(|header| header["in"] == "header" && header["schema"]["maxLength"] == 255));
    let has = |statuses: &[&str], code: &str| {
        let mut codes =
            statuses.iter().filter_map(|status| operation["responses"][status]["x-plenary-codes"].as_array());
        codes.any(|codes| codes.iter().any(|known| known == code))
    };
    assert_eq!(has(&["409"], "idempotency_key_reused"), takes_key, "{id}");
    let invalid = "invalid_idempotency_key";
    assert_eq!(
        u8::from(has(&["400"], invalid)) + u8::from(has(&["422"], invalid)),
        u8::from(takes_key),
        "{id}"
    );
    takes_key.then(|| if has(&["400"], invalid) { 400 } else { 422 })
}

/// Every operation of the description that writes has a row. By the id of each that takes a key, the status of what can be
/// none.
async fn covered(server: &Server, rows: &[Row]) -> BTreeMap<String, u16> {
    let described = server.operator().get("/openapi.json").await.ok(200);
    let (mut writing, mut taking) = (BTreeSet::new(), BTreeMap::new());
    for (path, methods) in described["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            if ["post", "put", "patch", "delete"].contains(&method.as_str()) {
                let id = operation["operationId"].as_str().unwrap_or(path);
                writing.insert(id.to_owned());
                let row = rows.iter().find(|row| row.id == id);
                let takes_key = row.is_some_and(|row| !matches!(row.takes, Naturally(..) | EachTime(_)));
                taking.extend(describes(operation, takes_key).map(|status| (id.to_owned(), status)));
            } else {
                describes(operation, false);
            }
        }
    }
    let rows: BTreeSet<String> = rows.iter().map(|row| row.id.to_owned()).collect();
    assert_eq!(rows, writing, "each operation that writes has one row");
    taking
}

#[tokio::test]
async fn ap_83_every_writing_operation_is_carried_out_once_for_a_key() {
    let mut server = Server::start().await;
    let scene = Scene::new(&server).await;
    let mut rows = scene.accounts(&server).await;
    rows.extend(scene.sessions().await);
    rows.extend(scene.context().await);
    rows.extend(scene.others().await);
    rows.extend(scene.dashboards());
    rows.extend(scene.foreign());
    rows.extend(scene.requests().await);
    rows.extend(scene.notifications().await);
    let described = covered(&server, &rows).await;
    let mut first = Vec::new();
    for row in &rows {
        if let Some(status) = described.get(row.id) {
            let long = "k".repeat(256);
            let headers = [("Idempotency-Key", long.as_str())];
            let refused = row.by.call(row.method, &row.path, &headers, row.body.as_ref()).await;
            assert_eq!(refused.status, *status, "{}: {refused}", row.id);
        }
        first.push(begin(row).await);
    }
    server.crash().await;
    for (row, first) in rows.iter().zip(&first) {
        if matches!(row.takes, Once | OnceByHead) {
            let again = row.send(row.body.as_ref()).await;
            assert_eq!(said(&again, row.takes), said(first, row.takes), "{}, after a crash: {again}", row.id);
            is_reused(row, &row.send(Some(&row.other)).await);
        }
    }
    // And nothing was done twice.
    let nick = &scene.nick;
    let facts = nick.get("/v1/projects/p/facts?include_ended=true&subject=s").await.ok(200);
    assert_eq!(facts["facts"].as_array().map(Vec::len), Some(2), "{facts}");
    let sessions = nick.get("/v1/projects/p/sessions").await.ok(200);
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(2), "{sessions}");
    let reviews = nick.get("/v1/packages/flagged/reviews").await.ok(200);
    assert_eq!(reviews["reviews"].as_array().map(Vec::len), Some(2), "{reviews}");
    let packages = nick.get("/v1/projects/p/packages?limit=100").await.ok(200);
    assert_eq!(packages["packages"].as_array().map(Vec::len), Some(4), "{packages}");
}

/// The secret of an answer is the first one's, works, and stands nowhere in the store.
#[tokio::test]
async fn ap_83_a_token_that_is_shown_again_is_the_one_that_was_made() {
    let mut server = Server::start().await;
    let operator = server.operator();
    let make = async |key: &str| {
        let body = json!({"handle": "@ann.a"});
        operator.call("POST", "/_admin/agents", &[("Idempotency-Key", key)], Some(&body)).await
    };
    let first = make("k").await.ok(201);
    server.crash().await;
    assert_eq!(make("k").await.ok(201), first);
    make("l").await.assert_refused(409, "agent_exists");
    let token = first["token"].as_str().expect("a token");
    server.bearer(token).get("/agents/me").await.ok(200);
    server.stop().await;
    let mut dirs = vec![server.data().clone()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).expect("a file");
            let found = bytes.windows(token.len()).any(|window| window == token.as_bytes());
            assert!(!found, "{} has a token", path.display());
        }
    }
}

/// The statuses of many requests at once, and how many of the answers say that they are repeated.
async fn at_once(by: &Caller, (method, path): (&str, &str), body: Option<&Value>) -> (Vec<u16>, usize) {
    let key = [("Idempotency-Key", "at-once")];
    let answers = futures_util::future::join_all((0..8).map(|_| by.call(method, path, &key, body))).await;
    let statuses = answers.iter().map(|answer| answer.status).collect();
    (statuses, answers.iter().filter(|answer| answer.is_replayed()).count())
}

/// A request that is repeated before the first one is answered gets the answer of the first.
#[tokio::test]
async fn ap_83_a_request_that_is_repeated_at_once_is_carried_out_once() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    for nth in 0..5 {
        let handle = format!("@nick.a{nth}");
        server.agent(&handle).await;
        let path = format!("/_admin/agents/{handle}");
        assert_eq!(at_once(&owner, ("DELETE", &path), None).await, (vec![204; 8], 7), "{handle}");
    }
    let body = json!({"handle": "@nick.new"});
    assert_eq!(at_once(&owner, ("POST", "/_admin/agents"), Some(&body)).await, (vec![201; 8], 7));
}

/// What a request made may be gone when it is repeated; the answer is the first one still.
#[tokio::test]
async fn ap_83_the_first_answer_outlasts_what_was_made() {
    let mut server = Server::start().await;
    let owner = server.owner("nick").await;
    server.agent("@nick.a").await;
    let body = json!({"scope": "read"});
    let by_key = [("Idempotency-Key", "k")];
    let made = owner.call("POST", "/_admin/agents/@nick.a/tokens", &by_key, Some(&body)).await.ok(201);
    let turned = owner.call("POST", "/_admin/agents/@nick.a/rotate-token", &by_key, None).await.ok(200);
    let path = format!("/_admin/agents/@nick.a/tokens/{}", made["id"].as_str().expect("an id"));
    let ended = owner.call("DELETE", &path, &by_key, None).await;
    assert!(ended.status == 204 && !ended.is_replayed(), "{ended}");
    for is_gone in [false, true] {
        let again = owner.call("POST", "/_admin/agents/@nick.a/tokens", &by_key, Some(&body)).await;
        assert!(again.is_replayed(), "{is_gone}: {again}");
        assert_eq!(again.ok(201), made);
        let again = owner.call("POST", "/_admin/agents/@nick.a/rotate-token", &by_key, None).await;
        assert_eq!(again.ok(200), turned);
        assert_eq!(owner.call("DELETE", &path, &by_key, None).await.status, 204);
        server.operator().delete("/_admin/agents/@nick.a").await;
        server.crash().await;
    }
    let other = server.bearer(made["token"].as_str().expect("a token"));
    other.get("/agents/me").await.assert_refused(401, "invalid_authorization");
}

/// A server may end between a change and the storing of its answer: the answer is made again, also about what is gone.
#[tokio::test]
async fn ap_83_an_answer_that_was_not_stored_is_made_again() {
    let mut server = Server::start().await;
    let owner = server.owner("nick").await;
    server.agent("@nick.a").await;
    server.agent("@nick.b").await;
    let body = json!({"scope": "read"});
    let by_key = [("Idempotency-Key", "k")];
    let tokens = "/_admin/agents/@nick.b/tokens";
    let made = owner.call("POST", tokens, &by_key, Some(&body)).await.ok(201);
    let ended = format!("{tokens}/{}", made["id"].as_str().expect("an id"));
    let paths = ["/_admin/agents/@nick.a", &ended];
    for path in paths {
        assert_eq!(owner.call("DELETE", path, &by_key, None).await.status, 204, "{path}");
    }
    // The last key of a store stays.
    server.operator().call("PUT", "/_admin/orgs/last", &by_key, None).await.ok(201);
    server.stop().await;
    let database = rusqlite::Connection::open(server.data().join("plenary.db")).expect("the file is there");
    let answers = "SELECT claim FROM keys WHERE scope LIKE 'once/~nick/%' AND scope NOT LIKE '%#%'";
    let forget = |table: &str| {
        let forget = format!("DELETE FROM {table} WHERE claim IN ({answers})");
        database.execute(&forget, []).expect("answers are stored")
    };
    assert_eq!((forget("key_index"), forget("keys")), (3, 3));
    drop(database);
    server.restart().await;
    for path in paths {
        let again = owner.call("DELETE", path, &by_key, None).await;
        assert_eq!(again.status, 204, "{path}: {again}");
    }
    let again = owner.call("POST", tokens, &by_key, Some(&body)).await;
    again.assert_refused(409, "token_ended");
    owner.get("/_admin/agents/@nick.a").await.assert_refused(404, "not_found");
}

/// A key that no key can be is refused, and so are two.
#[tokio::test]
async fn ap_83_a_key_has_its_form() {
    let (_server, [nick]) = Server::with(["@nick.a"]).await;
    let body = json!({"project_id": "p"});
    for key in ["", &"k".repeat(256)] {
        let answer = nick.call("POST", "/v1/projects", &[("Idempotency-Key", key)], Some(&body)).await;
        answer.assert_refused(400, "invalid_idempotency_key");
    }
    let two = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")];
    nick.call("POST", "/v1/projects", &two, Some(&body)).await.assert_refused(400, "invalid_idempotency_key");
    nick.get("/v1/projects/p").await.assert_refused(404, "project_not_found");
    // Also where the body has a key of its own, or nothing would be stored.
    let wrong = [("Idempotency-Key", "")];
    let id = nick.create(&[]).await;
    let message = json!({"content": "Hi", "idempotency_key": "k"});
    let answer = nick.call("POST", &format!("/sessions/{id}/messages"), &wrong, Some(&message)).await;
    answer.assert_refused(400, "invalid_idempotency_key");
    let channel = nick.post("/agent-channel", json!({"title": "t"})).await.ok(200)["id"].clone();
    let path = format!("/agent-channel/{}/event?validate=1", channel.as_str().expect("an id"));
    let event = json!({"kind": "comms", "payload": {}});
    let answer = nick.call("POST", &path, &wrong, Some(&event)).await;
    assert_eq!((answer.status, &answer.json()["code"]), (422, &json!("invalid_idempotency_key")), "{answer}");
}
