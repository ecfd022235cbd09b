//! The stored forms of an agent's events are frozen.

use plenary_engine::{Room as _, golden::assert_frozen};
use plenary_kernel::TimestampMs;

use super::{
    AgentRoom,
    attention::AttentionLevel,
    event::*,
    profile::{AgentKind, ProfileChange, Visibility},
    state::AgentState,
    tokens::{GrantClient, IssuerStatement},
};
use crate::{Actor, Policy, TokenDigest};

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
        through: None,
        kind: AgentKind::Agent,
        profile: ProfileChange::default(),
    };
    let rotated = TokenRotated { by: by.clone(), old: Some(old), new, through: None, ended: Vec::new() };
    let forms = [
        (
            AgentEvent::AgentRegistered(registered),
            "AgentRegistered",
            format!(
                r#"{{"by":"~nick","policy":"allowlist","allowlist":["@acme.*","@nick.bot"],"self_service":true,"token":"{OLD}"}}"#
            ),
        ),
        (
            AgentEvent::EntriesAllowed(AllowedEntries {
                by: Actor::Seed,
                entries: entries(),
                counted: false,
            }),
            "EntriesAllowed",
            r#"{"by":"seed","entries":["@acme.*","@nick.bot"]}"#.to_owned(),
        ),
        (
            AgentEvent::EntriesAllowed(AllowedEntries { by: by.clone(), entries: entries(), counted: true }),
            "EntriesAllowed",
            r#"{"by":"operator","entries":["@acme.*","@nick.bot"],"counted":true}"#.to_owned(),
        ),
        (
            AgentEvent::EntriesDisallowed(DisallowedEntries { by: by.clone(), entries: entries() }),
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
                by: Actor::Agent("@nick.bot".parse().unwrap()),
                policy: Some(Policy::Open),
                self_service: None,
                hold_runs: None,
                hold_invitations: None,
                attention: None,
                attention_until: None,
                profile: ProfileChange::default(),
            }),
            "AgentConfigured",
            r#"{"by":"@nick.bot","policy":"open"}"#,
        ),
        (
            AgentEvent::AgentConfigured(AgentConfigured {
                by: Actor::Owner("nick".parse().unwrap()),
                policy: None,
                self_service: None,
                hold_runs: Some(true),
                hold_invitations: Some(true),
                attention: None,
                attention_until: None,
                profile: ProfileChange::default(),
            }),
            "AgentConfigured",
            r#"{"by":"~nick","hold_runs":true,"hold_invitations":true}"#,
        ),
        (
            AgentEvent::AgentConfigured(AgentConfigured {
                by: Actor::Agent("@nick.bot".parse().unwrap()),
                policy: None,
                self_service: None,
                hold_runs: None,
                hold_invitations: None,
                attention: Some(AttentionLevel::Dnd),
                attention_until: Some(TimestampMs(1_700_000_000_000)),
                profile: ProfileChange::default(),
            }),
            "AgentConfigured",
            r#"{"by":"@nick.bot","attention":"dnd","attention_until":1700000000000}"#,
        ),
    ];
    for (event, kind, envelope) in forms {
        assert_frozen(&event, kind, envelope, "");
    }
}

fn client() -> GrantClient {
    GrantClient {
        client_id: "https://c.example/c".into(),
        name: "C".into(),
        resource: "https://p.example/mcp".into(),
        until: TimestampMs(99),
    }
}

#[test]
fn the_stored_forms_of_tokens_are_frozen() {
    let (old, new) = (TokenDigest::of("secret"), TokenDigest::of("a"));
    let one = |id: &str, token, expires_at| EndedToken { id: id.into(), token, expires_at };
    let ended = || vec![one("01A", Some(old), None), one("01B", None, Some(TimestampMs(9)))];
    let by = || "@nick.bot".parse::<Actor>().unwrap();
    let issued = TokenIssued {
        by: by(),
        id: "01A".into(),
        token: Some(old),
        parent: Some("own".into()),
        scope: "sessions:write session:s".parse().unwrap(),
        name: Some("ci".into()),
        expires_at: Some(TimestampMs(9)),
        client: None,
        issuer: None,
        statement: None,
        resource: None,
        through: None,
    };
    let grant = TokenIssued {
        by: Actor::Owner("nick".parse().unwrap()),
        id: "01B".into(),
        token: None,
        parent: None,
        name: None,
        client: Some(client()),
        ..issued.clone()
    };
    let forms = [
        (
            AgentEvent::TokenIssued(issued),
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
            AgentEvent::TokenRotated(TokenRotated { by: by(), old: Some(old), new, through: None, ended: ended() }),
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
            AgentEvent::AgentConfigured(AgentConfigured {
                by: Actor::Operator,
                policy: None,
                self_service: None,
                hold_runs: None,
                hold_invitations: None,
                attention: None,
                attention_until: None,
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
                through: None,
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
    let issued = TokenIssued {
        by: Actor::Owner("nick".parse().unwrap()),
        id: "01B".into(),
        token: Some(TokenDigest::of("secret")),
        parent: Some("01A".into()),
        scope: "sessions:write session:s".parse().unwrap(),
        name: None,
        expires_at: Some(TimestampMs(9)),
        client: None,
        issuer: None,
        statement: None,
        resource: Some("https://p.example/mcp".into()),
        through: None,
    };
    let event = AgentEvent::TokenIssued(issued);
    let text = format!(
        r#"{{"by":"~nick","id":"01B","token":"{OLD}","parent":"01A","scope":"sessions:write session:s","expires_at":9,"resource":"https://p.example/mcp"}}"#
    );
    assert_frozen(&event, "TokenIssued", &text, "");
}

#[test]
fn the_stored_form_of_a_token_with_an_issuers_statement_is_frozen() {
    let issued = TokenIssued {
        by: Actor::Operator,
        id: "01A".into(),
        token: Some(TokenDigest::of("secret")),
        parent: None,
        scope: "read".parse().unwrap(),
        name: Some("ci".into()),
        expires_at: Some(TimestampMs(9)),
        client: None,
        issuer: Some("github".into()),
        statement: None,
        resource: None,
        through: None,
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

#[test]
fn the_stored_forms_of_tokens_of_who_signed_in_at_an_issuer_are_frozen() {
    let (own, rule) = (TokenDigest::of("secret"), Some(TokenDigest::of("a")));
    let by = || Actor::Owner("nick".parse().unwrap());
    let registered = AgentRegistered {
        by: by(),
        policy: Policy::Open,
        allowlist: Vec::new(),
        self_service: false,
        token: own,
        through: rule,
        kind: AgentKind::Agent,
        profile: ProfileChange::default(),
    };
    let issued = TokenIssued {
        by: by(),
        id: "01A".into(),
        token: Some(own),
        parent: None,
        scope: "read".parse().unwrap(),
        name: None,
        expires_at: None,
        client: None,
        issuer: None,
        statement: None,
        resource: None,
        through: rule,
    };
    let rotated = TokenRotated { by: by(), old: None, new: own, through: rule, ended: Vec::new() };
    for (event, kind, envelope) in [
        (
            AgentEvent::AgentRegistered(registered),
            "AgentRegistered",
            format!(
                r#"{{"by":"~nick","policy":"open","allowlist":[],"self_service":false,"token":"{OLD}","through":"{NEW}"}}"#
            ),
        ),
        (
            AgentEvent::TokenIssued(issued),
            "TokenIssued",
            format!(r#"{{"by":"~nick","id":"01A","token":"{OLD}","scope":"read","through":"{NEW}"}}"#),
        ),
        (
            AgentEvent::TokenRotated(rotated),
            "TokenRotated",
            format!(r#"{{"by":"~nick","new":"{OLD}","through":"{NEW}"}}"#),
        ),
    ] {
        assert_frozen(&event, kind, &envelope, "");
    }
}

#[test]
fn entries_count_only_if_their_event_says_so() {
    let payer = |by: &str, counted| {
        let entries = vec!["@acme.*".parse().unwrap()];
        let allowed = AllowedEntries { by: by.parse().unwrap(), entries, counted };
        let event = AgentEvent::EntriesAllowed(allowed);
        AgentRoom::payer("@nick.bot", &AgentState::default(), &event).map(|owner| owner.to_string())
    };
    assert_eq!(payer("~nick", true).as_deref(), Some("nick"));
    assert_eq!(payer("@nick.bot", true).as_deref(), Some("nick"));
    assert_eq!((payer("~nick", false), payer("operator", true)), (None, None));
}
