//! `plenary message`: the state of a message.
//! Must not know: how messages are sent.

use std::time::Duration;

use clap::Subcommand;
use plenary_client::{
    Signal, StreamOptions,
    inbox::{DeliveryDelay, RecipientStatus},
    receipts::ReceiptStream,
};
use plenary_kernel::{AgentHandle, SessionId};

use super::{
    context::Context,
    failure::{Exit, Failure},
    stream,
};
use crate::{
    duration::parse_duration,
    out::{Table, clean, second},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the state of a message for each recipient (accepted, delivered, shown, in context, answered, acknowledged,
    /// expired), and why it waits
    Status {
        /// ID of the session that contains the message
        session: SessionId,
        /// Sequence number of the message in the session
        #[arg(value_parser = sequence)]
        sequence: u64,
        /// Wait up to this time, e.g. 90s or 5m, until the message reaches the state --until for every recipient;
        /// otherwise the exit code is 5
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        wait: Option<Duration>,
        /// State to wait for
        #[arg(long, value_name = "STATE", default_value = "in_context", requires = "wait",
            value_parser = ["delivered", "shown", "in_context", "answered", "acknowledged"])]
        until: String,
        /// Report each change until every recipient has acknowledged the message or can no longer get it
        #[arg(long, conflicts_with = "wait")]
        follow: bool,
    },
}

fn sequence(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "must be a number: `plenary session events` shows it before each message".to_owned())
}

pub(crate) async fn run(context: &Context, command: Command) -> Result<(), Failure> {
    let client = context.speaker()?;
    match command {
        Command::Status { session, sequence, follow: true, .. } => {
            let receipts = client.receipts(&session, sequence, StreamOptions::default());
            stream::until_interrupted(follow(context, receipts)).await
        }
        Command::Status { session, sequence, wait, until, follow: false } => {
            let reply = match wait {
                None => client.message_status(&session, sequence).await?,
                Some(time) => client.wait_message_status(&session, sequence, &until, time).await?,
            };
            context.answer(&reply, |status| {
                let mut table = Table::new(&["RECIPIENT", "STATE", "ANSWERED", "WAITS"]);
                for recipient in &status.recipients {
                    let answered_at = recipient.at.as_deref().map_or_else(|| "-".to_owned(), second);
                    let (state, waits) = (state(recipient), waits(recipient));
                    table.row([recipient.agent.as_str(), &state, &answered_at, &waits]);
                }
                Ok(context.out.table(&table, "the session has no other participant")?)
            })?;
            let is_expired = |recipient: &RecipientStatus| recipient.state == "expired";
            let never = wait.is_some() && reply.value.recipients.iter().any(is_expired);
            if reply.timed_out || never { Err(Failure::Reported(Exit::Unanswered)) } else { Ok(()) }
        }
    }
}

/// Prints a line for each receipt, until no more can arrive.
async fn follow(context: &Context, mut receipts: ReceiptStream) -> Result<(), Failure> {
    let out = context.out;
    while let Some(signal) = receipts.next().await? {
        match signal {
            Signal::Event(receipt) if out.is_json() => {
                let json = serde_json::to_string(&receipt)
                    .map_err(|error| Failure::local(format!("a receipt cannot be written: {error}")))?;
                out.line(&json)?;
            }
            Signal::Event(receipt) => {
                let why =
                    receipt.waiting.as_ref().map(|waiting| format!(": {}", why(&receipt.agent, waiting)));
                out.line(&format!("{} {}{}", receipt.agent, state(&receipt), why.unwrap_or_default()))?;
            }
            Signal::Lost { reason, retry_in } => stream::note_lost(out, &reason, retry_in),
            Signal::Opened | Signal::Keepalive | Signal::Unreadable(_) => {}
        }
    }
    Ok(())
}

/// The state for people, and how much was shown.
fn state(recipient: &RecipientStatus) -> String {
    let state = clean(&recipient.state).replace('_', " ");
    match (recipient.shown_characters, recipient.characters) {
        (Some(shown), Some(all)) => format!("{state}: {shown} of {all} characters"),
        _ => state,
    }
}

fn waits(recipient: &RecipientStatus) -> String {
    recipient.waiting.as_ref().map_or_else(|| "-".to_owned(), |waiting| why(&recipient.agent, waiting))
}

/// Why the message waits, for people.
fn why(agent: &AgentHandle, waiting: &DeliveryDelay) -> String {
    let since = waiting.since.as_deref().map(|since| format!(" since {}", second(since))).unwrap_or_default();
    let until = waiting.until.as_deref().map(|until| format!(" until {}", second(until))).unwrap_or_default();
    match waiting.reason.as_str() {
        "dnd" => format!("{agent} does not want to be disturbed{until}"),
        "focus" => format!("{agent} accepts only its own people, urgent messages and replies{until}"),
        "left" => format!("it has left{since}"),
        "not_joined" => "it has not joined".to_owned(),
        "rest_unread" => "it was cut, and the rest was not read".to_owned(),
        "next_event" => "waits for the next event of its coding session".to_owned(),
        "hooks_off" => format!("its hooks are off{since}"),
        "no_live_session" => format!("no live session{since}"),
        "peer_unreachable" => "its network does not answer, or is no longer linked".to_owned(),
        "peer_full" => {
            "its network has no more room for this one: the operator there can raise the quota".to_owned()
        }
        other => format!("{}{since}", clean(other)),
    }
}
