//! The description of the surface agrees with itself and with what is served.

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
