//! A question to a person is put before the person at the client too, where the client can: by `elicitation/create`, in
//! sessions. The first answer counts.

use blackbox::{Agent, Caller, Cli, RunningCommand, Server};
use serde_json::{Value, json};

use super::said::SESSIONS;
use crate::requests::listed;

struct Scene {
    _server: Server,
    owner: Caller,
    agent: Agent,
    shim: RunningCommand,
}

impl Scene {
    /// A client with these capabilities, by `plenary mcp`.
    async fn with(capabilities: Value) -> Self {
        let server = Server::start().await;
        let owner = server.owner("nick").await;
        let agent = server.agent("@nick.cc").await;
        let cli = Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_TOKEN", agent.token())]);
        let mut scene = Self { _server: server, owner, agent, shim: cli.start(&["mcp"]) };
        let params = json!({
            "protocolVersion": SESSIONS, "capabilities": capabilities, "clientInfo": {"name": "b", "version": "1"},
        });
        scene.tell(json!({"id": 0, "method": "initialize", "params": params})).await;
        assert_eq!(scene.heard().await["id"], 0);
        scene.tell(json!({"method": "notifications/initialized"})).await;
        scene
    }

    async fn tell(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.shim.write_line(&message.to_string()).await;
    }

    async fn heard(&mut self) -> Value {
        serde_json::from_str(&self.shim.line().await).expect("a message")
    }

    /// Asks, and waits for a minute.
    async fn ask(&mut self) {
        let arguments = json!({"question": "Which one?", "choices": ["tabs", "spaces"], "timeout_s": 60});
        let params = json!({"name": "ask_person", "arguments": arguments});
        self.tell(json!({"id": 7, "method": "tools/call", "params": params})).await;
    }

    /// What the client is asked.
    async fn elicited(&mut self) -> Value {
        let asked = self.heard().await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        assert_eq!(asked["params"]["message"], "Which one?");
        let answer = &asked["params"]["requestedSchema"]["properties"]["answer"];
        assert_eq!(answer["enum"], json!(["tabs", "spaces"]), "{asked}");
        asked["id"].clone()
    }

    /// The result of the tool, whatever comes before it; and that.
    async fn result(&mut self) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let heard = self.heard().await;
            if heard["id"] == 7 {
                return (heard["result"]["structuredContent"].clone(), before);
            }
            before.push(heard);
        }
    }

    /// The person answers in the inbox.
    async fn answer_in_inbox(&self, text: &str) {
        let request = listed(&self.owner, "question", 1).await["requests"][0].clone();
        let path = format!("/requests/{}/answer", request["request_id"].as_str().expect("an id"));
        let answer = json!({"type": "respond", "text": text, "version": request["version"]});
        self.owner.post(&path, answer).await.ok(200);
    }
}

#[tokio::test]
async fn the_person_at_the_client_answers_and_the_inbox_waits_no_more() {
    let mut scene = Scene::with(json!({"elicitation": {}})).await;
    scene.ask().await;
    let id = scene.elicited().await;
    listed(&scene.owner, "question", 1).await;
    scene.tell(json!({"id": id, "result": {"action": "accept", "content": {"answer": "tabs"}}})).await;
    let (result, _) = scene.result().await;
    assert_eq!(result["answer"], json!({"type": "respond", "text": "tabs", "by": "client"}));
    assert_eq!((&result["state"], &result["timed_out"]), (&json!("answered"), &json!(false)));
    let request = result["request_id"].as_str().expect("an id");
    assert_eq!(scene.agent.get(&format!("/requests/{request}")).await.ok(200)["state"], "withdrawn");
}

#[tokio::test]
async fn the_inbox_answers_first_and_the_client_is_told() {
    let mut scene = Scene::with(json!({"elicitation": {"form": {}}})).await;
    scene.ask().await;
    let id = scene.elicited().await;
    scene.answer_in_inbox("spaces").await;
    let (result, mut others) = scene.result().await;
    assert_eq!((&result["answer"]["text"], &result["answer"]["by"]), (&json!("spaces"), &json!("~nick")));
    if others.is_empty() {
        others.push(scene.heard().await);
    }
    assert_eq!(others[0]["method"], "notifications/cancelled", "{others:?}");
    assert_eq!(others[0]["params"]["requestId"], id);
}

/// Clients decline by themselves, where nobody sits at them or nothing may be asked.
#[tokio::test]
async fn a_no_of_the_client_is_no_answer() {
    for no in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept", "content": {}}),
    ] {
        let mut scene = Scene::with(json!({"elicitation": {}})).await;
        scene.ask().await;
        let id = scene.elicited().await;
        scene.tell(json!({"id": id, "result": no})).await;
        scene.answer_in_inbox("tabs").await;
        assert_eq!(scene.result().await.0["answer"]["by"], "~nick");
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_not_asked() {
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut scene = Scene::with(capabilities).await;
        scene.ask().await;
        scene.answer_in_inbox("tabs").await;
        let (result, before) = scene.result().await;
        assert_eq!((&result["answer"]["text"], before.len()), (&json!("tabs"), 0));
    }
}
