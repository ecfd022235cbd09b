//! `plenary agent sessions`, `events` and `inbox`: an agent's view, read by its owner or the operator without
//! changing marks.
//! Must not know: the caller.

use clap::Args;
use plenary_client::{
    Client,
    inbox::{InboxQuery, whole_digest},
    sessions::{EventsQuery, SessionsQuery},
};
use plenary_kernel::{AgentHandle, OwnerName, SessionId, limits::PAGE_EVENTS_MAX};
use serde_json::json;

use super::{context::Context, failure::Failure, inbox, say, session::print_list};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  plenary agent sessions @nick.assistant\n  plenary agent sessions --owner nick"
)]
pub(crate) struct Sessions {
    /// The agent, e.g. `@nick.assistant` [default: all agents]
    #[arg(value_name = "HANDLE")]
    pub(crate) handle: Option<AgentHandle>,
    /// Owner whose agents are listed, e.g. `nick` [default: the owner of your token]
    #[arg(long, conflicts_with = "handle")]
    pub(crate) owner: Option<OwnerName>,
    /// Only sessions older than this one
    #[arg(long, value_name = "SESSION")]
    before: Option<SessionId>,
    /// Number of sessions at most, up to 1000 [default: 1000]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The agent, e.g. `@nick.assistant`
    pub(crate) handle: AgentHandle,
    /// The session, `sess_…`
    #[arg(value_name = "SESSION")]
    id: SessionId,
    /// Only events after this sequence number
    #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
    after: u64,
    /// Number of events at most, up to 1000
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=PAGE_EVENTS_MAX as i64))]
    limit: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// The agent, e.g. `@nick.assistant`
    pub(crate) handle: AgentHandle,
    /// Only items after this cursor of an earlier read, seen or not
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// Number of items at most, up to 100 [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: Option<u32>,
    /// Only these kinds, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = inbox::KINDS)]
    kinds: Option<Vec<String>>,
    /// Only items for this coding session, as `inbox sessions` lists them
    #[arg(long, value_name = "ID")]
    coding_session: Option<String>,
}

pub(crate) async fn sessions(context: &Context, client: &Client, args: Sessions) -> Result<(), Failure> {
    let query = SessionsQuery { before: args.before.map(|id| id.to_string()), limit: args.limit };
    let reply = match &args.handle {
        Some(handle) => client.agent_sessions(handle, &query).await?,
        None => client.owner_sessions(args.owner.as_ref(), &query).await?,
    };
    context.answer(&reply, |list| print_list(context, list))
}

pub(crate) async fn events(context: &Context, client: &Client, args: Events) -> Result<(), Failure> {
    let query = EventsQuery { after_sequence: args.after, limit: args.limit };
    let reply = client.agent_events(&args.handle, &args.id, query).await?;
    let out = context.out;
    context.answer(&reply, |page| {
        page.events.iter().try_for_each(|event| out.line(&say::event(&out, event, false)))?;
        if let Some(next) = page.next_cursor {
            out.note(&format!("for more: --after {next}"));
        }
        Ok(())
    })
}

pub(crate) async fn inbox(context: &Context, client: &Client, args: Inbox) -> Result<(), Failure> {
    let query = InboxQuery {
        after: args.after,
        limit: args.limit,
        kinds: args.kinds.map(|kinds| kinds.join(",")),
        coding_session: args.coding_session,
    };
    let reply = client.agent_inbox(&args.handle, &query).await?;
    context.answer(&reply, |page| {
        if page.items.is_empty() {
            context.out.note("nothing new");
        }
        let text = whole_digest(&args.handle, &json!(page));
        Ok(text.lines().try_for_each(|line| context.out.line(line))?)
    })
}
