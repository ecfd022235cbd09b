//! `plenary claude` and the others: start the coding agent connected, by flags and environment, without changing a
//! file of the directory. If `connect` has written settings, those are used.
//! Must not know: the content of the settings; the plan has it.

use std::{
    ffi::OsString,
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command as Process,
};

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use plenary_kernel::AgentHandle;
use plenary_mcp::tools::CORE;
use serde_json::{Map, Value, json};

use super::{
    SERVER, agent_choice, codex_trust,
    coding_agents::{CodingAgent, Scope, SettingsRoots},
    linked_home,
    plan::{Entry, Form, PlannedFile, ProgramCommand, server_line},
    planned, program_command, serve,
    tool::Start as How,
    working_directory,
};
use crate::{
    cli::{
        context::Context,
        failure::Failure,
        hook::WAKE_VAR,
        identity::{CLIENT_VAR, ClientEntry, RememberedIdentities, nearest},
        settings::{Document, File},
    },
    paths,
};

/// Shown under `plenary help claude`.
const HELP: &str = "\
Each directory has its own agent, which stays the same. All arguments after the first word that is not an option of `plenary`, \
or after `--`, are passed on unchanged.
  plenary claude
  plenary --as @nick.reviewer claude -p \"Review the last commit\"
  plenary codex exec \"Fix the tests\"";

/// The arguments for the coding agent.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_help = HELP)]
pub(crate) struct Launch {
    /// Arguments for the coding agent, passed unchanged
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

/// A command named after a coding agent.
#[derive(Debug)]
pub(crate) struct NamedLaunch {
    pub(crate) coding: CodingAgent,
    pub(crate) launch: Launch,
}

impl FromArgMatches for NamedLaunch {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let coding = CodingAgent::named(name).ok_or_else(missing)?;
        Ok(Self { coding, launch: Launch::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for NamedLaunch {
    fn augment_subcommands(command: Command) -> Command {
        let start = CodingAgent::ALL.into_iter().filter(|coding| *coding != CodingAgent::Vscode);
        command.subcommands(start.map(|coding| {
            let state = if coding.tool().start == How::Connected {
                "as it was connected here"
            } else {
                "connected; changes no file here"
            };
            let about = format!("Start {} {state}", coding.title());
            Launch::augment_args(Command::new(coding.as_str())).about(about)
        }))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        CodingAgent::named(name).is_some_and(|coding| coding != CodingAgent::Vscode)
    }
}

/// How the coding agent is started.
#[derive(Debug, Default, PartialEq, Eq)]
struct Start {
    /// The subcommand before the arguments, if the user gives none.
    command: Option<&'static str>,
    args: Vec<OsString>,
    variables: Vec<(String, String)>,
}

/// Prepares the process of the coding agent.
pub(crate) async fn prepare(
    context: &Context,
    coding: CodingAgent,
    mut launch: Launch,
) -> Result<Process, Failure> {
    let program = coding.tool().program;
    if !is_on_path(context, program) {
        return Err(absent(coding, "it is not on PATH"));
    }
    let mut process = Process::new(program);
    if matches!(launch.args.as_slice(), [only] if only == "--help" || only == "-h" || only == "--version") {
        process.args(launch.args);
        return Ok(process);
    }
    let directory = working_directory(context)?;
    let identity = context.identity_of(coding.as_str(), &directory)?;
    let (handle, start) = match connected(context, coding, &directory).await? {
        Some(connected) => {
            if let Some(identity) = identity.filter(|identity| identity.handle != connected) {
                return Err(Failure::usage(
                    format!(
                        "{} is {connected} in this directory, and not {}",
                        coding.title(),
                        identity.handle
                    ),
                    format!(
                        "start it in another directory, or run `plenary disconnect {}` first",
                        coding.as_str()
                    ),
                ));
            }
            // The settings exist; if they were written twice, the hooks would run twice.
            (connected, Start::default())
        }
        None if coding.tool().start == How::Connected => {
            return Err(Failure::usage(
                format!("{} accepts no settings by a flag or a variable", coding.title()),
                format!("connect it in this directory first: `plenary connect {}`", coding.as_str()),
            ));
        }
        None => {
            serve::ensure_server(context, false, None).await?;
            let handle = agent(context, coding, &directory).await?;
            let mut invocation = program_command(context, handle.as_str(), false)?;
            // With waking on and no person present, it would wait for half a minute at its end.
            let is_print = launch.args.iter().any(|arg| arg == "-p" || arg == "--print" || arg == "exec");
            invocation.wake = coding.reach().wakes && !is_print;
            let planned = planned(context, coding, Scope::Project, &directory, &invocation)?;
            let mut start = start(context, coding, &invocation, &planned, &mut launch.args)?;
            if coding.tool().start == How::TomlFlags
                && let Some(state) = codex_trust::state(program, &start.args, &directory).await
            {
                start.args.extend(toml_flag("hooks.state", &state)?);
            }
            if invocation.wake && coding == CodingAgent::Codex {
                start.variables.push((WAKE_VAR.to_owned(), "yes".to_owned()));
            }
            (handle, start)
        }
    };
    context.out.note(&format!("{} is {handle} here", coding.title()));
    let mut arguments = launch.args.into_iter();
    if let Some(command) = start.command {
        process.arg(arguments.next().unwrap_or_else(|| command.into()));
    }
    process.args(start.args).args(arguments).envs(start.variables);
    process.env("PLENARY_AS", handle.as_str()).env(CLIENT_VAR, coding.as_str());
    name_server(context, &mut process);
    Ok(process)
}

/// Passes the address of the server on, so that the commands in the coding agent's shell use it.
fn name_server(context: &Context, process: &mut Process) {
    if let Ok(server) = context.server() {
        process.env("PLENARY_URL", server.to_string());
        process.envs(context.absolute_cacert(&server).map(|file| ("PLENARY_CACERT", file)));
    }
}

/// Replaces this process; returns only on failure.
pub(crate) fn exec(coding: CodingAgent, mut process: Process) -> Failure {
    let error = process.exec();
    absent(coding, &error.to_string())
}

fn absent(coding: CodingAgent, why: &str) -> Failure {
    Failure::local_with(
        format!("`{}` cannot be started: {why}", coding.tool().program),
        format!("install {}, or put it on PATH", coding.title()),
    )
}

pub(super) fn is_on_path(context: &Context, program: &str) -> bool {
    let path = context.environment.var("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// The agent of existing settings: in this directory, in a parent whose settings also apply, or the user's.
async fn connected(
    context: &Context,
    coding: CodingAgent,
    directory: &Path,
) -> Result<Option<AgentHandle>, Failure> {
    let reads_above = matches!(coding, CodingAgent::Codex | CodingAgent::Opencode | CodingAgent::Kilo);
    let record = nearest(&context.environment, directory, coding.as_str())?;
    let applies = |connected_directory: &Path| {
        connected_directory == directory || (reads_above && directory.starts_with(connected_directory))
    };
    match record.filter(|(_, connected_directory)| applies(connected_directory)) {
        Some((connected, _)) => Ok(Some(connected.agent)),
        None => agent_choice::first_use(context, coding, directory).await,
    }
}

/// The agent of the directory, created if missing, and remembered. Below a connected directory, and in a worktree
/// of one, it is the agent of that directory.
async fn agent(context: &Context, coding: CodingAgent, directory: &Path) -> Result<AgentHandle, Failure> {
    let name = coding.as_str();
    let remembered = RememberedIdentities::of(&context.environment)?;
    let above = nearest(&context.environment, directory, name)?.map(|(connected, _)| connected);
    let is_own = above.is_none() && !context.speaks_as_agent();
    let known = match above {
        Some(above) => Some(above),
        None => remembered.known(directory, name)?,
    };
    let chosen = agent_choice::agent(context, coding, directory, None, known.as_ref()).await?;
    if is_own {
        let server = context.client()?.health().await?.value.server_id;
        remembered.put(directory, name, ClientEntry::of(chosen.handle.clone(), server))?;
    }
    Ok(chosen.handle)
}

/// The directory for this program's own files.
pub(super) fn state(context: &Context) -> Result<PathBuf, Failure> {
    let directory = paths::state_dir(&|name| context.environment.var(name));
    let directory = directory.ok_or_else(|| {
        Failure::local_with("there is no place for its settings: no home directory", "set HOME")
    })?;
    fs::create_dir_all(&directory)
        .map_err(|error| Failure::local(format!("{} cannot be made: {error}", directory.display())))?;
    Ok(directory)
}

fn start(
    context: &Context,
    coding: CodingAgent,
    invocation: &ProgramCommand,
    planned: &[PlannedFile],
    given: &mut Vec<OsString>,
) -> Result<Start, Failure> {
    let handle = invocation.agent.as_str();
    let mut start = Start::default();
    let tool = coding.tool();
    match tool.start {
        How::Connected => {}
        How::ClaudeFlags => start.args.extend(claude_flags(planned, given)?),
        How::TomlFlags => {
            for file in planned {
                match &file.form {
                    Form::Toml(block) => start.args.extend(toml_server(block)?),
                    Form::Json(_) | Form::Own(_) => {}
                }
            }
            start.args.extend(hook_flags(planned)?);
        }
        How::Defaults { variable, system } => {
            let path = own_file(context, coding, handle, "json")?;
            // A value set by an administrator stays.
            let set = context.environment.var(variable).filter(|set| Path::new(set) != path);
            let set = set.unwrap_or_else(|| system.to_owned());
            let mut settings = as_written(&set, &File::at(&set).read()?.unwrap_or_default())?;
            for file in planned {
                put(&mut settings, &file.form);
            }
            File::at(&path).replace(&settings.to_string())?;
            start.variables.push((variable.to_owned(), path.to_string_lossy().into_owned()));
        }
        How::LinkedHome { variable } => {
            let home = linked_home(context, coding, (variable, handle), planned)?;
            start.variables.push((variable.to_owned(), home.to_string_lossy().into_owned()));
        }
        How::Content { variable } => {
            let settings = content(context, coding, (variable, handle), planned)?;
            start.variables.push((variable.to_owned(), settings.to_string()));
        }
        How::ServersFlag(flag) => {
            let settings = json_of(planned);
            let list = tool.servers.iter().flat_map(|servers| servers.list);
            let servers = list.fold(&settings, |value, name| &value[*name]);
            // Amp takes the servers themselves; the others take an object that contains them.
            let servers =
                if coding == CodingAgent::Amp { servers.clone() } else { json!({"mcpServers": servers}) };
            start.args.extend([flag.into(), servers.to_string().into()]);
            if coding == CodingAgent::Copilot && !invocation.ask {
                let allows =
                    |tool: &&str| [OsString::from("--allow-tool"), format!("{SERVER}({tool})").into()];
                start.args.extend(CORE.iter().flat_map(allows));
            }
        }
        How::CommandFlag { flag, command } => {
            start.command = Some(command);
            start.args.extend([flag.into(), server_line(coding, invocation).into()]);
        }
    }
    Ok(start)
}

/// An object of settings as a person writes it, with comments; `place` names it. What cannot be read must not be replaced.
fn as_written(place: &str, text: &str) -> Result<Value, Failure> {
    let settings = Document::read(text).map(|document| document.value(&[]).unwrap_or_default());
    let why = match settings {
        Ok(settings) if settings.is_object() => return Ok(settings),
        Ok(_) => "it is not an object".to_owned(),
        Err(error) => error.0,
    };
    Err(Failure::local_with(format!("the settings in {place} cannot be read: {why}"), "correct them"))
}

/// The settings as one text, merged with those in the variable, and with our module at its new path.
fn content(
    context: &Context,
    coding: CodingAgent,
    (variable, handle): (&str, &str),
    planned: &[PlannedFile],
) -> Result<Value, Failure> {
    let mut settings = as_written(variable, &context.environment.var(variable).unwrap_or_default())?;
    for file in planned {
        match &file.form {
            // The module has another path.
            Form::Json(entries) => {
                for entry in entries.iter().filter(|entry| matches!(entry, Entry::Member(..))) {
                    put_entry(&mut settings, entry);
                }
            }
            Form::Own(module) => {
                let path = own_file(context, coding, handle, "js")?;
                File::at(&path).replace(module)?;
                let name = json!(format!("file://{}", path.display()));
                put_entry(&mut settings, &Entry::Element(vec!["plugin"], name));
            }
            Form::Toml(_) => {}
        }
    }
    Ok(settings)
}

/// A file of this program that replaces a settings file.
fn own_file(context: &Context, coding: CodingAgent, handle: &str, kind: &str) -> Result<PathBuf, Failure> {
    let name = format!("{}-{}.{kind}", coding.as_str(), handle.trim_start_matches('@'));
    Ok(state(context)?.join(name))
}

/// A home directory for the coding agent with the planned files, beside links to the user's own home.
fn linked_home(
    context: &Context,
    coding: CodingAgent,
    (variable, handle): (&str, &str),
    planned: &[PlannedFile],
) -> Result<PathBuf, Failure> {
    let own = own_file(context, coding, handle, "home")?;
    // The variable is set already if a session of this kind started this one.
    let is_ours = |named: &PathBuf| own.parent().is_some_and(|state| named.starts_with(state));
    let named = context.environment.var(variable).map(PathBuf::from);
    let users = named.filter(|named| named.is_absolute() && !is_ours(named));
    let users = users
        .or_else(|| SettingsRoots { directory: &own, environment: &context.environment }.home())
        .ok_or_else(|| Failure::local_with("there is no home directory for its settings", "set HOME"))?;
    linked_home::set_up_home(&own, &users, &json_of(planned)).map_err(|error| {
        Failure::local_with(
            format!("{} cannot get a home of links in {}: {error}", coding.title(), own.display()),
            format!("check that you may write there, or run `plenary connect {}` instead", coding.as_str()),
        )
    })?;
    Ok(own)
}

/// All planned files merged into one JSON object.
/// The settings as flags. Claude Code reads one `--settings`, so that the given ones get ours.
fn claude_flags(planned: &[PlannedFile], given: &mut Vec<OsString>) -> Result<[OsString; 4], Failure> {
    let mut settings = given_settings(given)?;
    planned.iter().for_each(|file| put(&mut settings, &file.form));
    let servers = settings.as_object_mut().and_then(|all| all.remove("mcpServers"));
    let servers = json!({ "mcpServers": servers }).to_string();
    Ok(["--mcp-config".into(), servers.into(), "--settings".into(), settings.to_string().into()])
}

/// Takes `--settings` out of the arguments; an object without members if there is none.
fn given_settings(args: &mut Vec<OsString>) -> Result<Value, Failure> {
    const FLAG: &str = "--settings";
    let mut settings = json!({});
    let is_flag = |arg: &OsString| {
        let text = arg.to_string_lossy();
        text == FLAG || text.strip_prefix(FLAG).is_some_and(|rest| rest.starts_with('='))
    };
    loop {
        let options = args.iter().take_while(|arg| *arg != "--").count();
        let Some(at) = args[..options].iter().position(is_flag) else { return Ok(settings) };
        let arg = args.remove(at).to_string_lossy().into_owned();
        let value = match arg.split_once('=') {
            Some((_, value)) => value.to_owned(),
            None if at < options - 1 => args.remove(at).to_string_lossy().into_owned(),
            None => return Err(Failure::usage("`--settings` has no value", "name a file or give JSON")),
        };
        let text = if value.trim_start().starts_with('{') {
            value
        } else {
            fs::read_to_string(&value).map_err(|error| {
                Failure::usage(format!("{value} cannot be read: {error}"), "name another file")
            })?
        };
        settings = serde_json::from_str(&text)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| Failure::usage("`--settings` is not a JSON object", "correct the settings"))?;
    }
}

fn json_of(planned: &[PlannedFile]) -> Value {
    let mut all = json!({});
    planned.iter().for_each(|file| put(&mut all, &file.form));
    all
}

fn put(all: &mut Value, form: &Form) {
    let Form::Json(entries) = form else { return };
    entries.iter().for_each(|entry| put_entry(all, entry));
}

fn put_entry(all: &mut Value, entry: &Entry) {
    let (path, value) = match entry {
        Entry::Member(path, value) | Entry::Element(path, value) => (path, value),
    };
    let mut target = &mut *all;
    for name in path {
        if !target.is_object() {
            *target = Value::Object(Map::new());
        }
        target = &mut target[*name];
    }
    match entry {
        Entry::Member(..) => *target = value.clone(),
        Entry::Element(..) => match target.as_array_mut() {
            Some(list) => list.push(value.clone()),
            None => *target = json!([value]),
        },
    }
}

/// The block of Codex's settings as a flag.
fn toml_server(block: &str) -> Result<[OsString; 2], Failure> {
    let table: toml::Table =
        toml::from_str(block).map_err(|error| Failure::local(format!("its settings: {error}")))?;
    let server = table.get("mcp_servers").and_then(|servers| servers.get(SERVER)).cloned();
    let server = server.unwrap_or_else(|| toml::Value::Table(toml::Table::new()));
    Ok(["-c".into(), format!("mcp_servers.{SERVER}={server}").into()])
}

/// The hooks of Codex as flags.
pub(super) fn hook_flags(planned: &[PlannedFile]) -> Result<Vec<OsString>, Failure> {
    let settings = json_of(planned);
    let mut flags = Vec::new();
    for (event, hooks) in settings["hooks"].as_object().into_iter().flatten() {
        flags.extend(toml_flag(&format!("hooks.{event}"), hooks)?);
    }
    Ok(flags)
}

fn toml_flag(key: &str, value: &Value) -> Result<[OsString; 2], Failure> {
    let value = toml::Value::try_from(value).map_err(|error| Failure::local(format!("{key}: {error}")))?;
    Ok(["-c".into(), format!("{key}={value}").into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_come_into_one_object() {
        let form = Form::Json(vec![
            Entry::Member(vec!["mcpServers", "plenary"], json!({"command": "p"})),
            Entry::Element(vec!["hooks", "Stop"], json!(1)),
            Entry::Element(vec!["hooks", "Stop"], json!(2)),
        ]);
        let mut all = json!({"hooks": {"Stop": [0]}, "ui": true});
        put(&mut all, &form);
        let expected =
            json!({"hooks": {"Stop": [0, 1, 2]}, "ui": true, "mcpServers": {"plenary": {"command": "p"}}});
        assert_eq!(all, expected);
    }

    #[test]
    fn a_flag_of_codex_is_one_line_of_toml() {
        let hooks = json!([{"hooks": [{"type": "command", "command": "a 'b' \"c\"", "timeout": 10}]}]);
        let [_, flag] = toml_flag("hooks.Stop", &hooks).unwrap();
        let flag = flag.into_string().unwrap();
        assert!(!flag.contains('\n'), "{flag}");
        let read: toml::Table = toml::from_str(&flag).unwrap();
        assert_eq!(read["hooks"]["Stop"][0]["hooks"][0]["command"].as_str(), Some("a 'b' \"c\""));
        let [_, flag] =
            toml_server("[mcp_servers.plenary]\ncommand = \"p\"\n\n[mcp_servers.plenary.tools.send]\nx = 1")
                .unwrap();
        assert!(!flag.to_string_lossy().contains('\n'), "{flag:?}");
    }

    #[test]
    fn settings_with_comments_are_kept_and_others_are_refused() {
        let read = |text: &str| as_written("/etc/defaults.json", text).ok();
        let comments = "{ // off\n \"telemetry\": {\"enabled\": false, /* … */},\n}";
        assert_eq!(read(comments), Some(json!({"telemetry": {"enabled": false}})));
        assert_eq!(read(""), Some(json!({})), "there are none");
        for wrong in ["{", "[]", "telemetry = false"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn given_settings_are_taken_out_of_the_arguments() {
        let given = |args: &[&str]| {
            let mut args: Vec<OsString> = args.iter().map(OsString::from).collect();
            let settings = given_settings(&mut args).unwrap();
            (settings, args.into_iter().map(|arg| arg.into_string().unwrap()).collect::<Vec<_>>())
        };
        let rest = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
        assert_eq!(given(&["-p", "hi"]), (json!({}), rest(&["-p", "hi"])));
        let both = [r#"--settings={"a":1}"#, "-p", "--settings", r#"{"model":"m"}"#, "hi"];
        assert_eq!(given(&both), (json!({"model": "m"}), rest(&["-p", "hi"])), "the last counts");
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), r#"{"env":{}}"#).unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(given(&["--settings", path]), (json!({"env": {}}), rest(&[])));
        assert_eq!(given(&["--", "--settings"]), (json!({}), rest(&["--", "--settings"])), "a prompt");
        for wrong in
            [&["--settings"][..], &["--settings", "/nowhere/x"], &["--settings=[]"], &["--settings", "--"]]
        {
            assert!(given_settings(&mut wrong.iter().map(OsString::from).collect()).is_err(), "{wrong:?}");
        }
    }
}
