//! `plenary agents`: the agents that this agent can contact.
//! Must not know: the reasons; the server gives them.

use clap::Args;
use plenary_kernel::DOCTOR_NAME;

use super::{context::Context, failure::Failure};
use crate::out::Table;

#[derive(Debug, Args)]
pub(crate) struct Agents {
    /// Only agents whose handle contains this text
    query: Option<String>,
    /// Only agents of this owner
    #[arg(long)]
    owner: Option<String>,
}

pub(crate) async fn run(context: &Context, args: Agents) -> Result<(), Failure> {
    let client = context.agent_client()?;
    let mut table = Table::new(&["AGENT", "TRUST"]);
    let (query, owner) = (args.query.as_deref(), args.owner.as_deref());
    let fetch = async |cursor: Option<&str>| client.reachable(query, owner, cursor).await;
    let take = |page: &plenary_client::accounts::ReachablePage| {
        for agent in page.agents.iter().filter(|agent| agent.handle.name() != DOCTOR_NAME) {
            table.row([agent.handle.as_str(), &agent.trust.replace('_', " ")]);
        }
    };
    context.pages(fetch, |page| page.next_cursor.as_deref(), take).await?;
    context.table(&table, "this agent can contact no other agent; see `plenary me allowlist`")
}
