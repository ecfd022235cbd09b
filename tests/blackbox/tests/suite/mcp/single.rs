//! Requests that stand alone: revision 2026-07-28.

use blackbox::Server;
use serde_json::{Value, json};

use super::said::{ACCEPT, SINGLE, ask, code, headers, messages, result, send, served, single};

/// The server says what it is and what it can, and every list says how long it is fresh, and for whom.
#[tokio::test]
async fn the_server_is_discovered_and_its_lists_are_cacheable() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    let found = result(&agent, "server/discover", json!({})).await;
    let versions: Vec<_> = found["supportedVersions"].as_array().expect("versions").iter().collect();
    assert!(versions.contains(&&json!(SINGLE)) && versions.contains(&&json!("2025-11-25")), "{found}");
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "plenary");
    assert!(found["instructions"].as_str().is_some_and(|text| text.contains("not instructions")), "{found}");
    assert!(found["capabilities"]["logging"].is_null(), "it is for the conformance suite: {found}");
    assert!(found["capabilities"]["completions"].is_object(), "{found}");
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        let listed = result(&agent, method, json!({})).await;
        assert_eq!(listed["resultType"], "complete", "{method}: {listed}");
        assert!(listed["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0), "{method}: {listed}");
        assert_eq!(listed["cacheScope"], "public", "{method}: {listed}");
        assert_eq!(result(&agent, method, json!({})).await, listed, "{method} is the same every time");
        assert!(listed["nextCursor"].is_null(), "{method}: {listed}");
        let answer = ask(&agent, method, json!({"cursor": "x"})).await;
        assert_eq!(code(&answer), -32_602, "no cursor was given out: {answer}");
    }
}

/// Headers repeat what is in the message: where they differ, it is not carried out.
#[tokio::test]
async fn headers_that_differ_from_the_message_are_refused() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let message = single("tools/call", json!({"name": "test_simple_text", "arguments": {}}));
    let good = headers(&message);
    let with = async |name: &str, value: Option<&str>| {
        let changed =
            good.iter().filter(|(known, _)| *known != name).map(|(known, value)| (*known, value.as_str()));
        let headers: Vec<_> = changed.chain(value.map(|value| (name, value))).collect();
        agent.call("POST", "/mcp", &headers, Some(&message)).await
    };
    assert_eq!(with("X-Other", None).await.status, 200);
    for (name, value) in [
        ("Mcp-Method", None),
        ("Mcp-Method", Some("tools/list")),
        ("Mcp-Method", Some("TOOLS/CALL")),
        ("Mcp-Name", None),
        ("Mcp-Name", Some("test_image_content")),
        ("MCP-Protocol-Version", None),
        ("MCP-Protocol-Version", Some("2025-11-25")),
    ] {
        let answer = with(name, value).await;
        assert_eq!((answer.status, code(&answer)), (400, -32_020), "{name}: {value:?}: {answer}");
        assert_eq!(answer.json()["id"], 1, "{answer}");
    }
}

/// A revision that is not spoken here is refused with those that are; so is a request that does not say what it needs.
#[tokio::test]
async fn revisions_and_capabilities_are_checked() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let mut message = single("tools/list", json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let headers = [("MCP-Protocol-Version", "2031-01-01"), ("Mcp-Method", "tools/list")];
    let answer = send(&agent, &headers, &message).await;
    assert_eq!((answer.status, code(&answer)), (400, -32_022), "{answer}");
    let supported = &answer.json()["error"]["data"]["supported"];
    assert!(supported.as_array().is_some_and(|versions| versions.contains(&json!(SINGLE))), "{answer}");

    let answer = ask(&agent, "tools/call", json!({"name": "test_missing_capability", "arguments": {}})).await;
    assert_eq!((answer.status, code(&answer)), (400, -32_021), "{answer}");
    assert!(answer.json()["error"]["data"]["requiredCapabilities"]["sampling"].is_object(), "{answer}");

    for missing in ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"] {
        let mut message = single("tools/list", json!({}));
        message["params"]["_meta"].as_object_mut().expect("an object").remove(missing);
        let answer =
            send(&agent, &[("MCP-Protocol-Version", SINGLE), ("Mcp-Method", "tools/list")], &message).await;
        assert_eq!((answer.status, code(&answer)), (400, -32_602), "{missing}: {answer}");
    }
}

/// Methods that there are not, also those of sessions, are 404; known ones with wrong params are told so.
#[tokio::test]
async fn unknown_methods_are_404() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    for method in ["no/such", "ping", "resources/subscribe", "logging/setLevel"] {
        let answer = ask(&agent, method, json!({"uri": "plenary://me", "level": "info"})).await;
        assert_eq!((answer.status, code(&answer)), (404, -32_601), "{method}: {answer}");
        let names_method =
            answer.json()["error"]["message"].as_str().is_some_and(|text| text.contains(method));
        assert!(names_method, "{answer}");
    }
    let message = single("tools/call", json!({"arguments": []}));
    let answer =
        send(&agent, &[("MCP-Protocol-Version", SINGLE), ("Mcp-Method", "tools/call")], &message).await;
    assert!([-32_602, -32_020].contains(&code(&answer)), "{answer}");
    let answer = ask(&agent, "tools/call", json!({"name": "no_such_tool", "arguments": {}})).await;
    assert_eq!(code(&answer), -32_602, "an unknown tool: {answer}");
    let answer = ask(&agent, "prompts/get", json!({"name": "no_such_prompt"})).await;
    assert_eq!(code(&answer), -32_602, "an unknown prompt: {answer}");
}

/// Progress comes before the answer, in one stream; a failure of a tool is a result.
#[tokio::test]
async fn a_call_may_say_how_far_it_is() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let mut message = single("tools/call", json!({"name": "test_tool_with_progress", "arguments": {}}));
    message["params"]["_meta"]["progressToken"] = json!("p");
    let headers = headers(&message);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = agent.call("POST", "/mcp", &headers, Some(&message)).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"), "{answer}");
    let said = messages(&answer);
    let progress: Vec<_> = said.iter().filter(|said| said["method"] == "notifications/progress").collect();
    assert_eq!(progress.len(), 3, "{answer}");
    assert!(progress.iter().all(|said| said["params"]["progressToken"] == "p"), "{answer}");
    assert_eq!(said.last().map(|last| &last["id"]), Some(&json!(1)), "the answer comes last: {answer}");

    let failed = result(&agent, "tools/call", json!({"name": "test_error_handling", "arguments": {}})).await;
    assert_eq!(failed["isError"], true);
}

/// State that a client carries is taken back only as it was given out.
#[tokio::test]
async fn state_that_was_tampered_with_is_refused() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let name = json!({"name": "test_input_required_result_request_state", "arguments": {}});
    let first = result(&agent, "tools/call", name.clone()).await;
    assert_eq!(first["resultType"], "input_required", "{first}");
    let state = first["requestState"].as_str().expect("state").to_owned();
    let answered = |state: &str| -> Value {
        let mut params = name.clone();
        params["requestState"] = json!(state);
        params["inputResponses"] = json!({"confirm": {"action": "accept", "content": {"ok": true}}});
        params
    };
    let answer = ask(&agent, "tools/call", answered(&format!("{state}0"))).await;
    assert_eq!(code(&answer), -32_602, "{answer}");
    let last = result(&agent, "tools/call", answered(&state)).await;
    assert_eq!(last["content"][0]["text"], "state-ok");
}

/// What the conformance suite needs is not there unless it was asked for.
#[tokio::test]
async fn the_fixture_is_hidden() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    for (method, params) in [
        ("tools/call", json!({"name": "test_simple_text", "arguments": {}})),
        ("prompts/get", json!({"name": "test_simple_prompt"})),
        ("resources/read", json!({"uri": "test://static-text"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
            "argument": {"name": "arg1", "value": ""}}),
        ),
    ] {
        let answer = ask(&agent, method, params).await;
        assert!([-32_602, -32_601].contains(&code(&answer)), "{method}: {answer}");
    }
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        let listed = ask(&agent, method, json!({})).await.text();
        assert!(!listed.contains("\"test_") && !listed.contains("test://"), "{method}: {listed}");
    }
}

/// Nothing of a message reaches the log, whatever the filter asks for.
#[tokio::test]
async fn nothing_of_a_message_is_printed() {
    const CANARY: &str = "canary-mcp-77aa";
    let mut server = Server::builder()
        .arg("--mcp-fixture")
        .env("PLENARY_LOG", "debug,rmcp=trace,rmcp::service=trace")
        .start()
        .await;
    let agent = server.agent("@nick.bot").await;
    ask(&agent, "tools/call", json!({"name": "test_simple_text", "arguments": {"x": CANARY}})).await.ok(200);
    ask(&agent, "resources/read", json!({"uri": format!("plenary://sessions/{CANARY}")})).await;
    let message =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"reason": CANARY}});
    agent.call("POST", "/mcp", &[ACCEPT], Some(&message)).await;
    server.stop().await;
    let printed = server.output_text();
    for secret in [CANARY, agent.token()] {
        assert!(!printed.contains(secret), "{secret} was printed");
    }
}
