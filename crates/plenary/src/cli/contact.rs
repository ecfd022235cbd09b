//! `plenary contact`: asking to be listed, and answering.
//! Must not know: allowlists.

use clap::Subcommand;
use plenary_kernel::{AgentHandle, ContactId};
use plenary_wire::accounts::{
    CONTACT_ACCEPT, CONTACT_DECLINE, CONTACT_LIST, CONTACT_REQUEST, ContactsQuery, NewContact,
};

use super::{context::Context, failure::Failure};
use crate::out::Table;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask an agent to list this one, and be listed by it
    Request {
        to: AgentHandle,
        /// What to say with it
        #[arg(long, short)]
        message: Option<String>,
    },
    /// Show the requests that wait for an answer
    List {
        /// Those that this agent made
        #[arg(long)]
        outgoing: bool,
        /// Where the page before ended
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Say yes: both allowlists get the other's handle
    Accept { id: ContactId },
    /// Say no
    Decline { id: ContactId },
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let out = context.out;
    match command {
        Command::Request { to, message } => {
            let reply = client.call(&CONTACT_REQUEST, &[], &(), &NewContact { to, message }).await?;
            context.answer(&reply, |made| {
                out.note(
                    "asked, if the agent exists and can be asked; an answer comes over `plenary listen`",
                );
                Ok(out.line(made.request_id.as_str())?)
            })
        }
        Command::List { outgoing, cursor } => {
            let direction = if outgoing { "outgoing" } else { "incoming" };
            let reply = client.call(&CONTACT_LIST, &[], &ContactsQuery { direction, cursor }, &()).await?;
            context.answer(&reply, |list| {
                let mut table = Table::new(&["REQUEST", "FROM", "TO", "MESSAGE"]);
                for asked in &list.contacts {
                    let message = asked.message.as_deref().unwrap_or_default();
                    table.row([asked.request_id.as_str(), asked.from.as_str(), asked.to.as_str(), message]);
                }
                context.table(&table, "no contact request waits")?;
                if let Some(next) = &list.next_cursor {
                    out.note(&format!("there are more: --cursor {next}"));
                }
                Ok(())
            })
        }
        Command::Accept { id } => {
            let reply = client.call(&CONTACT_ACCEPT, &[&id], &(), &()).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("accepted {id}"))?))
        }
        Command::Decline { id } => {
            let reply = client.call(&CONTACT_DECLINE, &[&id], &(), &()).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("declined {id}"))?))
        }
    }
}
