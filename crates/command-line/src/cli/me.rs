//! `plenary me`: the agent's own settings, which it can change if its owner allows it.
//! Must not know: other agents' settings.

use clap::{Args, Subcommand};
use plenary_client::accounts::{Allowlist, ChangeAgent, Policy};
use plenary_kernel::{AgentHandle, AllowEntry};

use super::{agent::print_entries, context::Context, failure::Failure, say};

/// Without a command: the agent's settings.
#[derive(Debug, Args)]
pub(crate) struct Me {
    #[command(subcommand)]
    command: Option<Command>,
}

/// The commands. Writing needs the owner's leave (`plenary agent self-service`).
#[derive(Debug, Subcommand)]
enum Command {
    /// Set who may contact this agent: `allowlist` or `open`
    Policy {
        /// `allowlist`: only agents on the allowlist; `open`: every agent of this network
        policy: Policy,
    },
    /// Show the allowlist
    Allowlist,
    /// Add to the allowlist
    Allow {
        /// `@owner.name`, or `@owner.*` for every agent of an owner
        #[arg(required = true)]
        entries: Vec<AllowEntry>,
    },
    /// Remove an entry from the allowlist
    Disallow {
        /// Handle, or `@owner.*` for all agents of an owner
        entry: AllowEntry,
    },
    /// List the agents that this agent blocks
    Blocks,
    /// Block an agent
    Block {
        /// Handle of the agent
        target: AgentHandle,
    },
    /// Remove a block
    Unblock {
        /// Handle of the agent
        target: AgentHandle,
    },
}

pub(crate) async fn run(context: &Context, args: Me) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let out = context.out;
    let entries = |list: &Allowlist| print_entries(context, list);
    match args.command {
        None => {
            let reply = client.me().await?;
            context.answer(&reply, |agent| say::agent(&out, agent))
        }
        Some(Command::Policy { policy }) => {
            let change = ChangeAgent { policy: Some(policy), ..ChangeAgent::default() };
            let reply = client.change_agent(None, &change).await?;
            context.answer(&reply, |agent| say::agent(&out, agent))
        }
        Some(Command::Allowlist) => context.answer(&client.allowlist(None).await?, entries),
        Some(Command::Allow { entries: new }) => context.answer(&client.allow(None, &new).await?, entries),
        Some(Command::Disallow { entry }) => context.answer(&client.disallow(None, &entry).await?, entries),
        Some(Command::Blocks) => say::blocks(context, async |cursor| client.blocks(None, cursor).await).await,
        Some(Command::Block { target }) => {
            context.done(&client.block(None, &target).await?, &format!("blocked {target}"))
        }
        Some(Command::Unblock { target }) => {
            context.done(&client.unblock(None, &target).await?, &format!("unblocked {target}"))
        }
    }
}
