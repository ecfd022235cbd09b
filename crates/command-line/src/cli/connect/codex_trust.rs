//! The trust of Codex in this program's hooks: Codex itself computes their digests and records which it trusts.
//! Must not know: the content of the hooks.

use std::{collections::BTreeMap, ffi::OsString, path::Path, process::Stdio, time::Duration};

use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// How long Codex may take to answer; if it takes longer, it asks the user with `/hooks`.
const WITHIN: Duration = Duration::from_secs(10);
/// The prefix of the keys of hooks in flags.
const OF_FLAGS: &str = "/<session-flags>/";

/// The value of `hooks.state` that trusts only the hooks in these flags; `None` if Codex does not list them.
pub(super) async fn state(program: &str, flags: &[OsString], directory: &Path) -> Option<Value> {
    let trusting = async {
        let mut server = AppServer::start(program, flags, directory).await?;
        trusting(&server.hooks(directory).await?)
    };
    timeout(WITHIN, trusting).await.ok()?
}

/// Makes Codex trust permanently those hooks of a file that the flags also contain; returns their keys, or `None` if Codex
/// does not answer. Codex starts in `elsewhere`, so that it reads nothing that came with the file's directory.
pub(super) async fn trust(
    program: &str,
    flags: &[OsString],
    (file, hooks): (&Path, &Value),
    elsewhere: &Path,
) -> Option<Vec<String>> {
    let trusting = async {
        let mut server = AppServer::start(program, flags, elsewhere).await?;
        let state = trusting_in(file, hooks, &digests(&server.hooks(elsewhere).await?));
        let keys = state.keys().cloned().collect();
        let edit = json!({"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"});
        server.call("config/batchWrite", json!({"edits": [edit]})).await?;
        Some(keys)
    };
    timeout(WITHIN, trusting).await.ok()?
}

/// Revokes that trust.
pub(super) async fn distrust(program: &str, keys: &[String], elsewhere: &Path) -> Option<()> {
    let edit = |key: &String| json!({"keyPath": format!("hooks.state.{}", json!(key)), "value": null, "mergeStrategy": "replace"});
    let edits: Vec<Value> = keys.iter().map(edit).collect();
    let distrusting = async {
        let mut server = AppServer::start(program, &[], elsewhere).await?;
        server.call("config/batchWrite", json!({"edits": edits})).await.map(drop)
    };
    timeout(WITHIN, distrusting).await.ok()?
}

/// A Codex app server, called by JSON-RPC. It ends when this value is dropped.
struct AppServer {
    _child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    calls: u64,
}

impl AppServer {
    async fn start(program: &str, flags: &[OsString], directory: &Path) -> Option<Self> {
        let mut command = Command::new(program);
        command.arg("app-server").args(flags).current_dir(directory).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (input, output) = child.stdin.take().zip(child.stdout.take())?;
        let mut server = Self { _child: child, input, lines: BufReader::new(output).lines(), calls: 0 };
        let client = json!({"name": "plenary", "title": null, "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"clientInfo": client, "capabilities": {"experimentalApi": true}});
        server.call("initialize", hello).await?;
        server.send(&json!({"jsonrpc": "2.0", "method": "initialized"})).await?;
        Some(server)
    }

    /// The hooks that Codex would run in a directory.
    async fn hooks(&mut self, directory: &Path) -> Option<Vec<Value>> {
        let mut listed = self.call("hooks/list", json!({"cwds": [directory]})).await?;
        let directories = listed["data"].as_array_mut()?.iter_mut();
        Some(
            directories
                .filter_map(|directory| directory["hooks"].as_array_mut())
                .flat_map(std::mem::take)
                .collect(),
        )
    }

    /// The answer to a call; `None` if Codex refuses.
    async fn call(&mut self, method: &str, params: Value) -> Option<Value> {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        loop {
            let line = self.lines.next_line().await.ok()??;
            let mut message: Value = serde_json::from_str(&line).ok()?;
            if message["id"] == id && message["method"].is_null() {
                return message.get_mut("result").map(Value::take);
            }
        }
    }

    async fn send(&mut self, message: &Value) -> Option<()> {
        self.input.write_all(format!("{message}\n").as_bytes()).await.ok()?;
        self.input.flush().await.ok()
    }
}

/// The trust state for the listed hooks that come from flags.
fn trusting(listed: &[Value]) -> Option<Value> {
    let state: Map<String, Value> = listed
        .iter()
        .filter_map(|hook| {
            let key = hook["key"].as_str().filter(|key| key.starts_with(OF_FLAGS))?;
            Some((key.to_owned(), json!({"trusted_hash": hook["currentHash"].as_str()?})))
        })
        .collect();
    (!state.is_empty()).then_some(Value::Object(state))
}

/// The digest of each hook in flags, by its command. It does not depend on where the hook is.
fn digests(listed: &[Value]) -> BTreeMap<&str, &str> {
    let of_flags =
        listed.iter().filter(|hook| hook["key"].as_str().is_some_and(|key| key.starts_with(OF_FLAGS)));
    of_flags.filter_map(|hook| Some((hook["command"].as_str()?, hook["currentHash"].as_str()?))).collect()
}

/// The trust state for the hooks of a file with known digests, by each hook's key: `FILE:EVENT:GROUP:HOOK`.
fn trusting_in(file: &Path, hooks: &Value, digests: &BTreeMap<&str, &str>) -> Map<String, Value> {
    let mut state = Map::new();
    for (event, groups) in hooks.as_object().into_iter().flatten() {
        for (g, group) in groups.as_array().into_iter().flatten().enumerate() {
            for (h, hook) in group["hooks"].as_array().into_iter().flatten().enumerate() {
                if let Some(digest) = hook["command"].as_str().and_then(|command| digests.get(command)) {
                    let key = format!("{}:{}:{g}:{h}", file.display(), snake(event));
                    state.insert(key, json!({"trusted_hash": digest}));
                }
            }
        }
    }
    state
}

/// `SessionStart` as `session_start`.
fn snake(event: &str) -> String {
    let mut snake = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(key: &str, command: &str) -> Value {
        json!({"key": key, "command": command, "currentHash": "sha256:1", "trustStatus": "untrusted"})
    }

    #[test]
    fn hooks_of_flags_alone_are_trusted() {
        let ours = "/<session-flags>/config.toml:stop:0:0";
        let theirs = listed("/w/.codex/hooks.json:stop:0:0", "evil");
        assert_eq!(
            trusting(&[listed(ours, "ours"), theirs.clone()]),
            Some(json!({ours: {"trusted_hash": "sha256:1"}}))
        );
        assert_eq!(trusting(std::slice::from_ref(&theirs)), None);
        assert_eq!(digests(&[theirs]), BTreeMap::new());
    }

    #[test]
    fn a_hook_of_a_file_is_trusted_by_its_position_if_it_is_one_of_ours() {
        let listed = [listed("/<session-flags>/config.toml:user_prompt_submit:0:0", "ours")];
        let hook = |command: &str| json!({"type": "command", "command": command});
        let hooks = json!({"UserPromptSubmit": [{"hooks": [hook("evil")]}, {"hooks": [hook("evil"), hook("ours")]}],
            "Stop": [{"hooks": [hook("evil")]}]});
        let state = trusting_in(Path::new("/w/.codex/hooks.json"), &hooks, &digests(&listed));
        let expected = json!({"/w/.codex/hooks.json:user_prompt_submit:1:1": {"trusted_hash": "sha256:1"}});
        assert_eq!(Value::Object(state), expected);
    }
}
