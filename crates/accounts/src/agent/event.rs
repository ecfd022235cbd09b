//! The events of an agent's stream, and their stored form. The forms are frozen: a change is a new form, and the old
//! form stays readable. Pure.

use plenary_kernel::{AgentHandle, AllowEntry, TimestampMs};
use serde::{Deserialize, Serialize};

use super::{
    attention::{AttentionChange, AttentionLevel},
    profile::{AgentKind, ProfileChange},
    tokens::{GrantClient, IssuerStatement},
};
use crate::{Actor, Policy, Scope, TokenDigest};

/// An event of an agent. `by` is its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a decision makes a few and a fold reads one at a time; nothing keeps them"
)]
pub enum AgentEvent {
    /// The agent was registered.
    AgentRegistered(AgentRegistered),
    /// Settings or the profile changed.
    AgentConfigured(AgentConfigured),
    /// Entries were added to its allowlist.
    EntriesAllowed(Entries),
    /// Entries were removed from its allowlist.
    EntriesDisallowed(Entries),
    /// It blocked another agent (ASP-12).
    AgentBlocked(Block),
    /// It lifted a block.
    AgentUnblocked(Block),
    /// Its token was replaced; the old one is invalid.
    TokenRotated(TokenRotated),
    /// It was deleted with its tokens; the handle stays reserved.
    AgentDeleted(AgentDeleted),
    /// It got an additional token, or a client got a grant.
    TokenIssued(TokenIssued),
    /// A client used its grant for the first time, or renewed it.
    GrantRenewed(GrantRenewed),
    /// Additional tokens ended.
    TokensEnded(TokensEnded),
}

/// See [`AgentEvent::AgentRegistered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRegistered {
    /// The creator.
    pub by: Actor,
    /// Its contact policy.
    pub policy: Policy,
    /// Its allowlist.
    pub allowlist: Vec<AllowEntry>,
    /// Whether it may configure itself.
    pub self_service: bool,
    /// The digest of its token.
    pub token: TokenDigest,
    /// Whether it stands for a person.
    #[serde(default, skip_serializing_if = "AgentKind::is_agent")]
    pub kind: AgentKind,
    /// Its profile.
    #[serde(flatten)]
    pub profile: ProfileChange,
}

/// See [`AgentEvent::AgentConfigured`]. Absent members are unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentConfigured {
    /// The cause.
    pub by: Actor,
    /// The new contact policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The new permission to configure itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_service: Option<bool>,
    /// Whether runs that others ask for are held from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_runs: Option<bool>,
    /// Whether invitations by others are held from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_invitations: Option<bool>,
    /// The new attention level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<AttentionLevel>,
    /// The end of the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_until: Option<TimestampMs>,
    /// The changes of the profile.
    #[serde(flatten)]
    pub profile: ProfileChange,
}

/// Entries of an allowlist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    /// The cause.
    pub by: Actor,
    /// The entries.
    pub entries: Vec<AllowEntry>,
}

/// A block, or the end of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The cause.
    pub by: Actor,
    /// The blocked agent.
    pub blocked: AgentHandle,
}

/// See [`AgentEvent::TokenRotated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRotated {
    /// The cause.
    pub by: Actor,
    /// The digest of the invalid token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<TokenDigest>,
    /// The digest of the new one.
    pub new: TokenDigest,
    /// The tokens that were made with the old one and ended with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedToken>,
}

/// See [`AgentEvent::AgentDeleted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDeleted {
    /// The cause.
    pub by: Actor,
    /// The digest of its own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenDigest>,
    /// Its additional tokens, which ended too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedToken>,
}

/// See [`AgentEvent::TokenIssued`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenIssued {
    /// The creator.
    pub by: Actor,
    /// Its id: a ULID.
    pub id: String,
    /// The digest of the token; absent for a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenDigest>,
    /// The id of the parent token, `own` for the agent's own; absent if the owner or the operator created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its scope.
    pub scope: Scope,
    /// The name that its creator chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its expiry; an unused grant ends then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<TimestampMs>,
    /// The client of a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<GrantClient>,
    /// The configured name of the issuer whose token was exchanged for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The issuer's statement.
    #[serde(default, rename = "word", skip_serializing_if = "Option::is_none")]
    pub statement: Option<IssuerStatement>,
    /// The resource that it is for, if narrower than that of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
}

/// See [`AgentEvent::GrantRenewed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRenewed {
    /// The grant.
    pub id: String,
    /// The digest of the part that all refresh tokens of the grant share.
    pub key: TokenDigest,
    /// The digest of the valid refresh token.
    pub refresh: TokenDigest,
    /// The previous expiry of the unused grant, at its first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_until: Option<TimestampMs>,
    /// The new expiry, at its first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<TimestampMs>,
}

/// An ended token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedToken {
    /// Its id.
    pub id: String,
    /// Its digest; absent for a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenDigest>,
    /// Its expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<TimestampMs>,
}

/// The reason why tokens ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyEnded {
    /// They were revoked.
    Revoked,
    /// They expired.
    Expired,
    /// A code or a refresh token was used twice.
    Reused,
}

/// See [`AgentEvent::TokensEnded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokensEnded {
    /// The cause; absent after expiry and after a repeated use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// The reason.
    pub why: WhyEnded,
    /// The ended tokens, including those made with them.
    pub ended: Vec<EndedToken>,
}

impl AgentConfigured {
    /// The change of the attention level.
    pub fn attention(&self) -> Option<AttentionChange> {
        self.attention.map(|level| AttentionChange { level, until: self.attention_until })
    }
}

plenary_engine::stored_forms! {
    AgentEvent: AgentRegistered, AgentConfigured, EntriesAllowed, EntriesDisallowed, AgentBlocked,
    AgentUnblocked, TokenRotated, AgentDeleted, TokenIssued, GrantRenewed, TokensEnded
}

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen;

    use super::{super::profile::Visibility, *};

    const OLD: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    const NEW: &str = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";

    fn configured(by: &str) -> AgentConfigured {
        AgentConfigured {
            by: by.parse().unwrap(),
            policy: None,
            self_service: None,
            hold_runs: None,
            hold_invitations: None,
            attention: None,
            attention_until: None,
            profile: ProfileChange::default(),
        }
    }

    fn issued(by: &str, id: &str) -> TokenIssued {
        TokenIssued {
            by: by.parse().unwrap(),
            id: id.into(),
            token: Some(TokenDigest::of("secret")),
            parent: None,
            scope: "sessions:write session:s".parse().unwrap(),
            name: None,
            expires_at: Some(TimestampMs(9)),
            client: None,
            issuer: None,
            statement: None,
            resource: None,
        }
    }

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
            kind: AgentKind::Agent,
            profile: ProfileChange::default(),
        };
        let rotated = TokenRotated { by: by.clone(), old: Some(old), new, ended: Vec::new() };
        let forms = [
            (
                AgentEvent::AgentRegistered(registered),
                "AgentRegistered",
                format!(
                    r#"{{"by":"~nick","policy":"allowlist","allowlist":["@acme.*","@nick.bot"],"self_service":true,"token":"{OLD}"}}"#
                ),
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
                AgentEvent::TokenRotated(rotated),
                "TokenRotated",
                format!(r#"{{"by":"operator","old":"{OLD}","new":"{NEW}"}}"#),
            ),
            (
                AgentEvent::AgentDeleted(AgentDeleted { by, token: Some(old), ended: Vec::new() }),
                "AgentDeleted",
                format!(r#"{{"by":"operator","token":"{OLD}"}}"#),
            ),
        ];
        for (event, kind, envelope) in forms {
            assert_frozen(&event, kind, &envelope, "");
        }
    }

    #[test]
    fn the_stored_forms_of_settings_are_frozen() {
        let forms = [
            (
                AgentEvent::AgentConfigured(AgentConfigured {
                    policy: Some(Policy::Open),
                    ..configured("@nick.bot")
                }),
                "AgentConfigured",
                r#"{"by":"@nick.bot","policy":"open"}"#,
            ),
            (
                AgentEvent::AgentConfigured(AgentConfigured {
                    hold_runs: Some(true),
                    hold_invitations: Some(true),
                    ..configured("~nick")
                }),
                "AgentConfigured",
                r#"{"by":"~nick","hold_runs":true,"hold_invitations":true}"#,
            ),
            (
                AgentEvent::AgentConfigured(AgentConfigured {
                    attention: Some(AttentionLevel::Dnd),
                    attention_until: Some(TimestampMs(1_700_000_000_000)),
                    ..configured("@nick.bot")
                }),
                "AgentConfigured",
                r#"{"by":"@nick.bot","attention":"dnd","attention_until":1700000000000}"#,
            ),
        ];
        for (event, kind, envelope) in forms {
            assert_frozen(&event, kind, &envelope, "");
        }
    }

    #[test]
    fn the_stored_forms_of_tokens_are_frozen() {
        let (old, new) = (TokenDigest::of("secret"), TokenDigest::of("a"));
        let one = |id: &str, token, expires_at| EndedToken { id: id.into(), token, expires_at };
        let ended = || vec![one("01A", Some(old), None), one("01B", None, Some(TimestampMs(9)))];
        let by = || "@nick.bot".parse::<Actor>().unwrap();
        let own =
            TokenIssued { parent: Some("own".into()), name: Some("ci".into()), ..issued("@nick.bot", "01A") };
        let client = GrantClient {
            client_id: "https://c.example/c".into(),
            name: "C".into(),
            resource: "https://p.example/mcp".into(),
            until: TimestampMs(99),
        };
        let grant = TokenIssued { token: None, client: Some(client), ..issued("~nick", "01B") };
        let forms = [
            (
                AgentEvent::TokenIssued(own),
                "TokenIssued",
                format!(
                    r#"{{"by":"@nick.bot","id":"01A","token":"{OLD}","parent":"own","scope":"sessions:write session:s","name":"ci","expires_at":9}}"#
                ),
            ),
            (
                AgentEvent::TokenIssued(grant),
                "TokenIssued",
                r#"{"by":"~nick","id":"01B","scope":"sessions:write session:s","expires_at":9,"client":{"client_id":"https://c.example/c","name":"C","resource":"https://p.example/mcp","until":99}}"#
                    .to_owned(),
            ),
            (
                AgentEvent::TokensEnded(TokensEnded { by: Some(by()), why: WhyEnded::Revoked, ended: ended() }),
                "TokensEnded",
                format!(r#"{{"by":"@nick.bot","why":"revoked","ended":[{{"id":"01A","token":"{OLD}"}},{{"id":"01B","expires_at":9}}]}}"#),
            ),
            (
                AgentEvent::TokensEnded(TokensEnded { by: None, why: WhyEnded::Reused, ended: Vec::new() }),
                "TokensEnded",
                r#"{"why":"reused","ended":[]}"#.to_owned(),
            ),
            (
                AgentEvent::TokenRotated(TokenRotated { by: by(), old: Some(old), new, ended: ended() }),
                "TokenRotated",
                format!(
                    r#"{{"by":"@nick.bot","old":"{OLD}","new":"{NEW}","ended":[{{"id":"01A","token":"{OLD}"}},{{"id":"01B","expires_at":9}}]}}"#
                ),
            ),
        ];
        for (event, kind, envelope) in forms {
            assert_frozen(&event, kind, &envelope, "");
        }
    }

    #[test]
    fn the_stored_forms_of_a_renewal_are_frozen() {
        let renewed = |pending_until, expires_at| GrantRenewed {
            id: "01B".into(),
            key: TokenDigest::of("secret"),
            refresh: TokenDigest::of("a"),
            pending_until,
            expires_at,
        };
        for (event, ends) in [
            (renewed(Some(TimestampMs(9)), Some(TimestampMs(99))), r#","pending_until":9,"expires_at":99"#),
            (renewed(None, None), ""),
        ] {
            let event = AgentEvent::GrantRenewed(event);
            let envelope = format!(r#"{{"id":"01B","key":"{OLD}","refresh":"{NEW}"{ends}}}"#);
            assert_frozen(&event, "GrantRenewed", &envelope, "");
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
                AgentEvent::AgentConfigured(AgentConfigured { profile: described.clone(), ..configured("operator") }),
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
                    kind: AgentKind::Person,
                    profile: described,
                }),
                "AgentRegistered",
                format!(
                    r##"{{"by":"~nick","policy":"allowlist","allowlist":[],"self_service":true,"token":"{OLD}","kind":"person","display_name":"Nick","description":"","card_body":"# Nick\n","visibility":"public"}}"##
                ),
            ),
        ];
        for (event, kind, envelope) in forms {
            assert_frozen(&event, kind, &envelope, "");
        }
    }

    #[test]
    fn the_stored_form_of_a_token_for_one_resource_is_frozen() {
        let resource = Some("https://p.example/mcp".into());
        let issued = TokenIssued { parent: Some("01A".into()), resource, ..issued("~nick", "01B") };
        let event = AgentEvent::TokenIssued(issued);
        let text = format!(
            r#"{{"by":"~nick","id":"01B","token":"{OLD}","parent":"01A","scope":"sessions:write session:s","expires_at":9,"resource":"https://p.example/mcp"}}"#
        );
        assert_frozen(&event, "TokenIssued", &text, "");
    }

    #[test]
    fn the_stored_form_of_a_token_with_an_issuers_statement_is_frozen() {
        let issued = TokenIssued {
            scope: "read".parse().unwrap(),
            name: Some("ci".into()),
            issuer: Some("github".into()),
            ..issued("operator", "01A")
        };
        let signed = |rule| IssuerStatement { signed: TokenDigest::of("a"), until: TimestampMs(99), rule };
        let rule = TokenDigest::of("secret");
        for (statement, member) in [
            (None, String::new()),
            (Some(signed(None)), format!(r#","word":{{"signed":"{NEW}","until":99}}"#)),
            (Some(signed(Some(rule))), format!(r#","word":{{"signed":"{NEW}","until":99,"rule":"{OLD}"}}"#)),
        ] {
            let event = AgentEvent::TokenIssued(TokenIssued { statement, ..issued.clone() });
            let envelope = format!(
                r#"{{"by":"operator","id":"01A","token":"{OLD}","scope":"read","name":"ci","expires_at":9,"issuer":"github"{member}}}"#
            );
            assert_frozen(&event, "TokenIssued", &envelope, "");
        }
    }
}
