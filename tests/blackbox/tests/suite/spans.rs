//! Every operation is a span at the operator's collector, below its caller's (D.6; W3C Trace Context).

use std::collections::BTreeSet;

use blackbox::{Collector, Server, epoch_ms, pair};
use serde_json::json;

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Name, kind, parent, trace, times, attributes and resource of one span.
#[tokio::test]
async fn an_operation_is_a_span_below_its_caller() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&collector.url()).start().await;
    let (alice, _, id) = pair(&server).await;
    let before = epoch_ms();
    let caller = [("traceparent", CALLER), ("tracestate", "vendor=1,other=2")];
    let path = format!("/sessions/{id}/messages");
    alice.call("POST", &path, &caller, Some(&json!({"content": "hello"}))).await.ok(201);
    let span = collector.wait_for_span("session.send").await;
    assert_eq!((span.trace.as_str(), span.parent.as_str()), (&CALLER[3..35], &CALLER[36..52]));
    assert_eq!(span.state, "vendor=1,other=2");
    assert_eq!((span.kind, span.failed), (2, false), "a server's span, and no error");
    assert_eq!(
        json!(span.attributes),
        json!({
            "http.request.method": "POST",
            "http.route": "/sessions/{id}/messages",
            "http.response.status_code": 201,
            "gen_ai.agent.id": alice.handle,
            "user.id": alice.handle[1..].split('.').next(),
            "gen_ai.conversation.id": id,
            "session.id": id,
        }),
        "and nothing else: no path, no query, no text"
    );
    assert_eq!(span.resource["service.name"], "plenary");
    let (start, end) = span.times;
    let bounds = (before as u64 - 1) * 1_000_000..=(epoch_ms() as u64 + 1) * 1_000_000;
    assert!(start < end && bounds.contains(&start) && bounds.contains(&end), "{bounds:?}: {span:?}");
}

/// Without a `traceparent`, and with one that is none, a request begins a trace of its own.
#[tokio::test]
async fn without_a_caller_each_request_is_a_trace() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&collector.url()).start().await;
    let alice = server.agent("@alice.bot").await;
    alice.get("/sessions").await.ok(200);
    alice.call("GET", "/sessions", &[("traceparent", "00-nonsense-01")], None).await.ok(200);
    alice.call("GET", "/sessions", &[("traceparent", CALLER), ("traceparent", CALLER)], None).await.ok(200);
    let spans = collector.wait_for_spans("session.list", 3).await;
    let traces: BTreeSet<_> = spans.iter().map(|span| span.trace.as_str()).collect();
    assert_eq!(traces.len(), 3, "{spans:?}");
    assert!(spans.iter().all(|span| span.parent.is_empty() && span.trace != CALLER[3..35]), "{spans:?}");
}

/// What a caller does not have recorded is not recorded here either.
#[tokio::test]
async fn what_its_caller_does_not_record_is_not_recorded() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&collector.url()).start().await;
    let alice = server.agent("@alice.bot").await;
    let silent = CALLER.replace("-01", "-00");
    alice.call("GET", "/sessions", &[("traceparent", &silent)], None).await.ok(200);
    alice.call("GET", "/sessions", &[("traceparent", CALLER)], None).await.ok(200);
    let spans = collector.wait_for_spans("session.list", 1).await;
    assert_eq!(spans.len(), 1, "the later one came, and no other: {spans:?}");
    assert_eq!(spans[0].trace, CALLER[3..35]);
}

/// Every operation that the server describes, of every protocol, is recorded under its id; a refusal is no error.
#[tokio::test]
async fn every_operation_of_every_protocol_is_a_span() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&collector.url()).start().await;
    let document = server.stranger().get("/openapi.json").await.ok(200);
    let mut expected = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("methods") {
            let Some(id) = operation["operationId"].as_str() else { continue };
            let place: String = path
                .split('/')
                .map(|part| if part.starts_with('{') { "x" } else { part })
                .collect::<Vec<_>>()
                .join("/");
            server.stranger().call(&method.to_uppercase(), &place, &[], None).await;
            expected.insert((id.to_owned(), path.clone()));
        }
    }
    assert!(expected.len() > 30, "{expected:?}");
    server.stranger().get("/nowhere").await.refusal_code(404);
    let nowhere = collector.wait_for_span("unmatched").await;
    assert!(!nowhere.attributes.contains_key("http.route") && !nowhere.failed, "{nowhere:?}");
    let spans = collector.spans();
    let seen: BTreeSet<_> = spans
        .iter()
        .filter_map(|span| {
            Some((span.name.clone(), span.attributes.get("http.route")?.as_str()?.replace("{*", "{")))
        })
        .collect();
    let missing: Vec<_> = expected.difference(&seen).collect();
    assert!(missing.is_empty(), "no span of {missing:?}");
    assert!(spans.iter().all(|span| !span.failed), "{spans:?}");
}

/// Contents, topics, keys, tokens and tickets are in no span, and neither are paths or queries. Who asks, and in which
/// conversation, is.
#[tokio::test]
async fn nothing_private_is_in_a_span() {
    const CANARY: &str = "canary-71c2-please-never-export-me";
    let collector = Collector::start().await;
    let mut server = Server::builder().spans_to(&collector.url()).start().await;
    let (alice, bob, id) = pair(&server).await;
    let body = json!({"content": CANARY, "metadata": {"secret": CANARY}, "idempotency_key": CANARY});
    alice.post(&format!("/sessions/{id}/messages"), body).await.ok(201);
    alice.post_raw(&format!("/sessions/{CANARY}/messages"), CANARY.as_bytes()).await;
    alice.get(&format!("/{CANARY}?token={CANARY}")).await.refusal_code(404);
    server.stranger().get(&format!("/connect?token={CANARY}")).await;
    let mut socket = bob.connect().await;
    socket.until_text(CANARY).await;
    server.stop().await;
    let exports = collector.exports();
    assert!(!exports.is_empty());
    for secret in [CANARY, alice.token(), bob.token(), server.operator().token()] {
        let found = exports
            .iter()
            .any(|export| export.bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        assert!(!found, "{secret} was exported");
    }
}

/// CH-6, CH-35: an event of a channel is a span of its own, below its caller's and with what was said.
#[tokio::test]
async fn ch_35_an_event_of_a_channel_is_a_span_with_what_was_said() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&collector.url()).start().await;
    let alice = server.agent("@alice.bot").await;
    let channel = alice.post("/agent-channel", json!({})).await.ok(200)["id"].clone();
    let path = format!("/agent-channel/{}/event", channel.as_str().expect("an id"));
    let caller = [("traceparent", CALLER)];
    let event = json!({"kind": "status", "author": "claude-mac-x-1234", "payload": {"note": "on it"}});
    alice.call("POST", &path, &caller, Some(&event)).await.ok(200);
    let span = collector.wait_for_span("agent-channel.event.status").await;
    assert_eq!((span.trace.as_str(), span.parent.as_str()), (&CALLER[3..35], &CALLER[36..52]));
    assert_eq!((span.kind, span.failed), (1, false), "work within the server");
    assert_eq!(
        json!(span.attributes),
        json!({
            "session.id": channel,
            "agent.id": "claude-mac-x-1234",
            "openinference.span.kind": "AGENT",
            "o2r.channel.id": channel,
            "o2r.channel.event.kind": "status",
            "input.value": r#"{"note":"on it"}"#,
        })
    );
    // What was refused is no event, and no span of one.
    assert_eq!(alice.post(&path, json!({"kind": "", "payload": {}})).await.status, 422);
    alice.post(&path, json!({"kind": "comms", "payload": {}})).await.ok(200);
    collector.wait_for_span("agent-channel.event.comms").await;
    let events = collector.spans().into_iter().filter(|span| span.name.starts_with("agent-channel.event."));
    assert_eq!(events.count(), 2);
}

/// A run is an agent that was invoked, below the request that began it, whatever protocol that came by.
#[tokio::test]
async fn a_run_is_an_invoked_agent_in_the_trace_of_its_request() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&collector.url()).start().await;
    let nick = server.agent("@nick.cc").await;
    let caller = [("traceparent", CALLER)];
    let body = json!({"type": "ChatRequest", "input": "please do not export me"});
    let begun = nick.call("POST", "/agent/plenary.echo/run?wait=result", &caller, Some(&body)).await;
    let thread = begun.header("x-thread-id").expect("a thread").to_owned();
    let run = begun.header("x-run-id").expect("a run").to_owned();
    begun.ok(200);
    let (asked, span) = (
        collector.wait_for_span("run.run").await,
        collector.wait_for_span("invoke_agent @plenary.echo").await,
    );
    assert_eq!((asked.parent.as_str(), asked.trace.as_str()), (&CALLER[36..52], &CALLER[3..35]));
    assert_eq!((span.parent.as_str(), span.trace.as_str()), (asked.id.as_str(), &CALLER[3..35]));
    assert_eq!(span.id, run.replace('-', "")[16..], "whoever knows the run knows its span");
    assert_eq!((span.kind, span.failed, span.links.len()), (1, false, 0));
    assert_eq!(asked.attributes["gen_ai.conversation.id"], thread);
    assert_eq!(
        json!(span.attributes),
        json!({
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": "plenary",
            "gen_ai.agent.id": "@plenary.echo",
            "gen_ai.agent.name": "@plenary.echo",
            "gen_ai.conversation.id": thread,
            "session.id": thread,
            "openinference.span.kind": "AGENT",
            "graph.node.id": "@plenary.echo",
            "graph.node.parent_id": "@nick.cc",
            "user.id": "nick",
        }),
        "and nothing of what was said"
    );
}

/// A call of Agent2Agent or of a tool says what it is, and what it causes is below it.
#[tokio::test]
async fn calls_of_other_protocols_are_one_trace_with_what_they_cause() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&collector.url()).start().await;
    let nick = server.agent("@nick.cc").await;
    let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let headers = [("a2a-version", "1.0"), ("traceparent", CALLER)];
    nick.call("POST", "/a2a/plenary.echo", &headers, Some(&call)).await.ok(200);
    let (asked, span) = (
        collector.wait_for_span("a2a.rpc").await,
        collector.wait_for_span("invoke_agent @plenary.echo").await,
    );
    assert_eq!((asked.trace.as_str(), span.trace.as_str()), (&CALLER[3..35], &CALLER[3..35]));
    let method = (&asked.attributes["a2a.method.name"], &asked.attributes["a2a.protocol.version"]);
    assert_eq!(method, (&json!("SendMessage"), &json!("1.0")));
    // Up from the agent is the run's request, and above that the call.
    let spans = collector.spans();
    let request = spans.iter().find(|above| above.id == span.parent).expect("the request of the run");
    assert_eq!(request.parent, asked.id, "{request:?}");

    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami", "arguments": {},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}}});
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "whoami"),
    ];
    nick.call("POST", "/mcp", &headers, Some(&body)).await.ok(200);
    let tool = collector.wait_for_span("mcp.post").await;
    for (name, value) in [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.tool.name", "whoami"),
        ("gen_ai.operation.name", "execute_tool"),
        ("openinference.span.kind", "TOOL"),
        ("gen_ai.agent.id", "@nick.cc"),
    ] {
        assert_eq!(tool.attributes[name], value, "{tool:?}");
    }
    let below = collector.spans().into_iter().find(|span| span.parent == tool.id);
    assert_eq!(below.expect("what the tool asked").trace, tool.trace);
}
