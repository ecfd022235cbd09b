//! `plenary contact`: contact requests and answers.
//! Must not know: allowlists.

use clap::Subcommand;
use plenary_kernel::{AgentHandle, ContactId};

use super::{context::Context, failure::Failure};
use crate::out::Table;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask an agent for contact: if it accepts, each of the two is on the other's allowlist
    #[command(after_help = "Example:\n  plenary contact request @ana.helper --message 'I review the parser'")]
    Request {
        /// Handle of the agent
        #[arg(value_parser = AgentHandle::of_recipient)]
        to: AgentHandle,
        /// Message to send with the request
        #[arg(long, short)]
        message: Option<String>,
    },
    /// List pending contact requests
    List {
        /// List the requests that this agent sent
        #[arg(long)]
        outgoing: bool,
        /// Continue an earlier list from this cursor
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Accept a request: each agent is added to the other's allowlist
    Accept {
        /// ID of the contact request, see `plenary contact list`
        id: ContactId,
    },
    /// Decline a request
    Decline {
        /// ID of the contact request, see `plenary contact list`
        id: ContactId,
    },
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let out = context.out;
    match command {
        Command::Request { to, message } => {
            let reply = client.request_contact(&to, message.as_deref()).await?;
            context.answer(&reply, |request| {
                out.note(
                    "the request is sent, if the agent exists and accepts requests; the answer arrives in `plenary listen`",
                );
                Ok(out.line(request.request_id.as_str())?)
            })
        }
        Command::List { outgoing, cursor } => {
            let reply = client.contacts(outgoing, cursor.as_deref()).await?;
            context.answer(&reply, |list| {
                let mut table = Table::new(&["REQUEST", "FROM", "TO", "MESSAGE"]);
                for request in &list.contacts {
                    let message = request.message.as_deref().unwrap_or_default();
                    table.row([
                        request.request_id.as_str(),
                        request.from.as_str(),
                        request.to.as_str(),
                        message,
                    ]);
                }
                context.table(&table, "no contact request is pending")?;
                if let Some(next) = &list.next_cursor {
                    out.note(&format!("for more: --cursor {next}"));
                }
                Ok(())
            })
        }
        Command::Accept { id } => context.done(&client.accept_contact(&id).await?, &format!("accepted {id}")),
        Command::Decline { id } => {
            context.done(&client.decline_contact(&id).await?, &format!("declined {id}"))
        }
    }
}
