//! Tokens that issuers vouch for: how long their word is taken without asking again, and what hangs on a rule.

use std::sync::Arc;

use parking_lot::Mutex;
use plenary_accounts::{Accounts, Admission, ForeignTokens, TokenDigest, agent::tokens::IssuerStatement};
use plenary_kernel::{Clock as _, TimestampMs};
use plenary_log::Fault;
use plenary_room::async_trait;

use super::house::House;

const JWT: &str = "eyJ.a.signature";
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Admits one token, or none.
struct Issuer(Mutex<Option<Admission>>);

#[async_trait]
impl ForeignTokens for Issuer {
    async fn admitted(&self, token: &str) -> Result<Option<Admission>, Fault> {
        let found = self.0.lock().clone().filter(|_| token == JWT);
        Ok(found)
    }
}

fn rule(name: &str) -> TokenDigest {
    TokenDigest::of(&format!("the rule {name}"))
}

fn admission(rule_name: &str, ends: u64) -> Admission {
    let statement = IssuerStatement {
        signed: TokenDigest::of("eyJ.a"),
        until: TimestampMs(ends),
        rule: Some(rule(rule_name)),
    };
    Admission {
        agent: "@nick.ci".parse().unwrap(),
        scope: "read".parse().unwrap(),
        issuer: "acme".to_owned(),
        subject: "ci".to_owned(),
        statement,
        resource: None,
        ends: TimestampMs(ends),
    }
}

async fn opens(accounts: &Accounts, token: &str) -> bool {
    accounts.authenticate(token).await.unwrap().is_some()
}

#[tokio::test]
async fn after_a_day_the_issuer_and_the_rules_are_asked_again() {
    let (house, clock) = House::with_clock();
    house.agent("@nick.ci", "").await;
    let admits = admission("a", clock.now().0 + 365 * DAY_MS);
    let issuer = Arc::new(Issuer(Mutex::new(Some(admits.clone()))));
    house.accounts.set_foreign_tokens(issuer.clone());
    house.accounts.set_issuer_proofs([rule("a")].into_iter());
    assert!(opens(&house.accounts, JWT).await);
    *issuer.0.lock() = None;
    clock.advance(DAY_MS - 1);
    assert!(opens(&house.accounts, JWT).await, "it is known");
    clock.advance(1);
    assert!(!opens(&house.accounts, JWT).await, "it is asked for, and not admitted");
    *issuer.0.lock() = Some(admits);
    assert!(opens(&house.accounts, JWT).await, "nobody has taken note of its end, and it is admitted anew");
}

#[tokio::test]
async fn what_hangs_on_a_rule_opens_nothing_where_the_rule_does_not_stand() {
    let house = House::new();
    house.agent("@nick.ci", "").await;
    let admits = admission("a", 4_000_000_000_000);
    house.accounts.set_foreign_tokens(Arc::new(Issuer(Mutex::new(Some(admits.clone())))));
    house.accounts.set_issuer_proofs([rule("a")].into_iter());
    assert!(opens(&house.accounts, JWT).await);
    let (exchanged, _) = house.accounts.give_foreign(admits).await.unwrap();
    let bearer = house.accounts.authenticate(exchanged.expose()).await.unwrap().unwrap();
    let (below, _) =
        house.accounts.narrow(&bearer, "sessions:read".parse().unwrap(), None, 60_000).await.unwrap();
    for (current, is_open) in [("a", true), ("b", false)] {
        // The next start of the server, with the rules of that day.
        let next = house.neighbour().accounts;
        next.set_foreign_tokens(Arc::new(Issuer(Mutex::new(Some(admission("b", 4_000_000_000_000))))));
        next.set_issuer_proofs([rule(current)].into_iter());
        for token in [JWT, exchanged.expose(), below.expose()] {
            assert_eq!(opens(&next, token).await, is_open, "{current}: {token}");
        }
    }
}
