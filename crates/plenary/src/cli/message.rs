//! `plenary message`: what has become of a message.
//! Must not know: how messages are sent.

use clap::Subcommand;
use plenary_client::inbox::Waiting;
use plenary_kernel::SessionId;

use super::{context::Context, failure::Failure};
use crate::out::{Table, clean};

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show how far it got with each recipient: accepted, delivered, shown, in context, answered, acknowledged, expired;
    /// and why it waits
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
            let reply = client.message_status(&session, sequence).await?;
            context.answer(&reply, |status| {
                let mut table = Table::new(&["RECIPIENT", "STATE", "ANSWERED", "WAITS"]);
                for recipient in &status.recipients {
                    let at = recipient.at.as_deref().unwrap_or("-");
                    let state = recipient.state.replace('_', " ");
                    let waits = recipient.waiting.as_ref().map_or_else(|| "-".to_owned(), why);
                    table.row([recipient.agent.as_str(), &state, at, &waits]);
                }
                Ok(context.out.table(&table, "nobody else takes part")?)
            })
        }
    }
}

/// Why it waits, in words.
fn why(waiting: &Waiting) -> String {
    let since = waiting.since.as_deref().map(|since| format!(" since {since}")).unwrap_or_default();
    match waiting.reason.as_str() {
        "not_joined" => "it has not joined".to_owned(),
        "next_event" => "for the next event of its session".to_owned(),
        "hooks_off" => format!("its hooks are off{since}"),
        "no_live_session" => format!("no live session{since}"),
        other => format!("{}{since}", clean(other)),
    }
}
