//! A token has one bearer, whoever gives it out at the same time to whomever (wire.md D.1).

use plenary_accounts::{
    Authority, Failure, Policy, Rejection, Seed, SeedError, TokenDigest,
    agent::command::{AgentEdit, EditAgent, RegisterAgent},
    owner::command::{Gift, GiveToken},
};

use crate::house::{House, OPERATOR};

/// How often two requests meet.
const ROUNDS: usize = 50;

fn operator() -> Authority {
    Authority { by: plenary_accounts::Actor::Operator, token: Some(TokenDigest::of(OPERATOR)) }
}

fn register(handle: &str, token: &str) -> RegisterAgent {
    let agent = RegisterAgent::new(operator(), handle.parse().unwrap(), TokenDigest::of(token));
    RegisterAgent { policy: Policy::Open, ..agent }
}

/// One succeeded, the other was told why not.
#[track_caller]
fn one_of<A, B>(first: Result<A, Failure>, second: Result<B, Failure>) {
    match (first, second) {
        (Ok(_), Err(Failure::Rejected(Rejection::TokenExists)))
        | (Err(Failure::Rejected(Rejection::TokenExists)), Ok(_)) => {}
        (first, second) => panic!("{:?} and {:?}", first.err(), second.err()),
    }
}

#[tokio::test]
async fn two_agents_never_get_the_same_token() {
    let house = House::new();
    let there = house.neighbour();
    for round in 0..ROUNDS {
        let token = format!("chosen-00000000-{round}");
        let body = |name: &str| format!(r#"{{"handle":"@{name}.n{round}","token":"{token}"}}"#);
        let (alice, bob) = (body("alice"), body("bob"));
        let other = if round % 2 == 0 { &house } else { &there };
        let (first, second) = tokio::join!(
            house.post(OPERATOR, "/_admin/agents", &alice),
            other.post(OPERATOR, "/_admin/agents", &bob)
        );
        let (created, refused) = if first.status == 201 { (first, second) } else { (second, first) };
        let created = created.ok(201);
        refused.refused(409, "token_exists");
        let me = house.get(&token, "/agents/me").await.ok(200);
        assert_eq!(me["handle"], created["handle"]);
    }
}

#[tokio::test]
async fn an_agent_and_an_owner_never_get_the_same_token() {
    let house = House::new();
    for round in 0..ROUNDS {
        let token = format!("chosen-00000000-{round}");
        let gift = GiveToken {
            authority: operator(),
            owner: format!("acme-{round}").parse().unwrap(),
            gift: Gift::First,
            token: TokenDigest::of(&token),
        };
        let agent = register(&format!("@alice.n{round}"), &token);
        let (agent, owner) =
            tokio::join!(house.accounts.register_agent(agent), house.accounts.give_token(&gift));
        one_of(agent, owner);
    }
}

#[tokio::test]
async fn a_rotation_never_gets_a_token_that_is_given_out() {
    let house = House::new();
    house.agent("@bob.bot", "").await;
    house.owner("acme").await;
    for round in 0..ROUNDS {
        let token = format!("chosen-00000000-{round}");
        let digest = TokenDigest::of(&token);
        let edit = EditAgent {
            authority: operator(),
            handle: "@bob.bot".parse().unwrap(),
            edit: AgentEdit::RotateToken(digest),
        };
        let gift = GiveToken {
            authority: operator(),
            owner: "acme".parse().unwrap(),
            gift: Gift::Replacement,
            token: digest,
        };
        if round % 2 == 0 {
            let agent = register(&format!("@alice.n{round}"), &token);
            let (agent, rotated) =
                tokio::join!(house.accounts.register_agent(agent), house.accounts.edit_agent(edit));
            one_of(agent, rotated);
        } else {
            let (gift_outcome, rotated) =
                tokio::join!(house.accounts.give_token(&gift), house.accounts.edit_agent(edit));
            one_of(gift_outcome, rotated);
        }
    }
}

#[tokio::test]
async fn a_seed_never_gets_a_token_that_is_given_out() {
    let house = House::new();
    for round in 0..ROUNDS {
        let token = format!("chosen-00000000-{round}");
        let seed = Seed::parse(format!(r#"{{"@bob.n{round}":"{token}"}}"#).as_bytes()).unwrap();
        let agent = register(&format!("@alice.n{round}"), &token);
        let (agent, seeded) =
            tokio::join!(house.accounts.register_agent(agent), house.accounts.apply_seed(&seed));
        let seeded = seeded.map_err(|error| {
            let SeedError::Rejected { rejection, .. } = error else { panic!("{error}") };
            Failure::Rejected(rejection)
        });
        one_of(agent, seeded);
    }
}

/// A token that died is free again, and a refused rotation leaves the old one alive.
#[tokio::test]
async fn a_dead_token_can_be_chosen_again() {
    let house = House::new();
    for round in 0..3 {
        let handle = format!("@alice.n{round}");
        house.agent(&handle, r#""token":"mine-0000000000000""#).await;
        let again = format!(r#"{{"handle":"@bob.n{round}","token":"mine-0000000000000"}}"#);
        house.post(OPERATOR, "/_admin/agents", &again).await.refused(409, "token_exists");
        let rotate = EditAgent {
            authority: operator(),
            handle: handle.parse().unwrap(),
            edit: AgentEdit::RotateToken(TokenDigest::of("mine-0000000000000")),
        };
        let refused = house.accounts.edit_agent(rotate).await;
        assert!(matches!(refused, Err(Failure::Rejected(Rejection::TokenExists))), "{refused:?}");
        house.get("mine-0000000000000", "/agents/me").await.ok(200);
        if round == 0 {
            house.call(OPERATOR, "DELETE", &format!("/_admin/agents/{handle}"), "").await.ok(204);
        } else {
            house.post(OPERATOR, &format!("/_admin/agents/{handle}/rotate-token"), "").await.ok(200);
        }
    }
}
