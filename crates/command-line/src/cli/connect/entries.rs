//! The current entries for this program in a coding agent's settings, independent of their author.
//! Must not know: how they were written.

use std::{collections::BTreeMap, path::Path};

use plenary_kernel::AgentHandle;
use serde_json::Value;

use super::{
    coding_agents::{CodingAgent, Scope, SettingsRoots},
    plan::{self, ProgramCommand, SERVER, is_ours},
    tool::{HookShape, Hooks, ServerShape, Settings},
};
use crate::cli::{
    context::Context,
    failure::Failure,
    settings::{Document, File},
    shell,
};
use crate::out::clean;

#[derive(Debug)]
pub(crate) struct ProgramEntries {
    /// The MCP server.
    pub(crate) server: Value,
    /// The command line of each event's hook.
    pub(crate) hooks: BTreeMap<String, String>,
    /// The events that must have a hook.
    pub(crate) expected: &'static [&'static str],
    files: Vec<String>,
    coding: CodingAgent,
    scope: Scope,
}

/// The server that a command line names.
fn url_of(line: &[String]) -> Option<&str> {
    let named = line.iter().position(|argument| argument == "--url")?;
    line.get(named + 1).map(String::as_str)
}

/// The program of a server's entry.
fn program_of(server: &Value) -> Option<&str> {
    server["command"].as_str().or_else(|| server["command"][0].as_str())
}

/// Flags with a value that may follow the arguments of the MCP server that `connect` writes.
const MORE_ARGUMENTS: [&str; 1] = ["--toolsets"];

/// A program with its arguments, and its variables.
pub(crate) type ProgramLine = (Vec<String>, Vec<(String, String)>);

impl ProgramEntries {
    /// Rejects settings that run anything other than what `connect` would write now: they are in the directory, and its
    /// author may have written them.
    pub(crate) fn own(&self, context: &Context, agent: &AgentHandle) -> Result<(), Failure> {
        let invocations = super::program_commands(context, agent.as_str(), program_of(&self.server))?;
        if let Some((line, _)) = self.program()
            && let Some(invocation) = invocations.iter().find(|own| line.first() == Some(&own.program))
            && url_of(&line) != url_of(&invocation.arguments)
        {
            return Err(self.elsewhere(context, url_of(&line))?);
        }
        if !self.server["command"].is_null() && !invocations.iter().any(|own| self.is_own_server(own)) {
            return Err(self.foreign(&self.server.to_string()));
        }
        let is_own = |event: &str, line: &str| {
            invocations.iter().any(|own| line == plan::command(self.coding, event, own))
        };
        let foreign = self.hooks.iter().find(|(event, line)| !is_own(event, line));
        foreign.map_or(Ok(()), |(_, line)| Err(self.foreign(line)))
    }

    fn is_own_server(&self, invocation: &ProgramCommand) -> bool {
        let expected = plan::server(self.coding, self.scope, invocation);
        let Some(servers) = &self.coding.tool().servers else { return self.server.is_null() };
        let (line_member, variables) = match servers.shape {
            ServerShape::Line => ("command", "environment"),
            ServerShape::Program | ServerShape::Toml => ("args", "env"),
        };
        let is_line = servers.shape == ServerShape::Line;
        let line = |entry: &Value| entry[line_member].as_array().cloned().unwrap_or_default();
        let (actual, expected_line) = (line(&self.server), line(&expected));
        let more = actual.get(expected_line.len()..).unwrap_or_default();
        let is_known = |pair: &[Value]| pair.len() == 2 && MORE_ARGUMENTS.iter().any(|name| pair[0] == *name);
        (is_line || self.server["command"] == expected["command"])
            && self.server[variables] == expected[variables]
            && actual.starts_with(&expected_line)
            && more.chunks(2).all(is_known)
    }

    /// The failure if the settings name another server than this command.
    fn elsewhere(&self, context: &Context, named: Option<&str>) -> Result<Failure, Failure> {
        let (files, coding) = (self.files.join(" and "), self.coding.as_str());
        let address = context.server_address()?;
        let spoken = format!("this command speaks to {} (from {})", address.url, address.source);
        let rewrite = format!("`plenary connect {coding}` writes them for this one");
        Ok(match named {
            Some(url) => {
                let url = clean(url);
                Failure::local_with(
                    format!("{files} name the server {url}, and {spoken}"),
                    format!("`plenary --url {} doctor` checks them; {rewrite}", shell::quoted(&url)),
                )
            }
            None => Failure::local_with(
                format!("{files} name no server, and {spoken}"),
                format!("leave out --url and PLENARY_URL to check them; {rewrite}"),
            ),
        })
    }

    fn foreign(&self, line: &str) -> Failure {
        Failure::local_with(
            format!("{} would run another program than this one: {}", self.files.join(" and "), clean(line)),
            format!(
                "check it; `plenary connect {}` writes a command that runs this program",
                self.coding.as_str()
            ),
        )
    }

    /// The server's program with its arguments and variables; `None` if the coding agent calls a URL itself.
    pub(crate) fn program(&self) -> Option<ProgramLine> {
        let texts = |list: &Value| -> Vec<String> {
            list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let command = &self.server["command"];
        let line = match command.as_str() {
            Some(program) => [program.to_owned()].into_iter().chain(texts(&self.server["args"])).collect(),
            None => texts(command),
        };
        let variables = [&self.server["env"], &self.server["environment"]].into_iter();
        let variables = variables.filter_map(Value::as_object).flatten();
        let variables =
            variables.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()));
        (!line.is_empty()).then(|| (line, variables.collect()))
    }

    /// Checks that the server is configured; a missing hook is checked elsewhere.
    pub(crate) fn check_server(&self) -> Result<String, Failure> {
        let files = self.files.join(" and ");
        if self.server.is_null() && self.coding.tool().servers.is_some() {
            return Err(Failure::local_with(
                format!("no server `{SERVER}` is named in {files}"),
                format!("write it again: `plenary connect {}`", self.coding.as_str()),
            ));
        }
        Ok(format!("{files}, {} hooks", self.hooks.len()))
    }
}

/// Reads the entries from the settings.
pub(crate) fn read_entries(
    context: &Context,
    coding: CodingAgent,
    agent: &str,
    scope: &str,
    directory: &Path,
) -> Result<ProgramEntries, Failure> {
    let tool = coding.tool();
    let scope = if scope == Scope::User.as_str() { Scope::User } else { Scope::Project };
    let roots = SettingsRoots { directory, environment: &context.environment };
    let servers = coding.servers_file(scope, &roots);
    let hooks = coding.hooks_file(scope, &roots);
    let mut files: Vec<String> = Vec::new();
    let mut settings = [Value::Null, Value::Null];
    let (has_hooks, is_module) = (hooks.is_some(), matches!(tool.hooks, Hooks::Plugin(_)));
    let mut module = None;
    for (settings, (path, is_module)) in settings.iter_mut().zip([(servers, false), (hooks, is_module)]) {
        let Some(path) = path else { continue };
        let name = path.display().to_string();
        if !files.contains(&name) {
            files.push(name);
        }
        if is_module {
            module = File::at(path).read()?;
        } else {
            *settings = read(&File::at(path))?;
        }
    }
    let [servers, settings] = settings;
    let server =
        tool.servers.as_ref().map_or(Value::Null, |shape| value_at(&servers, shape.list)[SERVER].clone());
    let mut hooks = BTreeMap::new();
    match (&tool.hooks, &module) {
        (Hooks::Plugin(ours), Some(text)) => {
            // A module is ours only if it is exactly what we would write.
            let invocations = super::program_commands(context, agent, program_of(&server))?;
            let is_own = |invocation: &&ProgramCommand| {
                [false, true].into_iter().any(|wake| {
                    *text == plan::module(coding, ours, &ProgramCommand { wake, ..(*invocation).clone() })
                })
            };
            let Some(invocation) = invocations.iter().find(is_own) else {
                return Err(Failure::local_with(
                    format!("{} is not as `plenary connect` writes it", files.join(" and ")),
                    format!("check it; `plenary connect {}` writes it again", coding.as_str()),
                ));
            };
            let name = plan::named_module(ours, scope);
            let is_named =
                |list: &Value| list.as_array().is_some_and(|list| list.iter().any(|element| element == name));
            if ours.named.is_none_or(|(list, _, _)| is_named(value_at(&servers, list))) {
                let line = |event: &&str| ((*event).to_owned(), plan::command(coding, event, invocation));
                hooks.extend(coding.events().iter().map(line));
            }
        }
        (Hooks::Settings(shape), _) => {
            for event in shape.events {
                let inner = elements(shape, &settings, event);
                let ours = inner.iter().filter(|hook| is_ours(coding, hook));
                if let Some(line) = ours.filter_map(plan::line_of).next() {
                    hooks.insert((*event).to_owned(), line.to_owned());
                }
            }
        }
        (Hooks::None | Hooks::Plugin(_), _) => {}
    }
    let expected = if has_hooks { coding.events() } else { &[] };
    Ok(ProgramEntries { server, hooks, expected, files, coding, scope })
}

/// The value at a path; null if there is none.
fn value_at<'a>(settings: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(settings, |value, name| &value[*name])
}

/// All hooks of an event, without their groups.
fn elements(shape: &Settings, settings: &Value, event: &str) -> Vec<Value> {
    let all = |list: &Value| list.as_array().cloned().unwrap_or_default();
    if shape.shape == HookShape::Toml {
        return all(&settings["hooks"]).into_iter().filter(|hook| hook["event"] == event).collect();
    }
    let groups = all(&value_at(settings, shape.list)[event]);
    groups
        .into_iter()
        .flat_map(|group| group["hooks"].as_array().cloned().unwrap_or_else(|| vec![group]))
        .collect()
}

fn read(file: &File) -> Result<Value, Failure> {
    let text = file.read()?.unwrap_or_default();
    if file.path().extension().is_some_and(|extension| extension == "toml") {
        return toml::from_str(&text).map_err(|error| file.unusable(error.message()));
    }
    let document = Document::read(&text).map_err(|error| file.unusable(&error.0))?;
    Ok(document.value(&[]).unwrap_or_default())
}
