//! The stored forms of an agent's events are frozen.

use plenary_engine::{Room as _, golden::assert_frozen};

use super::{AgentRoom, event::*, state::AgentState};

const FORMS: &[(&str, &str)] = &[
    (
        "AgentRegistered",
        r#"{"by":"~nick","policy":"allowlist","allowlist":["@acme.*","@nick.bot"],"self_service":true,"token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"}"#,
    ),
    (
        "AgentRegistered",
        r##"{"by":"~nick","policy":"allowlist","allowlist":[],"self_service":true,"token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","kind":"person","display_name":"Nick","description":"","card_body":"# Nick\n","visibility":"public"}"##,
    ),
    (
        "AgentRegistered",
        r#"{"by":"~nick","policy":"open","allowlist":[],"self_service":false,"token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","through":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}"#,
    ),
    ("EntriesAllowed", r#"{"by":"seed","entries":["@acme.*","@nick.bot"]}"#),
    ("EntriesAllowed", r#"{"by":"operator","entries":["@acme.*","@nick.bot"],"counted":true}"#),
    ("EntriesDisallowed", r#"{"by":"operator","entries":["@acme.*","@nick.bot"]}"#),
    ("AgentBlocked", r#"{"by":"operator","blocked":"@mallory.bot"}"#),
    ("AgentUnblocked", r#"{"by":"operator","blocked":"@mallory.bot"}"#),
    ("AgentConfigured", r#"{"by":"@nick.bot","policy":"open"}"#),
    ("AgentConfigured", r#"{"by":"~nick","hold_runs":true,"hold_invitations":true}"#),
    ("AgentConfigured", r#"{"by":"@nick.bot","attention":"dnd","attention_until":1700000000000}"#),
    (
        "AgentConfigured",
        r##"{"by":"operator","display_name":"Nick","description":"","card_body":"# Nick\n","visibility":"public"}"##,
    ),
    (
        "AgentDeleted",
        r#"{"by":"operator","token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"}"#,
    ),
    (
        "TokenRotated",
        r#"{"by":"operator","old":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","new":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}"#,
    ),
    (
        "TokenRotated",
        r#"{"by":"@nick.bot","old":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","new":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","ended":[{"id":"01A","token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"},{"id":"01B","expires_at":9}]}"#,
    ),
    (
        "TokenRotated",
        r#"{"by":"~nick","new":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","through":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}"#,
    ),
    (
        "TokenIssued",
        r#"{"by":"@nick.bot","id":"01A","token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","parent":"own","scope":"sessions:write session:s","name":"ci","expires_at":9}"#,
    ),
    (
        "TokenIssued",
        r#"{"by":"~nick","id":"01B","scope":"sessions:write session:s","expires_at":9,"client":{"client_id":"https://c.example/c","name":"C","resource":"https://p.example/mcp","until":99}}"#,
    ),
    (
        "TokenIssued",
        r#"{"by":"~nick","id":"01B","token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","parent":"01A","scope":"sessions:write session:s","expires_at":9,"resource":"https://p.example/mcp"}"#,
    ),
    (
        "TokenIssued",
        r#"{"by":"operator","id":"01A","token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","scope":"read","name":"ci","expires_at":9,"issuer":"github"}"#,
    ),
    (
        "TokenIssued",
        r#"{"by":"operator","id":"01A","token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","scope":"read","name":"ci","expires_at":9,"issuer":"github","word":{"signed":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","until":99}}"#,
    ),
    (
        "TokenIssued",
        r#"{"by":"operator","id":"01A","token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","scope":"read","name":"ci","expires_at":9,"issuer":"github","word":{"signed":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","until":99,"rule":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"}}"#,
    ),
    (
        "TokenIssued",
        r#"{"by":"~nick","id":"01A","token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","scope":"read","through":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}"#,
    ),
    (
        "TokensEnded",
        r#"{"by":"@nick.bot","why":"revoked","ended":[{"id":"01A","token":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"},{"id":"01B","expires_at":9}]}"#,
    ),
    ("TokensEnded", r#"{"why":"reused","ended":[]}"#),
    (
        "GrantRenewed",
        r#"{"id":"01B","key":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","refresh":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","pending_until":9,"expires_at":99}"#,
    ),
    (
        "GrantRenewed",
        r#"{"id":"01B","key":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","refresh":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}"#,
    ),
];

#[test]
fn stored_forms_are_frozen() {
    assert_frozen::<AgentEvent>(FORMS);
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
