//! Permissions on an agent, its threads and its runs (wire.md D.8).
//! Must not know: the authentication of a token.

use plenary_accounts::{Accounts, Actor, KnownAgent, blocked_between, may_contact};
use plenary_kernel::{AgentHandle, OwnerName};
use plenary_log::{Condition, Fault};

use crate::command::Caller;

/// Whether an actor may configure an agent: its owner and the operator may.
#[must_use]
pub fn may_configure(by: &Actor, owner: &OwnerName) -> bool {
    match by {
        Actor::Operator => true,
        Actor::Owner(name) => name == owner,
        Actor::Agent(_) | Actor::Seed => false,
    }
}

/// Whether an actor may read a thread and its runs, and continue them: the actor that opened it, the agent's owner
/// and the operator may. To all others the thread looks absent.
#[must_use]
pub fn may_read(by: &Actor, opened_by: &Actor, owner: &OwnerName) -> bool {
    by == opened_by || may_configure(by, owner)
}

/// The access rule of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// The agent.
    pub agent: AgentHandle,
    /// Whether it admits every caller without a block.
    pub is_open: bool,
}

/// The accounts of the calling agent and of the called one.
#[derive(Debug, Clone)]
pub struct Between {
    /// The calling agent.
    pub asking: KnownAgent,
    /// The called agent.
    pub asked: KnownAgent,
}

/// Whether an actor may run an agent: its owner, the operator, and every agent that may open a session with it may.
/// To all others the agent looks absent. `between` is required if the actor is an agent.
#[must_use]
pub fn may_run(by: &Actor, gate: &Gate, between: Option<&Between>) -> bool {
    match by {
        Actor::Operator => true,
        Actor::Owner(name) => gate.is_open || *name == gate.agent.owner_name(),
        Actor::Agent(_) => between.is_some_and(|Between { asking, asked }| match gate.is_open {
            true => asking.state.is_live() && !blocked_between(asking, asked),
            false => may_contact(asking, asked),
        }),
        Actor::Seed => false,
    }
}

/// [`may_run`] on the current accounts. An agent of another network must be in the agent's allowlist, also if the agent is
/// open. An append under `conditions` succeeds only while those accounts stay
/// unchanged.
///
/// # Errors
/// If the store fails.
pub async fn admits(
    accounts: &Accounts,
    by: &Actor,
    gate: &Gate,
    conditions: &mut Vec<Condition>,
) -> Result<bool, Fault> {
    let Actor::Agent(handle) = by else { return Ok(may_run(by, gate, None)) };
    let between =
        Between { asking: accounts.agent(handle).await?, asked: accounts.agent(&gate.agent).await? };
    if handle.is_elsewhere()
        && let Some(standing) = accounts.guest_standing(handle).await?
    {
        let is_admitted = standing.admits(&between.asked, handle);
        hold(conditions, [standing.condition, between.asked.condition()]);
        return Ok(is_admitted);
    }
    hold(conditions, [&between.asking, &between.asked].map(KnownAgent::condition));
    Ok(may_run(by, gate, Some(&between)))
}

/// Whether a block separates two agents; `conditions` as for [`admits`].
///
/// # Errors
/// If the store fails.
pub async fn is_blocked_between(
    accounts: &Accounts,
    (one, other): (&AgentHandle, &AgentHandle),
    conditions: &mut Vec<Condition>,
) -> Result<bool, Fault> {
    let (one, other) = (accounts.agent(one).await?, accounts.agent(other).await?);
    hold(conditions, [&one, &other].map(KnownAgent::condition));
    Ok(blocked_between(&one, &other))
}

/// Whether a request is held until a person of the agent's owner releases it: the owner has enabled that, and the
/// request comes from another owner, directly or on whose behalf it is made.
pub(crate) async fn is_held(
    accounts: &Accounts,
    caller: &Caller,
    conditions: &mut Vec<Condition>,
) -> Result<bool, Fault> {
    let asker = match (&caller.on_behalf_of, &caller.authority.by) {
        (Some(sender), _) => sender.owner_name(),
        (None, Actor::Agent(agent)) => agent.owner_name(),
        (None, Actor::Owner(owner)) => owner.clone(),
        (None, Actor::Operator | Actor::Seed) => return Ok(false),
    };
    if asker == caller.owner {
        return Ok(false);
    }
    let asked = accounts.agent(&caller.gate.agent).await?;
    hold(conditions, [asked.condition()]);
    Ok(asked.state.holds_runs())
}

/// Adds the conditions on streams that have none yet.
fn hold(conditions: &mut Vec<Condition>, added: impl IntoIterator<Item = Condition>) {
    for condition in added {
        if conditions.iter().all(|other| other.stream != condition.stream) {
            conditions.push(condition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc_8_a_thread_is_for_who_opened_it_its_agents_owner_and_the_operator() {
        let owner = "nick".parse().unwrap();
        let rights = |by: &str, opened: &str| {
            let (by, opened) = (by.parse().unwrap(), opened.parse().unwrap());
            (may_read(&by, &opened, &owner), may_configure(&by, &owner))
        };
        assert_eq!(rights("operator", "@a.b"), (true, true));
        assert_eq!(rights("~nick", "@a.b"), (true, true));
        assert_eq!(rights("@a.b", "@a.b"), (true, false));
        assert_eq!(rights("@a.c", "@a.b"), (false, false));
        assert_eq!(rights("~a", "@a.b"), (false, false));
        assert_eq!(rights("@nick.x", "@a.b"), (false, false));
        assert_eq!(rights("~a", "~a"), (true, false));
    }

    #[test]
    fn sc_8_owners_run_their_own_agents_and_open_ones() {
        let runs = |by: &str, is_open| {
            may_run(&by.parse().unwrap(), &Gate { agent: "@nick.echo".parse().unwrap(), is_open }, None)
        };
        for is_open in [false, true] {
            assert!(runs("operator", is_open) && runs("~nick", is_open));
            assert_eq!(runs("~ann", is_open), is_open);
            assert!(!runs("@nick.a", is_open), "nothing is known of its account");
            assert!(!runs("seed", is_open));
        }
    }
}
