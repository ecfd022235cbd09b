//! The messages that pass an agent's attention level: urgent ones, and replies to the agent.
//! Must not know: the levels of agents.

use std::collections::BTreeSet;

use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, SessionId, Version};
use plenary_log::Fault;
use serde::Deserialize;

use crate::{
    Sessions,
    event::{MESSAGE_SENT, SessionEvent, json_object},
    room::SessionRoom,
};

/// How many events before a message are searched for the agent's own message that it replies to.
pub const REPLY_LOOKED_BACK_MAX: u64 = 50;
/// The value of a message's `metadata.urgency` that makes it urgent.
pub const URGENT: &str = "urgent";

/// How urgent a message or an invitation is for an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageUrgency {
    /// The sender marked it urgent.
    pub is_urgent: bool,
    /// It is the sender's first message after one of the agent.
    pub is_reply: bool,
}

#[derive(Deserialize)]
struct Members {
    metadata: Option<UrgencyMetadata>,
}

#[derive(Deserialize)]
struct UrgencyMetadata {
    urgency: Option<String>,
}

/// Whether the sender marked it urgent. Any other value of the member does not.
fn is_urgent(members: &[u8]) -> bool {
    let object = json_object(members);
    let members = serde_json::from_slice::<Members>(&object).ok();
    let urgency = members.and_then(|members| members.metadata?.urgency);
    urgency.is_some_and(|urgency| urgency == URGENT)
}

impl Sessions {
    /// How urgent the event at a version of a session is for an agent. An invitation has the urgency of the session's
    /// first message.
    pub async fn urgency_of(
        &self,
        agent: &AgentHandle,
        id: &SessionId,
        at: Version,
    ) -> Result<MessageUrgency, Fault> {
        let stream = SessionRoom::stream(id.as_str());
        let after = at.0.saturating_sub(REPLY_LOOKED_BACK_MAX + 1);
        let max = usize::try_from(at.0 - after).unwrap_or(1);
        let mut events = self.log().read_stream(&stream, Version(after), max).await?;
        let Some(event) = events.pop().filter(|event| event.version == at) else {
            return Ok(MessageUrgency::default());
        };
        let message = match SessionEvent::decode(&event)? {
            SessionEvent::MessageSent(message) => message,
            SessionEvent::AgentInvited(_) => {
                // The first message directly follows the creation.
                let first_message = self.log().read_stream(&stream, Version(1), 1).await?.pop();
                let first_message =
                    first_message.map(|first_message| SessionEvent::decode(&first_message)).transpose()?;
                let is_urgent = matches!(&first_message, Some(SessionEvent::MessageSent(message)) if is_urgent(&message.members));
                return Ok(MessageUrgency { is_urgent, is_reply: false });
            }
            SessionEvent::SessionCreated(_)
            | SessionEvent::AgentJoined(_)
            | SessionEvent::AgentDisconnected(_)
            | SessionEvent::AgentReconnected(_)
            | SessionEvent::AgentLeft(_)
            | SessionEvent::SessionEnded(_)
            | SessionEvent::SessionReopened(_) => return Ok(MessageUrgency::default()),
        };
        let mut senders_since = BTreeSet::new();
        let mut is_reply = false;
        for event in events.iter().filter(|event| event.kind == MESSAGE_SENT) {
            if let SessionEvent::MessageSent(earlier) = SessionEvent::decode(event)? {
                if earlier.sender == *agent {
                    is_reply = true;
                    senders_since.clear();
                } else {
                    senders_since.insert(earlier.sender);
                }
            }
        }
        Ok(MessageUrgency {
            is_urgent: is_urgent(&message.members),
            is_reply: is_reply && !senders_since.contains(&message.sender),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_makes_a_message_urgent() {
        assert!(is_urgent(br#""content":"x","metadata":{"urgency":"urgent","a":[1]}"#));
        for other in [
            r#""content":"urgent""#,
            r#""content":"x","metadata":{"urgency":"normal"}"#,
            r#""content":"x","metadata":{"urgency":true}"#,
            r#""content":"x","metadata":{"x":{"urgency":"urgent"}}"#,
        ] {
            assert!(!is_urgent(other.as_bytes()), "{other}");
        }
    }
}
