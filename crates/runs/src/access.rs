//! Permissions on an agent, its threads and its runs (wire.md D.8).
//! Must not know: how a token was checked.

use plenary_accounts::{Accounts, Actor, KnownAgent, blocked_between, may_contact};
use plenary_kernel::{AgentHandle, OwnerName};
use plenary_log::{Condition, Fault};

use crate::command::Caller;

/// Whether somebody may configure an agent: its owner and the operator.
#[must_use]
pub fn may_configure(by: &Actor, owner: &OwnerName) -> bool {
    match by {
        Actor::Operator => true,
        Actor::Owner(name) => name == owner,
        Actor::Agent(_) | Actor::Seed => false,
    }
}

/// Whether somebody may read a thread and its runs, and go on with them: whoever opened the thread, the agent's owner
/// and the operator. For everyone else there is no such thread.
#[must_use]
pub fn may_read(by: &Actor, opened_by: &Actor, owner: &OwnerName) -> bool {
    by == opened_by || may_configure(by, owner)
}

/// An agent's gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Whose gate it is.
    pub agent: AgentHandle,
    /// Whether it admits every caller without a block.
    pub is_open: bool,
}

/// The accounts of an agent that asks and of the one that it asks.
#[derive(Debug, Clone)]
pub struct Between {
    /// Who asks.
    pub asking: KnownAgent,
    /// Who is asked.
    pub asked: KnownAgent,
}

/// Whether somebody may run an agent: its owner, the operator, and every agent that may open a session with it. For
/// everyone else there is no such agent. `between` is there where an agent asks.
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

/// [`may_run`], decided on the accounts as they are now. An append that is held to the conditions stands only while
/// they stay so.
///
/// # Errors
/// When the store fails.
pub async fn admits(
    accounts: &Accounts,
    by: &Actor,
    gate: &Gate,
    conditions: &mut Vec<Condition>,
) -> Result<bool, Fault> {
    let Actor::Agent(handle) = by else { return Ok(may_run(by, gate, None)) };
    let between =
        Between { asking: accounts.agent(handle).await?, asked: accounts.agent(&gate.agent).await? };
    hold(conditions, [&between.asking, &between.asked]);
    Ok(may_run(by, gate, Some(&between)))
}

/// Whether a block keeps two agents apart, likewise.
///
/// # Errors
/// When the store fails.
pub async fn are_apart(
    accounts: &Accounts,
    (one, other): (&AgentHandle, &AgentHandle),
    conditions: &mut Vec<Condition>,
) -> Result<bool, Fault> {
    let (one, other) = (accounts.agent(one).await?, accounts.agent(other).await?);
    hold(conditions, [&one, &other]);
    Ok(blocked_between(&one, &other))
}

/// Whether what somebody asks for waits for a person of the agent's owner: the owner wants that, and it is asked by somebody
/// else, or on behalf of one.
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
    hold(conditions, [&asked]);
    Ok(asked.state.holds_runs())
}

fn hold<'a>(conditions: &mut Vec<Condition>, agents: impl IntoIterator<Item = &'a KnownAgent>) {
    for known in agents {
        let condition = known.condition();
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
