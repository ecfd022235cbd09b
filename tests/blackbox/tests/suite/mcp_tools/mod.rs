//! The tools through the Model Context Protocol alone: two agents that know nothing but `/mcp`.

mod assistant;
mod memory;
mod together;
mod verbs;

use blackbox::Caller;
use serde_json::{Value, json};

const REVISION: &str = "2026-07-28";

/// An answer to one message of the stateless revision.
async fn rpc(agent: &Caller, sets: &str, method: &str, name: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut headers = vec![
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", REVISION),
        ("Mcp-Method", method),
    ];
    if !name.is_empty() {
        headers.push(("Mcp-Name", name));
    }
    let path = format!("/mcp?toolsets={sets}");
    let answer = agent.call("POST", &path, &headers, Some(&body)).await;
    assert_eq!(answer.status, 200, "{answer}");
    let text = String::from_utf8(answer.body.to_vec()).expect("text");
    let json = text.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text).to_owned();
    serde_json::from_str(&json).expect("a JSON-RPC message")
}

/// What a call of a tool came to.
async fn called(agent: &Caller, tool: &str, arguments: Value) -> Value {
    let answer = rpc(agent, "all", "tools/call", tool, json!({"name": tool, "arguments": arguments})).await;
    answer["result"].clone()
}

/// What a call that succeeds brings, as its one block of text has it.
pub(crate) async fn done(agent: &Caller, tool: &str, arguments: Value) -> Value {
    let result = called(agent, tool, arguments).await;
    assert_ne!(result["isError"], true, "{tool}: {result}");
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    let value: Value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    if value.is_object() {
        assert_eq!(result["structuredContent"], value);
    } else {
        assert!(result["structuredContent"].is_null(), "{result}");
    }
    value
}

/// The code with which a call is refused.
async fn refused(agent: &Caller, tool: &str, arguments: Value) -> String {
    let result = called(agent, tool, arguments).await;
    assert_eq!(result["isError"], true, "{tool}: {result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    let body: Value = serde_json::from_str(text).expect("JSON");
    body["error"]["code"].as_str().expect("a code").to_owned()
}

/// The names that a list has.
async fn listed(agent: &Caller, sets: &str) -> Vec<String> {
    let answer = rpc(agent, sets, "tools/list", "", json!({})).await;
    let tools = answer["result"]["tools"].as_array().expect("tools").clone();
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}
