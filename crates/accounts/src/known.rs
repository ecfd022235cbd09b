//! A state with the version that becomes a condition of the append.
//! Must not know: how it was read.

use std::sync::Arc;

use plenary_engine::Room;
use plenary_kernel::{AgentHandle, OwnerName, Version};
use plenary_log::{Chain, Condition};

use crate::{
    AgentState,
    agent::AgentRoom,
    org::{OrgRoom, state::OrgState},
    owner::{OwnerRoom, OwnerState},
};

/// An agent as it was read. A handle that nobody has is the default state at version 0.
#[derive(Debug, Clone)]
pub struct KnownAgent {
    /// The handle that was asked for.
    pub handle: AgentHandle,
    /// Its state.
    pub state: Arc<AgentState>,
    /// The version of its stream.
    pub version: Version,
    /// What that version was decided in, where it may not be on disk.
    pub upon: Option<Chain>,
}

impl KnownAgent {
    /// Holds an append to this knowledge: the agent's stream is still at that version.
    pub fn condition(&self) -> Condition {
        Condition {
            stream: AgentRoom::stream(self.handle.as_str()),
            expected: self.version,
            upon: self.upon.clone(),
        }
    }
}

/// An owner as it was read. A name that nobody has is the default state at version 0.
#[derive(Debug, Clone)]
pub struct KnownOwner {
    /// The name that was asked for.
    pub owner: OwnerName,
    /// Its state.
    pub state: Arc<OwnerState>,
    /// The version of its stream.
    pub version: Version,
    /// What that version was decided in, where it may not be on disk.
    pub upon: Option<Chain>,
}

impl KnownOwner {
    /// Holds an append to this knowledge.
    pub fn condition(&self) -> Condition {
        Condition {
            stream: OwnerRoom::stream(self.owner.as_str()),
            expected: self.version,
            upon: self.upon.clone(),
        }
    }
}

/// An organisation as it was read. A name that no organisation has is the default state at version 0.
#[derive(Debug, Clone)]
pub struct KnownOrg {
    /// The name that was asked for.
    pub org: OwnerName,
    /// Its state.
    pub state: Arc<OrgState>,
    /// The version of its stream.
    pub version: Version,
}

impl KnownOrg {
    /// Holds an append to this knowledge.
    pub fn condition(&self) -> Condition {
        Condition::at(OrgRoom::stream(self.org.as_str()), self.version)
    }
}
