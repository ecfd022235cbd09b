//! `plenary inbox`: shows and acknowledges the agent's news.
//! Must not know: how a page becomes text.

use std::time::Duration;

use clap::{Args, Subcommand};
use plenary_client::{
    Client, Event, EventBody,
    inbox::{AckState, InboxPage, InboxQuery, whole_digest},
    sessions::EventsQuery,
};
use plenary_kernel::{AgentHandle, SessionId};
use serde_json::{Value, json};

use super::{context::Context, failure::Failure};
use crate::{
    duration::parse_duration,
    out::{Table, clean, second},
};

/// The page size used to acknowledge everything.
const WHOLE_PAGE: u32 = 100;

/// The kinds of news.
const KINDS: [&str; 8] = [
    "session.message",
    "session.invited",
    "contact.requested",
    "frame",
    "channel.mention",
    "review.requested",
    "run.waiting",
    "request.answered",
];

/// The part of an inbox that is read.
#[derive(Debug, Args)]
pub(super) struct InboxPart {
    /// Only items after this cursor of an earlier read, seen or not
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// Number of items at most, up to 100 [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: Option<u32>,
    /// Only these kinds, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = KINDS)]
    kinds: Option<Vec<String>>,
    /// Only items for this coding session, as `inbox sessions` lists them
    #[arg(long, value_name = "ID")]
    coding_session: Option<String>,
}

impl InboxPart {
    pub(super) fn query(self) -> InboxQuery {
        let Self { after, limit, kinds, coding_session } = self;
        InboxQuery { after, limit, kinds: kinds.map(|kinds| kinds.join(",")), coding_session }
    }
}

/// Without a command: what is unread, oldest first.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Example:\n  plenary inbox --wait 60 --ack")]
pub(crate) struct Inbox {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    page: InboxPart,
    /// Wait this long for a new item, e.g. 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    wait: Option<Duration>,
    /// Acknowledge the items that are shown
    #[arg(long)]
    ack: bool,
    /// Show the requests of your agents that wait for you, as `requests list` does
    #[arg(long, conflicts_with_all = ["after", "limit", "kinds", "coding_session", "wait", "ack"])]
    human: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Acknowledge every item up to a cursor, or every unread item
    Ack {
        /// Cursor of an earlier read [default: all unread items]
        cursor: Option<String>,
    },
    /// List the agent's coding sessions, with their state and last activity
    Sessions,
}

pub(crate) async fn run(context: &Context, args: Inbox) -> Result<(), Failure> {
    if args.human {
        return super::requests::list_open(context).await;
    }
    let client = context.speaker()?;
    match args.command {
        Some(Command::Ack { cursor }) => ack(context, &client, cursor).await,
        Some(Command::Sessions) => sessions(context, &client).await,
        None => read(context, &client, args).await,
    }
}

async fn read(context: &Context, client: &Client, args: Inbox) -> Result<(), Failure> {
    let query = args.page.query();
    let reply = match args.wait {
        Some(time) => client.wait_inbox(&query, time).await?,
        None => client.inbox(&query).await?,
    };
    let me = me(context, client).await?;
    context.answer(&reply, |page| {
        if page.items.is_empty() {
            context.out.note("nothing new");
            return Ok(());
        }
        let text = whole_digest(&me, &json!(page));
        Ok(text.lines().try_for_each(|line| context.out.line(line))?)
    })?;
    if !context.out.is_json() && !reply.items.is_empty() {
        note_invitations(context, client, &reply.value).await;
        if reply
            .value
            .items
            .iter()
            .any(|item| item["kind"] == "session.message" || item["kind"] == "session.invited")
        {
            context.out.note("answer the newest message or invitation with: plenary reply TEXT");
        }
        context.out.note(&format!("acknowledge these items with: plenary inbox ack {}", reply.cursor));
    }
    if args.ack && !reply.items.is_empty() {
        client.ack_inbox(&reply.cursor, AckState::Acknowledged).await?;
    }
    Ok(())
}

/// Notes how to see and accept the invitations of the page, and how to answer what was sent and ended.
async fn note_invitations(context: &Context, client: &Client, page: &InboxPage) {
    let (mut open, mut sent) = (Vec::new(), Vec::new());
    for item in page.items.iter().filter(|item| item["kind"] == "session.invited") {
        let Some(id) = item["ref"]["session_id"].as_str() else { continue };
        let carries = carries_message(client, item).await;
        if carries { &mut sent } else { &mut open }.push(id);
    }
    let named = |ids: &[&str]| match ids {
        [] => None,
        [only] => Some(clean(only).into_owned()),
        _ => Some("ID".to_owned()),
    };
    if let Some(id) = named(&open) {
        context.out.note(&format!(
            "`plenary session show {id}` shows who takes part; to read what is said, `plenary session join {id}`, then `plenary \
             session events {id}`"
        ));
    }
    if let Some(id) = named(&sent) {
        context.out.note(&format!(
            "to answer what was sent with an invitation, `plenary session reopen {id} --message TEXT`"
        ));
    }
}

/// Whether the invitation of an inbox carries the message of a session that ended with it.
pub(super) async fn carries_message(client: &Client, item: &Value) -> bool {
    let session = item["ref"]["session_id"].as_str().and_then(|id| id.parse::<SessionId>().ok());
    let (Some(session), Some(sequence)) = (session, item["ref"]["sequence"].as_u64()) else { return false };
    let query = EventsQuery { after_sequence: sequence.saturating_sub(1), limit: Some(1) };
    let carries = |event: &Event| matches!(&event.body, EventBody::Invited { initial_message: Some(_), .. } if event.sequence == Some(sequence));
    client.events(&session, query).await.is_ok_and(|page| page.value.events.iter().any(carries))
}

async fn ack(context: &Context, client: &Client, cursor: Option<String>) -> Result<(), Failure> {
    let cursor = match cursor {
        Some(cursor) => cursor,
        None => end_of(client).await?,
    };
    let reply = client.ack_inbox(&cursor, AckState::Acknowledged).await?;
    context.answer(&reply, |acked| Ok(context.out.line(&format!("{} unread", acked.unread))?))
}

async fn sessions(context: &Context, client: &Client) -> Result<(), Failure> {
    let reply = client.coding_sessions().await?;
    context.answer(&reply, |list| {
        let mut table = Table::new(&["SESSION", "CODING AGENT", "STATE", "WORKED", "ENDED"]);
        for coding in &list.sessions {
            let state = match coding {
                coding if !coding.live => "gone",
                coding if !coding.hooks => "hooks are off",
                coding if coding.working => "working",
                _ => "idle",
            };
            let ended = coding.ended_at.as_deref().map_or_else(|| "-".to_owned(), second);
            table.row([coding.session.as_str(), &coding.client, state, &second(&coding.worked_at), &ended]);
        }
        Ok(context.out.table(
            &table,
            "no coding session has reported yet; connect a coding agent with `plenary connect`",
        )?)
    })
}

/// The cursor after all unread items.
async fn end_of(client: &Client) -> Result<String, Failure> {
    let mut query = InboxQuery { limit: Some(WHOLE_PAGE), ..InboxQuery::default() };
    loop {
        let page = client.inbox(&query).await?.value;
        if !page.more {
            return Ok(page.cursor);
        }
        query.after = Some(page.cursor);
    }
}

async fn me(context: &Context, client: &Client) -> Result<AgentHandle, Failure> {
    match context.identity()? {
        Some(identity) => Ok(identity.handle),
        None => Ok(client.me().await?.value.handle),
    }
}
