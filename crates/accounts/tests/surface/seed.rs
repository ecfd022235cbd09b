//! The seed file, applied (wire.md D.1, D.9).

use plenary_accounts::{Seed, SeedError, SeedReport};
use serde_json::json;

use crate::house::{House, OPERATOR};

const SEED: &[u8] =
    br#"{"@alice.bot": "alice-token", "@bob.bot": {"token": "bob-token-000000", "allowlist": ["@alice.*"]}}"#;

#[tokio::test]
async fn a_seed_makes_what_is_missing_and_nothing_else() {
    let house = House::new();
    let seed = Seed::parse(SEED).unwrap();
    assert_eq!(house.accounts.apply_seed(&seed).await.unwrap(), SeedReport { created: 2, known: 0 });
    let me = house.get("alice-token", "/agents/me").await.ok(200);
    assert_eq!((&me["policy"], &me["self_service"]), (&json!("open"), &json!(true)));
    let me = house.get("bob-token-000000", "/agents/me").await.ok(200);
    assert_eq!((&me["policy"], &me["allowlist"]), (&json!("allowlist"), &json!(["@alice.*"])));
    house.call(OPERATOR, "PATCH", "/_admin/agents/@bob.bot", r#"{"policy":"open"}"#).await.ok(200);
    house.post(OPERATOR, "/_admin/agents/@bob.bot/rotate-token", "").await.ok(200);
    house.call(OPERATOR, "DELETE", "/_admin/agents/@alice.bot", "").await.ok(204);
    assert_eq!(house.accounts.apply_seed(&seed).await.unwrap(), SeedReport { created: 0, known: 2 });
    assert_eq!(house.get(OPERATOR, "/_admin/agents/@bob.bot").await.ok(200)["policy"], "open");
    for token in ["alice-token", "bob-token-000000"] {
        house.get(token, "/agents/me").await.refused(401, "invalid_authorization");
    }
}

#[tokio::test]
async fn a_token_that_somebody_else_has_stops_the_seed() {
    let house = House::new();
    house.agent("@carol.bot", r#""token":"bob-token-000000""#).await;
    let error = house.accounts.apply_seed(&Seed::parse(SEED).unwrap()).await.unwrap_err();
    assert!(matches!(&error, SeedError::Rejected { agent, .. } if agent.as_str() == "@bob.bot"), "{error}");
}
