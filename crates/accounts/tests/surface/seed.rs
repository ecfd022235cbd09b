//! The seed file, applied (wire.md D.1, D.9).

use plenary_accounts::{Seed, SeedError};

use crate::house::House;

const SEED: &[u8] =
    br#"{"@alice.bot": "alice-token", "@bob.bot": {"token": "bob-token-000000", "allowlist": ["@alice.*"]}}"#;

#[tokio::test]
async fn a_token_that_somebody_else_has_stops_the_seed() {
    let house = House::new();
    house.agent("@carol.bot", r#""token":"bob-token-000000""#).await;
    let error = house.accounts.apply_seed(&Seed::parse(SEED).unwrap()).await.unwrap_err();
    assert!(matches!(&error, SeedError::Rejected { agent, .. } if agent.as_str() == "@bob.bot"), "{error}");
}
