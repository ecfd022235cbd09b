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
    /// Whether the asking one does not learn of the answer.
    #[serde(default)]
    pub(crate) answer_withheld: bool,
}

impl ContactState {
    pub(crate) fn evolve(&mut self, event: &ContactEvent) {
        match event {
            ContactEvent::ContactRequested(event) => {
                self.pair = Some((event.from.clone(), event.to.clone()));
                self.withheld = event.withheld;
            }
            ContactEvent::ContactRepeated(_) => {
                (self.withheld, self.answer, self.answer_withheld) = (false, None, false);
            }
            ContactEvent::ContactAccepted(event) => {
                (self.answer, self.answer_withheld) = (Some(Answer::Accepted), event.withheld);
            }
            ContactEvent::ContactDeclined(event) => {
                (self.answer, self.answer_withheld) = (Some(Answer::Declined), event.withheld);
            }
        }
    }
}
