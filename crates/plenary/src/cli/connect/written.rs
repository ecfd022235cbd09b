//! What a coding agent's settings say of this program now, whoever wrote it.
//! Must not know: how it got there.

use std::{collections::BTreeMap, path::Path};

use plenary_kernel::AgentHandle;
use serde_json::Value;

use super::{
    coding::{CodingAgent, Places, Scope},
    plan::{self, SERVER, Told, is_ours},
};
use crate::cli::{
    context::Context,
    failure::Failure,
    settings::{Document, File},
};
use crate::out::clean;

/// The entries of this program.
#[derive(Debug)]
pub(crate) struct Written {
    /// The MCP server.
    pub(crate) server: Value,
    /// The line of each event's hook.
    pub(crate) hooks: BTreeMap<String, String>,
    files: Vec<String>,
    coding: CodingAgent,
    scope: Scope,
}

/// What may stand behind the arguments of the MCP server that `connect` writes, each with its value.
const MORE_ARGUMENTS: [&str; 1] = ["--toolsets"];

impl Written {
    /// Refuses settings that run anything but what `connect` would write now: they lie in the directory, and whoever brought it
    /// may have written them.
    pub(crate) fn own(&self, context: &Context, agent: &AgentHandle) -> Result<(), Failure> {
        let told = super::told(context, agent.as_str(), false, false)?;
        if self.server["command"].is_string() && !self.is_own_server(&told) {
            return Err(self.foreign(&self.server.to_string()));
        }
        let foreign =
            self.hooks.iter().find(|(event, line)| **line != plan::command(self.coding, event, &told));
        foreign.map_or(Ok(()), |(_, line)| Err(self.foreign(line)))
    }

    fn is_own_server(&self, told: &Told) -> bool {
        let expected = plan::server(self.coding, self.scope, told);
        let words = |entry: &Value| entry["args"].as_array().cloned().unwrap_or_default();
        let (found, wanted) = (words(&self.server), words(&expected));
        let more = found.get(wanted.len()..).unwrap_or_default();
        let is_known = |pair: &[Value]| pair.len() == 2 && MORE_ARGUMENTS.iter().any(|name| pair[0] == *name);
        self.server["command"] == expected["command"]
            && self.server["env"] == expected["env"]
            && found.starts_with(&wanted)
            && more.chunks(2).all(is_known)
    }

    fn foreign(&self, line: &str) -> Failure {
        Failure::local_with(
            format!("{} would run what is not run here: {}", self.files.join(" and "), clean(line)),
            format!("look at it; `plenary connect {}` writes what runs this program", self.coding.as_str()),
        )
    }

    /// That the server is there; an absent hook is another matter.
    pub(crate) fn told(&self) -> Result<String, Failure> {
        let files = self.files.join(" and ");
        if self.server.is_null() {
            return Err(Failure::local_with(
                format!("{files} names no server `{SERVER}`"),
                format!("write it anew: `plenary connect {}`", self.coding.as_str()),
            ));
        }
        Ok(format!("{files}, {} hooks", self.hooks.len()))
    }
}

/// Reads them.
pub(crate) fn written(
    context: &Context,
    coding: CodingAgent,
    scope: &str,
    directory: &Path,
) -> Result<Written, Failure> {
    let scope = if scope == Scope::User.as_str() { Scope::User } else { Scope::Project };
    let places = Places { directory, around: &context.around };
    let servers = coding.servers_file(scope, &places);
    let hooks = coding.hooks_file(scope, &places);
    let mut files: Vec<String> = Vec::new();
    let mut settings = [Value::Null, Value::Null];
    for (settings, path) in settings.iter_mut().zip([servers, hooks]) {
        let Some(path) = path else { continue };
        let name = path.display().to_string();
        if !files.contains(&name) {
            files.push(name);
        }
        *settings = read(&File::at(path))?;
    }
    let [servers, settings] = settings;
    let list = match coding {
        CodingAgent::Codex => "mcp_servers",
        CodingAgent::Vscode => "servers",
        CodingAgent::Claude | CodingAgent::Gemini | CodingAgent::Cursor => "mcpServers",
    };
    let mut hooks = BTreeMap::new();
    for event in coding.events() {
        for element in settings["hooks"][event].as_array().into_iter().flatten() {
            let inner = element["hooks"].as_array().cloned().unwrap_or_else(|| vec![element.clone()]);
            let ours = inner.iter().filter(|hook| is_ours(coding, hook));
            if let Some(line) = ours.filter_map(|hook| hook["command"].as_str()).next() {
                hooks.insert((*event).to_owned(), line.to_owned());
            }
        }
    }
    Ok(Written { server: servers[list][SERVER].clone(), hooks, files, coding, scope })
}

fn read(file: &File) -> Result<Value, Failure> {
    let text = file.read()?.unwrap_or_default();
    if file.path().extension().is_some_and(|extension| extension == "toml") {
        return toml::from_str(&text).map_err(|error| file.unusable(error.message()));
    }
    let document = Document::read(&text).map_err(|odd| file.unusable(&odd.0))?;
    Ok(document.value(&[]).unwrap_or_default())
}
