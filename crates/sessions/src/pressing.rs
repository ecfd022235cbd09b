//! The messages that pass an agent's attention level: urgent ones, and replies to the agent.
//! Must not know: the levels of agents.

use std::collections::BTreeSet;

use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, SessionId, Version};
use plenary_log::Fault;
use serde::Deserialize;

use crate::{Sessions, event::SessionEvent, room::SessionRoom};

/// How many events before a message are searched for the agent's own message that it replies to.
pub const REPLY_LOOKED_BACK_MAX: u64 = 50;
/// The value of a message's `metadata.urgency` that makes it urgent.
pub const URGENT: &str = "urgent";

/// How urgent a message or an invitation is for an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressing {
    /// The sender marked it urgent.
    pub is_urgent: bool,
    /// It is the sender's first message after one of the agent.
    pub is_reply: bool,
}

#[derive(Deserialize)]
struct Members {
    metadata: Option<Urgency>,
}

#[derive(Deserialize)]
struct Urgency {
    urgency: Option<String>,
}

/// Whether the sender marked it urgent. Any other value of the member does not.
fn is_urgent(members: &[u8]) -> bool {
    let object = [b"{", members, b"}"].concat();
    let members = serde_json::from_slice::<Members>(&object).ok();
    let urgency = members.and_then(|members| members.metadata?.urgency);
    urgency.is_some_and(|urgency| urgency == URGENT)
}

impl Sessions {
    /// How urgent the event at a version of a session is for an agent. An invitation has the urgency of the session's
    /// first message.
    pub async fn pressing(&self, me: &AgentHandle, id: &SessionId, at: Version) -> Result<Pressing, Fault> {
        let stream = SessionRoom::stream(id.as_str());
        let after = at.0.saturating_sub(REPLY_LOOKED_BACK_MAX + 1);
        let looked = usize::try_from(at.0 - after).unwrap_or(1);
        let mut events = self.log().read_stream(&stream, Version(after), looked).await?;
        let Some(last) = events.pop().filter(|last| last.version == at) else {
            return Ok(Pressing::default());
        };
        let sent = match SessionEvent::decode(&last)? {
            SessionEvent::MessageSent(sent) => sent,
            SessionEvent::AgentInvited(_) => {
                // The first message directly follows the creation.
                let first = self.log().read_stream(&stream, Version(1), 1).await?.pop();
                let first = first.map(|first| SessionEvent::decode(&first)).transpose()?;
                let is_urgent =
                    matches!(&first, Some(SessionEvent::MessageSent(sent)) if is_urgent(&sent.members));
                return Ok(Pressing { is_urgent, is_reply: false });
            }
            SessionEvent::SessionCreated(_)
            | SessionEvent::AgentJoined(_)
            | SessionEvent::AgentDisconnected(_)
            | SessionEvent::AgentReconnected(_)
            | SessionEvent::AgentLeft(_)
            | SessionEvent::SessionEnded(_)
            | SessionEvent::SessionReopened(_) => return Ok(Pressing::default()),
        };
        let mut spoke_since = BTreeSet::new();
        let mut is_reply = false;
        for event in events.iter().filter(|event| event.kind == "MessageSent") {
            if let SessionEvent::MessageSent(before) = SessionEvent::decode(event)? {
                if before.sender == *me {
                    is_reply = true;
                    spoke_since.clear();
                } else {
                    spoke_since.insert(before.sender);
                }
            }
        }
        Ok(Pressing {
            is_urgent: is_urgent(&sent.members),
            is_reply: is_reply && !spoke_since.contains(&sent.sender),
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
