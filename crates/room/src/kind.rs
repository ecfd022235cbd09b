//! The kinds of news. Pure.
//! Must not know: the rooms, or marks.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

plenary_kernel::words! {
    /// The kind of an inbox item. The names are stored.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Kind {
        /// Another agent's message in a session.
        #[serde(rename = "session.message")]
        SessionMessage = "session.message",
        /// The agent was invited to a session.
        #[serde(rename = "session.invited")]
        SessionInvited = "session.invited",
        /// Another agent asks for contact.
        #[serde(rename = "contact.requested")]
        ContactRequested = "contact.requested",
        /// A frame that concerns the agent.
        #[serde(rename = "frame")]
        Frame = "frame",
        /// An event of a channel that names the agent.
        #[serde(rename = "channel.mention")]
        ChannelMention = "channel.mention",
        /// A package waits for a review that the agent may give.
        #[serde(rename = "review.requested")]
        ReviewRequested = "review.requested",
        /// A run that the agent started waits for input.
        #[serde(rename = "run.waiting")]
        RunWaiting = "run.waiting",
        /// A stranger's invitation that the agent has not answered. It has its own list with its own marks; the API shows
        /// and filters it as `session.invited`.
        #[serde(rename = "session.offered")]
        #[schemars(skip)]
        SessionOffered = "session.offered",
        /// A person answered a request of the agent.
        #[serde(rename = "request.answered")]
        RequestAnswered = "request.answered",
    }
}

impl Kind {
    /// The kind under which the API shows it.
    pub const fn shown(self) -> Self {
        match self {
            Self::SessionOffered => Self::SessionInvited,
            Self::SessionMessage
            | Self::SessionInvited
            | Self::ContactRequested
            | Self::Frame
            | Self::ChannelMention
            | Self::ReviewRequested
            | Self::RunWaiting
            | Self::RequestAnswered => self,
        }
    }

    /// Whether its items have log positions that a cursor can cover.
    pub const fn is_in_line(self) -> bool {
        !matches!(self, Self::Frame | Self::SessionOffered)
    }

    /// Its bit in a set of kinds.
    pub const fn bit(self) -> u16 {
        1 << self as u8
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_wire_is_the_stored_one() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
    }
}
