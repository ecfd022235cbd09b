//! Who gets in: tokens, pages of others, and messages that are none.

use blackbox::{Response, Server};
use serde_json::{Value, json};

use super::said::{ACCEPT, Session, ask_at, code, send, single};

/// Without a token it is 401, and the challenge says where the metadata is, which says how to come by one.
#[tokio::test]
async fn without_a_token_a_client_is_told_where_to_look() {
    let server = Server::start().await;
    let base = server.url();
    let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
    let challenge = format!("Bearer resource_metadata=\"{metadata}\", scope=\"write\"");
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for method in ["POST", "GET", "DELETE"] {
        for caller in [server.stranger(), server.bearer("pla_nobody")] {
            let body = (method == "POST").then_some(&message);
            let answer = caller.call(method, "/mcp", &[ACCEPT], body).await;
            assert_eq!(answer.status, 401, "{answer}");
            assert_eq!(answer.header("www-authenticate"), Some(challenge.as_str()), "{answer}");
        }
    }
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let found = server.stranger().get(path).await.ok(200);
        assert_eq!(found["resource"], format!("{base}/mcp"));
        assert_eq!(found["bearer_methods_supported"], json!(["header"]));
        assert_eq!(found["authorization_servers"], json!([base]));
        assert_eq!(found["scopes_supported"], json!(["read", "write"]));
    }
    // A token in the URL is none.
    let agent = server.agent("@nick.bot").await;
    let path = format!("/mcp?token={}", agent.token());
    let answer = server.stranger().call("POST", &path, &[ACCEPT], Some(&message)).await;
    assert_eq!(answer.status, 401, "{answer}");
}

/// A name that is made to point here, and pages of others, are refused before anybody looks at the token.
#[tokio::test]
async fn pages_of_others_are_refused() {
    let (server, [agent]) = Server::with(["@nick.bot"]).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for origin in ["http://evil.example", "null", "https://127.0.0.1.evil.example"] {
        let answer = send(&agent, &[("Origin", origin)], &ping).await;
        assert_eq!(answer.status, 403, "{origin}: {answer}");
        assert_eq!(answer.json()["error"]["code"], "foreign_origin", "{answer}");
        let answer = server.stranger().call("POST", "/mcp", &[("Origin", origin)], Some(&ping)).await;
        assert_eq!(answer.status, 403, "{origin}: {answer}");
    }
    let body = single("tools/list", json!({})).to_string();
    let port = server.address().get().port();
    let by_name = |host: &str, origin: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nContent-Length: {}\r\n\r\n{body}",
            agent.token(),
            body.len(),
        )
    };
    let evil = format!("evil.example:{port}");
    let answer = agent.bytes(by_name(&evil, &format!("http://{evil}")).as_bytes()).await;
    assert_eq!(answer.status, 403, "{answer}");
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")] {
        agent.bytes(by_name(&host, &format!("http://{host}")).as_bytes()).await.ok(200);
    }
}

/// What is no message is said to be none, with the codes of JSON-RPC.
#[tokio::test]
async fn what_is_no_message_is_refused() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    let post = async |body: &[u8]| -> Response {
        agent.bytes(&agent.request("POST", "/mcp", &[ACCEPT], Some(body))).await
    };
    for (body, wanted) in [
        ("{", -32_700),
        ("", -32_700),
        ("[]", -32_600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32_600),
        (r#"{"id":1,"method":"ping"}"#, -32_600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32_600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32_600),
    ] {
        let answer = post(body.as_bytes()).await;
        assert_eq!((answer.status, code(&answer)), (400, wanted), "{body}: {answer}");
        assert_eq!(answer.json()["id"], Value::Null);
    }
    // One byte over the limit of a message: the largest body of an operation, and its envelope.
    let huge = format!("\"{}\"", "x".repeat((1 << 20) + (64 << 10) - 1));
    assert_eq!(post(huge.as_bytes()).await.status, 413);
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let plain =
        agent.bytes(&agent.request("POST", "/mcp", &[("Accept", "application/json")], Some(ping))).await;
    assert_eq!(plain.status, 406, "{plain}");
    assert_eq!(agent.call("PUT", "/mcp", &[], None).await.status, 405);
}

/// The query chooses what is listed, and a name that there is not is refused.
#[tokio::test]
async fn the_query_names_toolsets() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    let names = async |query: &str| -> Vec<String> {
        let path = format!("/mcp{query}");
        let listed = ask_at(&agent, &path, "tools/list", json!({})).await.ok(200);
        let again = ask_at(&agent, &path, "tools/list", json!({})).await.ok(200);
        assert_eq!(listed, again, "a list is the same every time");
        let tools = listed["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    let (core, all) = (names("").await, names("?toolsets=all").await);
    assert_eq!(names("?toolsets=core").await, core);
    assert!(core.iter().all(|name| all.contains(name)), "all is all: {core:?} {all:?}");
    assert_eq!(names("?toolsets=frames%2Ccore").await, names("?toolsets=core,frames").await);
    let answer = ask_at(&agent, "/mcp?toolsets=core,nothing", "tools/list", json!({})).await;
    assert_eq!((answer.status, code(&answer)), (400, -32_602), "{answer}");
    assert!(answer.text().contains("nothing"), "{answer}");
}

/// A session is its agent's alone, and it dies with the very token that it was begun with.
#[tokio::test]
async fn a_session_dies_with_its_token() {
    let (server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let session = Session::open(&alice).await;
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    let foreign = send(&bob, &session.headers(), &ping).await;
    assert_eq!(foreign.status, 404, "a session of somebody else is like none: {foreign}");
    let absent = send(&bob, &[("Mcp-Session-Id", "nothing")], &ping).await;
    assert_eq!(foreign.body, absent.body);
    assert_eq!(session.send(&ping).await.status, 200);
    let path = format!("/_admin/agents/{}/rotate-token", alice.handle);
    let fresh = server.operator().post_empty(&path).await;
    let fresh = fresh.json()["token"].as_str().unwrap_or_else(|| panic!("{fresh}")).to_owned();
    assert_eq!(session.send(&ping).await.status, 401);
    let renewed = server.bearer(&fresh);
    let headers: Vec<_> = [ACCEPT].into_iter().chain(session.headers()).collect();
    assert_eq!(renewed.call("POST", "/mcp", &headers, Some(&ping)).await.status, 404);
}

/// Every refusal is JSON-RPC, names the request that it is of, and says what was missing.
#[tokio::test]
async fn refusals_are_messages_that_say_what_to_do() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    let hello = |params: Value| json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params});
    let client = json!({"name": "c", "version": "1"});
    for (headers, message, status, number, words) in [
        (vec![ACCEPT], ping.clone(), 400, -32_600, "Session ID is required"),
        (vec![("Accept", "application/json")], ping, 406, -32_000, "text/event-stream"),
        (vec![ACCEPT], hello(json!({})), 400, -32_602, "protocolVersion"),
        (
            vec![ACCEPT],
            hello(json!({"protocolVersion": "2025-11-25", "capabilities": {}})),
            400,
            -32_602,
            "clientInfo",
        ),
        (
            vec![ACCEPT],
            hello(json!({"protocolVersion": 1, "capabilities": {}, "clientInfo": client})),
            400,
            -32_602,
            "protocolVersion",
        ),
    ] {
        let answer = agent.call("POST", "/mcp", &headers, Some(&message)).await;
        assert_eq!((answer.status, code(&answer)), (status, number), "{message}: {answer}");
        let said = answer.json();
        assert_eq!(
            (&said["id"], answer.header("content-type")),
            (&json!(7), Some("application/json")),
            "{said}"
        );
        assert!(said["error"]["message"].as_str().is_some_and(|text| text.contains(words)), "{said}");
    }
}

/// Who takes anything takes both forms.
#[tokio::test]
async fn a_client_that_takes_anything_is_answered() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    for accept in [vec![], vec![("Accept", "*/*")], vec![("Accept", "text/html, */*;q=0.8")]] {
        let answer = agent.call("POST", "/mcp", &accept, Some(&hello)).await;
        assert_eq!(answer.status, 200, "{accept:?}: {answer}");
    }
}

/// What a request lacks is said with the request.
#[tokio::test]
async fn params_that_do_not_fit_are_told_what_fits() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    for (method, params, words) in [
        ("tools/call", json!({"arguments": {}}), "`name`"),
        ("resources/read", json!({}), "`uri`"),
        ("prompts/get", json!({}), "`name`"),
        ("subscriptions/listen", json!({}), "`resourceSubscriptions`"),
    ] {
        let answer = ask_at(&agent, "/mcp", method, params).await;
        assert_eq!(code(&answer), -32_602, "{method}: {answer}");
        let said = answer.json();
        assert!(said["error"]["message"].as_str().is_some_and(|text| text.contains(words)), "{said}");
    }
}
