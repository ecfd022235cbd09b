//! `plenary message`: what has become of a message.
//! Must not know: how messages are sent.

use clap::Subcommand;
use plenary_kernel::SessionId;
use plenary_wire::inbox::MESSAGE_STATUS;

use super::{context::Context, failure::Failure};
use crate::out::Table;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show with each recipient whether it is accepted, delivered, seen or acknowledged
    Status {
        session: SessionId,
        /// The message's place in the session
        sequence: u64,
    },
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let client = context.agent_client()?;
    match command {
        Command::Status { session, sequence } => {
            let reply = client.call(&MESSAGE_STATUS, &[&session, &sequence], &(), &()).await?;
            context.answer(&reply, |status| {
                let mut table = Table::new(&["RECIPIENT", "STATE", "ANSWERED"]);
                for recipient in &status.recipients {
                    let at = recipient.at.as_deref().unwrap_or("-");
                    table.row([recipient.agent.as_str(), recipient.state.as_str(), at]);
                }
                Ok(context.out.table(&table, "nobody else takes part")?)
            })
        }
    }
}
