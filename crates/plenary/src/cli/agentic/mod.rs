//! `plenary context`: packages of work done, facts, reviews, briefings (the Agentic Protocol).
//! Must not know: how anything is composed or shown; its parts do.

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
mod place;
mod project;
mod pull;
mod remembered;
mod review;
mod session;
mod sync;
mod transfer;
mod watch;
mod words;

use clap::{Args, Subcommand};

use super::{context::Context, failure::Failure};
pub(crate) use init::bind;
pub(crate) use orient::markdown as briefing;
use place::{Place, PlaceArgs};

/// `plenary context`.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Bind this directory and all below it to a project, and make the project where it is missing
    Init(init::Init),
    /// Deposit a package: work done, decisions, questions, what the next one needs to know
    Deposit(Box<deposit::Deposit>),
    /// Read packages: the latest, one by its id, or those that have to do with a query
    Pull(pull::Pull),
    /// What a new session begins with: recent packages, current facts, open questions
    Orient(orient::Orient),
    /// A digest across packages, of one project or of all
    Orchestrate(digest::Orchestrate),
    /// What happened today, what waits for review, and what is open, over all projects
    Daily(daily::Daily),
    /// Facts: what is true now, and what was
    #[command(subcommand)]
    Fact(fact::Command),
    /// Reviews: what waits, and the answers
    #[command(subcommand)]
    Review(review::Command),
    /// Projects: make, share, archive
    #[command(subcommand)]
    Project(project::Command),
    /// Sessions of work, which packages name
    #[command(subcommand)]
    Session(session::Command),
    /// Contents of deliverables
    #[command(subcommand)]
    Blob(blob::Command),
    /// Follow what happens in a project, live
    Watch(watch::Watch),
    /// Show what the server does of the protocol
    Conformance,
    /// Write projects into a file, or into a directory as a backup
    Export(transfer::Export),
    /// Take in what was exported, here or elsewhere; it can be repeated
    Import(transfer::Import),
    /// Bring together what this server and another one have
    Sync(sync::Sync),
    /// Deposit by itself: after each commit, or when a coding agent stops
    #[command(subcommand)]
    Hook(hook::Command),
}

pub(crate) async fn run(context: &Context, args: ContextArgs) -> Result<(), Failure> {
    let ContextArgs { place, command } = args;
    let at = || Place::of(context, &place);
    match command {
        Command::Init(args) => init::run(context, &place, args).await,
        Command::Deposit(args) => deposit::run(context, &place, *args).await,
        Command::Pull(args) => pull::run(context, &at()?, args).await,
        Command::Orient(args) => orient::run(context, &at()?, &args).await,
        Command::Orchestrate(args) => digest::run(context, &at()?, &args).await,
        Command::Daily(args) => daily::run(context, &at()?, &args).await,
        Command::Fact(command) => fact::run(context, &at()?, command).await,
        Command::Review(command) => review::run(context, &at()?, command).await,
        Command::Project(command) => project::run(context, &place, command).await,
        Command::Session(command) => session::run(context, &at()?, command).await,
        Command::Blob(command) => blob::run(context, &at()?, command).await,
        Command::Watch(args) => watch::run(context, &at()?, args).await,
        Command::Conformance => digest::conformance(context).await,
        Command::Export(args) => transfer::export(context, &place, args).await,
        Command::Import(args) => transfer::import(context, args).await,
        Command::Sync(args) => sync::run(context, &place, args).await,
        Command::Hook(command) => hook::run(context, &place, &command),
    }
}
