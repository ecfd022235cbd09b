//! `plenary agent sessions`, `events` and `inbox`: what an agent is shown, read by its owner or the operator. Nothing is
//! marked by it.
//! Must not know: whose token asks.

use clap::Args;
use plenary_client::{
    Client,
    inbox::{InboxQuery, digest},
    sessions::{EventsQuery, SessionsQuery},
};
use plenary_kernel::{AgentHandle, SessionId, limits::PAGE_EVENTS_MAX};
use serde_json::json;

use super::{context::Context, failure::Failure, say, session::print_list};

/// Which sessions.
#[derive(Debug, Args)]
pub(crate) struct Sessions {
    /// The agent, e.g. `@nick.assistant`
    pub(crate) handle: AgentHandle,
    /// Only sessions older than this one
    #[arg(long, value_name = "SESSION")]
    before: Option<SessionId>,
    /// At most so many, and never more than 1000 at once [default: 1000]
    #[arg(long)]
    limit: Option<u32>,
}

/// Which events.
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The agent, e.g. `@nick.assistant`
    pub(crate) handle: AgentHandle,
    /// The session, `sess_…`
    #[arg(value_name = "SESSION")]
    id: SessionId,
    /// Only events after this sequence
    #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
    after: u64,
    /// At most so many, and never more than 1000 at once
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=PAGE_EVENTS_MAX as i64))]
    limit: Option<u32>,
}

/// Which news.
#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// The agent, e.g. `@nick.assistant`
    pub(crate) handle: AgentHandle,
    /// Only what is behind this cursor of an earlier read, whether or not it was seen
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// At most so many, and never more than 100 at once [default: 20]
    #[arg(long)]
    limit: Option<u32>,
    /// Only these kinds, with commas between them
    #[arg(long)]
    kinds: Option<String>,
}

pub(crate) async fn sessions(context: &Context, client: &Client, args: Sessions) -> Result<(), Failure> {
    let query = SessionsQuery { before: args.before.map(|id| id.to_string()), limit: args.limit };
    let reply = client.agent_sessions(&args.handle, &query).await?;
    context.answer(&reply, |list| print_list(context, list))
}

pub(crate) async fn events(context: &Context, client: &Client, args: Events) -> Result<(), Failure> {
    let query = EventsQuery { after_sequence: args.after, limit: args.limit };
    let reply = client.agent_events(&args.handle, &args.id, query).await?;
    let out = context.out;
    context.answer(&reply, |page| {
        page.events.iter().try_for_each(|event| out.line(&say::event(&out, event, false)))?;
        if let Some(next) = page.next_cursor {
            out.note(&format!("there are more: --after {next}"));
        }
        Ok(())
    })
}

pub(crate) async fn inbox(context: &Context, client: &Client, args: Inbox) -> Result<(), Failure> {
    let query = InboxQuery { after: args.after, limit: args.limit, kinds: args.kinds };
    let reply = client.agent_inbox(&args.handle, &query).await?;
    context.answer(&reply, |page| {
        if page.items.is_empty() {
            context.out.note("nothing new");
        }
        let text = digest(&args.handle, &json!(page));
        Ok(text.lines().try_for_each(|line| context.out.line(line))?)
    })
}
