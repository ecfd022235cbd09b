//! A question to a person is put before the person at the client too, where the client can: by `elicitation/create` during
//! the call in sessions, and between two calls without them. The first answer counts.

use blackbox::{Agent, Caller, Cli, RunningCommand, Server};
use serde_json::{Value, json};

use super::said::{SESSIONS, headers, single};
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

/// A client without sessions: the result of a call asks, and the client calls again with what was answered.
struct Rounds {
    server: Server,
    owner: Caller,
    agent: Agent,
}

impl Rounds {
    async fn begin() -> Self {
        let server = Server::start().await;
        let (owner, agent) = (server.owner("nick").await, server.agent("@nick.cc").await);
        Self { server, owner, agent }
    }

    /// The result of a call of a client with these capabilities.
    async fn called(&self, tool: &str, arguments: Value, capabilities: Value, more: Value) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments});
        params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let mut message = single("tools/call", params);
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let headers = headers(&message);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = self.agent.call("POST", "/mcp", &headers, Some(&message)).await;
        answer.ok(200)["result"].clone()
    }

    async fn ask(&self, more: Value) -> Value {
        let arguments = json!({"question": "Which one?", "choices": ["tabs", "spaces"], "timeout_s": 60});
        self.called("ask_person", arguments, json!({"elicitation": {}}), more).await
    }

    /// The state of the question, and the id of the request in the inbox.
    async fn asked(&self) -> (Value, String) {
        let result = self.ask(json!({})).await;
        assert_eq!(result["resultType"], "input_required", "{result}");
        let asked = &result["inputRequests"]["answer"];
        assert_eq!(asked["method"], "elicitation/create", "{result}");
        assert_eq!(asked["params"]["message"], "Which one?");
        let answer = &asked["params"]["requestedSchema"]["properties"]["answer"];
        assert_eq!(answer["enum"], json!(["tabs", "spaces"]), "{result}");
        let open = listed(&self.owner, "question", 1).await["requests"][0]["request_id"].clone();
        (result["requestState"].clone(), open.as_str().expect("an id").to_owned())
    }

    /// The result after the client's person did this.
    async fn replied(&self, state: &Value, reply: Value) -> Value {
        let result = self.ask(json!({"requestState": state, "inputResponses": {"answer": reply}})).await;
        assert_eq!(result["resultType"], "complete", "{result}");
        result["structuredContent"].clone()
    }

    async fn answer_in_inbox(&self, id: &str, text: &str) {
        let answer = json!({"type": "respond", "text": text, "version": 1});
        self.owner.post(&format!("/requests/{id}/answer"), answer).await.ok(200);
    }

    async fn state(&self, id: &str) -> Value {
        self.agent.get(&format!("/requests/{id}")).await.ok(200)["state"].clone()
    }
}

#[tokio::test]
async fn without_a_session_the_result_asks_and_the_next_call_has_the_answer() {
    let rounds = Rounds::begin().await;
    let (state, id) = rounds.asked().await;
    let accepted = json!({"action": "accept", "content": {"answer": "tabs"}});
    for _ in ["at first", "after the answer was lost"] {
        let result = rounds.replied(&state, accepted.clone()).await;
        assert_eq!(result["answer"], json!({"type": "respond", "text": "tabs", "by": "client"}));
        assert_eq!((&result["state"], &result["request_id"]), (&json!("answered"), &json!(id)));
        assert_eq!(rounds.state(&id).await, "withdrawn", "no second question is put");
    }
}

#[tokio::test]
async fn without_a_session_an_answer_in_the_inbox_comes_first() {
    let rounds = Rounds::begin().await;
    for reply in [
        json!({"action": "accept", "content": {"answer": "tabs"}}),
        json!({"action": "decline"}),
        json!({"action": "accept"}),
        json!("odd"),
    ] {
        let (state, id) = rounds.asked().await;
        rounds.answer_in_inbox(&id, "spaces").await;
        let result = rounds.replied(&state, reply).await;
        assert_eq!((&result["answer"]["text"], &result["answer"]["by"]), (&json!("spaces"), &json!("~nick")));
    }
}

#[tokio::test]
async fn without_a_session_too_a_client_that_cannot_ask_is_not_asked() {
    let rounds = Rounds::begin().await;
    let question = json!({"question": "Which one?", "timeout_s": 1});
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let result = rounds.called("ask_person", question.clone(), capabilities, json!({})).await;
        assert_eq!(
            (&result["resultType"], &result["structuredContent"]["timed_out"]),
            (&json!("complete"), &json!(true))
        );
    }
    let at_once = json!({"question": "Which one?", "timeout_s": 0});
    let result = rounds.called("ask_person", at_once, json!({"elicitation": {}}), json!({})).await;
    assert_eq!(result["structuredContent"]["timed_out"], true, "nobody waits: {result}");
}

/// The state comes back from the client, so another agent may send it.
#[tokio::test]
async fn the_state_of_a_question_opens_no_foreign_request() {
    let rounds = Rounds::begin().await;
    let (state, id) = rounds.asked().await;
    let bob = Rounds { agent: rounds.server.agent("@bob.cc").await, ..rounds };
    let more = json!({"requestState": state, "inputResponses": {"answer": {"action": "decline"}}});
    let result = bob.ask(more).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(!result.to_string().contains("tabs"), "{result}");
    assert_eq!(bob.owner.get(&format!("/requests/{id}")).await.ok(200)["state"], "open");
}

#[tokio::test]
async fn the_tool_ask_asks_the_person_at_a_client_without_a_session_too() {
    let rounds = Rounds::begin().await;
    let question = json!({"to": ["@nick"], "text": "Which one?"});
    let result =
        rounds.called("ask", question.clone(), json!({"elicitation": {"form": {}}}), json!({})).await;
    assert_eq!(result["resultType"], "input_required", "{result}");
    let reply = json!({"answer": {"action": "accept", "content": {"answer": "Both."}}});
    let more = json!({"requestState": result["requestState"], "inputResponses": reply});
    let result = rounds.called("ask", question, json!({"elicitation": {"form": {}}}), more).await;
    assert_eq!(result["structuredContent"]["answer"]["text"], "Both.", "{result}");
}
