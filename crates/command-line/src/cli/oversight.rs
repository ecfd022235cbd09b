//! `plenary agent sessions`, `events` and `inbox`: an agent's view, read by its owner or the operator without
//! changing marks.
//! Must not know: the caller.

use clap::Args;
use plenary_client::{Client, inbox::whole_digest, sessions::EventsQuery};
use plenary_kernel::{AgentHandle, OwnerName, SessionId, limits::PAGE_EVENTS_MAX};
use serde_json::json;

use super::{
    context::Context,
    failure::Failure,
    inbox::InboxPart,
    say,
    session::{List, print_list},
};

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
    #[command(flatten)]
    page: List,
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
    #[command(flatten)]
    page: InboxPart,
}

pub(crate) async fn sessions(context: &Context, client: &Client, args: Sessions) -> Result<(), Failure> {
    let query = args.page.query();
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
    let reply = client.agent_inbox(&args.handle, &args.page.query()).await?;
    context.answer(&reply, |page| {
        if page.items.is_empty() {
            context.out.note("nothing new");
        }
        let text = whole_digest(&args.handle, &json!(page));
        Ok(text.lines().try_for_each(|line| context.out.line(line))?)
    })
}
