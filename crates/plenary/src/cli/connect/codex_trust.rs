//! The trust of Codex in the hooks that `plenary codex` hands over by flags: Codex itself lists them with their digests.
//! Must not know: the hooks.

use std::{ffi::OsString, path::Path, process::Stdio, time::Duration};

use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// A Codex that has not answered by then asks its person, with `/hooks`.
const WITHIN: Duration = Duration::from_secs(10);
/// How the keys of hooks begin that stand in flags.
const OF_FLAGS: &str = "/<session-flags>/";

/// The value of `hooks.state` that trusts the hooks in these flags, and no others; none where Codex does not list them.
pub(super) async fn state(program: &str, flags: &[OsString], directory: &Path) -> Option<Value> {
    let mut command = Command::new(program);
    command.arg("app-server").args(flags).current_dir(directory).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let (input, output) = child.stdin.take().zip(child.stdout.take())?;
    let listed = timeout(WITHIN, list(input, BufReader::new(output).lines(), directory)).await;
    trusting(&listed.ok()??)
}

/// Asks an app server for the hooks that it would run.
async fn list(
    mut input: ChildStdin,
    mut lines: Lines<BufReader<ChildStdout>>,
    directory: &Path,
) -> Option<Value> {
    let client = json!({"name": "plenary", "title": null, "version": env!("CARGO_PKG_VERSION")});
    let hello = json!({"clientInfo": client, "capabilities": {"experimentalApi": true}});
    say(&mut input, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})).await?;
    answer(&mut lines, 1).await?;
    say(&mut input, &json!({"jsonrpc": "2.0", "method": "initialized"})).await?;
    let wanted = json!({"cwds": [directory]});
    say(&mut input, &json!({"jsonrpc": "2.0", "id": 2, "method": "hooks/list", "params": wanted})).await?;
    answer(&mut lines, 2).await
}

async fn say(input: &mut ChildStdin, message: &Value) -> Option<()> {
    input.write_all(format!("{message}\n").as_bytes()).await.ok()?;
    input.flush().await.ok()
}

async fn answer(lines: &mut Lines<BufReader<ChildStdout>>, id: u64) -> Option<Value> {
    loop {
        let line = lines.next_line().await.ok()??;
        let mut message: Value = serde_json::from_str(&line).ok()?;
        if message["id"] == id && message["method"].is_null() {
            return Some(message["result"].take());
        }
    }
}

/// The state for those of the listed hooks that stand in flags.
fn trusting(listed: &Value) -> Option<Value> {
    let hooks = listed["data"].as_array()?.iter().filter_map(|place| place["hooks"].as_array()).flatten();
    let state: Map<String, Value> = hooks
        .filter_map(|hook| {
            let key = hook["key"].as_str().filter(|key| key.starts_with(OF_FLAGS))?;
            Some((key.to_owned(), json!({"trusted_hash": hook["currentHash"].as_str()?})))
        })
        .collect();
    (!state.is_empty()).then_some(Value::Object(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_flags_alone_are_trusted() {
        let ours = "/<session-flags>/config.toml:stop:0:0";
        let hook = |key: &str| json!({"key": key, "currentHash": "sha256:1", "trustStatus": "untrusted"});
        let listed =
            json!({"data": [{"cwd": "/w", "hooks": [hook(ours), hook("/w/.codex/hooks.json:stop:0:0")]}]});
        assert_eq!(trusting(&listed), Some(json!({ours: {"trusted_hash": "sha256:1"}})));
        assert_eq!(trusting(&json!({"data": [{"hooks": [hook("/w/.codex/hooks.json:stop:0:0")]}]})), None);
        assert_eq!(trusting(&json!({"error": 1})), None);
    }
}
