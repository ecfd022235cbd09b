//! Whose name stands on a package or a fact: AP-11, AP-57, AP-72, AP-103, D.1, D.4, D.7.

use blackbox::{Caller, Server, TempDir};
use serde_json::{Value, json};

use super::speak::{PROJECT, assert_package, deposit, deposited, desk, facts_of, package, package_with};

/// The names that are not this agent's.
const OTHERS: [&str; 10] = [
    "jordan",
    "",
    "@nick.other",
    "@mallory.cc-laptop",
    "~nick",
    "Nick",
    "nick.",
    "@nick",
    "@nick.cc-laptop ",
    "nick.cc-laptop.x",
];

fn by(id: &str, kind: &str, package_id: &str) -> Value {
    package_with("", package_id, json!({"created_by": {"id": id, "type": kind}}))
}

/// D.1, D.7: the four spellings of an agent, of any type, and no other name.
#[tokio::test]
async fn ap_57_an_agent_deposits_as_itself() {
    let (_server, nick) = desk().await;
    for (number, id) in ["nick", "cc-laptop", "nick.cc-laptop", "@nick.cc-laptop"].iter().enumerate() {
        for kind in ["human", "agent", "script"] {
            deposited(&nick, &by(id, kind, &format!("{kind}{number}"))).await;
        }
    }
    for id in OTHERS {
        let response = deposit(&nick, &by(id, "agent", "refused")).await;
        // The empty name may be told to be none before it is told to be another's.
        if id.is_empty() {
            assert!([400, 403].contains(&response.status), "{response}");
        } else {
            response.assert_refused(403, "unauthorized");
        }
        nick.get("/v1/packages/refused").await.assert_refused(404, "package_not_found");
    }
}

/// D.7: an owner's id is its name.
#[tokio::test]
async fn ap_57_an_owner_deposits_as_itself() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    server.agent("@nick.cc-laptop").await;
    deposited(&owner, &by("nick", "human", "mine")).await;
    for id in ["@nick.cc-laptop", "cc-laptop", "nick.cc-laptop", "jordan"] {
        deposit(&owner, &by(id, "human", "refused")).await.assert_refused(403, "unauthorized");
    }
    owner.get("/v1/packages/refused").await.assert_refused(404, "package_not_found");
}

/// D.4: the operator attributes freely; AP-103: whoever it names is treated alike.
#[tokio::test]
async fn ap_11_103_the_operator_attributes_freely() {
    let (server, _) = desk().await;
    let operator = server.operator();
    for (number, kind) in ["human", "agent", "script"].iter().enumerate() {
        deposited(&operator, &by("jordan", kind, &format!("p{number}"))).await;
        let fact = json!({
            "subject": "s", "predicate": "p", "value": "1", "asserted_by": {"id": "jordan", "type": kind},
        });
        let made = operator.post(&facts_of(PROJECT), fact).await.ok(201);
        assert_eq!(made["asserted_by"]["type"], *kind);
    }
}

/// D.7: `asserted_by` is bound like `created_by`.
#[tokio::test]
async fn ap_57_an_agent_asserts_as_itself() {
    let (_server, nick) = desk().await;
    let fact = |id: &str| json!({"subject": id, "predicate": "p", "value": "1", "asserted_by": {"id": id, "type": "agent"}});
    for id in ["nick", "cc-laptop", "nick.cc-laptop", "@nick.cc-laptop"] {
        let made = nick.post(&facts_of(PROJECT), fact(id)).await.ok(201);
        assert_eq!(made["asserted_by"]["id"], id);
    }
    for id in OTHERS.iter().filter(|id| !id.is_empty()) {
        nick.post(&facts_of(PROJECT), fact(id)).await.assert_refused(403, "unauthorized");
    }
    let all = nick.get(&format!("{}?include_ended=true", facts_of(PROJECT))).await.ok(200);
    assert_eq!(all["facts"].as_array().map(Vec::len), Some(4));
}

/// AP-57: a refused attribution brings no project into being.
#[tokio::test]
async fn ap_57_a_refusal_leaves_nothing() {
    let (_server, nick) = desk().await;
    deposit(&nick, &package("jordan", "one")).await.assert_refused(403, "unauthorized");
    let fact = json!({
        "subject": "s", "predicate": "p", "value": "1", "asserted_by": {"id": "jordan", "type": "human"},
    });
    nick.post(&facts_of(PROJECT), fact).await.assert_refused(403, "unauthorized");
    nick.get(&format!("/v1/projects/{PROJECT}")).await.assert_refused(404, "project_not_found");
}

/// `context.attribution = "open"`: anyone may name anyone.
#[tokio::test]
async fn ap_72_attribution_may_be_open() {
    let dir = TempDir::new();
    let file = dir.path().join("plenary.toml");
    std::fs::write(&file, "[context]\nattribution = \"open\"\n").expect("the file can be written");
    let server = Server::builder().arg("--config").arg(file.to_str().expect("text")).start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    let owner: Caller = server.owner("eve").await;
    for (number, caller) in [&*nick, &owner].iter().enumerate() {
        let package = package_with("jordan", "one", json!({"project_id": format!("p{number}")}));
        assert_package(&deposit(caller, &package).await, 201, &package);
        let fact = json!({
            "subject": "s", "predicate": "p", "value": "1", "asserted_by": {"id": "jordan", "type": "human"},
        });
        caller.post(&facts_of(&format!("p{number}")), fact).await.ok(201);
    }
}

/// D.1: a handle that is not the token's is refused before anything is done.
#[tokio::test]
async fn ap_57_the_handle_header_must_be_the_tokens() {
    let (_server, nick) = desk().await;
    let path = format!("/v1/projects/{PROJECT}/packages");
    let body = package(&nick.handle, "one");
    let call = async |handle: &str| nick.call("POST", &path, &[("X-ASP-Agent", handle)], Some(&body)).await;
    call("@nick.other").await.refusal_code(401);
    nick.get(&path).await.assert_refused(404, "project_not_found");
    call("@nick.cc-laptop").await.ok(201);
}
