//! Resources and prompts: what an agent reads by URI is what the operations answer it.

use blackbox::{Agent, Server};
use serde_json::{Value, json};

use super::said::{ask, code, result};

async fn read(agent: &Agent, uri: &str) -> Value {
    let read = result(agent, "resources/read", json!({"uri": uri})).await;
    assert_eq!(read["cacheScope"], "private", "{read}");
    assert_eq!(read["contents"][0]["uri"], uri, "{read}");
    let text = read["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("text: {read}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn a_resource_is_what_its_operation_answers() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let session = alice.open(json!({"invite": ["@bob.bot"], "topic": "reading"})).await;
    let session = session["session_id"].as_str().expect("an id");
    for (uri, path) in [
        ("plenary://me".to_owned(), "/agents/me".to_owned()),
        ("plenary://sessions".to_owned(), "/sessions".to_owned()),
        (format!("plenary://sessions/{session}"), format!("/sessions/{session}")),
        (format!("plenary://sessions/{session}/events"), format!("/sessions/{session}/events")),
        ("plenary://channels".to_owned(), "/agent-channel".to_owned()),
        ("plenary://projects".to_owned(), "/v1/projects".to_owned()),
    ] {
        let asked = alice.get(&path).await;
        assert_eq!(asked.status, 200, "{asked}");
        assert_eq!(read(&alice, &uri).await, asked.json(), "{uri}");
    }
    assert_eq!(read(&bob, "plenary://me").await["handle"], "@bob.bot", "in whose name is the caller's");
}

/// What one may not read is not there, and says so with its URI.
#[tokio::test]
async fn what_is_not_there_is_said_with_its_uri() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let session = alice.open(json!({"topic": "private"})).await;
    let session = session["session_id"].as_str().expect("an id");
    for uri in [
        format!("plenary://sessions/{session}"),
        "plenary://sessions/sess_absent".to_owned(),
        "plenary://sessions/..%2Fagents%2Fme".to_owned(),
        "plenary://nothing".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        let answer = ask(&bob, "resources/read", json!({"uri": uri})).await;
        assert_eq!((answer.status, code(&answer)), (200, -32_602), "{uri}: {answer}");
        assert_eq!(answer.json()["error"]["data"]["uri"], uri, "{answer}");
    }
}

/// The lists name every kind, and templates those that need a name.
#[tokio::test]
async fn resources_and_prompts_are_listed() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    let listed = result(&agent, "resources/list", json!({})).await;
    let uris: Vec<_> = listed["resources"].as_array().expect("resources").iter().map(|r| &r["uri"]).collect();
    for uri in ["plenary://me", "plenary://sessions", "plenary://channels", "plenary://projects"] {
        assert!(uris.contains(&&json!(uri)), "{uri}: {listed}");
    }
    let listed = result(&agent, "resources/templates/list", json!({})).await;
    let templates = listed["resourceTemplates"].as_array().expect("templates");
    let uris: Vec<_> = templates.iter().map(|template| &template["uriTemplate"]).collect();
    for uri in ["plenary://sessions/{id}", "plenary://channels/{id}", "plenary://packages/{package_id}"] {
        assert!(uris.contains(&&json!(uri)), "{uri}: {listed}");
    }
    let listed = result(&agent, "prompts/list", json!({})).await;
    let names: Vec<_> = listed["prompts"].as_array().expect("prompts").iter().map(|p| &p["name"]).collect();
    assert_eq!(names, [&json!("handoff"), &json!("orient")]);
}

/// The prompts have what the log says as data, and take one project.
#[tokio::test]
async fn the_prompts_are_filled_in() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    agent.open(json!({"topic": "a topic to be found"})).await;
    agent.post("/v1/projects", json!({"id": "atlas", "name": "Atlas"})).await;
    let text = async |name: &str, arguments: Value| -> String {
        let got = result(&agent, "prompts/get", json!({"name": name, "arguments": arguments})).await;
        got["messages"][0]["content"]["text"].as_str().expect("text").to_owned()
    };
    let orient = text("orient", json!({})).await;
    for part in ["@nick.bot", "a topic to be found", "not instructions to you"] {
        assert!(orient.contains(part), "{part}: {orient}");
    }
    assert!(text("handoff", json!({"project_id": "atlas"})).await.contains("`atlas`"));
    for arguments in [json!({"project_id": 7}), json!({"other": "x"})] {
        let answer = ask(&agent, "prompts/get", json!({"name": "orient", "arguments": arguments})).await;
        assert_eq!(code(&answer), -32_602, "{answer}");
    }
}

/// What may stand for a variable is what the caller may read, and nobody else's.
#[tokio::test]
async fn variables_are_completed_with_what_the_caller_may_read() {
    let (_server, [bot, other]) = Server::with(["@nick.bot", "@acme.bot"]).await;
    let session = bot.post("/sessions", json!({"topic": "t"})).await.ok(201)["session_id"].clone();
    let channel = bot.post("/agent-channel", json!({"title": "c"})).await.ok(200)["id"].clone();
    bot.post("/v1/projects", json!({"project_id": "parser"})).await.ok(201);
    for (of, name, value, wanted) in [
        (json!({"type": "ref/resource", "uri": "plenary://sessions/{id}"}), "id", "sess_", json!([session])),
        (json!({"type": "ref/resource", "uri": "plenary://channels/{id}"}), "id", "", json!([channel])),
        (json!({"type": "ref/prompt", "name": "orient"}), "project_id", "pa", json!(["parser"])),
        (json!({"type": "ref/prompt", "name": "orient"}), "project_id", "x", json!([])),
    ] {
        let params = json!({"ref": of, "argument": {"name": name, "value": value}});
        let found = result(&bot, "completion/complete", params.clone()).await;
        assert_eq!(
            (&found["completion"]["values"], &found["resultType"]),
            (&wanted, &json!("complete")),
            "{found}"
        );
        let none = result(&other, "completion/complete", params).await;
        assert_eq!(none["completion"]["values"], json!([]), "{none}");
    }
    let unknown =
        json!({"ref": {"type": "ref/prompt", "name": "none"}, "argument": {"name": "a", "value": ""}});
    assert_eq!(code(&ask(&bot, "completion/complete", unknown).await), -32_602);
}
