//! A contact request: the fold of its stream. Pure.
//! Must not know: the two agents' own states.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};

use super::event::ContactEvent;

/// What the asked one said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Yes: each one's allowlist names the other.
    Accepted,
    /// No.
    Declined,
}

/// A contact request. The default is an id that no request has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactState {
    /// The agent that asked, and the agent that was asked.
    pub(crate) pair: Option<(AgentHandle, AgentHandle)>,
    /// Whether the asked one has not been told.
    pub(crate) withheld: bool,
    pub(crate) answer: Option<Answer>,
}

impl ContactState {
    pub(crate) fn evolve(&mut self, event: &ContactEvent) {
        match event {
            ContactEvent::ContactRequested(event) => {
                self.pair = Some((event.from.clone(), event.to.clone()));
                self.withheld = event.withheld;
            }
            ContactEvent::ContactRepeated(_) => self.withheld = false,
            ContactEvent::ContactAccepted(_) => self.answer = Some(Answer::Accepted),
            ContactEvent::ContactDeclined(_) => self.answer = Some(Answer::Declined),
        }
    }
}
