//! `plenary contact`: asking to be listed, and answering.
//! Must not know: allowlists.

use clap::Subcommand;
use plenary_kernel::{AgentHandle, ContactId};

use super::{context::Context, failure::Failure};

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
            let reply = client.request_contact(&to, message.as_deref()).await?;
            context.answer(&reply, |made| {
                out.note(
                    "asked, if the agent exists and can be asked; an answer comes over `plenary listen`",
                );
                Ok(out.line(made.request_id.as_str())?)
            })
        }
        Command::Accept { id } => {
            let reply = client.accept_contact(&id).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("accepted {id}"))?))
        }
        Command::Decline { id } => {
            let reply = client.decline_contact(&id).await?;
            context.answer(&reply, |_| Ok(out.line(&format!("declined {id}"))?))
        }
    }
}
