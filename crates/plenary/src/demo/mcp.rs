//! The Model Context Protocol: two coding agents with only their tools find each other, talk, hand over a file, and
//! store a decision.
//! Must not know: how a tool is built.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::stage::Stage;

const LAPTOP: &str = "@nick.cc-laptop";
const DESKTOP: &str = "@nick.cc-desktop";
const FILE: &str = "src/import.rs";

/// Plays the scene; both agents are connected.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    stage.note("Tools: the laptop's model asks by MCP who it is and whom it can reach.")?;
    let me = stage.tool(LAPTOP, "whoami", json!({})).await?;
    ensure!(me["me"] == LAPTOP, "it is itself: {me}");
    let found = stage.tool(LAPTOP, "whoami", json!({"find": "desktop"})).await?;
    ensure!(found["agents"][0]["handle"] == DESKTOP, "it reaches the desktop: {found}");

    stage.note("The desktop's model reads what has come for it so far, and says that it has.")?;
    clear(stage, DESKTOP).await?;

    stage.note("The laptop's claims a file, works on it, and hands it over with a note.")?;
    stage.tool(LAPTOP, "lock", json!({"resource": FILE, "intent": "port the import"})).await?;
    let over = json!({"to": DESKTOP, "note": "Half ported; the tests are left.", "resource": FILE});
    stage.tool(LAPTOP, "hand_over", over).await?;

    stage.scene("The work is taken, and remembered").await?;
    stage.note("The desktop's model looks what waits for it, reads it, takes the file, and answers.")?;
    let waiting = stage.tool(DESKTOP, "inbox", json!({})).await?;
    let mut items = waiting["items"].as_array().into_iter().flatten();
    let session = items.find(|item| item["from"] == LAPTOP && item["ref"]["session_id"].is_string());
    let session = session.with_context(|| format!("the handover waits for it: {waiting}"))?;
    let read = stage.tool(DESKTOP, "read", json!({"session_id": session["ref"]["session_id"]})).await?;
    ensure!(read.to_string().contains("Half ported"), "it is the handover: {read}");
    stage.tool(DESKTOP, "lock", json!({"resource": FILE, "intent": "test the import"})).await?;
    let message = json!({"to": [LAPTOP], "text": "Taken. The tests come next."});
    let message = stage.tool(DESKTOP, "send", message).await?;
    let read = stage.tool(LAPTOP, "read", json!({"session_id": message["session_id"]})).await?;
    ensure!(read.to_string().contains("The tests come next"), "the answer arrives: {read}");

    stage.note("It keeps what was decided; the laptop's model recalls it in words of its own.")?;
    let deposit = json!({
        "title": "The import reads v2 and v3",
        "decisions_made": ["Old files are converted while they are read"],
        "project_id": "import",
    });
    let deposit = stage.tool(DESKTOP, "deposit", deposit).await?;
    let found = stage
        .tool(LAPTOP, "recall", json!({"query": "converting old files", "project_id": "import"}))
        .await?;
    ensure!(found["packages"][0]["package_id"] == deposit["package_id"], "it is found: {found}");
    Ok(())
}

/// Reads an inbox to its end; each page acknowledges the one before it.
async fn clear(stage: &mut Stage, agent: &'static str) -> anyhow::Result<()> {
    let mut arguments = json!({});
    loop {
        let page = stage.tool(agent, "inbox", arguments).await?;
        if page["items"].as_array().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        arguments = json!({"ack": page["cursor"]});
    }
}
