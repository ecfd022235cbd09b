//! Access to a channel: reading, appending and closing (wire.md D.6). Pure.
//! Must not know: HTTP, the source of the agents' states.

use plenary_accounts::{Actor, KnownAgent, PeerStanding, blocked_between, may_contact};

use crate::{
    command::Caller,
    state::{ChannelState, owner_of},
};

/// The accounts that a command on a channel depends on.
#[derive(Debug, Clone, Default)]
pub struct People {
    /// Whether the caller's token is valid.
    pub is_authorized: bool,
    /// The caller, if it is an agent.
    pub agent: Option<KnownAgent>,
    /// The agent that created the channel, if it is another agent than the caller.
    pub creator: Option<KnownAgent>,
    /// The accord under which the caller acts, if it is an agent of another network.
    pub standing: Option<PeerStanding>,
}

/// The reason why a caller may use a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The caller is the operator, or belongs to the owner that created the channel.
    Owner,
    /// The caller's owner has shown the key before.
    Admitted,
    /// The caller shows the key in this request.
    Key,
    /// The channel was created without a token, and the server requires none.
    Open,
    /// The caller may open a session with the agent that created the channel.
    Trusted,
}

/// Whether and why the caller may use a channel. A block between the caller and the creator overrides every reason. An agent
/// of another network needs the key or an entry in the creator's allowlist, and the creator's owner takes part in the accord.
pub fn access(state: &ChannelState, caller: &Caller, people: &People) -> Option<Access> {
    let created = state.created.as_ref()?;
    let pair = people.agent.as_ref().zip(people.creator.as_ref());
    if pair.is_some_and(|(agent, creator)| blocked_between(agent, creator)) {
        return None;
    }
    let (owner, creating) = (owner_of(caller.via()), owner_of(created.via.as_ref()));
    let is_outside =
        |standing: &PeerStanding| !creating.as_ref().is_some_and(|one| standing.owners.contains(one));
    if people.standing.as_ref().is_some_and(is_outside) {
        return None;
    }
    let is_owner = owner.is_some() && owner == creating;
    let shows_key =
        || state.key.as_ref().zip(caller.key.as_ref()).is_some_and(|(key, shown)| key.matches(shown));
    if is_owner || caller.via() == Some(&Actor::Operator) {
        Some(Access::Owner)
    } else if owner.is_some_and(|owner| state.admitted.contains(&owner)) {
        Some(Access::Admitted)
    } else if shows_key() {
        Some(Access::Key)
    } else if caller.open && created.via.is_none() {
        Some(Access::Open)
    } else {
        let is_trusted = |(agent, creator): (&KnownAgent, &KnownAgent)| match &people.standing {
            Some(standing) => standing.admits(creator, &agent.handle),
            None => may_contact(agent, creator),
        };
        pair.is_some_and(is_trusted).then_some(Access::Trusted)
    }
}
