//! The links to the server: it answers, accepts the agent's token, and offers tools to the coding agent.
//! Must not know: hooks.

use std::{process::Stdio, time::Duration};

use plenary_kernel::AgentHandle;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::cli::{
    connect::{CodingAgent, ProgramEntries, has_valid_token},
    context::Context,
    failure::Failure,
};

/// How long an MCP server may take to start.
const TOOLS_WITHIN: Duration = Duration::from_secs(15);
/// How long it may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(3);
/// The revision of the protocol that every coding agent speaks.
const REVISION: &str = "2025-06-18";

/// Checks that the server is up, and has this program's version.
pub(super) async fn answers(context: &Context) -> Result<String, Failure> {
    let address = context.server_address()?;
    let health = context.client()?.health().await?;
    let own = env!("CARGO_PKG_VERSION");
    if health.version != own {
        return Err(Failure::local_with(
            format!("{} has version {}, and this program {own}", address.url, health.version),
            "install the same version of both, and restart the server",
        ));
    }
    Ok(format!("{} (from {}) is up, version {}", address.url, address.source, health.version))
}

/// Checks that the server accepts the saved token as the agent's.
pub(super) async fn accepts(
    context: &Context,
    coding: CodingAgent,
    handle: &AgentHandle,
) -> Result<String, Failure> {
    if has_valid_token(context, handle).await? {
        return Ok(format!("the server accepts it as {handle}"));
    }
    Err(Failure::auth(
        format!("no valid token of {handle} is saved here"),
        format!("`plenary connect {}` makes and saves a new one, for the same agent", coding.as_str()),
    ))
}

/// Checks that the program in the settings lists tools, and calls one of them.
pub(super) async fn offers_tools(
    context: &Context,
    handle: &AgentHandle,
    written: &ProgramEntries,
    calls: Option<&str>,
) -> Result<(String, String), Failure> {
    let Some((line, variables)) = written.program() else {
        let state = match written.server["url"].as_str() {
            Some(_) => format!("it calls {} itself, as {handle}", written.server["url"]),
            None => "its server is given to it when `plenary` starts it".to_owned(),
        };
        return Ok((state, String::new()));
    };
    let program = &line[0];
    let mut command = Command::new(program);
    command.args(&line[1..]).envs(variables).kill_on_drop(true);
    if let Some(directory) = context.environment.directory() {
        command.current_dir(directory);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        Failure::local_with(
            format!("`{program}` of the settings cannot be started: {error}"),
            "connect again: `plenary connect` writes the current path of this program",
        )
    })?;
    let streams = child.stdin.take().zip(child.stdout.take());
    let Some((stdin, stdout)) = streams else { return Err(Failure::local("no pipe to the program")) };
    match timeout(TOOLS_WITHIN, converse(stdin, BufReader::new(stdout).lines(), calls)).await {
        Ok(Ok((count, agent, answer))) if count > 0 => {
            // The program closes its session on the server before it ends.
            drop(timeout(ENDS_WITHIN, child.wait()).await);
            match agent {
                Some(agent) if agent != handle.as_str() => {
                    Err(broken(&format!("it speaks as {agent}, not as {handle}")))
                }
                Some(_) | None => {
                    Ok((format!("`{program} … mcp` offers {count} tools, as {handle}"), answer))
                }
            }
        }
        Ok(Ok(_)) => Err(broken("it offers no tools")),
        Ok(Err(why)) => {
            drop(child.start_kill());
            let output = timeout(TOOLS_WITHIN, child.wait_with_output()).await;
            let stderr = output.ok().and_then(Result::ok).map(|output| output.stderr).unwrap_or_default();
            let stderr = String::from_utf8_lossy(&stderr);
            Err(broken(&format!("{why}; {}", stderr.trim().lines().last().unwrap_or("it printed nothing"))))
        }
        Err(_) => Err(broken(&format!("it does not answer within {} s", TOOLS_WITHIN.as_secs()))),
    }
}

fn broken(why: &str) -> Failure {
    Failure::local_with(
        format!("the MCP server of the settings does not work: {why}"),
        "run its command line yourself to see more; `plenary connect` writes it again",
    )
}

/// Initializes a session and lists the tools; returns their number, the agent if the server names it, and a tool's answer.
async fn converse(
    mut stdin: ChildStdin,
    mut lines: Lines<BufReader<ChildStdout>>,
    calls: Option<&str>,
) -> Result<(usize, Option<String>, String), String> {
    let client = json!({"name": "plenary-doctor", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
    send(&mut stdin, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})).await?;
    reply(&mut lines, 1).await?;
    send(&mut stdin, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
    send(&mut stdin, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}})).await?;
    let tools = reply(&mut lines, 2).await?;
    let tools = tools["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !tools.iter().any(|tool| tool["name"] == "whoami") {
        return Ok((tools.len(), None, String::new()));
    }
    let call = json!({"name": "whoami", "arguments": {}});
    send(&mut stdin, &json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call})).await?;
    let me = reply(&mut lines, 3).await?;
    let agent = me["structuredContent"]["handle"].as_str().map(str::to_owned);
    let Some(tool) = calls else { return Ok((tools.len(), agent, String::new())) };
    let call = json!({"name": tool, "arguments": {}});
    send(&mut stdin, &json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": call})).await?;
    Ok((tools.len(), agent, reply(&mut lines, 4).await?.to_string()))
}

async fn send(stdin: &mut ChildStdin, message: &Value) -> Result<(), String> {
    let line = format!("{message}\n");
    stdin
        .write_all(line.as_bytes())
        .await
        .map_err(|error| format!("it does not read its input ({error})"))?;
    stdin.flush().await.map_err(|error| format!("it does not read its input ({error})"))
}

async fn reply(lines: &mut Lines<BufReader<ChildStdout>>, id: u64) -> Result<Value, String> {
    loop {
        let line = lines.next_line().await.map_err(|error| error.to_string())?;
        let Some(line) = line else { return Err("it ended".to_owned()) };
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            return Err("it does not send JSON".to_owned());
        };
        if message["id"] == id {
            if message["error"].is_object() {
                return Err(format!("it answers {}", message["error"]["message"]));
            }
            return Ok(message["result"].clone());
        }
    }
}
