//! `/_admin/orgs` (wire.md D.1, D.5).

use plenary_accounts::limits::ROLES_PER_MEMBER_MAX;
use serde_json::json;

use crate::house::{House, OPERATOR};

const ACME: &str = "/_admin/orgs/acme";
const NICK: &str = "/_admin/orgs/acme/members/~nick";

#[tokio::test]
async fn an_organisation_is_made_once_with_its_owner() {
    let house = House::new();
    assert_eq!(house.call(OPERATOR, "PUT", ACME, "").await.ok(201), json!({"org": "acme"}));
    assert_eq!(house.call(OPERATOR, "PUT", ACME, "{}").await.ok(200), json!({"org": "acme"}));
    assert_eq!(house.get(OPERATOR, "/_admin/owners").await.ok(200)["owners"][0]["owner"], "acme");
    house.call(OPERATOR, "PUT", ACME, "[").await.refused(400, "invalid_json");
}

/// Only the operator learns why a name is none.
#[tokio::test]
async fn a_name_that_no_organisation_can_have_is_refused_to_the_operator() {
    let house = House::new();
    let acme = house.owner("acme").await;
    for (caller, status, code) in [(OPERATOR, 400, "invalid_owner"), (&acme, 404, "not_found")] {
        house.call(caller, "PUT", "/_admin/orgs/Acme", "").await.refused(status, code);
    }
}

#[tokio::test]
async fn its_owner_takes_members_in_and_out() {
    let house = House::new();
    let acme = house.owner("acme").await;
    house.call(&acme, "PUT", ACME, "").await.ok(201);
    let set = house.call(&acme, "PUT", NICK, r#"{"roles":["writer","admin","writer"]}"#).await.ok(200);
    assert_eq!(set, json!({"handle": "~nick", "roles": ["admin", "writer"]}));
    house.call(&acme, "PUT", "/_admin/orgs/acme/members/~zoe", "").await.ok(200);
    let shown = house.get(&acme, &format!("{ACME}?limit=1")).await.ok(200);
    assert_eq!((&shown["members"], &shown["next_cursor"]), (&json!([set]), &json!("~nick")));
    let rest = house.get(&acme, &format!("{ACME}?limit=1&cursor=~nick")).await.ok(200);
    assert_eq!((&rest["members"][0]["handle"], rest.get("next_cursor")), (&json!("~zoe"), None));
    house.call(&acme, "DELETE", NICK, "").await.ok(204);
    house.call(&acme, "DELETE", NICK, "").await.refused(404, "not_found");
}

#[tokio::test]
async fn what_is_wrong_or_foreign_is_refused() {
    let house = House::new();
    house.call(OPERATOR, "PUT", ACME, "").await.ok(201);
    let other = house.owner("other").await;
    house.call(&other, "PUT", NICK, r#"{"roles":[7]}"#).await.refused(404, "not_found");
    house.call(OPERATOR, "PUT", "/_admin/orgs/none/members/~nick", "").await.refused(404, "not_found");
    house.call(OPERATOR, "PUT", "/_admin/orgs/acme/members/nick", "").await.refused(400, "invalid_handle");
    let many: Vec<_> = (0..=ROLES_PER_MEMBER_MAX).map(|n| format!("r{n}")).collect();
    let many = json!({ "roles": many }).to_string();
    for roles in [r#"{"roles":["A"]}"#, r#"{"roles":"admin"}"#, &many] {
        house.call(OPERATOR, "PUT", NICK, roles).await.refused(400, "invalid_roles");
    }
}
