//! `plenary owner`: persons and organisations that own agents.
//! Must not know: agents.

use clap::Subcommand;
use plenary_kernel::OwnerName;

use super::{context::Context, failure::Failure, identity::Holder};
use crate::out::Table;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an owner, and save its token
    Add {
        /// Its name, e.g. `nick`
        owner: OwnerName,
        /// Print the token too
        #[arg(long)]
        show_token: bool,
    },
    /// List the owners
    List,
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let client = context.configuring_client(None)?;
    match command {
        Command::Add { owner, show_token } => {
            context.check_tokens_file()?;
            let reply = client.create_owner(&owner).await?;
            let kept = context.keep_token(&Holder::Owner(owner), &reply.token);
            context.answer(&reply, |made| {
                let line = if show_token { made.token.clone() } else { made.owner.to_string() };
                Ok(context.out.line(&line)?)
            })?;
            kept
        }
        Command::List => {
            let reply = client.owners().await?;
            context.answer(&reply, |list| {
                let mut table = Table::new(&["OWNER"]);
                list.owners.iter().for_each(|entry| table.row([&entry.owner]));
                Ok(context.out.table(&table, "no owners yet; make one with `plenary owner add NAME`")?)
            })
        }
    }
}
