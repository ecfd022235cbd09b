//! `plenary connect` and `disconnect`: a coding agent becomes an agent of the network, and is told so in its settings.
//! Must not know: how settings are written; the form of any one of them.

mod change;
mod coding;
mod edits;
mod naming;
mod plan;
mod serve;
mod written;

use std::path::{Path, PathBuf};

use clap::Args;
use plenary_client::context::{AboutProject, NewProject};
use plenary_kernel::OwnerName;
use plenary_wire::accounts::AGENT_DELETE;
use serde_json::json;

use super::{
    agentic,
    context::Context,
    failure::Failure,
    identity::{Clients, Connected, Holder, Realm, Source},
    whereabouts::UrlSource,
};
use crate::server::Listen;
pub(crate) use coding::CodingAgent;
use coding::{Places, Scope};
use edits::{carry_out, put_in, remove_directories, take_out};
use naming::Named;
pub(crate) use naming::{hold, speaks};
use plan::{Planned, Told, plan};
pub(crate) use written::{Written, written};

/// Which coding agent, and how.
#[derive(Debug, Args)]
pub(crate) struct Connect {
    /// Which one
    #[arg(value_name = "CODING AGENT")]
    coding: CodingAgent,
    /// Whose agent it becomes [default: whose agents speak here, else your login name]
    #[arg(long, value_name = "OWNER")]
    owner: Option<OwnerName>,
    /// Bind this directory to a project too, and make it where it is missing
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Change your own settings, for every directory
    #[arg(long, conflicts_with = "project_scope")]
    user: bool,
    /// Change the settings of this directory; the default
    #[arg(long)]
    project_scope: bool,
    /// Start a server on this machine where none answers; it goes on running
    #[arg(long)]
    serve: bool,
    /// Where the server that is started listens; needed for an address that other machines reach
    #[arg(long, value_name = "ADDR", requires = "serve")]
    listen: Option<Listen>,
    /// Let it speak HTTP to the server itself, with the token it finds in PLENARY_TOKEN
    #[arg(long)]
    http: bool,
    /// Wake a session of Claude Code that waits for its person when something is new, five times in a row at most
    #[arg(long, conflicts_with = "identity_only")]
    wake: bool,
    /// Say only which agent it is here, and change no settings: for the plugin, which brings them
    #[arg(long, conflicts_with_all = ["user", "http"])]
    identity_only: bool,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Which coding agent, and what goes with it.
#[derive(Debug, Args)]
pub(crate) struct Disconnect {
    /// Which one
    #[arg(value_name = "CODING AGENT")]
    coding: CodingAgent,
    /// Remove the agent for good, too; its handle stays taken
    #[arg(long)]
    delete_agent: bool,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn connect(context: &Context, args: Connect) -> Result<(), Failure> {
    let directory = working_directory(context)?;
    let mut clients = Clients::load(&context.around, &directory)?;
    let known = clients.0.get(args.coding.as_str()).cloned();
    let scope = if args.user { Scope::User } else { Scope::Project };
    if let Some(known) = known.as_ref().filter(|known| known.scope != scope.as_str()) {
        return Err(Failure::usage(
            format!(
                "{} is connected here already, in the settings of the {}",
                args.coding.title(),
                known.scope
            ),
            format!("take that back first: `plenary disconnect {}`", args.coding.as_str()),
        ));
    }
    if args.wake && args.coding != CodingAgent::Claude {
        return Err(Failure::usage(
            format!("{} cannot be woken while it waits for its person", args.coding.title()),
            "leave --wake out: what is new comes with its next event",
        ));
    }
    let wake = args.wake || known.as_ref().is_some_and(|known| known.wake);
    let old = known.as_ref().map(|known| known.made.clone()).unwrap_or_default();
    let edited = |agent: &Named| {
        if args.identity_only {
            return Ok((Vec::new(), Vec::new()));
        }
        let told = told(context, &agent.handle.to_string(), wake, args.http)?;
        let planned = planned(context, args.coding, scope, &directory, &told)?;
        if scope == Scope::Project {
            planned.iter().try_for_each(|file| stays_within(&directory, &file.path))?;
        }
        put_in(args.coding, &directory, &planned, &old)
    };
    // Settings that cannot be changed are found before an agent is made for them.
    let likely = likely(context, &args, &directory, known.as_ref())?;
    let shown = edited(&likely)?;
    let (agent, (edits, made)) = if args.dry_run {
        (likely, shown)
    } else {
        serve::answering(context, args.serve, args.listen).await?;
        let agent =
            naming::agent(context, args.coding, &directory, args.owner.as_ref(), known.as_ref()).await?;
        let edits = edited(&agent)?;
        (agent, edits)
    };
    if !args.dry_run {
        let server = context.client()?.health().await?.value.server_id;
        // Before anything is written into foreign settings: what cannot be remembered cannot be taken out again.
        let scope = scope.as_str().to_owned();
        let connected = Connected { agent: agent.handle.clone(), scope, server, wake, made };
        if known.as_ref() != Some(&connected) {
            clients.0.insert(args.coding.as_str().to_owned(), connected);
            clients.save(&context.around, &directory)?;
        }
        if let Some(project) = &args.project {
            bind(context, &agent, project, &directory).await?;
        }
    }
    let changed = carry_out(context, &edits, args.dry_run)?;
    said(context, &args, &agent, &changed)
}

/// Who it would be, as far as that is known without the server.
fn likely(
    context: &Context,
    args: &Connect,
    directory: &Path,
    known: Option<&Connected>,
) -> Result<Named, Failure> {
    let told = context.identity()?.filter(|found| found.source == Source::Flag);
    match told.map(|identity| identity.handle).or_else(|| Some(known?.agent.clone())) {
        Some(handle) => Ok(Named { handle, is_new: false }),
        None => {
            let handle = naming::proposed(context, args.coding, directory, args.owner.as_ref(), 1)?;
            Ok(Named { handle, is_new: true })
        }
    }
}

pub(crate) async fn disconnect(context: &Context, args: Disconnect) -> Result<(), Failure> {
    let directory = working_directory(context)?;
    let mut clients = Clients::load(&context.around, &directory)?;
    let Some(known) = clients.0.remove(args.coding.as_str()) else {
        context.out.note(&format!("{} is not connected in this directory", args.coding.title()));
        return Ok(());
    };
    let scope = if known.scope == Scope::User.as_str() { Scope::User } else { Scope::Project };
    let told = Told {
        program: String::new(),
        variables: Vec::new(),
        arguments: Vec::new(),
        agent: known.agent.to_string(),
        wake: known.wake,
        http: None,
    };
    let planned = planned(context, args.coding, scope, &directory, &told)?;
    let edits = take_out(args.coding, &directory, &planned, &known.made)?;
    let changed = carry_out(context, &edits, args.dry_run)?;
    if !args.dry_run {
        remove_directories(&directory, &known.made);
        clients.save(&context.around, &directory)?;
        if args.delete_agent {
            let owner = known.agent.owner_name();
            let client = context.configuring_client(Realm::Owner(&owner))?;
            client.call(&AGENT_DELETE, &[&known.agent], &(), &()).await?;
            let (file, server) = (context.tokens_file_needed()?, context.server()?);
            let holder = Holder::Agent(known.agent.clone());
            file.change(|tokens| tokens.remove(&server, &holder))?;
        }
    }
    if context.out.is_json() {
        let answer = json!({"client": args.coding.as_str(), "agent": known.agent, "dry_run": args.dry_run,
            "agent_deleted": args.delete_agent && !args.dry_run, "files": changed});
        return Ok(context.out.line(&answer.to_string())?);
    }
    if !args.dry_run {
        context.out.line(&format!("{} is connected no more", args.coding.title()))?;
        if !args.delete_agent {
            context.out.note(&format!(
                "{0} is still there, with its messages; `plenary agent rm {0}` removes it for good",
                known.agent
            ));
        }
    }
    Ok(())
}

fn working_directory(context: &Context) -> Result<PathBuf, Failure> {
    context.around.directory().cloned().ok_or_else(|| Failure::local("the working directory is gone"))
}

/// What a program that is started elsewhere must be told to find what this command found.
fn told(context: &Context, agent: &str, wake: bool, http: bool) -> Result<Told, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::local(format!("where this program is cannot be told: {error}")))?;
    let found = context.whereabouts()?;
    let mut arguments = Vec::new();
    if matches!(found.source, UrlSource::Flag | UrlSource::Environment) {
        arguments.extend(["--url".to_owned(), found.url.to_string()]);
    }
    let kept = ["PLENARY_DATA", "PLENARY_CACERT"];
    let variables = kept.iter().filter_map(|name| Some(((*name).to_owned(), context.around.var(name)?)));
    Ok(Told {
        program: program.to_string_lossy().into_owned(),
        variables: variables.collect(),
        arguments,
        agent: agent.to_owned(),
        wake,
        http: http.then(|| format!("{}/mcp", found.url)),
    })
}

fn planned(
    context: &Context,
    coding: CodingAgent,
    scope: Scope,
    directory: &Path,
    told: &Told,
) -> Result<Vec<Planned>, Failure> {
    let places = Places { directory, around: &context.around };
    plan(coding, scope, &places, told)
        .ok_or_else(|| Failure::local_with("there is no home directory for your settings", "set HOME"))
}

/// Refuses settings of a directory that are really elsewhere: a link that came with it leads to settings of the user.
fn stays_within(directory: &Path, path: &Path) -> Result<(), Failure> {
    let real = |path: &Path| path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    let is_dangling = path.symlink_metadata().is_ok_and(|found| found.is_symlink()) && !path.exists();
    if !is_dangling
        && real(path).zip(real(directory)).is_some_and(|(path, directory)| path.starts_with(directory))
    {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{} is a link that leads out of this directory", path.display()),
        "remove it; or change your own settings, with --user",
    ))
}

async fn bind(context: &Context, agent: &Named, project: &str, directory: &Path) -> Result<(), Failure> {
    let missing = || Failure::local(format!("no token of {} is saved here", agent.handle));
    let client = context.saved_client(&agent.handle)?.ok_or_else(missing)?;
    let about = AboutProject { name: None, description: None, settings: None };
    let project = NewProject { project_id: project.to_owned(), owner_id: None, about };
    agentic::bind(&client, &context.around, directory, project).await?;
    Ok(())
}

fn said(
    context: &Context,
    args: &Connect,
    agent: &Named,
    changed: &[serde_json::Value],
) -> Result<(), Failure> {
    if context.out.is_json() {
        let answer = json!({"client": args.coding.as_str(), "agent": agent.handle, "agent_created": agent.is_new,
            "dry_run": args.dry_run, "files": changed});
        return Ok(context.out.line(&answer.to_string())?);
    }
    let title = args.coding.title();
    if args.dry_run {
        context.out.note(&format!("nothing was changed; {title} would be {} here", agent.handle));
        return Ok(());
    }
    let is_same = !agent.is_new && changed.iter().all(|file| file["state"] == "unchanged");
    let how = if is_same { "is connected already, as" } else { "is connected here as" };
    context.out.line(&format!("{title} {how} {}", agent.handle))?;
    context.out.note(args.coding.next());
    context.out.note(&format!("prove it with `plenary doctor --client {}`", args.coding.as_str()));
    Ok(())
}
