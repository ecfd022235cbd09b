//! What lists of tools cost a model, by the encodings in use; the larger count holds.

use plenary_mcp::tool::{Tool, Tools, Toolset};
use serde_json::{Map, Value, json};

use crate::house::House;

/// Most tokens of the list of `core`, and of every tool.
const CORE_TOKENS_MAX: usize = 1_800;
const ALL_TOKENS_MAX: usize = 6_200;

/// A tool as `tools/list` shows it; hints that are the protocol's defaults are left out, and schemas of results where
/// every tool is listed.
fn listed(tool: &Tool, with_results: bool) -> Value {
    let mut annotations = Map::new();
    for (name, value, default) in [
        ("readOnlyHint", tool.hints.read_only, false),
        ("destructiveHint", tool.hints.destructive, true),
        ("idempotentHint", tool.hints.idempotent, false),
    ] {
        // The other two mean something only where something is changed.
        if value != default && (name == "readOnlyHint" || !tool.hints.read_only) {
            annotations.insert(name.into(), value.into());
        }
    }
    let mut shown = json!({"name": tool.name, "description": tool.description, "inputSchema": *tool.input});
    if let Some(output) = tool.output.as_ref().filter(|_| with_results) {
        shown["outputSchema"] = (**output).clone().into();
    }
    if !annotations.is_empty() {
        shown["annotations"] = annotations.into();
    }
    shown
}

pub(crate) fn count(text: &str) -> usize {
    let counts = [tiktoken_rs::o200k_base_singleton(), tiktoken_rs::cl100k_base_singleton()]
        .map(|encoding| encoding.encode_ordinary(text).len());
    counts.into_iter().max().unwrap()
}

fn cost(tools: &Tools, sets: &[Toolset], with_results: bool) -> usize {
    let list: Vec<Value> = tools.in_sets(sets).map(|tool| listed(tool, with_results)).collect();
    for tool in &list {
        println!("{:5} {}", count(&tool.to_string()), tool["name"]);
    }
    count(&json!({"tools": list}).to_string())
}

#[tokio::test]
async fn lists_of_tools_are_within_their_budgets() {
    let house = House::new().await;
    let core: Vec<&Tool> = house.tools.in_sets(&[Toolset::Core]).collect();
    assert!(core.len() <= 12, "{}", core.len());
    let core = cost(&house.tools, &[Toolset::Core], true);
    println!("core: {core} tokens");
    // Assistants on the web list their two tools alone; nobody else needs them.
    let sets: Vec<Toolset> = Toolset::ALL.into_iter().filter(|set| *set != Toolset::Assistant).collect();
    let all = cost(&house.tools, &sets, false);
    println!("all: {all} tokens");
    assert!(core <= CORE_TOKENS_MAX, "{core}");
    assert!(all <= ALL_TOKENS_MAX, "{all}");
}
