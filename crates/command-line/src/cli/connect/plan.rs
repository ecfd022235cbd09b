//! The settings entries of each coding agent: its MCP server and its hooks.
//! Must not know: the other settings; any one coding agent, except for its own peculiarities.

use std::path::{Path, PathBuf};

use plenary_mcp::tools::CORE;
use serde_json::{Value, json};

use super::{
    coding_agents::{CodingAgent, Scope, SettingsRoots},
    tool::{FixedValue, HookShape, Hooks, Module, More, ServerShape, Servers},
};
use crate::cli::{
    hook::{STOPS_MAX, WAIT, WAIT_SECONDS},
    identity::CLIENT_VAR,
    shell::quoted,
};

/// Our server's name in the settings of every coding agent.
pub(crate) const SERVER: &str = "plenary";
/// The variable with the token, for a coding agent that speaks HTTP itself.
const TOKEN_VAR: &str = "PLENARY_TOKEN";
/// Time limit of a hook in seconds; it answers much sooner.
const HOOK_SECONDS: u64 = 10;

/// The setting by which Codex calls a tool without approval.
pub(super) const APPROVED: &str = "approval_mode = \"approve\"";
/// The texts that the user sees when a session wakes: a heading before the news, without which the news appears as a hook
/// error, and a summary.
const WAKE_MESSAGE: &str = "New from the Plenary network:";
const WAKE_SUMMARY: &str = "Messages from the Plenary network";

/// The first line of our modules; a file without it is not ours and is not replaced.
pub(crate) const OWN_MODULE: &str = "// Written by `plenary connect`";

/// The command with which a coding agent runs this program.
#[derive(Debug, Clone)]
pub(crate) struct ProgramCommand {
    /// The path of the program.
    pub(crate) program: String,
    /// Variables that are set only in this terminal.
    pub(crate) variables: Vec<(String, String)>,
    /// Arguments that are given only in this terminal.
    pub(crate) arguments: Vec<String>,
    pub(crate) agent: String,
    /// Whether an idle session is woken.
    pub(crate) wake: bool,
    /// How many seconds a person has to answer a permission request; `None` sends no request.
    pub(crate) approvals: Option<u64>,
    /// Whether the coding agent asks before it calls one of our tools.
    pub(crate) ask: bool,
    /// The server's MCP endpoint, if the coding agent speaks HTTP itself.
    pub(crate) http: Option<String>,
}

impl ProgramCommand {
    /// The beginning of a shell's command line: the variables, the program and the arguments.
    pub(crate) fn words(&self) -> Vec<String> {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let arguments = [&self.program].into_iter().chain(&self.arguments).map(|part| quoted(part));
        variables.chain(arguments).collect()
    }
}

/// A settings file, and its planned content.
#[derive(Debug)]
pub(crate) struct PlannedFile {
    pub(crate) path: PathBuf,
    pub(crate) form: Form,
}

/// The format of the content.
#[derive(Debug)]
pub(crate) enum Form {
    Json(Vec<Entry>),
    /// TOML, as one block.
    Toml(String),
    /// A file that is entirely ours.
    Own(String),
}

#[derive(Debug)]
pub(crate) enum Entry {
    /// Sets the member at this path.
    Member(Vec<&'static str>, Value),
    /// Adds an element to the list at this path.
    Element(Vec<&'static str>, Value),
}

/// All files for a coding agent; empty if there is no home for its settings.
pub(crate) fn plan(
    agent: CodingAgent,
    scope: Scope,
    roots: &SettingsRoots<'_>,
    invocation: &ProgramCommand,
) -> Option<Vec<PlannedFile>> {
    let tool = agent.tool();
    let mut planned = Vec::new();
    if scope == Scope::User {
        roots.home()?;
    }
    if let Some((servers, path)) = tool.servers.as_ref().zip(agent.servers_file(scope, roots)) {
        let entry = server(agent, scope, invocation);
        put(
            &mut planned,
            path,
            match servers.shape {
                ServerShape::Toml => Form::Toml(toml_server(&entry, invocation.ask)),
                ServerShape::Program | ServerShape::Line => {
                    Form::Json(vec![Entry::Member(named(servers), entry)])
                }
            },
        );
    }
    let hooks = agent.hooks_file(scope, roots);
    match (&tool.hooks, hooks) {
        (Hooks::None, _) | (_, None) => {}
        (Hooks::Plugin(ours), Some(path)) => {
            put(&mut planned, path, Form::Own(module(agent, ours, invocation)));
            let settings = agent.servers_file(scope, roots);
            if let Some(((list, _, _), settings)) = ours.named.zip(settings) {
                let name = json!(named_module(ours, scope));
                put(&mut planned, settings, Form::Json(vec![Entry::Element(list.to_vec(), name)]));
            }
        }
        (Hooks::Settings(settings), Some(path)) => {
            for (file, members) in settings.extra_files {
                let entries = members.iter().map(fixed).collect();
                put(&mut planned, clean(&path.parent()?.join(file)), Form::Json(entries));
            }
            if settings.shape == HookShape::Toml {
                put(&mut planned, path, Form::Toml(toml_hooks(agent, invocation)));
            } else {
                let mut entries: Vec<Entry> = settings.extra_members.iter().map(fixed).collect();
                for event in settings.events {
                    let path = settings.list.iter().chain([event]).copied().collect();
                    entries.push(Entry::Element(path, hook(agent, event, invocation)));
                }
                for event in tool.asks_person {
                    let Some(seconds) = invocation.approvals else { break };
                    let path = settings.list.iter().chain([event]).copied().collect();
                    entries.push(Entry::Element(path, person_hook(agent, event, seconds, invocation)));
                }
                if (agent, scope) == (CodingAgent::Claude, Scope::Project) {
                    // Without this entry, Claude Code asks about the server in `.mcp.json` at the next start.
                    entries.push(Entry::Element(vec!["enabledMcpjsonServers"], json!(SERVER)));
                }
                if let Some((list, prefix)) = tool.allowed.filter(|_| !invocation.ask) {
                    let allowed = CORE.iter().map(|tool| json!(format!("{prefix}{tool}")));
                    entries.extend(allowed.map(|rule| Entry::Element(list.to_vec(), rule)));
                }
                put(&mut planned, path, Form::Json(entries));
            }
        }
    }
    Some(planned)
}

/// Adds a file, or content to a file that is planned already.
fn put(planned: &mut Vec<PlannedFile>, path: PathBuf, form: Form) {
    match (planned.iter_mut().find(|file| file.path == path), form) {
        (Some(PlannedFile { form: Form::Json(list), .. }), Form::Json(entries)) => list.extend(entries),
        (_, form) => planned.push(PlannedFile { path, form }),
    }
}

/// The path without `..`: `a/b/../c` is `a/c`.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            clean.pop();
        } else {
            clean.push(part);
        }
    }
    clean
}

fn fixed((name, value): &(&'static str, FixedValue)) -> Entry {
    let value = match value {
        FixedValue::Number(number) => json!(number),
        FixedValue::Text(text) => json!(text),
    };
    Entry::Member(vec![name], value)
}

/// The path of our server's entry.
fn named(servers: &Servers) -> Vec<&'static str> {
    servers.list.iter().chain([&SERVER]).copied().collect()
}

/// The entry of our server.
pub(super) fn server(agent: CodingAgent, scope: Scope, invocation: &ProgramCommand) -> Value {
    let Some(servers) = &agent.tool().servers else { return Value::Null };
    let (program, address) = servers.types;
    let mut entry = match &invocation.http {
        Some(url) if servers.shape == ServerShape::Toml => {
            json!({"url": url, "bearer_token_env_var": TOKEN_VAR})
        }
        Some(url) => {
            let (member, variable) = servers.http;
            let mut entry = json!({"headers": {"Authorization": format!("Bearer {variable}")}});
            entry[member] = json!(url);
            entry
        }
        None => started(agent, scope, servers, invocation),
    };
    if let Some(kind) = if invocation.http.is_some() { address } else { program } {
        entry["type"] = json!(kind);
    }
    for (name, more) in servers.more {
        entry[*name] = match more {
            More::Number(number) => json!(number),
            More::TrueUnlessAsked if invocation.ask => continue,
            More::True | More::TrueUnlessAsked => json!(true),
            More::Texts(texts) => json!(texts),
        };
    }
    entry
}

/// The entry of our server as a program.
fn started(agent: CodingAgent, scope: Scope, servers: &Servers, invocation: &ProgramCommand) -> Value {
    let (arguments, variables) = mcp(agent, scope, invocation);
    let variables: serde_json::Map<String, Value> =
        variables.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
    let (mut entry, name) = match servers.shape {
        ServerShape::Program | ServerShape::Toml => {
            (json!({"command": invocation.program, "args": arguments}), "env")
        }
        ServerShape::Line => {
            let line: Vec<&String> = [&invocation.program].into_iter().chain(&arguments).collect();
            (json!({"command": line}), "environment")
        }
    };
    if !variables.is_empty() {
        entry[name] = Value::Object(variables);
    }
    entry
}

/// The arguments and variables of our server.
fn mcp(
    agent: CodingAgent,
    scope: Scope,
    invocation: &ProgramCommand,
) -> (Vec<String>, Vec<(String, String)>) {
    let mut arguments = invocation.arguments.clone();
    arguments.push("mcp".to_owned());
    let mut variables: Vec<(String, String)> = invocation.variables.clone();
    match scope {
        // The working directory of the server's process is not certain.
        Scope::Project => arguments.extend(["--as".to_owned(), invocation.agent.clone()]),
        Scope::User => variables.push((CLIENT_VAR.to_owned(), agent.as_str().to_owned())),
    }
    (arguments, variables)
}

/// Our server's command line for a shell.
pub(super) fn server_line(agent: CodingAgent, invocation: &ProgramCommand) -> String {
    let (arguments, variables) = mcp(agent, Scope::Project, invocation);
    let variables = variables.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let command = [&invocation.program].into_iter().chain(&arguments).map(|part| quoted(part));
    variables.chain(command).collect::<Vec<_>>().join(" ")
}

/// The server's entry as a TOML table, with the tools that are called without approval.
fn toml_server(server: &Value, ask: bool) -> String {
    let mut lines = vec![format!("[mcp_servers.{SERVER}]")];
    for (key, value) in server.as_object().into_iter().flatten() {
        let inner = toml::Value::try_from(value).unwrap_or_else(|_| toml::Value::String(String::new()));
        lines.push(format!("{key} = {inner}"));
    }
    for tool in CORE.iter().filter(|_| !ask) {
        lines.push(format!("\n[mcp_servers.{SERVER}.tools.{tool}]\n{APPROVED}"));
    }
    lines.join("\n")
}

/// The hooks as TOML tables.
fn toml_hooks(agent: CodingAgent, invocation: &ProgramCommand) -> String {
    let table = |event: &&str| {
        let command = toml::Value::String(command(agent, event, invocation));
        format!("[[hooks]]\nevent = \"{event}\"\ncommand = {command}\ntimeout = {HOOK_SECONDS}")
    };
    agent.events().iter().map(table).collect::<Vec<_>>().join("\n\n")
}

/// Whether this program wrote a line of such a block; `approves`: whether it allowed tools in advance.
pub(super) fn is_own_line(header: &str, line: &str, approves: bool) -> bool {
    let key = line.split(['=', ' ']).next().unwrap_or_default();
    if header == "hooks" {
        return ["event", "command", "timeout"].contains(&key);
    }
    match header.strip_prefix("mcp_servers.").and_then(|rest| rest.strip_prefix(SERVER)) {
        Some("") => {
            ["args", "bearer_token_env_var", "command", "env", "tool_timeout_sec", "url"].contains(&key)
        }
        Some(rest) => {
            let tool = rest.strip_prefix(".tools.");
            approves && tool.is_some_and(|tool| CORE.contains(&tool)) && line == APPROVED
        }
        None => false,
    }
}

/// The name of a module in the settings.
pub(super) fn named_module(module: &Module, scope: Scope) -> &'static str {
    module.named.map_or("", |(_, project, user)| if scope == Scope::Project { project } else { user })
}

/// The module that runs the hooks, with the command line of each event.
pub(super) fn module(agent: CodingAgent, module: &Module, invocation: &ProgramCommand) -> String {
    let lines: serde_json::Map<String, Value> = agent
        .events()
        .iter()
        .copied()
        .chain(invocation.wake.then_some(WAIT))
        .map(|event| (event.to_owned(), Value::from(command(agent, event, invocation))))
        .collect();
    module.source.replace("\"@LINES@\"", &Value::Object(lines).to_string())
}

/// The entry of one hook.
fn hook(agent: CodingAgent, event: &str, invocation: &ProgramCommand) -> Value {
    let command = command(agent, event, invocation);
    let Hooks::Settings(settings) = &agent.tool().hooks else { return Value::Null };
    let flat = || json!({"command": &command});
    match settings.shape {
        HookShape::Flat if agent == CodingAgent::Cursor && event == "stop" => {
            json!({"command": command, "loop_limit": STOPS_MAX})
        }
        HookShape::Flat | HookShape::Toml => flat(),
        HookShape::Mixed => json!({"type": "command", "command": command, "timeout": HOOK_SECONDS}),
        HookShape::Bash => json!({"type": "command", "bash": command, "timeoutSec": HOOK_SECONDS}),
        HookShape::Groups { unit_ms } => {
            let mut entry =
                json!({"type": "command", "command": command, "timeout": HOOK_SECONDS * 1_000 / unit_ms});
            // The user disables hooks by these names.
            if matches!(agent, CodingAgent::Gemini | CodingAgent::Qwen) {
                entry["name"] = json!(SERVER);
            }
            // Codex puts a longer text into a file, which the model may never read. At these events it accepts no context text.
            if agent == CodingAgent::Codex && !matches!(event, "PreCompact" | "Stop") {
                entry["additionalContextLimit"] = json!(0);
            }
            let mut group = vec![entry];
            if agent == CodingAgent::Claude && invocation.wake && matches!(event, "SessionStart" | "Stop") {
                group.push(json!({"type": "command", "command": self::command(agent, WAIT, invocation), "timeout": WAIT_SECONDS,
                    "asyncRewake": true, "rewakeSummary": WAKE_SUMMARY, "rewakeMessage": WAKE_MESSAGE}));
            }
            json!({"hooks": group})
        }
    }
}

/// The hook that asks a person; its time limit is a little longer than the person's.
fn person_hook(agent: CodingAgent, event: &str, seconds: u64, invocation: &ProgramCommand) -> Value {
    let command = line(agent, &[event, "--wait-seconds", &seconds.to_string()], invocation);
    json!({"hooks": [{"type": "command", "command": command, "timeout": seconds + HOOK_SECONDS}]})
}

/// The command line of a hook, for a shell.
pub(super) fn command(agent: CodingAgent, event: &str, invocation: &ProgramCommand) -> String {
    line(agent, &[agent.tool().own_event(event)], invocation)
}

fn line(agent: CodingAgent, event: &[&str], invocation: &ProgramCommand) -> String {
    let mut parts = invocation.words();
    parts.push("hook".to_owned());
    parts.extend(event.iter().chain(&["--client", agent.as_str()]).map(|part| (*part).to_owned()));
    parts.join(" ")
}

/// The command line in a hook's entry.
pub(super) fn line_of(hook: &Value) -> Option<&str> {
    hook["command"].as_str().or_else(|| hook["bash"].as_str())
}

/// Whether this program added an element of a list for that coding agent.
pub(crate) fn is_ours(agent: CodingAgent, hook: &Value) -> bool {
    let end = format!("--client {}", agent.as_str());
    line_of(hook).is_some_and(|command| command.ends_with(&end) && command.contains(" hook "))
}
