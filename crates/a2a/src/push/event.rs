//! The events of an owner's push configurations, and their stored form. The forms are frozen. Pure.
//! Must not know: their effects.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};

/// A push configuration: the receiver of the notifications about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PushConfig {
    /// The key.
    pub(crate) key: PushKey,
    /// The agent whose task it is.
    pub(crate) agent: AgentHandle,
    /// The agent that the notifications are for.
    #[serde(rename = "by")]
    pub(crate) receiver: AgentHandle,
    /// The token that it was set with, as named by `Accounts::token_name`; `None` if a person set it, or if it is
    /// older than this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) through: Option<String>,
    /// The URL.
    pub(crate) url: String,
    /// The token that the receiver expects; it also signs the notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// For the `Authorization` header to the receiver: the scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scheme: Option<String>,
    /// The credentials of the scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) credentials: Option<String>,
}

/// The key of a configuration among its owner's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PushKey {
    /// The task.
    pub(crate) task: String,
    /// Its id.
    pub(crate) id: String,
    /// The stream of the task.
    pub(crate) stream: String,
}

/// An event of an owner's configurations.
#[expect(clippy::enum_variant_names, reason = "the names under which they are stored")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PushEvent {
    /// It was created or replaced.
    PushConfigSet(Box<PushConfig>),
    /// It was removed.
    PushConfigDeleted(PushKey),
    /// Its task is over and reported.
    PushConfigSettled(PushKey),
}

impl PushEvent {
    pub(crate) fn key(&self) -> &PushKey {
        match self {
            Self::PushConfigSet(config) => &config.key,
            Self::PushConfigDeleted(key) | Self::PushConfigSettled(key) => key,
        }
    }
}

plenary_engine::stored_forms!(PushEvent: PushConfigSet, PushConfigDeleted, PushConfigSettled);

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen;

    use super::*;

    #[test]
    fn configurations_are_stored_as_they_were() {
        assert_frozen::<PushEvent>(&[
            (
                "PushConfigSet",
                r#"{"key":{"task":"t","id":"c","stream":"runs.thread/x"},"agent":"@nick.coder","by":"@ann.app","url":"https://h/","token":"s","scheme":"Bearer"}"#,
            ),
            (
                "PushConfigSet",
                r#"{"key":{"task":"t","id":"c","stream":"runs.thread/x"},"agent":"@nick.coder","by":"@ann.app","through":"tok_1","url":"https://h/","token":"s","scheme":"Bearer"}"#,
            ),
            ("PushConfigDeleted", r#"{"task":"t","id":"c","stream":"runs.thread/x"}"#),
            ("PushConfigSettled", r#"{"task":"t","id":"c","stream":"runs.thread/x"}"#),
        ]);
    }
}
