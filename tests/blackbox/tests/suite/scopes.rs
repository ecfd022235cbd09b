//! Tokens beside an agent's own: what a scope admits, what a child may have, and that one that has ended opens nothing,
//! whatever is open with it.

use blackbox::{Agent, Caller, Pongs, Server, eventually, in_time};
use serde_json::{Value, json};

/// The same agent with a new token.
async fn scoped(server: &Server, agent: &Caller, body: Value) -> (Caller, String) {
    let made = agent.post("/agents/me/tokens", body).await.ok(201);
    let token = made["token"].as_str().expect("a token");
    assert!(token.starts_with("pls_") && token.len() == 68, "{made}");
    (server.bearer(token), made["id"].as_str().expect("an id").to_owned())
}

#[track_caller]
fn gone(answer: &blackbox::Response) {
    assert_eq!(answer.status, 204, "{answer}");
}

fn scope(scope: &str) -> Value {
    json!({"scope": scope})
}

/// A scope admits what it names, in every room; a refusal says what is missing, and the agent's own token does what it did.
#[tokio::test]
async fn a_scope_admits_what_it_names() {
    let (server, alice, _bob, id) = Server::with_pair().await;
    let (reads, _) = scoped(&server, &alice, scope("sessions:read")).await;
    let refused = |answer: &blackbox::Response, wanted: &str| {
        answer.assert_refused(403, "insufficient_scope");
        assert!(answer.text().contains(wanted), "{answer}");
    };
    reads.get(&format!("/sessions/{id}")).await.ok(200);
    reads.get("/sessions").await.ok(200);
    // Who it is, it may always ask.
    assert_eq!(reads.get("/agents/me").await.ok(200)["handle"], alice.handle.as_str());
    let message = json!({"content": "hi"});
    refused(&reads.post(&format!("/sessions/{id}/messages"), message.clone()).await, "sessions:write");
    refused(&reads.get("/inbox").await, "inbox:read");
    refused(&reads.get("/agents/me/allowlist").await, "accounts:read");
    refused(&reads.post("/agents/me/tokens", scope("sessions:read")).await, "accounts:write");
    // A connection takes the agent's place.
    let socket = reads.try_socket("/connect", &[], Pongs::Answer).await;
    refused(&socket.expect_err("no upgrade"), "sessions:write");
    // A key makes no difference, and shows no answer that another token got.
    let key = [("Idempotency-Key", "k")];
    alice.call("POST", &format!("/sessions/{id}/messages"), &key, Some(&message)).await.ok(201);
    refused(&reads.call("POST", &format!("/sessions/{id}/messages"), &key, Some(&message)).await, "write");
    let (writes, _) = scoped(&server, &alice, scope("read sessions:write")).await;
    writes.post(&format!("/sessions/{id}/messages"), message.clone()).await.ok(201);
    writes.get("/inbox").await.ok(200);
    writes.post("/inbox/ack", json!({"cursor": "0"})).await.assert_refused(403, "insufficient_scope");
    writes.try_socket("/connect", &[], Pongs::Answer).await.expect("an upgrade").close().await;
    alice.post(&format!("/sessions/{id}/messages"), message).await.ok(201);
    for bad in ["", "admin", "sessions", "sessions:rw", "session:a", "console:read"] {
        alice.post("/agents/me/tokens", scope(bad)).await.assert_refused(400, "invalid_scope");
    }
    alice
        .post("/agents/me/tokens", json!({"scope": "read", "expires_in": 0}))
        .await
        .assert_refused(400, "invalid_expires_in");
    alice
        .post("/agents/me/tokens", json!({"scope": "read", "name": ""}))
        .await
        .assert_refused(400, "invalid_name");
}

/// One that is held to a session reaches that session and nothing that shows others.
#[tokio::test]
async fn a_token_is_held_to_its_sessions() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let other = alice.create(&[&bob]).await;
    let (held, _) = scoped(&server, &alice, scope(&format!("write session:{id}"))).await;
    held.get(&format!("/sessions/{id}/events")).await.ok(200);
    held.post(&format!("/sessions/{id}/messages"), json!({"content": "hi"})).await.ok(201);
    for path in [
        format!("/sessions/{other}"),
        format!("/sessions/{other}/events"),
        "/sessions".into(),
        "/inbox".into(),
        "/search/messages?q=hi".into(),
        "/watch".into(),
        "/v1/projects".into(),
        "/requests".into(),
    ] {
        let answer = held.get(&path).await;
        assert_eq!(answer.status, 403, "{path}: {answer}");
        assert!(answer.text().contains("The words `session:`"), "what stands in the way: {answer}");
    }
    held.post("/sessions", json!({"invite": []})).await.refusal_code(403);
    held.get("/agents/me/allowlist").await.ok(200);
}

/// One that is held to a session takes no file into it that another session or an upload of its agent has, and passes on those that
/// the session has.
#[tokio::test]
async fn a_token_that_is_held_to_a_session_brings_no_file_from_elsewhere() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let other = alice.create(&[]).await;
    let (held, _) = scoped(&server, &alice, scope(&format!("sessions:write session:{id}"))).await;
    let files = [alice.upload_file("a", b"unnamed").await, alice.upload_file("b", b"elsewhere").await];
    let message = |file: &str| json!({"content": [{"type": "file", "file_id": file}]});
    let [here, there] = [&id, &other].map(|session| format!("/sessions/{session}/messages"));
    alice.post(&there, message(&files[1])).await.ok(201);
    for file in &files {
        held.post(&here, message(file)).await.assert_refused(400, "unknown_file");
        bob.get(&format!("/files/{file}")).await.assert_refused(404, "not_found");
        alice.post(&here, message(file)).await.ok(201);
        held.post(&here, message(file)).await.ok(201);
        assert_eq!(bob.get(&format!("/files/{file}")).await.status, 200);
    }
}

/// A token that is held to a project reaches its packages, also where the query names the project.
#[tokio::test]
async fn a_token_is_held_to_its_projects() {
    let (server, [alice]) = Server::with(["@nick.alice"]).await;
    for project in ["p", "q"] {
        let package = json!({
            "package_id": format!("pkg_{project}"), "project_id": project, "relay_version": "0.1", "title": "T",
            "description": "", "status": "complete", "package_type": "standard", "review_type": "none",
            "created_at": "2026-01-02T03:04:05Z", "created_by": {"id": "@nick.alice", "type": "agent"},
        });
        alice.post(&format!("/v1/projects/{project}/packages"), package).await.ok(201);
    }
    let (held, _) = scoped(&server, &alice, scope("context:read project:p")).await;
    for path in [
        "/v1/projects/p/packages",
        "/v1/packages/pkg_p?project=p",
        "/v1/packages/pkg_p/reviews?project=p",
        "/v1/orchestrate?project=p",
        "/v1/projects/nick:p/packages",
        "/v1/projects/nick%3Ap",
        "/v1/packages/pkg_p?project=nick:p",
    ] {
        held.get(path).await.ok(200);
    }
    assert_eq!(held.get("/v1/packages/pkg_q?project=p").await.status, 404);
    for path in [
        "/v1/projects/q/packages",
        "/v1/projects/nick:q",
        "/v1/projects/bob:p",
        "/v1/packages/pkg_q?project=q",
        "/v1/packages/pkg_p",
        "/v1/packages/pkg_p?project=p&project=q",
        "/v1/orchestrate",
        "/v1/orchestrate?project=q",
        "/v1/export?project=p",
    ] {
        let answer = held.get(path).await;
        assert_eq!(answer.status, 403, "{path}: {answer}");
    }
}

/// A token that is held to one channel reaches that one, and no list that would show others.
#[tokio::test]
async fn a_token_is_held_to_its_channels() {
    let (server, [alice]) = Server::with(["@nick.alice"]).await;
    let mut ids = Vec::new();
    for title in ["one", "two"] {
        let made = alice.post("/agent-channel", json!({"title": title})).await.ok(200);
        ids.push(made["id"].as_str().expect("an id").to_owned());
    }
    let (held, _) = scoped(&server, &alice, scope(&format!("channels:write channel:{}", ids[0]))).await;
    let event = json!({"kind": "status", "payload": {"goal": "Count"}});
    held.post(&format!("/agent-channel/{}/event", ids[0]), event.clone()).await.ok(200);
    held.get(&format!("/agent-channel/{}/events", ids[0])).await.ok(200);
    held.get(&format!("/agent-channel/%20{}%20", ids[0].to_lowercase())).await.ok(200);
    let refused = held.post(&format!("/agent-channel/{}/event", ids[1]), event).await;
    assert_eq!(refused.status, 403, "{refused}");
    let wanted = format!("channels:write channel:{}", ids[1]);
    assert!(refused.text().contains(&wanted), "{refused}");
    for path in [
        format!("/agent-channel/{}/events", ids[1]),
        "/agent-channel".into(),
        "/sessions".into(),
        "/inbox".into(),
    ] {
        assert_eq!(held.get(&path).await.status, 403, "{path}");
    }
    let wider = scope("channels:write");
    let (maker, _) =
        scoped(&server, &alice, scope(&format!("accounts:write channels:read channel:{}", ids[0]))).await;
    assert_eq!(maker.post("/agents/me/tokens", wider).await.status, 403);
    let refused = alice.post("/agents/me/tokens", scope("channel:a")).await;
    refused.assert_refused(400, "invalid_scope");
    for room in ["accounts", "sessions", "frames", "channels", "context", "runs", "requests", "inbox"] {
        assert!(refused.text().contains(room), "{refused}");
    }
}

/// A refusal for want of a scope says in its challenge which one would be enough, whatever form it has (RFC 6750, 3.1).
#[tokio::test]
async fn a_403_carries_the_scope_that_would_be_enough() {
    let (server, alice, _bob, id) = Server::with_pair().await;
    let (reads, _) = scoped(&server, &alice, scope("sessions:read")).await;
    let message = json!({"content": "hi"});
    let refused = reads.post(&format!("/sessions/{id}/messages"), message).await;
    let told = |answer: &blackbox::Response| answer.header("www-authenticate").map(str::to_owned);
    let challenge = |scope: &str| Some(format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\""));
    assert_eq!((refused.status, told(&refused)), (403, challenge("sessions:write")), "{refused}");
    for (path, wanted) in [
        ("/inbox", "inbox:read"),
        ("/agents/me/allowlist", "accounts:read"),
        ("/agent/echo/threads", "runs:read"),
        ("/agent-channel", "channels:read"),
        ("/v1/projects", "context:read"),
        ("/requests", "requests:read"),
        ("/v1/models", "read"),
    ] {
        let refused = reads.get(path).await;
        assert_eq!((refused.status, told(&refused)), (403, challenge(wanted)), "{path}: {refused}");
    }
    // Another "no" has no challenge of a scope.
    let absent = reads.get("/sessions/sess_nothing").await;
    assert_eq!((absent.status, told(&absent)), (404, None), "{absent}");
}

#[tokio::test]
async fn tools_are_held_to_the_scope() {
    let (server, alice, _bob, id) = Server::with_pair().await;
    let (reads, _) = scoped(&server, &alice, scope("read")).await;
    let call = async |caller: &Caller, tool: &str, arguments: Value| -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool,
            "arguments": arguments, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}}});
        let headers = [
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        caller.call("POST", "/mcp", &headers, Some(&body)).await.ok(200)["result"].clone()
    };
    let said = call(&reads, "whoami", json!({})).await;
    assert!(said["isError"] != true && said.to_string().contains(&alice.handle), "{said}");
    let said = call(&reads, "send", json!({"session_id": id, "text": "hi"})).await;
    assert!(said["isError"] == true && said.to_string().contains("insufficient_scope"), "{said}");
}

/// A child has no more than its parent, and ends with it; nobody ends what is not below.
#[tokio::test]
async fn a_child_is_narrower_and_ends_with_its_parent() {
    let (server, [agent]) = Server::with(["@nick.bot"]).await;
    let parent_body = json!({"scope": "read accounts:write", "expires_in": 3600, "name": "parent"});
    let (parent, parent_id) = scoped(&server, &agent, parent_body).await;
    parent.post("/agents/me/tokens", scope("write")).await.assert_refused(403, "insufficient_scope");
    let longer = json!({"scope": "read", "expires_in": 7200});
    parent.post("/agents/me/tokens", longer).await.assert_refused(400, "invalid_expires_in");
    let (child, child_id) = scoped(&server, &parent, json!({"scope": "read accounts:write"})).await;
    let (grandchild, grandchild_id) = scoped(&server, &child, scope("inbox:read")).await;
    let (sibling, sibling_id) = scoped(&server, &agent, scope("inbox:read")).await;
    let listed = agent.get("/agents/me/tokens").await.ok(200);
    let of = |id: &str| {
        let all = listed["tokens"].as_array().expect("tokens");
        all.iter().find(|token| token["id"] == id).unwrap_or_else(|| panic!("{id} in {listed}")).clone()
    };
    assert_eq!((&of(&parent_id)["parent"], &of(&parent_id)["name"]), (&json!("own"), &json!("parent")));
    assert_eq!(of(&child_id)["parent"], parent_id.as_str());
    assert_eq!(of(&child_id)["expires_at"], of(&parent_id)["expires_at"], "it lasts no longer");
    assert!(of(&parent_id)["last_used_at"].is_u64() && of(&sibling_id)["last_used_at"].is_null(), "{listed}");
    assert!(!listed.to_string().contains("pls_"), "{listed}");
    let path = |id: &str| format!("/agents/me/tokens/{id}");
    child.delete(&path(&parent_id)).await.assert_refused(404, "not_found");
    child.delete(&path(&sibling_id)).await.assert_refused(404, "not_found");
    grandchild.get("/inbox").await.ok(200);
    gone(&agent.delete(&path(&parent_id)).await);
    for dead in [&parent, &child, &grandchild] {
        dead.get("/agents/me").await.refusal_code(401);
    }
    agent.delete(&path(&grandchild_id)).await.assert_refused(404, "not_found");
    sibling.get("/inbox").await.ok(200);
}

/// The owner makes them too, its own survive a new token of the agent, and those made with the old one die with it. A kill
/// changes nothing.
#[tokio::test]
async fn what_was_made_with_a_token_dies_with_it() {
    let (mut server, [agent]) = Server::with(["@nick.bot"]).await;
    let owner = server.owner("nick").await;
    let path = "/_admin/agents/@nick.bot/tokens";
    let made = owner.post(path, scope("write")).await.ok(201);
    assert!(made["parent"].is_null(), "{made}");
    let of_owner = made["token"].as_str().expect("a token").to_owned();
    let (of_agent, _) = scoped(&server, &agent, scope("write")).await;
    let of_agent = of_agent.token().to_owned();
    server.owner("acme").await.post(path, scope("write")).await.assert_refused(404, "not_found");
    agent.post(path, scope("write")).await.assert_refused(404, "not_found");
    server.crash().await;
    server.bearer(&of_agent).get("/agents/me").await.ok(200);
    let owner = server.bearer(owner.token());
    owner.post("/_admin/agents/@nick.bot/rotate-token", json!({})).await.ok(200);
    server.bearer(&of_agent).get("/agents/me").await.refusal_code(401);
    server.bearer(&of_owner).get("/agents/me").await.ok(200);
    let id = made["id"].as_str().expect("an id");
    gone(&owner.delete(&format!("{path}/{id}")).await);
    server.bearer(&of_owner).get("/agents/me").await.refusal_code(401);
    owner.post("/_admin/people", json!({"handle": "@nick.mara"})).await.ok(201);
    owner.post("/_admin/agents/@nick.mara/tokens", scope("read")).await.assert_refused(403, "forbidden");
}

/// A token that ends by itself soon, and a connection that was open before it did.
async fn short_lived(server: &Server, agent: &Caller) -> (Caller, blackbox::Socket) {
    for seconds in [3, 6, 12, 24] {
        let (short, _) = scoped(server, agent, json!({"scope": "write", "expires_in": seconds})).await;
        if let Ok(socket) = short.try_socket("/connect", &[], Pongs::Answer).await {
            return (short, socket);
        }
    }
    panic!("24 seconds are too short to connect in");
}

/// What is open with a token closes when the token ends: taken back, or by itself.
#[tokio::test]
async fn an_open_connection_ends_with_its_token() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let (taken, taken_id) = scoped(&server, &alice, scope("write")).await;
    let mut own = alice.connect().await;
    let mut of_taken = taken.try_socket("/connect", &[], Pongs::Answer).await.expect("an upgrade");
    let (short, mut of_short) = short_lived(&server, &alice).await;
    bob.say(&id, "to both").await;
    for socket in [&mut own, &mut of_taken] {
        socket.until_text("to both").await;
    }
    gone(&alice.delete(&format!("/agents/me/tokens/{taken_id}")).await);
    in_time("a socket of a token that was taken back closes", of_taken.ending()).await;
    in_time("a socket of a token that has ended closes", of_short.ending()).await;
    short.get("/agents/me").await.refusal_code(401);
    bob.say(&id, "to one").await;
    own.until_text("to one").await;
    // It is taken away, and not only refused.
    eventually("the list is empty", || async {
        let listed = alice.get("/agents/me/tokens").await.ok(200);
        listed["tokens"].as_array().is_some_and(Vec::is_empty).then_some(())
    })
    .await;
}

/// An agent has so many, and no more.
#[tokio::test]
async fn past_its_tokens_an_agent_gets_none() {
    let server = Server::start().await;
    let agent: Agent = server.agent("@nick.bot").await;
    for _ in 0..128 {
        agent.post("/agents/me/tokens", scope("read")).await.ok(201);
    }
    agent.post("/agents/me/tokens", scope("read")).await.assert_refused(409, "too_many_tokens");
}
