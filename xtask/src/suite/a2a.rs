//! The stage of clients of other protocols: Agent2Agent, the Agent Client Protocol, OpenAI's API, LangGraph's and agentic-framework's, against the binary.
//! Must not know: how anything is installed.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{needs::a2a::ensure, process};

/// The walk of each program.
const WALKS: [&str; 7] = [
    "walk_a2a.py",
    "walk_openai.py",
    "walk_foreign.py",
    "walk_node.py",
    "walk_acp.py",
    "walk_alter.py",
    "walk_langgraph.py",
];

/// Runs all walks.
pub(super) fn run(root: &Path, binary: &Path) -> Result<()> {
    let tools = ensure()?;
    let walks = WALKS.into_iter().map(|walk| (&tools.python, walk));
    for (python, walk) in walks.chain([(&tools.agentic, "walk_agentic.py")]) {
        let mut command = Command::new(python);
        command.current_dir(root.join("tests/a2a")).arg(walk).env("PYTHONDONTWRITEBYTECODE", "1");
        command
            .env(super::BINARY, binary)
            .env("PLENARY_A2A_NODE", &tools.node)
            .env("PLENARY_A2A_SDK", &tools.sdk)
            .env("PLENARY_ACP_SDK", &tools.acp_sdk);
        process::run(&mut command)?;
    }
    Ok(())
}
