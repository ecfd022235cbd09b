//! The profile of an agent, and its visibility. Pure.
//! Must not know: the caller; `viewer.rs` decides that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{CARD_BYTES_MAX, DESCRIPTION_CHARS_MAX, DISPLAY_NAME_CHARS_MAX};

/// The visibility of an agent's profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Only agents that may contact it, its owner and the operator.
    #[default]
    Private,
    /// Every token, except agents that block it or that it blocks.
    Public,
}

/// The kind of an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// A program.
    #[default]
    Agent,
    /// A person, through the console.
    Person,
}

impl AgentKind {
    /// Whether it is a program.
    pub fn is_agent(&self) -> bool {
        *self == Self::Agent
    }
}

/// An agent's profile; empty members are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Its display name.
    pub display_name: Option<String>,
    /// What it is for, in one line.
    pub description: Option<String>,
    /// Its card, in Markdown.
    pub card_body: Option<String>,
    /// The visibility of the profile.
    pub visibility: Visibility,
}

/// A change of a profile, in its stored form: absent members stay unchanged, and an empty text removes one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileChange {
    /// Its display name, one line of 1 to 100 characters; null removes it.
    #[schemars(length(min = 1, max = DISPLAY_NAME_CHARS_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Its description, one line of at most 500 characters; null removes it.
    #[schemars(length(max = DESCRIPTION_CHARS_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its card, in Markdown, at most 16 KiB; null removes it.
    #[schemars(length(max = CARD_BYTES_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card_body: Option<String>,
    /// Who may read its profile; `private` at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

impl ProfileChange {
    /// Whether it contains no change.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Profile {
    /// The part of the change that differs from the profile.
    pub(crate) fn difference(&self, change: &ProfileChange) -> ProfileChange {
        let text = |old: &Option<String>, new: &Option<String>| {
            new.clone().filter(|new| *new != old.as_deref().unwrap_or_default())
        };
        ProfileChange {
            display_name: text(&self.display_name, &change.display_name),
            description: text(&self.description, &change.description),
            card_body: text(&self.card_body, &change.card_body),
            visibility: change.visibility.filter(|new| *new != self.visibility),
        }
    }

    pub(crate) fn evolve(&mut self, change: &ProfileChange) {
        for (old, new) in [
            (&mut self.display_name, &change.display_name),
            (&mut self.description, &change.description),
            (&mut self.card_body, &change.card_body),
        ] {
            if let Some(new) = new {
                *old = Some(new.clone()).filter(|text| !text.is_empty());
            }
        }
        self.visibility = change.visibility.unwrap_or(self.visibility);
    }
}
