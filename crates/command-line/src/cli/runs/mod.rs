//! `plenary run` and `plenary runs`: agents behind the server, their runs and threads (Agent Protocol).
//! Must not know: how a run is followed or printed; its modules do this.

mod agents;
mod follow;
mod prompt;
mod render;
mod run;
mod states;

use clap::Subcommand;
use plenary_client::Client;

use super::{context::Context, failure::Failure};
pub(crate) use run::Run;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the agents that the server runs
    Agents,
    /// Show an agent's purpose, tools and configuration
    Describe(agents::AgentName),
    /// Configure an agent, as its owner or the operator
    Configure(agents::Configure),
    /// List an agent's latest runs and their states
    List(states::List),
    /// Show the state of a run
    Show(states::OfRun),
    /// Show the events of a run, and with --follow those to come
    Events(states::Events),
    /// Cancel a run
    Cancel(states::OfRun),
    /// List an agent's threads, newest first
    Threads(states::Threads),
    /// Show all events of a thread
    Replay(states::Replay),
    /// Download an artifact of an agent, by the id in its URL
    Artifact(states::Fetch),
}

impl Command {
    /// What to do instead, for a command that a linked network does not serve.
    pub(super) fn not_at_peer(&self) -> Option<&'static str> {
        match self {
            Self::Agents => Some("ask the operator of the other network for the name of the agent"),
            Self::Configure(_) => Some("ask the owner of the agent to configure it"),
            Self::Artifact(_) => Some("ask the owner of the agent for the artifact"),
            Self::Describe(_)
            | Self::List(_)
            | Self::Show(_)
            | Self::Events(_)
            | Self::Cancel(_)
            | Self::Threads(_)
            | Self::Replay(_) => None,
        }
    }
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    match command {
        Command::Agents => agents::list(context).await,
        Command::Describe(args) => agents::describe(context, &args).await,
        Command::Configure(args) => agents::configure(context, &args).await,
        Command::List(args) => states::list(context, &args).await,
        Command::Show(args) => states::show(context, &args).await,
        Command::Events(args) => states::events(context, &args).await,
        Command::Cancel(args) => states::cancel(context, &args).await,
        Command::Threads(args) => states::threads(context, &args).await,
        Command::Replay(args) => states::replay(context, &args).await,
        Command::Artifact(args) => states::fetch(context, &args).await,
    }
}

/// `plenary run`.
pub(crate) async fn run_one(context: &Context, args: Run) -> Result<(), Failure> {
    run::run(context, args).await
}

/// A client of the caller: an agent, a person, or the operator.
fn client(context: &Context) -> Result<Client, Failure> {
    match context.any_client()? {
        (client, None) => Ok(client),
        (_, Some(failure)) => Err(failure),
    }
}
