//! `plenary inbox`: what is new for the agent, and saying that it was taken note of.
//! Must not know: how a page becomes text.

use std::time::Duration;

use clap::{Args, Subcommand};
use plenary_client::{Client, Reply, inbox::digest};
use plenary_kernel::AgentHandle;
use plenary_wire::{
    accounts::ME_GET,
    inbox::{self, AckRequest, AckState, Acked, InboxQuery},
};
use serde_json::json;

use super::{context::Context, failure::Failure};

/// How many items are asked for at once when everything is to be acknowledged.
const WHOLE_PAGE: u32 = 100;

/// Without a command: what is unread, oldest first.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Inbox {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only what is behind this cursor of an earlier read, whether or not it was seen
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// At most so many, and never more than 100 at once [default: 20]
    #[arg(long)]
    limit: Option<u32>,
    /// Only these kinds, with commas between them: session.message, session.invited, contact.requested, frame,
    /// channel.mention, review.requested, run.waiting
    #[arg(long)]
    kinds: Option<String>,
    /// Wait so many seconds for something new
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u64>,
    /// Acknowledge what was shown
    #[arg(long)]
    ack: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Acknowledge everything up to a cursor, or everything that is unread now
    Ack {
        /// The cursor of a read
        cursor: Option<String>,
    },
}

pub(crate) async fn run(context: &Context, args: Inbox) -> Result<(), Failure> {
    let client = context.agent_client()?;
    match args.command {
        Some(Command::Ack { cursor }) => ack(context, &client, cursor).await,
        None => read(context, &client, args).await,
    }
}

async fn read(context: &Context, client: &Client, args: Inbox) -> Result<(), Failure> {
    let query = InboxQuery { after: args.after, limit: args.limit, kinds: args.kinds, timeout_s: None };
    let reply = match args.wait {
        Some(seconds) => client.wait_inbox(&query, Duration::from_secs(seconds)).await?,
        None => client.call(&inbox::READ, &[], &query, &()).await?,
    };
    let me = me(context, client).await?;
    context.answer(&reply, |page| {
        if page.items.is_empty() {
            context.out.note("nothing new");
            return Ok(());
        }
        let text = digest(&me, &json!(page));
        text.lines().try_for_each(|line| context.out.line(line))?;
        context.out.note(&format!("acknowledge this with: plenary inbox ack {}", page.cursor));
        Ok(())
    })?;
    if args.ack && !reply.items.is_empty() {
        acknowledge(client, reply.cursor.clone()).await?;
    }
    Ok(())
}

async fn ack(context: &Context, client: &Client, cursor: Option<String>) -> Result<(), Failure> {
    let cursor = match cursor {
        Some(cursor) => cursor,
        None => end_of(client).await?,
    };
    let reply = acknowledge(client, cursor).await?;
    context.answer(&reply, |acked| Ok(context.out.line(&format!("{} unread", acked.unread))?))
}

async fn acknowledge(client: &Client, cursor: String) -> Result<Reply<Acked>, Failure> {
    let request = AckRequest { cursor, state: AckState::Acknowledged };
    Ok(client.call(&inbox::ACK, &[], &(), &request).await?)
}

/// Behind everything that is unread now.
async fn end_of(client: &Client) -> Result<String, Failure> {
    let mut query = InboxQuery { limit: Some(WHOLE_PAGE), ..InboxQuery::default() };
    loop {
        let page = client.call(&inbox::READ, &[], &query, &()).await?.value;
        if !page.more {
            return Ok(page.cursor);
        }
        query.after = Some(page.cursor);
    }
}

async fn me(context: &Context, client: &Client) -> Result<AgentHandle, Failure> {
    match context.identity()? {
        Some(identity) => Ok(identity.handle),
        None => Ok(client.call(&ME_GET, &[], &(), &()).await?.value.agent.handle),
    }
}
