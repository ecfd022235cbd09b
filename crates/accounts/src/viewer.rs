//! The visibility of an agent's profile (ASP-12, ASP-18). Pure.
//! Must not know: the content of a profile.

use plenary_kernel::OwnerName;

use crate::{
    KnownAgent, Visibility,
    trust::{blocked_between, may_contact},
};

#[derive(Debug, Clone)]
pub(crate) enum Viewer {
    Operator,
    Owner(OwnerName),
    Agent(KnownAgent),
}

impl Viewer {
    /// Whether the agent is visible to the viewer. A block hides two agents from each other even if one is public; otherwise
    /// the blocked agent could distinguish a block from a deletion.
    pub(crate) fn sees(&self, agent: &KnownAgent) -> bool {
        let is_public = agent.state.profile().visibility == Visibility::Public;
        agent.state.is_live()
            && match self {
                Self::Operator => true,
                Self::Owner(owner) => is_public || owner.as_str() == agent.handle.owner(),
                Self::Agent(me) => {
                    may_contact(me, agent) || is_public && me.state.is_live() && !blocked_between(me, agent)
                }
            }
    }

    /// Whether the agent is the viewer's own: itself, its owner's, or the operator's.
    pub(crate) fn owns(&self, agent: &KnownAgent) -> bool {
        match self {
            Self::Operator => true,
            Self::Owner(owner) => owner.as_str() == agent.handle.owner(),
            Self::Agent(me) => me.handle == agent.handle,
        }
    }

    /// Whether the viewer may change the agent's profile.
    pub(crate) fn edits(&self, agent: &KnownAgent) -> bool {
        self.owns(agent) && (!matches!(self, Self::Agent(_)) || agent.state.configures_itself())
    }
}
