//! The followers of live streams, as far as the accounts know them: an account event may end their permission.
//! Must not know: the followed streams.

use std::hash::Hash;

use plenary_kernel::AgentHandle;

use crate::{AccountEvent, Principal, TokenOwner};

/// Everyone who follows a stream of a room live. `B` is who has a budget of live streams.
pub type Watchers<B> = plenary_room::Watchers<B, Follower>;
/// A place among them.
pub type Watch<B> = plenary_room::Watch<B, Follower>;

/// Somebody who follows a stream.
#[derive(Debug, Clone)]
pub struct Follower {
    /// Absent where no token was sent.
    who: Option<TokenOwner>,
    /// Whether it is a person, with a session of the console or the token of its owner.
    is_person: bool,
    /// Where the right to follow goes by the trust between the follower and an agent: that agent.
    trusts: Option<AgentHandle>,
}

impl Follower {
    /// Whoever sent a token, or nobody in particular.
    pub fn new(principal: Option<&Principal>) -> Self {
        let is_person = principal.is_some_and(|principal| principal.token.is_person());
        Self { who: principal.map(|principal| principal.who.clone()), is_person, trusts: None }
    }

    /// The same where the right to follow goes by the trust between the follower and an agent.
    pub fn trusting(self, agent: Option<AgentHandle>) -> Self {
        Self { trusts: agent, ..self }
    }

    /// Whether the follower must check again whether it may follow.
    pub fn is_concerned(&self, change: &AccountEvent) -> bool {
        // A session ends with itself, with the token that it was made with, and with its person.
        let ends_sessions = matches!(
            change,
            AccountEvent::ConsoleChanged | AccountEvent::OwnerChanged(_) | AccountEvent::AgentDeleted(_)
        );
        if self.is_person && ends_sessions {
            return true;
        }
        let is_its_own = match (&self.who, change) {
            (Some(TokenOwner::Owner(name)), AccountEvent::OwnerChanged(owner)) => name == owner,
            (Some(TokenOwner::Agent(handle)), _) => change.rechecked() == Some(handle),
            (Some(TokenOwner::Owner(_) | TokenOwner::Operator) | None, _) => false,
        };
        let (Some(trusted_agent), Some(changed_agent)) = (&self.trusts, change.agent()) else {
            return is_its_own;
        };
        let is_itself = matches!(&self.who, Some(TokenOwner::Agent(handle)) if handle == changed_agent);
        is_its_own || trusted_agent == changed_agent || is_itself
    }
}

/// Those who are concerned by a change of an account look again whether they may follow.
pub fn recheck<B: Eq + Hash + Clone>(watchers: &Watchers<B>, change: &AccountEvent) {
    watchers.recheck_where(|follower| follower.is_concerned(change));
}
