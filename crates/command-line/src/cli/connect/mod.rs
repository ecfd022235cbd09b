//! `plenary connect`: make a coding agent an agent of the network, through its settings.
//! Must not know: how settings are written; the form of any one of them.

mod agent_choice;
mod approval;
mod change;
mod codex_trust;
mod coding_agents;
mod disconnect;
mod edits;
mod entries;
mod ignored;
pub(crate) mod launch;
mod linked_home;
mod own_program;
mod plan;
pub(crate) mod serve;
mod tool;
mod tools;

use std::path::{Path, PathBuf};

use clap::Args;
use plenary_client::context::{AboutProject, NewProject};
use plenary_kernel::{AgentHandle, DOCTOR_NAME, OwnerName};
use serde_json::{Value, json};

use super::{
    agentic,
    context::Context,
    failure::Failure,
    identity::{ClientEntry, Clients, RememberedIdentities, Source, main_tree, nearest, project_root},
    server_address::{ServerAddress, UrlSource},
    settings::File,
};
use crate::{duration::parse_seconds, listen_address::Listen, out::clean};
use agent_choice::ChosenAgent;
pub(crate) use agent_choice::{default_owner, ensure_token, first_use, has_valid_token};
pub(crate) use coding_agents::{CodingAgent, Scope, SettingsRoots};
pub(crate) use disconnect::{Disconnect, disconnect};
use edits::{add_entries, apply};
pub(crate) use entries::{ProgramEntries, read_entries};
pub(crate) use plan::SERVER;
use plan::{PlannedFile, ProgramCommand, plan};
pub(crate) use tool::{Off, Reach};
pub(crate) use tools::NO;

/// The longest wait of a permission request for a person, in seconds.
const APPROVALS_MAX: u64 = 600;

fn approvals(text: &str) -> Result<u64, String> {
    let seconds = parse_seconds(text)?;
    if seconds > APPROVALS_MAX { Err("must be at most 10m".to_owned()) } else { Ok(seconds) }
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary connect claude --owner nick --serve")]
pub(crate) struct Connect {
    /// The coding agent
    #[arg(value_name = "CODING AGENT")]
    coding: CodingAgent,
    /// Owner of the new agent [default: the owner used in this directory, else your login name]
    #[arg(long, value_name = "OWNER")]
    owner: Option<OwnerName>,
    /// Also bind this directory to a project, and create the project if it does not exist
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Change your user settings, which apply to every directory
    #[arg(long, conflicts_with = "project_scope")]
    user: bool,
    /// Change the settings of this directory (default)
    #[arg(long)]
    project_scope: bool,
    /// Start a server on this machine if none answers; it keeps running
    #[arg(long)]
    serve: bool,
    /// Address on which the started server listens; needed if other machines must reach it
    #[arg(long, value_name = "ADDR", requires = "serve")]
    listen: Option<Listen>,
    /// Configure MCP over HTTP, with the token in PLENARY_TOKEN, instead of the program `plenary mcp`
    #[arg(long)]
    http: bool,
    /// Wake an idle session when news arrives, at most five times in a row (Claude Code, Codex, OpenCode, Kilo, Pi)
    #[arg(long, conflicts_with = "identity_only")]
    wake: bool,
    /// Send permission requests to your inbox for this time, at most 10m, before the coding agent asks in its window (Claude
    /// Code and Codex), and what MCP servers ask you for (Claude Code) [default: 60s if no time is given]
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "60", conflicts_with = "identity_only",
        value_parser = approvals)]
    approvals: Option<u64>,
    /// Do not allow Plenary's tools in advance; the coding agent asks before it calls one
    #[arg(long, conflicts_with = "identity_only")]
    ask: bool,
    /// Only record the agent of this directory, without changing settings; for the plugin, which has its own settings
    #[arg(long, conflicts_with_all = ["user", "http"])]
    identity_only: bool,
    /// Show the changes without writing them
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn connect(context: &Context, args: Connect) -> Result<(), Failure> {
    let directory = working_directory(context)?;
    let scope = if args.user { Scope::User } else { Scope::Project };
    let _turn = turn(context, args.dry_run).await?;
    let known = known(context, args.coding, scope, &directory)?;
    check_supported(&args, &directory)?;
    ensure_address(context, &args).await?;
    let approvals = args.approvals.or_else(|| known.as_ref()?.approvals);
    let wake = args.wake || known.as_ref().is_some_and(|known| known.wake);
    let ask = args.ask || known.as_ref().is_some_and(|known| known.ask);
    let (old, old_lines) =
        known.as_ref().map(|k| (k.created.clone(), k.excluded.clone())).unwrap_or_default();
    let agent_directory = agent_directory(scope, &directory);
    let before = before(context, args.coding, scope, &directory, known.as_ref())?;
    let edited = |agent: &ChosenAgent| {
        if args.identity_only {
            return Ok::<_, Failure>((Vec::new(), (Vec::new(), old.clone())));
        }
        let mut invocation = program_command(context, &agent.handle.to_string(), args.http)?;
        (invocation.wake, invocation.ask, invocation.approvals) = (wake, ask, approvals);
        let planned = planned(context, args.coding, scope, &directory, &invocation)?;
        if scope == Scope::Project {
            planned.iter().try_for_each(|file| stays_within(&directory, &file.path))?;
        }
        let edits = add_entries(args.coding, base(scope, &directory), &planned, &old)?;
        Ok((planned, edits))
    };
    // Settings that cannot be changed are detected before an agent is created for them.
    if scope == Scope::Project && !args.dry_run {
        super::identity::check_place(&directory)?;
    }
    let likely = likely(context, &args, &agent_directory, before.as_ref())?;
    let preview = edited(&likely)?;
    let (agent, (planned, (edits, created))) = if args.dry_run {
        (likely, preview)
    } else {
        serve::ensure_server(context, args.serve, args.listen).await?;
        check_network(context, args.coding, known.as_ref()).await?;
        let agent =
            agent_choice::agent(context, args.coding, &agent_directory, args.owner.as_ref(), before.as_ref())
                .await?;
        let edits = edited(&agent)?;
        (agent, edits)
    };
    if !args.dry_run {
        let server = context.client()?.health().await?.value.server_id;
        let entry = ClientEntry::of(agent.handle.clone(), server);
        // Record the change before writing foreign settings: an unrecorded change could not be removed again.
        let (scope_name, plugin) = (scope.as_str().to_owned(), args.identity_only && created.is_empty());
        let excluded = match scope {
            Scope::Project => ignored::exclude(&context.environment, &directory, &created, &old_lines)?,
            Scope::User => Vec::new(),
        };
        let trusted = known.as_ref().map(|known| known.trusted.clone()).unwrap_or_default();
        let options = ClientEntry { scope: scope_name, wake, ask, approvals, ..entry.clone() };
        let connected = ClientEntry { plugin, created, excluded, trusted, ..options };
        let remembered = if scope == Scope::Project { connected.clone() } else { entry };
        let identities = RememberedIdentities::of(&context.environment)?;
        identities.put(&agent_directory, args.coding.as_str(), with_server(context, remembered)?)?;
        note_connected(context, args.coding, scope, &directory, &connected)?;
        if let Some(project) = &args.project {
            bind(context, &agent, project, &directory).await?;
        }
    }
    let changed = apply(context, &edits, args.dry_run)?;
    let is_trusted =
        !args.dry_run && !ask && trust(context, args.coding, scope, &directory, &planned).await?;
    report(context, &args, &agent, &changed, (ask, is_trusted)).await
}

/// A named data directory has no address before its server runs: the server is started now; a dry run does without an address.
async fn ensure_address(context: &Context, args: &Connect) -> Result<(), Failure> {
    match context.server_address() {
        Err(Failure::Unreachable { .. }) if args.serve && args.dry_run => {
            context.use_server(ServerAddress::nowhere()?.url);
            Ok(())
        }
        Err(Failure::Unreachable { .. }) if args.serve => {
            serve::ensure_server(context, true, args.listen).await
        }
        _ => Ok(()),
    }
}

/// The lock that `connect` and `disconnect` hold, so that parallel ones do not overwrite each other's records, start two servers
/// or create two agents. A dry run changes nothing, and needs none.
async fn turn(context: &Context, dry_run: bool) -> Result<Option<std::fs::File>, Failure> {
    if dry_run {
        return Ok(None);
    }
    RememberedIdentities::of(&context.environment)?.lock_connection().await.map(Some)
}

/// Refuses to move a connected coding agent to another network, unless this command or its environment names the server: a
/// terminal without the variables of the first `connect` would do so by accident.
async fn check_network(
    context: &Context,
    coding: CodingAgent,
    known: Option<&ClientEntry>,
) -> Result<(), Failure> {
    let address = context.server_address()?;
    let is_named = matches!(address.source, UrlSource::Flag | UrlSource::Environment)
        || context.environment.var("PLENARY_DATA").is_some();
    let Some(known) = known.filter(|_| !is_named) else { return Ok(()) };
    if !is_elsewhere(context, known).await? {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "{} is connected here as {}, on another server than {}",
            coding.title(),
            known.agent,
            address.url
        ),
        format!(
            "name its server with --url; to connect it to this one, run `plenary disconnect {}` first",
            coding.as_str()
        ),
    ))
}

/// Whether an agent belongs to another server than the one that answers. A new server without data has no id.
async fn is_elsewhere(context: &Context, known: &ClientEntry) -> Result<bool, Failure> {
    let server = context.client()?.health().await?.value.server_id;
    Ok(known.server.is_some() && server != known.server)
}

/// The entry with the server's URL and certificate authority, if the server is given by its URL: so commands in other terminals
/// reach the same server.
fn with_server(context: &Context, entry: ClientEntry) -> Result<ClientEntry, Failure> {
    let address = context.server_address()?;
    if !address.source.is_given() {
        return Ok(entry);
    }
    let cacert = context.absolute_cacert(&address.url);
    Ok(ClientEntry { url: Some(address.url.to_string()), cacert, ..entry })
}

/// Refuses what the coding agent cannot honour: options, and a directory that its JSON cannot name.
fn check_supported(args: &Connect, directory: &Path) -> Result<(), Failure> {
    if directory.to_str().is_none() {
        return Err(Failure::usage(
            format!(
                "{} is not UTF-8, and a coding agent cannot name it to a hook",
                clean(&directory.display().to_string())
            ),
            "rename the directory",
        ));
    }
    if args.wake && !args.coding.reach().wakes {
        return Err(Failure::usage(
            format!("{} cannot be woken while it is idle", args.coding.title()),
            "leave out --wake; news arrives with its next event",
        ));
    }
    if args.approvals.is_some() && args.coding.tool().asks_person.is_empty() {
        return Err(Failure::usage(
            format!("{} does not call a hook before it asks for a permission", args.coding.title()),
            "leave out --approvals; it asks in its own window",
        ));
    }
    Ok(())
}

/// Makes Codex trust the written hooks, so that the user need not do it with `/hooks`, or Qwen Code approve the server;
/// returns whether it does now.
async fn trust(
    context: &Context,
    coding: CodingAgent,
    scope: Scope,
    directory: &Path,
    planned: &[PlannedFile],
) -> Result<bool, Failure> {
    let program = coding.tool().program;
    if !launch::is_on_path(context, program) {
        return Ok(false);
    }
    if coding == CodingAgent::Qwen {
        return Ok(scope == Scope::User || approval::approve(program, directory).await);
    }
    let roots = SettingsRoots { directory, environment: &context.environment };
    let file = coding.hooks_file(scope, &roots).filter(|_| coding == CodingAgent::Codex);
    let Some(file) = file else { return Ok(false) };
    let text = File::at(&file).read()?.unwrap_or_default();
    let written: Value = serde_json::from_str(&text).unwrap_or_default();
    let flags = launch::hook_flags(planned)?;
    let elsewhere = launch::state(context)?;
    match codex_trust::trust(program, &flags, (&file, &written["hooks"]), &elsewhere).await {
        Some(trusted) if !trusted.is_empty() => {
            let name = coding.as_str();
            let of_scope = match scope {
                Scope::Project => Clients::load(&context.environment, directory)?,
                Scope::User => Clients::of_user(&context.environment)?,
            };
            if let Some(connected) = of_scope.0.get(name).filter(|connected| connected.trusted != trusted) {
                let connected = ClientEntry { trusted, ..connected.clone() };
                note_connected(context, coding, scope, directory, &connected)?;
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The record of earlier changes, here or for the user. Both at once would run each hook twice.
fn known(
    context: &Context,
    coding: CodingAgent,
    scope: Scope,
    directory: &Path,
) -> Result<Option<ClientEntry>, Failure> {
    let name = coding.as_str();
    let of_directory = match Clients::load(&context.environment, directory)?.0.remove(name) {
        Some(known) => Some(known),
        None => RememberedIdentities::of(&context.environment)?.written(directory, name)?,
    };
    let of_user = Clients::of_user(&context.environment)?.0.remove(name);
    let other = of_directory.iter().chain(&of_user).find(|known| known.scope != scope.as_str());
    if let Some(other) = other {
        return Err(Failure::usage(
            format!("{} is already connected here, in the settings of the {}", coding.title(), other.scope),
            format!("disconnect it first: `plenary disconnect {name}`"),
        ));
    }
    Ok(of_directory.or(of_user))
}

/// The previous agent: from the connection, an earlier connection or start, or the main tree of a worktree.
fn before(
    context: &Context,
    coding: CodingAgent,
    scope: Scope,
    directory: &Path,
    known: Option<&ClientEntry>,
) -> Result<Option<ClientEntry>, Failure> {
    if let Some(known) = known.filter(|_| scope == Scope::Project) {
        return Ok(Some(known.clone()));
    }
    let name = coding.as_str();
    let remembered =
        RememberedIdentities::of(&context.environment)?.known(&agent_directory(scope, directory), name)?;
    match main_tree(directory).filter(|_| remembered.is_none()) {
        Some(main) => Ok(nearest(&context.environment, &main, name)?.map(|(connected, _)| connected)),
        None => Ok(remembered),
    }
}

/// The directory that the agent belongs to.
fn agent_directory(scope: Scope, directory: &Path) -> PathBuf {
    if scope == Scope::User { project_root(directory) } else { directory.to_owned() }
}

/// The base of relative file names. For the user's scope it is the same in every directory.
fn base(scope: Scope, directory: &Path) -> &Path {
    if scope == Scope::User { Path::new("") } else { directory }
}

fn note_connected(
    context: &Context,
    coding: CodingAgent,
    scope: Scope,
    directory: &Path,
    connected: &ClientEntry,
) -> Result<(), Failure> {
    let (environment, name) = (&context.environment, coding.as_str().to_owned());
    match scope {
        Scope::Project => {
            let mut clients = Clients::load(environment, directory)?;
            let known = clients.0.insert(name, connected.clone());
            if known.as_ref() == Some(connected) { Ok(()) } else { clients.save(environment, directory) }
        }
        Scope::User => {
            let mut clients = Clients::of_user(environment)?;
            let known = clients.0.insert(name, connected.clone());
            if known.as_ref() == Some(connected) { Ok(()) } else { clients.save_of_user(environment) }
        }
    }
}

/// The agent that a connection would use, as far as this is known without the server.
fn likely(
    context: &Context,
    args: &Connect,
    directory: &Path,
    before: Option<&ClientEntry>,
) -> Result<ChosenAgent, Failure> {
    let identity = context.identity()?.filter(|identity| identity.source == Source::Flag);
    let is_of =
        |entry: &&ClientEntry| args.owner.as_ref().is_none_or(|owner| *owner == entry.agent.owner_name());
    let before = before.filter(is_of);
    match identity.map(|identity| identity.handle).or_else(|| Some(before?.agent.clone())) {
        Some(handle) => Ok(ChosenAgent { handle, is_new: false }),
        None => {
            let handle = agent_choice::proposed(context, args.coding, directory, args.owner.as_ref(), 1)?;
            Ok(ChosenAgent { handle, is_new: true })
        }
    }
}

/// The same command by every known path of this program, also by the one that settings name.
fn program_commands(
    context: &Context,
    agent: &str,
    named: Option<&str>,
) -> Result<Vec<ProgramCommand>, Failure> {
    let command = program_command(context, agent, false)?;
    let named = named.filter(|named| own_program::is_this(Path::new(named))).map(str::to_owned);
    let paths = own_program::own_paths(context)?.into_iter().chain(named);
    Ok(paths.map(|program| ProgramCommand { program, ..command.clone() }).collect())
}

fn working_directory(context: &Context) -> Result<PathBuf, Failure> {
    context.environment.directory().cloned().ok_or_else(|| Failure::local("the working directory is gone"))
}

/// The arguments and variables with which a program started elsewhere finds the same server and agent as this command.
pub(super) fn program_command(context: &Context, agent: &str, http: bool) -> Result<ProgramCommand, Failure> {
    let program = own_program::own_paths(context)?.swap_remove(0);
    let address = context.server_address()?;
    let mut arguments = Vec::new();
    if address.source.is_given() {
        arguments.extend(["--url".to_owned(), address.url.to_string()]);
    }
    let cacert = context.absolute_cacert(&address.url).map(|file| file.to_string_lossy().into_owned());
    let inherited = [("PLENARY_DATA", context.environment.var("PLENARY_DATA")), ("PLENARY_CACERT", cacert)];
    let variables = inherited.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Ok(ProgramCommand {
        program,
        variables: variables.collect(),
        arguments,
        agent: agent.to_owned(),
        wake: false,
        ask: false,
        approvals: None,
        http: http.then(|| format!("{}/mcp", address.url)),
    })
}

fn planned(
    context: &Context,
    coding: CodingAgent,
    scope: Scope,
    directory: &Path,
    invocation: &ProgramCommand,
) -> Result<Vec<PlannedFile>, Failure> {
    let roots = SettingsRoots { directory, environment: &context.environment };
    plan(coding, scope, &roots, invocation)
        .ok_or_else(|| Failure::local_with("there is no home directory for your settings", "set HOME"))
}

/// Rejects a directory's settings that are a link to the user's: the link may have come with the directory.
fn stays_within(directory: &Path, path: &Path) -> Result<(), Failure> {
    let real = |path: &Path| path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    let is_dangling = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) && !path.exists();
    if !is_dangling
        && real(path).zip(real(directory)).is_some_and(|(path, directory)| path.starts_with(directory))
    {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{} is a symbolic link that leads out of this directory", path.display()),
        "remove it, or change your user settings with --user",
    ))
}

async fn bind(
    context: &Context,
    agent: &ChosenAgent,
    project: &str,
    directory: &Path,
) -> Result<(), Failure> {
    let missing = || Failure::local(format!("no token of {} is saved here", agent.handle));
    let client = context.saved_client(&agent.handle)?.ok_or_else(missing)?;
    let about = AboutProject { name: None, description: None, settings: None };
    let project = NewProject { project_id: project.to_owned(), owner_id: None, about };
    let before = agentic::bound(&context.environment, directory)?.filter(|id| *id != project.project_id);
    agentic::bind(&client, &context.environment, directory, project).await?;
    if let Some(before) = before {
        context.out.note(&format!("the directory was bound to the project {} until now", clean(&before)));
    }
    Ok(())
}

async fn report(
    context: &Context,
    args: &Connect,
    agent: &ChosenAgent,
    changed: &[Value],
    (ask, is_trusted): (bool, bool),
) -> Result<(), Failure> {
    if context.out.is_json() {
        let answer = json!({"client": args.coding.as_str(), "agent": agent.handle, "agent_created": agent.is_new,
            "dry_run": args.dry_run, "files": changed});
        return Ok(context.out.line(&answer.to_string())?);
    }
    let title = args.coding.title();
    if args.dry_run {
        context.out.note(&format!("nothing was changed; {title} would be the agent {} here", agent.handle));
        return Ok(());
    }
    let is_same = !agent.is_new && changed.iter().all(|file| file["state"] == "unchanged");
    let state = if is_same { "is already connected as" } else { "is connected here as" };
    context.out.line(&format!("{title} {state} {}", agent.handle))?;
    if !ask && !args.identity_only && args.coding.reach().unasked {
        context.out.note(&format!(
            "it calls the {} tools of `plenary` without asking you; connect with --ask to be asked",
            plenary_mcp::tools::CORE.len()
        ));
    }
    context.out.note(args.coding.tool().next);
    if args.coding == CodingAgent::Codex && !args.identity_only {
        context.out.note(if is_trusted {
            "it trusts the hooks written now; connect with --ask to be asked"
        } else if ask {
            "with --ask, trust its hooks once with `/hooks`; until then it runs none of them"
        } else {
            "Codex is not installed here or did not answer, so it does not trust these hooks yet: trust them once with `/hooks`; \
             until then it runs none of them"
        });
    }
    if args.coding == CodingAgent::Qwen && !is_trusted && !args.user && !args.identity_only {
        context
            .out
            .note("approve the server once with `qwen mcp approve plenary`; until then it does not start it");
    }
    note_next(context, args.coding, &agent.handle).await;
    Ok(())
}

/// Says how to check the connection, and how the agent gets to talk. Without an answer of the server, only the former.
async fn note_next(context: &Context, coding: CodingAgent, agent: &AgentHandle) {
    context.out.note(&format!("check the connection with `plenary doctor --client {}`", coding.as_str()));
    let Ok(Some(client)) = context.saved_client(agent) else { return };
    let Ok(page) = client.who(None, Some(agent.owner_name().as_str()), None, None).await else { return };
    let others = page.value.agents.iter().filter(|other| {
        other.kind == "agent" && other.handle != *agent && other.handle.name() != DOCTOR_NAME
    });
    context.out.note(&match others.map(|other| &other.handle).next() {
        Some(other) => format!(
            "then say to it, for example: ask {other} what it works on; `plenary who` lists the agents that it can write to"
        ),
        None => "no other agent of yours is here yet: connect one in its own directory, and each can write to the other"
            .to_owned(),
    });
}
