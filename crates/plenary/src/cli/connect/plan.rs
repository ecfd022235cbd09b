//! What each coding agent is told: its MCP server and its hooks, as entries of its settings.
//! Must not know: what the settings hold besides.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::coding::{CodingAgent, Places, Scope};
use crate::cli::{
    hook::{STOPS_MAX, WAIT, WAIT_SECONDS},
    identity::CLIENT_VAR,
};

/// Our server's name in the settings of every coding agent.
pub(crate) const SERVER: &str = "plenary";
/// The variable in which a token is told where a coding agent speaks HTTP itself.
const TOKEN_VAR: &str = "PLENARY_TOKEN";
/// Longest run of a hook; it answers long before.
const HOOK_SECONDS: u64 = 10;

/// Codex gives a call up after 60 s unless it is told otherwise; a tool waits for 110 s at most.
const CODEX_CALL_SECONDS: u64 = 120;

/// How this program is run by a coding agent.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// Where it is.
    pub(crate) program: String,
    /// Variables that only this terminal has.
    pub(crate) variables: Vec<(String, String)>,
    /// Arguments that only this terminal has.
    pub(crate) arguments: Vec<String>,
    /// The agent.
    pub(crate) agent: String,
    /// Whether a session is woken while it waits for its person.
    pub(crate) wake: bool,
    /// The server's MCP endpoint, where the coding agent speaks HTTP itself.
    pub(crate) http: Option<String>,
}

/// A file of settings and what goes into it.
#[derive(Debug)]
pub(crate) struct Planned {
    /// Which file.
    pub(crate) path: PathBuf,
    /// What goes into it.
    pub(crate) form: Form,
}

/// In which form a file is written.
#[derive(Debug)]
pub(crate) enum Form {
    /// JSON, entry by entry.
    Json(Vec<Entry>),
    /// TOML, as one block.
    Toml(String),
}

/// One entry.
#[derive(Debug)]
pub(crate) enum Entry {
    /// The member there is this.
    Member(Vec<&'static str>, Value),
    /// The list there has this.
    Element(Vec<&'static str>, Value),
}

/// Everything that a coding agent is told.
pub(crate) fn plan(
    agent: CodingAgent,
    scope: Scope,
    places: &Places<'_>,
    told: &Told,
) -> Option<Vec<Planned>> {
    let servers = agent.servers_file(scope, places)?;
    let mut server = server(agent, scope, told);
    if agent == CodingAgent::Codex {
        server["tool_timeout_sec"] = json!(CODEX_CALL_SECONDS);
    }
    let mut planned = vec![match agent {
        CodingAgent::Codex => Planned { path: servers, form: Form::Toml(codex_block(&server)) },
        CodingAgent::Vscode => json_file(servers, Entry::Member(vec!["servers", SERVER], server)),
        CodingAgent::Claude | CodingAgent::Gemini | CodingAgent::Cursor => {
            json_file(servers, Entry::Member(vec!["mcpServers", SERVER], server))
        }
    }];
    let Some(hooks) = agent.hooks_file(scope, places) else { return Some(planned) };
    let mut entries = Vec::new();
    if agent == CodingAgent::Cursor {
        entries.push(Entry::Member(vec!["version"], json!(1)));
    }
    for event in agent.events() {
        entries.push(Entry::Element(vec!["hooks", event], hook(agent, event, told)));
    }
    if (agent, scope) == (CodingAgent::Claude, Scope::Project) {
        // Without it the server of `.mcp.json` is asked for at the next start.
        entries.push(Entry::Element(vec!["enabledMcpjsonServers"], json!(SERVER)));
    }
    match planned.iter_mut().find(|file| file.path == hooks) {
        Some(Planned { form: Form::Json(list), .. }) => list.extend(entries),
        Some(_) | None => planned.push(Planned { path: hooks, form: Form::Json(entries) }),
    }
    Some(planned)
}

fn json_file(path: PathBuf, entry: Entry) -> Planned {
    Planned { path, form: Form::Json(vec![entry]) }
}

/// The entry of our server.
pub(super) fn server(agent: CodingAgent, scope: Scope, told: &Told) -> Value {
    if let Some(url) = &told.http {
        let bearer = |variable: &str| json!({"Authorization": format!("Bearer {variable}")});
        return match agent {
            CodingAgent::Claude => {
                json!({"type": "http", "url": url, "headers": bearer(&format!("${{{TOKEN_VAR}}}"))})
            }
            CodingAgent::Codex => json!({"url": url, "bearer_token_env_var": TOKEN_VAR}),
            CodingAgent::Gemini => json!({"httpUrl": url, "headers": bearer(&format!("${TOKEN_VAR}"))}),
            CodingAgent::Cursor => json!({"url": url, "headers": bearer(&format!("${{env:{TOKEN_VAR}}}"))}),
            CodingAgent::Vscode => {
                json!({"type": "http", "url": url, "headers": bearer(&format!("${{env:{TOKEN_VAR}}}"))})
            }
        };
    }
    let mut arguments = told.arguments.clone();
    arguments.push("mcp".to_owned());
    let mut variables: Vec<(String, String)> = told.variables.clone();
    match scope {
        // It is not sure in which directory a server is started.
        Scope::Project => arguments.extend(["--as".to_owned(), told.agent.clone()]),
        Scope::User => variables.push((CLIENT_VAR.to_owned(), agent.as_str().to_owned())),
    }
    let mut entry = json!({"command": told.program, "args": arguments});
    if matches!(agent, CodingAgent::Claude | CodingAgent::Vscode) {
        entry["type"] = json!("stdio");
    }
    if !variables.is_empty() {
        entry["env"] = variables.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
    }
    entry
}

/// The server's entry as a table of Codex's settings.
fn codex_block(server: &Value) -> String {
    let mut lines = vec![format!("[mcp_servers.{SERVER}]")];
    for (key, value) in server.as_object().into_iter().flatten() {
        let inner = toml::Value::try_from(value).unwrap_or_else(|_| toml::Value::String(String::new()));
        lines.push(format!("{key} = {inner}"));
    }
    lines.join("\n")
}

/// The entry of one hook.
fn hook(agent: CodingAgent, event: &str, told: &Told) -> Value {
    let command = command(agent, event, told);
    match agent {
        CodingAgent::Cursor if event == "stop" => json!({"command": command, "loop_limit": STOPS_MAX}),
        CodingAgent::Cursor => json!({"command": command}),
        CodingAgent::Gemini => json!({"hooks": [
            {"name": SERVER, "type": "command", "command": command, "timeout": HOOK_SECONDS * 1000}
        ]}),
        CodingAgent::Claude if told.wake && event == "Stop" => json!({"hooks": [
            {"type": "command", "command": command, "timeout": HOOK_SECONDS},
            {"type": "command", "command": self::command(agent, WAIT, told), "timeout": WAIT_SECONDS,
                "asyncRewake": true},
        ]}),
        CodingAgent::Claude | CodingAgent::Codex | CodingAgent::Vscode => {
            json!({"hooks": [{"type": "command", "command": command, "timeout": HOOK_SECONDS}]})
        }
    }
}

/// The line that a hook runs, for a shell.
pub(super) fn command(agent: CodingAgent, event: &str, told: &Told) -> String {
    let quoted = crate::cli::shell::quoted;
    let variables = told.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let mut words: Vec<String> = variables.collect();
    words.push(quoted(&told.program));
    words.extend(told.arguments.iter().map(|word| quoted(word)));
    words.extend(["hook", event, "--client", agent.as_str()].map(str::to_owned));
    words.join(" ")
}

/// Whether an element of a list was put there by this program for that coding agent.
pub(crate) fn is_ours(agent: CodingAgent, hook: &Value) -> bool {
    let end = format!("--client {}", agent.as_str());
    hook["command"].as_str().is_some_and(|command| command.ends_with(&end) && command.contains(" hook "))
}
