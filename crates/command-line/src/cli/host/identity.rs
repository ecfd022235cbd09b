//! The identity of the host: the agent itself, which is created if it does not exist.
//! Must not know: the hosted program.

use plenary_client::{Client, accounts::CreateAgent};
use plenary_kernel::AgentHandle;

use super::reporter::HostReporter;
use crate::cli::{agent, context::Context, failure::Failure, identity::Realm};

/// A client with the agent's own token: a given one, else the saved one, else the token of the agent created now, if
/// a token of its owner or the operator is available.
pub(super) async fn client(
    context: &Context,
    handle: &AgentHandle,
    reporter: &HostReporter,
) -> Result<Client, Failure> {
    let missing = match context.client_as(handle) {
        Ok(client) => return Ok(client),
        Err(missing @ Failure::Auth { .. }) => missing,
        Err(failure) => return Err(failure),
    };
    let configuring = match context.configuring_client(Realm::Owner(&handle.owner_name())) {
        Ok(configuring) => configuring,
        Err(Failure::Auth { .. }) => return Err(missing),
        Err(failure) => return Err(failure),
    };
    let mut new_agent = CreateAgent::new(handle.clone());
    let siblings = format!("@{}.*", handle.owner()).parse();
    new_agent.allowlist = vec![siblings.map_err(|error| Failure::local(format!("the owner: {error}")))?];
    let (created, saved) = agent::make(context, &configuring, &new_agent).await?;
    saved?;
    reporter.created().await?;
    agent::note_reach(context, &created);
    context.client_as(handle)
}
