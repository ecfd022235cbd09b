//! `plenary context`: packages of work, facts, reviews, briefings (the Agentic Protocol).
//! Must not know: how anything is composed or printed; its parts do this.

mod blob;
mod compose;
mod daily;
mod deliverable;
mod deposit;
mod digest;
mod fact;
mod git;
mod hook;
mod init;
mod note;
mod orient;
mod project;
mod pull;
mod remembered;
mod render;
mod review;
mod session;
mod sync;
mod target;
mod transfer;
mod watch;

use clap::{Args, Subcommand};

use super::{context::Context, failure::Failure};
use crate::out::GivenOption;
pub(crate) use init::{bind, bound};
pub(crate) use orient::markdown as briefing;
use target::{ProjectArgs, ProjectTarget};

/// `plenary context`.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    project_args: ProjectArgs,
    #[command(subcommand)]
    command: Command,
}

impl ContextArgs {
    /// The options of every command under `plenary context` that the user gave.
    pub(super) fn given(&self) -> Option<GivenOption> {
        let flags = self.project_args.flags();
        (!flags.is_empty()).then_some(("context", flags))
    }

    /// What to do instead, for a command that a linked network does not serve.
    pub(super) fn not_at_peer(&self) -> Option<&'static str> {
        const NAME_IT: &str =
            "name one project in full with `--project OWNER:ID`: ask its owner for the name and for a role";
        const ITS_OWNER: &str = "ask the owner of the project to do it";
        match &self.command {
            Command::Project(command) => match command {
                project::Command::List(_) => Some(NAME_IT),
                project::Command::Show(_) | project::Command::Members(_) => None,
                project::Command::Create(_)
                | project::Command::Edit(_)
                | project::Command::Archive(_)
                | project::Command::Restore(_)
                | project::Command::Share(_)
                | project::Command::Unshare(_) => Some(ITS_OWNER),
            },
            Command::Daily(_) if self.project_args.project_flag().is_none() => Some(NAME_IT),
            Command::Orchestrate(args) if args.covers_all() => Some(NAME_IT),
            Command::Export(args) if args.covers_all() => Some(NAME_IT),
            Command::Init(_) => Some(NAME_IT),
            Command::Import(_) | Command::Blob(blob::Command::Put(_)) => {
                Some("deposit packages there with `plenary context deposit`")
            }
            Command::Conformance | Command::Hook(_) => Some("leave --peer out: it is about this network"),
            Command::Deposit(_)
            | Command::Pull(_)
            | Command::Orient(_)
            | Command::Orchestrate(_)
            | Command::Daily(_)
            | Command::Fact(_)
            | Command::Review(_)
            | Command::Session(_)
            | Command::Blob(_)
            | Command::Watch(_)
            | Command::Export(_)
            | Command::Sync(_) => None,
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bind this directory and those below it to a project, and create the project if it does not exist
    Init(init::Init),
    /// Deposit a package: work done, decisions, open questions, handoff note
    Deposit(Box<deposit::Deposit>),
    /// Read packages: the latest, one by its id, or those that match a query
    Pull(pull::Pull),
    /// Show a briefing for a new session: recent packages, current facts, open questions
    Orient(orient::Orient),
    /// Show a digest of the packages of one project or of all projects
    Orchestrate(digest::Orchestrate),
    /// Show today's packages, pending reviews and open questions of all projects
    Daily(daily::Daily),
    /// Facts: what is true now, and what was true before
    #[command(subcommand)]
    Fact(fact::Command),
    /// Reviews of packages: request, approve, send back
    #[command(subcommand)]
    Review(review::Command),
    /// Projects: create, share, archive
    #[command(subcommand)]
    Project(project::Command),
    /// Sessions of work, which group packages
    #[command(subcommand)]
    Session(session::Command),
    /// Contents of deliverables: upload and download
    #[command(subcommand)]
    Blob(blob::Command),
    /// Follow the events of a project live
    Watch(watch::Watch),
    /// Show which parts of the Agentic Protocol the server implements
    Conformance,
    /// Export projects to a file, or to a directory as a backup
    Export(transfer::Export),
    /// Import an export of this or another server; repeating an import changes nothing
    Import(transfer::Import),
    /// Synchronize projects with another server
    Sync(sync::Sync),
    /// Hooks that deposit a package after each commit, or when a coding agent stops
    #[command(subcommand)]
    Hook(hook::Command),
}

pub(crate) async fn run(context: &Context, args: ContextArgs) -> Result<(), Failure> {
    let ContextArgs { project_args, command } = args;
    let target = || ProjectTarget::of(context, &project_args);
    match command {
        Command::Init(args) => init::run(context, &project_args, args).await,
        Command::Deposit(args) => deposit::run(context, &project_args, *args).await,
        Command::Pull(args) => pull::run(context, &target()?, args).await,
        Command::Orient(args) => orient::run(context, &target()?, &args).await,
        Command::Orchestrate(args) => digest::run(context, &target()?, &args).await,
        Command::Daily(args) => daily::run(context, &target()?, &args).await,
        Command::Fact(command) => fact::run(context, &target()?, command).await,
        Command::Review(command) => review::run(context, &target()?, command).await,
        Command::Project(command) => project::run(context, &project_args, command).await,
        Command::Session(command) => session::run(context, &target()?, command).await,
        Command::Blob(command) => blob::run(context, &target()?, command).await,
        Command::Watch(args) => watch::run(context, &target()?, args).await,
        Command::Conformance => digest::conformance(context).await,
        Command::Export(args) => transfer::export(context, &project_args, args).await,
        Command::Import(args) => transfer::import(context, args).await,
        Command::Sync(args) => sync::run(context, &project_args, args).await,
        Command::Hook(command) => hook::run(context, &project_args, &command),
    }
}
