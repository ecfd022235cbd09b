//! The Agent Client Protocol, version 1, from the agent's side: JSON-RPC 2.0, one message a line.
//! Must not know: the client; what it does in a turn follows from the prompt's own script.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::{Mutex, Notify, oneshot};

use crate::stage::{Stage, number, process_property, split};

/// The version spoken here.
const VERSION: u64 = 1;

#[derive(Debug)]
struct Agent {
    stage: Stage,
    numbers: AtomicU64,
    greeting: Mutex<Value>,
    sessions: Mutex<HashMap<String, Session>>,
    pending_requests: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
}

#[derive(Debug, Clone)]
struct Session {
    params: Value,
    turns: u64,
    cancel: Arc<Notify>,
}

/// Serves until standard input ends or a step ends the process; its exit code.
pub(crate) async fn serve() -> u8 {
    let (stage, mut exit) = Stage::new();
    let agent = Arc::new(Agent {
        stage,
        numbers: AtomicU64::new(1),
        greeting: Mutex::default(),
        sessions: Mutex::default(),
        pending_requests: Mutex::default(),
    });
    let mut input = BufReader::new(tokio::io::stdin()).lines();
    loop {
        tokio::select! {
            code = exit.recv() => return code.unwrap_or_default(),
            line = input.next_line() => match line {
                Ok(Some(line)) => agent.clone().take(&line).await,
                _ if agent.stage.is_deaf() => return exit.recv().await.unwrap_or_default(),
                _ => return 0,
            },
        }
    }
}

impl Agent {
    async fn take(self: Arc<Self>, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return };
        let (id, params) = (message["id"].clone(), message["params"].clone());
        match message["method"].as_str() {
            Some("initialize") => {
                *self.greeting.lock().await = params;
                let capabilities = json!({"loadSession": false, "promptCapabilities": {}});
                let result = json!({"protocolVersion": VERSION, "agentCapabilities": capabilities,
                    "agentInfo": {"name": "puppet", "version": "1"}, "authMethods": []});
                self.answer(&id, result).await;
            }
            Some("session/new") => {
                let name = format!("s-{}", self.numbers.fetch_add(1, Ordering::SeqCst));
                let session = Session { params, turns: 0, cancel: Arc::default() };
                self.sessions.lock().await.insert(name.clone(), session);
                self.answer(&id, json!({"sessionId": name})).await;
            }
            Some("session/prompt") => {
                let name = params["sessionId"].as_str().unwrap_or_default().to_owned();
                let session = self.sessions.lock().await.get_mut(&name).map(|session| {
                    session.turns += 1;
                    // A cancellation is of this turn, and may come before its first step.
                    session.cancel = Arc::default();
                    session.clone()
                });
                tokio::spawn(async move { self.turn(&id, name, session, params).await });
            }
            Some("session/cancel") if !self.stage.is_deaf() => {
                let name = params["sessionId"].as_str().unwrap_or_default();
                if let Some(session) = self.sessions.lock().await.get(name) {
                    session.cancel.notify_one();
                }
            }
            Some(_) if !id.is_null() => {
                let error = json!({"code": -32601, "message": "Method not found"});
                self.stage.write_json(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
            }
            Some(_) => {}
            None => {
                let waiting = self.pending_requests.lock().await.remove(&id.as_u64().unwrap_or_default());
                if let Some(waiting) = waiting {
                    let sent = waiting.send(message);
                    drop(sent);
                }
            }
        }
    }

    async fn answer(&self, id: &Value, result: Value) {
        self.stage.write_json(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    async fn turn(&self, id: &Value, name: String, session: Option<Session>, params: Value) {
        let Some(session) = session else {
            let error = json!({"code": -32602, "message": "no such session"});
            return self.stage.write_json(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
        };
        let turn = Turn { agent: self, name, session: &session, params };
        let end = tokio::select! {
            end = turn.steps() => end,
            () = session.cancel.notified() => Ok("cancelled".to_owned()),
        };
        match end {
            Ok(reason) => self.answer(id, json!({"stopReason": reason})).await,
            Err(message) => {
                let error = json!({"code": -32603, "message": message});
                self.stage.write_json(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
            }
        }
    }
}

/// One prompt and what is done about it.
struct Turn<'a> {
    agent: &'a Agent,
    name: String,
    session: &'a Session,
    params: Value,
}

impl Turn<'_> {
    /// The stop reason, or the message of an error.
    async fn steps(&self) -> Result<String, String> {
        let prompt = self.params["prompt"].as_array().cloned().unwrap_or_default();
        let script: Vec<&str> = prompt.iter().filter_map(|block| block["text"].as_str()).collect();
        let mut answer = Value::Null;
        for line in script.join("\n").lines() {
            let (verb, rest) = split(line);
            match verb {
                "text" => self.text(rest).await,
                "many" => {
                    let (count, rest) = split(rest);
                    for at in 0..number(count) {
                        self.text(&format!("{rest}{at}")).await;
                    }
                }
                "huge" => self.text(&"x".repeat(number(rest))).await,
                "thought" => self.update("agent_thought_chunk", json!({"content": block(rest)})).await,
                "tool" => self.tool(rest, "completed").await,
                "toolfail" => self.tool(rest, "failed").await,
                "update" => self.update(rest, json!({})).await,
                "ask" => {
                    answer = self.permission(json!({"title": rest})).await;
                }
                // `askcall {"title":…,"rawInput":…}`: the members of the tool call.
                "askcall" => {
                    answer = self.permission(serde_json::from_str(rest).unwrap_or_default()).await;
                }
                "answer" => self.text(&answer["result"]["outcome"].to_string()).await,
                "elicit" => self.elicit(rest).await,
                "session" => self.text(&self.name).await,
                "turns" => self.text(&self.session.turns.to_string()).await,
                "new" => self.text(&self.session.params.to_string()).await,
                "init" => self.text(&self.agent.greeting.lock().await.to_string()).await,
                "prompt" => self.text(&self.params.to_string()).await,
                "stop" => return Ok(rest.to_owned()),
                "error" => return Err(rest.to_owned()),
                _ => match process_property(verb, rest) {
                    Some(answer) => self.text(&answer).await,
                    None => {
                        if !self.agent.stage.step(verb, rest).await {
                            self.text(line).await;
                        }
                    }
                },
            }
        }
        Ok("end_turn".to_owned())
    }

    async fn text(&self, text: &str) {
        self.update("agent_message_chunk", json!({"content": block(text)})).await;
    }

    async fn update(&self, kind: &str, mut update: Value) {
        update["sessionUpdate"] = json!(kind);
        let params = json!({"sessionId": self.name, "update": update});
        self.agent
            .stage
            .write_json(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
            .await;
    }

    async fn tool(&self, title: &str, status: &str) {
        let id = format!("call-{}", self.agent.numbers.fetch_add(1, Ordering::SeqCst));
        let tool_call = json!({"toolCallId": id, "title": title, "kind": "execute", "status": "pending",
            "rawInput": {"of": title}});
        self.update("tool_call", tool_call).await;
        let content = json!([{"type": "content", "content": block(&format!("{title} {status}"))}]);
        self.update("tool_call_update", json!({"toolCallId": id, "status": status, "content": content}))
            .await;
    }

    async fn permission(&self, mut call: Value) -> Value {
        let options = json!([{"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"}]);
        (call["toolCallId"], call["kind"]) = (json!("call-0"), json!("execute"));
        let params = json!({"sessionId": self.name, "toolCall": call, "options": options});
        self.request("session/request_permission", &params).await
    }

    /// Asks for what the members say, and says what was answered.
    async fn elicit(&self, members: &str) {
        let mut params: Value = serde_json::from_str(members).unwrap_or_default();
        params["sessionId"] = json!(self.name);
        let answer = self.request("elicitation/create", &params).await;
        let outcome = if answer["error"].is_object() { &answer["error"]["code"] } else { &answer["result"] };
        self.text(&outcome.to_string()).await;
    }

    async fn request(&self, method: &str, params: &Value) -> Value {
        let id = self.agent.numbers.fetch_add(1, Ordering::SeqCst);
        let (sender, receiver) = oneshot::channel();
        self.agent.pending_requests.lock().await.insert(id, sender);
        self.agent
            .stage
            .write_json(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        receiver.await.unwrap_or_default()
    }
}

fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
