//! What an agent says of itself: SC-9, SC-13, SC-20, SC-21, SC-31.

use blackbox::assert_keys;
use serde_json::{Value, json};

use super::speak::{ECHO, OWNER, at, echoing, hosted, playing, serving};

/// SC-20: the five members.
#[tokio::test]
async fn sc_9_sc_20_describe_gives_the_descriptor() {
    let (_server, nick) = playing().await;
    for agent in ["echo", "puppet"] {
        let response = nick.get(&at(agent, "describe")).await;
        let descriptor = response.ok(200);
        for member in ["name", "purpose", "endpoints", "operations", "tools"] {
            assert!(descriptor.get(member).is_some(), "{member} is missing: {response}");
        }
        assert_eq!(descriptor["name"], agent);
        assert!(descriptor["purpose"].is_string(), "{response}");
        for list in ["endpoints", "tools"] {
            let texts = descriptor[list].as_array().is_some_and(|items| items.iter().all(Value::is_string));
            assert!(texts, "{list} is a list of texts: {response}");
        }
    }
}

/// SC-13, SC-21: the operation that every agent has.
#[tokio::test]
async fn sc_13_sc_21_every_agent_has_chat() {
    let (_server, nick) = playing().await;
    for agent in ["echo", "puppet"] {
        let descriptor = nick.get(&at(agent, "describe")).await.ok(200);
        let operations = descriptor["operations"].as_array().expect("a list");
        for operation in operations {
            assert_keys(operation, &["name", "description"], &["input_schema", "output_schema"]);
        }
        let chat = operations.iter().find(|operation| operation["name"] == "chat").expect("chat is there");
        assert!(chat["description"].is_string(), "{chat}");
        for (schema, member) in [("input_schema", "input"), ("output_schema", "output")] {
            let text = chat[schema].to_string();
            assert!(text.contains(&format!("\"{member}\"")) && text.contains("string"), "{schema}: {chat}");
        }
    }
}

/// SC-20, SC-31: the endpoints are those of the binding, and they are there.
#[tokio::test]
async fn sc_31_the_endpoints_are_named_and_served() {
    let (_server, nick) = echoing().await;
    let descriptor = nick.get(&at(ECHO, "describe")).await.ok(200);
    let endpoints = descriptor["endpoints"].to_string();
    for name in ["describe", "configure", "run", "get_events", "stream_request"] {
        assert!(endpoints.contains(name), "{name}: {endpoints}");
    }
    for path in ["threads", "runs/00000000-0000-4000-8000-000000000000"] {
        let response = nick.get(&at(ECHO, path)).await;
        assert!([200, 404].contains(&response.status), "{response}");
    }
}

/// What the owner wrote of an agent is what it says.
#[tokio::test]
async fn sc_20_purpose_comes_from_the_configuration() {
    let server = serving(&[hosted("echo", "kind = \"echo\"\npurpose = \"gives back, 返す\"")]).await;
    let other = server.agent("@nick.ann").await;
    let owner = server.agent(&format!("@{OWNER}.boss")).await;
    for who in [&other, &owner] {
        assert_eq!(who.get(&at(ECHO, "describe")).await.ok(200)["purpose"], json!("gives back, 返す"));
    }
}
