//! The description of the surface agrees with itself and with what is served.

use std::collections::BTreeSet;

use plenary_accounts::operations;
use plenary_edge::{ApiInfo, consistent, openapi};
use serde_json::Value;

use crate::house::House;

fn described() -> Value {
    let docs: Vec<_> = operations().iter().map(|operation| operation.doc().clone()).collect();
    consistent(docs.iter()).unwrap();
    openapi(ApiInfo { title: "t", version: "0", description: "", server_url: "/", rooms: &[] }, &docs)
}

#[test]
fn every_path_of_the_plan_is_described() {
    let described = described();
    let paths = described["paths"].as_object().unwrap();
    let served: BTreeSet<String> = paths
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    for planned in [
        "POST /_admin/owners",
        "GET /_admin/owners",
        "POST /_admin/agents",
        "GET /_admin/agents",
        "GET /_admin/agents/{handle}",
        "PATCH /_admin/agents/{handle}",
        "DELETE /_admin/agents/{handle}",
        "POST /_admin/agents/{handle}/rotate-token",
        "POST /_admin/agents/{handle}/allowlist",
        "DELETE /_admin/agents/{handle}/allowlist/{entry}",
        "POST /_admin/agents/{handle}/blocks",
        "DELETE /_admin/agents/{handle}/blocks/{blocked}",
        "PUT /_admin/orgs/{org}",
        "PUT /_admin/orgs/{org}/members/{handle}",
        "DELETE /_admin/orgs/{org}/members/{handle}",
        "GET /agents/me",
        "PATCH /agents/me",
        "GET /agents/me/allowlist",
        "POST /agents/me/allowlist",
        "DELETE /agents/me/allowlist/{entry}",
        "GET /agents/me/blocks",
        "POST /agents/me/blocks",
        "DELETE /agents/me/blocks/{blocked}",
        "POST /contacts",
        "POST /contacts/{id}/accept",
        "POST /contacts/{id}/decline",
        "POST /auth/ticket",
        "GET /usage",
    ] {
        assert!(served.contains(planned), "{planned} is not served");
    }
}

#[test]
fn bodies_are_described_as_they_are_read() {
    let described = described();
    let schema = |name: &str| described["components"]["schemas"][name].clone();
    let members =
        |name: &str| schema(name)["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let profile = ["card_body", "description", "display_name", "visibility"];
    let mut of_agents = [&["allowlist", "handle", "policy", "self_service", "token"][..], &profile].concat();
    of_agents.sort_unstable();
    assert_eq!(members("NewAgent"), of_agents);
    assert_eq!(schema("NewAgent")["required"], serde_json::json!(["handle"]));
    assert_eq!(members("NewContact"), ["message", "to"]);
    let policies = schema("Policy")["oneOf"].as_array().unwrap().clone();
    assert_eq!(policies.iter().map(|one| &one["const"]).collect::<Vec<_>>(), ["allowlist", "open"]);
}

#[tokio::test]
async fn every_operation_wants_a_token() {
    let house = House::new();
    for operation in operations() {
        let doc = operation.doc();
        let path = doc.path().replace("{handle}", "@a.b").replace(['{', '}'], "");
        let answer = house.call("", doc.method().as_str(), &path, "").await;
        answer.refused(401, "missing_authorization");
    }
}
