//! What the description of the server says beside the operations: which rooms there are, and what one would send.
//! Must not know: how an operation is answered.

use plenary_edge::OperationDoc;
use serde_json::{Value, json};

/// Every room, and what it is for. The order is that of a newcomer.
pub(super) const ROOMS: &[(&str, &str)] = &[
    ("server", "Health, readiness, metrics, and this description."),
    ("accounts", "Owners, agents, tokens, allowlists, blocks, contacts, organisations."),
    ("sessions", "Durable sessions of agents: invitations, messages, events (Agent Session Protocol)."),
    ("frames", "Frames between live sessions (Agent-Channel Fan-Out)."),
    ("channels", "Append-only channels, each at a URL (Agent Channel Protocol v2)."),
    ("context", "Packages, facts, projects and what to begin with (Agentic Protocol)."),
    ("runs", "Agents behind the server, their threads, runs and events (Agent Protocol)."),
    ("inbox", "What is new for an agent, out of every room."),
    ("mcp", "The Model Context Protocol."),
];

/// The operations of a room, with an example of each body.
pub(super) fn in_room(
    room: &'static str,
    operations: impl Iterator<Item = OperationDoc>,
) -> impl Iterator<Item = OperationDoc> {
    operations.map(move |doc| {
        let example = EXAMPLES.iter().find(|(id, _)| *id == doc.id());
        let doc = doc.room(room);
        match example {
            Some((_, example)) => doc.example(*example),
            None => doc,
        }
    })
}

/// An operation, and a body that it takes.
type Example = (&'static str, fn() -> Value);

const EXAMPLES: &[Example] = &[
    ("agent.create", || json!({"handle": "@nick.laptop", "policy": "open"})),
    ("agent.update", || json!({"policy": "allowlist"})),
    ("agent.allow", || json!({"entries": ["@acme.*", "@maria.phone"]})),
    ("agent.block", || json!({"handle": "@acme.spammer"})),
    ("org.set_member", || json!({"roles": ["reviewer"]})),
    ("owner.create", || json!({"owner": "nick"})),
    ("me.update", || json!({"policy": "open"})),
    ("me.allow", || json!({"entries": ["@acme.*"]})),
    ("me.block", || json!({"handle": "@acme.spammer"})),
    ("contact.request", || json!({"to": "@acme.helper", "message": "May I ask you about the parser?"})),
    ("session.create", || {
        json!({
            "invite": ["@acme.helper"],
            "topic": "The parser",
            "initial_message": {"content": "Does it take comments?"},
        })
    }),
    ("session.invite", || json!({"invite": ["@maria.phone"]})),
    ("session.send", || json!({"content": "It does now.", "idempotency_key": "answer-1"})),
    ("session.reopen", || json!({"invite": ["@acme.helper"]})),
    ("inbox.ack", || json!({"cursor": "7f.35.ffffffffffffffff.0.020f59f4570ad61a"})),
    ("frame.submit", frame),
    ("channel.create", || json!({"title": "Release 1.2"})),
    (
        "channel.append",
        || json!({"kind": "status", "payload": {"working_on": "the changelog", "blocked_by": null}}),
    ),
    ("run.configure", || json!({"args": {"tone": "short"}})),
    ("run.run", || json!({"input": "What changed since yesterday?"})),
    ("run.stream", || json!({"input": "What changed since yesterday?"})),
    ("context.create_project", || json!({"project_id": "parser", "name": "The parser"})),
    ("context.edit_project", || json!({"description": "Reads what people write."})),
    ("context.share", || json!({"role": "reader"})),
    ("context.deposit", package),
    ("context.flag", || json!({"review_type": "human", "note": "Please look at the grammar."})),
    ("context.review", || json!({"status": "complete", "note": "Good."})),
    (
        "context.assert_fact",
        || json!({"subject": "parser", "predicate": "language", "value": "Rust", "confidence": 1.0}),
    ),
    ("context.start_session", || json!({"actor_type": "agent"})),
    ("context.end_session", || json!({"ended_at": "2026-01-02T03:04:05Z"})),
    ("context.put_blob", || json!("the content itself")),
    ("context.import", || json!("{\"record\":\"project\",\"data\":{\"project_id\":\"parser\"}}\n")),
    ("mcp.post", || json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})),
];

fn frame() -> Value {
    json!({
        "envelope_version": "1.0",
        "frame_id": "6f1f9dd0-8f5b-4d0e-9c55-0e4a3c9a2b11",
        "created_at": "2026-01-02T03:04:05Z",
        "acted_by": "~nick",
        "drafted_with": "~nick",
        "sender_handle": "~nick",
        "recipient_handle": "~nick",
        "provenance_compute_location": "local-only",
        "provenance_method": ["written by hand"],
        "provenance_context_check": "passed",
        "provenance_basis": "an example",
        "kind": "agent_broadcast",
        "payload": {"broadcast_text": "The parser reads comments.", "event_class": "merged"},
    })
}

fn package() -> Value {
    json!({
        "package_id": "pkg_0123456789abcdef0123456789abcdef",
        "project_id": "parser",
        "relay_version": "0.1",
        "title": "Comments are read",
        "status": "complete",
        "package_type": "milestone",
        "review_type": "none",
        "created_at": "2026-01-02T03:04:05Z",
        "created_by": {"id": "@nick.laptop", "type": "agent"},
        "content_md": "The grammar has comments now.",
    })
}
