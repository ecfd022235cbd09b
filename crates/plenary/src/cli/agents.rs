//! `plenary agents`: whom the agent can reach.
//! Must not know: why; the server says it in a word.

use clap::Args;
use plenary_wire::accounts::{AGENT_REACHABLE, ReachablePage, ReachableQuery};

use super::{context::Context, failure::Failure};
use crate::out::Table;

/// The agents that trust lets this one talk with.
#[derive(Debug, Args)]
pub(crate) struct Agents {
    /// Only handles that have this
    query: Option<String>,
    /// Only agents of this owner
    #[arg(long)]
    owner: Option<String>,
}

pub(crate) async fn run(context: &Context, args: Agents) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let mut table = Table::new(&["AGENT", "TRUST"]);
    let Agents { query, owner } = args;
    let ask = async |at: Option<&str>| {
        let (query, owner, cursor) = (query.clone(), owner.clone(), at.map(str::to_owned));
        client.call(&AGENT_REACHABLE, &[], &ReachableQuery { query, owner, cursor }, &()).await
    };
    let take = |page: &ReachablePage| {
        for agent in &page.agents {
            table.row([agent.handle.as_str(), agent.trust.as_str()]);
        }
    };
    context.pages(ask, |page| page.next_cursor.as_ref(), take).await?;
    context.table(&table, "nobody can be reached: see `plenary me allowlist`")
}
