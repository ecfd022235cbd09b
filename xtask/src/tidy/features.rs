//! Features that must be off in the whole graph, because Cargo enables them for all crates at once.
//! Must not know: the crate that enabled them.

use anyhow::{Context, Result};

use super::{Finding, tree::Tree};
use crate::workspace::{self, Node};

/// Package, feature, and the damage if it is on.
const OFF: &[(&str, &str, &str)] = &[
    (
        "serde_json",
        "arbitrary_precision",
        "numbers become maps inside flattened, untagged and tagged types and no longer parse",
    ),
    ("serde_json", "preserve_order", "canonical JSON relies on sorted members"),
];

/// Asks Cargo for the resolved graph.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let graph = workspace::metadata_with_dependencies(&tree.root)?;
    let nodes = graph.resolve.context("`cargo metadata` left the graph out")?.nodes;
    Ok(banned(&nodes))
}

fn banned(nodes: &[Node]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for node in nodes {
        for (package, feature, why) in OFF {
            if name(&node.id) == *package && node.features.iter().any(|on| on == feature) {
                let text = format!(
                    "feature `{feature}` of `{package}` is on: {why}; `cargo tree -e features -i {package}` shows who asks for it"
                );
                findings.push(Finding::error("Cargo.lock", text));
            }
        }
    }
    findings
}

/// The name in a package id: `registry+https://…#serde_json@1.0.154`, or `…/serde_json#1.0.154`.
fn name(id: &str) -> &str {
    let Some((source, fragment)) = id.rsplit_once('#') else { return id };
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => source.rsplit('/').next().unwrap_or(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banned_feature_is_found_wherever_it_came_from() {
        let node = |id: &str, feature: &str| Node { id: id.to_owned(), features: vec![feature.to_owned()] };
        let json = "registry+https://github.com/rust-lang/crates.io-index#serde_json@1.0.154";
        assert_eq!(banned(&[node(json, "preserve_order")]).len(), 1);
        assert_eq!(banned(&[node("path+file:///x/serde_json#1.0.154", "arbitrary_precision")]).len(), 1);
        assert!(
            banned(&[node(json, "raw_value"), node("registry+x#other@1.0.0", "preserve_order")]).is_empty()
        );
    }

    #[test]
    fn the_graph_of_this_workspace_is_read() {
        let graph = workspace::metadata_with_dependencies(workspace::root()).unwrap();
        let nodes = graph.resolve.unwrap().nodes;
        assert!(nodes.iter().any(|node| name(&node.id) == "serde_json" && !node.features.is_empty()));
    }
}
