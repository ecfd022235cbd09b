//! Sessions that begin with `initialize`: the revisions up to 2025-11-25.

use blackbox::{Database, Server, TestDependency, rounds};
use serde_json::{Value, json};

use super::said::{ACCEPT, Session, messages, result, send, served};

/// A client gets the revision that it asks for, and the newest with sessions when it asks for one that is not known.
#[tokio::test]
async fn the_revision_is_agreed_on() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    for (asked, wanted) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2031-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let answer = send(&agent, &[], &message).await;
        assert_eq!(answer.status, 200, "{answer}");
        assert_eq!(messages(&answer)[0]["result"]["protocolVersion"], wanted, "{asked}: {answer}");
        assert!(answer.header("mcp-session-id").is_some(), "{answer}");
    }
}

/// What can be done by a single request can be done in a session, in the older forms.
#[tokio::test]
async fn a_session_has_it_all() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let mut session = Session::open(&agent).await;
    assert_eq!(session.result("ping", json!({})).await, json!({}));
    for (method, member) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let listed = session.result(method, json!({})).await;
        let names: Vec<_> = listed.as_object().expect("an object").keys().collect();
        assert_eq!(names, [member], "older revisions know no more: {listed}");
    }
    let called = session.result("tools/call", json!({"name": "test_simple_text"})).await;
    assert_eq!(called["content"][0]["type"], "text", "{called}");
    let me = session.result("resources/read", json!({"uri": "plenary://me"})).await;
    let me: Value = serde_json::from_str(me["contents"][0]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(me["handle"], "@nick.bot");
    let orient = session.result("prompts/get", json!({"name": "orient"})).await;
    assert!(orient["messages"][0]["content"]["text"].as_str().is_some_and(|text| text.contains("@nick.bot")));
    let unknown = session.ask("no/such", json!({})).await.pop().expect("an answer");
    assert_eq!(unknown["error"]["code"], -32_601, "{unknown}");
    let missing =
        session.ask("resources/read", json!({"uri": "plenary://nothing"})).await.pop().expect("an answer");
    assert_eq!(missing["error"]["code"], -32_002, "{missing}");
}

/// The answer to a request comes on the stream of a client that reconnects by the id of an event of that request: a list
/// of tools is whole there too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_tools_is_whole_on_whatever_stream_it_comes() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let session = Session::open(&agent).await;
    let [id, version] = session.headers();
    for number in 0..rounds(60, 20) {
        let message = json!({"jsonrpc": "2.0", "id": number, "method": "tools/list"});
        let first = format!("0/{number}");
        let headers = [ACCEPT, id, version, ("Last-Event-ID", first.as_str())];
        let (answer, again) = tokio::join!(session.send(&message), agent.call("GET", "/mcp", &headers, None));
        for listed in [messages(&answer), messages(&again)].concat() {
            let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
            assert!(tools.len() > 1, "{listed}");
        }
    }
}

/// A session that was closed, or never was, is 404: the client begins anew.
#[tokio::test]
async fn a_closed_session_is_gone() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let session = Session::open(&agent).await;
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    assert_eq!(session.send(&ping).await.status, 200);
    assert_eq!(agent.call("DELETE", "/mcp", &session.headers(), None).await.status, 204);
    let gone = session.send(&ping).await;
    assert_eq!(gone.status, 404, "{gone}");
    assert_eq!(agent.call("DELETE", "/mcp", &session.headers(), None).await.status, 404);
    let [id, version] = session.headers();
    assert_eq!(agent.call("GET", "/mcp", &[ACCEPT, id, version], None).await.status, 404);
    assert_eq!(send(&agent, &[], &ping).await.status, 400, "without a session there is only initialize");
}

/// Past its number an agent's oldest session makes room, and nobody else's does.
#[tokio::test]
async fn the_oldest_session_makes_room() {
    let server = served().await;
    let (alice, bob) = (server.agent("@alice.bot").await, server.agent("@bob.bot").await);
    let other = Session::open(&bob).await;
    let first = Session::open(&alice).await;
    let second = Session::open(&alice).await;
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    for _ in 0..63 {
        Session::open(&alice).await;
    }
    assert_eq!(first.send(&ping).await.status, 404);
    assert_eq!(second.send(&ping).await.status, 200);
    assert_eq!(other.send(&ping).await.status, 200);
}

/// Past its owner's number a session of the owner makes room, whichever agent's it is, and no other owner's does.
#[tokio::test]
async fn the_sessions_of_one_owner_leave_places_for_others() {
    let server = Server::builder().config("[quota]\nmcp_sessions_per_owner_max = 2\n").start().await;
    let (first, second) = (server.agent("@nick.first").await, server.agent("@nick.second").await);
    let carol = server.agent("@carol.bot").await;
    let other = Session::open(&carol).await;
    let (oldest, newer) = (Session::open(&first).await, Session::open(&second).await);
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    assert_eq!(oldest.send(&ping).await.status, 200);
    assert_eq!(newer.send(&ping).await.status, 200);
    let newest = Session::open(&second).await;
    assert_eq!(oldest.send(&ping).await.status, 404, "it was silent longest");
    for session in [&newer, &newest, &other] {
        assert_eq!(session.send(&ping).await.status, 200);
    }
    for _ in 0..5 {
        Session::open(&first).await;
    }
    assert_eq!(other.send(&ping).await.status, 200, "another owner's stays");
    // A place that is given back can be taken again.
    assert_eq!(carol.call("DELETE", "/mcp", &other.headers(), None).await.status, 204);
    Session::open(&carol).await;
}

/// A session is at one process; another says that it has none, and the client begins anew there. Single requests may go
/// anywhere.
#[tokio::test]
async fn at_another_process_a_session_is_none_and_begins_anew() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let start = || Server::builder().database(database.url()).start();
    let (a, b) = tokio::join!(start(), start());
    let agent = a.agent("@nick.bot").await;
    let at_b = agent.at(&b);
    let session = Session::open(&agent).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for answer in [
        send(&at_b, &session.headers(), &ping).await,
        at_b.call(
            "GET",
            "/mcp",
            &[&session.headers()[..], &[("Accept", "text/event-stream")]].concat(),
            None,
        )
        .await,
        at_b.call("DELETE", "/mcp", &session.headers(), None).await,
    ] {
        assert_eq!(answer.status, 404, "{answer}");
    }
    let mut anew = Session::open(&at_b).await;
    assert_eq!(anew.result("ping", json!({})).await, json!({}));
    assert_eq!(send(&agent, &session.headers(), &ping).await.status, 200, "where it is it goes on");
    let lists = (result(&agent, "tools/list", json!({})).await, result(&at_b, "tools/list", json!({})).await);
    assert_eq!(lists.0, lists.1);
    drop((a, b));
    database.remove().await;
}
