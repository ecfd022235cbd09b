//! Who asks (ASP-4, ASP-63, wire.md D.1).

use axum::body::Body;
use http::Request;
use plenary_accounts::Scope;

use crate::house::{Answer, House, OPERATOR};

async fn with_header(house: &House, name: &str, value: &str, also: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().uri("/agents/me").header(name, value);
    for (name, value) in also {
        request = request.header(*name, *value);
    }
    house.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn without_a_known_token_everything_is_401() {
    let house = House::new();
    house.get("", "/agents/me").await.refused(401, "missing_authorization");
    for value in ["Bearer", "Bearer ", "Basic YTpi", "pla_x", "Bearer pla_unknown"] {
        with_header(&house, "Authorization", value, &[]).await.refused(401, "invalid_authorization");
    }
    let long = "x".repeat(513);
    house.get(&long, "/agents/me").await.refused(401, "invalid_authorization");
    house.post("", "/_admin/agents", "{not json").await.refused(401, "missing_authorization");
}

#[tokio::test]
async fn the_scheme_has_no_case_and_the_header_stands_once() {
    let house = House::new();
    let token = house.agent("@alice.bot", "").await;
    let bearer = format!("bearer {token}");
    with_header(&house, "Authorization", &bearer, &[]).await.ok(200);
    let twice = with_header(&house, "Authorization", &bearer, &[("Authorization", &bearer)]).await;
    twice.refused(401, "invalid_authorization");
}

#[tokio::test]
async fn asp_4_the_agent_header_must_agree_with_the_token() {
    let house = House::new();
    let alice = house.agent("@alice.bot", "").await;
    let bearer = format!("Bearer {alice}");
    with_header(&house, "Authorization", &bearer, &[("X-ASP-Agent", "@alice.bot")]).await.ok(200);
    for named in ["@bob.bot", "", "alice"] {
        let answer = with_header(&house, "Authorization", &bearer, &[("X-ASP-Agent", named)]).await;
        answer.refused(401, "invalid_authorization");
    }
    let operator = [("X-ASP-Agent", "@alice.bot"), ("Authorization", &format!("Bearer {OPERATOR}"))];
    let request = Request::builder().uri("/_admin/agents").header(operator[0].0, operator[0].1);
    let request = request.header(operator[1].0, operator[1].1).body(Body::empty()).unwrap();
    house.send(request).await.refused(401, "invalid_authorization");
}

#[tokio::test]
async fn an_owners_rotated_token_is_dead_with_the_answer() {
    let house = House::new();
    let old = house.owner("acme").await;
    house.get(&old, "/_admin/agents").await.ok(200);
    let path = "/_admin/owners/acme/rotate-token";
    let other = house.owner("other").await;
    house.post(&other, path, "").await.refused(404, "not_found");
    let rotated = house.post(&old, path, "").await.ok(200);
    house.get(&old, "/_admin/agents").await.refused(401, "invalid_authorization");
    house.get(rotated["token"].as_str().unwrap(), "/_admin/agents").await.ok(200);
}

#[tokio::test]
async fn a_token_that_another_process_gave_or_took_is_known() {
    let house = House::new();
    let neighbour = house.neighbour();
    let old = house.agent("@alice.bot", "").await;
    neighbour.get(&old, "/agents/me").await.ok(200);
    house.get(&old, "/agents/me").await.ok(200);
    let rotated = neighbour.post(OPERATOR, "/_admin/agents/@alice.bot/rotate-token", "").await.ok(200);
    let head = house.log.head().await.unwrap();
    while house.presence.dispatched() < head {
        tokio::task::yield_now().await;
    }
    house.get(&old, "/agents/me").await.refused(401, "invalid_authorization");
    house.get(rotated["token"].as_str().unwrap(), "/agents/me").await.ok(200);
}

#[tokio::test]
async fn a_chosen_token_serves_one_bearer_after_another() {
    let house = House::new();
    house.agent("@alice.bot", r#""token":"shared-secret-0000""#).await;
    let refused =
        house.post(OPERATOR, "/_admin/agents", r#"{"handle":"@bob.bot","token":"shared-secret-0000"}"#).await;
    refused.refused(409, "token_exists");
    let operators = format!("{{\"handle\":\"@bob.bot\",\"token\":\"{OPERATOR}\"}}");
    house.post(OPERATOR, "/_admin/agents", &operators).await.refused(409, "token_exists");
    assert_eq!(house.get("shared-secret-0000", "/agents/me").await.ok(200)["handle"], "@alice.bot");
    house.post(OPERATOR, "/_admin/agents/@alice.bot/rotate-token", "").await.ok(200);
    house.agent("@bob.bot", r#""token":"shared-secret-0000""#).await;
    assert_eq!(house.get("shared-secret-0000", "/agents/me").await.ok(200)["handle"], "@bob.bot");
}

#[tokio::test]
async fn a_token_that_ended_meanwhile_has_the_scope_of_nothing() {
    let house = House::new();
    let own = house.agent("@alice.bot", "").await;
    let bearer = house.accounts.authenticate(&own).await.unwrap().unwrap();
    assert_eq!(house.accounts.scope_of(&bearer).await.unwrap(), None);
    let read: Scope = "read".parse().unwrap();
    let (below, _) = house.accounts.narrow(&bearer, read.clone(), None, 60_000).await.unwrap();
    let below = house.accounts.authenticate(below.expose()).await.unwrap().unwrap();
    assert_eq!(house.accounts.scope_of(&below).await.unwrap(), Some(read));
    house.call(OPERATOR, "DELETE", "/_admin/agents/@alice.bot", "").await;
    for ended in [bearer, below] {
        assert_eq!(house.accounts.scope_of(&ended).await.unwrap(), Some(Scope::default()));
    }
}
