//! The events of a contact request's stream, and their stored form. The forms are frozen. Pure.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};

use crate::Actor;

/// An event of a contact request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContactEvent {
    /// An agent asked for contact.
    ContactRequested(ContactRequested),
    /// It asked again, and now its request reached the other one.
    ContactRepeated(ContactRepeated),
    /// The other side accepted.
    ContactAccepted(ContactAccepted),
    /// The other side declined.
    ContactDeclined(ContactDeclined),
}

/// See [`ContactEvent::ContactRequested`]. The message is the payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactRequested {
    /// The requesting agent.
    pub from: AgentHandle,
    /// The requested agent; it may not exist.
    pub to: AgentHandle,
    /// Whether the other one may not know of it: there is nobody, or one of the two blocks the other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
    /// What it says with it.
    #[serde(skip)]
    pub message: Option<String>,
}

/// See [`ContactEvent::ContactRepeated`]. The message is the payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactRepeated {
    /// What it says this time.
    #[serde(skip)]
    pub message: Option<String>,
}

/// See [`ContactEvent::ContactAccepted`]. Each of the two flags goes with an `EntriesAllowed` in the same append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactAccepted {
    /// Who accepted.
    pub by: Actor,
    /// Who had asked.
    pub from: AgentHandle,
    /// Who was asked.
    pub to: AgentHandle,
    /// Whether the asking one's allowlist got the entry.
    pub listed_by_from: bool,
    /// Whether the asked one's allowlist got the entry.
    pub listed_by_to: bool,
    /// Whether the asking one may not know of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// See [`ContactEvent::ContactDeclined`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactDeclined {
    /// Who declined.
    pub by: Actor,
    /// Who had asked.
    pub from: AgentHandle,
    /// Who was asked.
    pub to: AgentHandle,
    /// Whether the asking one may not know of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

plenary_engine::stored_forms! {
    ContactEvent: ContactRequested + message, ContactRepeated + message, ContactAccepted, ContactDeclined
}

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen_with;

    use super::*;

    #[test]
    fn stored_forms_are_frozen() {
        assert_frozen_with::<ContactEvent>(&[
            ("ContactRequested", r#"{"from":"@alice.bot","to":"@bob.bot"}"#, "hi"),
            ("ContactRequested", r#"{"from":"@alice.bot","to":"@bob.bot","withheld":true}"#, ""),
            ("ContactRepeated", "{}", "again"),
            (
                "ContactAccepted",
                r#"{"by":"~bob","from":"@alice.bot","to":"@bob.bot","listed_by_from":false,"listed_by_to":true,"withheld":true}"#,
                "",
            ),
            ("ContactDeclined", r#"{"by":"~bob","from":"@alice.bot","to":"@bob.bot"}"#, ""),
        ]);
    }
}
