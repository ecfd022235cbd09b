//! The account events for other rooms: committed events, decoded, as far as they change permissions. A room matches
//! on these and never on the names of streams or events. Pure.
//! Must not know: what a room does with them.

use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, OwnerName};
use plenary_log::StoredEvent;

use crate::{OwnerRoom, agent::AgentRoom, agent::event::AgentEvent, console::ConsoleRoom};

/// A change of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountEvent {
    /// A session of the console began or ended, or a passkey was added or removed.
    ConsoleChanged,
    /// Something changed of an owner; its token may have been replaced.
    OwnerChanged(OwnerName),
    /// An agent came into being, or its policy or allowlist changed.
    AgentChanged(AgentHandle),
    /// A token of an agent has died: its own was replaced, or another one ended.
    TokenRotated(AgentHandle),
    /// An agent was deleted, and its token with it.
    AgentDeleted(AgentHandle),
    /// An agent blocked another one, or lifted the block.
    BlockChanged {
        /// The blocking agent.
        blocker: AgentHandle,
        /// Who is or was blocked.
        blocked: AgentHandle,
    },
}

impl AccountEvent {
    /// The change that a committed event is. `None` for events of other rooms, and for those of the accounts that
    /// change nobody's rights.
    pub fn of(event: &StoredEvent) -> Option<Self> {
        match event.stream.category() {
            OwnerRoom::CATEGORY => event.stream.id().parse().ok().map(Self::OwnerChanged),
            ConsoleRoom::CATEGORY => (&*event.kind != "SessionUsed").then_some(Self::ConsoleChanged),
            AgentRoom::CATEGORY => {
                let agent: AgentHandle = event.stream.id().parse().ok()?;
                Some(match AgentEvent::decode(event) {
                    Ok(AgentEvent::TokenRotated(_) | AgentEvent::TokensEnded(_)) => Self::TokenRotated(agent),
                    Ok(AgentEvent::AgentDeleted(_)) => Self::AgentDeleted(agent),
                    Ok(AgentEvent::AgentBlocked(block) | AgentEvent::AgentUnblocked(block)) => {
                        Self::BlockChanged { blocker: agent, blocked: block.blocked }
                    }
                    Ok(
                        AgentEvent::AgentRegistered(_)
                        | AgentEvent::AgentConfigured(_)
                        | AgentEvent::EntriesAllowed(_)
                        | AgentEvent::EntriesDisallowed(_)
                        | AgentEvent::TokenIssued(_)
                        | AgentEvent::GrantRenewed(_),
                    )
                    | Err(_) => Self::AgentChanged(agent),
                })
            }
            _ => None,
        }
    }

    /// The agent whose open connections must check again what they may do: its token died with this event, or somebody
    /// has blocked it, or does so no longer.
    pub fn rechecked(&self) -> Option<&AgentHandle> {
        match self {
            Self::TokenRotated(agent)
            | Self::AgentDeleted(agent)
            | Self::BlockChanged { blocked: agent, .. } => Some(agent),
            Self::ConsoleChanged | Self::OwnerChanged(_) | Self::AgentChanged(_) => None,
        }
    }

    /// The agent whose own account changed.
    pub fn agent(&self) -> Option<&AgentHandle> {
        match self {
            Self::AgentChanged(agent)
            | Self::TokenRotated(agent)
            | Self::AgentDeleted(agent)
            | Self::BlockChanged { blocker: agent, .. } => Some(agent),
            Self::ConsoleChanged | Self::OwnerChanged(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_engine::golden;
    use plenary_log::StreamName;

    use super::*;
    use crate::{
        Actor,
        agent::event::{AgentDeleted, Block},
    };

    fn stored(stream: StreamName, event: &AgentEvent) -> StoredEvent {
        StoredEvent { stream, ..golden::stored(event.encode()) }
    }

    #[test]
    fn whoever_a_change_concerns_is_named() {
        let (blocker, blocked): (AgentHandle, AgentHandle) =
            ("@a.b".parse().unwrap(), "@c.d".parse().unwrap());
        let block = AgentEvent::AgentBlocked(Block { by: Actor::Operator, blocked: blocked.clone() });
        let change = AccountEvent::of(&stored(AgentRoom::stream("@a.b"), &block)).unwrap();
        assert_eq!((change.rechecked(), change.agent()), (Some(&blocked), Some(&blocker)));
        let deleted =
            AgentEvent::AgentDeleted(AgentDeleted { by: Actor::Operator, token: None, ended: Vec::new() });
        let change = AccountEvent::of(&stored(AgentRoom::stream("@a.b"), &deleted)).unwrap();
        assert_eq!(change, AccountEvent::AgentDeleted(blocker.clone()));
        assert_eq!((change.rechecked(), change.agent()), (Some(&blocker), Some(&blocker)));
        assert_eq!(AccountEvent::of(&stored(StreamName::new("sessions.session", "@a.b"), &deleted)), None);
    }

    #[test]
    fn an_event_that_cannot_be_read_is_a_change_of_its_agent() {
        let deleted =
            AgentEvent::AgentDeleted(AgentDeleted { by: Actor::Operator, token: None, ended: Vec::new() });
        let mut damaged = stored(AgentRoom::stream("@a.b"), &deleted);
        damaged.kind = "Unheard".into();
        let change = AccountEvent::of(&damaged).unwrap();
        assert_eq!(change, AccountEvent::AgentChanged("@a.b".parse().unwrap()));
    }
}
