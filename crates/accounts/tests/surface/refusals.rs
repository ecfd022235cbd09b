//! ASP-18, ASP-19: every denial is one and the same 404, in status, headers and bytes.

use crate::house::{House, OPERATOR};

#[tokio::test]
async fn asp_18_every_404_is_the_same_to_the_last_byte() {
    let house = House::new();
    let acme = house.owner("acme").await;
    let alice = house.agent("@alice.bot", r#""self_service":true"#).await;
    house.agent("@bob.bot", "").await;
    house.agent("@gone.bot", "").await;
    house.call(OPERATOR, "DELETE", "/_admin/agents/@gone.bot", "").await.ok(204);
    let to_bob = house.post(&alice, "/contacts", r#"{"to":"@bob.bot"}"#).await.ok(200);
    let request = to_bob["request_id"].as_str().unwrap();
    let mut requests: Vec<(&str, &str, String, &str)> = vec![
        (&acme, "GET", "/_admin/owners".into(), ""),
        (&acme, "POST", "/_admin/owners".into(), r#"{"owner":"x"}"#),
        (&alice, "GET", "/_admin/owners".into(), ""),
        (&alice, "GET", "/_admin/agents".into(), ""),
        (&alice, "POST", "/_admin/agents".into(), r#"{"handle":"@alice.bot2"}"#),
        (&acme, "POST", "/_admin/agents".into(), r#"{"handle":"@bob.bot"}"#),
        (&acme, "POST", "/_admin/owners/bob/rotate-token".into(), ""),
        (&acme, "GET", "/_admin/orgs/bob".into(), ""),
        (&acme, "GET", "/_admin/orgs/acme".into(), ""),
        (&acme, "PUT", "/_admin/orgs/bob".into(), ""),
        (&alice, "PUT", "/_admin/orgs/alice".into(), ""),
        (&alice, "POST", "/contacts/req_01ARZ3NDEKTSV4RRFFQ69G5FAV/accept".into(), ""),
        (&alice, "POST", "/contacts/nonsense/decline".into(), ""),
        (&alice, "POST", format!("/contacts/{request}/accept"), ""),
        (&acme, "POST", format!("/contacts/{request}/decline"), ""),
        (&alice, "GET", "/no/such/path".into(), ""),
    ];
    for handle in ["@bob.bot", "@alice.bot", "@no.body", "@gone.bot", "nonsense", "%FF"] {
        for caller in [&acme, &alice] {
            let path = format!("/_admin/agents/{handle}");
            requests.push((caller, "GET", path.clone(), ""));
            requests.push((caller, "PATCH", path.clone(), r#"{"policy":"open"}"#));
            requests.push((caller, "DELETE", path.clone(), ""));
            requests.push((caller, "POST", format!("{path}/rotate-token"), ""));
            requests.push((caller, "GET", format!("{path}/allowlist"), ""));
            requests.push((caller, "POST", format!("{path}/allowlist"), r#"{"entries":[]}"#));
            requests.push((caller, "DELETE", format!("{path}/allowlist/nonsense"), ""));
            requests.push((caller, "GET", format!("{path}/blocks?limit=0"), ""));
            requests.push((caller, "POST", format!("{path}/blocks"), r#"{"handle":7}"#));
            requests.push((caller, "DELETE", format!("{path}/blocks/nonsense"), ""));
        }
    }
    let one = house.get(OPERATOR, "/_admin/agents/@no.body").await;
    one.refused(404, "not_found");
    for (token, method, path, body) in requests {
        assert_eq!(house.call(token, method, &path, body).await, one, "{method} {path}");
    }
    assert_eq!(house.get(OPERATOR, "/_admin/agents/@bob.bot").await.ok(200)["policy"], "allowlist");
}

#[tokio::test]
async fn a_path_that_is_there_refuses_other_methods() {
    let house = House::new();
    house.call(OPERATOR, "PUT", "/_admin/agents", "{}").await.refused(405, "method_not_allowed");
}
