//! `plenary me`: the agent's own settings, and changing them where its owner allows that.
//! Must not know: other agents' settings.

use clap::{Args, Subcommand};
use plenary_kernel::{AgentHandle, AllowEntry};
use plenary_wire::accounts::{self, AgentChanges, EntriesView, NewBlock, NewEntries, PageQuery, Policy};

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
    /// Set who may reach this agent
    Policy { policy: Policy },
    /// Show the allowlist
    Allowlist,
    /// Add to the allowlist
    Allow {
        /// `@owner.name`, or `@owner.*` for every agent of an owner
        #[arg(required = true)]
        entries: Vec<AllowEntry>,
    },
    /// Take an entry from the allowlist
    Disallow { entry: AllowEntry },
    /// Show whom this agent blocks
    Blocks,
    /// Block an agent
    Block { target: AgentHandle },
    /// Lift a block
    Unblock { target: AgentHandle },
}

pub(crate) async fn run(context: &Context, args: Me) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let out = context.out;
    let show = |list: &EntriesView| print_entries(context, list);
    match args.command {
        None => {
            let reply = client.call(&accounts::ME_GET, &[], &(), &()).await?;
            context.answer(&reply, |me| say::agent(&out, &me.agent))
        }
        Some(Command::Policy { policy }) => {
            let changes = AgentChanges { policy: Some(policy), ..AgentChanges::default() };
            let reply = client.call(&accounts::ME_UPDATE, &[], &(), &changes).await?;
            context.answer(&reply, |me| say::agent(&out, &me.agent))
        }
        Some(Command::Allowlist) => {
            context.answer(&client.call(&accounts::ME_ALLOWLIST, &[], &(), &()).await?, show)
        }
        Some(Command::Allow { entries }) => {
            let reply = client.call(&accounts::ME_ALLOW, &[], &(), &NewEntries { entries }).await?;
            context.answer(&reply, show)
        }
        Some(Command::Disallow { entry }) => {
            context.answer(&client.call(&accounts::ME_DISALLOW, &[&entry], &(), &()).await?, show)
        }
        Some(Command::Blocks) => {
            let ask = async |at: Option<&str>| {
                client.call(&accounts::ME_BLOCKS, &[], &PageQuery::at(at), &()).await
            };
            say::blocks(context, ask).await
        }
        Some(Command::Block { target }) => {
            let block = NewBlock { handle: target.clone() };
            let reply = client.call(&accounts::ME_BLOCK, &[], &(), &block).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("blocked {target}"))?))
        }
        Some(Command::Unblock { target }) => {
            let reply = client.call(&accounts::ME_UNBLOCK, &[&target], &(), &()).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("unblocked {target}"))?))
        }
    }
}
