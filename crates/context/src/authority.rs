//! Whether a token is still valid when its command is carried out; the append is held to that.
//! Must not know: what the command does.

use plenary_accounts::{Accounts, Actor, Authority};
use plenary_log::{Condition, Fault};

/// Whether the authority's token is valid, with the condition that keeps it so.
pub(crate) async fn holds(
    accounts: &Accounts,
    authority: &Authority,
    conditions: &mut Vec<Condition>,
) -> Result<bool, Fault> {
    let Some(token) = &authority.token else { return Ok(false) };
    match &authority.by {
        // Its token is the process's own, and was looked at when it came.
        Actor::Operator => Ok(true),
        Actor::Seed => Ok(false),
        Actor::Owner(owner) => {
            let owner = accounts.owner(owner).await?;
            conditions.push(owner.condition());
            Ok(owner.state.accepts_token(token))
        }
        Actor::Agent(agent) => {
            let agent = accounts.agent(agent).await?;
            conditions.push(agent.condition());
            Ok(agent.state.accepts_token(token))
        }
    }
}
