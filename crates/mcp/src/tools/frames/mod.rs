//! The ten verbs of Agent-Channel Fan-Out (section 9 of the memo), by their names there. The arguments of a verb are
//! the payload of its kind, from the description of the operation that accepts frames.
//! Must not know: how a frame is delivered.

mod verbs;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value, json};

use super::{ADDS, Card, READS, api::has, composed, core::results, frame::SUBMIT, schema};
use crate::{
    operations::Operations,
    tool::{Action, Hints, Tool, Toolset},
};
use verbs::{Sends, Verb};

const FRAMES: &[Toolset] = &[Toolset::Frames];

/// The verbs that send one kind: the payload members with a default value.
const VERBS: [Verb; 7] = [
    Verb {
        name: "agent_advise",
        kind: "agent_advisory",
        description: "Say what you are doing.",
        filled: &[],
    },
    Verb {
        name: "agent_broadcast",
        kind: "agent_broadcast",
        description: "Announce what is done.",
        filled: &[],
    },
    Verb {
        name: "agent_handover",
        kind: "agent_handover",
        description: "Hand work to another session.",
        filled: &["previous_session_id"],
    },
    Verb {
        name: "agent_lock_acquire",
        kind: "agent_lock_request",
        description: "Announce a claim on a resource; advisory.",
        filled: &["lease_id", "ttl_ms"],
    },
    Verb {
        name: "agent_lock_release",
        kind: "agent_lock_release",
        description: "Release a lease.",
        filled: &[],
    },
    Verb {
        name: "agent_lease_extend",
        kind: "agent_lease_extend",
        description: "Extend a lease.",
        filled: &["ttl_ms"],
    },
    Verb {
        name: "agent_query",
        kind: "agent_query",
        description: "Ask live sessions; answers carry the query_id.",
        filled: &["query_id", "response_scope", "timeout_ms"],
    },
];

/// The result of a submitted frame.
const SUBMITTED: [(&str, &str); 4] = [
    ("frame_id", "string"),
    ("event_id", "string"),
    ("delivered_count", "integer"),
    ("recipient_count", "integer"),
];

/// The tools of this set.
pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let Some(doc) = operations.docs().iter().find(|doc| SUBMIT.is(doc)) else { return Vec::new() };
    let request = doc.schemas().request.unwrap_or_default();
    let kinds = payloads(&request);
    let mut tools: Vec<Tool> = VERBS
        .into_iter()
        .filter_map(|verb| {
            let payload = kinds.get(verb.kind)?;
            Some(tool(
                verb.name,
                verb.description,
                ADDS,
                input(payload, verb.filled),
                Sends::new(operations, verb),
            ))
        })
        .collect();
    let card = |name, description, hints| Card { name, description, hints, sets: FRAMES };
    tools.push(composed(
        operations,
        card("agent_send", "Send a frame of any kind to a scope.", ADDS),
        verbs::send,
    ));
    if has(operations, &verbs::ROSTER) {
        let description = "Show who is subscribed to a handle's stream.";
        tools.push(composed(operations, card("agent_roster", description, READS), verbs::roster));
    }
    if has(operations, &verbs::TICKET) {
        let description = "Get a URL at which to follow your handle's frames (SSE).";
        tools.push(composed(operations, card("agent_subscribe", description, ADDS), verbs::subscribe));
    }
    for tool in &mut tools {
        tool.output = Some(results::with(if has_frame(&tool.name) { &SUBMITTED } else { &[] }));
    }
    tools
}

/// Whether a tool submits a frame.
fn has_frame(tool: &str) -> bool {
    tool == "agent_send" || VERBS.iter().any(|verb| verb.name == tool)
}

fn tool(name: &str, description: &str, hints: Hints, input: Map<String, Value>, action: impl Action) -> Tool {
    Tool {
        name: name.to_owned(),
        title: String::new(),
        description: description.to_owned(),
        input: Arc::new(input),
        output: None,
        hints,
        at_once: false,
        sets: FRAMES.to_vec(),
        action: Arc::new(action),
    }
}

/// The payload schema of each kind, from the operation's description.
fn payloads(request: &Value) -> BTreeMap<&str, &Value> {
    let mut found = BTreeMap::new();
    for form in request["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let properties = &form["properties"];
        // The form with a scope has no kind.
        if let Some(name) = properties["kind"]["const"].as_str() {
            found.insert(name, &properties["payload"]);
        }
    }
    found
}

/// The members of the payload, and the recipient and sender of the frame.
fn input(payload: &Value, filled: &[&str]) -> Map<String, Value> {
    let mut slim = schema::slim(payload, schema::Descriptions::Drop, 0);
    if let Some(required) = slim.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !filled.iter().any(|filled| name == filled));
    }
    if let Some(properties) = slim.get_mut("properties").and_then(Value::as_object_mut) {
        for name in verbs::ADDRESSING {
            properties.insert(name.to_owned(), json!({"type": "string"}));
        }
    }
    slim
}
