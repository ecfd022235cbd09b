//! What stands on an agent's stream, and its stored form. The forms are frozen: a change of one is a new form,
//! and the old one is read on. Pure.

use plenary_engine::stored::{read, unknown, written};
use plenary_kernel::{AgentHandle, AllowEntry};
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

use super::profile::ProfileChange;
use crate::{Actor, Policy, TokenDigest};

/// An event of an agent. `by` is who caused it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// The agent came into being.
    AgentRegistered(AgentRegistered),
    /// Its gate, its leave to configure itself or its profile was set.
    AgentConfigured(AgentConfigured),
    /// Entries were put on its allowlist.
    EntriesAllowed(Entries),
    /// Entries were taken off its allowlist.
    EntriesDisallowed(Entries),
    /// It blocked another agent (ASP-12).
    AgentBlocked(Block),
    /// It lifted a block.
    AgentUnblocked(Block),
    /// Its token was replaced; the old one is dead.
    TokenRotated(TokenRotated),
    /// It is gone, and its token with it; the handle stays taken.
    AgentDeleted(AgentDeleted),
}

/// See [`AgentEvent::AgentRegistered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRegistered {
    /// Who made it.
    pub by: Actor,
    /// Its gate.
    pub policy: Policy,
    /// Its allowlist.
    pub allowlist: Vec<AllowEntry>,
    /// Whether it may configure itself.
    pub self_service: bool,
    /// The digest of its token.
    pub token: TokenDigest,
    /// Its profile.
    #[serde(flatten)]
    pub profile: ProfileChange,
}

/// See [`AgentEvent::AgentConfigured`]. What is absent stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentConfigured {
    /// Who set it.
    pub by: Actor,
    /// The new gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The new leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_service: Option<bool>,
    /// What changes of its profile.
    #[serde(flatten)]
    pub profile: ProfileChange,
}

/// Entries of an allowlist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    /// Who edited the list.
    pub by: Actor,
    /// The entries.
    pub entries: Vec<AllowEntry>,
}

/// A block, or the end of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Who set or lifted it.
    pub by: Actor,
    /// Whom it is about.
    pub blocked: AgentHandle,
}

/// See [`AgentEvent::TokenRotated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRotated {
    /// Who rotated it.
    pub by: Actor,
    /// The digest of the token that died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<TokenDigest>,
    /// The digest of the new one.
    pub new: TokenDigest,
}

/// See [`AgentEvent::AgentDeleted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDeleted {
    /// Who deleted it.
    pub by: Actor,
    /// The digest of the token that died with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenDigest>,
}

impl AgentEvent {
    /// The stored form.
    pub(crate) fn encode(&self) -> NewEvent {
        match self {
            Self::AgentRegistered(event) => written("AgentRegistered", event),
            Self::AgentConfigured(event) => written("AgentConfigured", event),
            Self::EntriesAllowed(event) => written("EntriesAllowed", event),
            Self::EntriesDisallowed(event) => written("EntriesDisallowed", event),
            Self::AgentBlocked(event) => written("AgentBlocked", event),
            Self::AgentUnblocked(event) => written("AgentUnblocked", event),
            Self::TokenRotated(event) => written("TokenRotated", event),
            Self::AgentDeleted(event) => written("AgentDeleted", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub(crate) fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored.kind {
            "AgentRegistered" => Self::AgentRegistered(read(stored)?),
            "AgentConfigured" => Self::AgentConfigured(read(stored)?),
            "EntriesAllowed" => Self::EntriesAllowed(read(stored)?),
            "EntriesDisallowed" => Self::EntriesDisallowed(read(stored)?),
            "AgentBlocked" => Self::AgentBlocked(read(stored)?),
            "AgentUnblocked" => Self::AgentUnblocked(read(stored)?),
            "TokenRotated" => Self::TokenRotated(read(stored)?),
            "AgentDeleted" => Self::AgentDeleted(read(stored)?),
            _ => return unknown(stored),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::profile::Visibility, *};
    use crate::golden::{assert_written, stored};

    const OLD: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    const NEW: &str = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";

    #[test]
    fn stored_forms_are_frozen() {
        let entries = || vec!["@acme.*".parse().unwrap(), "@nick.bot".parse().unwrap()];
        let blocked = || "@mallory.bot".parse().unwrap();
        let (old, new) = (TokenDigest::of("secret"), TokenDigest::of("a"));
        let by = Actor::Operator;
        let registered = AgentRegistered {
            by: Actor::Owner("nick".parse().unwrap()),
            policy: Policy::Allowlist,
            allowlist: entries(),
            self_service: true,
            token: old,
            profile: ProfileChange::default(),
        };
        let forms = [
            (
                AgentEvent::AgentRegistered(registered),
                "AgentRegistered",
                format!(
                    r#"{{"by":"~nick","policy":"allowlist","allowlist":["@acme.*","@nick.bot"],"self_service":true,"token":"{OLD}"}}"#
                ),
            ),
            (
                AgentEvent::AgentConfigured(AgentConfigured {
                    by: Actor::Agent("@nick.bot".parse().unwrap()),
                    policy: Some(Policy::Open),
                    self_service: None,
                    profile: ProfileChange::default(),
                }),
                "AgentConfigured",
                r#"{"by":"@nick.bot","policy":"open"}"#.to_owned(),
            ),
            (
                AgentEvent::EntriesAllowed(Entries { by: Actor::Seed, entries: entries() }),
                "EntriesAllowed",
                r#"{"by":"seed","entries":["@acme.*","@nick.bot"]}"#.to_owned(),
            ),
            (
                AgentEvent::EntriesDisallowed(Entries { by: by.clone(), entries: entries() }),
                "EntriesDisallowed",
                r#"{"by":"operator","entries":["@acme.*","@nick.bot"]}"#.to_owned(),
            ),
            (
                AgentEvent::AgentBlocked(Block { by: by.clone(), blocked: blocked() }),
                "AgentBlocked",
                r#"{"by":"operator","blocked":"@mallory.bot"}"#.to_owned(),
            ),
            (
                AgentEvent::AgentUnblocked(Block { by: by.clone(), blocked: blocked() }),
                "AgentUnblocked",
                r#"{"by":"operator","blocked":"@mallory.bot"}"#.to_owned(),
            ),
            (
                AgentEvent::TokenRotated(TokenRotated { by: by.clone(), old: Some(old), new }),
                "TokenRotated",
                format!(r#"{{"by":"operator","old":"{OLD}","new":"{NEW}"}}"#),
            ),
            (
                AgentEvent::AgentDeleted(AgentDeleted { by, token: Some(old) }),
                "AgentDeleted",
                format!(r#"{{"by":"operator","token":"{OLD}"}}"#),
            ),
        ];
        for (event, kind, envelope) in forms {
            assert_written(&event.encode(), kind, &envelope);
            assert_eq!(AgentEvent::decode(&stored(event.encode())).unwrap(), event);
        }
    }

    #[test]
    fn the_stored_forms_of_a_profile_are_frozen() {
        let described = ProfileChange {
            display_name: Some("Nick".to_owned()),
            description: Some(String::new()),
            card_body: Some("# Nick\n".to_owned()),
            visibility: Some(Visibility::Public),
        };
        let forms = [
            (
                AgentEvent::AgentConfigured(AgentConfigured {
                    by: Actor::Operator,
                    policy: None,
                    self_service: None,
                    profile: described.clone(),
                }),
                "AgentConfigured",
                r##"{"by":"operator","display_name":"Nick","description":"","card_body":"# Nick\n","visibility":"public"}"##
                    .to_owned(),
            ),
            (
                AgentEvent::AgentRegistered(AgentRegistered {
                    by: Actor::Owner("nick".parse().unwrap()),
                    policy: Policy::Allowlist,
                    allowlist: Vec::new(),
                    self_service: true,
                    token: TokenDigest::of("secret"),
                    profile: described,
                }),
                "AgentRegistered",
                format!(
                    r##"{{"by":"~nick","policy":"allowlist","allowlist":[],"self_service":true,"token":"{OLD}","display_name":"Nick","description":"","card_body":"# Nick\n","visibility":"public"}}"##
                ),
            ),
        ];
        for (event, kind, envelope) in forms {
            assert_written(&event.encode(), kind, &envelope);
            assert_eq!(AgentEvent::decode(&stored(event.encode())).unwrap(), event);
        }
    }

    #[test]
    fn an_unknown_kind_or_form_is_corrupt() {
        let event = AgentEvent::AgentDeleted(AgentDeleted { by: Actor::Operator, token: None });
        let good = stored(event.encode());
        let kind = StoredEvent { kind: "AgentRenamed".into(), ..good.clone() };
        let form = StoredEvent { form: 2, ..good };
        for stored in [kind, form] {
            assert!(matches!(AgentEvent::decode(&stored), Err(Fault::Corrupt(_))), "{stored:?}");
        }
    }
}
