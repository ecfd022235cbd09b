//! `/_admin`: owners and agents (ASP-1 to ASP-7, wire.md D.1, D.9).

use plenary_accounts::{
    Authority, Token, TokenKind,
    agent::command::RegisterAgent,
    limits::{AGENTS_PER_OWNER_MAX, ALLOWLIST_ENTRIES_MAX, LIST_ENTRIES_MAX, LIST_PAGE_MAX},
};
use serde_json::{Value, json};

use crate::house::{House, OPERATOR};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn asp_6_an_agent_is_made_closed_and_its_token_shown_once() {
    let house = House::new();
    let created = house.post(OPERATOR, "/_admin/agents", r#"{"handle":"@alice.bot","odd":1}"#).await.ok(201);
    let profile = ["card_body", "description", "display_name", "visibility"];
    let with_profile = |others: &[&'static str]| {
        let mut keys = [others, &profile].concat();
        keys.sort_unstable();
        keys
    };
    assert_eq!(keys(&created), with_profile(&["allowlist", "handle", "policy", "token"]));
    assert_eq!((&created["policy"], &created["allowlist"]), (&json!("allowlist"), &json!([])));
    let token = created["token"].as_str().unwrap();
    assert!(token.starts_with("pla_") && token.len() == 4 + 64);
    for path in ["/_admin/agents", "/_admin/agents/@alice.bot", "/_admin/owners"] {
        let answer = house.get(OPERATOR, path).await;
        answer.ok(200);
        assert!(!answer.body.contains("pla_"), "{answer:?}");
    }
    let shown = house.get(OPERATOR, "/_admin/agents/%40alice.bot").await.ok(200);
    assert_eq!(
        keys(&shown),
        with_profile(&[
            "allowlist",
            "created_at",
            "handle",
            "kind",
            "policy",
            "self_service",
            "tokens_issued"
        ])
    );
    assert_eq!(shown["self_service"], false);
}

#[tokio::test]
async fn an_agent_is_made_as_asked() {
    let house = House::new();
    let body = r#"{"handle":"@alice.bot","policy":"open","allowlist":["@b.c","@a.*","@b.c"],"token":"mine-0000000000000","self_service":true}"#;
    let created = house.post(OPERATOR, "/_admin/agents", body).await.ok(201);
    assert_eq!((&created["policy"], &created["token"]), (&json!("open"), &json!("mine-0000000000000")));
    assert_eq!(created["allowlist"], json!(["@a.*", "@b.c"]));
    assert_eq!(house.get("mine-0000000000000", "/agents/me").await.ok(200)["self_service"], true);
}

#[tokio::test]
async fn asp_1_wrong_bodies_have_their_codes() {
    let house = House::new();
    for (body, code) in [
        ("{", "invalid_json"),
        ("", "invalid_json"),
        (r#"{"handle":"@a.b","handle":"@c.d"}"#, "invalid_json"),
        ("[]", "invalid_body"),
        ("{}", "invalid_handle"),
        (r#"{"handle":7}"#, "invalid_handle"),
        (r#"{"handle":"@Nick.bot"}"#, "invalid_handle"),
        (r#"{"handle":"@a.b","policy":"closed"}"#, "invalid_policy"),
        (r#"{"handle":"@a.b","policy":1}"#, "invalid_policy"),
        (r#"{"handle":"@a.b","allowlist":["@*.b"]}"#, "invalid_allowlist_entry"),
        (r#"{"handle":"@a.b","allowlist":"@a.b"}"#, "invalid_allowlist_entry"),
        (r#"{"handle":"@a.b","self_service":"yes"}"#, "invalid_self_service"),
        (r#"{"handle":"@a.b","token":""}"#, "invalid_token"),
        (r#"{"handle":"@a.b","token":"fifteen-letters"}"#, "invalid_token"),
        (r#"{"handle":"@a.b","token":"with a space in the middle"}"#, "invalid_token"),
    ] {
        house.post(OPERATOR, "/_admin/agents", body).await.refused(400, code);
    }
    house.get(OPERATOR, "/_admin/agents/@a.b").await.refused(404, "not_found");
    for owner in ["", "Acme", "-a", "a.b", "@acme", "~acme"] {
        let body = json!({ "owner": owner }).to_string();
        house.post(OPERATOR, "/_admin/owners", &body).await.refused(400, "invalid_owner");
    }
}

#[tokio::test]
async fn policy_and_leave_are_changed() {
    let house = House::new();
    house.agent("@alice.bot", "").await;
    let path = "/_admin/agents/@alice.bot";
    let changed = house.call(OPERATOR, "PATCH", path, r#"{"policy":"open"}"#).await.ok(200);
    assert_eq!((&changed["policy"], &changed["self_service"]), (&json!("open"), &json!(false)));
    let changed = house.call(OPERATOR, "PATCH", path, r#"{"self_service":true}"#).await.ok(200);
    assert_eq!((&changed["policy"], &changed["self_service"]), (&json!("open"), &json!(true)));
    for body in [r#"{"policy":"ajar"}"#, "{}"] {
        house.call(OPERATOR, "PATCH", path, body).await.refused(400, "invalid_policy");
    }
    let nobody = house.call(OPERATOR, "PATCH", "/_admin/agents/@no.body", r#"{"policy":"ajar"}"#).await;
    nobody.refused(404, "not_found");
}

#[tokio::test]
async fn asp_7_allowlists_are_edited_entry_by_entry() {
    let house = House::new();
    house.agent("@bob.bot", r#""allowlist":["@alice.bot"]"#).await;
    let path = "/_admin/agents/@bob.bot/allowlist";
    let added = house.post(OPERATOR, path, r#"{"entries":["@acme.*","@alice.bot"]}"#).await.ok(200);
    assert_eq!(added, json!({"entries": ["@acme.*", "@alice.bot"]}));
    let removed = house.call(OPERATOR, "DELETE", &format!("{path}/@acme.*"), "").await.ok(200);
    assert_eq!(removed, json!({"entries": ["@alice.bot"]}));
    assert_eq!(house.get(OPERATOR, path).await.ok(200), removed);
    for body in ["{}", r#"{"entries":[]}"#, r#"{"entries":"@a.b"}"#, r#"{"entries":["@a"]}"#] {
        house.post(OPERATOR, path, body).await.refused(400, "invalid_allowlist_entry");
    }
    let wrong = house.call(OPERATOR, "DELETE", &format!("{path}/acme"), "").await;
    wrong.refused(400, "invalid_allowlist_entry");
}

#[tokio::test]
async fn an_agent_brings_its_owner_and_the_owner_then_gets_its_token() {
    let house = House::new();
    house.agent("@acme.bot", "").await;
    let listed = house.get(OPERATOR, "/_admin/owners").await.ok(200);
    assert_eq!(listed["owners"][0]["owner"], "acme");
    let created = house.post(OPERATOR, "/_admin/owners", r#"{"owner":"acme"}"#).await.ok(201);
    assert_eq!(keys(&created), ["owner", "token"]);
    assert!(created["token"].as_str().unwrap().starts_with("plw_"));
    house.post(OPERATOR, "/_admin/owners", r#"{"owner":"acme"}"#).await.refused(409, "owner_exists");
}

#[tokio::test]
async fn agents_that_bring_the_same_owner_at_once_are_all_made() {
    let house = std::sync::Arc::new(House::new());
    let mut making = tokio::task::JoinSet::new();
    for n in 0..50 {
        let house = house.clone();
        making.spawn(async move { house.agent(&format!("@acme.n{n}"), "").await });
    }
    assert_eq!(making.join_all().await.len(), 50);
    let owners = house.get(OPERATOR, "/_admin/owners").await.ok(200);
    assert_eq!(owners["owners"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn lists_come_in_pages() {
    let house = House::new();
    for handle in ["@a.x", "@a.y", "@a-b.x", "@b.x", "@c.x"] {
        house.agent(handle, "").await;
    }
    let mut handles = Vec::new();
    let mut path = "/_admin/agents?limit=2".to_owned();
    loop {
        let page = house.get(OPERATOR, &path).await.ok(200);
        let agents = page["agents"].as_array().unwrap();
        assert!((1..=2).contains(&agents.len()));
        handles.extend(agents.iter().map(|agent| agent["handle"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/_admin/agents?limit=2&cursor={next}");
    }
    handles.sort();
    assert_eq!(handles, ["@a-b.x", "@a.x", "@a.y", "@b.x", "@c.x"]);
    let owners = house.get(OPERATOR, "/_admin/owners?limit=3").await.ok(200);
    assert_eq!(owners["next_cursor"], "b");
    let rest = house.get(OPERATOR, "/_admin/owners?limit=3&cursor=b").await.ok(200);
    assert_eq!((&rest["owners"][0]["owner"], keys(&rest)), (&json!("c"), vec!["owners"]));
    for limit in ["0", "-1", "x", "", &(LIST_PAGE_MAX + 1).to_string()] {
        let answer = house.get(OPERATOR, &format!("/_admin/agents?limit={limit}")).await;
        answer.refused(400, "invalid_limit");
    }
    house.get(OPERATOR, "/_admin/agents?cursor=x").await.refused(400, "invalid_cursor");
    house.get(OPERATOR, "/_admin/agents?limit=1&limit=2").await.refused(400, "invalid_query");
}

#[tokio::test]
async fn a_page_of_agents_with_long_allowlists_ends_early() {
    let house = House::new();
    for n in 0..4 {
        let entries = (0..ALLOWLIST_ENTRIES_MAX).map(|n| format!("@x.n{n}").parse().unwrap());
        let (handle, token) = (format!("@a.n{n}").parse().unwrap(), Token::random(TokenKind::Agent));
        let agent = RegisterAgent::new(Authority::seed(), handle, token.digest());
        let command = RegisterAgent { allowlist: entries.collect(), ..agent };
        house.accounts.register_agent(command).await.unwrap();
    }
    let agents = |page: &Value| page["agents"].as_array().unwrap().len();
    let first = house.get(OPERATOR, "/_admin/agents").await.ok(200);
    assert_eq!(agents(&first) * ALLOWLIST_ENTRIES_MAX, LIST_ENTRIES_MAX);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = house.get(OPERATOR, &format!("/_admin/agents?cursor={cursor}")).await.ok(200);
    assert_eq!((agents(&rest), rest.get("next_cursor")), (4 - agents(&first), None));
}

#[tokio::test]
async fn past_its_limit_an_owner_makes_no_further_agent() {
    let house = House::new();
    let acme = house.owner("acme").await;
    for n in 0..AGENTS_PER_OWNER_MAX {
        house.agent(&format!("@acme.n{n}"), "").await;
    }
    let further = r#"{"handle":"@acme.further"}"#;
    house.post(&acme, "/_admin/agents", further).await.refused(409, "too_many_agents");
    house.post(OPERATOR, "/_admin/agents", further).await.ok(201);
}
