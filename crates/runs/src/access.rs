//! Permissions on an agent, its threads and its runs (wire.md D.8).
//! Must not know: the authentication of a token.

use plenary_accounts::{Accounts, Actor, KnownAgent, blocked_between, may_contact};
use plenary_kernel::{AgentHandle, OwnerName};
use plenary_log::{Condition, Fault};

use crate::command::Caller;

/// Whether an actor may configure an agent: its owner and the operator may.
pub fn may_configure(actor: &Actor, owner: &OwnerName) -> bool {
    match actor {
        Actor::Operator => true,
        Actor::Owner(name) => name == owner,
        Actor::Agent(_) | Actor::Seed => false,
    }
}

/// Whether an actor may read a thread and its runs, and continue them: the actor that opened it, the agent's owner
/// and the operator may. To all others the thread looks absent.
pub fn may_read(actor: &Actor, opener: &Actor, owner: &OwnerName) -> bool {
    actor == opener || may_configure(actor, owner)
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
    pub caller: KnownAgent,
    /// The called agent.
    pub target: KnownAgent,
}

/// Whether an actor may run an agent: its owner, the operator, and every agent that may open a session with it may.
/// To all others the agent looks absent. `between` is required if the actor is an agent.
pub fn may_run(actor: &Actor, gate: &Gate, between: Option<&Between>) -> bool {
    match actor {
        Actor::Operator => true,
        Actor::Owner(name) => gate.is_open || *name == gate.agent.owner_name(),
        Actor::Agent(_) => between.is_some_and(|Between { caller, target }| match gate.is_open {
            true => caller.state.is_live() && !blocked_between(caller, target),
            false => may_contact(caller, target),
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
    actor: &Actor,
    gate: &Gate,
    conditions: &mut Vec<Condition>,
) -> Result<bool, Fault> {
    let Actor::Agent(handle) = actor else { return Ok(may_run(actor, gate, None)) };
    let between =
        Between { caller: accounts.agent(handle).await?, target: accounts.agent(&gate.agent).await? };
    if handle.is_elsewhere()
        && let Some(standing) = accounts.guest_standing(handle).await?
    {
        let is_admitted = standing.admits(&between.target, handle);
        add_conditions(conditions, [standing.condition, between.target.condition()]);
        return Ok(is_admitted);
    }
    add_conditions(conditions, [&between.caller, &between.target].map(KnownAgent::condition));
    Ok(may_run(actor, gate, Some(&between)))
}

/// Whether a block separates two agents; `conditions` as for [`admits`].
///
/// # Errors
/// If the store fails.
pub async fn is_blocked_between(
    accounts: &Accounts,
    (first, second): (&AgentHandle, &AgentHandle),
    conditions: &mut Vec<Condition>,
) -> Result<bool, Fault> {
    let (first, second) = (accounts.agent(first).await?, accounts.agent(second).await?);
    add_conditions(conditions, [&first, &second].map(KnownAgent::condition));
    Ok(blocked_between(&first, &second))
}

/// Whether a request is held until a person of the agent's owner releases it: the owner has enabled that, and the
/// request comes from another owner, directly or on whose behalf it is made.
pub(crate) async fn is_held(
    accounts: &Accounts,
    caller: &Caller,
    conditions: &mut Vec<Condition>,
) -> Result<bool, Fault> {
    let requesting_owner = match (&caller.on_behalf_of, &caller.authority.by) {
        (Some(sender), _) => sender.owner_name(),
        (None, Actor::Agent(agent)) => agent.owner_name(),
        (None, Actor::Owner(owner)) => owner.clone(),
        (None, Actor::Operator | Actor::Seed) => return Ok(false),
    };
    if requesting_owner == caller.owner {
        return Ok(false);
    }
    let target = accounts.agent(&caller.gate.agent).await?;
    add_conditions(conditions, [target.condition()]);
    Ok(target.state.holds_runs())
}

/// Adds the conditions on streams that have none yet.
fn add_conditions(conditions: &mut Vec<Condition>, new: impl IntoIterator<Item = Condition>) {
    for condition in new {
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
        let rights = |actor: &str, opened: &str| {
            let (actor, opened) = (actor.parse().unwrap(), opened.parse().unwrap());
            (may_read(&actor, &opened, &owner), may_configure(&actor, &owner))
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
        let runs = |actor: &str, is_open| {
            may_run(&actor.parse().unwrap(), &Gate { agent: "@nick.echo".parse().unwrap(), is_open }, None)
        };
        for is_open in [false, true] {
            assert!(runs("operator", is_open) && runs("~nick", is_open));
            assert_eq!(runs("~ann", is_open), is_open);
            assert!(!runs("@nick.a", is_open), "nothing is known of its account");
            assert!(!runs("seed", is_open));
        }
    }
}
